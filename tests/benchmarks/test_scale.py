"""By which power of its size a cluster's decisions are said to grow: points, table, picture and exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs
import pytest
from click.testing import CliRunner, Result

from benchmarks import scale
from benchmarks.child_process import FailedError, measured_in_child
from benchmarks.scale import AXES, ROWS, Point, exponent, growth_chart, judgement, saved_points
from benchmarks.scale_point import ClusterSize, build, measure_point


def points(axis: str, times: dict[int, float]) -> list[Point]:
    """Points of an axis: size → seconds."""
    return [Point("1.36", axis, size, seconds, 0.0, 0.0, 1) for size, seconds in times.items()]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((10, 2.0), (1000, 2.0), 0.0, id="flat"),
        pytest.param((10, 2.0), (1000, 20.0), 0.5, id="by the root"),
        pytest.param((10, 2.0), (1000, 200.0), 1.0, id="in proportion"),
        pytest.param((10, 2.0), (100, 200.0), 2.0, id="by the square"),
        pytest.param((0, 2.0), (100, 200.0), None, id="from nothing"),
    ],
)
def test_exponent(before: tuple[float, float], after: tuple[float, float], expected: float | None) -> None:
    """The power of the size between two sizes."""
    assert exponent(before, after) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("axis", "times", "holds", "words"),
    [
        pytest.param("nodes", {5: 1.0, 50: 10.0, 500: 100.0}, True, "no worse than linear", id="linear"),
        pytest.param("nodes", {5: 1.0, 50: 1.0, 500: 100.0}, False, "WORSE than linear", id="a steep last step"),
        pytest.param("nodes", {5: 1.0, 50: 4.0, 500: 400.0}, False, "× 100.0 from 50 to 500", id="steeper and steeper"),
        pytest.param("classes", {1: 1.0, 10: 1.0, 30: 9.0, 1000: 9.0}, True, "× 9.0 from 10 to 30", id="a step up"),
        pytest.param("classes", {1: 1.0, 10: 1.0, 30: 9.0}, False, "WORSE", id="a step up and no more sizes"),
        pytest.param("running", {0: 1.0, 15: 1.0, 50: 1.2, 5000: 1.1}, True, "no worse than flat", id="noise"),
        pytest.param("running", {0: 1.0, 15: 1.0, 50: 2.0, 5000: 10.0}, False, "WORSE than flat", id="growing pods"),
        pytest.param("running", {15: 5.0, 50: 5.0, 5000: 1.0}, True, "no worse than flat", id="falling"),
        pytest.param("terms", {0: 1.0}, True, "too few sizes", id="one point"),
        pytest.param("terms", {0: 1.0, 1: 3.0}, True, "too few sizes", id="one size above 0"),
    ],
)
def test_judgement(axis: str, times: dict[int, float], holds: bool, words: str) -> None:
    """Whether the growth is what the axis allows."""
    found = judgement(AXES[axis], points(axis, times))
    assert found.holds is holds
    assert words in found.text


def test_memory_is_judged() -> None:
    """Memory may grow in proportion, along every axis, and no faster."""
    made = points("running", {1: 1.0, 10: 1.0, 100: 1.0})
    linear = [attrs.evolve(one, memory=one.size) for one in made]
    square = [attrs.evolve(one, memory=one.size**2) for one in made]
    assert judgement(AXES["running"], linear).holds
    assert not judgement(AXES["running"], square).holds


def test_saved_points_are_in_the_order_of_releases(tmp_path: Path) -> None:
    """The oldest release first; of the same point the last line counts."""
    made = [attrs.evolve(points("nodes", {size: 1.0})[0], release=name) for name in ("1.20", "1.4") for size in (50, 5)]
    lines = [*made, attrs.evolve(made[0], decision=2.0)]
    path = tmp_path / "growth.jsonl"
    path.write_text("".join(json.dumps(attrs.asdict(one)) + "\n" for one in lines))
    found = [(one.release, one.size, one.decision) for one in saved_points(path)]
    assert found == [("1.4", 5, 1.0), ("1.4", 50, 1.0), ("1.20", 5, 1.0), ("1.20", 50, 2.0)]


SVG = "{http://www.w3.org/2000/svg}"


def test_a_line_for_every_release_and_axis() -> None:
    """Each release has its line in each panel, with a dot for each size."""
    points = [
        Point(release, axis.name, size, 1e-4 * (1 + size), 0.0, 0.0, 10**8)
        for release in ("1.16", "1.36")
        for axis in AXES.values()
        for size in axis.sizes
    ]
    root = ET.fromstring(growth_chart(points))
    assert len(root.findall(f"{SVG}polyline")) == 2 * len(AXES) * len(ROWS)
    assert len(root.findall(f"{SVG}circle")) == len(points) * len(ROWS)


Asked = Callable[..., Result]


def point(axis: str, size: int, decision: float, release: str = "1.36") -> Point:
    """A point of which only the time of a decision matters."""
    return Point(release, axis, size, decision, 0.001, 0.5, 10 << 20)


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[list[Point]], Result]:
    """Runs the command on a file of points."""

    def run(points: list[Point]) -> Result:
        path = tmp_path / "points.jsonl"
        path.write_text("".join(json.dumps(attrs.asdict(one)) + "\n" for one in points))
        return CliRunner().invoke(scale.main, ["--saved", str(path), "--plot", str(tmp_path / "growth.svg")])

    return run


@pytest.mark.parametrize(
    ("grown", "status"),
    [
        pytest.param({"nodes": {5: 1e-4, 50: 1e-3}, "running": {5: 1e-4, 50: 1e-4}}, 0, id="as it may"),
        pytest.param({"nodes": {5: 1e-4, 50: 1e-1}, "running": {5: 1e-4, 50: 1e-4}}, 1, id="worse than linear"),
        pytest.param({"nodes": {5: 1e-4, 50: 1e-3}, "running": {5: 1e-4, 50: 3e-4}}, 1, id="running pods not flat"),
        pytest.param({}, 2, id="nothing measured"),
    ],
)
def test_status(asked: Asked, tmp_path: Path, grown: dict[str, dict[int, float]], status: int) -> None:
    """1 where something grows worse than it may, 2 where nothing is known; the picture is drawn in any case."""
    points = [point(axis, size, time) for axis, times in grown.items() for size, time in times.items()]
    found = asked(points)
    assert found.exit_code == status, found.output
    assert ("WORSE" in found.output) is (status == 1)
    assert (tmp_path / "growth.svg").exists()


def test_one_release_that_grows_worse(asked: Asked) -> None:
    """Releases are judged apart; a row has the exponent and the memory."""
    points = [point("nodes", size, 1e-4 * size / 5) for size in (5, 50)]
    points += [point("nodes", size, 1e-4 * size**2 / 25, "1.16") for size in (5, 50)]
    found = asked(points)
    assert found.exit_code == 1
    rows = [line.split() for line in found.output.splitlines()]
    assert ["1.36", "nodes", "50", "1000", "1000", "1.00", "1.0", "0.5", "10"] in rows
    assert ["1.16", "nodes", "50", "10000", "100", "2.00", "1.0", "0.5", "10"] in rows


@pytest.mark.parametrize("axis", AXES)
def test_worlds(axis: str) -> None:
    """A cluster has what the axis says, and every measured pod finds a node."""
    sizes = {"nodes": 8, "running": 24, axis: 8}
    world = ClusterSize(**sizes)
    scheduler = build(world, "1.36")
    cache = scheduler.cache
    assert (cache.columns.node_count, cache.pod_count) == (world.nodes, world.running)
    assert len(cache.objects.services) == world.services
    found = measure_point(sizes, "1.36", 0.0, 50)
    assert found["decision"] > 0
    assert found["memory"] > 1 << 20


def test_in_a_child_process() -> None:
    """A point comes back from a process of its own; an error says what the process wrote."""
    asked = {"world": {"nodes": 3, "running": 2}, "release": "1.16", "seconds": 0.0, "most": 50}
    assert set(measured_in_child(measure_point, asked)) == {"decision", "node_event", "building", "memory"}
    with pytest.raises(FailedError, match="no_such_count"):
        measured_in_child(measure_point, {**asked, "world": {"no_such_count": 1}})
