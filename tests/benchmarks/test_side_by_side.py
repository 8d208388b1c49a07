"""Two checkouts in turn: what a row says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import side_by_side
from benchmarks.child_process import HERE, FailedError
from benchmarks.headlines import SETS, Headline, commands
from benchmarks.samples import Sample, sample_command, sample_scene, sample_size, sample_workload
from benchmarks.side_by_side import Measured, alternate

OTHER = Path("other")


def sample(cpu: float, wall: float = 1.0, memory: int = 1 << 20) -> Sample:
    """One sample."""
    return {"cpu": cpu, "wall": wall, "memory": memory}


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        pytest.param("/s", "400/s", id="rate"),
        pytest.param("ms", "2.5 ms", id="milliseconds"),
        pytest.param("s", "0.00 s", id="seconds"),
    ],
)
def test_shown(unit: str, expected: str) -> None:
    """A figure is shown in its unit."""
    assert Headline("t", sample_workload, {}, unit).shown(0.0025) == expected


def test_the_ratio_is_of_neighbours_in_time() -> None:
    """Each sample is compared with the one measured just before it, so that a machine's slow minute counts for both."""
    found = Measured(Headline("t", sample_workload, {}), [sample(2.0), sample(20.0)], [sample(1.0), sample(5.0)])
    assert found.ratios() == [2.0, 4.0]
    assert "3.00" in found.line()
    assert "2.00–4.00" in found.line()


def test_wall_time_is_shown_and_does_not_count() -> None:
    """On a machine with other work, only CPU time says what a change did."""
    found = Measured(Headline("t", sample_command, {}, "s"), [sample(1.0, wall=6.0)], [sample(1.0, wall=3.0)])
    assert found.ratios() == [1.0]
    assert "3.00 s" in found.line()


def test_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, here, there, here; one that fails is reported and does not keep the next from being measured."""
    asked: list[tuple[str, Path]] = []

    def child(_: Any, arguments: dict[str, Any], checkout: Path) -> Sample:
        asked.append((arguments["name"], checkout))
        if arguments["name"] == "faulty":
            raise FailedError("Traceback\nno")
        return sample(1.0)

    monkeypatch.setattr(side_by_side, "measured_in_child", child)
    headlines = [Headline(name, sample_workload, {"name": name}) for name in ("faulty", "good")]
    faulty, good = alternate(headlines, OTHER, 2)
    assert str(faulty) == "faulty: no"
    assert isinstance(good, Measured)
    assert asked == [("faulty", OTHER), *[("good", OTHER), ("good", HERE)] * 2]


@pytest.mark.parametrize("title", SETS)
def test_titles_are_distinct(title: str) -> None:
    """Every figure has a title of its own, by which ``--only`` finds it."""
    titles = [headline.title for headline in SETS[title]()]
    assert len(titles) == len(set(titles)) > 0


@pytest.mark.parametrize("more", [{}, {"bulk": True}, {"own_labels": True}], ids=["one by one", "bulk", "own labels"])
def test_a_workload(more: dict[str, Any]) -> None:
    """Every pod finds a node, in bulk too."""
    found = sample_workload("SchedulingBasic", "1.36", 4, 30, init_pods=3, **more)
    assert found["scheduled"] == 30
    assert found["memory"] > 1 << 20


def test_preemptions_with_nominated_pods() -> None:
    """Nominated pods hold their nodes; the others are preempted on."""
    found = sample_workload("PreemptionBasic", "1.36", 6, 2, init_pods=24, nominated=2)
    assert found["scheduled"] == 2


def test_a_command_and_its_failure() -> None:
    """The time of the whole process; a status other than 0 is an error."""
    assert sample_command(["--version"])["cpu"] > 0
    with pytest.raises(RuntimeError, match="exit status 2"):
        sample_command(["--no-such-option"])


def test_samples_of_clusters() -> None:
    """A large cluster, here a small one, in bulk; and a scene that has no such line."""
    assert sample_size("1.16", 40, 10, bulk=True)["cpu"] > 0
    with pytest.raises(ValueError, match="no such line"):
        sample_scene("OwnLabelsServices", "no such line", "1.16", 10, rate=True)


def test_files_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that a command is asked to read is there."""
    monkeypatch.setattr("benchmarks.headlines.NODES_OF_FILES", 3)
    monkeypatch.setattr("benchmarks.headlines.PODS_OF_FILES", 5)
    for headline in commands(tmp_path):
        paths = [Path(text) for text in headline.arguments["arguments"] if "/" in text]
        assert all(path.exists() for path in paths)
