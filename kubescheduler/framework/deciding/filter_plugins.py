"""Filter: what custom plugins add to the checks over columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.filter_and_score import Filtered, Filtering
from kubescheduler.core.nominated import NominatedJudgement, NominatedRefusals, judge, refusal_codes
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.status import Code
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.deciding.adapters import OwnFilter
from kubescheduler.framework.deciding.compiled_profile import Compiled
from kubescheduler.framework.deciding.find_nodes import FrameworkDecisionRules
from predicates.types import FitPredicate, NodeError, Verdict, failing


class PluginFiltering(Filtering, frozen=True, eq=False):
    """One attempt's Filter plugins on one pod."""

    order: tuple[str, ...] = ()
    """Their names, in the order they run."""
    own: Mapping[str, OwnFilter] = msgspec.field(default_factory=dict)
    """The custom ones that do not skip this pod."""

    @classmethod
    def of(
        cls,
        pod: Pod,
        state: ClassState,
        cache: ClusterCache,
        rules: FrameworkDecisionRules,
        compiled: Compiled,
        cycle: CycleState,
    ) -> PluginFiltering:
        """After PreFilter was run."""
        own = {
            name: OwnFilter(plugin, cycle, pod, rules.rejected, name in compiled.own_pre_filters)
            for name, plugin in compiled.own_filters.items()
            if name not in cycle.skip_filter
        }
        return cls(pod, state, cache, rules, compiled.algorithm.always_check_all_predicates, compiled.order, own)

    def checks(self) -> list[FitPredicate]:
        """The plugins that have something to say, in order, over columns."""
        if not self.own:
            return super().checks()
        out: list[FitPredicate] = []
        for name in self.order:
            column = self.state.by_name.get(name)
            if column is not None:
                if not column.skipped:
                    out.append(column.predicate)
            elif name in self.own:
                out.append(self.own[name].predicate)
        return out

    def judged(self, snapshot: Snapshot, listed: Mask, looked_at: Mask, *, every: bool) -> Filtered:
        """What columns say, and custom plugins of the rows that are left when it is their turn."""
        passed = super().judged(snapshot, listed, looked_at, every=every)
        if self.own:
            passed.verdicts = tuple(self._in_turn(snapshot, looked_at, every or self.all_run))
            self._narrow(passed, snapshot)
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
        for _, verdict in self._in_turn(snapshot, alone, every=False):
            reasons = [reason for reason, mask in verdict.items() if mask[row]]
            if reasons:
                return not any(isinstance(reason, NodeError) for reason in reasons)
        return False

    def _in_turn(self, snapshot: Snapshot, rows: Mask, every: bool) -> Iterator[tuple[str, Verdict]]:
        """(plugin, its verdict); custom ones judge the rows that are left when it is their turn. every: all rows."""
        left = rows.copy()
        for name in self.order:
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

    def _narrow(self, passed: Filtered, snapshot: Snapshot) -> None:
        """Takes the rows out that custom plugins refuse."""
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

    # --- nominated pods, and errors ----------------------------------------------------------

    def remembered_refusals(self, rows: Mask) -> NominatedRefusals | None:
        """Nothing can be remembered of custom plugins."""
        return None if self.own else super().remembered_refusals(rows)

    def judge(self, there: Snapshot, checks: Sequence[FitPredicate]) -> NominatedJudgement:
        """What plugins say of a snapshot of one row."""
        return judge(self.state.info, there, checks, every=self.all_run, codes_of=self._codes)[0]

    def _codes(
        self, check: FitPredicate, info: PodInfo, there: Snapshot, verdict: Verdict, refused: Mask
    ) -> Mapping[int, Code]:
        """With which code a plugin refuses the one row."""
        own = self.own.get(check.name)
        if own is not None:
            return {0: own.codes[int(there.row_numbers[0])]}
        return refusal_codes(check, info, there, verdict, refused)

    def may_err(self) -> bool:
        """Custom plugins always may."""
        return bool(self.own) or super().may_err()


def _spread(mask: Mask, rows: IntArray, size: int) -> Mask:
    out = np.zeros(size, np.bool_)
    out[rows] = mask
    return out
