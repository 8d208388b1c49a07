"""TopologyPlacementGenerator (1.36, gated): known by name; pod groups are not placed as one, so it does nothing."""

from __future__ import annotations

from typing import Any

from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin

NAME = "TopologyPlacementGenerator"
POINTS = frozenset({Point.PLACEMENT_GENERATE})


def topology_placement_generator_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Only with feature gate TopologyAwareWorkloadScheduling; it is accepted and does nothing here.

    Upstream: 1.36 TopologyPlacementGenerator.
    """
    return ColumnPlugin(NAME, POINTS)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_36 = InTreePlugin(
    NAME,
    POINTS,
    topology_placement_generator_1_36,
    gate="TopologyAwareWorkloadScheduling",
    gate_default=False,
)
