"""What a priority is, and the whole-number arithmetic that several share: division and rounding as upstream does it,
scores stretched to 0–10 (framework releases: 0–100), and curves of points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import FAILURE_DOMAINS
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import Calculation, ExplainReduce, RuleEvidence, formula, traced

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


MAX_UTILIZATION = 100
"""Percent; the last place of a curve."""

Point = tuple[int, int]
"""(utilization in percent, score)."""


def idiv(dividend: IntArray, divisor: IntArray | int) -> IntArray:
    """Integer quotients cut off toward zero. ``divisor`` is positive; where it is not, the result means nothing."""
    quotient: IntArray = dividend // divisor
    if dividend.size and dividend.min() < 0:
        quotient += (dividend < 0) & (quotient * divisor != dividend)
    return quotient


def round_half_away(numbers: NDArray[np.float64]) -> IntArray:
    """The nearest whole numbers, halves away from zero; float64 in, int64 out, -2^63 for what int64 cannot hold."""
    whole = np.trunc(numbers)
    half = np.abs(numbers - whole) >= 0.5
    with np.errstate(invalid="ignore"):
        rounded: IntArray = np.where(half, whole + np.sign(numbers), whole).astype(np.int64)
    return rounded


def curve(shape: Sequence[Point]) -> IntArray:
    """(101,) the score at each utilization: straight between the points, level before the first and after the last.

    Values between points are cut off toward zero, counted from the point on the left. ``shape`` has no fault.
    """
    table = np.empty(MAX_UTILIZATION + 1, np.int64)
    table[: shape[0][0] + 1] = shape[0][1]
    for (left, low), (right, high) in pairwise(shape):
        steps = np.arange(1, right - left + 1)
        table[left + 1 : right + 1] = low + idiv((high - low) * steps, right - left)
    table[shape[-1][0] + 1 :] = shape[-1][1]
    return table


def scaled(shape: Iterable[Point]) -> list[Point]:
    """Points with scores 0–10 as points with scores 0–100."""
    return [(utilization, score * STEPS) for utilization, score in shape]


def normalize(_pod: PodInfo, _snapshot: Snapshot, raw: IntArray) -> IntArray:
    """(n,) raw·10 / the largest raw; as they are when none is above 0. Upstream: 1.16 NormalizeReduce(10, false)."""
    return _stretched(raw, MAX_PRIORITY)


def normalize_reversed(_pod: PodInfo, _snapshot: Snapshot, raw: IntArray) -> IntArray:
    """(n,) 10 - raw·10 / the largest raw; 10 when none is above 0. Upstream: 1.16 NormalizeReduce(10, true)."""
    return _turned(raw, MAX_PRIORITY)


def default_normalize(_pod: PodInfo, _snapshot: Snapshot, raw: IntArray) -> IntArray:
    """(n,) raw·100 / the largest raw; as they are when none is above 0.

    Upstream: 1.20 and 1.36 DefaultNormalizeScore(100, false).
    """
    return _stretched(raw, MAX_NODE_SCORE)


def default_normalize_reversed(_pod: PodInfo, _snapshot: Snapshot, raw: IntArray) -> IntArray:
    """(n,) 100 - raw·100 / the largest raw; 100 when none is above 0.

    Upstream: 1.20 and 1.36 DefaultNormalizeScore(100, true).
    """
    return _turned(raw, MAX_NODE_SCORE)


def _stretched(raw: IntArray, best: int) -> IntArray:
    return _share(raw, _largest(raw), best)


def _share(raw: IntArray, most: int, best: int) -> IntArray:
    return idiv(raw * best, most) if most else raw


def _turned(raw: IntArray, best: int) -> IntArray:
    return _rest(raw, _largest(raw), best)


def _rest(raw: IntArray, most: int, best: int) -> IntArray:
    return best - idiv(raw * best, most) if most else np.full(len(raw), best, np.int64)


def stretched_evidence(best: int) -> ExplainReduce:
    """Of ``normalize`` (best 10) and ``default_normalize`` (best 100)."""
    return share_evidence(partial(_share, best=best))


def turned_evidence(best: int) -> ExplainReduce:
    """Of ``normalize_reversed`` (best 10) and ``default_normalize_reversed`` (best 100)."""
    return share_evidence(partial(_rest, best=best))


def share_evidence(scores: Callable[[IntArray, int], IntArray], heading: str = "highest raw score") -> ExplainReduce:
    """Of scores that follow from raw ones and the highest of those, at least 0."""

    def explain(_: PodInfo, __: Snapshot, raw: IntArray, at: int) -> Calculation:
        most = _largest(raw)
        return Calculation(formula(scores(traced(raw[at : at + 1]), most)[0]), {heading: most})

    return explain


def curve_formula(utilization: str, shape: Iterable[Point]) -> str:
    """The score that ``curve`` gives at a utilization, itself a formula."""
    return f"curve({utilization}, {', '.join(f'({x}, {y})' for x, y in shape)})"


def _largest(raw: IntArray) -> int:
    return max(0, int(raw.max())) if len(raw) else 0
