"""The scores of all rows and their weighted totals, of which single rows are changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.topology.row_groups import GroupedScores
from clusterstate.usage import wrap
from kubescheduler.core.holding.best_totals import BestTotals
from kubescheduler.core.holding.held_scores import LOWEST, NO_SHIFTS, TOTAL, HeldScores, Shifts
from kubescheduler.core.holding.levels import Levels, Move
from kubescheduler.core.holding.number_table import NumberTable, line
from kubescheduler.core.holding.score_lines import ScoreLines
from kubescheduler.core.holding.whole_scores import WholeScores
from kubescheduler.core.selection import TieBreak

MOST_OTHERS = 32
"""Rows that are put in one by one as a rule scores them otherwise than most."""
FARTHEST = 1 << 61
"""Totals up to which all of them may be shifted."""

Numbers = Sequence[tuple[str, int]]
"""(rule, its raw number) of one row."""

Reduce = Callable[[str, IntArray], IntArray]
"""Of (rule, (k,) distinct raw numbers) the (k,) scores that they come to."""


class TotalTable:
    """The numbers of one decision on all rows; ``put`` changes some of them, and leaves alone what was held before."""

    __slots__ = (
        "_addends",
        "_base",
        "_best",
        "_finals",
        "_has_lowest",
        "_is_near",
        "_layout",
        "_levels",
        "_normalised",
        "_raws",
        "_shifts",
        "_table",
        "_weights",
        "moved_on",
    )

    def __init__(self, lines: ScoreLines, ranks: IntArray) -> None:
        """ranks: (N,) every row's place in the order of names."""
        self.moved_on = ""
        """The rule of which ``put`` found that other rows score differently."""
        self._finals, self._raws = lines.layout.finals, lines.layout.numbers
        self._normalised = lines.normalised
        self._levels: dict[str, Levels] = {}
        self._layout = lines.layout
        self._addends, self._weights = lines.addends, lines.weights
        self._shifts = NO_SHIFTS
        totals = lines.numbers[TOTAL]
        highest, lowest = int(totals[lines.fitted].max()), int(totals[lines.fitted].min())
        self._is_near = lowest > -FARTHEST and highest < FARTHEST
        self._has_lowest = lowest == LOWEST
        self._table = NumberTable(np.array(lines.numbers))
        self._best = BestTotals(totals.copy(), ranks)
        self._base = lines.base

    def held(self, feasible: IntArray, whole: WholeScores | None = None) -> HeldScores:
        """The numbers as they are now. feasible: (n,) the rows that fit. whole: of the rules that it does not have."""
        return HeldScores(partial(line, self._table.blocks()), self._layout, feasible, self._shifts, whole)

    def totals(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        totals = self._best.of(feasible)
        totals += self._shifts.total
        return totals

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        return self._best.choose(tie_break)

    def choose_with(self, scores: GroupedScores, weight: int) -> int | None:
        """See ``BestTotals``."""
        return self._best.choose_with(scores, weight) if self._is_near else None

    def set_raw(self, name: str, number: int) -> None:
        """The raw number that a rule gives every row, where it gives them all one."""
        if name in self._layout.constant_raws:
            constants = {**self._layout.constant_raws, name: number}
            self._layout = msgspec.structs.replace(self._layout, constant_raws=constants)

    def put(self, changes: Mapping[int, Numbers], fits: Mask, reduce: Reduce) -> bool:
        """Sets the numbers of some rows, which may have come to fit or no longer do. False: many rows that are not
        among them score differently now, and the table is of no more use.

        fits: (N,) bool, the rows that fit now.
        """
        self.moved_on = ""
        if self._has_lowest:  # which rows fitted is not known from totals
            return False
        before = {row: self._table.row(row) for row in changes}
        after = {row: numbers.copy() for row, numbers in before.items()}
        for row, numbers in changes.items():
            for name, number in numbers:
                after[row][self._raws[name]] = number
        for name, valuewise in self._normalised:
            moves = self._moves(self._raws[name], before, after, fits)
            if moves and not (valuewise and self._normalise(name, moves, before, after, fits, reduce)):
                self.moved_on = name
                return False
        return self._put_totals(before, after, fits)

    def _put_totals(self, before: Mapping[int, list[int]], after: Mapping[int, list[int]], fits: Mask) -> bool:
        """Works out the totals of rows and puts them in. False: one is too large to be told from a row that does not
        fit."""
        changed: list[int] = []
        levels = [(self._raws[name], self._finals[name], found) for name, found in self._levels.items()]
        shift = self._shifts.total
        for row, found in after.items():
            found[TOTAL] = LOWEST
            if fits[row]:
                for raw, final, of_rule in levels:
                    found[final] = of_rule.final(found[raw])
                found[TOTAL] = wrap(self._base + sum([weight * found[at] for at, weight in self._addends])) - shift
                self._is_near = self._is_near and abs(found[TOTAL]) < FARTHEST
                if found[TOTAL] == LOWEST or (shift and not self._is_near):
                    return False
            if found != before[row]:
                self._table.put(row, found)
                self._best.totals[row] = found[TOTAL]
                changed.append(row)
        self._best.changed(changed)
        return True

    def _moves(
        self, raw: int, before: Mapping[int, list[int]], after: Mapping[int, list[int]], fits: Mask
    ) -> list[Move]:
        """How the raw numbers of rows that fit or fitted have changed."""
        moves: list[Move] = []
        for row, was in before.items():
            fitted, fit, now = was[TOTAL] != LOWEST, bool(fits[row]), after[row]
            if fitted is not fit or (fit and was[raw] != now[raw]):
                moves.append((was[raw] if fitted else None, now[raw] if fit else None))
        return moves

    def _normalise(
        self,
        name: str,
        moves: Sequence[Move],
        before: dict[int, list[int]],
        after: dict[int, list[int]],
        fits: Mask,
        reduce: Reduce,
    ) -> bool:
        """Brings a rule's scores up to date; whether all rows but few score as much more as each other. Those that do
        not are added to ``before`` and ``after``."""
        levels = self._levels.get(name)
        if levels is None:
            blocks = self._table.blocks()
            there = self._best.totals != LOWEST
            numbers, finals = line(blocks, self._raws[name])[there], line(blocks, self._finals[name])[there]
            levels = self._levels[name] = Levels(numbers, finals)
        more = levels.change(moves, partial(reduce, name))
        if more is None:
            return False
        if more:
            most = max(more, key=levels.rows_with)
            here = Counter([numbers[self._raws[name]] for row, numbers in after.items() if fits[row]])
            others = [value for value, by in more.items() if by != more[most] and levels.rows_with(value) > here[value]]
            if others and not self._add_rows(self._raws[name], others, before, after):
                return False
        if more or name in self._shifts.finals:
            self._shift(name, levels, more[most] if more else 0)
        return self._is_near or not self._shifts.total

    def _add_rows(
        self, raw: int, numbers: Collection[int], before: dict[int, list[int]], after: dict[int, list[int]]
    ) -> bool:
        """Adds the rows that have one of some raw numbers; whether they are few."""
        blocks = self._table.blocks()
        found = np.isin(line(blocks, raw), list(numbers)) & (self._best.totals != LOWEST)
        rows = [row for row in found.nonzero()[0].tolist() if row not in before]
        if len(rows) > MOST_OTHERS:
            return False
        for row in rows:
            before[row] = self._table.row(row)
            after[row] = before[row].copy()
        return True

    def _shift(self, name: str, levels: Levels, by: int) -> None:
        """Notes that a rule scores most rows by so much more."""
        total = self._shifts.total + self._weights[name] * by
        self._shifts = Shifts(total, {**self._shifts.finals, name: levels.by_number()})
        self._is_near = self._is_near and abs(total) < FARTHEST
