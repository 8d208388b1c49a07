"""The scores of all rows and their weighted totals, of which single rows are changed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.usage import wrap
from kubescheduler.core.holding.best_rows import LOWEST, BestRows
from kubescheduler.core.holding.held_scores import TOTAL, HeldScores, ScoreLayout
from kubescheduler.core.holding.levels import Levels, Move
from kubescheduler.core.holding.number_table import NumberTable, line
from kubescheduler.core.holding.whole_scores import WholeScores
from kubescheduler.core.score_table import Scores
from kubescheduler.core.selection import TieBreak
from priorities.types import PriorityConfig

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
        "_finals",
        "_layout",
        "_levels",
        "_normalised",
        "_raws",
        "_table",
        "_totals",
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
            {name: final for name, final in scored.scores.items() if name not in finals and isinstance(final, int)},
            {name: raw for name, raw in scored.raws.items() if name not in raws and isinstance(raw, int)},
        )
        self._addends = [(at, weights[name]) for name, at in finals.items()]
        self._table = NumberTable(np.array(lines))
        self._totals: IntArray | None = None
        self._best = BestRows(self._table, lines[TOTAL], ranks)
        numbers = self._table.row(int(fitted[0]))
        self._base = numbers[TOTAL] - sum(weight * numbers[at] for at, weight in self._addends)

    def held(self, feasible: IntArray, whole: WholeScores | None = None) -> HeldScores:
        """The numbers as they are now. feasible: (n,) the rows that fit. whole: of the rules that it does not have."""
        return HeldScores(self._table.blocks(), self._layout, feasible, whole)

    def totals(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        if self._totals is None:
            self._totals = line(self._table.blocks(), TOTAL)
        totals: IntArray = self._totals.copy() if len(feasible) == len(self._totals) else self._totals[feasible]
        return totals

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        return self._best.choose(tie_break)

    def set_raw(self, name: str, number: int) -> None:
        """The raw number that a rule gives every row, where it gives them all one."""
        if name in self._layout.constant_raws:
            constants = {**self._layout.constant_raws, name: number}
            self._layout = msgspec.structs.replace(self._layout, constant_raws=constants)

    def put(self, changes: Mapping[int, Numbers], fits: Mask, reduce: Reduce) -> bool:
        """Sets the numbers of some rows, which may have come to fit or no longer do. False: rows that are not among
        them score differently now, and the table is of no more use.

        fits: (N,) bool, the rows that fit now.
        """
        self.moved_on = ""
        before = {row: self._table.row(row) for row in changes}
        after = {row: numbers.copy() for row, numbers in before.items()}
        for row, numbers in changes.items():
            for name, number in numbers:
                after[row][self._raws[name]] = number
        for name, valuewise in self._normalised:
            moves, moved = self._moves(self._raws[name], before, after, fits)
            if moves and not (valuewise and self._normalise(name, moves, moved, reduce)):
                self.moved_on = name
                return False
        changed: set[int] = set()
        for row, found in after.items():
            found[TOTAL] = LOWEST
            if fits[row]:
                found[TOTAL] = wrap(self._base + sum([weight * found[at] for at, weight in self._addends]))
                if found[TOTAL] == LOWEST:
                    return False
            if found != before[row]:
                changed.add(self._table.put(row, found))
                if self._totals is not None:
                    self._totals[row] = found[TOTAL]
        for block in changed:
            self._best.changed(block)
        return True

    def _moves(
        self, raw: int, before: Mapping[int, list[int]], after: Mapping[int, list[int]], fits: Mask
    ) -> tuple[list[Move], list[list[int]]]:
        """How the raw numbers of rows that fit or fitted have changed, and the rows among them that fit now."""
        moves: list[Move] = []
        moved: list[list[int]] = []
        for row, was in before.items():
            fitted, fit, now = was[TOTAL] != LOWEST, bool(fits[row]), after[row]
            if fitted is not fit or (fit and was[raw] != now[raw]):
                moves.append((was[raw] if fitted else None, now[raw] if fit else None))
                if fit:
                    moved.append(now)
        return moves, moved

    def _normalise(self, name: str, moves: Sequence[Move], moved: Iterable[list[int]], reduce: Reduce) -> bool:
        """Brings a rule's scores of the rows that moved up to date; whether those of all others stay."""
        raw, final = self._raws[name], self._finals[name]
        levels = self._levels.get(name)
        if levels is None:
            blocks = self._table.blocks()
            there = line(blocks, TOTAL) != LOWEST
            levels = self._levels[name] = Levels(line(blocks, raw)[there], line(blocks, final)[there])
        if not levels.change(moves, partial(reduce, name)):
            return False
        for now in moved:
            now[final] = levels.final(now[raw])
        return True


def _spread(numbers: Scores, rows: IntArray, size: int, elsewhere: int = 0) -> IntArray:
    """(size,) int64: (n,) numbers of some rows, or the one that they all have, and another number elsewhere."""
    if len(rows) == size and not isinstance(numbers, int):
        return numbers
    out = np.full(size, elsewhere, np.int64)
    out[rows] = numbers
    return out
