"""Filter: which nodes pass every plugin, with the pods nominated to them and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.filter_and_score import Filtered
from kubescheduler.core.nominated import Found, apart_from, judged_one_by_one, judgements_of
from kubescheduler.core.pod_classes import CheckState, ClassState
from kubescheduler.core.status import Code
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.deciding.adapters import OwnFilter
from kubescheduler.framework.deciding.compiled_profile import Compiled
from predicates.types import FitPredicate, NodeError, Verdict, failing, unresolvable

ErrorText = Callable[[str, str, str], str]
"""Of (plugin, pod name, text): the text with which a Filter error gives up the attempt."""


class Filtering(msgspec.Struct, frozen=True, eq=False):
    """One attempt's Filter plugins on one pod."""

    pod: Pod
    state: ClassState
    compiled: Compiled
    cycle: CycleState
    cache: ClusterCache
    error_text: ErrorText
    own: Mapping[str, OwnFilter]
    """The custom Filter plugins that do not skip this pod."""

    @classmethod
    def of(
        cls,
        pod: Pod,
        state: ClassState,
        compiled: Compiled,
        cycle: CycleState,
        cache: ClusterCache,
        error_text: ErrorText,
        rejected: frozenset[Code],
    ) -> Filtering:
        """After PreFilter was run. rejected: the codes that refuse a node."""
        own = {
            name: OwnFilter(plugin, cycle, pod, rejected, name in compiled.own_pre_filters)
            for name, plugin in compiled.own_filters.items()
            if name not in cycle.skip_filter
        }
        return cls(pod, state, compiled, cycle, cache, error_text, own)

    def checks(self) -> list[FitPredicate]:
        """The Filter plugins that have something to say, in order, over columns."""
        out: list[FitPredicate] = []
        for name in self.compiled.order:
            column = self.state.by_name.get(name)
            if column is not None:
                if not column.skipped:
                    out.append(column.predicate)
            elif name in self.own:
                out.append(self.own[name].predicate)
        return out

    def run(self, rows: Mask | None, *, every: bool, nominated: bool = True) -> Filtered:
        """Judges the listed rows (of ``rows`` only, if given). every: custom plugins judge all rows, not just
        those that are left. nominated: rows are judged with the pods that are nominated there, too.

        A row where a plugin errs does not pass; see ``raise_error``. Raises SchedulingError when one errs with pods
        that are nominated.
        """
        columns, own = self.cache.columns, self.own
        _, listed = columns.published
        snapshot = self.cache.snapshot()
        self.state.check(snapshot, columns.log, listed)
        feasible, everywhere = self.state.feasible, self.state.everywhere
        looked_at = listed if rows is None else listed & rows
        every = every or self.compiled.algorithm.always_check_all_predicates
        running = self._running()
        columns_say = [(check.predicate.name, check.verdict) for check in running]
        verdicts = self._with_own(snapshot, looked_at, every) if own else columns_say
        hopeless = {c.predicate.name: c.unresolvable for c in running if c.unresolvable is not None}
        passed = Filtered(listed, feasible, everywhere, tuple(verdicts), hopeless)
        if own:
            self._narrow_by_own(passed, snapshot)
        if rows is not None:
            passed.feasible, passed.everywhere = passed.feasible[rows[passed.feasible]], False
        if nominated and self.cache.nominated():
            self._judge_nominated(passed, looked_at)
        return passed

    def refused_by_plugins(self, row: int) -> bool:
        """Whether the first plugin that does not pass a listed row refuses it, rather than errs.

        Pods that are nominated there are not counted. Upstream: RunFilterPlugins.
        """
        _, listed = self.cache.columns.published
        snapshot = self.cache.snapshot()
        self.state.check(snapshot, self.cache.columns.log, listed)
        alone = np.zeros(len(listed), np.bool_)
        alone[row] = True
        for _, verdict in self._with_own(snapshot, alone, every=False):
            reasons = [reason for reason, mask in verdict.items() if mask[row]]
            if reasons:
                return not any(isinstance(reason, NodeError) for reason in reasons)
        return False

    def raise_error(self, passed: Filtered, rows: Mask | None) -> None:
        """Raises SchedulingError when a plugin erred on a row that was looked at (of ``rows`` only, if given)."""
        if self.own or any(check.erring for check in self.state.checks):
            self._raise_error(passed, passed.listed if rows is None else passed.listed & rows)

    def _running(self) -> list[CheckState]:
        return [check for check in self.state.checks if not check.skipped]

    def _with_own(self, snapshot: Snapshot, rows: Mask, every: bool) -> Iterator[tuple[str, Verdict]]:
        """Custom plugins judge the rows that are left when it is their turn."""
        left = rows.copy()
        for name in self.compiled.order:
            column = self.state.by_name.get(name)
            if column is not None:
                if not column.skipped:
                    yield name, column.verdict
                    if column.failing is not None and not every:
                        left &= ~column.failing
            elif name in self.own:
                at = np.flatnonzero(left)
                here = self.own[name].check(self.state.info, snapshot.take(at)) if len(at) else {}
                verdict = {reason: _spread(mask, at, len(left)) for reason, mask in here.items()}
                yield name, verdict
                refused = failing(verdict)
                if refused is not None and not every:
                    left &= ~refused

    def _narrow_by_own(self, passed: Filtered, snapshot: Snapshot) -> None:
        fits = np.zeros(len(passed.listed), np.bool_)
        fits[passed.feasible] = True
        beyond, waiting = dict(passed.unresolvable), {}
        for name, verdict in passed.verdicts:
            refused = failing(verdict) if name in self.own else None
            if refused is not None:
                fits &= ~refused
                beyond[name] = refused & self.own[name].refused_with(Code.UnschedulableAndUnresolvable, snapshot)
                waiting[name] = refused & self.own[name].refused_with(Code.Pending, snapshot)
        passed.unresolvable, passed.pending = beyond, waiting
        passed.feasible, passed.everywhere = np.flatnonzero(fits), False

    # --- nominated pods --------------------------------------------------------------------

    def _judge_nominated(self, passed: Filtered, rows: Mask) -> None:
        """Rows where the pod does not fit with the pods that are nominated there fail for that."""
        kept = None if self.own else judgements_of(self.state, self.cache)
        every = self.compiled.algorithm.always_check_all_predicates
        refusals = None if kept is None else kept.judge(self.pod, self.state.info, self._running(), rows, every=every)
        if refusals is None:
            checks = self.checks()
            refusals = judged_one_by_one(self.pod, self.cache, rows, lambda there: self.judge(there, checks))
        elif refusals.error is not None:
            plugin, error = refusals.error
            self._raise_first(plugin, (error,))
        if refusals.found:
            passed.with_nominated, passed.nominated_codes = refusals.found, refusals.codes
            passed.feasible = apart_from(passed.feasible, refusals.found, len(rows))
            passed.everywhere = False

    def judge(self, snapshot: Snapshot, checks: Sequence[FitPredicate]) -> tuple[Found, Code]:
        """(reasons, code) on a snapshot of one row: the first failing plugin's, or of all that are run; ((), Success).

        Raises SchedulingError when a plugin errs.
        """
        refusals: list[tuple[str, tuple[str, ...]]] = []
        code = Code.Success
        for check in checks:
            verdict = check.check(self.state.info, snapshot)
            reasons = tuple(reason for reason, mask in verdict.items() if mask[0])
            if not reasons:
                continue
            self._raise_first(check.name, reasons)
            code = max(code, self._code(check, snapshot, verdict))
            refusals.append((check.name, reasons))
            if not self.compiled.algorithm.always_check_all_predicates:
                break
        return tuple(refusals), code

    def _code(self, check: FitPredicate, snapshot: Snapshot, verdict: Verdict) -> Code:
        """With which code a plugin refuses the one row."""
        own = self.own.get(check.name)
        if own is not None:
            return own.codes[int(snapshot.row_numbers[0])]
        hopeless = unresolvable(check, self.state.info, snapshot, verdict, failing(verdict))
        bad = hopeless is not None and bool(hopeless[0])
        return Code.UnschedulableAndUnresolvable if bad else Code.Unschedulable

    # --- errors ----------------------------------------------------------------------------

    def _raise_first(self, plugin: str, reasons: Sequence[str]) -> None:
        for reason in reasons:
            if isinstance(reason, NodeError):
                text = reason.about(self.pod.key)
                raise SchedulingError(self.error_text(plugin, self.pod.metadata.name, text))

    def _raise_error(self, passed: Filtered, rows: Mask) -> None:
        """Raises for the first row with an error that no earlier plugin has refused."""
        alive = rows.copy()
        alive[passed.with_nominated.rows] = False
        errors: list[tuple[int, str, str]] = []
        for name, verdict in passed.verdicts:
            for reason, mask in verdict.items():
                if isinstance(reason, NodeError):
                    hit = np.flatnonzero(mask & alive)
                    if len(hit):
                        errors.append((int(hit[0]), name, reason))
            refused = failing(verdict)
            if refused is not None and not self.compiled.algorithm.always_check_all_predicates:
                alive &= ~refused
        if errors:
            _, name, reason = min(errors, key=lambda error: error[0])
            self._raise_first(name, (reason,))


def _spread(mask: Mask, rows: IntArray, size: int) -> Mask:
    out = np.zeros(size, np.bool_)
    out[rows] = mask
    return out
