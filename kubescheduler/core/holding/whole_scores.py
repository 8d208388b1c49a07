"""The scores of rules that are scored anew for every decision, on top of what all other rules come to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.score_table import Scores
from kubescheduler.core.selection import TieBreak


class WholeScores(msgspec.Struct, frozen=True, eq=False):
    """Of one decision, over the rows that fit."""

    names: tuple[str, ...]
    """All rules that score, in order, those that are not scored anew included."""
    finals: Mapping[str, Scores]
    """Rule → its scores before the weight, of those that are scored anew."""
    raws: Mapping[str, Scores]
    """Likewise before they were normalised; empty where a release keeps no such scores."""
    feasible: IntArray
    """(n,) int64, the rows that fit."""
    totals: IntArray
    """(n,) int64, the weighted sums of all rules."""

    def choose(self, tie_break: TieBreak, ranks: IntArray) -> int:
        """One of the rows with the highest total. ranks: (N,) every row's place in the order of names."""
        tied = np.flatnonzero(self.totals == self.totals.max())
        return tie_break.choose(self.feasible[tied], ranks)


PENALTY, LIMIT = 8, 20
"""What a failure counts, and the sum from which a rule is scored anew; every success takes one away."""


class VolatileRules:
    """Which rules keep changing their scores on many rows at a time, so that single rows cannot be brought up to
    date."""

    __slots__ = ("_failures", "names")

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self.names: frozenset[str] = frozenset()
        """Those of which it is certain."""

    def failed(self, name: str) -> None:
        """A rule's scores have changed on too many rows."""
        count = self._failures.get(name, 0) + PENALTY
        self._failures[name] = count
        if count >= LIMIT:
            self.names |= {name}

    def held(self) -> None:
        """Single rows were brought up to date."""
        if self._failures:
            self._failures = {name: count - 1 for name, count in self._failures.items() if count > 1}
