"""What pod classes have in common of their last decision, verdicts and weighted totals, brought up to date for rows
that have changed since.

Classes that differ in nothing but which pods they are spread from, as those of different services do, share them: a pod
that is placed changes one row of one table, and not of a table for each class. Read ``totals.py`` first, which says
what a class adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.answers import (
    PASSES,
    Answers,
    Refreshes,
    RowVerdict,
    ScoreState,
    with_rows,
)
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.scoring import Scored, reduced
from kubescheduler.core.total_tables import (
    AmountAnswers,
    AmountTable,
    ScoreLines,
    TotalTable,
    score_lines,
    scored_without,
    static_totals,
    without_numbers,
)
from predicates.types import Verdict

FEW = 32
"""Rows of which something else is said than at the last decision, that are patched one by one."""
SOME = 128
"""Changes since the last decision of which the rows are not looked up while no row's answers are known."""
MANY = 1024
"""Changes since the last decision of which the rows are not looked up."""
LOOKED_AT = 128
"""Rows that have changed since the last decision, whether or not something else is said of them."""


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


RowAnswer = tuple[bool, tuple[int, ...]]
"""(whether every check passes the row, the raw number of every score) of those that look at one row alone."""


class SharedTotals:
    """Begun from one decision, and brought up to date by ``patch`` for the next ones, as long as it can be.

    The classes have the same verdicts, and the same scores but for rules that are scored anew for every decision
    (``wholes``). Where everything that changes with pods follows from the amounts on single rows, and what rules say
    that look at pods anywhere stands, an ``AmountTable`` is brought up to date by the codes of amounts; else the rules
    are asked about the rows that have changed, and a ``TotalTable`` has them put in.
    """

    __slots__ = (
        "__weakref__",
        "_amount_answers",
        "_amount_table",
        "_answered",
        "_by_amounts",
        "_codes_position",
        "_far",
        "_far_flags",
        "_far_version",
        "_fits",
        "_flags",
        "_listed",
        "_made_of",
        "_moving",
        "_names",
        "_of_usage",
        "_own_checks",
        "_pods_version",
        "_position",
        "_raws",
        "_reduced",
        "_row_answers",
        "_row_checks",
        "_scored",
        "_seen",
        "_shared_raws",
        "_table",
        "_weights",
        "_wholes",
        "_wide",
        "feasible",
        "ranks",
        "unresolvable",
        "verdicts",
        "version",
        "volatile",
    )

    def __init__(self, weights: Mapping[str, int]) -> None:
        """Nothing was decided yet. weights: of every rule."""
        self._weights = weights
        self._listed: Mask | None = None
        self._made_of: object = None
        self._amount_answers: AmountAnswers | None = None
        self._wide: object = None
        """The names of the volatile rules when it was found that more than the amounts on rows changes, or that totals
        are too far from 0."""
        self.volatile = VolatileRules()
        """The rules that are scored anew for every decision, as patching them keeps failing."""

    def begin(
        self,
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        scored: Scored,
        listed: Mask,
        ranks: IntArray,
        wholes: Sequence[ScoreState],
    ) -> None:
        """As of now: state was brought up to date, and all rows that fit were scored. listed: (N,) the rows that were
        looked at. ranks: (N,) every row's place in the order of names. wholes: the rules that are scored anew for every
        decision."""
        self._listed = None
        self._scored = scored
        self._wholes = wholes
        self.ranks = ranks
        self._flags = state.steady_flags
        self.version = log.version_of(self._flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._position = log.position
        self._sort_scores(state, snapshot)
        self._read_checks(state)
        self._table: TotalTable | None = None
        self._shared_raws: dict[str, int] = {}
        self._answered: dict[int, RowAnswer] = {}
        self._begin_by_amounts(state, snapshot, log)
        self._listed = listed

    def _sort_scores(self, state: ClassState, snapshot: Snapshot) -> None:
        """Which scores are asked row by row, and which stay."""
        info = state.info
        scores = [state.scores[name] for name in self._scored.scores if name in state.scores]
        scores = [s for s in scores if s not in self._wholes]
        scores = [s for s in scores if not s.config.footprint.is_unaffected_by_pods(info, snapshot)]
        self._raws = {score.config.name: score.raw for score in state.scores.values() if score not in self._wholes}
        self._far = [score for score in scores if score.of_pods_anywhere]
        self._reduced = [score for score in scores if score.config.reduce is not None]
        self._moving = [score for score in scores if score.of_own_pods and not score.of_pods_anywhere]
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
            self._row_answers: Answers[RowAnswer] = Answers()
            self._amount_answers = None

    def _read_checks(self, state: ClassState) -> None:
        """What the verdicts are now."""
        self._fits, self.feasible = state.fits, state.feasible
        asked = [check for check in state.checks if not check.skipped]
        self.verdicts: tuple[tuple[str, Verdict], ...] = tuple([(c.predicate.name, c.verdict) for c in asked])
        self.unresolvable: dict[str, Mask] = {
            check.predicate.name: check.unresolvable for check in asked if check.unresolvable is not None
        }
        self._seen = [(check, check.verdict, check.unresolvable) for check in state.checks]

    def _begin_by_amounts(self, state: ClassState, snapshot: Snapshot, log: ChangeLog) -> None:
        """Whether the amounts on rows are all that changes with their pods."""
        self._amount_table: AmountTable | None = None
        self._codes_position = snapshot.amount_codes.position
        far = [*[check for check in state.far_checks if not check.skipped], *self._far]
        self._far_flags = tuple(sorted({flag for rule in far for flag in rule.far}))
        self._far_version = log.version_of(self._far_flags)
        self._by_amounts = (
            self._of_usage
            and self._wide is not self.volatile.names
            and not any(rule.of_own_pods for rule in far)
            and not any(check.predicate.footprint.moment is not None for check in state.checks if not check.skipped)
            and not any(self._is_normalised(score) for score in self._reduced)
        )

    def _is_normalised(self, score: ScoreState) -> bool:
        """Whether a rule with normalised scores gives rows different ones."""
        return score in self._moving or not isinstance(self._scored.scores[score.config.name], int)

    def is_current(self, snapshot: Snapshot, log: ChangeLog, listed: Mask, ranks: IntArray) -> bool:
        """Whether ``patch`` may still bring it up to date."""
        if listed is not self._listed or ranks is not self.ranks or not self._steady(log):
            return False
        if not self._by_amounts:
            return self._changed(log) is not None
        if self._amount_table is None:
            return snapshot.amount_codes.since(self._codes_position) is not None
        return self._amount_table.is_of(snapshot.amount_codes)

    @property
    def table(self) -> TotalTable | AmountTable:
        """What all rules come to but those that are scored anew; there is one after ``patch``."""
        table = self._amount_table if self._by_amounts else self._table
        assert table is not None
        return table

    # --- bringing it up to date ------------------------------------------------------------

    def patch(self, state: ClassState, snapshot: Snapshot, log: ChangeLog, listed: Mask, ranks: IntArray) -> bool:
        """Brings everything up to date for a pod of any of the classes. False: it cannot, and says nothing until it is
        begun anew."""
        if listed is not self._listed or ranks is not self.ranks:
            return False
        self._listed = None
        patched = self._patched_by_amounts if self._by_amounts else self._patched_by_rows
        try:
            if not self._steady(log) or not patched(state, snapshot, log, listed):
                return False
        except (SchedulingError, CustomCodeError):
            return False
        self._listed = listed
        self._position = log.position
        return True

    # --- by the amounts on rows ------------------------------------------------------------

    def _patched_by_amounts(self, state: ClassState, snapshot: Snapshot, log: ChangeLog, listed: Mask) -> bool:
        """Raises as rules do."""
        table = None
        if not self._far_flags or log.version_of(self._far_flags) == self._far_version:
            table = self._amount_table or self._table_by_amounts(state, snapshot, listed)
        if table is None:
            self._wide = self.volatile.names
            return False
        self._amount_table = table
        codes = snapshot.amount_codes
        rows = table.put(codes, state.info, snapshot)
        if rows is None:
            if table.is_of(codes):
                self._wide = self.volatile.names
            return False
        return not table.refuses or self._fit_now(table, rows, state, snapshot)

    def _fit_now(self, table: AmountTable, rows: IntArray, state: ClassState, snapshot: Snapshot) -> bool:
        """Reads anew which of some rows fit, and why others do not; whether that changes the scores of no others."""
        self._refuse(rows, table.said(rows))
        fit = table.fit(rows)
        if (self._fits[rows] == fit).all():
            return True
        self._fits = self._fits.copy()
        self._fits[rows] = fit
        self.feasible = self._fits.nonzero()[0]
        return len(self.feasible) > 1 and self._shared_stand(state.info, snapshot)

    def _refuse(self, rows: IntArray, said: Sequence[tuple[RowVerdict, ...]]) -> None:
        """Puts in what the checks say of rows that follow from amounts. said: of each row; empty where they pass."""
        verdicts, beyond = list(self.verdicts), dict(self.unresolvable)
        for at, number in enumerate(self._own_checks):
            name, verdict = verdicts[number]
            of_rows = [of_row[at] if of_row else PASSES for of_row in said]
            changed: Verdict = {}
            for reason, mask in verdict.items():
                changed[reason] = mask.copy()
                changed[reason][rows] = [reason in reasons for reasons, _ in of_rows]
            verdicts[number] = name, changed
            hopeless = with_rows(beyond.pop(name, None), rows.tolist(), [no for _, no in of_rows], len(self._fits))
            if hopeless is not None and hopeless.any():
                beyond[name] = hopeless
        self.verdicts, self.unresolvable = tuple(verdicts), beyond

    def _table_by_amounts(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> AmountTable | None:
        """The table of all numbers; None: some total is too far from 0."""
        own = self._row_checks
        asked = [check for check in state.checks if not check.skipped]
        self._own_checks = [asked.index(check) for check in own]
        lines = self._lines(state, self.feasible, self._raws)
        masks = [check.failing for check in asked if check.failing is not None and check not in own]
        static = static_totals(lines, self._names, listed & ~np.logical_or.reduce(masks) if masks else listed)
        if static is None:
            return None
        codes = snapshot.amount_codes
        if self._amount_answers is None or not self._amount_answers.is_of(codes):
            weights = [self._weights[name] for name in self._names]
            self._amount_answers = AmountAnswers(own, self._moving, weights, codes)
        refused = np.zeros(len(listed), np.bool_)
        for number in self._own_checks:
            for mask in self.verdicts[number][1].values():
                refused |= mask
        return AmountTable(lines, self._names, static, refused, self._amount_answers, self._codes_position, self.ranks)

    # --- by row ----------------------------------------------------------------------------

    def _note_looked_at(self, log: ChangeLog) -> None:
        """Verdicts that follow from the amounts on rows are as they were."""
        for check in self._row_checks:
            check.position = log.position

    def _changed(self, log: ChangeLog) -> list[int] | None:
        """The rows whose pods have changed; None: too many."""
        many, most = (MANY, LOOKED_AT) if self._answered else (SOME, FEW)
        if log.position - self._position > many:
            return None
        recent = log.since(self._position)
        if recent is None:
            return None
        rows = dict.fromkeys([row for row, _ in recent])
        return None if len(rows) > most else list(rows)

    def _patched_by_rows(self, state: ClassState, snapshot: Snapshot, log: ChangeLog, listed: Mask) -> bool:
        """Raises as rules do."""
        rows = self._changed(log)
        if rows is None:
            return False
        version = log.version_of(state.pod_flags)
        pods_changed = state.timed or version != self._pods_version
        self._pods_version = version
        found = self._answers(rows, state.info, snapshot)
        if found is None or len(found) > FEW:
            return False
        fitted = self.feasible
        passes = {row: passes for row, (passes, _) in found.items()}
        moved = self._check(passes, state, snapshot, log, listed, pods_changed=pods_changed)
        if moved is None or (len(moved) and not self._shared_stand(state.info, snapshot)):
            return False
        names = self._names
        changes = {row: list(zip(names, numbers, strict=True)) for row, (_, numbers) in found.items()}
        for row in moved.tolist():
            changes.setdefault(row, [])
        table = self._table
        raws = self._raws if table is not None else self._raws.copy()
        if pods_changed and self._far and not self._far_changes(changes, state.info, snapshot, log):
            return False
        table = table or TotalTable(self._lines(state, fitted, raws), self.ranks)
        self._table = table
        for name, raw in self._shared_raws.items():
            table.set_raw(name, raw)
        self._shared_raws.clear()
        if not table.put(changes, self._fits):
            if table.moved_on:
                self.volatile.failed(table.moved_on)
            return False
        self.volatile.held()
        return True

    def _answers(self, rows: Sequence[int], info: PodInfo, snapshot: Snapshot) -> dict[int, RowAnswer] | None:
        """What is said of each row that has changed; None: there are too many of which nothing is known. Left out are
        rows with the same answers as the last time, where these follow from their amounts."""
        if self._of_usage:
            keys = [snapshot.amounts(row) for row in rows]
            if self._row_answers.unknown(keys) > FEW:
                return None
            answers = self._row_answers.of(keys, rows, lambda new: self._ask(new, info, snapshot))
        elif len(rows) > FEW:
            return None
        else:
            answers = self._ask(rows, info, snapshot)
        by_row = zip(rows, answers, strict=True)
        if not self._of_usage:
            return dict(by_row)
        known = self._answered
        found = {row: one for row, one in by_row if known.get(row) is not one}
        known.update(found)
        return found

    def _ask(self, rows: Sequence[int], info: PodInfo, snapshot: Snapshot) -> list[RowAnswer]:
        """What the rules that look at one row alone say of rows of the whole cluster, (k,). Raises as they do."""
        there = snapshot.take(np.array(rows, np.int64))
        masks = [mask for check in self._row_checks for mask in check.predicate.check(info, there).values()]
        refused = np.logical_or.reduce(masks).tolist() if masks else [False] * len(rows)
        numbers = [score.config.map(info, there).tolist() for score in self._moving]
        every = zip(*numbers, strict=True) if numbers else [()] * len(rows)
        return [(not no, found) for no, found in zip(refused, every, strict=True)]

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
            self._note_looked_at(log)
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

    def _far_changes(
        self, changes: dict[int, list[tuple[str, int]]], info: PodInfo, snapshot: Snapshot, log: ChangeLog
    ) -> bool:
        """Adds the rows whose scores have changed of the rules that look at pods anywhere; whether they are few."""
        refreshes = Refreshes(snapshot, log)
        for score in self._far:
            score.refresh(info, refreshes)
            name = score.config.name
            raw, self._raws[name] = self._raws[name], score.raw
            if score.raw is raw:
                continue
            if isinstance(self._scored.scores[name], int):
                if not self._still_shared(score, raw, info, snapshot):
                    self.volatile.failed(name)
                    return False
                continue
            rows = np.flatnonzero(score.raw != raw)
            if len(rows) > FEW:
                self.volatile.failed(name)
                return False
            for row, number in zip(rows.tolist(), score.raw[rows].tolist(), strict=True):
                changes.setdefault(row, []).append((name, number))
        return True

    def _still_shared(self, score: ScoreState, raw: IntArray, info: PodInfo, snapshot: Snapshot) -> bool:
        """Whether a rule that gave every row one score still gives it that."""
        if score.uniform is None:
            return np.array_equal(score.raw, raw)
        name = score.config.name
        if not isinstance(self._scored.raws.get(name, 0), int):
            return False
        if reduced(info, score, snapshot, None) != self._scored.scores[name]:
            return False
        self._shared_raws[name] = score.uniform
        return True

    # --- of both ---------------------------------------------------------------------------

    def _steady(self, log: ChangeLog) -> bool:
        """Whether nothing but pods has changed."""
        return log.nodes_until <= self._position and log.version_of(self._flags) == self.version

    def _shared_stand(self, info: PodInfo, snapshot: Snapshot) -> bool:
        """Whether the scores that are one number for all rows are so now that other rows fit."""
        view = None
        for score in self._reduced:
            before = self._scored.scores[score.config.name]
            if score.uniform is not None or not isinstance(before, int) or score in self._moving:
                continue
            view = view or snapshot.take(self.feasible)
            now = reduced(info, score, view, self.feasible)
            if not isinstance(now, int) or now != before:
                self.volatile.failed(score.config.name)
                return False
        return True

    def _lines(self, state: ClassState, fitted: IntArray, raws: Mapping[str, IntArray]) -> ScoreLines:
        """The numbers that were scored without the rules that are scored anew."""
        rules = {name: state.config for name, state in state.scores.items()}
        scored = scored_without(self._scored, {score.config.name for score in self._wholes}, self._weights)
        self._scored = without_numbers(self._scored)
        return score_lines(scored, rules, raws, self._names, self._weights, fitted, len(self.ranks))


def _far_checks_changed(state: ClassState, log: ChangeLog) -> bool:
    """Whether something has changed that a check of pods anywhere reads, or time may have changed a verdict."""
    asked = [check for check in state.far_checks if not check.skipped]
    return any(check.predicate.footprint.moment is not None or check.may_have_changed(log) for check in asked)
