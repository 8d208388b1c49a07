"""Measuring anew what README and docs show."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import publish


@pytest.mark.parametrize(
    ("statuses", "status", "programs", "kept"),
    [
        pytest.param((0, 0, 0), 0, ["run.py", "scale.py", "docs.generate"], ["new", "new"], id="all measured"),
        pytest.param((0, 1, 0), 0, ["run.py", "scale.py", "docs.generate"], ["new", "new"], id="growth too steep"),
        pytest.param((2,), 2, ["run.py"], ["old", "old"], id="a figure failed"),
        pytest.param((0, 2), 2, ["run.py", "scale.py"], ["new", "old"], id="a point failed"),
    ],
)
def test_publish(
    statuses: tuple[int, ...],
    status: int,
    programs: list[str],
    kept: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Measures, keeps what was measured whole, and writes the pages; a failure ends it. Paths hold in any folder."""
    asked: list[tuple[str, ...]] = []

    def run(*arguments: str) -> int:
        asked.append(arguments)
        if "--save" in arguments:
            Path(arguments[arguments.index("--save") + 1]).write_text("new")
        return statuses[len(asked) - 1]

    names = ("figures.jsonl", "growth.jsonl")
    for name in names:
        (tmp_path / name).write_text("old")
    monkeypatch.setattr(publish, "MEASURED", tmp_path)
    monkeypatch.setattr(publish, "_run", run)
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(publish.main, ["--openb", "figures.jsonl", "growth.jsonl"])
    assert found.exit_code == status
    assert [next(name for name in programs if name in " ".join(each)) for each in asked] == programs
    assert [(tmp_path / name).read_text() for name in names] == kept
    assert {str(tmp_path / name) for name in names} <= set(asked[0])
