"""What a decision says of nodes, put together when somebody reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from clusterstate.growable import NO_NUMBERS, IntArray, Mask

Scores: TypeAlias = IntArray | int
"""One priority's score of every feasible node, in the order of ``Decision.feasible``; an int stands for all."""


def one_for_all(scores: IntArray) -> Scores:
    """Scores, or the one number that they all are if they are laid out as one."""
    return int(scores[0]) if len(scores) and scores.strides[0] == 0 else scores


class ScoreTable(Mapping[str, Scores]):
    """Priority → its scores of the nodes that fit, (n,) int64, or the one score that all of them have."""

    __slots__ = ("by_priority", "feasible", "names")

    def __init__(self, by_priority: Mapping[str, Scores], names: tuple[str, ...], feasible: IntArray) -> None:
        """names: of all rows. feasible: (n,) int64, the rows that fit, in list order."""
        self.by_priority = by_priority
        self.names = names
        self.feasible = feasible

    def __getitem__(self, priority: str) -> Scores:
        return self.by_priority[priority]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_priority)

    def __len__(self) -> int:
        return len(self.by_priority)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Priority → node → score, before the weight; empty when nothing was scored, as when just one node fits."""
        return {name: self.by_node(scores) for name, scores in self.by_priority.items()}

    def by_node(self, scores: Scores) -> dict[str, int]:
        """Node → its number among those of the feasible rows."""
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}


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
