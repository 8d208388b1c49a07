"""SchedulingGates: a pod with gates does not enter the queue."""

from __future__ import annotations

from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.queue.queueing_hints import POD, Action, Registered

NAME = "SchedulingGates"
POINTS = frozenset({Point.PRE_ENQUEUE})


class SchedulingGates(msgspec.Struct, frozen=True):
    """Upstream: 1.36 SchedulingGates."""

    name: str = NAME
    points: frozenset[Point] = POINTS

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Holds a pod back that has gates."""
        gates = pod.spec.scheduling_gates
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else None


def scheduling_gates_1_36(_: Any, __: Handle) -> SchedulingGates:
    """A pod with `spec.schedulingGates` does not enter the queue.

    Upstream: 1.36 SchedulingGates.
    """
    return SchedulingGates()


# --- what it is in each release ---------------------------------------------------------------

REASONS = (PluginReason("waiting for scheduling gates: [<NAMES>]", UNRESOLVABLE, "PreEnqueue"),)
EVENTS = (Registered(POD, Action.POD_GATES_ELIMINATED, own=True),)

PLUGIN_1_36 = InTreePlugin(NAME, POINTS, scheduling_gates_1_36, reasons=REASONS, events=EVENTS)
