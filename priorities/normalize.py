"""Whole-number arithmetic that several priorities share: division as upstream divides, scores stretched to 0–10."""

from __future__ import annotations

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.types import MAX_PRIORITY


def idiv(dividend: IntArray, divisor: IntArray | int) -> IntArray:
    """Integer quotients cut off toward zero. ``divisor`` is positive; where it is not, the result means nothing."""
    quotient: IntArray = dividend // divisor
    if dividend.size and dividend.min() < 0:
        quotient += (dividend < 0) & (quotient * divisor != dividend)
    return quotient


def normalize(_pod: PodInfo, _snapshot: Snapshot, raw: IntArray) -> IntArray:
    """(n,) raw·10 / the largest raw; as they are when none is above 0. Upstream: 1.16 NormalizeReduce(10, false)."""
    most = _largest(raw)
    return idiv(raw * MAX_PRIORITY, most) if most else raw


def normalize_reversed(_pod: PodInfo, _snapshot: Snapshot, raw: IntArray) -> IntArray:
    """(n,) 10 - raw·10 / the largest raw; 10 when none is above 0. Upstream: 1.16 NormalizeReduce(10, true)."""
    most = _largest(raw)
    return MAX_PRIORITY - idiv(raw * MAX_PRIORITY, most) if most else np.full(len(raw), MAX_PRIORITY, np.int64)


def _largest(raw: IntArray) -> int:
    return max(0, int(raw.max())) if len(raw) else 0
