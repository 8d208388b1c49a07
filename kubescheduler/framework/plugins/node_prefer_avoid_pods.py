"""NodePreferAvoidPods: nodes may ask the pods of some controllers to stay away."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.avoided_nodes import (
    PREFER_AVOID_1_20_EVIDENCE,
    avoided_for,
    avoided_nowhere_1_20,
    prefer_avoid_pods_1_20,
)
from priorities.types import PriorityConfig

NAME = "NodePreferAvoidPods"
POINTS = frozenset({Point.SCORE})


def node_prefer_avoid_pods_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """0 on nodes whose annotation `scheduler.alpha.kubernetes.io/preferAvoidPods` names the kind and uid of the pod's
    controller (a ReplicationController or ReplicaSet), 100 elsewhere. With its weight it outvotes everything else.

    Upstream: 1.20 NodePreferAvoidPods.
    """
    scoring = PriorityConfig(
        NAME,
        prefer_avoid_pods_1_20,
        footprint=Footprint(Reads.NODE, pod_key=avoided_for),
        constant=avoided_nowhere_1_20,
        evidence=PREFER_AVOID_1_20_EVIDENCE,
    )
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_prefer_avoid_pods_1_20, default_weight=10_000)
