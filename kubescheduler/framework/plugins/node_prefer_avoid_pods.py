"""NodePreferAvoidPods: nodes may ask the pods of some controllers to stay away."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from priorities.prefer_avoid import avoided_nowhere_1_20, prefer_avoid_pods_1_20
from priorities.types import PriorityConfig

NAME = "NodePreferAvoidPods"


def node_prefer_avoid_pods_1_20(_: Any, __: Handle) -> ColumnPlugin:
    scoring = PriorityConfig(NAME, prefer_avoid_pods_1_20, reads=Reads.NODE, constant=avoided_nowhere_1_20)
    return ColumnPlugin(NAME, frozenset({Point.SCORE}), scoring=scoring)
