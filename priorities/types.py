"""What a priority is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import FAILURE_DOMAINS
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import RuleEvidence

MAX_PRIORITY = 10
MAX_NODE_SCORE = 100
"""The best score of a framework plugin."""
STEPS = MAX_NODE_SCORE // MAX_PRIORITY
"""Fine steps in a coarse one."""


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


class PriorityConfig(msgspec.Struct, frozen=True):
    """One priority, ready to run: ``map``, then ``reduce`` if there is one."""

    name: str
    map: Map
    """The number of each row."""
    reduce: Reduce | None = None
    """Scores from the numbers of all feasible rows; None: the numbers are the scores."""
    footprint: Footprint = Footprint()
    """What ``map`` depends on, and ``pre_score``, in what it looks at besides the pod."""
    constant: Callable[[PodInfo], int | None] = never_constant
    """The score of every node when the pod alone decides it; None otherwise."""
    valuewise: bool = False
    """``reduce`` looks at nothing but the numbers, each score follows from its own number and the set of all numbers;
    equal numbers everywhere then give one score everywhere."""
    pre_score: Callable[[PodInfo, Snapshot], bool] = goes_on
    """False when the rule has nothing to score for this pod and gives no score at all (framework releases, PreScore and
    Skip); may raise PriorityError. The snapshot is over all rows."""
    settle: Reduce | None = None
    """The numbers of all feasible rows from what ``map`` gave for them, when they depend on which rows those are: they
    are the release's raw scores, and ``reduce`` gets them."""
    evidence: RuleEvidence | None = None
    """What the rule can say about its scores when somebody asks; None for a custom rule."""
    map_to_100: Map | None = None
    """What ``map`` would give if it went from 0 to 100 instead of 10: the same formula, rounded ten times more finely.
    It parts what coarse scores hide from what a later release computes otherwise."""
    reduce_to_100: Reduce | None = None
    """The same of ``reduce``."""

    def finer(self, pod: PodInfo, feasible: Snapshot) -> IntArray | None:
        """(n,) 0-100 of exactly the feasible rows; None where ten times the scores are as fine."""
        if self.constant(pod) is not None:
            return None
        if self.map_to_100 is not None:
            return self.map_to_100(pod, feasible)
        return None if self.reduce_to_100 is None else self.reduce_to_100(pod, feasible, self.map(pod, feasible))

    def raw_and_final(self, pod: PodInfo, feasible: Snapshot, mapped: IntArray) -> tuple[IntArray, IntArray]:
        """((n,) raw scores, (n,) scores) of exactly the feasible rows, from what ``map`` gave for them. Raises
        PriorityError."""
        raw = mapped if self.settle is None else self.settle(pod, feasible, mapped)
        return raw, raw if self.reduce is None else self.reduce(pod, feasible, raw)


def node_priority(
    name: str,
    function: Map,
    reduce: Reduce,
    evidence: RuleEvidence,
    *,
    constant: Callable[[PodInfo], int | None] = never_constant,
    pre_score: Callable[[PodInfo, Snapshot], bool] = goes_on,
    reduce_to_100: Reduce | None = None,
) -> PriorityConfig:
    """One that reads the node alone, and reduces by the numbers alone."""
    return PriorityConfig(
        name,
        function,
        reduce,
        Footprint(Reads.NODE, pod_key=spec_alone),
        constant=constant,
        valuewise=True,
        pre_score=pre_score,
        evidence=evidence,
        reduce_to_100=reduce_to_100,
    )


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
