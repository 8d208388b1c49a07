"""The weighted totals that pod classes have in common, as of the last decision on a pod of any of them, patched where
few rows have changed since.

Classes that differ in nothing but which pods they are spread from, as those of different services do, share them: a pod
that is placed changes one row of one table, and not of a table for each class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.answers import Refreshes, RowAnswer, ScoreState
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.keeping.amount_totals import AmountTotals
from kubescheduler.core.scoring import reduced
from kubescheduler.core.total_tables import AmountTable, Totalled, TotalTable

FEW = 32
"""Rows of which something else is said than at the last decision, that are patched one by one."""
SOME = 128
"""Changes since the last decision of which the rows are not looked up while no row's answers are known."""
MANY = 1024
"""Changes since the last decision of which the rows are not looked up."""
LOOKED_AT = 128
"""Rows that have changed since the last decision, whether or not something else is said of them."""


class SharedTotals(AmountTotals):
    """What was decided for pods of some classes: brought up to date by ``patch``, as long as it can.

    The classes have the same verdicts, and the same scores but for rules that are scored anew for every decision.
    """

    __slots__ = ("__weakref__", "_answered", "_seen", "_shared_raws", "_table")

    def begin(
        self,
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        scored: Totalled,
        listed: Mask,
        ranks: IntArray,
        wholes: Sequence[ScoreState],
    ) -> None:
        """See ``BegunTotals``."""
        super().begin(state, snapshot, log, scored, listed, ranks, wholes)
        self._table: TotalTable | None = None
        self._shared_raws: dict[str, int] = {}
        self._answered: dict[int, RowAnswer] = {}
        self._listed = listed

    def _read_checks(self, state: ClassState) -> None:
        """What the verdicts are now."""
        super()._read_checks(state)
        self._seen = [(check, check.verdict, check.unresolvable) for check in state.checks]

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

    def _note_looked_at(self, log: ChangeLog) -> None:
        """Verdicts that follow from the amounts on rows are as they were."""
        for check in self._rows.checks:
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
        table = table or self._table_by_rows(state, fitted, raws)
        for name, raw in self._shared_raws.items():
            table.set_raw(name, raw)
        self._shared_raws.clear()
        if not table.put(changes, self._fits, partial(self._reduce, state, snapshot)):
            if table.moved_on:
                self.volatile.failed(table.moved_on)
            return False
        self.volatile.held()
        return True

    def _answers(self, rows: Sequence[int], info: PodInfo, snapshot: Snapshot) -> dict[int, RowAnswer] | None:
        """What is said of each row that has changed; None: there are too many of which nothing is known. Left out are
        rows with the same answers as the last time, where these follow from their amounts."""
        answers = self._rows.of(rows, info, snapshot, FEW)
        if answers is None:
            return None
        by_row = zip(rows, answers, strict=True)
        if not self._rows.by_usage:
            return dict(by_row)
        known = self._answered
        found = {row: one for row, one in by_row if known.get(row) is not one}
        known.update(found)
        return found

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
        local = [check.failing for check in self._rows.checks if check.failing is not None]
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

    def _reduce(self, state: ClassState, snapshot: Snapshot, name: str, numbers: IntArray) -> IntArray:
        """(k,) the scores that (k,) distinct raw numbers come to, of a rule that looks at nothing else."""
        reduce = state.scores[name].config.reduce
        assert reduce is not None
        return reduce(state.info, snapshot.take(self.feasible[: len(numbers)]), numbers)

    # --- the table -------------------------------------------------------------------------

    def _table_by_rows(self, state: ClassState, fitted: IntArray, raws: Mapping[str, IntArray]) -> TotalTable:
        """The table of all numbers. fitted: (n,) the rows that were scored. raws: rule → its raw numbers then."""
        table = self._table = TotalTable(self._lines(state, fitted, raws), self.ranks)
        return table


def _far_checks_changed(state: ClassState, log: ChangeLog) -> bool:
    """Whether something has changed that a check of pods anywhere reads, or time may have changed a verdict."""
    asked = [check for check in state.far_checks if not check.skipped]
    return any(check.predicate.footprint.moment is not None or check.may_have_changed(log) for check in asked)
