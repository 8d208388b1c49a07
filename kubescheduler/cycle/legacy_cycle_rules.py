"""The cycles of 1.4 and 1.16, which run no plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubescheduler.core.generic_scheduler import NO_NODES
from kubescheduler.core.status import Code
from kubescheduler.cycle.failures import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    FailureCause,
    FailureRecord,
    Stage,
)

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.objects import Pod
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.status import Status

BINDING_REJECTED = "BindingRejected"
"""Reason of the condition PodScheduled (1.4)."""

VOLUMES_NOT_BOUND = "VolumeBindingFailed"
"""Reason of the condition PodScheduled (1.16)."""

PREFIXES = {
    Stage.ASSUME: "AssumePod failed: ",
    Stage.RESERVE: "AssumePodVolumes failed: ",
    Stage.PRE_BIND: "",
    Stage.BIND: "Binding rejected: ",
}
"""What stands before the text in an event's note."""


def assume_fault_1_4(cache: ClusterCache, pod: Pod) -> str | None:
    """Why a pod cannot be assumed in 1.4; None when it can."""
    return f"pod state wasn't initial but get assumed. Pod key: {pod.key}" if pod in cache else None


def assume_fault_1_16(cache: ClusterCache, pod: Pod) -> str | None:
    """Why a pod cannot be assumed in 1.16; None when it can."""
    return f"pod {pod.metadata.uid} is in the cache, so can't be assumed" if pod in cache else None


def always_tried(_: Pod, __: Pod) -> bool:
    """1.4 does not look whether a pod is assumed."""
    return False


def undecided_legacy(decision: Decision, *, post_filters: bool) -> FailureCause:  # noqa: ARG001
    """Whatever the algorithm failed with, the condition says Unschedulable; nothing is said of a nomination here."""
    unfit = decision.error in (None, NO_NODES)
    return FailureCause(
        Stage.ALGORITHM,
        UNSCHEDULABLE,
        code=Code.Unschedulable if unfit else Code.Error,
        result="unschedulable" if unfit else "error",
        nominated=None,
    )


def chosen_1_16(stage: Stage, pod: Pod, node_name: str, status: Status) -> FailureRecord:
    """The event says what failed, the condition only why."""
    reason = VOLUMES_NOT_BOUND if stage is Stage.PRE_BIND else SCHEDULER_ERROR
    return _chosen(stage, pod, node_name, status, reason, "Warning")


def chosen_1_4(stage: Stage, pod: Pod, node_name: str, status: Status) -> FailureRecord:
    """A binding that is rejected is reported in an event of type Normal."""
    return _chosen(stage, pod, node_name, status, BINDING_REJECTED, "Normal")


def _chosen(stage: Stage, pod: Pod, node_name: str, status: Status, reason: str, event_type: str) -> FailureRecord:
    cause = FailureCause(
        stage,
        reason,
        status.error_text,
        status.code,
        node_name=node_name,
        result="error",
        nominated=None,
        prefix=PREFIXES[stage],
        event_type=event_type,
    )
    return FailureRecord(pod, cause)


def assigned_note_1_4(pod: Pod, node_name: str) -> str:
    """Without the pod's namespace."""
    return f"Successfully assigned {pod.metadata.name} to {node_name}"


def keep_nomination(failure: FailureRecord) -> str | None:
    """A failure changes no nomination."""
    return failure.nominated


def own_nomination(_: FailureRecord, pod: Pod) -> str:
    """What the pod's status says."""
    return pod.nominated_node_name
