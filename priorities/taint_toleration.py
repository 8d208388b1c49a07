"""TaintTolerationPriority: fewer PreferNoSchedule taints that the pod does not tolerate are better."""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray
from clusterstate.objects import Node, Taint, Toleration
from clusterstate.podinfo import PodInfo
from clusterstate.selectors import any_tolerates
from clusterstate.snapshot import Snapshot
from priorities.normalize import normalize_reversed
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory

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


def _make_taint_toleration(_: PriorityArgs) -> PriorityConfig:
    return PriorityConfig(
        "TaintTolerationPriority",
        intolerable_taints,
        normalize_reversed,
        reads=Reads.NODE,
        constant=tolerates_all,
        valuewise=True,
    )


TAINT_TOLERATION: dict[str, PriorityConfigFactory] = {
    "TaintTolerationPriority": PriorityConfigFactory(_make_taint_toleration)
}
