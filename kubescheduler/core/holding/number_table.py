"""Numbers of all rows, of which a few change at a time while those who were given earlier ones keep them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from clusterstate.growable import IntArray

LEAST_IN_BLOCK = 64


def block_size(rows: int) -> int:
    """How many rows a block has where there are so many."""
    return max(LEAST_IN_BLOCK, isqrt(rows))


Blocks = tuple[IntArray, ...]
"""(K, b) int64 each, side by side; not to be written to."""


class NumberTable:
    """(K, N) int64 in blocks of about √N rows. Changing one row copies its block, and no other."""

    __slots__ = ("_blocks", "size")

    def __init__(self, numbers: IntArray) -> None:
        """numbers: (K, N), N ≥ 1."""
        self.size = block_size(numbers.shape[1])
        self._blocks = [numbers[:, at : at + self.size] for at in range(0, numbers.shape[1], self.size)]

    def row(self, row: int) -> list[int]:
        """The K numbers of a row."""
        at, here = divmod(row, self.size)
        numbers: list[int] = self._blocks[at][:, here].tolist()
        return numbers

    def put(self, row: int, numbers: Sequence[int]) -> None:
        """Sets the K numbers of a row."""
        at, here = divmod(row, self.size)
        block = self._blocks[at] = self._blocks[at].copy()
        block[:, here] = numbers

    def blocks(self) -> Blocks:
        """All blocks as they are now, which later changes leave alone."""
        return tuple(self._blocks)


def line(blocks: Blocks, index: int) -> IntArray:
    """(N,) one of the K numbers of all rows."""
    return np.concatenate([block[index] for block in blocks])
