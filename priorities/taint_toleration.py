"""TaintTolerationPriority: fewer PreferNoSchedule taints that the pod does not tolerate are better."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.manifests.annotations_1_4 import taints_error, tolerations_error
from clusterstate.objects import Node, Taint, Toleration
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import any_tolerates_1_4
from clusterstate.selectors.matching import any_tolerates
from clusterstate.snapshot import Snapshot
from priorities.normalize import normalize_reversed, turned_evidence
from priorities.score_evidence import Calculation, Explain, added, plugin_evidence, priority_evidence
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityError,
    node_priority,
)

SOFT = "PreferNoSchedule"

Taints = tuple[Taint, ...]


def soft_taints(node: Node) -> Taints | None:
    """The taints of effect PreferNoSchedule; None without any."""
    return tuple(taint for taint in node.taints if taint.effect == SOFT) or None


def soft_tolerations(pod: PodInfo) -> list[Toleration]:
    """The pod's tolerations of every effect or of PreferNoSchedule."""
    return [toleration for toleration in pod.spec.tolerations if toleration.effect in ("", SOFT)]


def intolerable_taints(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) how many PreferNoSchedule taints the pod does not tolerate.

    Upstream: 1.16 ComputeTaintTolerationPriorityMap.
    """
    tolerations = soft_tolerations(pod)

    def intolerable(taints: Taints | None) -> int:
        return sum(not any_tolerates(tolerations, taint) for taint in taints or ())

    counts: IntArray = snapshot.spread(soft_taints, intolerable, np.int64)
    return counts


def tolerates_all(pod: PodInfo) -> int | None:
    """10 for a pod with a toleration of whatever taint."""
    return MAX_PRIORITY if any(t.operator == "Exists" and not t.key for t in soft_tolerations(pod)) else None


# --- 1.4 -----------------------------------------------------------------------------------

UNREAD = -1
"""Stands for a row whose node's annotation cannot be read."""


def soft_or_unread_taints(node: Node) -> Taints | None:
    """The taints of effect PreferNoSchedule, or what stands for those that cannot be read; None without any."""
    return node.taints if taints_error(node.taints) is not None else soft_taints(node)


def intolerable_taints_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) how many PreferNoSchedule taints the pod does not tolerate, UNREAD where that cannot be told.

    Raises PriorityError for tolerations that cannot be read. Upstream: 1.4 ComputeTaintTolerationPriority.
    """
    if error := tolerations_error(pod.spec):
        raise PriorityError(error, per_node=True)
    tolerations = soft_tolerations(pod)

    def intolerable(taints: Taints | None) -> int:
        if taints_error(taints or ()) is not None:
            return UNREAD
        return sum(not any_tolerates_1_4(tolerations, taint) for taint in taints or ())

    counts: IntArray = snapshot.spread(soft_or_unread_taints, intolerable, np.int64)
    return counts


def tolerance_scores(_: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
    """(n,) (1 - count / the most)·10 in float64, truncated; 10 when there are none.

    Raises PriorityError when some row is UNREAD.
    """
    if (counts == UNREAD).any():
        codes, values = snapshot.property_codes(soft_or_unread_taints)
        texts = [str(taints_error(values[code])) for code in codes[counts == UNREAD].tolist()]
        raise PriorityError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    most = counts.max(initial=0)
    if not most:
        return np.full(len(counts), MAX_PRIORITY, np.int64)
    scores: IntArray = ((1.0 - counts / most) * MAX_PRIORITY).astype(np.int64)
    return scores


# --- evidence ------------------------------------------------------------------------------


def _explain(tolerates: Callable[[Iterable[Toleration], Taint], bool]) -> Explain:
    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        node = snapshot.node(int(snapshot.row_numbers[at]))
        taints = (None if node is None else soft_taints(node)) or ()
        tolerations = soft_tolerations(pod)
        texts: dict[str, list[str]] = {"not tolerated": [], "tolerated": []}
        for taint in taints:
            texts["tolerated" if tolerates(tolerations, taint) else "not tolerated"].append(_text(taint))
        return Calculation(added(["1"] * len(texts["not tolerated"])), texts)

    return explain


def _text(taint: Taint) -> str:
    pair = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{pair}:{taint.effect}"


def explain_tolerance_scores(_: PodInfo, __: Snapshot, counts: IntArray, at: int) -> Calculation:
    """Of ``tolerance_scores``."""
    most = int(counts.max(initial=0))
    formula = f"trunc((1.0 - {int(counts[at])} / {most}) * {MAX_PRIORITY})" if most else str(MAX_PRIORITY)
    return Calculation(formula, {"most": most})


TOLERATION_EVIDENCE = plugin_evidence("TaintToleration", _explain(any_tolerates), turned_evidence(MAX_NODE_SCORE))
"""Of ``intolerable_taints`` with ``default_normalize_reversed``."""


# --- maps ----------------------------------------------------------------------------------


def make_taint_toleration(_: PriorityArgs) -> PriorityConfig:
    """With c the PreferNoSchedule taints of the node that the pod does not tolerate, and m the largest c among the
    nodes that fit: 10 - 10·c/m, in integers; 10 everywhere if m is 0.

    Upstream: 1.16 ComputeTaintTolerationPriorityMap and its reduce function.
    """
    name = "TaintTolerationPriority"
    evidence = priority_evidence(name, _explain(any_tolerates), turned_evidence(MAX_PRIORITY))
    return node_priority(name, intolerable_taints, normalize_reversed, evidence, constant=tolerates_all)


def make_taint_toleration_1_4(_: PriorityArgs) -> PriorityConfig:
    """(1 - c/m)·10 in floating point, truncated: counts 0, 1, 3 give 10, 6, 0.

    Upstream: 1.4 ComputeTaintTolerationPriority.
    """
    evidence = priority_evidence("TaintTolerationPriority", _explain(any_tolerates_1_4), explain_tolerance_scores)
    return node_priority("TaintTolerationPriority", intolerable_taints_1_4, tolerance_scores, evidence)


TAINT_TOLERATION: dict[str, PriorityConfigFactory] = {
    "TaintTolerationPriority": PriorityConfigFactory(make_taint_toleration)
}
TAINT_TOLERATION_1_4: dict[str, PriorityConfigFactory] = {
    "TaintTolerationPriority": PriorityConfigFactory(make_taint_toleration_1_4)
}
