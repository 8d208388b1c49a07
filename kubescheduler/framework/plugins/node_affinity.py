"""NodeAffinity: the nodes that pods, and the profile's added affinity, require or prefer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from clusterstate.changes import NOTHING, Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import (
    ShowsList,
    json_list,
    node_selector_error_1_20,
    node_selector_errors_1_36,
    preferred_error_1_20,
    preferred_errors_1_36,
)
from clusterstate.selectors.node_selection import preferred_weights, selects_nodes
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_quote
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    INT32,
    INVALID,
    ArgsType,
    Field,
    FieldError,
    ListOf,
    Struct,
    fields,
    literal_list,
    node_selector,
    preferred_terms,
    refuse,
    requirements,
)
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason, sign_node_affinity
from kubescheduler.queue.queueing_hints import NEW_OR_LABELLED
from predicates.node_identity import (
    explain_selection,
    explain_selection_framework,
    named_nodes,
    named_nodes_1_24,
    pod_match_node_selector,
    pod_match_node_selector_1_20,
    pod_match_node_selector_1_36,
)
from predicates.refusal_evidence import filter_evidence
from predicates.types import FitPredicate, PreFiltered, always, node_filter
from priorities.node_labels import (
    added_preference_evidence,
    has_preference,
    no_preference,
    no_term_counts,
    preference_evidence_1_18,
    preferred_sums_1_20,
    preferred_sums_1_36,
)
from priorities.types import default_normalize, node_priority

NAME = "NodeAffinity"
POINTS_1_20 = frozenset({Point.FILTER, Point.SCORE})
POINTS_1_36 = POINTS_1_20 | {Point.PRE_FILTER, Point.PRE_SCORE}

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NO_TERM = NodeSelectorTerm()


PreFilter = Callable[[PodInfo, Snapshot], PreFiltered]


class AddedAffinity(msgspec.Struct, frozen=True):
    """Node affinity that every pod of the profile has besides its own."""

    required: tuple[NodeSelectorTerm, ...] | None = None
    """None when absent, () matches no node."""
    preferred: tuple[PreferredSchedulingTerm, ...] = ()
    """Each with its weight."""


NO_ADDED_AFFINITY = AddedAffinity()


class NodeAffinityArgs(msgspec.Struct, frozen=True):
    """The profile's own node affinity."""

    added_affinity: AddedAffinity | None = None
    """None: pods have just their own."""


def node_affinity_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """There is no added affinity, and preferred terms match by their matchExpressions alone.

    Upstream: 1.18 and 1.19 NodeAffinity.
    """
    return ColumnPlugin(
        NAME,
        POINTS_1_20,
        node_filter(NAME, pod_match_node_selector, selects_nodes, explain_selection),
        node_priority(NAME, preferred_weights, default_normalize, preference_evidence_1_18(), constant=no_preference),
    )


def node_affinity_1_20(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Every node is looked at: terms do not narrow the nodes before, nor refuse the pod as a whole.

    Upstream: 1.20 NodeAffinity. Raises ConfigError for added terms that cannot be parsed.
    """
    args = args or NodeAffinityArgs()
    refuse(_errors_1_20(args))
    added = args.added_affinity or NO_ADDED_AFFINITY
    return ColumnPlugin(
        NAME,
        POINTS_1_20,
        node_filter(
            NAME,
            partial(pod_match_node_selector_1_20, added.required),
            _applies(added.required),
            explain_selection_framework(added.required),
        ),
        node_priority(
            NAME,
            partial(preferred_sums_1_20, added.preferred),
            default_normalize,
            added_preference_evidence(added.preferred),
            constant=partial(no_term_counts, added.preferred),
        ),
    )


def node_affinity_1_21(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Every node is looked at: terms do not narrow the nodes before, nor refuse the pod as a whole.

    Upstream: 1.21 NodeAffinity. Raises ConfigError for added terms that cannot be parsed.
    """
    return _prepared(args, None, asks_all)


def node_affinity_1_24(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Terms that name nodes by `metadata.name` narrow the nodes before any Filter; one that contradicts itself refuses
    the pod as a whole. A pod without preferences scores 0.

    Upstream: 1.24 NodeAffinity. Raises ConfigError for added terms that cannot be parsed.
    """
    return _prepared(args, named_nodes_1_24, asks_all)


def node_affinity_1_27(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """As in 1.24, but a pod is refused as a whole only when every term that names nodes contradicts itself.

    Upstream: 1.27 NodeAffinity. Raises ConfigError for added terms that cannot be parsed.
    """
    return _prepared(args, named_nodes, asks_all)


def asks_all(added: AddedAffinity, pod: PodInfo) -> bool:
    """PreScore passes no pod over. Raises PriorityError for terms of the pod that cannot be parsed."""
    has_preference(added.preferred, pod)
    return True


def node_affinity_1_36(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """All of `spec.nodeSelector` and at least one term of the required node affinity must match, and the args' added
    affinity besides. Raw score: the weights of the preferred terms that match, added up. Normalised: 100·raw / the
    highest raw, in integers. Terms that name nodes by `metadata.name` narrow the nodes before any Filter, and terms
    that contradict one another refuse the pod as a whole.

    Upstream: 1.36 NodeAffinity. Raises ConfigError for added terms that cannot be parsed.
    """
    return _prepared(args, named_nodes, lambda added, pod: has_preference(added.preferred, pod))


def _prepared(
    args: NodeAffinityArgs | None, names: PreFilter | None, asks: Callable[[AddedAffinity, PodInfo], bool]
) -> ColumnPlugin:
    """The plugin with PreFilter and PreScore. names: the nodes that alone are looked at. asks: whether it scores."""
    args = args or NodeAffinityArgs()
    refuse(_errors_1_36(args))
    added = args.added_affinity or NO_ADDED_AFFINITY

    def pre_score(pod: PodInfo, _: Snapshot) -> bool:
        return asks(added, pod)

    return ColumnPlugin(
        NAME,
        POINTS_1_36,
        FitPredicate(
            NAME,
            partial(pod_match_node_selector_1_36, added.required),
            Footprint(Reads.NODE, pod_key=spec_alone, pre_reads=NOTHING),
            _applies(added.required),
            pre_filter=names,
            unresolvable=always,
            evidence=filter_evidence(NAME, explain_selection_framework(added.required)),
        ),
        node_priority(
            NAME,
            partial(preferred_sums_1_36, added.preferred),
            default_normalize,
            added_preference_evidence(added.preferred),
            constant=partial(no_term_counts, added.preferred),
            pre_score=pre_score,
        ),
        sign=sign_node_affinity,
    )


def _applies(required: tuple[NodeSelectorTerm, ...] | None) -> Any:
    def applies(_: PodInfo) -> bool:
        return True

    return selects_nodes if required is None else applies


# --- args --------------------------------------------------------------------------------------


def _errors_1_20(args: NodeAffinityArgs) -> Iterator[FieldError]:
    """The value is shown as a Go literal. Upstream: 1.20 ValidateNodeAffinityArgs."""
    added = args.added_affinity or NO_ADDED_AFFINITY
    if error := node_selector_error_1_20(added.required or ()):
        yield FieldError(f"addedAffinity.{REQUIRED}", error, INVALID, node_selector(added.required or ()))
    if error := preferred_error_1_20(added.preferred):
        yield FieldError(f"addedAffinity.{PREFERRED}", error, INVALID, preferred_terms(added.preferred))


def _errors_1_36(args: NodeAffinityArgs, shown: ShowsList = json_list) -> Iterator[FieldError]:
    """Each fault is at its own path. Upstream: 1.36 ValidateNodeAffinityArgs."""
    added = args.added_affinity or NO_ADDED_AFFINITY
    texts = (
        *node_selector_errors_1_36(added.required or (), f"addedAffinity.{REQUIRED}", shown),
        *preferred_errors_1_36(added.preferred, f"addedAffinity.{PREFERRED}", shown),
    )
    for text in texts:
        path, _, fault = text.partition(": ")
        kind, _, detail = fault.partition(": ")
        yield FieldError(path, detail, kind)


def _errors_1_21(args: NodeAffinityArgs) -> Iterator[FieldError]:
    """The same; lists are shown as Go literals. Upstream: 1.21 ValidateNodeAffinityArgs."""
    return _errors_1_36(args, lambda values: literal_list("string", values, go_quote))


def _terms(terms: tuple[NodeSelectorTerm, ...] = ()) -> tuple[NodeSelectorTerm, ...]:
    return terms


def _preferred(weight: int = 0, preference: NodeSelectorTerm = NO_TERM) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(weight, preference)


_TERM = Struct(
    "NodeSelectorTerm",
    NodeSelectorTerm,
    fields(
        match_expressions=requirements("NodeSelectorRequirement"), match_fields=requirements("NodeSelectorRequirement")
    ),
)
_SELECTOR = Struct(
    "NodeSelector",
    _terms,
    (Field("nodeSelectorTerms", "terms", ListOf(_TERM), always=True),),
    parts=lambda terms: {"terms": terms},
)
_PREFERRED_TERM = Struct("PreferredSchedulingTerm", _preferred, fields(weight=INT32, preference=_TERM))
_AFFINITY = Struct(
    "NodeAffinity",
    AddedAffinity,
    (Field(REQUIRED, "required", _SELECTOR), Field(PREFERRED, "preferred", ListOf(_PREFERRED_TERM))),
)


ARGS_1_20 = ArgsType(
    NodeAffinityArgs,
    fields(added_affinity=_AFFINITY),
    """
Node affinity that every pod of the profile has besides its own. Keys are those of `spec.affinity.nodeAffinity`.""",
    errors=_errors_1_20,
)
ARGS_1_21 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_21)
ARGS_1_24 = msgspec.structs.replace(ARGS_1_21, checked_with_config=True)
ARGS_1_36 = msgspec.structs.replace(ARGS_1_24, errors=_errors_1_36)


# --- what it is in each release ---------------------------------------------------------------

REASONS = (PluginReason("node(s) didn't match scheduler-enforced node affinity", UNRESOLVABLE),)
REASONS_1_20 = (PluginReason("node(s) didn't match Pod's node affinity", UNRESOLVABLE), *REASONS)
REASONS_1_36 = (
    PluginReason("node(s) didn't match Pod's node affinity/selector", UNRESOLVABLE),
    PluginReason("pod affinity terms conflict", UNRESOLVABLE, "PreFilter"),
    *REASONS,
)
EVENTS = (NEW_OR_LABELLED,)

PLUGIN_1_18 = InTreePlugin(
    NAME,
    POINTS_1_20,
    node_affinity_1_18,
    reasons=(PluginReason("node(s) didn't match node selector", UNRESOLVABLE),),
    default_weight=1,
)

PLUGIN_1_20 = InTreePlugin(
    NAME, POINTS_1_20, node_affinity_1_20, args=ARGS_1_20, reasons=REASONS_1_20, default_weight=1
)
PLUGIN_1_21 = InTreePlugin(
    NAME, POINTS_1_36, node_affinity_1_21, args=ARGS_1_21, reasons=(*REASONS_1_36[:1], *REASONS), default_weight=1
)
PLUGIN_1_36 = InTreePlugin(
    NAME,
    POINTS_1_36,
    node_affinity_1_36,
    args=ARGS_1_36,
    reasons=REASONS_1_36,
    default_weight=2,
    events=EVENTS,
)
PLUGIN_1_30 = msgspec.structs.replace(PLUGIN_1_36, args=ARGS_1_24)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_30, make=node_affinity_1_27)
PLUGIN_1_24 = msgspec.structs.replace(PLUGIN_1_30, make=node_affinity_1_24)
