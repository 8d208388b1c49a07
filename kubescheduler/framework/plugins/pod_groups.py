"""Pods that belong together (1.36, gated): GangScheduling holds them until enough are there.

PodGroupPodsCount and TopologyPlacementGenerator are known by name; groups are not placed as one, so they do nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clusterstate.objects import Pod, PodGroup
from kubecel.api_names import go_quote
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason

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
