"""SchedulingGates: a pod with gates does not enter the queue."""

from __future__ import annotations

from typing import Any

import attrs

from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.points import Point

NAME = "SchedulingGates"


@attrs.frozen
class SchedulingGates:
    """Upstream: 1.36 SchedulingGates."""

    name: str = NAME
    points: frozenset[Point] = frozenset({Point.PRE_ENQUEUE})

    def pre_enqueue(self, pod: Pod) -> Status | None:
        gates = pod.spec.scheduling_gates
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else None


def scheduling_gates_1_36(_: Any, __: Handle) -> SchedulingGates:
    return SchedulingGates()
