"""The pending pods among some objects, in the order in which each release's queue gives them out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

from clusterstate.objects import Pod

FINISHED = ("Succeeded", "Failed")


def is_pending(obj: Any) -> TypeGuard[Pod]:
    """Whether an object is a pod that a scheduler queues: unassigned, not finished, not being deleted."""
    return (
        isinstance(obj, Pod)
        and not obj.node_name
        and obj.phase not in FINISHED
        and obj.metadata.deletion_timestamp is None
    )


def queue_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods among some objects: higher priority first, then older, then as they come.

    Pods that are being deleted are passed over. Upstream: 1.16 activeQComp, the creation standing for the time at
    which a scheduler first saw the pod.
    """
    waiting = [obj for obj in objects if is_pending(obj)]
    return sorted(waiting, key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or ""))


def arrival_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods among some objects: older first, then as they come, whatever their priority.

    Pods that are being deleted are among them. Upstream: 1.4 cache.FIFO, the creation standing for the time at which a
    scheduler first saw the pod.
    """
    waiting = [obj for obj in objects if isinstance(obj, Pod) and not obj.node_name and obj.phase not in FINISHED]
    return sorted(waiting, key=lambda pod: pod.metadata.creation_timestamp or "")
