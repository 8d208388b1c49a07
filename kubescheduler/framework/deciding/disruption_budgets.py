"""PodDisruptionBudgets as preemption spends them: each victim takes one, the next may find none left."""

from __future__ import annotations

from functools import partial

import numpy as np

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical.roster import Roster
from clusterstate.objects import PodDisruptionBudget
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector


def violating(objects: ClusterObjects, roster: Roster, rows: IntArray, victims: Mask) -> Mask:
    """(K, n) bool: the pod would take more from some budget than is left of it.

    Pods are counted from the most important one, node by node, over all victims; a pod that a budget already counts
    as disrupted takes nothing. Upstream: 1.20 and 1.36 filterPodsWithPDBViolation.
    """
    out = np.zeros(victims.shape, np.bool_)
    for budget in objects.pod_disruption_budgets.values():
        matcher = _matcher(budget)
        if matcher is None:
            continue
        taken = roster.select(rows, partial(_selects, budget, matcher)) & victims
        if taken.any():
            if budget.disrupted_pods:
                _spare(taken, budget.disrupted_pods, roster, rows)
            out |= taken & (taken.cumsum(axis=0) > budget.disruptions_allowed)
    return out


def _matcher(budget: PodDisruptionBudget) -> Matcher | None:
    """The budget's selector; None when it is absent, empty or invalid."""
    if budget.selector is None:
        return None
    try:
        matcher = compile_label_selector(budget.selector)
    except SelectorError:
        return None
    return None if matcher.everything else matcher


def _selects(budget: PodDisruptionBudget, matcher: Matcher, info: PodInfo) -> bool:
    if not info.labels:
        return False
    return info.namespace == budget.metadata.namespace and matcher(info.labels)


def _spare(taken: Mask, disrupted: tuple[str, ...], roster: Roster, rows: IntArray) -> None:
    """Takes the pods that are already disrupted out of the mask."""
    for place, at in zip(*(axis.tolist() for axis in np.nonzero(taken)), strict=True):
        if roster.pods[int(rows[at])][place].metadata.name in disrupted:
            taken[place, at] = False
