"""Why a pod was not bound: the reason, the text and what else a release makes of a failed attempt."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
import numpy as np

from kubescheduler.core.decision import NO_NODES, Decision
from kubescheduler.core.filter_results import items
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code, Status

if TYPE_CHECKING:
    from clusterstate.growable import Mask
    from clusterstate.objects import Pod

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
"""Reasons of the condition PodScheduled."""

EXTENDER = "Extender"
"""The rejector that stands for every extender."""

LONGEST_NOTE, KEPT_OF_NOTE = 1024, 1020
"""Bytes of an event's note."""


class Stage(enum.Enum):
    """Where an attempt failed."""

    ALGORITHM = "algorithm"
    ASSUME = "assume"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"


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


class FailureCause(msgspec.Struct, frozen=True, eq=False):
    """Why an attempt failed: what many pods that look the same have in common."""

    stage: Stage
    """Where the attempt failed."""
    reason: str
    """Of the condition PodScheduled."""
    text: str = ""
    """Of the condition PodScheduled; where no node was chosen it is the decision's."""
    code: Code = Code.Unschedulable
    """Of the status that ended the attempt."""
    plugin: str = ""
    """Whose status ended the attempt."""
    node_name: str = ""
    """The node that was chosen, empty if there was none."""
    result: str = "unschedulable"
    """The metric's: ``unschedulable`` or ``error``."""
    nominated: str | None = ""
    """The node that the pod is nominated to from now on; empty: none; None: nothing is said about it."""
    rejectors: frozenset[str] = frozenset()
    """The plugins that an event has to concern for the pod to be tried again."""
    silent: bool = False
    """There is no error to report."""
    pending: frozenset[str] = frozenset()
    """Likewise, the plugins whose event has it tried again at once (1.36)."""
    prefix: str = ""
    """What stands before the message in the event's note (up to 1.16)."""
    event_type: str = "Warning"
    """Of the event."""


class FailureRecord(msgspec.Struct, frozen=True, eq=False):
    """One failed attempt."""

    pod: Pod
    """The pod as it was tried."""
    cause: FailureCause
    """Why it failed."""
    decision: Decision | None = None
    """What found no node, on this pod or on one that looks the same; None: a node was chosen."""

    @property
    def nominated(self) -> str | None:
        """The node that the pod is nominated to from now on; see FailureCause."""
        return self.cause.nominated

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that an event has to concern for the pod to be tried again."""
        return self.cause.rejectors

    @property
    def pending(self) -> frozenset[str]:
        """The plugins whose event has the pod tried again at once (1.36)."""
        return self.cause.pending

    @property
    def message(self) -> str:
        """Of the condition PodScheduled; put together when it is asked for."""
        return self.cause.text if self.decision is None else attrs.evolve(self.decision, pod=self.pod).message

    @property
    def note(self) -> str:
        """Of the event, before it is cut or formatted."""
        return self.cause.prefix + self.message


# --- no node was chosen ------------------------------------------------------------------------


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


def undecided_1_20(decision: Decision, *, post_filters: bool) -> FailureCause:
    """Likewise; the nomination is what PostFilter plugins say."""
    cause = undecided_legacy(decision, post_filters=post_filters)
    return msgspec.structs.replace(cause, nominated=decision.nominated or "", rejectors=rejectors_of(decision))


def undecided_1_23(decision: Decision, *, post_filters: bool) -> FailureCause:
    """As in 1.36, but whatever the algorithm failed with, the condition says Unschedulable."""
    return msgspec.structs.replace(undecided_1_36(decision, post_filters=post_filters), reason=UNSCHEDULABLE)


def undecided_1_36(decision: Decision, *, post_filters: bool) -> FailureCause:
    """Only a pod that fits nowhere is Unschedulable. post_filters: there are plugins that may have nominated it."""
    unfit = decision.error in (None, NO_NODES)
    return FailureCause(
        Stage.ALGORITHM,
        UNSCHEDULABLE if unfit else SCHEDULER_ERROR,
        code=Code.Unschedulable if unfit else Code.Error,
        result="unschedulable" if unfit else "error",
        nominated=decision.nominated if post_filters and decision.error is None else "",
        rejectors=rejectors_of(decision),
        pending=pending_of(decision),
    )


def rejectors_of(decision: Decision) -> frozenset[str]:
    """The plugins whose answers left no node, ``Extender`` for all extenders; none when the attempt was given up.

    Those that wait for an event are not among them, see ``pending_of``.
    """
    if decision.error is not None:
        return frozenset()
    plugins, _, left = _blamed(decision)
    plugins.update(decision.pre_filter_plugins)
    if decision.absent is not None and decision.absent.plugin:
        plugins.add(decision.absent.plugin)
    if any(trace.failed is not None for trace in decision.extenders) and left.any():
        plugins.add(EXTENDER)
    return frozenset(plugins)


def pending_of(decision: Decision) -> frozenset[str]:
    """The plugins that refused a node until an event comes (1.36)."""
    return frozenset() if decision.error is not None else frozenset(_blamed(decision)[1])


def _blamed(decision: Decision) -> tuple[set[str], set[str], Mask]:
    """(the plugins that refused nodes for good, those that wait, (N,) bool the nodes that no plugin refused)."""
    left = decision.looked_at.copy()
    refusing: set[str] = set()
    waiting: set[str] = set()
    for row, reasons in decision.with_nominated.items():
        if left[row]:
            left[row] = False
            pends = decision.nominated_codes.get(row) is Code.Pending
            (waiting if pends else refusing).update(name for name, _ in reasons)
    for name, verdict in decision.verdicts:
        failing = left & np.logical_or.reduce([*verdict.values(), np.zeros_like(left)])
        pending = decision.pending.get(name)
        if pending is not None and (failing & pending).any():
            waiting.add(name)
        if (failing if pending is None else failing & ~pending).any():
            refusing.add(name)
        if not decision.every_reason:
            left &= ~failing
    return refusing, waiting, left


# --- a node was chosen -------------------------------------------------------------------------


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


def chosen_1_20(stage: Stage, pod: Pod, node_name: str, status: Status) -> FailureRecord:
    """Only Permit can call a pod Unschedulable."""
    rejected = stage is Stage.PERMIT and status.code in REJECTED_1_20
    message = status.message if rejected else status.error_text
    if stage is Stage.BIND:
        error = message if status.code is Code.Error else f"bind status: {status.code.name}, {status.message}"
        message = f"binding rejected: {error}"
    cause = FailureCause(
        stage,
        UNSCHEDULABLE if rejected else SCHEDULER_ERROR,
        message,
        status.code,
        status.plugin,
        node_name,
        "unschedulable" if rejected else "error",
    )
    return FailureRecord(pod, cause)


def chosen_1_36(stage: Stage, pod: Pod, node_name: str, status: Status) -> FailureRecord:
    """A rejection by Reserve or Permit is reported like one of a single node."""
    rejected, pends = status.code in REJECTED_1_36, status.code is Code.Pending
    message = status.error_text
    if rejected and stage in (Stage.RESERVE, Stage.PERMIT):
        message = f"0/1 nodes are available: {items([status.all_reasons])}."
    cause = FailureCause(
        stage,
        UNSCHEDULABLE if rejected else SCHEDULER_ERROR,
        message,
        status.code,
        status.plugin,
        node_name,
        "unschedulable" if rejected else "error",
        rejectors=frozenset({status.plugin} - {""}) if rejected and not pends else frozenset(),
        silent=status.code is Code.Skip,
        pending=frozenset({status.plugin} - {""}) if pends else frozenset(),
    )
    return FailureRecord(pod, cause)


# --- what is reported --------------------------------------------------------------------------


def cut(message: str) -> str:
    """A message as an event's note: its first bytes when it is too long."""
    data = message.encode()
    if len(data) <= LONGEST_NOTE:
        return message
    return f"{data[:KEPT_OF_NOTE].decode(errors='replace')} ..."


def nominated_1_20(failure: FailureRecord) -> str | None:
    """The nominatedNodeName to write; None: it stays."""
    return failure.nominated or None


def nominated_1_36(failure: FailureRecord) -> str | None:
    """The same; an empty one is written too. Up to 1.16 a failure says nothing of a nomination."""
    return failure.nominated


def condition_with_message(failure: FailureRecord) -> dict[str, str]:
    """The condition PodScheduled that says why a pod was not bound."""
    return {"type": "PodScheduled", "status": "False", "reason": failure.cause.reason, "message": failure.message}


def condition_1_4(failure: FailureRecord) -> dict[str, str]:
    """1.4 gives the reason alone."""
    return {"type": "PodScheduled", "status": "False", "reason": failure.cause.reason}


def status_patch(
    failure: FailureRecord,
    nominated: Callable[[FailureRecord], str | None],
    condition: Callable[[FailureRecord], Mapping[str, str]] = condition_with_message,
) -> dict[str, Any]:
    """The members of the pod's status to write, empty when nothing changes.

    The client adds ``lastTransitionTime`` to a condition whose status is new. ``nominated``: see nominated_1_20.
    """
    wanted, has = condition(failure), _condition(failure.pod)
    patch = {} if {key: has.get(key) for key in wanted} == wanted else {"conditions": [dict(wanted)]}
    return patch | nomination_patch(failure, nominated)


def nomination_patch(failure: FailureRecord, nominated: Callable[[FailureRecord], str | None]) -> dict[str, Any]:
    """The nomination alone, empty when it stays."""
    name = nominated(failure)
    return {} if name is None or name == failure.pod.nominated_node_name else {"nominatedNodeName": name}


def _condition(pod: Pod) -> Mapping[str, Any]:
    """The condition PodScheduled that a pod has, as far as its manifest is kept."""
    conditions = ((pod.manifest or {}).get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == "PodScheduled"), {})
