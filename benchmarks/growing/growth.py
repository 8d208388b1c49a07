"""The axes along which clusters are made larger, and by which power of its size the time of a decision grows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import attrs

from benchmarks.growing.scale_world import ClusterSize
from kubescheduler.releases.names import RELEASE_NAMES

LINEAR = 1.0
FLAT = 0.0
NOISE = 0.15
"""Exponents that differ by less are equal: a busy machine's times vary by a fifth from one run to the next."""


@attrs.frozen
class Axis:
    """One count of a cluster, and the sizes that it is measured at while all others stay what they are."""

    name: str
    title: str
    """What the axis counts, under the plot."""
    sizes: tuple[int, ...]
    base: ClusterSize = attrs.field(factory=ClusterSize)
    """The cluster that it varies."""
    allowed: float = LINEAR
    """The exponent that a decision's time may grow by."""

    def world(self, size: int) -> ClusterSize:
        """The cluster of that size."""
        return attrs.evolve(self.base, **{self.name: size})


AXES = {
    axis.name: axis
    for axis in (
        Axis("nodes", "nodes", (500, 5_000, 15_000, 50_000)),
        Axis("running", "running pods", (0, 5_000, 50_000, 500_000), allowed=FLAT),
        Axis(
            "classes",
            "distinct classes of pods",
            (1, 10, 100, 300, 1_000, 100_000),
            ClusterSize(running=100_000),
        ),
        Axis("services", "services", (0, 1, 10, 100, 1_000, 5_000)),
        Axis("terms", "apps with affinity and spreading", (0, 1, 10, 100, 1_000, 5_000)),
    )
}


@attrs.frozen
class Point:
    """What was measured of one cluster. Times in CPU seconds, memory in bytes."""

    release: str
    axis: str
    size: int
    decision: float
    """Decide and assume, the median over groups of decisions."""
    node_event: float
    """A node is added, and the next pod decided."""
    building: float
    """All objects decoded and put into the cache."""
    memory: int
    """The process's resident memory at its highest."""


def exponent(before: tuple[float, float], after: tuple[float, float]) -> float | None:
    """The power of the size by which a value grows from one (size, value) to the next; None from size or value 0."""
    if before[0] <= 0 or before[1] <= 0 or after[1] <= 0:
        return None
    return math.log(after[1] / before[1]) / math.log(after[0] / before[0])


def exponents(points: Sequence[Point]) -> list[float | None]:
    """Of the decision's time, from every point's smaller neighbour to it; None for the first."""
    pairs = [(float(point.size), point.decision) for point in points]
    return [None, *(exponent(*pair) for pair in pairwise(pairs))][: len(points)]


@attrs.frozen
class Judgement:
    """Whether what was measured along an axis grows no faster than it may."""

    axis: Axis
    holds: bool
    text: str
    """A sentence."""


def judgement(axis: Axis, points: Sequence[Point]) -> Judgement:
    """Of a decision's time and of memory, by the sizes above 0 of one axis and release, the smallest first.

    What may grow in proportion must not cost more at the largest size than in proportion to any smaller one: a step up
    to a level that then stays is no such growth, and is named. A flat axis is judged from end to end, and memory is
    never flat.
    """
    known = [point for point in points if point.size]
    if len(known) < 2:
        return Judgement(axis, True, f"{axis.name}: too few sizes to tell")
    times, memory = _to_the_largest(known, lambda one: one.decision), _to_the_largest(known, lambda one: one.memory)
    grown, allowed = (times[0], "flat") if axis.allowed == FLAT else (max(times), "linear")
    holds = grown <= axis.allowed + NOISE and max(memory) <= LINEAR + NOISE
    word = "no worse than" if holds else "WORSE than"
    overall = f"exponent {times[0]:.2f} overall, at most {max(times):.2f} to the largest, memory {max(memory):.2f}"
    return Judgement(axis, holds, f"{axis.name}: {word} {allowed} ({overall}{_steps(known)})")


def _to_the_largest(points: Sequence[Point], value: Callable[[Point], float]) -> list[float]:
    """The exponent from each point to the last, for all but the last."""
    pairs = [(float(point.size), value(point)) for point in points]
    return [exponent(pair, pairs[-1]) or 0.0 for pair in pairs[:-1]]


def _steps(points: Sequence[Point]) -> str:
    """Where a decision's time goes up faster than in proportion from one size to the next."""
    found = [
        f"; × {new.decision / old.decision:.1f} from {old.size:,} to {new.size:,}"
        for (old, new), power in zip(pairwise(points), exponents(points)[1:], strict=True)
        if power is not None and power > LINEAR + NOISE
    ]
    return "".join(found)


def saved_points(path: Path) -> list[Point]:
    """The points of a file of JSON lines, as ``--save`` writes it, the oldest release first; of the same point the last
    line counts."""
    found = [Point(**json.loads(line)) for line in path.read_text().splitlines()]
    last = {(RELEASE_NAMES.index(point.release), point.axis, point.size): point for point in found}
    return [last[key] for key in sorted(last)]
