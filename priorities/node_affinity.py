"""NodeAffinityPriority: the weights of the preferred node affinity terms that a node meets, ·10 / the best node's."""

from __future__ import annotations

from clusterstate.changes import Reads
from clusterstate.podinfo import PodInfo
from clusterstate.selection import preferred_weights
from priorities.normalize import normalize
from priorities.types import PriorityArgs, PriorityConfig, PriorityConfigFactory


def no_preference(pod: PodInfo) -> int | None:
    """0 for a pod without a preferred term that weighs anything."""
    affinity = pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity and affinity.node_affinity else ()
    return None if any(term.weight for term in preferred) else 0


def _make_node_affinity(_: PriorityArgs) -> PriorityConfig:
    """Upstream: 1.16 CalculateNodeAffinityPriorityMap and NormalizeReduce(10, false)."""
    return PriorityConfig(
        "NodeAffinityPriority",
        preferred_weights,
        normalize,
        reads=Reads.NODE,
        constant=no_preference,
        valuewise=True,
    )


NODE_AFFINITY: dict[str, PriorityConfigFactory] = {"NodeAffinityPriority": PriorityConfigFactory(_make_node_affinity)}
