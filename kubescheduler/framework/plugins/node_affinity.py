"""NodeAffinity: the nodes that pods, and the profile's added affinity, require or prefer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from clusterstate.changes import Reads
from clusterstate.errors import ConfigError
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.node_selection import selects_nodes
from clusterstate.selectors.term_errors import (
    aggregate,
    node_selector_error_1_20,
    node_selector_errors_1_36,
    preferred_error_1_20,
    preferred_errors_1_36,
)
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.args.go_literals import node_selector, preferred_terms
from kubescheduler.framework.args.plugin_args import AddedAffinity, NodeAffinityArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.queue.queueing_hints import NEW_OR_LABELLED
from predicates.node_identity import named_nodes, pod_match_node_selector_1_20, pod_match_node_selector_1_36
from predicates.types import FitPredicate, always
from priorities.node_affinity import has_preference, no_term_counts, preferred_sums_1_20, preferred_sums_1_36
from priorities.normalize import default_normalize
from priorities.types import PriorityConfig

NAME = "NodeAffinity"
POINTS_1_20 = frozenset({Point.FILTER, Point.SCORE})
POINTS_1_36 = POINTS_1_20 | {Point.PRE_FILTER, Point.PRE_SCORE}

REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"

NO_ADDED_AFFINITY = AddedAffinity()


def node_affinity_1_20(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for added terms that cannot be parsed."""
    added = _added(args)
    _refuse(faults_1_20(added))
    return ColumnPlugin(
        NAME,
        POINTS_1_20,
        FitPredicate(
            NAME,
            partial(pod_match_node_selector_1_20, added.required),
            Reads.NODE,
            _applies(added.required),
            unresolvable=always,
        ),
        PriorityConfig(
            NAME,
            partial(preferred_sums_1_20, added.preferred),
            default_normalize,
            reads=Reads.NODE,
            constant=partial(no_term_counts, added.preferred),
            valuewise=True,
        ),
    )


def node_affinity_1_36(args: NodeAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for added terms that cannot be parsed."""
    added = _added(args)
    _refuse(faults_1_36(added))

    def pre_score(pod: PodInfo, _: Snapshot) -> bool:
        return has_preference(added.preferred, pod)

    return ColumnPlugin(
        NAME,
        POINTS_1_36,
        FitPredicate(
            NAME,
            partial(pod_match_node_selector_1_36, added.required),
            Reads.NODE,
            _applies(added.required),
            pre_filter=named_nodes,
            unresolvable=always,
        ),
        PriorityConfig(
            NAME,
            partial(preferred_sums_1_36, added.preferred),
            default_normalize,
            reads=Reads.NODE,
            constant=partial(no_term_counts, added.preferred),
            valuewise=True,
            pre_score=pre_score,
        ),
    )


def _added(args: NodeAffinityArgs | None) -> AddedAffinity:
    return (args or NodeAffinityArgs()).added_affinity or NO_ADDED_AFFINITY


def _applies(required: tuple[NodeSelectorTerm, ...] | None) -> Any:
    def applies(_: PodInfo) -> bool:
        return True

    return selects_nodes if required is None else applies


# --- validation ----------------------------------------------------------------------------


def _refuse(faults: Iterable[str]) -> None:
    if text := aggregate(faults):
        raise ConfigError(text)


def faults_1_20(added: AddedAffinity) -> list[str]:
    """What is wrong with added terms, the value as a Go literal. Upstream: 1.20 ValidateNodeAffinityArgs."""
    faults = []
    if error := node_selector_error_1_20(added.required or ()):
        faults.append(f"{REQUIRED}: Invalid value: {node_selector(added.required or ())}: {error}")
    if error := preferred_error_1_20(added.preferred):
        faults.append(f"{PREFERRED}: Invalid value: {preferred_terms(added.preferred)}: {error}")
    return faults


def faults_1_36(added: AddedAffinity, path: str = "") -> list[str]:
    """What is wrong with added terms, each fault under its own path. Upstream: 1.36 ValidateNodeAffinityArgs.

    path: that of the args, with a dot at its end; empty where the plugin is made.
    """
    required: tuple[NodeSelectorTerm, ...] = added.required or ()
    preferred: tuple[PreferredSchedulingTerm, ...] = added.preferred
    return [
        *node_selector_errors_1_36(required, f"{path}{REQUIRED}"),
        *preferred_errors_1_36(preferred, f"{path}{PREFERRED}"),
    ]


# --- what it is in each release ---------------------------------------------------------------

DESCRIPTION = """
All of `spec.nodeSelector` and at least one term of the required node affinity must match, and the args' added affinity
besides. Raw score: the weights of the preferred terms that match, added up. Normalised: 100·raw / the highest raw, in
integers. In 1.36 terms that name nodes by `metadata.name` narrow the nodes before any Filter, and terms that contradict
one another refuse the pod as a whole."""
REASONS = (PluginReason("node(s) didn't match scheduler-enforced node affinity", UNRESOLVABLE),)
REASONS_1_20 = (PluginReason("node(s) didn't match Pod's node affinity", UNRESOLVABLE), *REASONS)
REASONS_1_36 = (
    PluginReason("node(s) didn't match Pod's node affinity/selector", UNRESOLVABLE),
    PluginReason("pod affinity terms conflict", UNRESOLVABLE, "PreFilter"),
    *REASONS,
)
EVENTS = (NEW_OR_LABELLED,)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_affinity_1_20, DESCRIPTION, reasons=REASONS_1_20, default_weight=1)
PLUGIN_1_36 = InTreePlugin(
    NAME, POINTS_1_36, node_affinity_1_36, DESCRIPTION, reasons=REASONS_1_36, default_weight=2, events=EVENTS
)
