"""The command that measures growth: its table and its exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result

from benchmarks import scale
from benchmarks.child_process import FailedError, measured_in_child
from benchmarks.scale import AXES, Axis, Point
from benchmarks.scale_point import ClusterSize, build, measure_point

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


def test_a_cluster_on_several_axes_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its figures stand on each of them."""
    asked: list[tuple[str, int, int]] = []

    def child(_: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        world = arguments["world"]
        asked.append((arguments["release"], world["nodes"], world["services"]))
        return {"decision": 1e-4, "node_event": 1e-3, "building": 1.0, "memory": 10 << 20}

    monkeypatch.setattr(scale, "measured_in_child", child)
    axes = [Axis("nodes", "nodes", (50, 5_000)), Axis("services", "services", (0, 10))]
    found = list(scale.measured(("1.4", "1.20"), axes, 1.0, 1, quick=False))
    sizes = [("nodes", 50), ("nodes", 5_000), ("services", 0), ("services", 10)]
    assert [(one.release, one.axis, one.size) for one in found] == [
        (r, *each) for r in ("1.4", "1.20") for each in sizes
    ]
    assert asked == [(r, *each) for r in ("1.4", "1.20") for each in ((50, 0), (5_000, 0), (5_000, 10))]


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
