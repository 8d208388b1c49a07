"""SelectorSpread: away from the pods of the same services and controllers."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import LOCAL, Reads
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from priorities.selector_spread import matching_pods_1_20, not_spread, spread_scores_1_20
from priorities.types import PriorityConfig

NAME = "SelectorSpread"
UNPREPARED = 'error reading "PreScoreSelectorSpread" from cycleState: not found'


def selector_spread_1_20(_: Any, __: Handle) -> ColumnPlugin:
    scoring = PriorityConfig(NAME, matching_pods_1_20, spread_scores_1_20, LOCAL | Reads.SERVICES, constant=not_spread)
    return ColumnPlugin(NAME, frozenset({Point.PRE_SCORE, Point.SCORE}), scoring=scoring, score_alone=UNPREPARED)
