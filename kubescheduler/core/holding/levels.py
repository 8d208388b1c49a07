"""Which numbers the rows that fit have, and the score that each comes to, of a rule that looks at nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from clusterstate.growable import IntArray

Reduced = Callable[[IntArray], IntArray]
"""Of (k,) distinct numbers, the scores that they come to; (k,)."""

Move = tuple[int | None, int | None]
"""The number of a row before and now; None: the row does not fit."""


class Levels:
    """The set of all numbers, as ``PriorityConfig.valuewise`` means it, kept while rows change."""

    __slots__ = ("_counts", "_finals")

    def __init__(self, numbers: IntArray, finals: IntArray) -> None:
        """(n,) each, of the rows that fit: the numbers, and what they come to."""
        values, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        self._counts: dict[int, int] = dict(zip(values.tolist(), counts.tolist(), strict=True))
        self._finals: dict[int, int] = dict(zip(values.tolist(), finals[first].tolist(), strict=True))

    def final(self, number: int) -> int:
        """What a number comes to that some row has."""
        return self._finals[number]

    def rows_with(self, number: int) -> int:
        """How many rows have a number."""
        return self._counts.get(number, 0)

    def by_number(self) -> Mapping[int, int]:
        """Number → what it comes to, as of now; later changes leave it alone."""
        return self._finals

    def change(self, moves: Iterable[Move], reduced: Reduced) -> dict[int, int] | None:
        """Notes that rows have changed. By how much more a number that rows had before, and still have, counts now;
        empty where all count the same. None: no row has a number any more."""
        counts = self._counts
        kinds = len(counts)
        gone = False
        for before, now in moves:
            if before is not None:
                counts[before] -= 1
                gone = gone or not counts[before]
            if now is not None:
                counts[now] = counts.get(now, 0) + 1
        if not gone and len(counts) == kinds:
            return {}
        self._counts = {number: count for number, count in counts.items() if count}
        if not self._counts:
            return None
        values = sorted(self._counts)
        finals = dict(zip(values, reduced(np.array(values, np.int64)).tolist(), strict=True))
        known, self._finals = self._finals, finals
        more = {value: final - known[value] for value, final in finals.items() if value in known}
        return more if any(more.values()) else {}
