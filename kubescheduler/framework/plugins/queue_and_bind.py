"""The ends of a pod's way: PrioritySort and SchedulingGates at the queue, DefaultBinder at the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.queue.queueing_hints import POD, Action, Registered

if TYPE_CHECKING:
    from kubescheduler.queue.entry import QueueEntry

# --- PrioritySort ----------------------------------------------------------------------------

PRIORITY_SORT = "PrioritySort"
PRIORITY_SORT_POINTS = frozenset({Point.QUEUE_SORT})


class PrioritySort(msgspec.Struct, frozen=True):
    """Upstream: 1.20 and 1.36 PrioritySort."""

    name: str = PRIORITY_SORT
    points: frozenset[Point] = PRIORITY_SORT_POINTS

    def less(self, first: QueueEntry, second: QueueEntry) -> bool:
        """Whether ``first`` is to be taken before ``second``."""
        one, other = first.pod.priority, second.pod.priority
        return one > other or (one == other and first.timestamp < second.timestamp)


def priority_sort(_: Any, __: Handle) -> PrioritySort:
    """Pods of higher priority first, of equal priority those that came into the queue earlier.

    Upstream: 1.20 and 1.36 PrioritySort.
    """
    return PrioritySort()


PRIORITY_SORT_1_20 = InTreePlugin(PRIORITY_SORT, PRIORITY_SORT_POINTS, priority_sort)


# --- SchedulingGates -------------------------------------------------------------------------

SCHEDULING_GATES = "SchedulingGates"
SCHEDULING_GATES_POINTS = frozenset({Point.PRE_ENQUEUE})


class SchedulingGates(msgspec.Struct, frozen=True):
    """Upstream: 1.36 SchedulingGates."""

    name: str = SCHEDULING_GATES
    points: frozenset[Point] = SCHEDULING_GATES_POINTS

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Holds a pod back that has gates."""
        gates = pod.spec.scheduling_gates
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else None


def scheduling_gates_1_36(_: Any, __: Handle) -> SchedulingGates:
    """A pod with `spec.schedulingGates` does not enter the queue.

    Upstream: 1.36 SchedulingGates.
    """
    return SchedulingGates()


SCHEDULING_GATES_REASONS = (PluginReason("waiting for scheduling gates: [<NAMES>]", UNRESOLVABLE, "PreEnqueue"),)
SCHEDULING_GATES_EVENTS = (Registered(POD, Action.POD_SCHEDULING_GATES_ELIMINATED, own=True),)

SCHEDULING_GATES_1_36 = InTreePlugin(
    SCHEDULING_GATES,
    SCHEDULING_GATES_POINTS,
    scheduling_gates_1_36,
    reasons=SCHEDULING_GATES_REASONS,
    events=SCHEDULING_GATES_EVENTS,
)


# --- DefaultBinder ---------------------------------------------------------------------------

DEFAULT_BINDER = "DefaultBinder"
DEFAULT_BINDER_POINTS = frozenset({Point.BIND})


class DefaultBinder(msgspec.Struct, frozen=True, eq=False):
    """Upstream: 1.20 and 1.36 DefaultBinder."""

    handle: Handle
    name: str = DEFAULT_BINDER
    points: frozenset[Point] = DEFAULT_BINDER_POINTS

    def bind(self, _: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds through the API; without a client there is nothing to do."""
        client = self.handle.client
        if client is None:
            return None
        try:
            client.bind(pod, node_name)
        except SchedulingError as error:
            return Status.failure(str(error))
        return None

    def binds_at_once(self, pod: Pod) -> bool:  # noqa: ARG002
        """One request to the API is all that it takes."""
        return True


def default_binder(_: Any, handle: Handle) -> DefaultBinder:
    """Writes the Binding. Without an API server the pod is placed in the cluster in memory.

    Upstream: 1.20 and 1.36 DefaultBinder.
    """
    return DefaultBinder(handle)


DEFAULT_BINDER_1_20 = InTreePlugin(DEFAULT_BINDER, DEFAULT_BINDER_POINTS, default_binder)
