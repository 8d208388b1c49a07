"""NodeUnschedulable: cordoned nodes take only pods that tolerate that."""

from __future__ import annotations

from typing import Any

from clusterstate.objects import Pod
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_tolerations
from kubescheduler.queue.queueing_hints import NODE, OWN_TOLERATIONS, Action, ClusterEvent, Registered
from predicates.taints import check_node_unschedulable, explain_cordon, minds_cordons
from predicates.types import node_filter

NAME = "NodeUnschedulable"
POINTS = frozenset({Point.FILTER})


def node_unschedulable(_: Any, __: Handle) -> ColumnPlugin:
    """Fails on nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable`
    with effect NoSchedule.

    Upstream: 1.20 and 1.36 NodeUnschedulable.
    """
    rule = node_filter(NAME, check_node_unschedulable, minds_cordons, explain_cordon)
    return ColumnPlugin(NAME, POINTS, rule, sign=sign_tolerations)


# --- what it is in each release ---------------------------------------------------------------


def is_schedulable(_: Pod, event: ClusterEvent) -> bool:
    """Whether the node of the event takes pods."""
    return not event.new.unschedulable


REASONS = (PluginReason("node(s) were unschedulable", UNRESOLVABLE),)
EVENTS = (Registered(NODE, Action.ADD | Action.NODE_TAINT, is_schedulable), OWN_TOLERATIONS)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_unschedulable, reasons=REASONS)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, node_unschedulable, reasons=REASONS, events=EVENTS)
