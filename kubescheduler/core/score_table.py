"""What every priority gives every node that fits: arrays for computing with, dicts for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from clusterstate.growable import IntArray

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
