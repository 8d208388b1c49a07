"""The releases' views of objects, one record each, and what feature gates make of them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clusterstate.images import SnapshotImageStates
from clusterstate.manifests.annotations_1_4 import name_key, node_1_4, pod_key_1_4, unlisted_1_4
from clusterstate.nodetree import zone_key, zone_key_stable
from clusterstate.objects import Node, Pod
from clusterstate.pod_view_1_36 import gated_pod_key_1_36, pod_key_1_36
from clusterstate.podinfo import pod_key
from clusterstate.release_view import ReleaseView
from clusterstate.topology.pod_affinity import affinity_uses
from clusterstate.topology.pod_affinity_1_4 import affinity_uses_1_4
from clusterstate.usage import account_1_4, account_1_16, account_1_16_with_overhead, tracked_1_4, tracked_1_16
from clusterstate.usage_framework import account_1_20, account_1_36


def uid_key(pod: Pod) -> str:
    """What identifies a pod since release 1.16."""
    return pod.metadata.uid


def as_written(node: Node) -> Node:
    """Since 1.16 a node is what its object says; 1.4 reads annotations too."""
    return node


VIEW_1_16 = ReleaseView(
    accounting=account_1_16,
    tracked=tracked_1_16,
    pod_key=pod_key,
    node=as_written,
    affinity_uses=affinity_uses,
    identity=uid_key,
    zone_key=zone_key,
)
VIEW_1_4 = ReleaseView(
    accounting=account_1_4,
    tracked=tracked_1_4,
    pod_key=pod_key_1_4,
    node=node_1_4,
    affinity_uses=affinity_uses_1_4,
    identity=name_key,
    zone_key=zone_key,
    unlisted=unlisted_1_4,
)
VIEW_1_20 = msgspec.structs.replace(VIEW_1_16, accounting=account_1_20, zone_key=zone_key_stable)
VIEW_1_36 = msgspec.structs.replace(
    VIEW_1_20, accounting=account_1_36, pod_key=pod_key_1_36, images=SnapshotImageStates
)


def view_1_4(_: Mapping[str, bool]) -> ReleaseView:
    """How 1.4 reads objects; it has no feature gates that matter."""
    return VIEW_1_4


def view_1_16(gates: Mapping[str, bool]) -> ReleaseView:
    """How 1.16 reads objects under these feature gates."""
    return (
        msgspec.structs.replace(VIEW_1_16, accounting=account_1_16_with_overhead) if gates["PodOverhead"] else VIEW_1_16
    )


def view_1_20(_: Mapping[str, bool]) -> ReleaseView:
    """How 1.20 reads objects, whatever the feature gates."""
    return VIEW_1_20


def view_1_36(gates: Mapping[str, bool]) -> ReleaseView:
    """How 1.36 reads objects under these feature gates."""
    return msgspec.structs.replace(VIEW_1_36, pod_key=gated_pod_key_1_36(gates))
