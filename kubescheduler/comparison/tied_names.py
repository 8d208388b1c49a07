"""The names of nodes with equal totals, put together when they are read: a comparison holds them for every pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from clusterstate.growable import IntArray


class TiedNames(Sequence[str]):
    """Names by rows; equal to a tuple of them."""

    __slots__ = ("_names", "_rows")

    def __init__(self, names: Sequence[str], rows: IntArray) -> None:
        """names: row → node name. rows: (k,) in the order of the names."""
        self._names = names
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...

    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple([self._names[row] for row in self._rows[at].tolist()])
        return self._names[int(self._rows[at])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TiedNames | tuple) and self[:] == other[:]

    def __hash__(self) -> int:
        return hash(self[:])

    def __repr__(self) -> str:
        return repr(self[:])


class TiedRows:
    """Gives the rows of one pod after the other, those that are the last ones without the first in the same memory."""

    def __init__(self) -> None:
        self._last: IntArray | None = None

    def kept(self, rows: IntArray) -> IntArray:
        """The same rows. rows: (k,), which nobody changes."""
        last = self._last
        if last is not None and len(last) == len(rows) + 1 and bool((last[1:] == rows).all()):
            rows = last[1:]
        self._last = rows
        return rows
