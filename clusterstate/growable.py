"""Arrays over nodes: those that grow along their axes, and one property of every node as codes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterstate.objects import Node

IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_NUMBERS: IntArray = np.zeros(0, np.int64)
"""(0,) int64, of which there need be no second."""
NO_NUMBERS.flags.writeable = False


def constant_row(value: int, size: int) -> IntArray:
    """(size,) int64, ``value`` everywhere; read-only, and no larger than the one number."""
    row: IntArray = np.ndarray((size,), np.int64, np.int64(value).tobytes(), strides=(0,))
    return row


class Growable:
    """An array whose used part only grows; ``view`` is read-only and current until it grows again.

    data: shape (capacity…), dtype as given, zero where nothing was written.
    """

    __slots__ = ("_view", "data", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any = np.int64) -> None:
        self.shape = shape
        self.data: NDArray[Any] = np.zeros(tuple(max(8, n) for n in shape), dtype=dtype)
        self._view: NDArray[Any] | None = None

    def resize(self, *shape: int) -> None:
        """Makes room for ``shape``; the capacity doubles, so growing by one is cheap on average."""
        if shape == self.shape:
            return
        self.shape = shape
        self._view = None
        if any(want > have for want, have in zip(shape, self.data.shape, strict=True)):
            room = tuple(
                max(want, 2 * have) if want > have else have for want, have in zip(shape, self.data.shape, strict=True)
            )
            grown = np.zeros(room, dtype=self.data.dtype)
            grown[tuple(slice(0, n) for n in self.data.shape)] = self.data
            self.data = grown

    @property
    def view(self) -> NDArray[Any]:
        """The part in use, read-only; valid until the next change of size."""
        if self._view is None:
            self._view = self.data[tuple(slice(0, n) for n in self.shape)]
            self._view.flags.writeable = False
        return self._view


ABSENT = 0
"""The code of a node that does not have the property (and of a row without a node object)."""


class NodeColumn:
    """codes: (N,) int64, an index into ``values``; values[0] is None, for absent."""

    __slots__ = ("_codes", "_order", "_ordered", "_starts", "extract", "index", "values", "version")

    def __init__(self, extract: Callable[[Node], Hashable | None], nodes: Sequence[Node | None]) -> None:
        """nodes: by row, None where there is no node object."""
        found = [None if node is None else extract(node) for node in nodes]
        self.extract = extract
        self.values: list[Any] = [None, *(value for value in dict.fromkeys(found) if value is not None)]
        self.index: dict[Any, int] = {value: code for code, value in enumerate(self.values) if code != ABSENT}
        self.version = 0
        self._codes = Growable((len(nodes),))
        self._codes.data[: len(nodes)] = [ABSENT if value is None else self.index[value] for value in found]
        self._order = self._starts = np.zeros(0, np.int64)
        self._ordered = (-1, -1)

    @property
    def codes(self) -> IntArray:
        """(N,) the code of each row's value; ABSENT where it has none."""
        return self._codes.view

    def rows_with(self, code: int) -> IntArray:
        """The rows that have a code, ascending."""
        codes = self.codes
        if self._ordered != (self.version, len(codes)):
            self._order = codes.argsort(kind="stable")
            self._starts = np.concatenate(([0], np.bincount(codes, minlength=len(self.values)).cumsum()))
            self._ordered = self.version, len(codes)
        return self._order[self._starts[code] : self._starts[code + 1]]

    @property
    def everywhere(self) -> int | None:
        """The code that all rows have; None when they differ."""
        codes = self.codes
        if not len(codes) or codes.item(0) != codes.item(-1):
            return None
        code = codes.item(0)
        return code if len(self.rows_with(code)) == len(codes) else None

    def resize(self, size: int) -> None:
        """Makes room for so many rows; new ones have no value."""
        self._codes.resize(size)

    def put(self, row: int, node: Node | None) -> bool:
        """Notes a row's node; whether its code changed."""
        value = None if node is None else self.extract(node)
        code = ABSENT if value is None else self._code(value)
        if self._codes.data[row] == code:
            return False
        self._codes.data[row] = code
        self.version += 1
        return True

    def _code(self, value: Hashable) -> int:
        code = self.index.get(value)
        if code is None:
            code = self.index[value] = len(self.values)
            self.values.append(value)
        return code

    def spread(self, function: Callable[[Any], Any], codes: IntArray, dtype: Any = np.int64) -> Any:
        """function(value) for each of ``codes``, called once per distinct value; (len(codes),) of ``dtype``."""
        if len(codes) < len(self.values):
            distinct, inverse = np.unique(codes, return_inverse=True)
            table = np.fromiter((function(self.values[c]) for c in distinct), dtype, len(distinct))
            return table[inverse]
        return np.fromiter(map(function, self.values), dtype, len(self.values))[codes]


def label_extractor(key: str) -> Callable[[Node], str | None]:
    """The column of one label key; an empty value is a value."""

    def extract(node: Node) -> str | None:
        return node.metadata.labels.get(key)

    return extract
