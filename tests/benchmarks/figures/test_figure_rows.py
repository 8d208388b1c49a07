"""What a row says of a figure, and figures in a file."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from benchmarks.figures.figure_rows import HEAD, row, save, saved
from benchmarks.figures.headline import Headline, Sample
from benchmarks.figures.side_by_side import Measured


def sample(cpu: float, wall: float = 1.0, memory: int = 1 << 20) -> Sample:
    """One sample."""
    return {"cpu": cpu, "wall": wall, "memory": memory}


def test_columns() -> None:
    """Medians of CPU time, the ratio and its spread, wall time, memory, aim."""
    found = Measured(
        Headline("t", unit="s", aim="2 s"),
        [sample(2.0, memory=3 << 20), sample(20.0, memory=5 << 20)],
        [sample(1.0, 6.0, 7 << 20), sample(5.0, 8.0, 9 << 20)],
    )
    words = row(found, {}).split()
    assert words == ["t", "11.00", "s", "3.00", "s", "3.00", "2.00–4.00", "7.00", "s", "4", "8", "2", "s"]
    assert len(row(found, {})) < len(HEAD) + 20


def test_wall_time_does_not_count() -> None:
    """On a machine with other work, only CPU time says what a change did."""
    found = Measured(Headline("t", unit="s"), [sample(1.0, wall=6.0)], [sample(1.0, wall=3.0)])
    assert row(found, {}).split() == ["t", "1.00", "s", "1.00", "s", "1.00", "1.00–1.00", "3.00", "s", "1", "1"]


def test_what_the_other_checkout_lacks() -> None:
    """It is shown as a dash, and left open where there is no other checkout."""
    assert row(Measured(Headline("t"), [], [sample(0.5)], lacking="No such option"), {}).split().count("–") == 4
    assert "–" not in row(Measured(Headline("t"), [], [sample(0.5)]), {})


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param({"whole": Measured(Headline("whole"), [], [sample(0.4)])}, "80 % of it (is 80%)", id="known"),
        pytest.param({}, "80 % of it", id="not measured"),
    ],
)
def test_shares(known: dict[str, Measured], expected: str) -> None:
    """An aim that is a share of another figure says which share it is."""
    found = Measured(Headline("t", aim="80 % of it", share_of="whole"), [], [sample(0.5)])
    assert row(found, known).endswith(f"  {expected}")


def test_saved_and_read(tmp_path: Path) -> None:
    """Of a title that was saved twice the later counts. Paths of a machine are not kept."""
    path = tmp_path / "figures.jsonl"
    first = Measured(Headline("t"), [], [sample(1.0)])
    second = Measured(
        Headline("t", "part", "ms", "5 ms"), [sample(3.0)], [sample(2.0)], {"arguments": ["/a/path"]}, "it"
    )
    for found in (first, second):
        save(path, found)
    assert saved(path) == {"t": attrs.evolve(second, arguments={})}
    assert "/a/path" not in path.read_text()
