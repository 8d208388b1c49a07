"""NodeDeclaredFeatures: nodes must declare the features that a pod needs of them."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from clusterstate.podinfo import PodInfo
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.declared_features import check_declared_features, needs_features
from predicates.types import FitPredicate, always

NAME = "NodeDeclaredFeatures"
GATE = "NodeDeclaredFeatures"
UNPREPARED = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'


def _needs_nothing(_: PodInfo) -> bool:
    return False


def node_declared_features_1_36(_: Any, handle: Handle) -> ColumnPlugin:
    """With its gate off it passes every pod everywhere."""
    enabled = handle.feature_gates.get(GATE, True)
    applies = needs_features if enabled else _needs_nothing
    rule = FitPredicate(NAME, check_declared_features, Reads.NODE, applies, unresolvable=always)
    points = frozenset({Point.PRE_FILTER, Point.FILTER})
    return ColumnPlugin(NAME, points, rule, filter_alone=UNPREPARED if enabled else None)
