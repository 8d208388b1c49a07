"""PodTopologySpread: no domain of a topology gets too far ahead, and fewer pods in a domain score better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.objects import LabelSelector, Pod, TopologySpreadConstraint
from clusterstate.selectors.spread_constraints import (
    EVERY_EFFECT,
    SYSTEM_DEFAULTS,
    SpreadRules,
    spread_rules_1_20,
    spread_rules_1_22,
    spread_rules_1_24,
    spread_rules_1_36,
)
from kubecel.api_names import worded_1_20, worded_1_36
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin, never_signed
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    INT32,
    TEXT,
    ArgsType,
    Field,
    FieldError,
    ListOf,
    MapOf,
    Struct,
    duplicate,
    fields,
    forbidden,
    invalid,
    label_name_errors,
    refuse,
    required,
    requirements,
    unsupported,
)
from kubescheduler.framework.plugins.plugin_record import (
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    sign_no_constraints,
)
from kubescheduler.queue.queueing_hints import NODE, OWN_TOLERATIONS, POD, Action, ClusterEvent, Registered, picks
from predicates import spread as predicates
from predicates.types import FitPredicate
from priorities import spread as priorities
from priorities.types import PriorityConfig

NAME = "PodTopologySpread"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE})
DEFAULTING_GATE = "DefaultPodTopologySpread"
UNREAD_1_18 = 'error reading "{}PodTopologySpread" from cycleState: not found'
UNREAD_1_36 = 'reading "{}PodTopologySpread" from cycleState: not found'
LIST, SYSTEM = "List", "System"
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")

Constraints = tuple[TopologySpreadConstraint, ...]


class PodTopologySpreadArgs(msgspec.Struct, frozen=True):
    """The constraints of a pod that has none."""

    default_constraints: Constraints = ()
    """Without selectors; those are made of the pod's services and controllers."""
    defaulting_type: str = SYSTEM
    """System: the built-in constraints; List: ``default_constraints``."""


def pod_topology_spread_1_18(args: PodTopologySpreadArgs | None, _: Handle) -> ColumnPlugin:
    """A node that lacks a topology key is Unschedulable. Scores count pods: 100·(total - q)/(total - low), where q is
    the number of matching pods in the node's domains.

    Upstream: 1.18 PodTopologySpread. Raises ConfigError for args that are not valid.
    """
    args = args or _build_1_19()
    refuse(_errors_1_20(args))
    rules = spread_rules_1_20(args.default_constraints, LIST)
    return _plugin(rules, predicates.pod_topology_spread_1_18, priorities.pod_topology_spread_1_18, UNREAD_1_18)


def pod_topology_spread_1_19(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """Without constraints of its own, a pod is spread only by those of the args; with feature gate
    DefaultPodTopologySpread these are at most 3 apart over hosts and 5 over zones, on nodes with both labels. Where no
    node has all topology keys and is picked by the pod, all pass.

    Upstream: 1.19 PodTopologySpread. Raises ConfigError for args that are not valid.
    """
    args = args or _build_with_1_19(handle.feature_gates)()
    refuse(_errors_1_20(args))
    rules = spread_rules_1_20(args.default_constraints, LIST)
    return _plugin(rules, predicates.pod_topology_spread_1_19, priorities.pod_topology_spread_1_20, UNREAD_1_18)


def pod_topology_spread_1_20(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """The raw score is truncated. Without constraints of its own, a pod is spread among the pods that its services and
    all matching ReplicationControllers, ReplicaSets and StatefulSets select. There are no minDomains, matchLabelKeys
    and inclusion policies. Two constraints with one key share their counts.

    Upstream: 1.20 PodTopologySpread. Raises ConfigError for args that are not valid.
    """
    return _plugin_1_20(args, handle, _errors_1_20)


def pod_topology_spread_1_21(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.20.

    Upstream: 1.21 PodTopologySpread. Raises ConfigError for args that are not valid.
    """
    return _plugin_1_20(args, handle, _errors_1_21)


def pod_topology_spread_1_22(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """Without constraints of its own, a pod is spread among the pods that its services and the controller that owns it
    select.

    Upstream: 1.22 PodTopologySpread. Raises ConfigError for args that are not valid.
    """
    return _plugin_1_20(args, handle, _errors_1_21, spread_rules_1_22)


def _plugin_1_20(
    args: PodTopologySpreadArgs | None,
    handle: Handle,
    errors: Callable[[PodTopologySpreadArgs], Iterator[FieldError]],
    made_of: Callable[[Constraints, str], SpreadRules] = spread_rules_1_20,
) -> ColumnPlugin:
    args = args or _build_with(handle.feature_gates)()
    refuse(errors(args))
    rules = made_of(args.default_constraints, args.defaulting_type)
    return _plugin(rules, predicates.pod_topology_spread_1_20, priorities.pod_topology_spread_1_20, UNREAD_1_18)


def pod_topology_spread_1_36(args: PodTopologySpreadArgs | None, _: Handle) -> ColumnPlugin:
    """DoNotSchedule: pods that match in the node's domain, plus the pod itself if it matches, minus those in the
    emptiest domain, may not exceed maxSkew. ScheduleAnyway: with size the number of domains and count the matching pods
    there,

        raw = Σ count·ln(size + 2) + (maxSkew - 1), rounded
        score = 100·(highest + lowest - raw) / highest

    A pod without constraints gets those of the args: by default at most 3 apart over hosts and 5 over zones
    (ScheduleAnyway), among the pods that its services and the controller that owns it select. Constraints may have
    minDomains, matchLabelKeys and inclusion policies.

    Upstream: 1.36 PodTopologySpread.
    """
    args = args or PodTopologySpreadArgs()
    rules = spread_rules_1_36(args.default_constraints, args.defaulting_type)
    return _plugin(rules, predicates.pod_topology_spread_1_36, priorities.pod_topology_spread_1_36)


def pod_topology_spread_1_25(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.26, but the inclusion policy of taints is about every effect, PreferNoSchedule too.

    Upstream: 1.25 PodTopologySpread.
    """
    rules = _rules_1_24(args, handle, EVERY_EFFECT)
    return _plugin(rules, predicates.pod_topology_spread_1_24, priorities.pod_topology_spread_1_24)


def pod_topology_spread_1_24(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """Two constraints with one key share their counts: DoNotSchedule those of the last one, ScheduleAnyway the sum,
    and its second one weighs as if there were no domain. A pod without constraints passes everywhere, with a score of
    100. minDomains, matchLabelKeys and inclusion policies are read where their feature gates are on.

    Upstream: 1.24 PodTopologySpread.
    """
    rules = _rules_1_24(args, handle)
    return _plugin(rules, predicates.pod_topology_spread_1_24, priorities.pod_topology_spread_1_24)


def pod_topology_spread_1_27(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.24, but an empty selector counts no pod.

    Upstream: 1.27 PodTopologySpread.
    """
    rules = _rules_1_24(args, handle)
    return _plugin(rules, predicates.pod_topology_spread_1_27, priorities.pod_topology_spread_1_27)


def pod_topology_spread_1_28(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.27, but a pod without soft constraints has no score.

    Upstream: 1.28 PodTopologySpread.
    """
    rules = _rules_1_24(args, handle)
    return _plugin(rules, predicates.pod_topology_spread_1_28, priorities.pod_topology_spread_1_28)


def pod_topology_spread_1_30(args: PodTopologySpreadArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.28; the error of an invalid selector is worded otherwise.

    Upstream: 1.30 PodTopologySpread.
    """
    rules = _rules_1_24(args, handle)
    return _plugin(rules, predicates.pod_topology_spread_1_30, priorities.pod_topology_spread_1_28)


def _rules_1_24(
    args: PodTopologySpreadArgs | None, handle: Handle, honoured_taints: tuple[str, ...] = ()
) -> SpreadRules:
    args = args or PodTopologySpreadArgs()
    return spread_rules_1_24(args.default_constraints, args.defaulting_type, handle.feature_gates, honoured_taints)


def _plugin(
    rules: SpreadRules,
    check: Callable[[SpreadRules], FitPredicate],
    scoring: Callable[[SpreadRules], PriorityConfig],
    unread: str = UNREAD_1_36,
) -> ColumnPlugin:
    """unread: the text where the state of PreFilter is missing, with ``{}`` for the point."""
    return ColumnPlugin(
        name=NAME,
        points=POINTS,
        check=check(rules),
        scoring=scoring(rules),
        sign=never_signed if rules.defaults else sign_no_constraints,
        filter_alone=unread.format("PreFilter"),
        score_alone=UNREAD_1_18.format("PreScore"),
    )


# --- args --------------------------------------------------------------------------------------


def _build_1_20(default_constraints: Constraints = (), defaulting_type: str = "") -> PodTopologySpreadArgs:
    """The built-in constraints are for those that name none."""
    return PodTopologySpreadArgs(default_constraints, defaulting_type or (LIST if default_constraints else SYSTEM))


def _build_without_system(default_constraints: Constraints = (), defaulting_type: str = "") -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(default_constraints, defaulting_type or LIST)


def _build_with(feature_gates: Mapping[str, bool]) -> Callable[..., PodTopologySpreadArgs]:
    return _build_1_20 if feature_gates.get(DEFAULTING_GATE, True) else _build_without_system


def _build_1_19(default_constraints: Constraints = ()) -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(default_constraints, LIST)


def _build_with_system_1_19(default_constraints: Constraints = SYSTEM_DEFAULTS) -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(default_constraints, LIST)


def _build_with_1_19(feature_gates: Mapping[str, bool]) -> Callable[..., PodTopologySpreadArgs]:
    return _build_with_system_1_19 if feature_gates.get(DEFAULTING_GATE, False) else _build_1_19


def _build_1_36(default_constraints: Constraints = (), defaulting_type: str = "") -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(default_constraints, defaulting_type or SYSTEM)


class SpreadTexts(msgspec.Struct, frozen=True):
    """What the releases say differently of the args."""

    unknown_type: Callable[[str], FieldError]
    """Of a defaultingType that there is not."""
    low_skew: str
    """Of a maxSkew of 0 or less."""
    worded: Callable[[str], str]
    """A text about a name as the release has it."""


TEXTS_1_20 = SpreadTexts(
    lambda value: invalid("defaultingType", value, 'must be one of {"System", "List"}'),
    "must be greater than zero",
    worded_1_20,
)
TEXTS_1_21 = SpreadTexts(
    lambda value: unsupported("defaultingType", value, (SYSTEM, LIST)), "not in valid range (0, inf)", worded_1_20
)
TEXTS_1_36 = SpreadTexts(
    lambda value: unsupported("defaultingType", value, (SYSTEM, LIST)), "not in valid range (0, inf)", worded_1_36
)


def _errors_1_20(args: PodTopologySpreadArgs) -> Iterator[FieldError]:
    return _errors(args, TEXTS_1_20)


def _errors_1_21(args: PodTopologySpreadArgs) -> Iterator[FieldError]:
    return _errors(args, TEXTS_1_21)


def _errors_1_36(args: PodTopologySpreadArgs) -> Iterator[FieldError]:
    return _errors(args, TEXTS_1_36)


def _errors(args: PodTopologySpreadArgs, texts: SpreadTexts) -> Iterator[FieldError]:
    if args.defaulting_type not in (SYSTEM, LIST):
        yield texts.unknown_type(args.defaulting_type)
    elif args.defaulting_type == SYSTEM and args.default_constraints:
        yield invalid("defaultingType", SYSTEM, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for at, constraint in enumerate(args.default_constraints):
        path = f"defaultConstraints[{at}]"
        yield from _constraint_errors(constraint, path, texts)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield duplicate(path, f"{{{', '.join(pair)}}}")
        seen.add(pair)


def _constraint_errors(constraint: TopologySpreadConstraint, path: str, texts: SpreadTexts) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, texts.low_skew)
    if not constraint.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    else:
        yield from label_name_errors(f"{path}.topologyKey", constraint.topology_key, texts.worded)
    if not constraint.when_unsatisfiable:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in ACTIONS:
        yield unsupported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, ACTIONS)
    if constraint.label_selector is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", text)


def _constraint(
    max_skew: int = 0, topology_key: str = "", when_unsatisfiable: str = "", **given: Any
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew, topology_key, when_unsatisfiable, **given)


_SELECTOR = Struct(
    "LabelSelector",
    LabelSelector,
    fields(match_labels=MapOf(TEXT), match_expressions=requirements("LabelSelectorRequirement")),
)
_CONSTRAINT_1_20 = fields(max_skew=INT32, topology_key=TEXT, when_unsatisfiable=TEXT, label_selector=_SELECTOR)
_CONSTRAINT_1_36 = (
    *_CONSTRAINT_1_20,
    *fields(min_domains=INT32, node_affinity_policy=TEXT, node_taints_policy=TEXT, match_label_keys=ListOf(TEXT)),
)


def _fields(constraint: tuple[Field, ...]) -> tuple[Field, ...]:
    constraints = ListOf(Struct("TopologySpreadConstraint", _constraint, constraint))
    return fields(default_constraints=constraints, defaulting_type=TEXT)


ARGS_1_20 = ArgsType(
    PodTopologySpreadArgs,
    _fields(_CONSTRAINT_1_20),
    """
With defaultingType System pods without constraints get the built-in ones and `defaultConstraints` must be empty; with
List they get `defaultConstraints`, which have no selector. In 1.20 the type is List as soon as constraints are
given.""",
    build_with=_build_with,
    errors=_errors_1_20,
)
ARGS_1_18 = msgspec.structs.replace(ARGS_1_20, fields=ARGS_1_20.fields[:1], build=_build_1_19, build_with=None)
ARGS_1_19 = msgspec.structs.replace(ARGS_1_20, fields=ARGS_1_20.fields[:1], build_with=_build_with_1_19)
ARGS_1_21 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_21)
ARGS_1_36 = msgspec.structs.replace(
    ARGS_1_20,
    fields=_fields(_CONSTRAINT_1_36),
    build=_build_1_36,
    build_with=None,
    errors=_errors_1_36,
    checked_with_config=True,
)


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


REASONS = (
    PluginReason("node(s) didn't match pod topology spread constraints", UNSCHEDULABLE),
    PluginReason("node(s) didn't match pod topology spread constraints (missing required label)", UNRESOLVABLE),
)
EVENTS = (
    Registered(POD, Action.ADD | Action.POD_LABEL | Action.DELETE, counts_for_spread),
    OWN_TOLERATIONS,
    Registered(NODE, Action.ADD | Action.DELETE | Action.NODE_LABEL | Action.NODE_TAINT),
)

PLUGIN_1_18 = InTreePlugin(
    NAME,
    POINTS,
    pod_topology_spread_1_18,
    args=ARGS_1_18,
    reasons=REASONS[:1],
    default_weight=1,
    gate="EvenPodsSpread",
    gate_default=True,
)
PLUGIN_1_19 = InTreePlugin(NAME, POINTS, pod_topology_spread_1_19, args=ARGS_1_19, reasons=REASONS, default_weight=2)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, pod_topology_spread_1_20, args=ARGS_1_20, reasons=REASONS, default_weight=2)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, pod_topology_spread_1_21, args=ARGS_1_21, reasons=REASONS, default_weight=2)
PLUGIN_1_22 = msgspec.structs.replace(PLUGIN_1_21, make=pod_topology_spread_1_22)
PLUGIN_1_36 = InTreePlugin(
    NAME,
    POINTS,
    pod_topology_spread_1_36,
    args=ARGS_1_36,
    reasons=REASONS,
    default_weight=2,
    events=EVENTS,
)
PLUGIN_1_30 = msgspec.structs.replace(PLUGIN_1_36, make=pod_topology_spread_1_30)
PLUGIN_1_28 = msgspec.structs.replace(PLUGIN_1_36, make=pod_topology_spread_1_28)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_36, make=pod_topology_spread_1_27)
PLUGIN_1_24 = msgspec.structs.replace(PLUGIN_1_36, make=pod_topology_spread_1_24)
PLUGIN_1_25 = msgspec.structs.replace(PLUGIN_1_36, make=pod_topology_spread_1_25)
