"""In which order pending pods are scheduled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusterstate.objects import Pod

FINISHED = ("Succeeded", "Failed")


def queue_order(objects: Iterable[Any]) -> list[Pod]:
    """The pending pods among some objects: higher priority first, then older, then as they come.

    Pods that are being deleted are passed over. Upstream: 1.16 activeQComp, the creation standing for the time at
    which a scheduler first saw the pod.
    """
    waiting = [obj for obj in objects if isinstance(obj, Pod) and _is_waiting(obj)]
    return sorted(waiting, key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or ""))


def _is_waiting(pod: Pod) -> bool:
    return not pod.node_name and pod.phase not in FINISHED and pod.metadata.deletion_timestamp is None
