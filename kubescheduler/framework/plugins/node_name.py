"""NodeName: a pod that names a node fits that node only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_node_name
from kubescheduler.queue.queueing_hints import NODE, Action, Registered
from predicates.node_identity import explain_host, names_a_node, pod_fits_host, pod_fits_host_1_36
from predicates.types import Verdict, node_filter

NAME = "NodeName"
POINTS = frozenset({Point.FILTER})


def _plugin(check: Callable[[PodInfo, Snapshot], Verdict]) -> ColumnPlugin:
    return ColumnPlugin(NAME, POINTS, node_filter(NAME, check, names_a_node, explain_host), sign=sign_node_name)


def node_name_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """The reason is worded differently.

    Upstream: 1.20 NodeName.
    """
    return _plugin(pod_fits_host)


def node_name_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """A pod whose manifest names a node (`spec.nodeName`) fits only that node.

    Upstream: 1.36 NodeName.
    """
    return _plugin(pod_fits_host_1_36)


# --- what it is in each release ---------------------------------------------------------------

REASONS_1_20 = (PluginReason("node(s) didn't match the requested hostname", UNRESOLVABLE),)
REASONS_1_36 = (PluginReason("node(s) didn't match the requested node name", UNRESOLVABLE),)
EVENTS = (Registered(NODE, Action.ADD),)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_name_1_20, reasons=REASONS_1_20)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, node_name_1_36, reasons=REASONS_1_36)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, node_name_1_36, reasons=REASONS_1_36, events=EVENTS)
