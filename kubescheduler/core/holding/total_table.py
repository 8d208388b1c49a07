"""The scores of all rows and their weighted totals, of which single rows are changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.topology.row_groups import GroupedScores
from clusterstate.usage import wrap
from kubescheduler.core.holding.held_scores import LOWEST, NO_SHIFTS, TOTAL, HeldScores, ScoreLayout, Shifts
from kubescheduler.core.holding.levels import Levels, Move
from kubescheduler.core.holding.number_table import NumberTable, line
from kubescheduler.core.holding.whole_scores import WholeScores
from kubescheduler.core.score_table import Scores
from kubescheduler.core.selection import TieBreak
from priorities.types import PriorityConfig

if TYPE_CHECKING:
    from kubescheduler.core.holding.best_by_group import BestByGroup
    from kubescheduler.core.holding.best_rows import BestRows

MOST_OTHERS = 32
"""Rows that are put in one by one as a rule scores them otherwise than most."""
FARTHEST = 1 << 61
"""Totals up to which all of them may be shifted."""

MOST_WEIGHT = 1 << 40
"""Weight of a rule up to which its scores never bring a total near the end of 64 bits."""

Numbers = Sequence[tuple[str, int]]
"""(rule, its raw number) of one row."""

Reduce = Callable[[str, IntArray], IntArray]
"""Of (rule, (k,) distinct raw numbers) the (k,) scores that they come to."""


class Totalled(Protocol):
    """What a decision's rules gave; see Decision."""

    @property
    def totals(self) -> IntArray:
        """(n,) int64 of the rows that fit."""
        ...

    @property
    def scores(self) -> Mapping[str, Scores]:
        """By rule, before the weight."""
        ...

    @property
    def raws(self) -> Mapping[str, Scores]:
        """By rule, before normalisation; empty for releases that keep no raw scores."""
        ...


class TotalTable:
    """The numbers of one decision on all rows; ``put`` changes some of them, and leaves alone what was held before."""

    __slots__ = (
        "_addends",
        "_base",
        "_best",
        "_by_group",
        "_finals",
        "_has_lowest",
        "_is_near",
        "_layout",
        "_levels",
        "_normalised",
        "_ranks",
        "_raws",
        "_shifts",
        "_table",
        "_totals",
        "_weights",
        "moved_on",
    )

    def __init__(
        self,
        scored: Totalled,
        rules: Mapping[str, PriorityConfig],
        whole: Mapping[str, IntArray],
        moving: Container[str],
        weights: Mapping[str, int],
        fitted: IntArray,
        ranks: IntArray,
    ) -> None:
        """rules: by name, those that are not constant. whole: their raw numbers on all rows, (N,) each. moving: those
        of which single rows change, also where all have one score. fitted: (n,) the rows that were scored. ranks: (N,)
        every row's place in the order of names."""
        size = len(ranks)
        lines = [_spread(scored.totals, fitted, size, LOWEST)]
        finals: dict[str, int] = {}
        raws: dict[str, int] = {}
        for name, final in scored.scores.items():
            rule = rules.get(name)
            varies = name in moving or not isinstance(final, int)
            if varies:
                finals[name] = raws[name] = len(lines)
                lines.append(whole[name] if rule is not None and rule.reduce is None else _spread(final, fitted, size))
            reduced = rule is not None and rule.reduce is not None
            if reduced and (varies or not isinstance(scored.raws.get(name, 0), int)):
                raws[name] = len(lines)
                lines.append(whole[name])
        self.moved_on = ""
        """The rule of which ``put`` found that other rows score differently."""
        self._finals, self._raws = finals, raws
        self._normalised = [(name, rules[name].valuewise) for name in finals if raws[name] != finals[name]]
        self._levels: dict[str, Levels] = {}
        self._layout = ScoreLayout(
            tuple(scored.scores),
            finals,
            {name: at for name, at in raws.items() if name in scored.raws},
            raws,
            {name: final for name, final in scored.scores.items() if name not in finals and isinstance(final, int)},
            {name: raw for name, raw in scored.raws.items() if name not in raws and isinstance(raw, int)},
        )
        self._addends = [(at, weights[name]) for name, at in finals.items()]
        self._weights = weights
        self._shifts = NO_SHIFTS
        highest, lowest = int(scored.totals.max()), int(scored.totals.min())
        self._is_near = lowest > -FARTHEST and highest < FARTHEST
        self._has_lowest = lowest == LOWEST
        self._table = NumberTable(np.array(lines))
        self._totals: IntArray | None = None
        self._ranks = ranks
        self._best: BestRows | None = None
        self._by_group: BestByGroup | None = None
        numbers = self._table.row(int(fitted[0]))
        self._base = numbers[TOTAL] - sum(weight * numbers[at] for at, weight in self._addends)

    def held(self, feasible: IntArray, whole: WholeScores | None = None) -> HeldScores:
        """The numbers as they are now. feasible: (n,) the rows that fit. whole: of the rules that it does not have."""
        return HeldScores(self._table.blocks(), self._layout, feasible, self._shifts, whole)

    def totals(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        every = self._every_total()
        totals: IntArray = every.copy() if len(feasible) == len(every) else every[feasible]
        totals += self._shifts.total
        return totals

    def _every_total(self) -> IntArray:
        """(N,) the totals of the table, kept current from then on."""
        if self._totals is None:
            self._totals = line(self._table.blocks(), TOTAL)
        return self._totals

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        if self._best is None:
            from kubescheduler.core.holding.best_rows import BestRows

            self._best = BestRows(self._table, line(self._table.blocks(), TOTAL), self._ranks)
        return self._best.choose(tie_break)

    def choose_with(self, scores: GroupedScores, weight: int) -> int | None:
        """The first row by name of those with the highest total together with scores of another rule; None: it is not
        known without all of them."""
        if not (self._is_near and 0 <= weight <= MOST_WEIGHT):
            return None
        if self._by_group is None or self._by_group.groups is not scores.groups:
            from kubescheduler.core.holding.best_by_group import BestByGroup

            self._by_group = BestByGroup(scores.groups, self._every_total(), self._ranks)
        return self._by_group.choose(scores, weight)

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
        changed: set[int] = set()
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
                changed.add(self._table.put(row, found))
                if self._totals is not None:
                    self._totals[row] = found[TOTAL]
                if self._by_group is not None and not self._by_group.changed(row):
                    self._by_group = None
        if self._best is not None:
            for block in changed:
                self._best.changed(block)
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
            there = line(blocks, TOTAL) != LOWEST
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
        found = np.isin(line(blocks, raw), list(numbers)) & (line(blocks, TOTAL) != LOWEST)
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


def _spread(numbers: Scores, rows: IntArray, size: int, elsewhere: int = 0) -> IntArray:
    """(size,) int64: (n,) numbers of some rows, or the one that they all have, and another number elsewhere."""
    if len(rows) == size and not isinstance(numbers, int):
        return numbers
    out = np.full(size, elsewhere, np.int64)
    out[rows] = numbers
    return out
