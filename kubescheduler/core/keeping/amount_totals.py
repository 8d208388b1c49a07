"""Totals that classes share where everything that changes with pods follows from the amounts on single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.growable import IntArray, Mask
from clusterstate.snapshot import Snapshot
from kubescheduler.core.answers import ScoreState
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.keeping.begun_totals import BegunTotals
from kubescheduler.core.total_tables import AmountAnswers, AmountTable, Totalled, static_totals


class AmountTotals(BegunTotals):
    """Brought up to date by the codes of the amounts on rows, in a few operations on arrays however many have changed.

    What rules say that look at pods anywhere stands as long as no such pod comes or goes.
    """

    __slots__ = (
        "_amount_answers",
        "_amount_table",
        "_by_amounts",
        "_codes_position",
        "_far_flags",
        "_far_version",
        "_wide",
    )

    def __init__(self, weights: Mapping[str, int]) -> None:
        """See ``BegunTotals``."""
        super().__init__(weights)
        self._amount_answers: AmountAnswers | None = None
        self._wide: object = None
        """The names of the volatile rules when it was found that more than the amounts on rows changes, or that totals
        are too far from 0."""

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
        made_of = self._made_of
        super().begin(state, snapshot, log, scored, listed, ranks, wholes)
        if self._made_of is not made_of:
            self._amount_answers = None
        self._amount_table: AmountTable | None = None
        self._codes_position = snapshot.amount_codes.position
        far = [*[check for check in state.far_checks if not check.skipped], *self._far]
        self._far_flags = tuple(sorted({flag for rule in far for flag in rule.far}))
        self._far_version = log.version_of(self._far_flags)
        self._by_amounts = (
            self._rows.by_usage
            and self._wide is not self.volatile.names
            and not any(rule.of_own_pods for rule in far)
            and not any(check.predicate.footprint.moment is not None for check in state.checks if not check.skipped)
            and not any(self._is_normalised(score) for score in self._reduced)
        )

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
        """Reads anew which of some rows fit; whether that changes the scores of no others."""
        self.late = table.verdicts()
        fit = table.fit(rows)
        if (self._fits[rows] == fit).all():
            return True
        self._fits = self._fits.copy()
        self._fits[rows] = fit
        self.feasible = self._fits.nonzero()[0]
        return len(self.feasible) > 1 and self._shared_stand(state.info, snapshot)

    def _table_by_amounts(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> AmountTable | None:
        """The table of all numbers; None: some total is too far from 0."""
        own = self._rows.checks
        asked = [check for check in state.checks if not check.skipped]
        masks = [check.failing for check in asked if check.failing is not None and check not in own]
        lines = self._lines(state, self.feasible, self._raws)
        static = static_totals(lines, self._names, listed & ~np.logical_or.reduce(masks) if masks else listed)
        if static is None:
            return None
        verdicts = [(name, verdict, self.unresolvable.get(name)) for name, verdict in self.verdicts]
        by_amounts = [asked.index(check) for check in own]
        answers = self._answers_by_amounts(snapshot)
        position = self._codes_position
        return AmountTable(lines, self._names, static, verdicts, by_amounts, answers, position, self.ranks)

    def _answers_by_amounts(self, snapshot: Snapshot) -> AmountAnswers:
        """What the rules said of amounts before, as long as codes mean the same."""
        codes = snapshot.amount_codes
        if self._amount_answers is None or not self._amount_answers.is_of(codes):
            weights = [self._weights[name] for name in self._names]
            self._amount_answers = AmountAnswers(self._rows.checks, self._moving, weights, codes)
        return self._amount_answers
