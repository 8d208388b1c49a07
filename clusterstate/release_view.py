"""How a release sees the objects it is given, and what it counts of them."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from clusterstate.manifests.annotations_1_4 import name_key, node_1_4, pod_key_1_4, unlisted_1_4
from clusterstate.nodetree import zone_key, zone_key_stable
from clusterstate.objects import Node, Pod
from clusterstate.pod_view_1_36 import pod_key_1_36
from clusterstate.podinfo import PodInfo, PodKey, pod_key
from clusterstate.topology.pod_affinity import Use, affinity_uses
from clusterstate.topology.pod_affinity_1_4 import affinity_uses_1_4
from clusterstate.usage import Accounting, account_1_4, account_1_16, tracked_1_4, tracked_1_16
from clusterstate.usage_framework import account_1_20, account_1_36


def uid_key(pod: Pod) -> str:
    """What tells pods apart since release 1.16; empty for a pod that cannot be kept."""
    return pod.metadata.uid


def as_written(node: Node) -> Node:
    return node


@attrs.frozen
class ReleaseView:
    """One release's eyes.

    accounting: a spec's amounts. tracked: whether account is kept of a resource. pod_key: what makes two pods equal,
    with the spec as rules see it. node: a node as rules see it. affinity_uses: the uses a pod class makes of
    topologies. identity: what tells pods apart. unlisted: True for a node that is not even looked at, otherwise
    None; by default every node is. zone_key: the zone by which nodes take turns.
    """

    accounting: Accounting = account_1_16
    tracked: Callable[[str], bool] = tracked_1_16
    pod_key: Callable[[Pod], PodKey] = pod_key
    node: Callable[[Node], Node] = as_written
    affinity_uses: Callable[[PodInfo], tuple[Use, ...]] = affinity_uses
    identity: Callable[[Pod], str] = uid_key
    unlisted: Callable[[Node], bool | None] | None = None
    zone_key: Callable[[Node], str | None] = zone_key


VIEW_1_16 = ReleaseView()
VIEW_1_4 = ReleaseView(account_1_4, tracked_1_4, pod_key_1_4, node_1_4, affinity_uses_1_4, name_key, unlisted_1_4)
VIEW_1_20 = ReleaseView(account_1_20, zone_key=zone_key_stable)
VIEW_1_36 = ReleaseView(account_1_36, pod_key=pod_key_1_36, zone_key=zone_key_stable)
