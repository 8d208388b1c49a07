"""What a priority is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from clusterstate.changes import EVERYTHING, LOCAL, Reads
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_traits import StorageTraits, Traits, whole_pod
from clusterstate.snapshot import Snapshot
from clusterstate.topology.pod_affinity_1_4 import FAILURE_DOMAINS
from clusterstate.topology.row_groups import RowScores
from clusterstate.topology.topology_scope import Scope
from priorities.score_evidence import RuleEvidence

MAX_PRIORITY = 10
MAX_NODE_SCORE = 100
"""The best score of a framework plugin."""


class PriorityError(SchedulingError):
    """An error in a priority; it gives up the whole attempt.

    per_node: the release meets it once on every feasible node.
    """

    def __init__(self, message: str, *, per_node: bool = False) -> None:
        super().__init__(message)
        self.per_node = per_node


def never_constant(_: PodInfo) -> int | None:
    """The score depends on the node for every pod."""
    return None


def never_by_usage(_: PodInfo) -> bool:
    """The number follows from more than amounts for every pod."""
    return False


def always_by_usage(_: PodInfo) -> bool:
    """The number follows from amounts for every pod."""
    return True


def never_stands(_: PodInfo, __: Snapshot) -> bool:
    """Pods that come and go change the scores."""
    return False


def goes_on(_: PodInfo, __: Snapshot) -> bool:
    """No pod is skipped."""
    return True


AttachedVolumes = Callable[[PodInfo, Snapshot], IntArray | None]
"""(2, n) int64 by row: how many of a pod's volumes are new to the node, and how many more the node can attach; None
where no volume counting predicate looks at the pod's volumes. Upstream: 1.16 TransientInfo."""


def nothing_attached(_: PodInfo, __: Snapshot) -> IntArray | None:
    """No predicate counts volumes."""
    return None


Map = Callable[[PodInfo, Snapshot], IntArray]
"""(n,) int64, one number per row; a subset of rows gives the same numbers for those rows."""

Reduce = Callable[[PodInfo, Snapshot, IntArray], IntArray]
"""Scores from the numbers of all feasible rows: the snapshot is over exactly those, (n,) in, (n,) out."""


ScoreRows = Callable[[Snapshot], tuple[RowScores, RowScores]]
"""(raw scores, scores) of the feasible rows, over exactly which the snapshot is."""

Prepare = Callable[[PodInfo, Snapshot], ScoreRows]
"""Of a pod, and a snapshot over all rows."""


class PriorityConfig(msgspec.Struct, frozen=True):
    """One priority, ready to run: ``map``, then ``reduce`` if there is one."""

    name: str
    map: Map
    """The number of each row."""
    reduce: Reduce | None = None
    """Scores from the numbers of all feasible rows; None: the numbers are the scores."""
    reads: Reads = LOCAL
    """What ``map`` depends on; if only NODE and PODS, rows are mapped again only when they change."""
    constant: Callable[[PodInfo], int | None] = never_constant
    """The score of every node when the pod alone decides it; None otherwise."""
    valuewise: bool = False
    """``reduce`` looks at nothing but the numbers, each score follows from its own number and the set of all numbers;
    equal numbers everywhere then give one score everywhere."""
    narrow: Callable[[PodInfo], Reads] | None = None
    """What ``map`` depends on for one pod, when that is less than ``reads``; see ``reads_for``."""
    pre_score: Callable[[PodInfo, Snapshot], bool] = goes_on
    """False when the rule has nothing to score for this pod and gives no score at all (framework releases, PreScore and
    Skip); may raise PriorityError. The snapshot is over all rows; what is looked at besides the pod is in ``reads``,
    and is not one row."""
    settle: Reduce | None = None
    """The numbers of all feasible rows from what ``map`` gave for them, when they depend on which rows those are: they
    are the release's raw scores, and ``reduce`` gets them."""
    pre_score_reads: Reads = EVERYTHING
    """What ``pre_score`` depends on of ``reads``."""
    pre_scope: Scope | None = None
    """Which counts of pods anywhere ``pre_score`` reads; None: pods on any row may matter, where it depends on pods
    anywhere."""
    evidence: RuleEvidence | None = None
    """What the rule can say about its scores when somebody asks; None for a custom rule."""
    traits: Traits = whole_pod
    """What it reads of a pod besides its spec; pods for which that is equal share what is remembered of them."""
    storage: StorageTraits | None = None
    """What it reads of claims and volumes for a pod, when that is less than all of them."""
    alone: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether pods on other nodes have no say in a pod's scores, though ``reads`` allows for it; by default what
    ``reads`` says. May raise PriorityError."""
    by_usage: Callable[[PodInfo], bool] = never_by_usage
    """Whether ``map`` gives rows with equal amounts equal numbers for a pod: see ``Snapshot.amounts``."""
    prepare: Prepare | None = None
    """What scores rows for pods that are alike to the rule, with what is looked up for them once; good until something
    in ``reads`` changes besides single rows and pods. The same scores as by ``map``, ``settle`` and ``reduce``."""
    stands: Callable[[PodInfo, Snapshot], bool] = never_stands
    """Whether the scores stay what they are, raw ones and others, whatever pods come and go and whichever rows are
    feasible, until something besides pods in ``reads`` changes."""
    scope: Scope | None = None
    """How far pods on a row matter to what ``map`` gives others; None: pods on any row may matter to all, where
    ``reads`` has pods anywhere. Something else in ``reads`` may change all numbers."""
    fine: Map | None = None
    """What ``map`` would give on a scale of 0-100; None: what the release's finer forms say for the name."""

    def reads_for(self, pod: PodInfo) -> Reads:
        """What ``map`` depends on for one pod."""
        return self.reads if self.narrow is None else self.narrow(pod)

    def by_row(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether each row's number depends on no pods but those of that row. May raise PriorityError."""
        if self.alone is not None:
            return self.alone(pod, snapshot)
        return not self.reads_for(pod) & Reads.ALL_PODS


class PriorityArgs(msgspec.Struct, frozen=True):
    """What a factory may look at besides the policy entry's own argument."""

    hard_pod_affinity_symmetric_weight: int = 1
    """What a running pod's own required affinity terms count."""
    feature_gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    """Gate → whether it is on."""
    failure_domains: tuple[str, ...] = FAILURE_DOMAINS
    """The topology keys that an empty one stands for in 1.4."""
    attached: AttachedVolumes = nothing_attached
    """What the volume counting predicates in use leave behind for priorities."""


PriorityFactory = Callable[[PriorityArgs], PriorityConfig]


class PriorityConfigFactory(msgspec.Struct, frozen=True):
    """How a priority is made, and its weight when nobody names another."""

    make: PriorityFactory
    weight: int = 1
