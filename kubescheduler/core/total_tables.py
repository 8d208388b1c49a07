"""The numbers of all rows and what they total, for pods of one class: by row, or by the amounts on rows."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from math import isqrt

import msgspec
import numpy as np

from clusterstate.counting.row_amounts import UNSEEN, AmountCodes
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.answers import CheckState, RowVerdict, ScoreState, row_verdicts
from kubescheduler.core.lazy_results import LOWEST, TOTAL, LazyScores, ScoreLayout, Scores, WholeScores
from kubescheduler.core.scoring import Scored
from kubescheduler.core.selection import FirstByName, TieBreak
from priorities.types import PriorityConfig


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
    normalised: list[tuple[str, bool]]
    """The rules of which lines are normalised, and whether distinct numbers alone decide what they come to."""
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
    normalised = [(name, rules[name].valuewise) for name in finals if raws[name] != finals[name]]
    return ScoreLines(lines, layout, normalised, addends, weights, base, fitted)


def _spread(numbers: Scores, rows: IntArray, size: int, elsewhere: int = 0) -> IntArray:
    """(size,) int64: (n,) numbers of some rows, or the one that they all have, and another number elsewhere."""
    if len(rows) == size and not isinstance(numbers, int):
        return numbers
    out = np.full(size, elsewhere, np.int64)
    out[rows] = numbers
    return out


Move = tuple[int | None, int | None]
"""The number of a row before and now; None: the row does not fit."""


class Levels:
    """What the numbers of a rule come to as long as the set of all of them stands; see ``PriorityConfig.valuewise``."""

    __slots__ = ("_counts", "_finals")

    def __init__(self, numbers: IntArray, finals: IntArray) -> None:
        """(n,) each, of the rows that fit: the numbers, and what they come to."""
        values, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        self._counts: dict[int, int] = dict(zip(values.tolist(), counts.tolist(), strict=True))
        self._finals: dict[int, int] = dict(zip(values.tolist(), finals[first].tolist(), strict=True))

    def final(self, number: int) -> int:
        """What a number comes to that some row has."""
        return self._finals[number]

    def stand(self, moves: Iterable[Move]) -> bool:
        """Notes that rows have changed; whether the set of all numbers is the same. If not, it is of no more use."""
        counts = self._counts
        for before, now in moves:
            if before is not None:
                counts[before] -= 1
            if now is not None:
                counts[now] = counts.get(now, 0) + 1
        return len(counts) == len(self._finals) and all(counts.values())


LEAST_MOVES = 64
"""So many changes at least are noted one by one, for decisions that are read late."""


class LazyLines:
    """What a table holds at some time: lines as they were before, and a journal of what has changed since."""

    __slots__ = ("_changes", "_journal", "_journalled", "_lines", "_static", "_until")

    def __init__(
        self,
        lines: Sequence[IntArray],
        journal: Sequence[tuple[IntArray, IntArray]],
        journalled: Mapping[int, int],
        static: IntArray | None,
    ) -> None:
        """journal: ((k,) rows, (L, k) their numbers) of each time since the lines were as given; later ones may be
        appended. journalled: line → which of the L. static: (N,) what is added to the totals in the journal."""
        self._lines = lines
        self._journal = journal
        self._journalled = journalled
        self._static = static
        self._until = len(journal)
        self._changes: tuple[IntArray, IntArray] | None = None

    def line(self, at: int) -> IntArray:
        """(N,) one of the numbers of all rows."""
        which = self._journalled.get(at)
        if which is None or not self._until:
            return self._lines[at]
        if self._changes is None:
            rows, numbers = zip(*self._journal[: self._until], strict=True)
            self._changes = np.concatenate(rows), np.concatenate(numbers, axis=1)
        rows_now, numbers_now = self._changes
        line = self._lines[at].copy()
        line[rows_now] = (
            numbers_now[which] if at != TOTAL or self._static is None else (numbers_now[which] + self._static[rows_now])
        )
        return line


class Table:
    """The numbers of one decision on all rows, of which a few change at a time, and the best of the totals.

    Whoever was given earlier ones keeps them: changes are noted in a journal, from which they are put together when
    somebody reads them.
    """

    __slots__ = (
        *("_by_name", "_journal", "_journalled", "_layout", "_lines", "_most_moves", "_moved", "_ranks"),
        *("_rows_by_name", "_static", "_totals"),
    )

    def __init__(
        self, lines: ScoreLines, ranks: IntArray, journalled: Mapping[int, int], static: IntArray | None = None
    ) -> None:
        """ranks: (N,) every row's place in the order of names. journalled, static: see LazyLines."""
        self._layout = lines.layout
        self._lines: Sequence[IntArray] = lines.numbers
        self._journalled = journalled
        self._static = static
        self._journal: list[tuple[IntArray, IntArray]] = []
        self._moved = 0
        self._most_moves = max(LEAST_MOVES, isqrt(len(ranks)))
        self._ranks = ranks
        self._totals = lines.numbers[TOTAL].copy()
        # In the order of names, the first of the highest is the one. A row that is no node's any more has rank -1.
        self._rows_by_name = np.empty(len(ranks) + 1, np.int64)
        self._rows_by_name[ranks] = np.arange(len(ranks))
        self._by_name = np.full(len(ranks) + 1, LOWEST)
        self._by_name[ranks] = self._totals

    def held(self, feasible: IntArray, whole: WholeScores | None = None) -> LazyScores:
        """The numbers as they are now. feasible: (n,) the rows that fit. whole: of the rules that it does not have."""
        return LazyScores(self._then().line, self._layout, feasible, whole)

    def totals(self, feasible: IntArray) -> IntArray:
        """(n,) the totals of the rows that fit; a copy."""
        return self._totals.copy() if len(feasible) == len(self._totals) else self._totals[feasible]

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        if type(tie_break) is FirstByName:
            return self._rows_by_name.item(self._by_name.argmax())
        return tie_break.choose((self._totals == self._totals.max()).nonzero()[0], self._ranks)

    def _put_total(self, row: int, total: int) -> None:
        """total: LOWEST where the row does not fit."""
        self._totals[row] = self._by_name[self._ranks[row]] = total

    def _then(self) -> LazyLines:
        return LazyLines(self._lines, self._journal, self._journalled, self._static)

    def _note(self, rows: IntArray, numbers: IntArray) -> None:
        """Notes that rows, (k,), have other numbers, (L, k). What was noted is put in where it comes to many."""
        self._moved += len(rows)
        if len(self._journal) >= self._most_moves or self._moved > len(self._totals):
            then = self._then()
            self._lines = [then.line(at) for at in range(len(self._lines))]
            self._journal, self._moved = [], len(rows)
        self._journal.append((rows, numbers))


# --- by row ------------------------------------------------------------------------------------

Numbers = Sequence[tuple[str, int]]
"""(rule, its raw number) of one row."""


class TotalTable(Table):
    """By row: ``put`` sets the numbers of single rows, as long as those of normalised scores stay the same as a set."""

    __slots__ = (
        *("_addends", "_base", "_finals", "_has_lowest", "_levels", "_normalised", "_now", "_raws", "moved_on"),
    )

    def __init__(self, lines: ScoreLines, ranks: IntArray) -> None:
        """ranks: (N,) every row's place in the order of names."""
        super().__init__(lines, ranks, {at: at for at in range(len(lines.numbers))})
        self.moved_on = ""
        """The rule of which ``put`` found that other rows may score differently."""
        self._finals, self._raws = lines.layout.finals, lines.layout.numbers
        self._normalised = lines.normalised
        self._levels: dict[str, Levels] = {}
        self._addends = lines.addends
        self._has_lowest = bool((self._totals[lines.fitted] == LOWEST).any())
        self._now = np.array(lines.numbers)
        self._base = lines.base

    def set_raw(self, name: str, number: int) -> None:
        """The raw number that a rule gives every row, where it gives them all one."""
        if name in self._layout.constant_raws:
            constants = {**self._layout.constant_raws, name: number}
            self._layout = msgspec.structs.replace(self._layout, constant_raws=constants)

    def put(self, changes: Mapping[int, Numbers], fits: Mask) -> bool:
        """Sets the numbers of some rows, which may have come to fit or no longer do. False: rows that are not among
        them may score differently now, and the table is of no more use.

        fits: (N,) bool, the rows that fit now.
        """
        self.moved_on = ""
        if self._has_lowest:  # which rows fitted is not known from totals
            return False
        before = {row: self._now[:, row].tolist() for row in changes}
        after = {row: numbers.copy() for row, numbers in before.items()}
        for row, numbers in changes.items():
            for name, number in numbers:
                after[row][self._raws[name]] = number
        for name, valuewise in self._normalised:
            moves = self._moves(self._raws[name], before, after, fits)
            if moves and not (valuewise and self._levels_of(name).stand(moves)):
                self.moved_on = name
                return False
        return self._put_totals(before, after, fits)

    def _put_totals(self, before: Mapping[int, list[int]], after: Mapping[int, list[int]], fits: Mask) -> bool:
        """Works out the totals of rows and puts them in. False: one can't be told from that of a row that does not
        fit."""
        changed: list[int] = []
        numbers: list[list[int]] = []
        levels = [(self._raws[name], self._finals[name], found) for name, found in self._levels.items()]
        for row, found in after.items():
            found[TOTAL] = LOWEST
            if fits[row]:
                for raw, final, of_rule in levels:
                    found[final] = of_rule.final(found[raw])
                found[TOTAL] = wrap(self._base + sum([weight * found[at] for at, weight in self._addends]))
                if found[TOTAL] == LOWEST:
                    return False
            if found != before[row]:
                self._now[:, row] = found
                self._put_total(row, found[TOTAL])
                changed.append(row)
                numbers.append(found)
        if changed:
            self._note(np.array(changed), np.array(numbers).T)
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

    def _levels_of(self, name: str) -> Levels:
        levels = self._levels.get(name)
        if levels is None:
            there = self._totals != LOWEST
            levels = Levels(self._now[self._raws[name]][there], self._now[self._finals[name]][there])
            self._levels[name] = levels
        return levels


# --- by the amounts on rows --------------------------------------------------------------------

FARTHEST = 1 << 61
"""All that rules come to which do not follow from amounts is less than this far from 0."""
FARTHEST_SUM = 1 << 59
"""What rules come to, and all others together, where it is less than this far from 0."""
REFUSED = -(1 << 61)
"""Stands for what the rules come to on a row that some check refuses, in sums too."""
UNKNOWN = -(1 << 63)
"""Stands for what was not asked yet."""
FITS_ABOVE = -(1 << 60)
"""Totals of rows that fit are higher."""
FIRST_CODES = 64
"""For so many there is room at first."""


class AmountAnswers:
    """What some checks and scores say of rows, for pods that are alike to them, by the code of the amounts there."""

    __slots__ = ("_checks", "_generation", "_scores", "_weights", "numbers", "refusals")

    def __init__(
        self, checks: Sequence[CheckState], scores: Sequence[ScoreState], weights: Sequence[int], codes: AmountCodes
    ) -> None:
        """weights: of each of the scores."""
        self._checks = checks
        self._scores = scores
        self._weights = weights
        self._generation = codes.generation
        self.numbers: IntArray = np.full((1 + len(scores), FIRST_CODES), UNKNOWN, np.int64)
        """(1 + S, C) by code the weighted sum of the scores, or ``REFUSED``, then what each rule scores; never changed
        once they are known."""
        self.refusals: dict[int, tuple[RowVerdict, ...]] = {}
        """Code that is refused → what each check says."""

    def is_of(self, codes: AmountCodes) -> bool:
        """Whether codes still mean what they meant."""
        return self._generation == codes.generation

    def known(self, code: int) -> int:
        """What the rules come to, ``REFUSED``, or ``UNKNOWN``, which is less."""
        return self.numbers.item(0, code) if code < self.numbers.shape[1] else UNKNOWN

    def of(self, now: IntArray, rows: IntArray, count: int, pod: PodInfo, snapshot: Snapshot) -> IntArray | None:
        """(1 + S, k) for codes of rows, (k,) each, of so many codes that there are; None: what the rules come to is too
        far from 0. Raises as rules do."""
        if count > self.numbers.shape[1]:
            room = np.full((len(self.numbers), count), UNKNOWN, np.int64)
            self.numbers = np.concatenate((self.numbers, room), axis=1)
        new = self.numbers[0, now] == UNKNOWN
        if new.any() and not self._ask(dict(zip(now[new].tolist(), rows[new].tolist(), strict=True)), pod, snapshot):
            return None
        found: IntArray = self.numbers[:, now]
        return found

    def _ask(self, row_with: dict[int, int], pod: PodInfo, snapshot: Snapshot) -> bool:
        """Asks about codes by a row that has each; whether all are near enough to 0."""
        there = snapshot.take(np.array(list(row_with.values()), np.int64))
        numbers = [score.config.map(pod, there).tolist() for score in self._scores]
        verdicts = [row_verdicts(check.predicate, pod, there) for check in self._checks]
        for at, code in enumerate(row_with):
            scores = [of_rule[at] for of_rule in numbers]
            total = sum([weight * score for weight, score in zip(self._weights, scores, strict=True)])
            if abs(total) >= FARTHEST_SUM:
                return False
            said = tuple([of_check[at] for of_check in verdicts])
            if any([reasons for reasons, _ in said]):  # noqa: C419
                self.refusals[code] = said
                total = REFUSED
            self.numbers[1:, code] = scores
            self.numbers[0, code] = total  # last, so that an interrupt leaves it unknown
        return True


class AmountTable(Table):
    """By the amounts on rows, where everything that changes with pods follows from them: ``put`` brings it up to date
    in a few operations on arrays, however many rows have changed."""

    __slots__ = ("_answers", "_codes", "_position", "_refused", "_static_totals", "refuses")

    def __init__(
        self,
        lines: ScoreLines,
        moving: Sequence[str],
        static: IntArray,
        refused: Mask,
        answers: AmountAnswers,
        position: int,
        ranks: IntArray,
    ) -> None:
        """lines: as of a position of the codes. moving: the rules that follow from amounts, in the order of
        ``answers``. static: see ``static_totals``. refused: (N,) bool, the rows that checks refuse which follow from
        amounts; it is written to."""
        journalled = {TOTAL: 0, **{lines.layout.finals[name]: 1 + at for at, name in enumerate(moving)}}
        super().__init__(lines, ranks, journalled, static)
        self._static_totals = static
        self._answers = answers
        self._position = position
        self._codes: IntArray = np.full(len(ranks), UNSEEN, np.int64)
        self._refused = refused
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
        numbers = self._answers.of(now, rows, codes.count, pod, snapshot)
        if numbers is None:
            return None
        self._position = codes.position
        refused = numbers[0] == REFUSED
        self.refuses = bool(refused.any() or self._refused[rows].any())
        self._refused[rows] = refused
        self._codes[rows] = now
        totals = numbers[0] + self._static_totals[rows]
        totals[totals < FITS_ABOVE] = LOWEST
        self._totals[rows] = self._by_name[self._ranks[rows]] = totals
        self._note(rows, numbers)
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
        total += self._static_totals.item(row)
        self._put_total(row, total if total > FITS_ABOVE else LOWEST)
        self._note(rows, self._answers.numbers[:, code : code + 1])
        return True

    def fit(self, rows: IntArray) -> Mask:
        """(k,) whether no check refuses each of some rows."""
        fit: Mask = self._totals[rows] != LOWEST
        return fit

    def said(self, rows: IntArray) -> list[tuple[RowVerdict, ...]]:
        """What each check says of rows, (k,), that the last ``put`` has changed; empty where they pass."""
        return [self._answers.refusals.get(code, ()) for code in self._codes[rows].tolist()]


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
