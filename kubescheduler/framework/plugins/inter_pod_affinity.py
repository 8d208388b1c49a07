"""InterPodAffinity: pod affinity and anti-affinity, required and preferred, the pod's own and that of running pods."""

from __future__ import annotations

from kubescheduler.framework.args.args_checks_1_20 import validate_args_1_20
from kubescheduler.framework.args.plugin_args import InterPodAffinityArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.interpod_framework import predicate_1_20, predicate_1_36
from priorities.interpod_framework import scoring_1_20, scoring_1_36

NAME = "InterPodAffinity"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE})


def inter_pod_affinity_1_20(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for a weight outside 0..100."""
    args = args or InterPodAffinityArgs()
    validate_args_1_20(NAME, args)
    return ColumnPlugin(
        name=NAME,
        points=POINTS,
        check=predicate_1_20(),
        scoring=scoring_1_20(args.hard_pod_affinity_weight),
        filter_alone='error reading "PreFilterInterPodAffinity" from cycleState: not found',
        score_alone='failed to read "PreScoreInterPodAffinity" from cycleState: not found',
    )


def inter_pod_affinity_1_36(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    args = args or InterPodAffinityArgs()
    ignores_others = args.ignore_preferred_terms_of_existing_pods
    return ColumnPlugin(
        name=NAME,
        points=POINTS,
        check=predicate_1_36(),
        scoring=scoring_1_36(args.hard_pod_affinity_weight, ignores_others=ignores_others),
        filter_alone='reading "PreFilterInterPodAffinity" from cycleState: not found',
        score_alone='failed to read "PreScoreInterPodAffinity" from cycleState: not found',
    )
