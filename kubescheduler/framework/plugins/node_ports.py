"""NodePorts: the host ports that a pod wants are free."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.objects import Pod
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_host_ports
from kubescheduler.queue.queueing_hints import NODE, POD, Action, ClusterEvent, Registered
from predicates.ports import (
    explain_ports,
    host_ports,
    host_ports_1_36,
    pod_fits_host_ports,
    pod_fits_host_ports_1_36,
    wants_host_ports,
    wants_host_ports_1_36,
    wants_none,
    wants_none_1_36,
)
from predicates.refusal_evidence import filter_evidence
from predicates.types import FitPredicate

NAME = "NodePorts"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER})
UNPREPARED_1_20 = 'error reading "PreFilterNodePorts" from cycleState: not found'
UNPREPARED_1_36 = 'reading "PreFilterNodePorts" from cycleState: not found'


def node_ports_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """Ports of init containers do not count.

    Upstream: 1.20 NodePorts.
    """
    return _of_containers(UNPREPARED_1_20)


def node_ports_1_25(_: Any, __: Handle) -> ColumnPlugin:
    """Ports of init containers do not count, sidecars or not.

    Upstream: 1.25 NodePorts.
    """
    return _of_containers(UNPREPARED_1_36)


def _of_containers(unprepared: str) -> ColumnPlugin:
    rule = FitPredicate(
        NAME,
        pod_fits_host_ports,
        Footprint(Reads.PODS, pod_key=spec_alone, row_local=wants_none),
        wants_host_ports,
        evidence=filter_evidence(NAME, explain_ports(host_ports)),
    )
    return ColumnPlugin(NAME, POINTS, rule, filter_alone=unprepared, sign=sign_host_ports)


def node_ports_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Fails where a pod on the node holds a host port that this pod wants: same protocol, same port, and the same host
    IP or one of the two `0.0.0.0`. Ports of restartable init containers count, too.

    Upstream: 1.36 NodePorts.
    """
    rule = FitPredicate(
        NAME,
        pod_fits_host_ports_1_36,
        Footprint(Reads.PODS, pod_key=spec_alone, row_local=wants_none_1_36),
        wants_host_ports_1_36,
        evidence=filter_evidence(NAME, explain_ports(host_ports_1_36)),
    )
    return ColumnPlugin(NAME, POINTS, rule, filter_alone=UNPREPARED_1_36, sign=sign_host_ports)


# --- what it is in each release ---------------------------------------------------------------


def had_ports(_: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that left held a host port."""
    return any(port.host_port for container in event.old.spec.containers for port in container.ports)


REASONS = (PluginReason("node(s) didn't have free ports for the requested pod ports", UNSCHEDULABLE),)
EVENTS = (Registered(POD, Action.DELETE, had_ports), Registered(NODE, Action.ADD))

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_ports_1_20, reasons=REASONS)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, node_ports_1_36, reasons=REASONS, events=EVENTS)
PLUGIN_1_25 = InTreePlugin(NAME, POINTS, node_ports_1_25, reasons=REASONS, events=EVENTS)
