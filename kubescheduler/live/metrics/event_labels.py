"""What metrics call the changes that a scheduler takes in. Upstream: 1.36 ClusterEvent.Label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterstate.objects import Node, Pod
from kubescheduler.queue.queueing_hints import (
    ASSIGNED_POD,
    NODE,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
    node_actions,
    object_event,
    pod_actions,
)

PENDING_POD_GONE, BOUND_POD_CAME = "UnschedulablePodDelete", "AssignedPodAdd"


def event_labels(old: Any, new: Any) -> Sequence[str]:
    """Of an object that came (``old`` is None), changed or went (``new`` is None); none for what is of no interest."""
    kind = type(old if new is None else new)
    if kind is Pod:
        return _pod_labels(old, new)
    if kind is not Node:
        event = object_event(old, new)
        return () if event is None else (event.label,)
    if old is None or new is None:
        return (_label(NODE, Action.ADD if old is None else Action.DELETE),)
    return [_label(NODE, action) for action in node_actions(old, new)]


def _pod_labels(old: Pod | None, new: Pod | None) -> Sequence[str]:
    """A pod that is bound leaves the pending ones and joins the others."""
    if old is not None and new is not None:
        if not old.node_name and new.node_name:
            return PENDING_POD_GONE, BOUND_POD_CAME
        resource = ASSIGNED_POD if new.node_name else UNSCHEDULABLE_POD
        return [_label(resource, action) for action in pod_actions(old, new)]
    pod, action = (new, Action.ADD) if old is None else (old, Action.DELETE)
    return (_label(ASSIGNED_POD if pod is not None and pod.node_name else UNSCHEDULABLE_POD, action),)


def _label(resource: str, action: Action) -> str:
    return ClusterEvent(resource, action).label
