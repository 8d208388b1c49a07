"""The weights of Score plugins: which entry of a profile counts, and what they may add up to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import Enabled, Profile
from priorities.types import MAX_NODE_SCORE

MAX_TOTAL_SCORE = (1 << 63) - 1

OVERFLOW = "total score of Score plugins could overflow"

WEIGHING_ORDER_1_20 = (
    Point.PRE_FILTER,
    Point.FILTER,
    Point.POST_FILTER,
    Point.RESERVE,
    Point.PRE_SCORE,
    Point.SCORE,
    Point.PRE_BIND,
    Point.BIND,
    Point.POST_BIND,
    Point.PERMIT,
    Point.QUEUE_SORT,
)
"""A weight in a later list replaces that of an earlier one."""


class Weights(msgspec.Struct, frozen=True):
    """Plugin name → weight, of Score and of PlacementScore plugins."""

    score: Mapping[str, int]
    placement: Mapping[str, int] = msgspec.field(default_factory=dict)


def weights_1_20(profile: Profile, points: Mapping[str, Collection[Point]]) -> Weights:
    """One weight a plugin, whatever it does; the last list that names it counts. points: plugin → where it takes part.

    Upstream: 1.20 pluginsNeeded.
    """
    named = {entry.name: entry.weight for point in WEIGHING_ORDER_1_20 for entry in profile.plugins.get(point, ())}
    weights = {name: named.get(name, 0) or 1 for name in points}
    _check_sum(weights.values(), OVERFLOW)
    return Weights(weights)


def weights_1_36(profile: Profile, points: Mapping[str, Collection[Point]]) -> Weights:
    """The point's own list goes before multiPoint. points: plugin → where it takes part.

    Upstream: 1.36 getScoreWeights.
    """
    score = _first_weights(profile, Point.SCORE, points)
    _check_sum(score.values(), f"score plugins: {OVERFLOW}")
    placement = _first_weights(profile, Point.PLACEMENT_SCORE, points)
    _check_sum(placement.values(), f"placement score plugins: {OVERFLOW}")
    return Weights(score, placement)


def _first_weights(profile: Profile, point: Point, points: Mapping[str, Collection[Point]]) -> dict[str, int]:
    entries: tuple[Enabled, ...] = (*profile.plugins.get(point, ()), *profile.multi_point)
    weights: dict[str, int] = {}
    for entry in entries:
        if point in points.get(entry.name, ()):
            weights.setdefault(entry.name, entry.weight or 1)
    return weights


def _check_sum(weights: Iterable[int], text: str) -> None:
    if sum(weights) * MAX_NODE_SCORE > MAX_TOTAL_SCORE:
        raise ConfigError(text)
