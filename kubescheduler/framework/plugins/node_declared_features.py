"""NodeDeclaredFeatures: nodes must declare the features that a pod needs of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_features
from kubescheduler.queue.queueing_hints import NODE, Action, Registered
from predicates.node_identity import (
    check_declared_features,
    check_declared_features_1_35,
    explain_features,
    needs_features,
)
from predicates.types import Verdict, node_filter

NAME = "NodeDeclaredFeatures"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER})
GATE = "NodeDeclaredFeatures"
UNPREPARED = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'


def _needs_nothing(_: PodInfo) -> bool:
    return False


def node_declared_features_1_36(_: Any, handle: Handle) -> ColumnPlugin:
    """The node must declare the features that the pod needs: restarting all containers on an exit rule, or user
    namespaces with host network. Says nothing of other pods.

    Upstream: 1.36 NodeDeclaredFeatures. With its gate off it passes every pod everywhere.
    """
    return _plugin(check_declared_features, handle)


def node_declared_features_1_35(_: Any, handle: Handle) -> ColumnPlugin:
    """The reason names the features that the node lacks.

    Upstream: 1.35 NodeDeclaredFeatures, whose gate is off by default.
    """
    return _plugin(check_declared_features_1_35, handle)


def _plugin(check: Callable[[PodInfo, Snapshot], Verdict], handle: Handle) -> ColumnPlugin:
    enabled = handle.feature_gates.get(GATE, True)
    rule = node_filter(NAME, check, needs_features if enabled else _needs_nothing, explain_features)
    return ColumnPlugin(NAME, POINTS, rule, filter_alone=UNPREPARED if enabled else None, sign=sign_features)


# --- what it is in each release ---------------------------------------------------------------

REASONS = (PluginReason("node(s) didn't match Pod's required features", UNRESOLVABLE),)
EVENTS = (Registered(NODE, Action.ADD | Action.NODE_DECLARED_FEATURE),)

REASONS_1_35 = (PluginReason("node declared features check failed - unsatisfied requirements: <NAMES>", UNRESOLVABLE),)
PLUGIN_1_35 = InTreePlugin(
    NAME, POINTS, node_declared_features_1_35, reasons=REASONS_1_35, gate=GATE, gate_default=False, events=EVENTS
)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, node_declared_features_1_36, reasons=REASONS, gate=GATE, events=EVENTS)
