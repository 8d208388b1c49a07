"""NodePorts: the host ports that a pod wants are free."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.ports import (
    pod_fits_host_ports,
    pod_fits_host_ports_1_36,
    wants_host_ports,
    wants_host_ports_1_36,
    wants_none,
    wants_none_1_36,
)
from predicates.types import FitPredicate

NAME = "NodePorts"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER})
UNPREPARED_1_20 = 'error reading "PreFilterNodePorts" from cycleState: not found'
UNPREPARED_1_36 = 'reading "PreFilterNodePorts" from cycleState: not found'


def node_ports_1_20(_: Any, __: Handle) -> ColumnPlugin:
    rule = FitPredicate(NAME, pod_fits_host_ports, Reads.PODS, wants_host_ports, wants_none, amounts=True)
    return ColumnPlugin(NAME, POINTS, rule, filter_alone=UNPREPARED_1_20)


def node_ports_1_36(_: Any, __: Handle) -> ColumnPlugin:
    rule = FitPredicate(
        NAME, pod_fits_host_ports_1_36, Reads.PODS, wants_host_ports_1_36, wants_none_1_36, amounts=True
    )
    return ColumnPlugin(NAME, POINTS, rule, filter_alone=UNPREPARED_1_36)
