"""The axes along which clusters are made larger, and by which power of its size the time of a decision grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import attrs

from benchmarks.scale_world import World

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
    base: World = attrs.field(factory=World)
    """The cluster that it varies."""
    allowed: float = LINEAR
    """The exponent that a decision's time may grow by."""

    def world(self, size: int) -> World:
        """The cluster of that size."""
        return attrs.evolve(self.base, **{self.name: size})


AXES = {
    axis.name: axis
    for axis in (
        Axis("nodes", "nodes", (500, 1_500, 5_000, 15_000, 50_000)),
        Axis("running", "running pods", (0, 1_500, 5_000, 15_000, 50_000, 150_000, 500_000), allowed=FLAT),
        Axis("classes", "distinct classes of pods", (1, 10, 100, 1_000, 10_000, 100_000), World(running=100_000)),
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


def judgement(axis: Axis, points: Sequence[Point]) -> str:
    """A sentence: whether a decision's time grows by no higher a power of the size than it may."""
    found = [one for one in exponents(points) if one is not None]
    if not found:
        return f"{axis.name}: too few sizes to tell"
    highest, allowed = max(found), "flat" if axis.allowed == FLAT else "linear"
    known = [(float(point.size), point.decision) for point in points if point.size]
    overall = exponent(known[0], known[-1]) or 0.0
    holds = "no worse than" if _holds(axis, highest, overall) else "WORSE than"
    grown = f"exponent {overall:.2f} overall, at most {highest:.2f} between neighbours"
    return f"{axis.name}: {holds} {allowed} ({grown})"


def _holds(axis: Axis, highest: float, overall: float) -> bool:
    """A flat axis is judged from end to end: between neighbours, noise alone gives exponents above 0."""
    return overall <= NOISE if axis.allowed == FLAT else highest <= axis.allowed + NOISE
