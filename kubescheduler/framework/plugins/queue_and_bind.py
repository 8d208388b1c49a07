"""The ends of a pod's way: PrioritySort, SchedulingGates and, for pods that belong together, GangScheduling (1.36,
gated) at the queue; DefaultBinder at the API.

PodGroupPodsCount and TopologyPlacementGenerator are known by name; groups are not placed as one, so they do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod, PodGroup
from kubecel.api_names import go_quote
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
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


# --- GangScheduling --------------------------------------------------------------------------

GANG_SCHEDULING = "GangScheduling"
GANG_SCHEDULING_POINTS = frozenset({Point.PRE_ENQUEUE, Point.PERMIT})
LONGEST_WAIT = 5 * 60.0
"""Seconds that a pod waits for the rest of its gang."""

NO_GROUP = "waiting for pods's pod group {} to appear in scheduling queue"
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"
WAITING = "waiting for minCount pods from a gang to be scheduled"

Gang = tuple[str, str]
"""(namespace, pod group)."""


def gang_of(pod: Pod) -> Gang | None:
    """The gang that a pod belongs to, if any."""
    return (pod.metadata.namespace, pod.spec.scheduling_group) if pod.spec.scheduling_group else None


class GangScheduling(msgspec.Struct, eq=False):
    """Upstream: 1.36 GangScheduling.

    Of pods that are not placed yet it knows those that it was asked about, so a deleted one counts until it is
    forgotten with the plugin.
    """

    handle: Handle
    name: str = GANG_SCHEDULING
    points: frozenset[Point] = GANG_SCHEDULING_POINTS
    _seen: dict[Gang, dict[str, Pod]] = msgspec.field(default_factory=dict)

    def _group(self, gang: Gang) -> PodGroup | None:
        return self.handle.cache.objects.pod_groups.get(gang)

    def _placed(self, gang: Gang) -> int:
        """Members on nodes, those that are held back on their way there included."""
        classes = self.handle.cache.snapshot().running()
        return sum(sum(info.rows.values()) for info in classes if (info.namespace, info.spec.scheduling_group) == gang)

    def _known(self, gang: Gang) -> int:
        """Members that are placed, or that have come by."""
        seen = self._seen.get(gang, {})
        placed = [uid for uid, pod in seen.items() if pod in self.handle.cache]
        for uid in placed:
            del seen[uid]
        return self._placed(gang) + len(seen)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Until enough of the gang is there for it to be worth a try."""
        gang = gang_of(pod)
        if gang is None:
            return None
        self._seen.setdefault(gang, {})[pod.metadata.uid or pod.key] = pod
        group = self._group(gang)
        if group is None:
            return Status.unresolvable(NO_GROUP.format(go_quote(gang[1])))
        if group.min_count is not None and self._known(gang) < group.min_count:
            return Status.unresolvable(TOO_FEW)
        return None

    def permit(self, _: object, pod: Pod, __: str) -> tuple[Status | None, float]:
        """(Wait, seconds) until the gang's smallest number is placed; then all of it may go."""
        gang = gang_of(pod)
        group = None if gang is None else self._group(gang)
        if gang is None or group is None or group.min_count is None:
            return None, 0.0
        placed = self._placed(gang) + (pod not in self.handle.cache)
        if placed < group.min_count:
            return Status(Code.Wait, (WAITING,)), LONGEST_WAIT
        for waiting in self.handle.waiting_pods():
            if gang_of(waiting.pod) == gang:
                waiting.allow(GANG_SCHEDULING)
        return None, 0.0


def gang_scheduling_1_36(_: Any, handle: Handle) -> GangScheduling:
    """Only with feature gate GangScheduling. Holds pods of a group in Permit until minCount of them have a node, at
    most five minutes, and out of the queue until as many are there.

    Upstream: 1.36 GangScheduling.
    """
    return GangScheduling(handle)


GANG_SCHEDULING_REASONS = (
    PluginReason('waiting for pods\'s pod group "<NAME>" to appear in scheduling queue', UNRESOLVABLE, "PreEnqueue"),
    PluginReason("waiting for minCount pods from a gang to appear in scheduling queue", UNRESOLVABLE, "PreEnqueue"),
    PluginReason("waiting for minCount pods from a gang to be scheduled", "Wait", "Permit"),
)

GANG_SCHEDULING_1_36 = InTreePlugin(
    GANG_SCHEDULING,
    GANG_SCHEDULING_POINTS,
    gang_scheduling_1_36,
    reasons=GANG_SCHEDULING_REASONS,
    gate="GangScheduling",
    gate_default=False,
)


# --- PodGroupPodsCount -----------------------------------------------------------------------

POD_GROUP_PODS_COUNT = "PodGroupPodsCount"
POD_GROUP_PODS_COUNT_POINTS = frozenset({Point.PLACEMENT_SCORE})


def pod_group_pods_count_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Only with feature gate TopologyAwareWorkloadScheduling; it is accepted and does nothing here.

    Upstream: 1.36 PodGroupPodsCount.
    """
    return ColumnPlugin(POD_GROUP_PODS_COUNT, POD_GROUP_PODS_COUNT_POINTS)


POD_GROUP_PODS_COUNT_1_36 = InTreePlugin(
    POD_GROUP_PODS_COUNT,
    POD_GROUP_PODS_COUNT_POINTS,
    pod_group_pods_count_1_36,
    default_weight=1,
    gate="TopologyAwareWorkloadScheduling",
    gate_default=False,
)


# --- TopologyPlacementGenerator --------------------------------------------------------------

TOPOLOGY_PLACEMENT_GENERATOR = "TopologyPlacementGenerator"
TOPOLOGY_PLACEMENT_GENERATOR_POINTS = frozenset({Point.PLACEMENT_GENERATE})


def topology_placement_generator_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Only with feature gate TopologyAwareWorkloadScheduling; it is accepted and does nothing here.

    Upstream: 1.36 TopologyPlacementGenerator.
    """
    return ColumnPlugin(TOPOLOGY_PLACEMENT_GENERATOR, TOPOLOGY_PLACEMENT_GENERATOR_POINTS)


TOPOLOGY_PLACEMENT_GENERATOR_1_36 = InTreePlugin(
    TOPOLOGY_PLACEMENT_GENERATOR,
    TOPOLOGY_PLACEMENT_GENERATOR_POINTS,
    topology_placement_generator_1_36,
    gate="TopologyAwareWorkloadScheduling",
    gate_default=False,
)
