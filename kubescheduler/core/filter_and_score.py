"""Which nodes fit, by all checks in order, and which are best, by weighted rules over those that fit.

A check is a predicate or the Filter of a plugin over columns, a rule that scores a priority or its Score. What custom
plugins add is in ``framework/deciding/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import FrozenMap, Pod
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.algorithm import AttemptRules
from kubescheduler.core.extender_calls import SeenNodes
from kubescheduler.core.filter_results import NO_VALUES, RowValues
from kubescheduler.core.nominated import (
    Found,
    KeptJudgements,
    NominatedJudgement,
    NominatedRefusals,
    apart_from,
    judge,
    judged_one_by_one,
)
from kubescheduler.core.pod_classes import (
    FIRST_ROW,
    CheckState,
    ClassState,
    RawAndReduced,
    Scores,
    normalised,
)
from kubescheduler.core.status import Code
from predicates.types import FitPredicate, NodeError, Verdict, failing
from priorities.types import PriorityError


class Filtered(msgspec.Struct, eq=False):
    """See Decision for the fields."""

    listed: Mask
    feasible: IntArray = NO_NUMBERS
    everywhere: bool = False
    """``feasible`` are all rows there are, in order."""
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    unresolvable: Mapping[str, Mask] = FrozenMap()
    pending: Mapping[str, Mask] = FrozenMap()
    with_nominated: RowValues[Found] = NO_VALUES
    nominated_codes: RowValues[Code] = NO_VALUES


class Filtering(msgspec.Struct, frozen=True, eq=False):
    """One attempt's checks of nodes. Upstream: 1.16 podFitsOnNode, later findNodesThatPassFilters."""

    pod: Pod
    state: ClassState
    cache: ClusterCache
    rules: AttemptRules
    all_run: bool
    """Every check is run on every node, not just until one refuses it."""

    def checks(self) -> list[FitPredicate]:
        """Those that have something to say, in order."""
        return [check.predicate for check in self.running()]

    def running(self) -> list[CheckState]:
        """What is remembered of them."""
        return [check for check in self.state.checks if not check.skipped]

    def run(self, rows: Mask | None = None, *, every: bool = False, nominated: bool = True) -> Filtered:
        """Judges the listed rows (of ``rows`` only, if given). every: custom checks judge all rows, not just those that
        are left. nominated: rows are judged with the pods that are nominated there, too.

        A row where a check errs does not pass; see ``raise_error``. Raises SchedulingError when one errs with pods that
        are nominated.
        """
        columns, snapshot = self.cache.columns, self.cache.snapshot()
        _, listed = columns.published
        self.state.check(snapshot, columns.log, listed)
        looked_at = listed if rows is None else listed & rows
        passed = self.judged(snapshot, listed, looked_at, every=every)
        if rows is not None:
            passed.feasible, passed.everywhere = passed.feasible[rows[passed.feasible]], False
        if nominated and self.rules.nominates and self.cache.nominated():
            self._judge_nominated(passed, looked_at)
        return passed

    def judged(self, snapshot: Snapshot, listed: Mask, looked_at: Mask, *, every: bool) -> Filtered:  # noqa: ARG002
        """What the checks say, brought up to date, apart from nominated pods. looked_at: (N,) bool."""
        running, state = self.running(), self.state
        verdicts = tuple([(check.predicate.name, check.verdict) for check in running])
        hopeless = {c.predicate.name: c.unresolvable for c in running if c.unresolvable is not None}
        return Filtered(listed, state.feasible, state.everywhere, verdicts, hopeless)

    # --- nominated pods --------------------------------------------------------------------

    def _judge_nominated(self, passed: Filtered, rows: Mask) -> None:
        """Rows where the pod does not fit with the pods that are nominated there fail for that: those of at least its
        priority, itself excepted."""
        refusals = self.remembered_refusals(rows)
        if refusals is None:
            checks = self.checks()
            refusals = judged_one_by_one(self.pod, self.cache, rows, lambda there: self.judge(there, checks))
        if refusals.error is not None:
            raise SchedulingError(self.rules.filter_errors([(self._text(*refusals.error), FIRST_ROW)]))
        if refusals.found:
            passed.with_nominated, passed.nominated_codes = refusals.found, refusals.codes
            passed.feasible = apart_from(passed.feasible, refusals.found, len(rows))
            passed.everywhere = False

    def remembered_refusals(self, rows: Mask) -> NominatedRefusals | None:
        """The rows that fail so, from what is remembered of the class; None: nothing can be."""
        if self.state.judgements is None:
            self.state.judgements = KeptJudgements(self.cache)
        kept: KeptJudgements = self.state.judgements
        return kept.judge(self.pod, self.state.info, self.checks(), rows, every=self.all_run)

    def judge(self, there: Snapshot, checks: Sequence[FitPredicate]) -> NominatedJudgement:
        """What checks say of a snapshot of one row."""
        return judge(self.state.info, there, checks, every=self.all_run)[0]

    # --- errors ----------------------------------------------------------------------------

    def raise_error(self, passed: Filtered, rows: Mask | None) -> None:
        """Raises SchedulingError when a check erred on a row that was looked at (of ``rows`` only, if given), and that
        no earlier one has refused."""
        if not self.may_err():
            return
        alive = passed.listed.copy() if rows is None else passed.listed & rows
        alive[passed.with_nominated.rows] = False
        errors: list[tuple[str, IntArray]] = []
        for name, verdict in passed.verdicts:
            for reason, mask in verdict.items():
                if isinstance(reason, NodeError):
                    hit = (mask & alive).nonzero()[0]
                    alive[hit] = False
                    if len(hit):
                        errors.append((self._text(name, reason), hit))
            refused = None if self.all_run else failing(verdict)
            if refused is not None:
                alive &= ~refused
        if errors:
            raise SchedulingError(self.rules.filter_errors(errors))

    def may_err(self) -> bool:
        """Whether some check may have erred."""
        return any(check.erring for check in self.state.checks)

    def _text(self, check: str, error: NodeError) -> str:
        return self.rules.filter_error(check, self.pod.metadata.name, error.about(self.pod.key))


class ScoreTable(Mapping[str, Scores]):
    """Priority → its scores of the nodes that fit, (n,) int64, or the one score that all of them have."""

    __slots__ = ("by_priority", "feasible", "names")

    def __init__(self, by_priority: Mapping[str, Scores], names: tuple[str, ...], feasible: IntArray) -> None:
        """names: of all rows. feasible: (n,) int64, the rows that fit, in list order."""
        self.by_priority = by_priority
        self.names = names
        self.feasible = feasible

    def __getitem__(self, priority: str) -> Scores:
        return self.by_priority[priority]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_priority)

    def __len__(self) -> int:
        return len(self.by_priority)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Priority → node → score, before the weight; empty when nothing was scored, as when just one node fits."""
        return {name: self.by_node(scores) for name, scores in self.by_priority.items()}

    def by_node(self, scores: Scores) -> dict[str, int]:
        """Node → its number among those of the feasible rows."""
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}


class Scored(msgspec.Struct, eq=False):
    """See Decision for the fields."""

    totals: IntArray = NO_NUMBERS
    scores: dict[str, Scores] = msgspec.field(default_factory=dict)
    raws: dict[str, Scores] = msgspec.field(default_factory=dict)
    """Before they were normalised, where the release keeps these."""


def weighted_sum(given: Iterable[tuple[Scores, int]], size: int) -> IntArray:
    """(n,) int64: the sum of scores times their weights, wrapping at 64 bits."""
    totals: IntArray | None = None
    constant = 0
    for scores, weight in given:
        if isinstance(scores, int):
            constant += weight * scores
        else:
            weighted = scores if weight == 1 else np.int64(weight) * scores
            totals = weighted if totals is None else totals + weighted
    if totals is None:
        totals = np.zeros(size, np.int64)
    return totals + np.int64(wrap(constant))


class Scoring(msgspec.Struct, frozen=True, eq=False):
    """One attempt's scores of the nodes that fit. Upstream: 1.16 PrioritizeNodes, later prioritizeNodes."""

    state: ClassState
    weights: Mapping[str, int]
    """Rule → its weight, of all that may score, in order."""
    rules: AttemptRules
    snapshot: Snapshot
    view: Snapshot
    """Over exactly the nodes that fit."""
    feasible: IntArray | None
    """(n,) the rows of the nodes that fit; None: all rows there are."""
    nothing: int
    """What every node has where no rule scores; 0: extenders do."""
    views: Mapping[str, SeenNodes] = FrozenMap()
    """Rule → the nodes that fit as it reads them, where ``view`` has them otherwise."""

    def run(self, log: ChangeLog) -> Scored:
        """Scores of every rule and their weighted sum, wrapping at 64 bits. Raises SchedulingError with the release's
        text when a rule fails."""
        if self.nothing and not self.weights:
            return Scored(np.full(len(self.view), self.nothing, np.int64))
        asked = self.asked(log)
        if not self.state.scores.keys() <= self.views.keys():
            self._refresh(log)
        scored, given = Scored(), []
        for name in asked:
            raw, final = self.one(name)
            scored.scores[name] = final
            if self.rules.keeps_raws:
                scored.raws[name] = raw
            given.append((final, self.weights[name]))
        scored.totals = weighted_sum(given, len(self.view))
        return scored

    def asked(self, log: ChangeLog) -> Iterable[str]:  # noqa: ARG002
        """The rules that score this time."""
        return self.weights

    def _refresh(self, log: ChangeLog) -> None:
        """Brings what is remembered of rules over columns up to date."""
        try:
            self.state.score(self.snapshot, log)
        except PriorityError as error:
            raise self._failed(next(name for name, s in self.state.scores.items() if s.failed), error) from error

    def one(self, name: str) -> RawAndReduced:
        """One rule's scores, and what they were before they were normalised."""
        constant = self.state.constants.get(name)
        if constant is not None:
            return constant, constant
        score, info = self.state.scores[name], self.state.info
        try:
            if name in self.views:
                pod, nodes = self.views[name]
                return normalised(score.config, pod, nodes, score.config.map(pod, nodes))
            return score.of_feasible(info, self.view, self.feasible)
        except PriorityError as error:
            raise self._failed(name, error) from error

    def _failed(self, name: str, error: PriorityError) -> SchedulingError:
        return SchedulingError(self.rules.score_error(name, error, len(self.view)))
