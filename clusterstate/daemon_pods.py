"""Pods that belong to their node: of DaemonSets, and static pods, which an API server only mirrors."""

from __future__ import annotations

from clusterstate.objects import Pod

MIRROR = "kubernetes.io/config.mirror"
"""The annotation by which an API server knows a static pod."""
SOURCE = "kubernetes.io/config.source"
"""The annotation of where a kubelet has a pod from."""
DAEMON = "cluster-autoscaler.kubernetes.io/daemonset-pod"
"""The annotation by which cluster-autoscaler takes other pods for those of a DaemonSet."""
OWNERS = frozenset({"DaemonSet", "Node"})
"""Kinds of controllers whose pods belong to one node."""


def is_daemon_pod(pod: Pod) -> bool:
    """Whether a node has the pod whatever a scheduler does, so that it does not count as used by it.

    Upstream: cluster-autoscaler's IsDaemonSetPod, IsMirrorPod and IsStaticPod.
    """
    annotations = pod.metadata.annotations
    if MIRROR in annotations or annotations.get(SOURCE, "api") != "api" or annotations.get(DAEMON) == "true":
        return True
    return any(owner.controller and owner.kind in OWNERS for owner in pod.metadata.owner_references)
