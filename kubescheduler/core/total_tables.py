"""The numbers of all rows and what they total, for pod classes that have them in common, and what of it a decision had.

``TotalTable`` is changed in place. A decision that was made by it has ``LazyScores``: what the table said then, put
together when somebody reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from math import isqrt

import msgspec
import numpy as np

from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.usage import wrap
from kubescheduler.core.filter_and_score import Scored, Scores, weighted_sum
from kubescheduler.core.selection import FirstByName, TieBreak
from priorities.types import PriorityConfig

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


def scored_without(scored: Scored, names: Collection[str], weights: Mapping[str, int]) -> Scored:
    """What was scored without some of the rules. weights: of these."""
    if not names:
        return scored
    totals = scored.totals
    for name in names:
        final, weight = scored.scores[name], weights[name]
        totals = totals - (np.int64(wrap(weight * final)) if isinstance(final, int) else np.int64(weight) * final)
    scores = {name: final for name, final in scored.scores.items() if name not in names}
    return Scored(totals, scores, {name: raw for name, raw in scored.raws.items() if name not in names})


def without_numbers(scored: Scored) -> Scored:
    """The rules in order, with the one score that all rows have, or no numbers."""

    def shared(scores: Mapping[str, Scores]) -> dict[str, Scores]:
        return {name: score if isinstance(score, int) else NO_NUMBERS for name, score in scores.items()}

    return Scored(NO_NUMBERS, shared(scored.scores), shared(scored.raws))


class ScoreLines(msgspec.Struct, frozen=True, eq=False):
    """One line for each number that differs from row to row, or may come to."""

    numbers: list[IntArray]
    """(N,) each; not to be written to."""
    layout: ScoreLayout
    """Which line is which."""
    normalised: list[str]
    """The rules of which lines are normalised: what one row has follows from all."""
    addends: list[tuple[int, int]]
    """(line, weight) of every rule that adds one to the totals."""
    weights: Mapping[str, int]
    """Of every rule."""
    base: int
    """What all other rules add to every total, modulo 2^64."""
    fitted: IntArray
    """(n,) the rows that were scored; the total of others is LOWEST."""


def score_lines(
    scored: Scored,
    rules: Mapping[str, PriorityConfig],
    whole: Mapping[str, IntArray],
    moving: Container[str],
    weights: Mapping[str, int],
    fitted: IntArray,
    size: int,
) -> ScoreLines:
    """The lines of what was scored, on so many rows that there are.

    rules: by name, those that are not constant. whole: their raw numbers on all rows, (N,) each. moving: those of which
    single rows change, also where all have one score. weights: of every rule. fitted: (n,) the rows that were scored.
    """
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
    layout = ScoreLayout(
        tuple(scored.scores),
        finals,
        {name: at for name, at in raws.items() if name in scored.raws},
        raws,
        {name: final for name, final in scored.scores.items() if name not in finals and isinstance(final, int)},
        {name: raw for name, raw in scored.raws.items() if name not in raws and isinstance(raw, int)},
    )
    addends = [(at, weights[name]) for name, at in finals.items()]
    first = int(fitted[0])
    base = lines[TOTAL].item(first) - sum(weight * lines[at].item(first) for at, weight in addends)
    normalised = [name for name in finals if raws[name] != finals[name]]
    return ScoreLines(lines, layout, normalised, addends, weights, base, fitted)


def _spread(numbers: Scores, rows: IntArray, size: int, elsewhere: int = 0) -> IntArray:
    """(size,) int64: (n,) numbers of some rows, or the one that they all have, and another number elsewhere."""
    if len(rows) == size and not isinstance(numbers, int):
        return numbers
    out = np.full(size, elsewhere, np.int64)
    out[rows] = numbers
    return out


# --- what a decision had -------------------------------------------------------------------------


class WholeScores(msgspec.Struct, frozen=True, eq=False):
    """Of one decision, over the rows that fit."""

    names: tuple[str, ...]
    """All rules that score, in order, those that are not scored anew included."""
    finals: Mapping[str, Scores]
    """Rule → its scores before the weight, of those that are scored anew."""
    raws: Mapping[str, Scores]
    """Likewise before they were normalised; empty where a release keeps no such scores."""
    weights: Mapping[str, int]
    """Of every rule."""


Change = tuple[IntArray, IntArray]
"""((k,) rows, (L, k) the numbers that they have from then on)."""


def as_changed(line: IntArray, at: int, journal: Sequence[Change], count: int) -> IntArray:
    """(N,) one of the lines, as it was after so many changes of the journal."""
    if not count:
        return line
    line = line.copy()
    for rows, numbers in journal[:count]:  # in turn: which of two numbers for one row counts, NumPy does not promise
        line[rows] = numbers[at]
    return line


class LazyScores:
    """What a table of scores said when a decision was made."""

    __slots__ = ("_feasible", "_journal", "_layout", "_lines", "_raws", "_scores", "_totals", "whole")

    def __init__(
        self,
        lines: Sequence[IntArray] | IntArray,
        journal: Sequence[Change],
        layout: ScoreLayout,
        feasible: IntArray,
        whole: WholeScores | None = None,
    ) -> None:
        """lines: (N,) each, as they were before. journal: what has changed since; later changes may be appended.
        feasible: (n,) the rows that fit."""
        self._lines = lines
        self._journal = journal, len(journal)
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
        return self.keep_totals(self._line(TOTAL)) if self._totals is None else self._totals

    def keep_totals(self, totals: IntArray) -> IntArray:
        """Notes all totals, and returns them. totals: (n,) those of the table, which is written to."""
        whole = self.whole
        if whole is not None:
            totals += weighted_sum(
                ((scores, whole.weights[name]) for name, scores in whole.finals.items()), len(totals)
            )
        self._totals = totals
        return totals

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
        whole: Mapping[str, Scores] | None,
    ) -> dict[str, Scores]:
        by_name: dict[str, Scores] = {name: self._line(at) for name, at in lines.items()}
        by_name.update(constants)
        by_name.update(whole or {})
        names = self._layout.names if self.whole is None else self.whole.names
        return {name: by_name[name] for name in names if name in by_name}

    def _line(self, at: int) -> IntArray:
        """(n,) of the rows that fit."""
        numbers: IntArray = as_changed(self._lines[at], at, *self._journal)[self._feasible]
        return numbers


# --- the table ---------------------------------------------------------------------------------

LEAST_CHANGES = 64
"""So many changes at least are noted one by one, for decisions that are read late."""


class TotalTable:
    """The numbers of one decision on all rows, of which a few change at a time, and the best of the totals.

    ``put`` sets the numbers of some rows, as long as those of normalised scores stay the same. Whoever was
    given earlier ones keeps them: changes are noted in a journal, from which they are put together when somebody reads
    them.
    """

    def __init__(self, lines: ScoreLines, ranks: IntArray) -> None:
        """ranks: (N,) every row's place in the order of names."""
        self._layout = lines.layout
        self._lines: Sequence[IntArray] | IntArray = lines.numbers
        self._journal: list[Change] = []
        self._moved = 0
        self._most_changes = max(LEAST_CHANGES, isqrt(len(ranks)))
        self._now = np.array(lines.numbers)
        self._raws = lines.layout.numbers
        self._normalised = lines.normalised
        self._addends, self._base = np.zeros(len(lines.numbers), np.int64), np.int64(wrap(lines.base))
        for at, weight in lines.addends:
            self._addends[at] = weight
        self._has_lowest = bool((self._now[TOTAL, lines.fitted] == LOWEST).any())
        self._ranks = ranks
        # In the order of names, the first of the highest is the one. A row that is no node's any more has rank -1.
        self._rows_by_name = np.empty(len(ranks) + 1, np.int64)
        self._rows_by_name[ranks] = np.arange(len(ranks))
        self._by_name = np.full(len(ranks) + 1, LOWEST)
        self._by_name[ranks] = self._now[TOTAL]
        self.moved_on = ""
        """The rule of which ``put`` found that other rows may score differently."""

    def held(self, feasible: IntArray, whole: WholeScores | None = None) -> LazyScores:
        """The numbers as they are now. feasible: (n,) the rows that fit. whole: of the rules that it does not have."""
        return LazyScores(self._lines, self._journal, self._layout, feasible, whole)

    def totals(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        totals: IntArray = self._now[TOTAL]
        return totals.copy() if len(feasible) == len(totals) else totals[feasible]

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        if type(tie_break) is FirstByName:
            return self._rows_by_name.item(int(self._by_name.argmax()))
        totals = self._now[TOTAL]
        return tie_break.choose((totals == totals.max()).nonzero()[0], self._ranks)

    def set_raw(self, name: str, number: int) -> None:
        """The raw number that a rule gives every row, where it gives them all one."""
        if name in self._layout.constant_raws:
            constants = {**self._layout.constant_raws, name: number}
            self._layout = msgspec.structs.replace(self._layout, constant_raws=constants)

    def numbers(self, name: str, rows: IntArray) -> IntArray:
        """(k,) the raw numbers of a rule on some rows; a copy."""
        numbers: IntArray = self._now[self._raws[name], rows]
        return numbers

    def put(self, rows: IntArray, numbers: Mapping[str, IntArray], fits: Mask) -> bool:
        """Sets the raw numbers of some rows, which may have come to fit or no longer do. False: rows that are not among
        them may score differently now, and the table is of no more use.

        rows: (k,) each once. numbers: by rule, (k,); of other rules they stay. fits: (N,) bool, the rows that fit now.
        """
        self.moved_on = ""
        if self._has_lowest:  # which rows fitted is not known from totals
            return False
        if not len(rows):
            return True
        at = rows if len(rows) > 1 else slice(int(rows[0]), int(rows[0]) + 1)  # mostly one, which takes half as long
        before = self._now[:, at]
        after = before.copy()
        for name, given in numbers.items():
            after[self._raws[name]] = given
        fitted, fit = before[TOTAL] != LOWEST, fits[at]
        for name in self._normalised:
            was, now = before[self._raws[name]], after[self._raws[name]]
            if ((fitted != fit) | (fit & (was != now))).any():
                self.moved_on = name
                return False
        totals = self._addends @ after + self._base
        if (fit & (totals == LOWEST)).any():
            return False
        totals[~fit] = LOWEST
        after[TOTAL] = totals
        self._note(rows, after)
        self._now[:, at] = after
        self._by_name[self._ranks[at]] = totals
        return True

    def _note(self, rows: IntArray, numbers: IntArray) -> None:
        """Notes that rows, (k,), will have other numbers, (L, k). Where it comes to many, the journal begins with the
        numbers of now."""
        self._moved += len(rows)
        if len(self._journal) >= self._most_changes or self._moved > len(self._ranks):
            self._lines = self._now.copy()
            self._journal, self._moved = [], len(rows)
        self._journal.append((rows, numbers))
