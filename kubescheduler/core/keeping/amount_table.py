"""The totals of all rows where everything that changes with pods follows from the amounts on the row itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt

import numpy as np

from clusterstate.counting.amount_codes import UNSEEN, AmountCodes
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.topology.row_groups import GroupedScores
from clusterstate.usage import wrap
from kubescheduler.core.holding.best_totals import BestTotals
from kubescheduler.core.holding.held_scores import LOWEST, TOTAL, HeldScores
from kubescheduler.core.holding.late_verdicts import LateVerdicts, Moves, Named
from kubescheduler.core.holding.score_lines import ScoreLines
from kubescheduler.core.holding.whole_scores import WholeScores
from kubescheduler.core.keeping.amount_answers import FARTHEST, REFUSED, AmountAnswers
from kubescheduler.core.selection import TieBreak

FITS_ABOVE = -(1 << 60)
"""Totals of rows that fit are higher."""
LEAST_MOVES = 64
"""So many changes at least are remembered one by one, for decisions that are read late."""


class AmountTable:
    """The numbers of one decision on all rows, brought up to date by ``put``; what was held before is left alone."""

    __slots__ = (
        "_answers",
        "_any_refused",
        "_best",
        "_by_amounts",
        "_codes",
        "_layout",
        "_lines",
        "_most_moves",
        "_moved",
        "_moves",
        "_moving",
        "_position",
        "_refused",
        "_static",
        "_verdicts",
        "refuses",
    )

    def __init__(
        self,
        lines: ScoreLines,
        moving: Sequence[str],
        static: IntArray,
        verdicts: Sequence[Named],
        by_amounts: Sequence[int],
        answers: AmountAnswers,
        position: int,
        ranks: IntArray,
    ) -> None:
        """lines, verdicts: as of a position of the codes. moving: the rules that follow from amounts, in the order of
        ``answers``. static: see ``static_totals``. by_amounts: which of the verdicts follow from amounts."""
        self._static = static
        self._answers = answers
        self._position = position
        self._layout = lines.layout
        self._moving = {lines.layout.finals[name]: at for at, name in enumerate(moving)}
        self._lines = lines.numbers
        self._verdicts = verdicts
        self._by_amounts = by_amounts
        self._codes: IntArray = np.full(len(ranks), UNSEEN, np.int64)
        self._moves: list[tuple[IntArray, IntArray]] = []
        self._moved = 0
        self._most_moves = max(LEAST_MOVES, isqrt(len(ranks)))
        self._any_refused = False
        self._refused: Mask = np.zeros(len(ranks), np.bool_)
        for at in by_amounts:
            for mask in verdicts[at][1].values():
                self._refused |= mask
        self._best = BestTotals(lines.numbers[TOTAL].copy(), ranks)
        self.refuses = False
        """Whether rules that follow from amounts refuse a row that the last ``put`` has changed, or did before."""

    def is_of(self, codes: AmountCodes) -> bool:
        """Whether it can be brought up to date."""
        return codes.since(self._position) is not None

    def put(self, codes: AmountCodes, pod: PodInfo, snapshot: Snapshot) -> IntArray | None:
        """Brings it up to date; (k,) the rows that have changed, some perhaps more than once. None: it cannot be.
        Raises as rules do."""
        rows = codes.since(self._position)
        if rows is None:
            return None
        self.refuses = False
        if len(rows) < 2 and (not len(rows) or self._put_one(rows, codes)):
            return rows
        now = codes.codes[rows]
        moved = (now != self._codes[rows]).nonzero()[0]
        if len(moved) < len(rows):
            if not len(moved):
                self._position = codes.position
                return NO_NUMBERS
            rows, now = rows[moved], now[moved]
        found = self._answers.of(now, rows, codes.count, pod, snapshot)
        if found is None:
            return None
        self._position = codes.position
        self.refuses = self._note_refused(rows, found)
        self._codes[rows] = now
        totals = found + self._static[rows]
        totals[totals < FITS_ABOVE] = LOWEST
        self._best.totals[rows] = totals
        self._best.changed(rows.tolist())
        self._note(rows, now)
        return rows

    def _put_one(self, rows: IntArray, codes: AmountCodes) -> bool:
        """The same of a single row, as single numbers, in (1,); whether it is known, and not refused."""
        row = rows.item()
        code = codes.codes.item(row)
        total = self._answers.known(code)
        if total <= REFUSED or self._refused.item(row):
            return False
        self._position = codes.position
        self._codes[row] = code
        total += self._static.item(row)
        self._best.totals[row] = total if total > FITS_ABOVE else LOWEST
        self._best.changed((row,))
        self._note(rows, codes.codes[rows])
        return True

    def _note(self, rows: IntArray, now: IntArray) -> None:
        """Notes a change for what is read late; what was noted is put in where it comes to many."""
        self._moved += len(rows)
        if len(self._moves) >= self._most_moves or self._moved > len(self._codes):
            then = self._then()
            self._lines = [then.line(at) for at in range(len(self._lines))]
            if self._any_refused:
                self._verdicts = self.verdicts().named()
                self._any_refused = self.refuses
            self._moves, self._moved = [], len(rows)
        self._moves.append((rows, now))

    def _note_refused(self, rows: IntArray, found: IntArray) -> bool:
        """Whether any of the rows is refused by what follows from amounts, or was before."""
        refused = REFUSED in found
        if not refused and not self._refused[rows].any():
            return False
        self._refused[rows] = found == REFUSED
        self._any_refused = True
        return True

    def fit(self, rows: IntArray) -> Mask:
        """(k,) whether no check refuses each of some rows."""
        fit: Mask = self._best.totals[rows] != LOWEST
        return fit

    def verdicts(self) -> LateVerdicts:
        """What the checks say now."""
        return LateVerdicts(self._verdicts, self._by_amounts, self._answers.refusals, self._moves)

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        return self._best.choose(tie_break)

    def choose_with(self, scores: GroupedScores, weight: int) -> int | None:
        """See ``BestTotals``."""
        return self._best.choose_with(scores, weight)

    def totals(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        return self._best.of(feasible)

    def held(self, feasible: IntArray, whole: WholeScores | None = None) -> HeldScores:
        """The numbers as they are now. feasible: (n,) the rows that fit. whole: of the rules that it does not have."""
        return HeldScores(self._then().line, self._layout, feasible, whole=whole)

    def _then(self) -> _Then:
        return _Then(self._lines, self._moves, self._moving, self._static, self._answers)


class _Then:
    """What an ``AmountTable`` holds at some time."""

    __slots__ = ("_answers", "_found", "_lines", "_moves", "_moving", "_static", "_until")

    def __init__(
        self,
        lines: Sequence[IntArray],
        moves: Moves,
        moving: Mapping[int, int],
        static: IntArray,
        answers: AmountAnswers,
    ) -> None:
        """moves: since the lines were as given; later ones may be appended."""
        self._lines = lines
        self._moves = moves
        self._moving = moving
        self._static = static
        self._answers = answers
        self._until = len(moves)
        self._found: tuple[IntArray, IntArray] | None = None

    def line(self, at: int) -> IntArray:
        """(N,) one of the numbers of all rows."""
        which = self._moving.get(at)
        if (which is None and at != TOTAL) or not self._until:
            return self._lines[at]
        if self._found is None:
            rows, codes = map(np.concatenate, zip(*self._moves[: self._until], strict=True))
            self._found = rows, codes
        rows, codes = self._found
        changed = self._lines[at].copy()
        if which is None:
            changed[rows] = self._answers.totals[codes] + self._static[rows]
        else:
            changed[rows] = self._answers.numbers[which, codes]
        return changed


def static_totals(lines: ScoreLines, moving: Sequence[str], fits: Mask) -> IntArray | None:
    """(N,) what the totals are without the rules that follow from amounts; ``REFUSED`` where no amounts would make a
    row fit. None: one is too far from 0, or which rows fit is not known from totals. fits: (N,) the other rows."""
    if (lines.numbers[TOTAL][lines.fitted] == LOWEST).any():
        return None
    moves = {lines.layout.finals[name] for name in moving}
    base = wrap(lines.base)
    steady = [(lines.numbers[at], weight) for at, weight in lines.addends if at not in moves]
    if abs(base) + sum([abs(weight) * _farthest(line) for line, weight in steady]) >= FARTHEST:
        return None
    static = np.full(len(fits), base, np.int64)
    for line, weight in steady:
        static += np.int64(weight) * line
    static[~fits] = REFUSED
    return static


def _farthest(numbers: IntArray) -> int:
    """How far from 0 one of them is."""
    return max(int(numbers.max()), -int(numbers.min()))
