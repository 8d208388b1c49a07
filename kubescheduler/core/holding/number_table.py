"""Numbers of all rows, of which a few change at a time while those who were given earlier ones keep them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from clusterstate.growable import IntArray

LEAST_IN_BLOCK = 64

Blocks = tuple[IntArray, ...]
"""(K, b) int64 each, side by side; not to be written to."""


class NumberTable:
    """(K, N) int64 in blocks of about √N rows. Changing one row copies its block, and no other."""

    __slots__ = ("_blocks", "size")

    def __init__(self, numbers: IntArray) -> None:
        """numbers: (K, N), N ≥ 1."""
        self.size = max(LEAST_IN_BLOCK, isqrt(numbers.shape[1]))
        self._blocks = [numbers[:, at : at + self.size] for at in range(0, numbers.shape[1], self.size)]

    def __len__(self) -> int:
        """How many blocks there are."""
        return len(self._blocks)

    def block(self, at: int) -> IntArray:
        """(K, b) the numbers of a block's rows; not to be written to."""
        return self._blocks[at]

    def row(self, row: int) -> list[int]:
        """The K numbers of a row."""
        at, here = divmod(row, self.size)
        numbers: list[int] = self._blocks[at][:, here].tolist()
        return numbers

    def put(self, row: int, numbers: Sequence[int]) -> int:
        """Sets the K numbers of a row; its block."""
        at, here = divmod(row, self.size)
        block = self._blocks[at] = self._blocks[at].copy()
        block[:, here] = numbers
        return at

    def blocks(self) -> Blocks:
        """All blocks as they are now, which later changes leave alone."""
        return tuple(self._blocks)


def line(blocks: Blocks, index: int) -> IntArray:
    """(N,) one of the K numbers of all rows."""
    return np.concatenate([block[index] for block in blocks])
