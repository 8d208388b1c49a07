"""What the scores of ``requested_framework`` were made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.input_texts import resource_inputs
from priorities.normalize import MAX_UTILIZATION, Point, curve, curve_formula
from priorities.requested_framework import (
    STANDARD,
    Devices,
    Resources,
    amounts,
    asks_for_any_1_36,
    considered_1_36,
    in_use,
    no_devices,
    on_curve,
    plain_amounts,
)
from priorities.score_evidence import Calculation, RuleEvidence, added, one_row, plugin_evidence
from priorities.types import MAX_NODE_SCORE

ShareFormula = Callable[[int, int], str]
"""What a ``Share`` gives for one requested and one allocatable amount."""


def least_formula(requested: int, allocatable: int) -> str:
    """Of ``least``."""
    if not allocatable or requested > allocatable:
        return "0"
    return f"({allocatable} - {requested}) * {MAX_NODE_SCORE} // {allocatable}"


def most_formula(requested: int, allocatable: int) -> str:
    """Of ``most``."""
    if not allocatable:
        return "0"
    return f"min({requested}, {allocatable}) * {MAX_NODE_SCORE} // {allocatable}"


def _share_formulas(formula: ShareFormula, requested: IntArray, allocatable: IntArray) -> list[str]:
    """Of (k,) amounts."""
    return [formula(r, a) for r, a in zip(requested.tolist(), allocatable.tolist(), strict=True)]


def _weighted_formula(scores: Sequence[str], weights: Sequence[int]) -> str:
    """``s1 + s2 * 3``; 0 without any."""
    pairs = zip(scores, weights, strict=True)
    return added([score if weight == 1 else f"{score} * {weight}" for score, weight in pairs])


def _mean_formula(mean: str, scores: Sequence[str], weights: Sequence[int]) -> str:
    """mean: of the weighted sum and the sum of the weights; 0 where nothing weighs anything."""
    if not sum(weights):
        return "0"
    return mean.format(_weighted_formula(scores, weights), added([str(weight) for weight in weights]))


def mean_evidence_1_20(name: str, formula: ShareFormula, resources: Resources) -> RuleEvidence:
    """Of ``least_allocated_1_20`` and ``most_allocated_1_20``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        weights = dict(resources)
        requested, allocatable = (a[:, 0] for a in amounts(tuple(weights), pod, one_row(snapshot, at)))
        scores = _share_formulas(formula, requested, allocatable)
        mean = _mean_formula("({}) // ({})", scores, tuple(weights.values()))
        return Calculation(mean, resource_inputs(weights, requested, allocatable))

    return plugin_evidence(name, explain)


def balance_evidence_1_20(name: str) -> RuleEvidence:
    """Of ``balanced_allocation_1_20``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        requested, allocatable = (a[:, 0] for a in amounts(STANDARD, pod, one_row(snapshot, at)))
        inputs = resource_inputs(STANDARD, requested, allocatable)
        if (in_use(requested, allocatable) >= 1).any():
            return Calculation("0", inputs)
        cpu, memory = (f"{r} / {a}" for r, a in zip(requested, allocatable, strict=True))
        return Calculation(f"trunc((1 - abs({cpu} - {memory})) * {MAX_NODE_SCORE})", inputs)

    return plugin_evidence(name, explain)


def mean_evidence_1_36(name: str, formula: ShareFormula, resources: Resources, devices: Devices) -> RuleEvidence:
    """Of ``least_allocated_1_36`` and ``most_allocated_1_36``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        counted, *arrays = considered_1_36(resources, pod, one_row(snapshot, at), devices)
        requested, allocatable = (a[:, 0] for a in arrays)
        there = np.flatnonzero(allocatable)
        scores = _share_formulas(formula, requested[there], allocatable[there])
        weights = [counted[i][1] for i in there.tolist()]
        mean = _mean_formula("({}) // ({})", scores, weights)
        return Calculation(mean, resource_inputs([n for n, _ in counted], requested, allocatable))

    return plugin_evidence(name, explain)


def ratio_evidence_1_36(name: str, shape: Sequence[Point], resources: Resources, devices: Devices) -> RuleEvidence:
    """Of ``requested_to_capacity_ratio_1_36``; shape: points with scores 0-100."""
    table = curve(shape)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        counted, *arrays = considered_1_36(resources, pod, one_row(snapshot, at), devices)
        requested, allocatable = (a[:, 0] for a in arrays)
        have = np.flatnonzero(on_curve(table, requested, allocatable)).tolist()
        scores = [curve_formula(_utilization_formula(int(requested[i]), int(allocatable[i])), shape) for i in have]
        weights = [counted[i][1] for i in have]
        mean = _mean_formula("round(({}) / ({}))", scores, weights)
        return Calculation(mean, resource_inputs([n for n, _ in counted], requested, allocatable))

    return plugin_evidence(name, explain)


def _utilization_formula(requested: int, allocatable: int) -> str:
    if requested > allocatable:
        return f"{MAX_UTILIZATION}"
    return f"{requested} * {MAX_UTILIZATION} // {allocatable}"


def balance_evidence_1_36(name: str, names: Sequence[str], devices: Devices = no_devices) -> RuleEvidence:
    """Of ``balanced_allocation_1_36``."""
    half = MAX_NODE_SCORE // 2

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        if not asks_for_any_1_36(names, pod, snapshot):
            return Calculation("0", {"asked": "nothing"})
        kept, *arrays = plain_amounts(names, pod, one_row(snapshot, at), devices)
        allocatable, before, asked = arrays[0][:, 0], arrays[1][:, 0], arrays[2][0, :, 0]
        with_it, without_it = _balance_formula(before + asked, allocatable), _balance_formula(before, allocatable)
        return Calculation(
            f"{half} + ({half} + {with_it} - {without_it}) // 2", resource_inputs(kept, before + asked, allocatable)
        )

    return plugin_evidence(name, explain)


def _balance_formula(requested: IntArray, allocatable: IntArray) -> str:
    """Of (k,) amounts; what the node has none of does not count."""
    shares = [f"min({r} / {a}, 1.0)" for r, a in zip(requested.tolist(), allocatable.tolist(), strict=True) if a]
    return f"trunc((1 - std({', '.join(shares)})) * {MAX_NODE_SCORE})"
