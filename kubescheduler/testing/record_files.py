"""Where records of placements are, and which of them no test checks any more."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

FIXTURE = "placements"
FOLDER = "__placements__"
ENDING = ".yaml"
MARK = "@"
"""Stands between a test's name and that of one of its records."""
LONGEST = 120

_ODD = re.compile(r"[^\w.,=+\-\[\] ]")


def record_path(test_file: Path, test: str, name: str = "") -> Path:
    """``__placements__/<test file>/<test>.yaml`` beside the test file; with a name ``<test>@<name>.yaml``."""
    end = f"{MARK}{name}" if name else ""
    return test_file.parent / FOLDER / test_file.stem / f"{_file_name(test)}{end}{ENDING}"


def _file_name(test: str) -> str:
    """A test's name as that of a file; one that had to be changed gets a few digits that make it unique."""
    plain = _ODD.sub("_", test)[:LONGEST]
    return plain if plain == test else f"{plain}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"


def names_of(item: pytest.Item) -> list[str]:
    """The names of its classes and its own."""
    return [node.name for node in item.listchain() if isinstance(node, pytest.Class | pytest.Item)]


def unused(items: Iterable[pytest.Item]) -> Iterator[Path]:
    """The records of the files of these items that none of the items checks. They have to be all items of a file."""
    used: dict[Path, set[str]] = {}
    files = set()
    for item in items:
        files.add(item.path)
        if FIXTURE in getattr(item, "fixturenames", ()):
            path = record_path(item.path, ".".join(names_of(item)))
            used.setdefault(path.parent, set()).add(path.stem)
    for folder in sorted({file.parent / FOLDER for file in files}):
        if folder.is_dir():
            yield from _unused_in(folder, files, used)


def _unused_in(folder: Path, files: set[Path], used: dict[Path, set[str]]) -> Iterator[Path]:
    looked_at = {file.stem for file in files if file.parent == folder.parent}
    there = {path.stem for path in folder.parent.glob("*.py")}
    for below in sorted(path for path in folder.iterdir() if path.is_dir()):
        if below.name in looked_at or below.name not in there:
            tests = used.get(below, set())
            yield from (path for path in sorted(below.glob(f"*{ENDING}")) if _test_of(path) not in tests)


def _test_of(path: Path) -> str:
    return path.name.removesuffix(ENDING).partition(MARK)[0]


def shortest(path: Path) -> str:
    """From the working directory, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
