"""The tables of how fast decisions are, and what they are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.figures import all_figures
from benchmarks.samples import Headline, Measured, Sample, save, saved
from benchmarks.scale import Point, saved_points
from docs.generate import speed_tables
from docs.generate.speed_tables import CHART, FIGURES, GROWTH, MOST_IMPORTANT, chart
from tests.support.releases_tried import RELEASES_TRIED

TITLES = {headline.title for one in all_figures(Path("."), (Path("n"), Path("p"))) for headline in one.headlines}
POINTS = [
    Point("1.36", "services", size, decision, 0.0, 0.0, memory << 20)
    for size, decision, memory in ((0, 1e-4, 80), (10, 1e-4, 90), (100, 9e-4, 90), (1000, 1e-3, 100))
]


def sample(cpu: float, memory: int) -> Sample:
    """One sample."""
    return {"cpu": cpu, "wall": 9.0, "memory": memory << 20}


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every figure measured three times: 1 ms and 100 MiB."""
    path = tmp_path / "figures.jsonl"
    for title in sorted(TITLES):
        save(path, Measured(Headline(title), [], [sample(0.001, 100)] * 3))
    monkeypatch.setattr(speed_tables, "FIGURES", path)
    return path


@pytest.mark.usefixtures("measured")
def test_five_rows() -> None:
    """What README shows: speed, memory, and kube-scheduler where it was measured."""
    lines = speed_tables.speed_tables()["speed in five rows"].splitlines()
    assert len(lines) == 2 + 5 + 2
    assert lines[2] == "| 1.16 SchedulingBasic, 5,000 nodes, one by one | 1,000/s | 100 | 90.7 |"
    assert lines[-1] == "CPU time and peak memory of the process: the median of 3 rounds."


@pytest.mark.usefixtures("measured")
def test_every_figure_is_in_one_table() -> None:
    """Upstream's workloads stand in the one, everything else in the other."""
    found = speed_tables.speed_tables()
    rows = [found[name].count("1,000/s") for name in ("speed of workloads", "speed of everything else")]
    assert sum(rows) == len(TITLES)
    assert "| 1.36 | PreemptionBasic | 20,000 | 1,000/s | 100 | 19.2 | 108 |" in found["speed of workloads"]


def test_figures_of_one_command(measured: Path) -> None:
    """What has no workload of upstream's: with what it aims at, and in how many rounds it was measured."""
    save(measured, Measured(Headline("1.16 Basic in bulk", aim="100,000"), [], [sample(0.00001, 100)] * 2))
    text = speed_tables.speed_tables()["speed of everything else"]
    assert "| 1.16 Basic in bulk | 100,000/s | 100 | 100,000 |" in text
    assert text.endswith("the median of 2 to 3 rounds.")


def test_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for each release and axis: the ends, the exponent from the first size above 0, the steepest step."""
    monkeypatch.setattr(speed_tables, "saved_points", lambda path: POINTS)
    row = speed_tables.speed_tables()["growth"].splitlines()[2]
    assert row == "| services | 0 | 1,000 | 1.36 | 100 → 1,000 | 0.50 | × 9.0, 10 → 100 | 80 → 100 |"


def test_what_is_kept_is_complete() -> None:
    """Every figure was measured, README's rows are figures, and nothing names a place of the machine."""
    assert set(saved(FIGURES)) == TITLES >= set(MOST_IMPORTANT)
    assert {(point.release, point.axis) for point in saved_points(GROWTH)} >= {
        (release, axis) for release in RELEASES_TRIED for axis in ("nodes", "running", "classes", "services", "terms")
    }
    assert not any(one.arguments or one.lacking for one in saved(FIGURES).values())


def test_the_picture_is_up_to_date() -> None:
    """It shows what was measured last."""
    assert CHART.read_text(encoding="utf-8") == chart()
