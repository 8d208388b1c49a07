"""TopologyPlacementGenerator (1.36, gated): known by name; pod groups are not placed as one, so it does nothing."""

from __future__ import annotations

from typing import Any

from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point

NAME = "TopologyPlacementGenerator"


def topology_placement_generator_1_36(_: Any, __: Handle) -> ColumnPlugin:
    return ColumnPlugin(NAME, frozenset({Point.PLACEMENT_GENERATE}))
