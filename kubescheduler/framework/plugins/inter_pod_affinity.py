"""InterPodAffinity: pod affinity and anti-affinity, required and preferred, the pod's own and that of running pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from clusterstate.objects import Pod
from clusterstate.selectors.matching import term_namespaces
from clusterstate.selectors.pod_affinity import (
    TERMS_1_18,
    TERMS_1_20,
    TERMS_1_21,
    TERMS_1_22,
    TERMS_1_24,
    TERMS_1_36,
    TermRules,
)
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin, Sign
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    BOOL,
    INT32,
    PERCENT,
    ArgsType,
    Field,
    FieldError,
    fields,
    invalid,
    refuse,
)
from kubescheduler.framework.plugins.plugin_record import (
    BY_NODE,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    sign_labels,
    sign_no_pod_affinity,
)
from kubescheduler.queue.queueing_hints import NEW_OR_LABELLED, POD, Action, ClusterEvent, Registered, picks
from predicates.interpod_framework import (
    AFFINITY_NOT_MATCH_1_21,
    predicate_1_18,
    predicate_1_20,
    predicate_1_22,
    predicate_1_36,
)
from predicates.types import FitPredicate
from priorities.interpod_framework import scoring_1_20, scoring_1_21, scoring_1_25, scoring_1_36
from priorities.types import PriorityConfig

NAME = "InterPodAffinity"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE})
NAMESPACE_GATE = "PodAffinityNamespaceSelector"


class InterPodAffinityArgs(msgspec.Struct, frozen=True):
    """What running pods' own terms count."""

    hard_pod_affinity_weight: int = 1
    """The weight, 0-100, of a running pod's required affinity to the new pod."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """1.36: nothing is scored for pods without preferred terms."""


def inter_pod_affinity_1_18(args: InterPodAffinityArgs | None, handle: Handle) -> ColumnPlugin:
    """Anti-affinity of running pods is looked at before the pod's own terms; the first pod of its affinity may go where
    a topology key is missing.

    Upstream: 1.18 InterPodAffinity. Raises ConfigError for a weight outside 0..100.
    """
    return msgspec.structs.replace(inter_pod_affinity_1_19(args, handle), check=predicate_1_18())


def inter_pod_affinity_1_19(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Terms of a group of which one cannot be read do not count.

    Upstream: 1.19 InterPodAffinity. Raises ConfigError for a weight outside 0..100.
    """
    return _before_namespaces(args, TERMS_1_18)


def inter_pod_affinity_1_20(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Lowest is at most 0 and highest at least 0. There is no namespaceSelector. A node gives two reasons, the general
    one first.

    Upstream: 1.20 InterPodAffinity. Raises ConfigError for a weight outside 0..100.
    """
    return _before_namespaces(args, TERMS_1_20)


def _before_namespaces(args: InterPodAffinityArgs | None, rules: TermRules) -> ColumnPlugin:
    args = args or InterPodAffinityArgs()
    refuse(_errors_1_20(args))
    return _plugin(predicate_1_20(rules), scoring_1_20(args.hard_pod_affinity_weight, rules), "error reading")


def _plugin(
    check: FitPredicate,
    scoring: PriorityConfig,
    cannot_read: str,
    sign: Sign | None = None,
) -> ColumnPlugin:
    return ColumnPlugin(
        name=NAME,
        points=POINTS,
        check=check,
        scoring=scoring,
        sign=sign,
        filter_alone=f'{cannot_read} "PreFilterInterPodAffinity" from cycleState: not found',
        score_alone='failed to read "PreScoreInterPodAffinity" from cycleState: not found',
    )


def inter_pod_affinity_1_21(args: InterPodAffinityArgs | None, handle: Handle) -> ColumnPlugin:
    """A node gives two reasons, the general one first. Terms may have a namespaceSelector with feature gate
    PodAffinityNamespaceSelector.

    Upstream: 1.21 InterPodAffinity. Raises ConfigError for a weight outside 0..100.
    """
    args, rules = args or InterPodAffinityArgs(), _terms(handle)
    refuse(_errors_1_36(args))
    check = predicate_1_20(rules, AFFINITY_NOT_MATCH_1_21)
    return _plugin(check, scoring_1_21(rules, args.hard_pod_affinity_weight), "error reading")


def inter_pod_affinity_1_22(args: InterPodAffinityArgs | None, handle: Handle) -> ColumnPlugin:
    """Neither Filter nor PreScore is skipped. Terms may have a namespaceSelector with feature gate
    PodAffinityNamespaceSelector.

    Upstream: 1.22 InterPodAffinity.
    """
    args, rules = args or InterPodAffinityArgs(), _terms(handle)
    return _plugin(predicate_1_22(rules), scoring_1_21(rules, args.hard_pod_affinity_weight), "error reading")


def _terms(handle: Handle) -> TermRules:
    return TERMS_1_22 if handle.feature_gates.get(NAMESPACE_GATE, True) else TERMS_1_21


def inter_pod_affinity_1_36(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Required: in each term's topology a running pod must match (affinity) or none may (anti-affinity), and none of
    the running pods' own anti-affinity terms may match this pod. If no running pod anywhere matches the affinity terms
    and the pod matches them itself, it may be the first of its group. Preferred: weights are added up over the running
    pods whose labels match this pod's preferred terms, or whose own terms match this pod; their required affinity terms
    count with hardPodAffinityWeight. The score is

        100·(sum - lowest) / (highest - lowest), truncated; 0 everywhere if they are equal

    Lowest and highest are those of the nodes that fit. Terms may have a namespaceSelector.

    Upstream: 1.36 InterPodAffinity.
    """
    return _since_1_24(args or InterPodAffinityArgs(), TERMS_1_36)


def inter_pod_affinity_1_24(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """A namespaceSelector of the pod's own terms picks the namespaces that have such labels, and no others.

    Upstream: 1.24 InterPodAffinity.
    """
    return _since_1_24(args or InterPodAffinityArgs(), TERMS_1_24)


def inter_pod_affinity_1_25(args: InterPodAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """As later, but where no term concerns the pod every node has a score, 0.

    Upstream: 1.25 to 1.27 InterPodAffinity.
    """
    return _since_1_24(args or InterPodAffinityArgs(), TERMS_1_24, scoring_1_25)


def _since_1_24(
    args: InterPodAffinityArgs, rules: TermRules, scoring: Callable[..., PriorityConfig] = scoring_1_36
) -> ColumnPlugin:
    ignores_others = args.ignore_preferred_terms_of_existing_pods
    scores = scoring(args.hard_pod_affinity_weight, ignores_others=ignores_others, rules=rules)
    return _plugin(predicate_1_36(rules), scores, "reading", sign_no_pod_affinity if ignores_others else sign_labels)


# --- args --------------------------------------------------------------------------------------


def _errors_1_20(args: InterPodAffinityArgs) -> Iterator[FieldError]:
    if args.hard_pod_affinity_weight not in PERCENT:
        yield invalid("hardPodAffinityWeight", args.hard_pod_affinity_weight, "not in valid range [0-100]")


def _errors_1_36(args: InterPodAffinityArgs) -> Iterator[FieldError]:
    if args.hard_pod_affinity_weight not in PERCENT:
        yield invalid("hardPodAffinityWeight", args.hard_pod_affinity_weight, "not in valid range [0, 100]")


ARGS_1_20 = ArgsType(
    InterPodAffinityArgs,
    fields(hard_pod_affinity_weight=INT32),
    """
What a running pod's required affinity to the new pod counts, 0–100. With `ignorePreferredTermsOfExistingPods` nothing
is scored for pods without preferred terms of their own.""",
    errors=_errors_1_20,
)
ARGS_1_21 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_36)
ARGS_1_22 = msgspec.structs.replace(ARGS_1_21, checked_with_config=True)
ARGS_1_36 = msgspec.structs.replace(
    ARGS_1_20,
    fields=(
        *ARGS_1_20.fields,
        Field("ignorePreferredTermsOfExistingPods", "ignore_preferred_terms_of_existing_pods", BOOL),
    ),
    errors=_errors_1_36,
    checked_with_config=True,
)
ARGS_1_25 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_36, checked_with_config=True)


# --- what it is in each release ---------------------------------------------------------------


def may_satisfy_affinity(waiting: Pod, event: ClusterEvent) -> bool:
    """Whether all required affinity terms pick the new pod; other labels or a pod less may always help."""
    if event.action is not Action.ADD:
        return True
    affinity = waiting.spec.affinity
    terms = () if affinity is None or affinity.pod_affinity is None else affinity.pod_affinity.required
    namespace = event.new.metadata.namespace
    return bool(terms) and all(
        (term.namespace_selector is not None or namespace in term_namespaces(term, waiting.metadata.namespace))
        and picks(term.label_selector, event.new)
        for term in terms
    )


REASONS = (
    PluginReason("node(s) didn't match pod affinity rules", UNRESOLVABLE),
    PluginReason("node(s) didn't match pod anti-affinity rules", UNSCHEDULABLE),
    PluginReason("node(s) didn't satisfy existing pods anti-affinity rules", UNSCHEDULABLE),
    PluginReason("parsing pod: <TERMS>", UNRESOLVABLE, "PreFilter"),
)
REASONS_1_20 = (PluginReason("node(s) didn't match pod affinity/anti-affinity", BY_NODE), *REASONS)
REASONS_1_21 = (PluginReason("node(s) didn't match pod affinity/anti-affinity rules", BY_NODE), *REASONS)
EVENTS = (Registered(POD, Action.ADD | Action.POD_LABEL | Action.DELETE, may_satisfy_affinity), NEW_OR_LABELLED)

REASONS_1_19 = (PluginReason("node(s) didn't match pod affinity/anti-affinity", BY_NODE), *REASONS[:3])

PLUGIN_1_18 = InTreePlugin(
    NAME, POINTS, inter_pod_affinity_1_18, args=ARGS_1_20, reasons=REASONS_1_19, default_weight=1
)
PLUGIN_1_19 = InTreePlugin(
    NAME, POINTS, inter_pod_affinity_1_19, args=ARGS_1_20, reasons=REASONS_1_19, default_weight=1
)
PLUGIN_1_20 = InTreePlugin(
    NAME, POINTS, inter_pod_affinity_1_20, args=ARGS_1_20, reasons=REASONS_1_20, default_weight=1
)
PLUGIN_1_21 = InTreePlugin(
    NAME, POINTS, inter_pod_affinity_1_21, args=ARGS_1_21, reasons=REASONS_1_21, default_weight=1
)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS, inter_pod_affinity_1_22, args=ARGS_1_22, reasons=REASONS, default_weight=1)
PLUGIN_1_36 = InTreePlugin(
    NAME, POINTS, inter_pod_affinity_1_36, args=ARGS_1_36, reasons=REASONS, default_weight=2, events=EVENTS
)
PLUGIN_1_24 = msgspec.structs.replace(PLUGIN_1_36, make=inter_pod_affinity_1_24)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_36, make=inter_pod_affinity_1_25)
PLUGIN_1_25 = msgspec.structs.replace(PLUGIN_1_27, args=ARGS_1_25)
