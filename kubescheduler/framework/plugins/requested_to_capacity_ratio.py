"""RequestedToCapacityRatio (1.20): a score read off a curve of how full each resource would be."""

from __future__ import annotations

from functools import partial

from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.plugin_args import RequestedToCapacityRatioArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.capacity_ratio import capacity_ratio
from priorities.normalize import curve, scaled
from priorities.types import PriorityConfig

NAME = "RequestedToCapacityRatio"
POINTS = frozenset({Point.SCORE})


def requested_to_capacity_ratio_1_20(args: RequestedToCapacityRatioArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for a faulty shape, none at all included, and for a weight below 1."""
    args = args or RequestedToCapacityRatioArgs()
    validate_args_1_20(NAME, args)
    scoring = PriorityConfig(NAME, partial(capacity_ratio, curve(scaled(args.shape)), dict(args.resources)))
    return ColumnPlugin(NAME, POINTS, scoring=scoring)


# --- what it is in each release ---------------------------------------------------------------

DESCRIPTION = """
A curve of utilisation (0–100 %) gives 0–10 points to each resource; the weighted mean of those above 0, times ten, is
rounded, halves up. In 1.36 a strategy of NodeResourcesFit."""

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, requested_to_capacity_ratio_1_20, DESCRIPTION)
