"""The workload that a pod is of: what people apply, above the ReplicaSets and Jobs between; and pods that belong to
their node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from clusterstate.objects import ClusterObject, ObjectMeta, OwnerReference, Pod, ReplicaSet

TEMPLATE_HASH = "pod-template-hash"
"""The label that a Deployment gives the pods of a ReplicaSet; the ReplicaSet's name ends with its value."""

MINUTES, SECONDS = range(24_000_000, 48_000_000), range(1_400_000_000, 2_000_000_000)
"""What CronJobs put behind the names of their Jobs: minutes since 1970 from 1.21 on, seconds before. The numbers are
those of the years 2015 to 2061 and 2014 to 2033, which dates as 20240131 and 2024013112 are not."""

_NUMBERED = re.compile(r"(.+)-(\d{8}|\d{10})")

Controllers = Mapping[tuple[str, str], OwnerReference]
"""(namespace, name) of a ReplicaSet → its own controller."""


def workloads_of(pods: Iterable[Pod], objects: Iterable[ClusterObject]) -> list[str]:
    """Of each pod ``Kind/name`` of its workload: ``Deployment/web``; a pod that nobody controls is its own.

    Through ReplicaSets to Deployments, by the ReplicaSet in ``objects`` or by the pod's template hash, and through
    Jobs to CronJobs, by the number that ends the Job's name.
    """
    above = {
        (obj.metadata.namespace, obj.metadata.name): owner
        for obj in objects
        if isinstance(obj, ReplicaSet) and (owner := _controller(obj.metadata)) is not None
    }
    return [_workload(pod.metadata, above) for pod in pods]


def _controller(metadata: ObjectMeta) -> OwnerReference | None:
    return next((owner for owner in metadata.owner_references if owner.controller), None)


def _workload(metadata: ObjectMeta, above: Controllers) -> str:
    owner = _controller(metadata)
    if owner is None or owner.kind == "Node":  # a static pod's mirror is controlled by its node
        return f"Pod/{metadata.name}"
    if owner.kind == "ReplicaSet":
        found = above.get((metadata.namespace, owner.name))
        if found is not None:
            return f"{found.kind}/{found.name}"
        suffix = f"-{metadata.labels.get(TEMPLATE_HASH, '')}"
        if len(suffix) > 1 and owner.name.endswith(suffix) and owner.name != suffix:
            return f"Deployment/{owner.name.removesuffix(suffix)}"
    if owner.kind == "Job":
        numbered = _NUMBERED.fullmatch(owner.name)
        if numbered is not None and int(numbered[2]) in (MINUTES if len(numbered[2]) == len("24000000") else SECONDS):
            return f"CronJob/{numbered[1]}"
    return f"{owner.kind}/{owner.name}"


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
