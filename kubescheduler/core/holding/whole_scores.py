"""The scores of rules that are scored anew for every decision, on top of what all other rules come to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from clusterstate.topology.row_groups import GroupedScores
from clusterstate.usage import wrap
from kubescheduler.core.score_table import Scores


class WholeScores(msgspec.Struct, frozen=True, eq=False):
    """Of one decision, over the rows that fit."""

    names: tuple[str, ...]
    """All rules that score, in order, those that are not scored anew included."""
    finals: Mapping[str, Scores | GroupedScores]
    """Rule → its scores before the weight, of those that are scored anew."""
    raws: Mapping[str, Scores | GroupedScores]
    """Likewise before they were normalised; empty where a release keeps no such scores."""
    weights: Mapping[str, int]
    """Of every rule."""

    @property
    def grouped(self) -> tuple[GroupedScores, int] | None:
        """(the scores, the weight) of the one rule that is scored anew, where rows are alike but for few."""
        if len(self.finals) > 1:
            return None
        [(name, scores)] = self.finals.items()
        return (scores, self.weights[name]) if isinstance(scores, GroupedScores) else None

    def add_to(self, totals: IntArray, feasible: IntArray) -> IntArray:
        """(n,) the weighted sums of all rules. totals: (n,) of the others, which is written to. feasible: (n,) the
        rows that fit."""
        constant = 0
        for name, given in self.finals.items():
            scores, weight = laid_out(given, feasible), self.weights[name]
            if isinstance(scores, int):
                constant += weight * scores
            else:
                totals += scores if weight == 1 else np.int64(weight) * scores
        if constant:
            totals += np.int64(wrap(constant))
        return totals


def laid_out(scores: Scores | GroupedScores, feasible: IntArray) -> Scores:
    """The scores of the rows that fit, or the one that all of them have."""
    return scores.of_rows(feasible) if isinstance(scores, GroupedScores) else scores


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
