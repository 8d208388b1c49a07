"""One property of every node, dictionary-encoded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from clusterstate.growable import Growable, IntArray
from clusterstate.objects import Node

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
