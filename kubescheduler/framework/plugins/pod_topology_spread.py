"""PodTopologySpread: no domain of a topology gets too far ahead, and fewer pods in a domain score better."""

from __future__ import annotations

from collections.abc import Mapping

from clusterstate.objects import Pod
from clusterstate.topology.spread_constraints import spread_rules_1_20, spread_rules_1_36
from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.plugin_args import PodTopologySpreadArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.queue.cluster_events import NODE, POD, Action, ClusterEvent
from kubescheduler.queue.queueing_hints import OWN_TOLERATIONS, Registered, picks
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


# --- what it is in each release ---------------------------------------------------------------


def counts_for_spread(waiting: Pod, event: ClusterEvent) -> bool:
    """Whether some constraint counts the pod that came, went or got other labels."""
    pods = [pod for pod in (event.old, event.new) if pod is not None]
    if waiting.key == pods[0].key:
        return True
    if waiting.metadata.namespace != pods[0].metadata.namespace:
        return False
    constraints = waiting.spec.topology_spread_constraints
    if not constraints:
        return True  # those of the plugin's args count
    return any(picks(c.label_selector, pod) for c in constraints for pod in pods)


DESCRIPTION = """
DoNotSchedule: pods that match in the node's domain, plus the pod itself if it matches, minus those in the emptiest
domain, may not exceed maxSkew. ScheduleAnyway: with size the number of domains and count the matching pods there,

    raw = Σ count·ln(size + 2) + (maxSkew - 1), truncated in 1.20, rounded in 1.36
    score = 100·(highest + lowest - raw) / highest

A pod without constraints gets those of the args: by default at most 3 apart over hosts and 5 over zones
(ScheduleAnyway), among the pods that its services and controllers select. In 1.20 these are all matching
ReplicationControllers, ReplicaSets and StatefulSets, in 1.36 only the controller that owns the pod. 1.36 knows
minDomains, matchLabelKeys and the inclusion policies. Two constraints with one key share their counts in 1.20."""
REASONS = (
    PluginReason("node(s) didn't match pod topology spread constraints", UNSCHEDULABLE),
    PluginReason("node(s) didn't match pod topology spread constraints (missing required label)", UNRESOLVABLE),
)
EVENTS = (
    Registered(POD, Action.ADD | Action.POD_LABEL | Action.DELETE, counts_for_spread),
    OWN_TOLERATIONS,
    Registered(NODE, Action.ADD | Action.DELETE | Action.NODE_LABEL | Action.NODE_TAINT),
)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, pod_topology_spread_1_20, DESCRIPTION, reasons=REASONS, default_weight=2)
PLUGIN_1_36 = InTreePlugin(
    NAME, POINTS, pod_topology_spread_1_36, DESCRIPTION, reasons=REASONS, default_weight=2, events=EVENTS
)
