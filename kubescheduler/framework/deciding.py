"""Deciding: one pod's PreFilter, Filter, Score, select, and PostFilter when nothing fits."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Protocol

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.roster import Roster
from clusterstate.snapshot import Snapshot
from kubescheduler.core.decision import ExtenderTrace
from kubescheduler.core.extending import score_with_extenders
from kubescheduler.core.scheduler import NO_NODES
from kubescheduler.core.selection import TieBreak
from kubescheduler.framework.choosing import HeapTie, heap_root, random_ranks
from kubescheduler.framework.classstate import ProfileState
from kubescheduler.framework.compiled import Compiled, Frame
from kubescheduler.framework.decision import FrameworkDecision
from kubescheduler.framework.decisionrules import DecisionRules
from kubescheduler.framework.emptied import EmptiedNodes
from kubescheduler.framework.extending import SCALE, Filtered, ask_filters
from kubescheduler.framework.filtering import Filtering, Passed
from kubescheduler.framework.points import Point
from kubescheduler.framework.postfiltering import run_post_filters
from kubescheduler.framework.preemption import Search
from kubescheduler.framework.prefiltering import ALL_NODES, PreFilterOutcome, answers, outside
from kubescheduler.framework.sampling import Sampler
from kubescheduler.framework.scoring import Scored, Scoring
from kubescheduler.framework.state import CycleState
from kubescheduler.framework.status import Code, Status
from predicates.types import GO_ON


class Host(Protocol):
    """What a decision needs of the scheduler it is made for; see FrameworkScheduler."""

    frame: Frame
    cache: ClusterCache
    tie_break: TieBreak
    compiled: Compiled
    rules: DecisionRules
    roster: Roster
    sampler: Sampler

    def state(self, info: PodInfo, rows: int) -> ProfileState: ...


@attrs.define(eq=False)
class Deciding:
    """One pod's decision under way.

    start: where in the node list the attempt begins to look. tried: the row of the nominated node that was tried alone
    and did not pass; refused: what extenders said of it then. only: it passed, and nothing else is looked at.
    """

    scheduler: Host
    pod: Pod
    cycle: CycleState
    thorough: bool
    narrowed: PreFilterOutcome = ALL_NODES
    passed: Passed | None = None
    filtered: Filtered | None = None
    scored: Scored = attrs.field(factory=Scored)
    traces: tuple[ExtenderTrace, ...] = ()
    judged: Mask | None = None
    filtering: Filtering | None = None
    start: int = 0
    tried: int | None = None
    refused: Mapping[str, Status] = attrs.field(factory=dict)
    only: bool = False

    def decide(self) -> FrameworkDecision:
        scheduler = self.scheduler
        names, listed = scheduler.cache.columns.published
        host = error = None
        try:
            info = self._ready()
            snapshot = scheduler.cache.snapshot()
            state = scheduler.state(info, len(snapshot))
            feasible = self._filter(state, snapshot, listed)
            if len(feasible) > (0 if self.thorough else 1) and not self.only:
                row = self._score(state, snapshot, feasible)
                host = names[row]
            elif len(feasible):
                host = names[int(feasible[0])]
        except SchedulingError as e:
            error, host = str(e), None
            self.scored = Scored()
            if self.passed is not None:
                self.passed.feasible = np.zeros(0, np.int64)
            self.filtered = None
        return self._decision(names, listed, host, error)

    def _ready(self) -> PodInfo:
        scheduler = self.scheduler
        if not scheduler.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        info = scheduler.cache.info(self.pod)
        if self.pod.node_name:
            info = PodInfo(info.key, info.usage, info.used)
            info.node_name = self.pod.node_name
        return info

    # --- filter ----------------------------------------------------------------------------

    def _filter(self, state: ProfileState, snapshot: Snapshot, listed: Mask) -> IntArray:
        scheduler, cache = self.scheduler, self.scheduler.cache
        compiled, rules = scheduler.compiled, scheduler.rules
        self.start = scheduler.sampler.next_start
        if state.asked:
            given = answers(self.pod, state, compiled, self.cycle, snapshot, cache.columns.log)
            outcome = rules.narrow(given, self.cycle)
            if outcome.status is not None and outcome.status.code is Code.Error:
                raise SchedulingError(outcome.status.message)
            self.narrowed = outcome
        self.filtering = Filtering.of(self.pod, state, compiled, self.cycle, cache, rules.filter_error, rules.rejected)
        if self.narrowed.status is not None:
            self.judged = np.zeros(len(listed), np.bool_)
            if self.thorough:
                self._rest_of_pre_filter(state, snapshot)
                self.passed = self.filtering.run(None, every=True)
                self.passed.feasible, self.passed.with_nominated = np.zeros(0, np.int64), {}
            return np.zeros(0, np.int64)
        if rules.nominated_first and self.pod.nominated_node_name and not self.thorough:
            alone = self._nominated(listed)
            if alone is not None:
                return alone
        if self.narrowed.nodes is not None:
            self.judged = self._rows(self.narrowed.nodes, len(listed))
        passed = self.passed = self.filtering.run(self.judged, every=self.thorough)
        if compiled.algorithm.percentage_of_nodes_to_score < 100:
            self._sample(passed)
        elif self.judged is not None and not self.thorough:
            scheduler.sampler.advance(0, int((self.judged & passed.listed).sum()), cache.columns.node_count)
        self.filtering.raise_error(passed, self.judged)
        if compiled.algorithm.extenders:
            return self._extend(passed.feasible, snapshot)
        return passed.feasible

    def _rest_of_pre_filter(self, state: ProfileState, snapshot: Snapshot) -> None:
        """Asks the PreFilter plugins that the rejection left unasked, for what they would say on their own."""
        for name in state.pre:
            state.ask(name, snapshot, self.scheduler.cache.columns.log)

    def _rows(self, names: frozenset[str], size: int) -> Mask:
        out = np.zeros(size, np.bool_)
        row_of = self.scheduler.cache.columns.row_of
        out[[row_of[name] for name in names if name in row_of]] = True
        if self.tried is not None:
            out[self.tried] = True
        return out

    def _nominated(self, listed: Mask) -> IntArray | None:
        """The nominated node's row, if the pod passes there; None if all nodes are to be looked at."""
        assert self.filtering is not None
        row = self.scheduler.cache.columns.row_of.get(self.pod.nominated_node_name)
        if row is None or not listed[row]:
            return None
        alone = np.zeros(len(listed), np.bool_)
        alone[row] = True
        try:
            passed = self.filtering.run(alone, every=False)
            self.filtering.raise_error(passed, alone)
            feasible = passed.feasible
            if not len(feasible):
                self.tried = row
            if len(feasible) and self.scheduler.compiled.algorithm.extenders:
                feasible = self._extend(feasible, self.scheduler.cache.snapshot())
        except SchedulingError:
            self.filtered = None
            return None
        if not len(feasible):
            self.refused = {} if self.filtered is None else self.filtered.refused
            self.filtered = None
            return None
        self.passed, self.judged, self.only = passed, alone, True
        return feasible

    def _sample(self, passed: Passed) -> None:
        scheduler = self.scheduler
        algorithm = scheduler.compiled.algorithm
        total = scheduler.cache.columns.node_count
        wanted = scheduler.rules.wanted(total, algorithm.percentage_of_nodes_to_score)
        scores = any(e.config.prioritize_verb for e in algorithm.extenders) or bool(scheduler.compiled.scores)
        filters = any(e.config.filter_verb for e in algorithm.extenders)
        if scheduler.rules.one_is_enough and not scores and not filters:
            wanted = 1
        fits = np.zeros(len(passed.listed), np.bool_)
        fits[passed.feasible] = True
        passed.feasible, passed.listed = scheduler.sampler.sample(self._order(), fits, wanted)
        passed.everywhere = False
        if self.tried is not None:
            passed.listed[self.tried] = True
        refused = int(passed.listed.sum()) - len(passed.feasible)
        scheduler.sampler.advance(len(passed.feasible), refused, total)

    def _order(self) -> list[int]:
        """The rows of the nodes that are looked at, in the order of the node list."""
        cache = self.scheduler.cache
        rows = [cache.columns.row_of[name] for name in cache.tree.listed()]
        return rows if self.judged is None else [row for row in rows if self.judged[row]]

    def _extend(self, feasible: IntArray, snapshot: Snapshot) -> IntArray:
        scheduler = self.scheduler
        extenders = scheduler.compiled.algorithm.extenders
        self.filtered = ask_filters(self.pod, extenders, snapshot, feasible, scheduler.rules.note)
        self.traces = self.filtered.traces
        return self.filtered.feasible

    # --- score -----------------------------------------------------------------------------

    def _score(self, state: ProfileState, snapshot: Snapshot, feasible: IntArray) -> int:
        """The chosen row."""
        scheduler = self.scheduler
        passed = self.passed
        everywhere = passed is not None and passed.everywhere and self.filtered is None
        base = snapshot
        if self.filtered is not None and self.filtered.emptied and scheduler.rules.empties:
            base = EmptiedNodes.of(snapshot)
        view = base if everywhere else base.take(feasible)
        scoring = Scoring(
            self.pod,
            state,
            scheduler.compiled,
            self.cycle,
            snapshot,
            view,
            None if everywhere else feasible,
            scheduler.rules.pre_score_skips,
        )
        self.scored = scoring.run(scheduler.cache.columns.log)
        extenders = scheduler.compiled.algorithm.extenders
        if extenders:
            sums, self.traces = score_with_extenders(self.pod, extenders, self.traces, snapshot, feasible, SCALE)
            self.scored.totals = self.scored.totals + sums
        return self._select(feasible, self.scored.totals)

    def _select(self, feasible: IntArray, totals: IntArray) -> int:
        scheduler = self.scheduler
        columns = scheduler.cache.columns
        if isinstance(scheduler.tie_break, HeapTie):
            return self._heap(feasible, totals, scheduler.tie_break.rng)
        first = int(totals.argmax())
        tied = np.flatnonzero(totals == totals[first])
        return scheduler.tie_break.choose(feasible[tied], columns.ranks)

    def _heap(self, feasible: IntArray, totals: IntArray, rng: random.Random) -> int:
        """Upstream's own choice, over the nodes in the order in which it looks at them."""
        listed = self._order()
        begin = self.start % max(len(listed), 1)
        place = {row: at for at, row in enumerate([*listed[begin:], *listed[:begin]])}
        order = np.array(sorted(range(len(feasible)), key=lambda at: place[int(feasible[at])]), np.int64)
        names = self.scheduler.cache.columns.published[0]
        hosts = {host for trace in self.traces for host, _ in trace.scores or ()}
        scored = np.array([at for at, row in enumerate(feasible[order].tolist()) if names[row] in hosts], np.int64)
        ranks = random_ranks(len(order), scored, rng) if len(scored) else None
        return int(feasible[order[heap_root(totals[order], ranks)]])

    # --- the outcome -----------------------------------------------------------------------

    def _decision(self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None) -> FrameworkDecision:
        scheduler = self.scheduler
        compiled = scheduler.compiled
        passed = self.passed or Passed(listed)
        feasible = passed.feasible if self.filtered is None else self.filtered.feasible
        rejected = self.narrowed.status
        absent = rejected
        if rejected is None and self.narrowed.nodes is not None:
            absent = outside(self.narrowed.plugins)
        verdicts, idle = passed.verdicts, ()
        if rejected is not None and self.thorough:
            verdicts, idle = self._own_words(passed, len(names))
        return FrameworkDecision(
            pod=self.pod,
            release=scheduler.frame.release,
            names=names,
            listed=passed.listed,
            nodes_total=scheduler.cache.columns.node_count,
            verdicts=verdicts,
            idle=idle,
            with_nominated=passed.with_nominated,
            every_reason=compiled.algorithm.always_check_all_predicates,
            feasible=feasible if error is None else np.zeros(0, np.int64),
            totals=self.scored.totals,
            scores=self.scored.scores,
            weights=compiled.weights,
            extenders=self.traces,
            host=host,
            error=error,
            known=scheduler.cache.columns.known,
            fit_error=scheduler.rules.fit_error,
            judged=self.judged,
            absent=absent,
            unresolvable=passed.unresolvable,
            nominated_codes=passed.nominated_codes,
            pending=passed.pending,
            refused={**self.refused, **({} if self.filtered is None else self.filtered.refused)},
            appends=scheduler.rules.appends,
            raws=self.scored.raws,
            pre_filter_plugins=self.narrowed.plugins,
            pre_filter_message="" if rejected is None else rejected.message,
        )

    def _own_words(self, passed: Passed, rows: int) -> tuple[Any, Any]:
        """(verdicts, what PreFilter plugins say on their own): a plugin that rejects the pod is not run on nodes."""
        everywhere = np.ones(rows, np.bool_)
        assert self.filtering is not None
        said = {
            name: dict.fromkeys(pre.answer.reasons, everywhere)
            for name, pre in self.filtering.state.pre.items()
            if pre.answer.reasons and name in self.scheduler.compiled.order
        }
        return tuple(v for v in passed.verdicts if v[0] not in said), tuple(said.items())

    def post_filter(self, decision: FrameworkDecision) -> FrameworkDecision:
        """The decision with what the PostFilter plugins came to; thorough: just what preemption would do, and if it
        fails, that is the decision's error."""
        scheduler = self.scheduler
        assert self.filtering is not None
        extenders = scheduler.compiled.algorithm.extenders
        search = Search(self.pod, decision, self.filtering, scheduler.cache, scheduler.roster.refresh(), extenders)
        plugins = scheduler.frame.at(Point.POST_FILTER)
        self._note_pre_filters()
        if self.thorough:
            plugins = tuple(plugin for plugin in plugins if hasattr(plugin, "search"))
        try:
            found = run_post_filters(plugins, search, self.cycle, scheduler.rules.collect, strict=self.thorough)
        except SchedulingError as error:
            return attrs.evolve(decision, error=str(error))
        return attrs.evolve(
            decision,
            preemption=found.preemption,
            nominated=found.nominated,
            post_filter_message=found.message,
        )

    def _note_pre_filters(self) -> None:
        """What PreFilter plugins answered is to be seen in the state, under the keys that releases use."""
        assert self.filtering is not None
        pre = self.filtering.state.pre
        compiled = self.scheduler.compiled
        for plugin in compiled.pre_filters:
            if plugin.name in compiled.pre_checks:
                self.cycle.write(f"PreFilter{plugin.name}", pre[plugin.name].answer if plugin.name in pre else GO_ON)
            if plugin.name == self.narrowed.last:
                break
