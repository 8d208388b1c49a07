"""What is kept of the last decision on pods of one class, so that the next is decided by what has changed since.

Scores that follow from a row alone change where pods came or went; ``SharedTotals`` has what they come to, for all
classes that differ in nothing but which pods they are spread from, as those of different services do: a pod that is
placed changes one row of one table, and not of a table for each class. Rules whose scores may change on many rows at
a time, as they are normalised or count pods of other rows, are scored anew for every decision and added to it
(``ClassTotals``).

First the table itself, which is changed in place. A decision that was made by it has ``LazyScores``: what the table
said then, put together when somebody reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from math import isqrt

import msgspec
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import ChangeLog
from clusterstate.columns import Columns
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.filter_and_score import Scored, weighted_sum
from kubescheduler.core.pod_classes import ClassState, Refreshes, Scores, ScoreState
from kubescheduler.core.selection import FirstByName, TieBreak
from predicates.types import Verdict

TOTAL = 0
"""The index of the totals in a table of scores."""
LOWEST = -(1 << 63)
"""Stands for the total of a row that does not fit."""


class ScoreLayout(msgspec.Struct, frozen=True, eq=False):
    """Where a table of scores has the numbers of each rule: an index of the table, or one number for all rows."""

    names: tuple[str, ...]
    """The rules that score, in order."""
    lines: Mapping[str, int]
    """Rule → index of its scores before the weight, which are not normalised; of those that have no one number."""
    constants: Mapping[str, int]
    """Rule → the one score that all rows have."""
    raws: Mapping[str, int] | None
    """Likewise before normalisation; None where a release keeps no such scores."""


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
            self._scores = self._by_rule(self._layout.constants, {} if self.whole is None else self.whole.finals)
        return self._scores

    @property
    def raws(self) -> Mapping[str, Scores]:
        """See Decision."""
        if self._raws is None:
            constants, whole = self._layout.raws, {} if self.whole is None else self.whole.raws
            self._raws = {} if constants is None else self._by_rule(constants, whole)
        return self._raws

    def _by_rule(self, constants: Mapping[str, int], whole: Mapping[str, Scores]) -> dict[str, Scores]:
        """whole: of the rules that were scored anew."""
        by_name: dict[str, Scores] = {name: self._line(at) for name, at in self._layout.lines.items()}
        by_name.update(constants)
        by_name.update(whole)
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

    ``put`` sets the numbers of some rows. Whoever was given earlier ones keeps them: changes are noted in a journal,
    from which they are put together when somebody reads them.
    """

    def __init__(
        self,
        scored: Scored,
        raws: Mapping[str, IntArray],
        moving: Container[str],
        weights: Mapping[str, int],
        fitted: IntArray,
        ranks: IntArray,
    ) -> None:
        """Of what was scored, with a line for each number that differs from row to row, or may come to.

        raws: rule → (N,) its raw numbers on all rows, of those that are not constant. moving: the rules of which single
        rows change, also where all have one score. weights: of every rule. fitted: (n,) the rows that were scored; the
        total of others is LOWEST. ranks: (N,) every row's place in the order of names.
        """
        size = len(ranks)
        totals = np.full(size, LOWEST, np.int64)
        totals[fitted] = scored.totals
        constants = {
            name: final for name, final in scored.scores.items() if isinstance(final, int) and name not in moving
        }
        varying = [name for name in scored.scores if name not in constants]
        lines = [totals, *(raws[name] for name in varying)]
        self._at = {name: at for at, name in enumerate(varying, start=TOTAL + 1)}
        kept = {name: raw for name, raw in scored.raws.items() if name in constants and isinstance(raw, int)}
        keeps = len(scored.raws) == len(scored.scores)
        self._layout = ScoreLayout(tuple(scored.scores), self._at, constants, kept if keeps else None)
        self._lines: Sequence[IntArray] | IntArray = lines
        self._now = np.array(lines)
        self._addends = np.zeros(len(lines), np.int64)
        for name, at in self._at.items():
            self._addends[at] = weights[name]
        one = self._now[:, fitted[:1]]
        self._base = one[TOTAL] - self._addends @ one
        self._journal: list[Change] = []
        self._moved = 0
        self._most_changes = max(LEAST_CHANGES, isqrt(size))
        self._has_lowest = bool((self._now[TOTAL, fitted] == LOWEST).any())
        self._ranks = ranks
        # In the order of names, the first of the highest is the one. A row that is no node's any more has rank -1.
        self._rows_by_name = np.empty(len(ranks) + 1, np.int64)
        self._rows_by_name[ranks] = np.arange(len(ranks))
        self._by_name = np.full(len(ranks) + 1, LOWEST)
        self._by_name[ranks] = self._now[TOTAL]

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

    def numbers(self, name: str, rows: IntArray) -> IntArray:
        """(k,) the raw numbers of a rule on some rows; a copy."""
        numbers: IntArray = self._now[self._at[name], rows]
        return numbers

    def put(self, rows: IntArray, numbers: Mapping[str, IntArray], fits: Mask) -> bool:
        """Sets the numbers of some rows, which may have come to fit or no longer do. False: the table is of no more
        use.

        rows: (k,) each once. numbers: by rule, (k,); of other rules they stay. fits: (N,) bool, the rows that fit now.
        """
        if self._has_lowest:  # which rows fitted is not known from totals
            return False
        if not len(rows):
            return True
        at = rows if len(rows) > 1 else slice(int(rows[0]), int(rows[0]) + 1)  # mostly one, which takes half as long
        after = self._now[:, at].copy()
        for name, given in numbers.items():
            after[self._at[name]] = given
        fit = fits[at]
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


class ClassTotals:
    """What was decided for pods of one class: brought up to date by ``patch``, as long as it can."""

    def __init__(
        self,
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        scored: Scored,
        weights: Mapping[str, int],
        shared: SharedTotals,
        wholes: tuple[ScoreState, ...],
    ) -> None:
        """As of now; see ``kept_totals``. shared: what all rules come to but ``wholes``, which are scored anew each
        time."""
        self._shared = shared
        self._pod_answers = state.pod_answers(snapshot, log)
        self._version = log.version_of(state.steady_flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._weights = weights
        self._names = tuple(scored.scores)
        self._raws = frozenset(scored.raws)
        self._wholes = wholes
        self._in_order = sum(map(abs, weights.values())) < 1 << 40
        """Whether totals never wrap at 64 bits, so that what is added to all of them changes no order."""

    # --- a decision ------------------------------------------------------------------------

    def patch(self, state: ClassState, snapshot: Snapshot, columns: Columns) -> LazyScores | None:
        """What every rule gives now, and the totals; None: it cannot be brought up to date."""
        shared, log = self._shared, columns.log
        if self._version != shared.version:
            return None
        try:
            if not self._answers_stand(state, snapshot, log) or not shared.patch(state, snapshot, columns):
                return None
            whole = self._scored_anew(state, snapshot, log) if self._wholes else None
        except (SchedulingError, CustomCodeError):
            return None
        return shared.table.held(shared.feasible, whole)

    def choose(self, held: LazyScores, tie_break: TieBreak) -> int:
        """One of the rows with the highest total. held: what ``patch`` gave, just now."""
        table, feasible = self._shared.table, self._shared.feasible
        if held.whole is None or (self._in_order and all(isinstance(one, int) for one in held.whole.finals.values())):
            return table.choose(tie_break)
        totals = held.keep_totals(table.totals(feasible))
        tied = (totals == totals.max()).nonzero()[0]
        return tie_break.choose(tied if len(totals) == len(self._shared.ranks) else feasible[tied], self._shared.ranks)

    def _answers_stand(self, state: ClassState, snapshot: Snapshot, log: ChangeLog) -> bool:
        """Whether rules say of the pod what they said of it at the last decision, before any node is looked at."""
        version = log.version_of(state.pod_flags)
        if (state.timed or version != self._pods_version) and state.pod_answers(snapshot, log) != self._pod_answers:
            return False
        self._pods_version = version
        return True

    def _scored_anew(self, state: ClassState, snapshot: Snapshot, log: ChangeLog) -> WholeScores:
        """What the rules give that are scored anew. Raises as rules do."""
        feasible = self._shared.feasible
        rows = None if len(feasible) == len(snapshot) else feasible
        view = snapshot if rows is None else snapshot.take(rows)
        raws: dict[str, Scores] = {}
        finals: dict[str, Scores] = {}
        refreshes = Refreshes(snapshot, log)
        for score in self._wholes:
            name = score.config.name
            score.refresh(state.info, refreshes)
            raws[name], finals[name] = score.of_feasible(state.info, view, rows)
            if name not in self._raws:
                del raws[name]
        return WholeScores(self._names, finals, raws, self._weights)


def kept_totals(
    state: ClassState,
    snapshot: Snapshot,
    columns: Columns,
    scored: Scored,
    weights: Mapping[str, int],
) -> ClassTotals | None:
    """What is kept of a decision that was made just now, with all rows that fit scored; None: nothing, as a custom rule
    has scored.

    weights: of every rule.
    """
    names = scored.scores
    if not all(name in state.scores or name in state.constants for name in names):
        return None
    scores = [state.scores[name] for name in names if name in state.scores]
    patched = tuple([score for score in scores if _is_patched(score, scored, state.info, snapshot)])
    wholes = tuple([score for score in scores if score not in patched])
    key = (
        *(state.steady_flags, state.pod_flags),
        tuple([(check, check.skipped) for check in state.checks]),
        patched,
        tuple([(name, state.constants[name]) for name in names if name in state.constants]),
    )
    shared = state.shared_totals.get(key)
    if shared is None:
        shared = state.shared_totals[key] = SharedTotals(weights)
    state.shared = shared
    if not shared.is_current(columns):
        shared.begin(state, snapshot, columns, scored, wholes)
    return ClassTotals(state, snapshot, columns.log, scored, weights, shared, wholes)


def _is_patched(score: ScoreState, scored: Scored, info: PodInfo, snapshot: Snapshot) -> bool:
    """Whether a rule's scores change on no row but those whose pods have changed."""
    config, name = score.config, score.config.name
    plain = config.settle is None and config.reduce is None
    if config.footprint.is_unaffected_by_pods(info, snapshot):
        return plain or (isinstance(scored.scores[name], int) and isinstance(scored.raws.get(name, 0), int))
    return plain and not score.of_pods_anywhere


# --- what classes have in common -----------------------------------------------------------------

MOST_ANSWERS = 1 << 14
"""So many answers are remembered; then it is begun anew."""
FEW = 256
"""Rows of which something else is said than at the last decision, that are patched."""
MANY = 4096
"""Changes since the last decision of which the rows are not looked up."""


RowAnswer = tuple[bool, tuple[int, ...]]
"""(whether every check passes the row, the raw number of every score) of those that look at one row alone."""


class SharedTotals:
    """Begun from one decision, and brought up to date by ``patch`` for the next ones, as long as it can be.

    The classes have the same verdicts, and the same scores but for rules that are scored anew for every decision
    (``wholes``). The rules are asked about the rows that have changed, and a ``TotalTable`` has them put in. Where what
    they say follows from the amounts on a row, they are asked once for equal amounts.
    """

    def __init__(self, weights: Mapping[str, int]) -> None:
        """Nothing was decided yet. weights: of every rule."""
        self._weights = weights
        self._listed: Mask | None = None
        self._made_of: object = None

    def begin(
        self,
        state: ClassState,
        snapshot: Snapshot,
        columns: Columns,
        scored: Scored,
        wholes: Sequence[ScoreState],
    ) -> None:
        """As of now: state was brought up to date, and all rows that fit were scored. wholes: the rules that are scored
        anew for every decision."""
        log = columns.log
        self._listed = None
        self._scored = scored_without(scored, {score.config.name for score in wholes}, self._weights)
        self.ranks = columns.ranks
        """(N,) every row's place in the order of names."""
        self._flags = state.steady_flags
        self.version = log.version_of(self._flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._position = log.position
        self._sort_scores(state, snapshot)
        self._read_checks(state)
        self._table: TotalTable | None = None
        self._listed = columns.published[1]

    def _sort_scores(self, state: ClassState, snapshot: Snapshot) -> None:
        """Which scores are asked row by row, and which stay."""
        info = state.info
        scores = [state.scores[name] for name in self._scored.scores if name in state.scores]
        self._raws = {score.config.name: score.raw for score in scores}
        scores = [s for s in scores if not s.config.footprint.is_unaffected_by_pods(info, snapshot)]
        self._moving = [score for score in scores if score.of_own_pods]
        self._names = [score.config.name for score in self._moving]
        checks = tuple([s for s in state.checks if s.of_own_pods and not s.skipped and s not in state.far_checks])
        made_of = checks, tuple(self._moving), self.version
        if made_of != self._made_of:
            self._made_of = made_of
            self._row_checks = checks
            self._of_usage = all(
                [check.predicate.footprint.follows_from_usage(info) for check in checks]
                + [score.config.footprint.follows_from_usage(info) for score in self._moving]
            )
            self._row_answers: dict[Hashable, RowAnswer] = {}

    def _read_checks(self, state: ClassState) -> None:
        """What the verdicts are now."""
        self._fits, self.feasible = state.fits, state.feasible
        asked = [check for check in state.checks if not check.skipped]
        self.verdicts: tuple[tuple[str, Verdict], ...] = tuple([(c.predicate.name, c.verdict) for c in asked])
        self.unresolvable: dict[str, Mask] = {
            check.predicate.name: check.unresolvable for check in asked if check.unresolvable is not None
        }
        self._seen = [(check, check.verdict, check.unresolvable) for check in state.checks]

    def is_current(self, columns: Columns) -> bool:
        """Whether ``patch`` may still bring it up to date."""
        return self._has_same_rows(columns) and self._steady(columns.log) and self._changed(columns.log) is not None

    def _has_same_rows(self, columns: Columns) -> bool:
        return self._listed is columns.published[1] and self.ranks is columns.ranks

    @property
    def table(self) -> TotalTable:
        """What all rules come to but those that are scored anew; there is one after ``patch``."""
        assert self._table is not None
        return self._table

    # --- bringing it up to date ------------------------------------------------------------

    def patch(self, state: ClassState, snapshot: Snapshot, columns: Columns) -> bool:
        """Brings everything up to date for a pod of any of the classes. False: it cannot, and says nothing until it is
        begun anew."""
        if self._listed is None or not self._has_same_rows(columns):
            return False
        log, listed, self._listed = columns.log, self._listed, None
        try:
            if not self._steady(log) or not self._patched(state, snapshot, log, listed):
                return False
        except (SchedulingError, CustomCodeError):
            return False
        self._listed = listed
        self._position = log.position
        return True

    def _changed(self, log: ChangeLog) -> list[int] | None:
        """The rows whose pods have changed; None: too many."""
        recent = log.since(self._position) if log.position - self._position <= MANY else None
        return None if recent is None else list(dict.fromkeys([row for row, _ in recent]))

    def _patched(self, state: ClassState, snapshot: Snapshot, log: ChangeLog, listed: Mask) -> bool:
        """Raises as rules do."""
        rows = self._changed(log)
        if rows is None:
            return False
        version = log.version_of(state.pod_flags)
        pods_changed = state.timed or version != self._pods_version
        self._pods_version = version
        answers = self._answers(rows, state.info, snapshot)
        if answers is None or len(answers) > FEW:
            return False
        if self._table is None:
            args = self._scored, self._raws, self._names, self._weights, self.feasible, self.ranks
            self._table = TotalTable(*args)
            self._scored, self._raws = Scored(), {}
        passes = {row: passes for row, (passes, _) in answers.items()}
        moved = self._check(passes, state, snapshot, log, listed, pods_changed=pods_changed)
        if moved is None:
            return False
        rows_now = dict.fromkeys([*answers, *moved.tolist()])
        return self._put(np.array(list(rows_now), np.int64), answers, self._table)

    def _put(self, rows: IntArray, answers: Mapping[int, RowAnswer], table: TotalTable) -> bool:
        """Puts in what is said of rows, (k,); of the first of them it is ``answers``."""
        numbers: dict[str, IntArray] = {}
        for at, name in enumerate(self._names):
            now = [of_rules[at] for _, of_rules in answers.values()]
            numbers[name] = np.array(now, np.int64)
            if len(now) < len(rows):
                numbers[name] = np.concatenate((numbers[name], table.numbers(name, rows[len(now) :])))
        return table.put(rows, numbers, self._fits)

    def _answers(self, rows: Sequence[int], info: PodInfo, snapshot: Snapshot) -> dict[int, RowAnswer] | None:
        """What is said of each row that has changed; None: there are too many of which nothing is known."""
        if self._of_usage:
            keys = [snapshot.amounts(row) for row in rows]
            known = self._row_answers
            if len(known) > MOST_ANSWERS:
                known.clear()
            new = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
            if len(new) > FEW:
                return None
            if new:
                known.update(zip(new, self._ask(list(new.values()), info, snapshot), strict=True))
            answers = [known[key] for key in keys]
        elif len(rows) > FEW:
            return None
        else:
            answers = self._ask(rows, info, snapshot)
        return dict(zip(rows, answers, strict=True))

    def _ask(self, rows: Sequence[int], info: PodInfo, snapshot: Snapshot) -> list[RowAnswer]:
        """What the rules that look at one row alone say of rows of the whole cluster, (k,). Raises as they do."""
        there = snapshot.take(np.array(rows, np.int64))
        masks = [mask for check in self._row_checks for mask in check.predicate.check(info, there).values()]
        refused = np.logical_or.reduce(masks).tolist() if masks else [False] * len(rows)
        numbers = [score.config.map(info, there).tolist() for score in self._moving]
        every = zip(*numbers, strict=True) if numbers else [()] * len(rows)
        return [(not no, row) for no, row in zip(refused, every, strict=True)]

    def _check(
        self,
        passes: Mapping[int, bool],
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        listed: Mask,
        *,
        pods_changed: bool,
    ) -> IntArray | None:
        """The rows that have come to fit or no longer do; None: too many, or a check errs. passes: row → whether it
        passes now the checks that look at one row alone, of those that have changed."""
        if self._stand_as_seen() and not self._refuse_any(passes):
            for check in self._row_checks:  # they follow from the amounts on rows, and are as they were
                check.position = log.position
            if not (pods_changed and _far_checks_changed(state, log)):
                return NO_NUMBERS
        state.check(snapshot, log, listed)
        if any(check.erring for check in state.checks):
            return None
        before = self._fits
        self._read_checks(state)
        if self._fits is before:
            return NO_NUMBERS
        moved: IntArray = (self._fits != before).nonzero()[0]
        return moved if len(moved) <= FEW and len(self.feasible) > 1 else None

    def _refuse_any(self, passes: Mapping[int, bool]) -> bool:
        """Whether one of these rows is refused now, or was the last time."""
        local = [check.failing for check in self._row_checks if check.failing is not None]
        return not all(passes.values()) or any(failing[row] for failing in local for row in passes)

    def _stand_as_seen(self) -> bool:
        """Whether no verdict was brought up to date for other pods that share it."""
        for check, verdict, unresolvable in self._seen:
            if check.verdict is not verdict or check.unresolvable is not unresolvable:
                return False
        return True

    # --- of both ---------------------------------------------------------------------------

    def _steady(self, log: ChangeLog) -> bool:
        """Whether nothing but pods has changed."""
        return log.nodes_until <= self._position and log.version_of(self._flags) == self.version


def _far_checks_changed(state: ClassState, log: ChangeLog) -> bool:
    """Whether something has changed that a check of pods anywhere reads, or time may have changed a verdict."""
    asked = [check for check in state.far_checks if not check.skipped]
    return any(check.predicate.footprint.moment is not None or check.may_have_changed(log) for check in asked)
