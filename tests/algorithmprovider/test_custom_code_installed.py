"""Looking for what installed packages bring."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.metadata import MetadataPathFinder, entry_points
from pathlib import Path
from typing import Any

import pytest

from algorithmprovider.custom_code import installed_entries, may_be_installed

GROUP = "kubescheduler.test_group"


class PythonsFinder:
    """Python's own way to find packages, which importlib_metadata takes away from it when it is imported."""

    __module__ = PathFinder.__module__
    find_spec = PathFinder.find_spec
    find_distributions = MetadataPathFinder.find_distributions


@pytest.fixture(autouse=True)
def _no_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed, and nothing else looks for packages than Python itself."""
    monkeypatch.syspath_prepend("")
    sys.path.clear()
    monkeypatch.setattr(sys, "meta_path", [PythonsFinder])


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("a-1.dist-info/entry_points.txt", f"[{GROUP}]\nx = a:b\n", True),
        ("a.egg-info/entry_points.txt", f"[{GROUP}]\nx = a:b\n", True),
        ("a-1.dist-info/entry_points.txt", "[another]\nx = a:b\n", False),
        ("a-1.dist-info/METADATA", "Name: a\n", False),
        ("a.py", "", False),
    ],
    ids=["wheel", "development", "another group", "no entry points", "no package"],
)
def test_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, found: bool) -> None:
    """What is found is what importlib.metadata finds; where there is nothing, this is certain."""
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert may_be_installed(GROUP) is found
    assert installed_entries(GROUP) == list(entry_points(group=GROUP))
    assert len(installed_entries(GROUP)) == found


def test_what_cannot_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives, eggs and other finders may have anything; a folder that is not there has nothing."""
    monkeypatch.syspath_prepend(tmp_path / "absent")
    assert not may_be_installed(GROUP)
    with monkeypatch.context() as archive:
        (tmp_path / "a.zip").write_bytes(b"")
        archive.syspath_prepend(tmp_path / "a.zip")
        assert may_be_installed(GROUP)
    with monkeypatch.context() as egg:
        (tmp_path / "eggs" / "a.egg").mkdir(parents=True)
        egg.syspath_prepend(tmp_path / "eggs")
        assert may_be_installed(GROUP)

    class Finder:
        def find_spec(self, *_: Any) -> None: ...

        def find_distributions(self, *_: Any) -> list[Any]:
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert may_be_installed(GROUP)
