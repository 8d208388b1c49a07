"""Which rows a verdict refuses, and which of them taking pods away cannot mend."""

from __future__ import annotations

import numpy as np

from clusterstate.growable import Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.types import FitPredicate, NodeError, Verdict, never


def failing(verdict: Verdict) -> Mask | None:
    """(n,) bool, the rows that fail for any reason; None when none does."""
    out: Mask | None = None
    for mask in verdict.values():
        if np.count_nonzero(mask):
            out = mask if out is None else out | mask
    return out


def unresolvable(
    predicate: FitPredicate, pod: PodInfo, snapshot: Snapshot, verdict: Verdict, failing: Mask | None
) -> Mask | None:
    """(n,) bool, the failing rows that taking pods away cannot mend; None when there is none."""
    if failing is None:
        return None
    beyond = None if predicate.beyond is None else failing & predicate.beyond(pod, snapshot)
    if predicate.unresolvable is not never:
        for reason, mask in verdict.items():
            if not isinstance(reason, NodeError) and predicate.unresolvable(reason):
                beyond = mask if beyond is None else beyond | mask
    return beyond
