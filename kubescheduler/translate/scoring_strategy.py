"""Priorities that look at how full a node is, as the one scoring strategy that NodeResourcesFit of 1.36 has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import msgspec

from kubescheduler.framework.args.args_type import CPU_AND_MEMORY
from kubescheduler.framework.plugins.node_resources_fit import ScoringStrategy
from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.translation_model import Note, NoteKind, Role, origin

LEAST = "LeastRequestedPriority"
MOST = "MostRequestedPriority"
RATIO = "RequestedToCapacityRatioPriority"

Resources = tuple[tuple[str, int], ...]
"""(resource, weight)."""
Shape = tuple[tuple[int, int], ...]
"""(utilization 0-100, score 0-10) points, utilization rising."""
Curve = list[tuple[int, Fraction]]

FALLING: Shape = ((0, 10), (100, 0))
RISING: Shape = ((0, 0), (100, 10))
SHAPES: dict[str, Shape] = {LEAST: FALLING, MOST: RISING, RATIO: FALLING}
"""Priority without an argument → what it scores by utilization; approximately for the first two."""

TYPES: dict[Shape, str] = {FALLING: "LeastAllocated", RISING: "MostAllocated"}
RATIO_TYPE = "RequestedToCapacityRatio"
MAX_RESOURCE_WEIGHT = 100


class Strategy(msgspec.Struct, frozen=True):
    """Priorities of node resources as one score of NodeResourcesFit."""

    strategy: ScoringStrategy
    weight: int
    """The weight of NodeResourcesFit as a score; 0: the priorities cancel one another out."""
    origin: str
    notes: tuple[Note, ...] = ()


class _Part(msgspec.Struct, frozen=True):
    item: PolicyEntry
    shape: Shape
    resources: Resources
    ratio: bool


def is_strategy(item: PolicyEntry) -> bool:
    """Whether the priority is one of those."""
    return item.priority.requested_to_capacity_ratio is not None if item.priority else item.name in SHAPES


def role_of(shape: Shape) -> Role:
    """Packs if it is best somewhere above the emptiest node, spreads if the emptiest node is best."""
    best = max(score for _, score in shape)
    if all(score == best for _, score in shape):
        return Role.OTHER
    return Role.SPREADS if shape[0][1] == best else Role.PACKS


def strategy_role(strategy: ScoringStrategy) -> Role:
    """What a strategy does to pods."""
    if strategy.shape is not None:
        return role_of(strategy.shape)
    return Role.PACKS if strategy.type == "MostAllocated" else Role.SPREADS


def item_role(item: PolicyEntry) -> Role:
    """What one of those priorities does to pods."""
    return role_of(_part(item).shape)


def combined(items: Sequence[PolicyEntry], *, overfull_counts_nothing: bool) -> Strategy:
    """The strategy for one or more of those priorities.

    overfull_counts_nothing: the release gives MostRequestedPriority 0 where requests exceed what a node has. Several
    priorities over the same resources are added up to one shape; of others only the heaviest is kept.
    """
    parts = [_part(item) for item in items]
    heaviest = max(parts, key=lambda part: part.item.weight)
    same = [part for part in parts if dict(part.resources) == dict(heaviest.resources)]
    notes = [_lost(part, heaviest) for part in parts if part not in same]
    notes += _resource_notes(heaviest)
    if len(same) > 1:
        return _sum(same, notes)
    if heaviest.ratio:
        text = "utilisation is rounded down in 1.36, and a resource that a node does not have is left out"
        notes.append(Note(NoteKind.APPROXIMATE, heaviest.item.path, text))
    elif heaviest.item.name == MOST and overfull_counts_nothing:
        text = "a node whose requests exceed what it has scores highest in 1.36, where it scored 0"
        notes.append(Note(NoteKind.APPROXIMATE, heaviest.item.path, text))
    return Strategy(_strategy(heaviest), heaviest.item.weight, heaviest.item.origin, tuple(notes))


def _part(item: PolicyEntry) -> _Part:
    ratio = item.priority.requested_to_capacity_ratio if item.priority else None
    if ratio is None:
        return _Part(item, SHAPES[item.name], CPU_AND_MEMORY, ratio=item.name == RATIO)
    resources = tuple((name, weight) for name, weight in ratio.resource_weights() if weight > 0)
    shape = tuple((point.utilization, point.score) for point in ratio.shape)
    return _Part(item, shape, resources or CPU_AND_MEMORY, ratio=True)


def _strategy(part: _Part) -> ScoringStrategy:
    if part.ratio:
        return ScoringStrategy(RATIO_TYPE, _fitting(part.resources), part.shape)
    return ScoringStrategy(TYPES[part.shape], part.resources)


def _fitting(resources: Resources) -> Resources:
    """The weights as 1.36 takes them, 1 to 100, in about the ratios they have."""
    largest = max(weight for _, weight in resources)
    if largest <= MAX_RESOURCE_WEIGHT:
        return resources
    return tuple((name, max(1, round(weight * MAX_RESOURCE_WEIGHT / largest))) for name, weight in resources)


def _resource_notes(part: _Part) -> Iterator[Note]:
    ratio = part.item.priority.requested_to_capacity_ratio if part.item.priority else None
    if ratio is not None and any(weight < 1 for _, weight in ratio.resource_weights()):
        yield Note(NoteKind.LOST, part.item.path, "resources with a negative weight are left out: 1.36 takes none")
    if _fitting(part.resources) != part.resources:
        text = f"weights of resources go up to {MAX_RESOURCE_WEIGHT} in 1.36: they are scaled down"
        yield Note(NoteKind.APPROXIMATE, part.item.path, text)


def _lost(part: _Part, kept: _Part) -> Note:
    resources = ", ".join(f"{name} {weight}" for name, weight in part.resources)
    return Note(
        NoteKind.LOST,
        part.item.path,
        f"NodeResourcesFit has one scoring strategy, and {kept.item.path} takes it with resources of its own",
        f"choose one of the two for args.scoringStrategy; this one counts {resources} with weight {part.item.weight}",
    )


# --- several in one ------------------------------------------------------------------------


def _sum(parts: Sequence[_Part], notes: list[Note]) -> Strategy:
    """One shape for their weighted sum: its lowest point becomes 0, its highest 10, and its range the weight."""
    curve = _curve(parts)
    low, high = (best(value for _, value in curve) for best in (min, max))
    resources, source = _fitting(parts[0].resources), origin(part.item.origin for part in parts)
    paths = ", ".join(part.item.path for part in parts)
    if low == high:
        text = "they cancel one another out, so nothing is scored by how full nodes are"
        return Strategy(ScoringStrategy(), 0, source, (*notes, Note(NoteKind.APPROXIMATE, paths, text)))
    weight = max(1, round((high - low) / 10))
    shape = _without_straight_points(tuple((at, round((value - low) * 10 / (high - low))) for at, value in curve))
    if shape in TYPES:
        strategy, name = ScoringStrategy(TYPES[shape], resources), TYPES[shape]
    else:
        strategy, name = ScoringStrategy(RATIO_TYPE, resources, shape), f"{RATIO_TYPE}, their weighted sum as one shape"
    text = f"NodeResourcesFit has one scoring strategy; together they are {name}, weight {weight}"
    return Strategy(strategy, weight, source, (*notes, Note(NoteKind.APPROXIMATE, paths, text)))


def _curve(parts: Sequence[_Part]) -> Curve:
    """Utilization → the weighted sum of scores, wherever one of the shapes bends."""
    bends = sorted({0, 100, *(at for part in parts for at, _ in part.shape)})
    return [(at, sum((part.item.weight * _value(part.shape, at) for part in parts), Fraction())) for at in bends]


def _value(shape: Shape, at: int) -> Fraction:
    if at <= shape[0][0]:
        return Fraction(shape[0][1])
    for (left, low), (right, high) in pairwise(shape):
        if at <= right:
            return low + Fraction(high - low, right - left) * (at - left)
    return Fraction(shape[-1][1])


def _without_straight_points(shape: Shape) -> Shape:
    kept = list(shape)
    for point in shape[1:-1]:
        others = tuple(p for p in kept if p != point)
        if _value(others, point[0]) == point[1]:
            kept.remove(point)
    return tuple(kept)
