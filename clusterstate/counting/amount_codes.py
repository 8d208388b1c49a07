"""A number for the amounts on each row, equal where the amounts are, and which rows have got another one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

import numpy as np

from clusterstate.growable import IntArray

MOST_CODES = 1 << 15
"""Distinct amounts that are remembered."""
MOST_AT_ONCE = 1024
"""Rows that are looked at when a reader asks; where more have changed, every reader begins anew."""
LONGEST = 1 << 14
"""Changes that are remembered."""
UNSEEN = -1
"""The code of a row that has not changed since codes were begun."""


class AmountCodes:
    """Codes of the rows that change, for readers that know what holds for the rows at first.

    A reader remembers a ``position``, and ``since`` that the rows that have changed.
    """

    __slots__ = ("_changed", "_code_of", "_length", "_start", "codes", "generation")

    def __init__(self) -> None:
        self.generation = 0
        """Another one: equal codes no longer mean equal amounts."""
        self._start = self._length = 0
        self.begin(0)

    def begin(self, size: int) -> None:
        """Forgets everything, so that all positions until now are too old. size: how many rows there are."""
        self._start += self._length + 1
        self.generation += 1
        self.codes: IntArray = np.full(size, UNSEEN, np.int64)
        """(N,) by row."""
        self._code_of: dict[Hashable, int] = {}
        self._changed: IntArray = np.empty(64, np.int64)
        self._length = 0

    @property
    def count(self) -> int:
        """Codes are less than this."""
        return len(self._code_of)

    @property
    def position(self) -> int:
        """Where the next change will be noted."""
        return self._start + self._length

    def since(self, position: int) -> IntArray | None:
        """The rows that have changed since, some of them more than once; None: too long ago."""
        return None if position < self._start else self._changed[position - self._start : self._length]

    def update(self, rows: Collection[int], amounts: Callable[[int], Hashable], size: int) -> None:
        """Notes that the amounts on rows have changed, of so many rows that there are."""
        if size != len(self.codes) or len(rows) > MOST_AT_ONCE or self.count + len(rows) > MOST_CODES:
            self.begin(size)
            return
        if self._length + len(rows) > len(self._changed):
            self._make_room(len(rows))
        codes, code_of = self.codes, self._code_of
        for row in rows:
            code = code_of.setdefault(amounts(row), len(code_of))
            if codes[row] != code:
                self._changed[self._length] = row
                self._length += 1
                codes[row] = code  # last, so that an interrupt leaves no row out

    def _make_room(self, count: int) -> None:
        """For so many changes more; the older half is dropped where there are too many. What was read stays."""
        kept = self._changed[: self._length]
        if self._length + count > LONGEST:
            dropped = self._length // 2
            kept = kept[dropped:]
            self._start += dropped
            self._length -= dropped
        self._changed = np.concatenate((kept, np.empty(len(kept) + count, np.int64)))
