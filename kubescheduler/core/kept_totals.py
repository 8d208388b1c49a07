"""The weighted totals of one pod class as of its last decision, patched where few rows have changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.snapshot import Snapshot
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.holding.held_scores import HeldScores
from kubescheduler.core.holding.total_table import Totalled, TotalTable
from kubescheduler.core.scoring import reduced
from kubescheduler.core.selection import TieBreak
from kubescheduler.core.verdicts import NODE, Refreshes, ScoreState
from predicates.types import Verdict

FEW = 32
"""Changes since the last decision, and rows that come to fit or no longer do, that are patched one by one."""


class KeptTotals:
    """What was decided for pods of one class: brought up to date by ``patch``, as long as it can.

    feasible: (n,) int64, the rows that fit, ascending. verdicts, unresolvable: see Decision.
    """

    __slots__ = (
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
        self._said = state.said_of_pod(snapshot, log)
        self._weights = weights
        self._listed = listed
        self._ranks = ranks
        self._flags = state.steady_flags
        self._version = log.version_of(self._flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._position = log.position
        self._table: TotalTable | None = None
        self._shared_raws: dict[str, int] = {}
        self._raws = {name: score.raw for name, score in state.scores.items()}
        self._read_checks()

    # --- what is kept ----------------------------------------------------------------------

    def scores(self) -> HeldScores:
        """What every rule gave, and the totals, as of the last ``patch``."""
        assert self._table is not None
        return self._table.held(self.feasible)

    def choose(self, tie_break: TieBreak) -> int:
        """One of the rows with the highest total."""
        assert self._table is not None
        return self._table.choose(tie_break)

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
        recent = log.since(self._position)
        if recent is None or len(recent) > FEW:
            return None
        for _, what in recent:
            if what & NODE:
                return None
        return list(dict.fromkeys([row for row, _ in recent]))

    def _patched(self, rows: list[int], snapshot: Snapshot, log: ChangeLog) -> bool:
        """Raises as rules do."""
        state = self._state
        version = log.version_of(state.pod_flags)
        stirred = state.timed or version != self._pods_version
        if stirred and state.said_of_pod(snapshot, log) != self._said:
            return False
        self._pods_version = version
        if self._table is None:
            self._sort_scores(snapshot)
        found = [self._rows.of(row, state.info, snapshot) for row in rows]
        fitted = self.feasible
        moved = self._check(rows, [passes for passes, _ in found], snapshot, log, stirred=stirred)
        if moved is None or (len(moved) and not self._shared_stand(snapshot)):
            return False
        changes: dict[int, list[tuple[str, int]]] = {}
        for row, (_, numbers) in zip(rows, found, strict=True):
            changes[row] = list(zip(self._names, numbers, strict=True))
        for row in moved.tolist():
            changes.setdefault(row, [])
        table = self._table
        raws = self._raws if table is not None else self._raws.copy()
        if stirred and self._far and not self._far_changes(changes, snapshot, log):
            return False
        table = table or self._build(fitted, raws)
        for name, raw in self._shared_raws.items():
            table.set_raw(name, raw)
        self._shared_raws.clear()
        return table.put(changes, self._fits, partial(self._reduce, snapshot))

    def _check(
        self, rows: Sequence[int], passes: Sequence[bool], snapshot: Snapshot, log: ChangeLog, *, stirred: bool
    ) -> IntArray | None:
        """The rows that have come to fit or no longer do; None: too many, or a check errs."""
        local = self._rows.checks
        for row, passed in zip(rows, passes, strict=True):
            if not passed or any(check.failing is not None and check.failing[row] for check in local):
                break
        else:
            for check in local:
                check.position = log.position
            if not stirred and self._stand_as_seen():
                return NO_NUMBERS
        self._state.check(snapshot, log, self._listed)
        if any(check.erring for check in self._state.checks):
            return None
        before = self._fits
        self._read_checks()
        if self._fits is before:
            return NO_NUMBERS
        moved = np.flatnonzero(self._fits != before)
        return moved if len(moved) <= FEW and len(self.feasible) > 1 else None

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
                    return False
                continue
            rows = np.flatnonzero(score.raw != raw)
            if len(rows) > FEW:
                return False
            for row, number in zip(rows.tolist(), score.raw[rows].tolist(), strict=True):
                changes.setdefault(row, []).append((name, number))
        return True

    def _still_shared(self, score: ScoreState, raw: IntArray, snapshot: Snapshot) -> bool:
        """Whether a rule that gave every row one score still gives it that."""
        if score.uniform is None:
            return np.array_equal(score.raw, raw)
        name = score.config.name
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
                return False
        return True

    def _reduce(self, snapshot: Snapshot, name: str, numbers: IntArray) -> IntArray:
        """(k,) the scores that (k,) distinct raw numbers come to, of a rule that looks at nothing else."""
        reduce = self._state.scores[name].config.reduce
        assert reduce is not None
        return reduce(self._state.info, snapshot.take(self.feasible[: len(numbers)]), numbers)

    # --- the table -------------------------------------------------------------------------

    def _sort_scores(self, snapshot: Snapshot) -> None:
        """Which scores are asked row by row, which as a whole, and which stay."""
        state = self._state
        scores = [state.scores[name] for name in self._scored.scores if name in state.scores]
        scores = [score for score in scores if not score.config.stands(state.info, snapshot)]
        self._far = [score for score in scores if score.of_pods_anywhere]
        self._reduced = [score for score in scores if score.config.reduce is not None]
        self._moving = [score for score in scores if score.of_own_pods and not score.of_pods_anywhere]
        self._names = [score.config.name for score in self._moving]
        self._rows = state.row_answers(self._moving)

    def _build(self, fitted: IntArray, raws: Mapping[str, IntArray]) -> TotalTable:
        """The table of all numbers. fitted: (n,) the rows that were scored. raws: rule → its raw numbers then."""
        rules = {name: state.config for name, state in self._state.scores.items()}
        table = TotalTable(self._scored, rules, raws, self._names, self._weights, fitted, self._ranks)
        self._table = table
        return table


def is_kept(state: ClassState, names: Iterable[str], snapshot: Snapshot) -> bool:
    """Whether the scores of these rules can be kept: none looks at pods when it is normalised."""
    for name in names:
        score = state.scores.get(name)
        if score is None:
            if name not in state.constants:
                return False
            continue
        config = score.config
        follows = config.settle is None and (config.reduce is None or config.valuewise or config.by_nodes)
        if not follows and not config.stands(state.info, snapshot):
            return False
    return True
