"""TaintToleration: pods stay off nodes with taints that they do not tolerate; of others fewer soft ones are better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_tolerations
from kubescheduler.queue.queueing_hints import NODE, OWN_TOLERATIONS, Action, Registered
from predicates.taints import (
    explain_taints,
    may_be_tainted_out,
    pod_tolerates_node_taints_1_20,
    pod_tolerates_node_taints_1_24,
    pod_tolerates_node_taints_1_36,
)
from predicates.types import Verdict, node_filter
from priorities.avoided_nodes import TOLERATION_EVIDENCE, intolerable_taints
from priorities.normalize import default_normalize_reversed
from priorities.types import node_priority

NAME = "TaintToleration"
POINTS = frozenset({Point.FILTER, Point.PRE_SCORE, Point.SCORE})
UNPREPARED_1_20 = 'error reading "PreScoreTaintToleration" from cycleState: not found'
UNPREPARED_1_36 = 'failed to read "PreScoreTaintToleration" from cycleState: not found'


def _plugin(check: Callable[[PodInfo, Snapshot], Verdict], unprepared: str) -> ColumnPlugin:
    return ColumnPlugin(
        NAME,
        POINTS,
        node_filter(NAME, check, may_be_tainted_out, explain_taints),
        node_priority(NAME, intolerable_taints, default_normalize_reversed, TOLERATION_EVIDENCE),
        sign=sign_tolerations,
        score_alone=unprepared,
    )


def taint_toleration_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """The reason names the first taint that is not tolerated.

    Upstream: 1.20 TaintToleration.
    """
    return _plugin(pod_tolerates_node_taints_1_20, UNPREPARED_1_20)


def taint_toleration_1_24(_: Any, __: Handle) -> ColumnPlugin:
    """The reason names the first taint that is not tolerated, in other words than before.

    Upstream: 1.24 TaintToleration.
    """
    return _plugin(pod_tolerates_node_taints_1_24, UNPREPARED_1_36)


def taint_toleration_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Fails where a taint with effect NoSchedule or NoExecute is not tolerated. Raw score: the PreferNoSchedule taints
    that the pod does not tolerate. Normalised and turned round: 100 - 100·raw / the highest raw.

    Upstream: 1.36 TaintToleration.
    """
    return _plugin(pod_tolerates_node_taints_1_36, UNPREPARED_1_36)


# --- what it is in each release ---------------------------------------------------------------

REASONS_1_20 = (PluginReason("node(s) had taint {<KEY>: <VALUE>}, that the pod didn't tolerate", UNRESOLVABLE),)
REASONS_1_24 = (PluginReason("node(s) had untolerated taint {<KEY>: <VALUE>}", UNRESOLVABLE),)
REASONS_1_36 = (PluginReason("node(s) had untolerated taint(s)", UNRESOLVABLE),)
EVENTS = (Registered(NODE, Action.ADD | Action.NODE_TAINT), OWN_TOLERATIONS)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, taint_toleration_1_20, reasons=REASONS_1_20, default_weight=1)
PLUGIN_1_24 = InTreePlugin(NAME, POINTS, taint_toleration_1_24, reasons=REASONS_1_24, default_weight=3, events=EVENTS)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, taint_toleration_1_36, reasons=REASONS_1_36, default_weight=3, events=EVENTS)
