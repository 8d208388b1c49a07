"""The scores of one decision, put together when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from clusterstate.objects import FrozenMap
from clusterstate.topology.row_groups import GroupedScores
from kubescheduler.core.holding.whole_scores import WholeScores, laid_out
from kubescheduler.core.score_table import Scores

TOTAL = 0
"""The index of the totals in a table of scores."""
LOWEST = -(1 << 63)
"""Stands for the total of a row that does not fit."""


class ScoreLayout(msgspec.Struct, frozen=True, eq=False):
    """Where a table of scores has the numbers of each rule: an index of the table, or one number for all rows."""

    names: tuple[str, ...]
    """The rules that score, in order."""
    finals: Mapping[str, int]
    """Rule → index of its scores before the weight; of those that have no one number."""
    raws: Mapping[str, int]
    """Likewise of its scores before they were normalised."""
    numbers: Mapping[str, int]
    """Rule → index of its numbers before normalisation, also where a release keeps no such scores; of its scores where
    there is no normalisation."""
    constant_finals: Mapping[str, int]
    """Rule → the one score that all rows have."""
    constant_raws: Mapping[str, int]
    """Likewise before normalisation; empty, as are ``raws``, where a release keeps no such scores."""


class Shifts(msgspec.Struct, frozen=True, eq=False):
    """What has changed for most rows since a table of scores was made, and was not put in row by row."""

    total: int = 0
    """By how much all totals are higher than those of the table."""
    finals: Mapping[str, Mapping[int, int]] = FrozenMap()
    """Rule → number before normalisation → score before the weight, instead of the scores of the table."""


NO_SHIFTS = Shifts()


class HeldScores:
    """What a table of scores said when a decision was made."""

    __slots__ = ("_feasible", "_layout", "_line_of", "_raws", "_scores", "_shifts", "_totals", "whole")

    def __init__(
        self,
        line_of: Callable[[int], IntArray],
        layout: ScoreLayout,
        feasible: IntArray,
        shifts: Shifts = NO_SHIFTS,
        whole: WholeScores | None = None,
    ) -> None:
        """line_of: of an index of the table, (N,) what stood there then. feasible: (n,) the rows that fit."""
        self._line_of = line_of
        self._shifts = shifts
        self._layout = layout
        self._feasible = feasible
        self.whole = whole
        """The rules that were scored anew, which the table does not have; None: there are none."""
        self._totals: IntArray | None = None
        self._scores: dict[str, Scores] | None = None
        self._raws: dict[str, Scores] | None = None

    @property
    def totals(self) -> IntArray:
        """(n,) int64: see Decision."""
        if self._totals is None:
            self.keep_totals(self._line(TOTAL) + self._shifts.total)
        assert self._totals is not None
        return self._totals

    def keep_totals(self, totals: IntArray) -> None:
        """Notes all totals. totals: (n,) those of the table, which is written to."""
        self._totals = totals if self.whole is None else self.whole.add_to(totals, self._feasible)

    @property
    def scores(self) -> Mapping[str, Scores]:
        """See Decision."""
        if self._scores is None:
            self._scores = self._by_rule(
                self._layout.finals, self._layout.constant_finals, None if self.whole is None else self.whole.finals
            )
        return self._scores

    @property
    def raws(self) -> Mapping[str, Scores]:
        """See Decision."""
        if self._raws is None:
            self._raws = self._by_rule(
                self._layout.raws, self._layout.constant_raws, None if self.whole is None else self.whole.raws
            )
        return self._raws

    def _by_rule(
        self,
        lines: Mapping[str, int],
        constants: Mapping[str, int],
        whole: Mapping[str, Scores | GroupedScores] | None,
    ) -> dict[str, Scores]:
        shifted = self._shifts.finals if lines is self._layout.finals else {}
        found: dict[str, Scores] = {
            name: self._finals(shifted[name], name) if name in shifted else self._line(at) for name, at in lines.items()
        }
        found.update(constants)
        found.update({name: laid_out(scores, self._feasible) for name, scores in (whole or {}).items()})
        names = self._layout.names if self.whole is None else self.whole.names
        return {name: found[name] for name in names if name in found}

    def _finals(self, by_number: Mapping[int, int], name: str) -> IntArray:
        """(n,) the scores of a rule by its numbers before normalisation."""
        numbers, values = self._line(self._layout.numbers[name]), np.array(sorted(by_number), np.int64)
        finals = np.array([by_number[value] for value in values.tolist()], np.int64)
        found: IntArray = finals[values.searchsorted(numbers)]
        return found

    def _line(self, index: int) -> IntArray:
        numbers: IntArray = self._line_of(index)[self._feasible]
        return numbers
