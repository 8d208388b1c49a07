"""FrameworkScheduler: PreFilter, Filter, Score, select, and PostFilter when nothing fits."""

from __future__ import annotations

import random
from typing import Any

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.roster import Roster
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm, Extender
from kubescheduler.core.decision import Decision, ExtenderTrace
from kubescheduler.core.extending import score_with_extenders
from kubescheduler.core.scheduler import NO_NODES
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.core.verdicts import Memory
from kubescheduler.framework.choosing import heap_root, random_ranks
from kubescheduler.framework.classstate import ProfileState
from kubescheduler.framework.compiled import Compiled, Frame
from kubescheduler.framework.decision import FrameworkDecision
from kubescheduler.framework.decisionrules import DECISION_RULES
from kubescheduler.framework.emptied import EmptiedNodes
from kubescheduler.framework.extending import SCALE, Filtered, ask_filters
from kubescheduler.framework.filtering import Filtering, Passed
from kubescheduler.framework.points import Point
from kubescheduler.framework.postfiltering import RUN_POST_FILTERS
from kubescheduler.framework.preemption import Search
from kubescheduler.framework.prefiltering import ALL_NODES, Narrowed, answers, outside
from kubescheduler.framework.sampling import Sampler
from kubescheduler.framework.scoring import Scored, Scoring
from kubescheduler.framework.state import CycleState
from predicates.types import GO_ON


class HeapTie:
    """Stands for the release's own choice: the root of a heap over all scored nodes. See ``choosing``."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def choose(self, tied: IntArray, ranks: IntArray) -> int:  # noqa: ARG002
        return int(tied[0])


class FrameworkScheduler:
    """Decides where pods go in one cluster by one profile. Upstream: 1.20 and 1.36 genericScheduler.

    ``schedule`` changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    percentage: of nodes to score; 100: all, 0: adaptive.
    """

    def __init__(
        self,
        frame: Frame,
        cache: ClusterCache,
        extenders: tuple[Extender, ...] = (),
        tie_break: TieBreak | None = None,
        percentage: int = 100,
    ) -> None:
        self.frame = frame
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        self.compiled = Compiled.of(frame, extenders, percentage)
        self.rules = DECISION_RULES[frame.release]
        self.roster = Roster(cache.columns)
        self._memory = Memory()
        self._sampler = Sampler()

    @property
    def algorithm(self) -> Algorithm:
        """The column plugins and extenders, in the shape that legacy releases have."""
        return self.compiled.algorithm

    def schedule(
        self, pod: Pod, *, thorough: bool = False, preempt: bool = False, cycle: CycleState | None = None
    ) -> Decision:
        """Where the pod goes. Never raises for what a release reports: see ``Decision.message``.

        thorough: score also when just one node fits, run every Filter on every node, and try no nominated node first.
        preempt: when nothing fits, also run the PostFilter plugins. cycle: the attempt's state, if the caller keeps it.
        """
        attempt = _Attempt(self, pod, CycleState() if cycle is None else cycle, thorough)
        decision = attempt.decide()
        if not preempt or decision.host is not None or decision.error is not None:
            return decision
        return attempt.post_filter(decision)

    def state(self, info: PodInfo, rows: int) -> ProfileState:
        state = self._memory.state(info, self._new_state, rows)
        assert isinstance(state, ProfileState)
        return state

    def _new_state(self, info: PodInfo) -> ProfileState:
        return ProfileState(info, self.compiled)

    @property
    def sampler(self) -> Sampler:
        return self._sampler

    def order(self) -> list[int]:
        """The rows of the nodes, in the order of the release's node list."""
        row_of = self.cache.columns.row_of
        return [row_of[name] for name in self.cache.tree.listed()]


@attrs.define(eq=False)
class _Attempt:
    """One pod's attempt under way."""

    scheduler: FrameworkScheduler
    pod: Pod
    cycle: CycleState
    thorough: bool
    narrowed: Narrowed = ALL_NODES
    passed: Passed | None = None
    filtered: Filtered | None = None
    scored: Scored = attrs.field(factory=Scored)
    traces: tuple[ExtenderTrace, ...] = ()
    judged: Mask | None = None
    filtering: Filtering | None = None
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
        if state.asked:
            given = answers(self.pod, state, compiled, self.cycle, snapshot, cache.columns.log)
            self.narrowed = rules.narrow(given, self.cycle)
        self.filtering = Filtering.of(self.pod, state, compiled, self.cycle, cache, rules.filter_error)
        if self.narrowed.rejected is not None:
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
            feasible = passed.feasible
            if len(feasible) and self.scheduler.compiled.algorithm.extenders:
                feasible = self._extend(feasible, self.scheduler.cache.snapshot())
        except SchedulingError:
            return None
        if not len(feasible):
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
        order = [row for row in scheduler.order() if self.judged is None or self.judged[row]]
        passed.feasible, passed.listed = scheduler.sampler.sample(order, fits, wanted)
        passed.everywhere = False
        refused = int(passed.listed.sum()) - len(passed.feasible)
        scheduler.sampler.advance(len(passed.feasible), refused, total)

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
            self.pod, state, scheduler.compiled, self.cycle, snapshot, view, None if everywhere else feasible
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
        """Upstream's own choice, over the nodes in the order of its list."""
        place = {row: at for at, row in enumerate(self.scheduler.order())}
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
        rejected = self.narrowed.rejected
        absent = rejected
        if rejected is None and self.narrowed.nodes is not None:
            absent = outside(self.narrowed.by)
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
            refused={} if self.filtered is None else self.filtered.refused,
            raws=self.scored.raws,
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
        """The decision with what the PostFilter plugins came to; thorough: just what preemption would do."""
        scheduler = self.scheduler
        assert self.filtering is not None
        extenders = scheduler.compiled.algorithm.extenders
        search = Search(self.pod, decision, self.filtering, scheduler.cache, scheduler.roster.refresh(), extenders)
        plugins = scheduler.frame.at(Point.POST_FILTER)
        self._note_pre_filters()
        if self.thorough:
            plugins = tuple(plugin for plugin in plugins if hasattr(plugin, "search"))
        try:
            found = RUN_POST_FILTERS[scheduler.frame.release](plugins, search, self.cycle)
        except SchedulingError as error:
            return attrs.evolve(decision, error=str(error))
        return attrs.evolve(decision, preemption=found.preemption, post_filter_message=found.message)

    def _note_pre_filters(self) -> None:
        """What PreFilter plugins answered is to be seen in the state, under the keys that releases use."""
        assert self.filtering is not None
        pre = self.filtering.state.pre
        for plugin in self.scheduler.compiled.pre_filters:
            self.cycle.write(f"PreFilter{plugin.name}", pre[plugin.name].answer if plugin.name in pre else GO_ON)
            if plugin.name == self.narrowed.last:
                break
