"""The command that measures speed: what it prints, saves and ends with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import run, samples
from benchmarks.child_process import FailedError
from benchmarks.samples import saved
from kubescheduler.releases.names import RELEASE_NAMES

FIGURES = ["--figures", "--only", "1.16 Basic", "--rounds", "2"]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> dict[str, BaseException]:
    """In place of the child process: pods of a workload → what is raised; all else takes a millisecond."""
    errors: dict[str, BaseException] = {}

    def child(_: Any, arguments: dict[str, Any], *_more: Any) -> dict[str, Any]:
        for key, error in errors.items():
            if arguments.get(key):
                raise error
        return {"": {"cpu": 0.001, "wall": 0.002, "memory": 5 << 20}}

    monkeypatch.setattr(samples, "measured_in_child", child)
    return errors


@pytest.mark.usefixtures("failing")
def test_figures(tmp_path: Path) -> None:
    """The three of a workload, in a table and a file; beforehand how long it takes."""
    path = tmp_path / "figures.jsonl"
    found = CliRunner().invoke(run.main, [*FIGURES, "--before", str(tmp_path), "--save", str(path)])
    assert found.exit_code == 0, found.output
    assert found.stderr.startswith("3 measurements, 2 rounds: about 1 min where nothing else runs, no more than 120")
    assert [line.partition("  ")[0] for line in found.stdout.splitlines()[1:]] == list(saved(path))
    assert found.stdout.count("1,000/s") == 6
    assert "75 % of Basic (is 100%)" in found.stdout


@pytest.mark.parametrize(
    ("key", "error", "status", "rows", "words"),
    [
        pytest.param("own_labels", FailedError("no"), 2, 2, "not measured: 1.16 Basic, own labels: no", id="a failure"),
        pytest.param("own_labels", KeyboardInterrupt(), 130, 1, "2 of 3", id="Ctrl-C"),
    ],
)
def test_ends(
    failing: dict[str, BaseException], key: str, error: BaseException, status: int, rows: int, words: str
) -> None:
    """A failure is no figure, and the others are measured; after Ctrl-C those are there that were measured."""
    failing[key] = error
    found = CliRunner().invoke(run.main, FIGURES)
    assert found.exit_code == status
    assert len(found.stdout.splitlines()) == 1 + rows
    assert words in found.stderr


def test_no_such_figure() -> None:
    """A text that no title holds is an error, not an empty table."""
    found = CliRunner().invoke(run.main, ["--figures", "--only", "openb"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert "no figure's title holds openb" in found.stderr


@pytest.mark.usefixtures("failing")
def test_no_time() -> None:
    """What could not be begun in time is named, and the status says so."""
    found = CliRunner().invoke(run.main, [*FIGURES, "--minutes", "0"])
    assert (found.exit_code, found.stderr.count("no time left")) == (2, 3)


@pytest.mark.usefixtures("failing")
def test_one_workload_as_json() -> None:
    """A line of JSON for each number of nodes."""
    asked = ["--release", "1.36", "--workload", "SchedulingBasic", "--nodes", "3", "--nodes", "5", "--json"]
    found = CliRunner().invoke(run.main, asked)
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert [row["nodes"] for row in rows] == [3, 5]
    assert {(row["decisions_per_second"], row["peak_mib"]) for row in rows} == {(1000.0, 5)}


@pytest.mark.usefixtures("failing")
def test_every_release() -> None:
    """A row for each, oldest first; two are compared, not all."""
    found = CliRunner().invoke(
        run.main, ["--release", "all", "--workload", "SchedulingBasic", "--nodes", "3", "--json"]
    )
    assert [json.loads(line)["release"] for line in found.stdout.splitlines()] == list(RELEASE_NAMES)
    assert CliRunner().invoke(run.main, ["--release", "all", "--against", "1.16"]).exit_code == 2
