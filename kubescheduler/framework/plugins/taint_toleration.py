"""TaintToleration: pods stay off nodes with taints that they do not tolerate; of others fewer soft ones are better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.changes import Reads
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.taints import may_be_tainted_out, pod_tolerates_node_taints_1_20, pod_tolerates_node_taints_1_36
from predicates.types import FitPredicate, Verdict, always
from priorities.normalize import default_normalize_reversed
from priorities.taint_toleration import intolerable_taints
from priorities.types import PriorityConfig

NAME = "TaintToleration"
POINTS = frozenset({Point.FILTER, Point.PRE_SCORE, Point.SCORE})
UNPREPARED_1_20 = 'error reading "PreScoreTaintToleration" from cycleState: not found'
UNPREPARED_1_36 = 'failed to read "PreScoreTaintToleration" from cycleState: not found'


def _plugin(check: Callable[[PodInfo, Snapshot], Verdict], unprepared: str) -> ColumnPlugin:
    return ColumnPlugin(
        NAME,
        POINTS,
        FitPredicate(NAME, check, Reads.NODE, may_be_tainted_out, unresolvable=always),
        PriorityConfig(NAME, intolerable_taints, default_normalize_reversed, reads=Reads.NODE, valuewise=True),
        score_alone=unprepared,
    )


def taint_toleration_1_20(_: Any, __: Handle) -> ColumnPlugin:
    return _plugin(pod_tolerates_node_taints_1_20, UNPREPARED_1_20)


def taint_toleration_1_36(_: Any, __: Handle) -> ColumnPlugin:
    return _plugin(pod_tolerates_node_taints_1_36, UNPREPARED_1_36)
