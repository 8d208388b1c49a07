"""What a scheduler runs, predicates, priorities and extenders, and where releases differ in how an attempt goes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.hypothetical import PodOrder, by_importance
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import missing_claim_error
from kubescheduler.core.extender_calls import Extender, SnapshotRows
from kubescheduler.core.filter_results import FilterResults, fit_error_1_16
from kubescheduler.core.preemption_rules import PREEMPTION_1_16, PreemptionRules
from kubescheduler.core.selection import ReservoirTie, TieBreak, nodes_to_find
from predicates.types import FitPredicate
from priorities.types import PriorityConfig, PriorityError

DEFAULT_SCHEDULER = "default-scheduler"
"""Whose are the pods that name none."""
SCHEDULER_ANNOTATION_1_4 = "scheduler.alpha.kubernetes.io/name"


def joined(texts: list[str]) -> str:
    """One text as it is, several in brackets. Upstream: NewAggregate."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def predicate_errors_1_16(errors: Mapping[str, int]) -> str:
    """Equal texts of several nodes are told once."""
    return joined([text if count == 1 else f"{text} (repeated {count} times)" for text, count in errors.items()])


def predicate_errors_1_4(errors: Mapping[str, int]) -> str:
    """Every node's text is told."""
    texts = Counter(errors).elements()
    return joined([f"SchedulerPredicates failed due to {text}, which is unexpected." for text in texts])


def priority_error_1_16(error: PriorityError, _: int) -> str:
    """The error's own text."""
    return str(error)


def priority_error_1_4(error: PriorityError, nodes: int) -> str:
    """An error that every node meets is told as often."""
    return joined([str(error)] * max(1, nodes)) if error.per_node else str(error)


def never_waits(_: PodInfo, __: ClusterObjects) -> None:
    """No pod waits for other objects."""


def scheduler_of_1_16(pod: Pod) -> str:
    """The scheduler that a pod names, by spec.schedulerName."""
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


def scheduler_of_1_4(pod: Pod) -> str:
    """The same by annotation, spec.schedulerName does not exist. Upstream: 1.4 responsibleForPod."""
    return pod.metadata.annotations.get(SCHEDULER_ANNOTATION_1_4) or DEFAULT_SCHEDULER


class LegacyBehaviour(msgspec.Struct, frozen=True):
    """How one release goes about an attempt."""

    waits: Callable[[PodInfo, ClusterObjects], str | None] = missing_claim_error
    """Why a pod cannot be scheduled at all yet, None if it can."""
    predicate_errors: Callable[[Mapping[str, int]], str] = predicate_errors_1_16
    """The text for errors on nodes, each with its number of nodes."""
    priority_error: Callable[[PriorityError, int], str] = priority_error_1_16
    """The text for an error of a priority over so many feasible nodes."""
    fit_error: Callable[[FilterResults], str] = fit_error_1_16
    """The text when no node fits."""
    upstream_tie: Callable[[random.Random], TieBreak] = ReservoirTie
    """The release's own choice among equal totals."""
    scores_single: bool = False
    """Nodes are scored also when just one fits."""
    nominates: bool = True
    """Pods nominated to a node are counted there."""
    preempts: bool = True
    """Pods may be taken away for others."""
    scheduler_of: Callable[[Pod], str] = scheduler_of_1_16
    """The name of the scheduler that is to place a pod."""
    enough: Callable[[int, int], int] = nodes_to_find
    """How many fitting nodes are enough of so many, by a percentage; asked where that is less than 100."""
    order: PodOrder = by_importance
    """Which pods of a node are put back before others when it is tried without them."""
    preemption: PreemptionRules = PREEMPTION_1_16
    """Which pods these are, on which node."""
    places: Callable[[Snapshot], SnapshotRows] = SnapshotRows
    """The rows of one attempt's nodes, with what is made of the node objects that extenders answer."""


class WeightedPriority(msgspec.Struct, frozen=True):
    """A priority and what its scores are multiplied by."""

    config: PriorityConfig
    weight: int


class Algorithm(msgspec.Struct, frozen=True, eq=False):
    """One configuration of a release, ready to decide."""

    release: str
    predicates: tuple[FitPredicate, ...]
    """In the order they run on a node."""
    priorities: tuple[WeightedPriority, ...]
    """Empty means that every node scores 1, or 0 when there are extenders."""
    extenders: tuple[Extender, ...] = ()
    idle: tuple[FitPredicate, ...] = ()
    """Selected, but the release never runs them."""
    mandatory: frozenset[str] = frozenset()
    """Names of predicates that run whatever is selected."""
    always_check_all_predicates: bool = False
    behaviour: LegacyBehaviour = LegacyBehaviour()
    """How the release goes about an attempt."""
    scheduler_name: str | None = None
    """Pods that name another scheduler are left alone; None: no pod is."""
    feature_gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    """What it is made under, for what is done about a pod once its node is chosen."""
    percentage_of_nodes_to_score: int = 100
    """Below 100 (0: adaptive) scheduling stops looking once enough nodes fit, as upstream does."""
    pre_filters: Mapping[str, FitPredicate] = msgspec.field(default_factory=dict)
    """What is asked of a pod before any node is looked at: PreFilter plugins by name."""
    pre_scores: tuple[PriorityConfig, ...] = ()
    """What is asked before nodes are scored, whether there is anything to score: PreScore plugins."""
