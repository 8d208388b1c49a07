"""The weighted totals of one pod class as of its last decision, patched where few rows have changed since.

Most rules' scores change on those rows alone. Rules whose scores change on many rows at a time, as when the pods of a
service are counted and the most that a node has is another number, are scored anew for every decision; what all the
other rules come to is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.holding.held_scores import HeldScores
from kubescheduler.core.holding.total_table import Totalled, TotalTable
from kubescheduler.core.holding.whole_scores import WholeScores
from kubescheduler.core.row_answers import Answers
from kubescheduler.core.score_table import Scores
from kubescheduler.core.scoring import normalised, raw_and_reduced, reduced
from kubescheduler.core.selection import TieBreak
from kubescheduler.core.verdicts import Refreshes, ScoreState
from predicates.types import Verdict
from priorities.types import PriorityConfig

FEW = 32
"""Rows of which something else is said than at the last decision, that are patched one by one."""
SOME = 128
"""Changes since the last decision of which the rows are not looked up while no row's answers are known."""
MANY = 1024
"""Changes since the last decision of which the rows are not looked up."""
LOOKED_AT = 128
"""Rows that have changed since the last decision, whether or not something else is said of them."""


class KeptTotals:
    """What was decided for pods of one class: brought up to date by ``patch``, as long as it can.

    feasible: (n,) int64, the rows that fit, ascending. verdicts, unresolvable: see Decision.
    """

    __slots__ = (
        "_answered",
        "_far",
        "_fits",
        "_flags",
        "_listed",
        "_moving",
        "_names",
        "_pods_version",
        "_position",
        "_ranks",
        "_raws",
        "_reduced",
        "_rows",
        "_said",
        "_scored",
        "_seen",
        "_shared_raws",
        "_state",
        "_table",
        "_version",
        "_weights",
        "_whole",
        "_wholes",
        "feasible",
        "unresolvable",
        "verdicts",
    )

    def __init__(
        self,
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        scored: Totalled,
        weights: Mapping[str, int],
        listed: Mask,
        ranks: IntArray,
    ) -> None:
        """As of now: state was brought up to date, and all rows that fit were scored. listed: (N,) the rows that were
        looked at. ranks: (N,) every row's place in the order of names."""
        self._state = state
        self._scored = scored
        self._said = state.pod_answers(snapshot, log)
        self._weights = weights
        self._listed = listed
        self._ranks = ranks
        self._flags = state.steady_flags
        self._version = log.version_of(self._flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._position = log.position
        self._table: TotalTable | None = None
        self._whole: WholeScores | None = None
        self._shared_raws: dict[str, int] = {}
        self._raws = {name: score.raw for name, score in state.scores.items()}
        self._wholes: tuple[ScoreState, ...] = ()
        self._answered: dict[int, Answers] = {}
        self._read_checks()

    # --- what is kept ----------------------------------------------------------------------

    def scores(self) -> HeldScores:
        """What every rule gave, and the totals, as of the last ``patch``."""
        assert self._table is not None
        return self._table.held(self.feasible, self._whole)

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        assert self._table is not None
        if self._whole is None:
            return self._table.choose(tie_break)
        return self._whole.choose(tie_break, self._ranks)

    def _read_checks(self) -> None:
        state = self._state
        self._seen = [(check, check.verdict, check.unresolvable) for check in state.checks]
        self._fits, self.feasible = state.fits, state.feasible
        asked = [check for check in state.checks if not check.skipped]
        self.verdicts: tuple[tuple[str, Verdict], ...] = tuple([(c.predicate.name, c.verdict) for c in asked])
        self.unresolvable: dict[str, Mask] = {
            check.predicate.name: check.unresolvable for check in asked if check.unresolvable is not None
        }

    # --- bringing it up to date ------------------------------------------------------------

    def patch(self, snapshot: Snapshot, log: ChangeLog, listed: Mask, ranks: IntArray) -> bool:
        """Brings everything up to date. False: it cannot, and says nothing from now on."""
        if listed is not self._listed or ranks is not self._ranks:
            return False
        rows = self._changed(log)
        try:
            if rows is None or not self._patched(rows, snapshot, log):
                return False
        except (SchedulingError, CustomCodeError):
            return False
        self._position = log.position
        return True

    def _changed(self, log: ChangeLog) -> list[int] | None:
        """The rows whose pods have changed; None: too many, or something else has changed."""
        if log.version_of(self._flags) != self._version:
            return None
        many, most = (MANY, LOOKED_AT) if self._answered else (SOME, FEW)
        if log.nodes_until > self._position or log.position - self._position > many:
            return None
        recent = log.since(self._position)
        if recent is None:
            return None
        rows = dict.fromkeys([row for row, _ in recent])
        return None if len(rows) > most else list(rows)

    def _patched(self, rows: list[int], snapshot: Snapshot, log: ChangeLog) -> bool:
        """Raises as rules do."""
        state = self._state
        version = log.version_of(state.pod_flags)
        pods_changed = state.timed or version != self._pods_version
        if pods_changed and state.pod_answers(snapshot, log) != self._said:
            return False
        self._pods_version = version
        if self._table is None:
            self._sort_scores(snapshot, log)
        found = self._answers(rows, snapshot)
        if found is None or len(found) > FEW:
            return False
        fitted = self.feasible
        moved = self._check(
            {row: passes for row, (passes, _) in found.items()}, snapshot, log, pods_changed=pods_changed
        )
        if moved is None or (len(moved) and not self._shared_stand(snapshot)):
            return False
        names = self._names
        changes = {row: list(zip(names, numbers, strict=True)) for row, (_, numbers) in found.items()}
        for row in moved.tolist():
            changes.setdefault(row, [])
        table = self._table
        raws = self._raws if table is not None else self._raws.copy()
        if pods_changed and self._far and not self._far_changes(changes, snapshot, log):
            return False
        table = table or self._build(fitted, raws)
        for name, raw in self._shared_raws.items():
            table.set_raw(name, raw)
        self._shared_raws.clear()
        if not table.put(changes, self._fits, partial(self._reduce, snapshot)):
            if table.moved_on:
                state.volatile.failed(table.moved_on)
            return False
        state.volatile.held()
        if self._wholes:
            self._whole = self._scored_anew(table, snapshot, log)
        return True

    def _answers(self, rows: Sequence[int], snapshot: Snapshot) -> dict[int, Answers] | None:
        """What is said of each row that has changed; None: there are too many of which nothing is known. Left out are
        rows with the same answers as the last time, where these follow from their amounts."""
        if self._rows.unknown(rows, snapshot) > FEW:
            return None
        answers = zip(rows, self._rows.of(rows, self._state.info, snapshot), strict=True)
        if not self._rows.by_usage:
            return dict(answers)
        known = self._answered
        found = {row: one for row, one in answers if known.get(row) is not one}
        known.update(found)
        return found

    def _check(
        self, passes: Mapping[int, bool], snapshot: Snapshot, log: ChangeLog, *, pods_changed: bool
    ) -> IntArray | None:
        """The rows that have come to fit or no longer do; None: too many, or a check errs. passes: row → whether it
        passes now the checks that look at one row alone, of those that have changed."""
        if self._stand_as_seen() and not self._refuse_any(passes):
            for check in self._rows.checks:
                check.position = log.position
            if not (pods_changed and self._far_checks_changed(log)):
                return NO_NUMBERS
        self._state.check(snapshot, log, self._listed)
        if any(check.erring for check in self._state.checks):
            return None
        before = self._fits
        self._read_checks()
        if self._fits is before:
            return NO_NUMBERS
        moved: IntArray = (self._fits != before).nonzero()[0]
        return moved if len(moved) <= FEW and len(self.feasible) > 1 else None

    def _refuse_any(self, passes: Mapping[int, bool]) -> bool:
        """Whether one of these rows is refused now, or was the last time."""
        local = [check.failing for check in self._rows.checks if check.failing is not None]
        return not all(passes.values()) or any(failing[row] for failing in local for row in passes)

    def _far_checks_changed(self, log: ChangeLog) -> bool:
        """Whether something has changed that a check of pods anywhere reads, or time may have changed a verdict."""
        asked = [s for s in self._state.far_checks if not s.skipped]
        return any(s.predicate.moment is not None or s.may_have_changed(log) for s in asked)

    def _stand_as_seen(self) -> bool:
        """Whether no verdict was brought up to date for other pods that share it."""
        for check, verdict, unresolvable in self._seen:
            if check.verdict is not verdict or check.unresolvable is not unresolvable:
                return False
        return True

    def _far_changes(self, changes: dict[int, list[tuple[str, int]]], snapshot: Snapshot, log: ChangeLog) -> bool:
        """Adds the rows whose scores have changed of the rules that look at pods anywhere; whether they are few."""
        refreshes = Refreshes(snapshot, log)
        for score in self._far:
            score.refresh(self._state.info, refreshes)
            name = score.config.name
            raw, self._raws[name] = self._raws[name], score.raw
            if score.raw is raw:
                continue
            if isinstance(self._scored.scores[name], int):
                if not self._still_shared(score, raw, snapshot):
                    self._state.volatile.failed(name)
                    return False
                continue
            rows = np.flatnonzero(score.raw != raw)
            if len(rows) > FEW:
                self._state.volatile.failed(name)
                return False
            for row, number in zip(rows.tolist(), score.raw[rows].tolist(), strict=True):
                changes.setdefault(row, []).append((name, number))
        return True

    def _still_shared(self, score: ScoreState, raw: IntArray, snapshot: Snapshot) -> bool:
        """Whether a rule that gave every row one score still gives it that."""
        if score.uniform is None:
            return np.array_equal(score.raw, raw)
        name = score.config.name
        if not isinstance(self._scored.raws.get(name, 0), int):
            return False
        if reduced(self._state.info, score, snapshot, None) != self._scored.scores[name]:
            return False
        self._shared_raws[name] = score.uniform
        return True

    def _shared_stand(self, snapshot: Snapshot) -> bool:
        """Whether the scores that are one number for all rows are so now that other rows fit."""
        view = None
        for score in self._reduced:
            before = self._scored.scores[score.config.name]
            if score.uniform is not None or not isinstance(before, int) or score in self._moving:
                continue
            view = view or snapshot.take(self.feasible)
            now = reduced(self._state.info, score, view, self.feasible)
            if not isinstance(now, int) or now != before:
                self._state.volatile.failed(score.config.name)
                return False
        return True

    def _reduce(self, snapshot: Snapshot, name: str, numbers: IntArray) -> IntArray:
        """(k,) the scores that (k,) distinct raw numbers come to, of a rule that looks at nothing else."""
        reduce = self._state.scores[name].config.reduce
        assert reduce is not None
        return reduce(self._state.info, snapshot.take(self.feasible[: len(numbers)]), numbers)

    def _scored_anew(self, table: TotalTable, snapshot: Snapshot, log: ChangeLog) -> WholeScores:
        """What the rules give that the table does not have, and with it all totals. Raises as rules do."""
        state, feasible, weights = self._state, self.feasible, self._weights
        rows = None if len(feasible) == len(snapshot) else feasible
        view = snapshot if rows is None else snapshot.take(rows)
        refreshes = Refreshes(snapshot, log)
        totals = table.totals(feasible)
        raws, finals, constant = {}, {}, 0
        for score in self._wholes:
            name = score.config.name
            if score.config.by_nodes:
                raws[name], final = normalised(score.config, state.info, view, score.config.map(state.info, view))
            else:
                score.refresh(state.info, refreshes)
                raws[name], final = raw_and_reduced(state.info, score, view, rows)
            finals[name] = final
            if isinstance(final, int):
                constant += weights[name] * final
            else:
                totals += final if weights[name] == 1 else np.int64(weights[name]) * final
        if constant:
            totals += np.int64(wrap(constant))
        known = {name: raw for name, raw in raws.items() if name in self._scored.raws}
        return WholeScores(tuple(self._scored.scores), finals, known, feasible, totals)

    # --- the table -------------------------------------------------------------------------

    def _sort_scores(self, snapshot: Snapshot, log: ChangeLog) -> None:
        """Which scores are asked row by row, which as a whole, and which stay."""
        state = self._state
        scores = [state.scores[name] for name in self._scored.scores if name in state.scores]
        scores = [score for score in scores if not score.config.stands(state.info, snapshot)]
        volatile = state.volatile.names
        self._wholes = tuple(s for s in scores if not _follows(s.config) or s.config.name in volatile)
        scores = [score for score in scores if score not in self._wholes]
        self._far = [score for score in scores if score.of_pods_anywhere]
        self._reduced = [score for score in scores if score.config.reduce is not None]
        self._moving = [score for score in scores if score.of_own_pods and not score.of_pods_anywhere]
        self._names = [score.config.name for score in self._moving]
        self._rows = state.row_answers(self._moving, log)

    def _build(self, fitted: IntArray, raws: Mapping[str, IntArray]) -> TotalTable:
        """The table of all numbers. fitted: (n,) the rows that were scored. raws: rule → its raw numbers then."""
        rules = {name: state.config for name, state in self._state.scores.items()}
        table = TotalTable(self._kept(), rules, raws, self._names, self._weights, fitted, self._ranks)
        self._table = table
        self._scored = _Steady(NO_NUMBERS, _without_numbers(self._scored.scores), _without_numbers(self._scored.raws))
        return table

    def _kept(self) -> Totalled:
        """What was decided without the rules that are scored anew."""
        if not self._wholes:
            return self._scored
        wholes = {score.config.name for score in self._wholes}
        totals = self._scored.totals
        for name in wholes:
            final = self._scored.scores[name]
            weight = self._weights[name]
            totals = totals - (np.int64(wrap(weight * final)) if isinstance(final, int) else np.int64(weight) * final)
        scores = {name: final for name, final in self._scored.scores.items() if name not in wholes}
        return _Steady(totals, scores, {name: raw for name, raw in self._scored.raws.items() if name not in wholes})


class _Steady(msgspec.Struct, frozen=True, eq=False):
    """See Totalled."""

    totals: IntArray
    scores: Mapping[str, Scores]
    raws: Mapping[str, Scores]


def _without_numbers(scores: Mapping[str, Scores]) -> dict[str, Scores]:
    """The rules in order, with the one score that all rows have, or no numbers."""
    return {name: score if isinstance(score, int) else NO_NUMBERS for name, score in scores.items()}


def _follows(config: PriorityConfig) -> bool:
    """Whether a rule's scores follow from its numbers alone."""
    return config.settle is None and (config.reduce is None or config.valuewise)


def is_kept(state: ClassState, names: Iterable[str]) -> bool:
    """Whether the scores of these rules are kept: all are of rules over columns, and pods of the class came before, so
    that more may come."""
    return state.scorings > 1 and all(name in state.scores or name in state.constants for name in names)
