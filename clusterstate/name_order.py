"""The order of the rows' names, kept as nodes come and go."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from clusterstate.growable import IntArray

NAMELESS = -1
"""The place of a row without a name."""
MOST_MOVES = 64
"""Names that are put in their places one by one sooner than all are sorted anew."""


class NameOrder:
    """Row → its place among all names in bytewise order, which for texts is the order of their characters."""

    __slots__ = ("_moves", "_ranks", "_row_of", "_rows", "_sorted")

    def __init__(self) -> None:
        self._row_of: dict[str, int] = {}
        self._sorted: list[str] = []
        self._ranks: IntArray = np.zeros(0, np.int64)
        self._rows: tuple[IntArray, IntArray] | None = None
        """(the ranks that they follow from, the rows by name)."""
        self._moves: list[tuple[int, str, bool]] = []
        """(row, name, whether it came) since ``ranks`` were worked out."""

    def put(self, row: int, name: str) -> None:
        """A row has a name from now on; no other row has it."""
        self._row_of[name] = row
        self._moves.append((row, name, True))

    def drop(self, row: int, name: str) -> None:
        """A row has its name no longer."""
        del self._row_of[name]
        self._moves.append((row, name, False))

    def ranks(self, size: int) -> IntArray:
        """(size,) int64 each row's place, NAMELESS where there is no name; never written to once it was handed out."""
        if not self._moves and len(self._ranks) == size:
            return self._ranks
        ranks = np.full(size, NAMELESS, np.int64)
        if len(self._moves) > MOST_MOVES:
            self._sorted = sorted(self._row_of)
            ranks[[self._row_of[name] for name in self._sorted]] = np.arange(len(self._sorted))
        else:
            ranks[: len(self._ranks)] = self._ranks
            for row, name, came in self._moves:
                self._move(ranks, row, name, came=came)
        self._moves.clear()
        self._ranks = ranks
        return ranks

    def rows(self, size: int) -> IntArray:
        """(n,) int64 the rows that have a name, sorted by it. size: as for ``ranks``."""
        ranks = self.ranks(size)
        if self._rows is None or self._rows[0] is not ranks:
            self._rows = ranks, ranks.argsort()[np.count_nonzero(ranks == NAMELESS) :]
        return self._rows[1]

    def _move(self, ranks: IntArray, row: int, name: str, *, came: bool) -> None:
        place = bisect_left(self._sorted, name)
        if came:
            self._sorted.insert(place, name)
            ranks[ranks >= place] += 1
            ranks[row] = place
        else:
            del self._sorted[place]
            ranks[row] = NAMELESS
            ranks[ranks > place] -= 1
