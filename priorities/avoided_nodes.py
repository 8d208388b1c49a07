"""TaintTolerationPriority: fewer PreferNoSchedule taints that the pod does not tolerate are better;
NodePreferAvoidPods: nodes may ask the pods of some controllers to stay away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.manifests.annotations_1_4 import taints_error, tolerations_error
from clusterstate.objects import Node, Taint, Toleration
from clusterstate.podinfo import Controller, PodInfo
from clusterstate.selectors.affinity_1_4 import any_tolerates_1_4
from clusterstate.selectors.matching import any_tolerates
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import Calculation, Explain, added, plugin_evidence, priority_evidence
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityError,
    default_normalize_reversed,
    node_priority,
    normalize_reversed,
    share_evidence,
    turned_evidence,
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
    return _tolerant(counts, int(counts.max(initial=0)))


def _tolerant(counts: IntArray, most: int) -> IntArray:
    if not most:
        return np.full(len(counts), MAX_PRIORITY, np.int64)
    scores: IntArray = ((1.0 - counts / most) * MAX_PRIORITY).astype(np.int64)
    return scores


# --- evidence ------------------------------------------------------------------------------


def _explain_taints(tolerates: Callable[[Iterable[Toleration], Taint], bool]) -> Explain:
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


TOLERATION_EVIDENCE = plugin_evidence(
    "TaintToleration", _explain_taints(any_tolerates), turned_evidence(MAX_NODE_SCORE)
)
"""Of ``intolerable_taints`` with ``default_normalize_reversed``."""


# --- maps ----------------------------------------------------------------------------------


def make_taint_toleration(_: PriorityArgs) -> PriorityConfig:
    """With c the PreferNoSchedule taints of the node that the pod does not tolerate, and m the largest c among the
    nodes that fit: 10 - 10·c/m, in integers; 10 everywhere if m is 0.

    Upstream: 1.16 ComputeTaintTolerationPriorityMap and its reduce function.
    """
    name = "TaintTolerationPriority"
    evidence = priority_evidence(name, _explain_taints(any_tolerates), turned_evidence(MAX_PRIORITY))
    return node_priority(
        name,
        intolerable_taints,
        normalize_reversed,
        evidence,
        constant=tolerates_all,
        reduce_to_100=default_normalize_reversed,
    )


def make_taint_toleration_1_4(_: PriorityArgs) -> PriorityConfig:
    """(1 - c/m)·10 in floating point, truncated: counts 0, 1, 3 give 10, 6, 0.

    Upstream: 1.4 ComputeTaintTolerationPriority.
    """
    evidence = priority_evidence(
        "TaintTolerationPriority", _explain_taints(any_tolerates_1_4), share_evidence(_tolerant, "most")
    )
    return node_priority(
        "TaintTolerationPriority",
        intolerable_taints_1_4,
        tolerance_scores,
        evidence,
        reduce_to_100=default_normalize_reversed,
    )


TAINT_TOLERATION: dict[str, PriorityConfigFactory] = {
    "TaintTolerationPriority": PriorityConfigFactory(make_taint_toleration)
}
TAINT_TOLERATION_1_4: dict[str, PriorityConfigFactory] = {
    "TaintTolerationPriority": PriorityConfigFactory(make_taint_toleration_1_4)
}


ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"
WEIGHT = 10000
"""More than all other default priorities together can make up for."""

AVOIDABLE = ("ReplicationController", "ReplicaSet")

Controllers = frozenset[tuple[str, str]]
"""(kind, uid) of controllers."""

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class _Malformed(ValueError):
    """The annotation cannot be read."""


def _time(value: Any) -> str:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise _Malformed(value)
    datetime.fromisoformat(value[:19])
    return value


_OWNER = {"apiversion": str, "kind": str, "name": str, "uid": str, "controller": bool, "blockownerdeletion": bool}
_ENTRY = {"podsignature": {"podcontroller": _OWNER}, "evictiontime": _time, "reason": str, "message": str}
_AVOID_PODS = {"preferavoidpods": [_ENTRY]}


def _read(value: Any, shape: Any) -> Any:
    """``value`` with the keys that ``shape`` knows, in lower case; raises _Malformed where a type is another.

    As Go reads JSON: keys match in any case and the last one wins, null changes nothing, other keys are passed over.
    """
    if value is None:
        return None
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise _Malformed(value)
        known = ((_fold(key), item) for key, item in value.items() if item is not None)
        return {key: _read(item, shape[key]) for key, item in known if key in shape}
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise _Malformed(value)
        return [_read(item, shape[0]) or {} for item in value]
    if not isinstance(shape, type):
        return shape(value)
    if not isinstance(value, shape):
        raise _Malformed(value)
    return value


def _fold(key: str) -> str:
    return key.lower().replace("ſ", "s")


@lru_cache(maxsize=4096)
def parse_avoided(annotation: str) -> Controllers:
    """The controllers that the annotation's text names; none when it cannot be read.

    An entry without podController names none (upstream's process ends when it gets to one).
    Upstream: 1.16 GetAvoidPodsFromNodeAnnotations.
    """
    try:
        document = _read(msgspec.json.decode(annotation), _AVOID_PODS) or {}
    except (ValueError, RecursionError):
        return frozenset()
    signatures = (entry.get("podsignature") or {} for entry in document.get("preferavoidpods") or ())
    owners = (signature.get("podcontroller") for signature in signatures)
    return frozenset((owner.get("kind", ""), owner.get("uid", "")) for owner in owners if owner is not None)


def avoided_controllers(node: Node) -> Controllers | None:
    """The controllers whose pods the node would rather not have; None without any."""
    annotation = node.metadata.annotations.get(ANNOTATION)
    return (parse_avoided(annotation) or None) if annotation else None


def _avoidable(pod: PodInfo) -> Controller:
    """The pod's controller if it is of a kind that can be avoided."""
    return pod.controller if pod.controller and pod.controller[0] in AVOIDABLE else None


def avoided_for(pod: PodInfo, _: Snapshot) -> Controller:
    """The controller that nodes may name, None for a pod that no node can."""
    return _avoidable(pod)


def prefer_avoid_pods(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0 where the node's annotation has an entry of the kind and uid of the pod's controller, otherwise 10.

    Upstream: 1.16 CalculateNodePreferAvoidPodsPriorityMap.
    """
    return _scores(pod, snapshot, MAX_PRIORITY)


def prefer_avoid_pods_1_20(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) the same with 100 for 10. Upstream: 1.20 NodePreferAvoidPods."""
    return _scores(pod, snapshot, MAX_NODE_SCORE)


def _scores(pod: PodInfo, snapshot: Snapshot, best: int) -> IntArray:
    controller = _avoidable(pod)

    def score(avoided: Controllers | None) -> int:
        return 0 if avoided and controller in avoided else best

    scores: IntArray = snapshot.spread(avoided_controllers, score, np.int64)
    return scores


def avoided_nowhere_1_20(pod: PodInfo) -> int | None:
    """100 for a pod whose controller is neither a ReplicationController nor a ReplicaSet."""
    return None if _avoidable(pod) else MAX_NODE_SCORE


def avoided_nowhere(pod: PodInfo) -> int | None:
    """10 for a pod whose controller is neither a ReplicationController nor a ReplicaSet."""
    return None if _avoidable(pod) else MAX_PRIORITY


def make_prefer_avoid(_: PriorityArgs) -> PriorityConfig:
    """0 on nodes whose annotation `scheduler.alpha.kubernetes.io/preferAvoidPods` names the kind and uid of the pod's
    controller (a ReplicationController or ReplicaSet), 10 elsewhere. With its weight it outvotes everything else.

    Upstream: 1.4 and 1.16 CalculateNodePreferAvoidPodsPriority.
    """
    return PriorityConfig(
        "NodePreferAvoidPodsPriority",
        prefer_avoid_pods,
        footprint=Footprint(Reads.NODE, pod_key=avoided_for),
        constant=avoided_nowhere,
        evidence=priority_evidence("NodePreferAvoidPodsPriority", _explain_avoided(MAX_PRIORITY)),
    )


def _explain_avoided(best: int) -> Explain:
    """Of ``_scores``."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        node = snapshot.node(int(snapshot.row_numbers[at]))
        avoided = (None if node is None else avoided_controllers(node)) or frozenset()
        controller = _avoidable(pod)
        return Calculation(
            f"{best} * {int(controller not in avoided)}",
            {
                "controller": "none that can be avoided" if controller is None else list(controller),
                "node avoids": sorted(list(one) for one in avoided),
            },
        )

    return explain


PREFER_AVOID_1_20_EVIDENCE = plugin_evidence("NodePreferAvoidPods", _explain_avoided(MAX_NODE_SCORE))


PREFER_AVOID: dict[str, PriorityConfigFactory] = {
    "NodePreferAvoidPodsPriority": PriorityConfigFactory(make_prefer_avoid, WEIGHT)
}
