"""What the DaemonSet controller of each release does: which nodes get a pod, and what such a pod is like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.resources import general_predicates_1_4
from predicates.types import Verdict

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.growable import Mask
    from clusterstate.manifests.decode import Manifest
    from clusterstate.objects import Node, Pod


NODE_NAME = "metadata.name"
"""The field of a node that a pod of a DaemonSet requires."""
OUT_OF_DISK = "OutOfDisk"
"""The condition that keeps 1.4's controller off a node."""

EVICTING = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Keys of taints with effect NoExecute that every pod of a DaemonSet tolerates."""
PRESSING = (
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
)
"""The same with effect NoSchedule."""
NETWORK_UNAVAILABLE = "node.kubernetes.io/network-unavailable"
"""The same, of pods on the node's own network."""


Check = Callable[[PodInfo, Snapshot], Verdict]


class DaemonController(msgspec.Struct, frozen=True, eq=False):
    """The DaemonSet controller of one release."""

    runs_on: Callable[[Pod, ClusterCache], Mask]
    """(n,) bool: the rows of a cluster's nodes that get a pod; of the pod that ``template`` gives."""
    template: Callable[[Mapping[str, Any]], dict[str, Any]]
    """The spec by which nodes are picked, of the template's."""
    spec_for: Callable[..., dict[str, Any]]
    """``spec_for(spec, node)``: the spec of the pod for the node of that name, of the one that ``template`` gives."""
    places: bool = False
    """It gives its pods their node itself, past every scheduler."""


# --- 1.16 and later ----------------------------------------------------------------------------


def bound_by_affinity(spec: Mapping[str, Any], node: str) -> dict[str, Any]:
    """A spec with a required affinity to the node in place of its own.

    Upstream: 1.16 to 1.36 ReplaceDaemonSetPodNodeNameNodeAffinity.
    """
    out = {key: value for key, value in spec.items() if key != "nodeName"}
    affinity = _mapping(out.get("affinity"))
    node_affinity = _mapping(affinity.get("nodeAffinity"))
    fields = [{"key": NODE_NAME, "operator": "In", "values": [node]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    out["affinity"] = {
        **affinity,
        "nodeAffinity": {**node_affinity, "requiredDuringSchedulingIgnoredDuringExecution": required},
    }
    return out


def tolerant(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with tolerations for what may be wrong with a node.

    Upstream: 1.16 to 1.36 AddOrUpdateDaemonPodTolerations.
    """
    wanted = [(key, "NoExecute") for key in EVICTING] + [(key, "NoSchedule") for key in PRESSING]
    wanted += [(NETWORK_UNAVAILABLE, "NoSchedule")] if spec.get("hostNetwork") is True else []
    given = spec.get("tolerations")
    kept = [each for each in given if not _replaced(each, wanted)] if isinstance(given, list) else []
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in wanted]
    return {**spec, "tolerations": [*kept, *added]}


def _replaced(toleration: object, wanted: list[tuple[str, str]]) -> bool:
    """Whether a toleration of a template has the key, effect and operator of one that the controller sets."""
    said = _mapping(toleration)
    return (
        (said.get("key"), said.get("effect")) in wanted and said.get("operator") == "Exists" and not said.get("value")
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def passing(*checks: Check) -> Callable[[Pod, ClusterCache], Mask]:
    """The nodes on which every check passes, whatever runs there. Upstream: nodeShouldRunDaemonPod."""

    def runs_on(pod: Pod, cache: ClusterCache) -> Mask:
        snapshot = cache.snapshot()
        passing = np.ones(len(snapshot), bool)
        for check in checks:
            for failing in check(cache.info(pod), snapshot).values():
                passing &= ~failing
        return passing

    return runs_on


# --- 1.4 ---------------------------------------------------------------------------------------


def as_written(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The template's spec as it is. Upstream: 1.4."""
    return dict(spec)


def named_node(spec: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The template's spec with the node's name. Upstream: 1.4 CreatePodsOnNode."""
    return {**spec, "nodeName": node}


def runs_on_1_4(pod: Pod, cache: ClusterCache) -> Mask:
    """The nodes with room by GeneralPredicates that are not out of disk; taints and cordons do not count.

    Upstream: 1.4 nodeShouldRunDaemonPod.
    """
    rows = passing(general_predicates_1_4)(pod, cache)
    for row, node in enumerate(cache.columns.nodes):
        rows[row] &= node is not None and not _out_of_disk(node)
    return rows


def _out_of_disk(node: Node) -> bool:
    return any(condition.type == OUT_OF_DISK and condition.status == "True" for condition in node.conditions)


def target_node(pod: Pod) -> str:
    """The node that a pod of a DaemonSet is for; empty for a pod that says none. Upstream: 1.16 GetTargetNodeName."""
    if pod.node_name:
        return pod.node_name
    affinity = pod.spec.affinity
    terms = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    fields = (field for term in terms or () for field in term.match_fields if field.key == NODE_NAME)
    return next((field.values[0] for field in fields if field.values), "")


def with_spec(pod: Manifest, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Manifest:
    """A pod's manifest with a changed spec; one that has none, or a faulty one, as it is."""
    spec = pod.get("spec")
    return {**pod, "spec": change(spec)} if isinstance(spec, Mapping) else pod
