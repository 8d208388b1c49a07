"""Which figures there are, and in which course they are measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import figures, samples
from benchmarks.child_process import FailedError
from benchmarks.figures import Course, all_figures
from benchmarks.samples import Headline, Measurement, sample_workload

OPENB = (Path("nodes.csv"), Path("pods.csv"))


def test_titles_are_distinct() -> None:
    """Every figure has a title of its own, by which ``--only`` finds it, and shares are of figures that there are."""
    found = [headline for one in all_figures(Path("."), OPENB) for headline in one.headlines]
    titles = [headline.title for headline in found]
    assert len(titles) == len(set(titles)) > 60
    assert {headline.share_of for headline in found} - {""} <= set(titles)


def test_chosen_figures() -> None:
    """Of a process that measures several figures only the chosen ones are shown."""
    [one] = all_figures(Path("."), None, ["1.36 a claim changes, then a pod with a"])
    assert [headline.part for headline in one.headlines] == ["claim changes, pod with a claim"]
    assert not all_figures(Path("."), None, ["openb"])


def test_files_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that a command reads is there once it has been prepared, and can be read."""
    for name in ("LISTED_NODES", "LISTED_PODS", "YAML_NODES"):
        monkeypatch.setattr(figures, name, 3)
    for one in figures.commands(tmp_path, None):
        if one.prepare is not None:
            one.prepare()
        read = [*one.arguments["arguments"], one.arguments.get("piped") or ""]
        assert all(Path(text).exists() for text in read if "/" in text)
    assert len(json.loads((tmp_path / "cluster.json").read_text())["items"]) == 6
    assert len(json.loads((tmp_path / "same-nodes.json").read_text())["items"]) == 3


def measured(name: str, *, minutes: float = 10, fail: str = "", interrupt: str = "") -> tuple[Course, list[str]]:
    """A course over measurements named by letters, and the titles of what it yields."""
    found = [Measurement(sample_workload, {"name": one}, (Headline(one),), seconds=60) for one in name]
    said: list[str] = []
    course = Course(found, None, 2, minutes, said.append)

    def child(_: Any, arguments: dict[str, Any], *_more: Any) -> dict[str, Any]:
        if arguments["name"] == fail:
            raise FailedError("Traceback\nno")
        if arguments["name"] == interrupt:
            raise KeyboardInterrupt
        return {"": {"cpu": 1.0, "wall": 1.0, "memory": 1}}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "measured_in_child", child)
        titles = [one.headline.title for one in course.results()]
    assert len(said) <= len(name)
    return course, titles


@pytest.mark.parametrize(
    ("asked", "titles", "failed", "interrupted"),
    [
        pytest.param({}, ["a", "b", "c"], [], False, id="all"),
        pytest.param({"fail": "b"}, ["a", "c"], ["b: no"], False, id="one fails"),
        pytest.param({"interrupt": "b"}, ["a"], [], True, id="Ctrl-C"),
        pytest.param({"minutes": 0}, [], [f"{name}: no time left" for name in "abc"], False, id="no time"),
    ],
)
def test_course(asked: dict[str, Any], titles: list[str], failed: list[str], interrupted: bool) -> None:
    """One that fails does not keep the next from being measured; Ctrl-C and the time that is over do."""
    course, found = measured("abc", **asked)
    assert (found, course.failed, course.interrupted) == (titles, failed, interrupted)
