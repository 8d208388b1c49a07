"""The cycles of 1.4 and 1.16, which run no plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubescheduler.core.generic_scheduler import NO_NODES
from kubescheduler.core.status import Code
from kubescheduler.cycle.cycle_rules import (
    ReleaseCycles,
    assigned_note,
    extenders_bind_1_20,
    fate_1_20,
    no_pre_flight,
    passes_over_1_20,
)
from kubescheduler.cycle.failures import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    FailureCause,
    FailureRecord,
    Stage,
    condition_1_4,
    condition_with_message,
)
from kubescheduler.cycle.making_room import leave_room_to_plugins, no_room, room_1_16

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


CYCLE_1_4 = ReleaseCycles(
    assume_fault=assume_fault_1_4,
    tries_deleted=True,
    passes_over=always_tried,
    make_room=no_room,
    make_room_later=leave_room_to_plugins,
    undecided=undecided_legacy,
    chosen=chosen_1_4,
    pre_flight=no_pre_flight,
    extenders_bind=extenders_bind_1_20,
    assigned_note=assigned_note_1_4,
    event_note=str,
    condition=condition_1_4,
    nominated=keep_nomination,
    in_memory=own_nomination,
    fate=fate_1_20,
    expires=30.0,
    expires_from_assume=True,
    failed_binding_is_event=False,
    activate_key=None,
)
CYCLE_1_16 = ReleaseCycles(
    assume_fault=assume_fault_1_16,
    tries_deleted=False,
    passes_over=passes_over_1_20,
    make_room=no_room,
    make_room_later=room_1_16,
    undecided=undecided_legacy,
    chosen=chosen_1_16,
    pre_flight=no_pre_flight,
    extenders_bind=extenders_bind_1_20,
    assigned_note=assigned_note,
    event_note=str,
    condition=condition_with_message,
    nominated=keep_nomination,
    in_memory=own_nomination,
    fate=fate_1_20,
    expires=30.0,
    expires_from_assume=False,
    failed_binding_is_event=False,
    activate_key=None,
)
