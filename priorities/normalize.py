"""Whole-number arithmetic that several priorities share: division and rounding as upstream does it, scores stretched
to 0–10 (framework releases: 0–100), and curves of points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import Calculation, ExplainReduce, formula, traced
from priorities.types import MAX_NODE_SCORE, MAX_PRIORITY, STEPS

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
