"""PodTopologySpread: no domain of a topology gets too far ahead, and fewer pods in a domain score better."""

from __future__ import annotations

from collections.abc import Mapping

from clusterstate.topology.spread_constraints import spread_rules_1_20, spread_rules_1_36
from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.plugin_args import PodTopologySpreadArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates import spread_framework as predicates
from priorities import spread_framework as priorities

NAME = "PodTopologySpread"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE})
DEFAULTING_GATE = "DefaultPodTopologySpread"
LIST, SYSTEM = "List", "System"


def pod_topology_spread_1_20(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """Raises ConfigError for args that are not valid."""
    if args is None:
        args = PodTopologySpreadArgs(defaulting_type=_defaulting_type(handle.feature_gates))
    validate_args_1_20(NAME, args)
    rules = spread_rules_1_20(args.default_constraints, args.defaulting_type)
    return ColumnPlugin(
        name=NAME,
        points=POINTS,
        check=predicates.pod_topology_spread_1_20(rules),
        scoring=priorities.pod_topology_spread_1_20(rules),
        filter_alone='error reading "PreFilterPodTopologySpread" from cycleState: not found',
        score_alone='error reading "PreScorePodTopologySpread" from cycleState: not found',
    )


def pod_topology_spread_1_36(args: PodTopologySpreadArgs | None, _: Handle) -> ColumnPlugin:
    args = args or PodTopologySpreadArgs()
    rules = spread_rules_1_36(args.default_constraints, args.defaulting_type)
    return ColumnPlugin(
        name=NAME,
        points=POINTS,
        check=predicates.pod_topology_spread_1_36(rules),
        scoring=priorities.pod_topology_spread_1_36(rules),
        filter_alone='reading "PreFilterPodTopologySpread" from cycleState: not found',
        score_alone='reading "PreScorePodTopologySpread" from cycleState: not found',
    )


def _defaulting_type(gates: Mapping[str, bool]) -> str:
    return SYSTEM if gates.get(DEFAULTING_GATE, True) else LIST
