"""A value for each of some rows, where few values are distinct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from clusterstate.growable import NO_NUMBERS, IntArray, Mask

V = TypeVar("V")


class RowValues(Mapping[int, V], Generic[V]):
    """Row → value; a dict is made when somebody looks a row up."""

    __slots__ = ("_by_row", "_distinct", "_which", "rows")

    def __init__(self, rows: IntArray, which: IntArray, distinct: Sequence[V]) -> None:
        """rows: (n,) each once. which: (n,) for each row the index of its value in ``distinct``."""
        self.rows = rows
        """(n,) int64."""
        self._which = which
        self._distinct = distinct
        self._by_row: dict[int, V] | None = None

    def _all(self) -> dict[int, V]:
        if self._by_row is None:
            distinct = self._distinct
            values = [distinct[at] for at in self._which.tolist()]
            self._by_row = dict(zip(self.rows.tolist(), values, strict=True))
        return self._by_row

    def __getitem__(self, row: int) -> V:
        return self._all()[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return repr(self._all())

    def mask(self, size: int) -> Mask:
        """(size,) bool: the rows."""
        out = np.zeros(size, np.bool_)
        out[self.rows] = True
        return out

    def by_value(self) -> Iterator[tuple[V, IntArray]]:
        """(a value, (n,) the rows that have it) of every value that some row has."""
        counts = np.bincount(self._which, minlength=len(self._distinct))
        for at in np.flatnonzero(counts).tolist():
            yield self._distinct[at], self.rows if counts[at] == len(self.rows) else self.rows[self._which == at]


NO_VALUES: RowValues[Any] = RowValues(NO_NUMBERS, NO_NUMBERS, ())


def row_values(values: Mapping[int, Any]) -> RowValues[Any]:
    """Any mapping from rows, in its order."""
    if isinstance(values, RowValues):
        return values
    if not values:
        return NO_VALUES
    size = len(values)
    return RowValues(np.fromiter(values, np.int64, size), np.arange(size), list(values.values()))
