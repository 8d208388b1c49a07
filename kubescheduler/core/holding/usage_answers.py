"""What a check that follows from the amounts on a row says of single rows, run once for equal amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterstate.counting.row_amounts import Amounts
from clusterstate.growable import Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from predicates.types import FitPredicate
from predicates.verdict_masks import failing, unresolvable

SINGLE_ROWS = 16
"""Rows that are looked up one by one."""
MOST_AMOUNTS = 1 << 14
"""Amounts of which the answers are remembered."""

RowVerdict = tuple[tuple[str, ...], bool]
"""(the reasons for which a row fails, whether taking pods away cannot mend it)."""
PASSES: RowVerdict = (), False


class UsageAnswers:
    """Answers of one predicate, whose verdict follows from amounts, about single rows for pods that are alike to it."""

    __slots__ = ("_known", "_predicate")

    def __init__(self, predicate: FitPredicate) -> None:
        self._predicate = predicate
        self._known: dict[tuple[Amounts, tuple[PodInfo, ...]], RowVerdict] = {}

    def of(self, row: int, pod: PodInfo, snapshot: Snapshot, added: tuple[PodInfo, ...] = ()) -> RowVerdict:
        """Of a row of the whole cluster, with pods of these classes hypothetically added."""
        key = snapshot.amounts(row), added
        verdict = self._known.get(key)
        if verdict is None:
            if len(self._known) >= MOST_AMOUNTS:
                self._known.clear()
            verdict = self._known[key] = self._ask(row, pod, snapshot, added)
        return verdict

    def _ask(self, row: int, pod: PodInfo, snapshot: Snapshot, added: tuple[PodInfo, ...]) -> RowVerdict:
        there = snapshot.take(np.array([row], np.int64)).what_if([PodChange(row, info, 1) for info in added])
        return row_verdicts(self._predicate, pod, there)[0]


def row_verdicts(predicate: FitPredicate, pod: PodInfo, there: Snapshot) -> list[RowVerdict]:
    """What a predicate says of each row of a snapshot, (n,)."""
    verdict = predicate.check(pod, there)
    refused = failing(verdict)
    if refused is None:
        return [PASSES] * len(there)
    beyond = unresolvable(predicate, pod, there, verdict, refused)
    hopeless = [False] * len(there) if beyond is None else beyond.tolist()
    fails = [(reason, mask.tolist()) for reason, mask in verdict.items()]
    return [(tuple([reason for reason, here in fails if here[at]]), hopeless[at]) for at in range(len(there))]


def with_rows(mask: Mask | None, rows: Sequence[int], values: Sequence[bool], size: int) -> Mask | None:
    """The mask, (size,) bool, with the values of single rows; itself where they had these already. None: no row is
    set."""
    out = mask
    for row, now in zip(rows, values, strict=True):
        if (out is not None and out.item(row)) is not now:
            if out is None:
                out = np.zeros(size, np.bool_)
            elif out is mask:
                out = out.copy()
            out[row] = now
    return out
