"""What a scheduler runs, predicates, priorities and extenders, and where releases differ in how an attempt goes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import IntArray
from clusterstate.hypothetical import PodOrder, by_importance
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import missing_claim_error
from kubescheduler.core.extender_calls import Extender, Note, SnapshotRows, note_1_20
from kubescheduler.core.filter_results import FilterResults, fit_error_1_16
from kubescheduler.core.preemption_rules import PREEMPTION_1_16, PreemptionRules
from kubescheduler.core.selection import NodeWalk, ReservoirTie, TieBreak, TreeWalk, nodes_to_find
from predicates.types import FitPredicate
from priorities.types import PriorityConfig, PriorityError

DEFAULT_SCHEDULER = "default-scheduler"
"""Whose are the pods that name none."""
SCHEDULER_ANNOTATION_1_4 = "scheduler.alpha.kubernetes.io/name"


def joined(texts: list[str]) -> str:
    """One text as it is, several in brackets. Upstream: NewAggregate."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


NodeErrors = Sequence[tuple[str, IntArray]]
"""(an error's text, (n,) the rows that have it), ascending."""


def counted_errors_1_16(errors: NodeErrors) -> str:
    """Equal texts of several nodes are told once."""
    counts = _counted(errors).items()
    return joined([text if count == 1 else f"{text} (repeated {count} times)" for text, count in counts])


def every_error_1_4(errors: NodeErrors) -> str:
    """Every node's text is told."""
    return joined(list(_counted(errors).elements()))


def first_error_1_18(errors: NodeErrors) -> str:
    """The text of the first node that has one is told."""
    return min(errors, key=lambda error: int(error[1][0]))[0]


def _counted(errors: NodeErrors) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text, rows in errors:
        counts[text] += len(rows)
    return counts


def own_text(_: str, __: str, text: str) -> str:
    """An error's own text."""
    return text


def unexpected_1_4(_: str, __: str, text: str) -> str:
    """With words around it."""
    return f"SchedulerPredicates failed due to {text}, which is unexpected."


def score_error_1_16(_: str, error: PriorityError, __: int) -> str:
    """The error's own text."""
    return str(error)


def score_error_1_4(_: str, error: PriorityError, nodes: int) -> str:
    """An error that every node meets is told as often."""
    return joined([str(error)] * max(1, nodes)) if error.per_node else str(error)


def scheduler_of_1_16(pod: Pod) -> str:
    """The scheduler that a pod names, by spec.schedulerName."""
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


def scheduler_of_1_4(pod: Pod) -> str:
    """The same by annotation, spec.schedulerName does not exist. Upstream: 1.4 responsibleForPod."""
    return pod.metadata.annotations.get(SCHEDULER_ANNOTATION_1_4) or DEFAULT_SCHEDULER


class AttemptRules(msgspec.Struct, frozen=True, kw_only=True):
    """How one release goes about an attempt, whatever it asks of nodes."""

    waits: Callable[[PodInfo, ClusterObjects], str | None] | None = missing_claim_error
    """Why a pod cannot be scheduled at all yet; None: it always can."""
    filter_error: Callable[[str, str, str], str] = own_text
    """Of (check, the pod's name, text): the text of an error that a check met on a node."""
    filter_errors: Callable[[NodeErrors], str] = counted_errors_1_16
    """The text with which such errors give up the attempt."""
    score_error: Callable[[str, PriorityError, int], str] = score_error_1_16
    """Of (rule, its error, so many feasible nodes): the text with which it gives up the attempt."""
    fit_error: Callable[[FilterResults], str] = fit_error_1_16
    """The text when no node fits."""
    walk: Callable[[], NodeWalk] = TreeWalk
    """In which order nodes are looked at until enough fit."""
    wanted: Callable[[int, int], int] = nodes_to_find
    """How many fitting nodes are enough of so many, by a percentage; asked where that is less than 100."""
    nominates: bool = True
    """Pods nominated to a node are counted there."""
    note: Note = note_1_20
    """What an extender's filter does to statuses."""
    appends: bool = True
    """The statuses of an extender's filter are added to those of checks; otherwise they replace them."""
    places: Callable[[Snapshot], SnapshotRows] = SnapshotRows
    """The rows of one attempt's nodes, with what is made of the node objects that extenders answer."""
    scores_single: bool = False
    """Nodes are scored also when just one fits."""
    keeps_raws: bool = False
    """A decision has the scores as they were before they were normalised."""
    extender_scale: int = 1
    """What extenders' scores are multiplied by, besides their weight."""
    order: PodOrder = by_importance
    """Which pods of a node are put back before others when it is tried without them."""


class LegacyBehaviour(AttemptRules, frozen=True, kw_only=True):
    """The same, and what is no plugin's business where there are none."""

    upstream_tie: Callable[[random.Random], TieBreak] = ReservoirTie
    """The release's own choice among equal totals."""
    preempts: bool = True
    """Pods may be taken away for others."""
    preemption: PreemptionRules = PREEMPTION_1_16
    """Which pods these are, on which node."""
    scheduler_of: Callable[[Pod], str] = scheduler_of_1_16
    """The name of the scheduler that is to place a pod."""


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

    def foreign(self, pod: Pod) -> str:
        """Why a pod is left alone: it names another scheduler than this one is known to be; else empty."""
        mine, named = self.scheduler_name, self.behaviour.scheduler_of(pod)
        return "" if mine is None or named == mine else f"the pod names scheduler {named}, and this one is {mine}"
