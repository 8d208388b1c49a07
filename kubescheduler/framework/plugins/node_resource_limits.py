"""NodeResourceLimits: a point for the nodes that hold the pod's limits."""

from __future__ import annotations

from typing import Any

from clusterstate.footprint import Footprint, spec_alone
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.requested import explain_resource_limits, resource_limits, unlimited
from priorities.score_evidence import plugin_evidence
from priorities.types import PriorityConfig

NAME = "NodeResourceLimits"
POINTS = frozenset({Point.PRE_SCORE, Point.SCORE})
GATE = "ResourceLimitsPriorityFunction"


def node_resource_limits_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """1 where the node has as much cpu or memory as the pod's limits, else 0. Part of the profiles only when feature
    gate ResourceLimitsPriorityFunction is on.

    Upstream: 1.18 NodeResourceLimits.
    """
    scoring = PriorityConfig(
        NAME,
        resource_limits,
        footprint=Footprint(pod_key=spec_alone),
        constant=unlimited,
        evidence=plugin_evidence(NAME, explain_resource_limits),
    )
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_18 = InTreePlugin(NAME, POINTS, node_resource_limits_1_18, default_weight=1, gate=GATE, gate_default=False)
