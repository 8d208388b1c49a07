"""Deciding by a profile: what the steps of an attempt are for plugins, and PostFilter when nothing fits.

``core.schedule_one`` has an attempt from top to bottom.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision
from kubescheduler.core.evidence import Explainer, ScoreSource
from kubescheduler.core.extender_calls import Extender, score_with_extenders
from kubescheduler.core.filtering import Filtered
from kubescheduler.core.nominated import NominatedMemory
from kubescheduler.core.pod_classes import ClassState, Memory, Sharing
from kubescheduler.core.preemption import PreemptionMemory
from kubescheduler.core.schedule_one import Attempt
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.core.status import Status
from kubescheduler.extender.answered_nodes import cluster_as_answered, node_not_found
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.observer import Watch
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runner_results import score_failed
from kubescheduler.framework.deciding.compiled_profile import Compiled, Frame, ProfileState
from kubescheduler.framework.deciding.find_nodes import (
    NO_ROWS,
    SCALE,
    Finding,
    FrameworkDecisionRules,
    Host,
    Sampler,
)
from kubescheduler.framework.deciding.opportunistic_batch import KeptRanking, Turn, TurnNumbers
from kubescheduler.framework.deciding.post_filter_plugins import run_post_filters, searches
from kubescheduler.framework.deciding.preemption_search import Search
from kubescheduler.framework.deciding.score_plugins import (
    EmptiedNodes,
    HeapTie,
    Scoring,
    heap_root,
    random_ranks,
)
from predicates.types import GO_ON

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun


def _emptied(cache: ClusterCache) -> EmptiedNodes:
    """The nodes as they look when an extender answered them as objects."""
    return EmptiedNodes.of(cache.snapshot())


class ProfileAttempt(Attempt, eq=False, kw_only=True):
    """An attempt by the plugins of a profile. Upstream: schedulePod."""

    scheduler: Host
    cycle: CycleState
    found: Finding
    turn: Turn | None = None
    """Which attempt of a scheduler's it is; None: a question on its own."""
    reached: str = "preFilter"

    @classmethod
    def of(
        cls,
        scheduler: Host,
        pod: Pod,
        cycle: CycleState,
        *,
        thorough: bool,
        turn: Turn | None = None,
        instead: IntArray | None = None,
    ) -> ProfileAttempt:
        """Before anything is decided."""
        laps = None if scheduler.watch is None else scheduler.watch.laps("PreFilter")
        found = Finding(scheduler, pod, cycle, thorough, turn, laps=laps)
        compiled = scheduler.compiled
        given = (pod, scheduler.cache, compiled.algorithm, scheduler.tie_break, compiled.weights, thorough, instead)
        return cls(*given, scheduler=scheduler, cycle=cycle, found=found, turn=turn)

    def ready(self) -> PodInfo:
        """Claims have to be there first, up to 1.19."""
        info, waits = super().ready(), self.scheduler.rules.waits
        if waits is not None and (error := waits(info, self.cache.objects)):
            raise SchedulingError(error)
        return info

    def state(self, info: PodInfo, snapshot: Snapshot) -> ProfileState:
        """What is remembered for pods of this class."""
        return self.scheduler.state(info, snapshot)

    # --- totals that are kept ----------------------------------------------------------------

    def keeps(self) -> bool:
        """Not where custom plugins or extenders have a say, nor where something else does than the pod's class."""
        scheduler, found = self.scheduler, self.found
        return (
            scheduler.compiled.keeps
            and not self.thorough
            and self.instead is None
            and (self.turn is None or scheduler.batch is None or scheduler.batch.signers is None)
            and found.laps is None
            and not self.pod.nominated_node_name
            and not scheduler.cache.nominated()
            and not isinstance(scheduler.tie_break, HeapTie)
        )

    def found_by_totals(self, state: ProfileState, listed: Mask) -> None:
        """The nodes that fit, and the plugins that skip, are those that are kept for the class."""
        shared = state.shared
        self.cycle.skip_filter |= state.skips[0]
        self.cycle.skip_score |= state.skips[1]
        self.found.passed = Filtered(
            listed, shared.feasible, verdicts=shared.verdicts, unresolvable=shared.unresolvable
        )

    def chosen_by_totals(self, host: str) -> None:
        """A pod without a signature took no hint, and leaves none."""
        batch, turn = self.scheduler.batch, self.turn
        if batch is not None and turn is not None:
            batch.hint(turn, None, lambda _: None)
            batch.store(turn, None, "", host, None, others=max(0, len(self.found.feasible) - 1))

    def keep_totals(self, state: Any, snapshot: Snapshot) -> None:
        """With the plugins that skip; not where the search was narrowed."""
        found = self.found
        if found.narrowed.nodes is None and found.judged is None and self.keeps():
            state.skips = frozenset(self.cycle.skip_filter), frozenset(self.cycle.skip_score)
            super().keep_totals(state, snapshot)

    def source_of(self, state: ClassState) -> ScoreSource:
        """Extenders score on another scale."""
        priorities, log = self.algorithm.priorities, self.cache.columns.log
        return ScoreSource(state.info, self.cache.snapshot, priorities, log, extender_scale=SCALE)

    # --- filter ------------------------------------------------------------------------------

    def find(self, state: ProfileState, snapshot: Snapshot, listed: Mask) -> IntArray:
        """PreFilter, Filter and extenders."""
        try:
            feasible = self.found.find(state, snapshot, listed)
        finally:
            if self.found.filtering is not None:
                self.reached = "filter"
        return feasible if self.instead is None else self.found.take_instead(self.instead)

    def named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Also of the nodes that an extender answered and the cluster does not have."""
        filtered = self.found.filtered
        return names if filtered is None else names + filtered.answered.added_names

    def scores(self, feasible: IntArray) -> bool:
        """Not the nominated or hinted node, which is enough."""
        return super().scores(feasible) and not self.found.only

    # --- score -----------------------------------------------------------------------------

    def score(self, state: ProfileState, snapshot: Snapshot, feasible: IntArray) -> None:
        """PreScore and Score, then extenders."""
        scheduler = self.scheduler
        passed, filtered = self.found.passed, self.found.filtered
        everywhere = passed is not None and passed.everywhere and filtered is None
        cache, base, see = scheduler.cache, snapshot, scheduler.cache.snapshot
        scored = feasible
        if filtered is not None and filtered.answered.invented and not scheduler.rules.empties:
            self._cannot_score(next(iter(filtered.answered.invented)))
        if filtered is not None and filtered.emptied and scheduler.rules.empties:
            if filtered.answered.altered:
                cluster = cluster_as_answered(cache, filtered.answered)
                cache, scored = cluster.cache, cluster.rows(feasible)
                snapshot = cache.snapshot()
                state = ProfileState(cache.info(self.pod).naming(self.pod.node_name), scheduler.compiled)
            see = partial(_emptied, cache)
            base = see()
        view = base if everywhere else base.take(scored)
        log, priorities = cache.columns.log, scheduler.compiled.algorithm.priorities
        self.source = ScoreSource(
            state.info, see, priorities, log, extender_scale=SCALE, rows=None if scored is feasible else scored
        )
        scoring = Scoring(
            self.pod,
            state,
            scheduler.compiled,
            self.cycle,
            snapshot,
            view,
            None if everywhere else scored,
            scheduler.rules.pre_score_skips,
            self.found.laps,
        )
        self.scored = scoring.run(log)
        self.keep_totals(state, snapshot)
        extenders = scheduler.compiled.algorithm.extenders
        if extenders:
            assert filtered is not None
            sums, self.found.traces = score_with_extenders(
                self.pod, extenders, self.found.traces, filtered.answered, feasible, SCALE
            )
            self.scored.totals = self.scored.totals + sums

    def _cannot_score(self, name: str) -> None:
        """A node that is not there makes the first Score plugin fail. Upstream: 1.20."""
        for plugin in self.scheduler.compiled.scores:
            text = f'getting node "{name}" from Snapshot: {node_not_found(name)}'
            raise SchedulingError(score_failed(plugin, text))

    def select(self, feasible: IntArray, totals: IntArray, names: tuple[str, ...]) -> int:
        """By a heap, where that is the release's own choice."""
        if isinstance(self.tie_break, HeapTie):
            return self._heap(feasible, totals, self.tie_break.rng, names)
        return super().select(feasible, totals, names)

    def _heap(self, feasible: IntArray, totals: IntArray, rng: random.Random, names: tuple[str, ...]) -> int:
        """Upstream's own choice."""
        hosts = {host for trace in self.found.traces for host, _ in trace.scores or ()}
        if not hosts:
            return int(feasible[heap_root(totals)])
        scored = np.array([at for at, row in enumerate(feasible.tolist()) if names[row] in hosts], np.int64)
        ranks = random_ranks(len(feasible), scored, rng) if len(scored) else None
        return int(feasible[heap_root(totals, ranks)])

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:
        """Keeps the ranking for the next pod."""
        batch, turn, signature = self.scheduler.batch, self.turn, self.found.signature
        if host is None or batch is None or turn is None:
            return
        watch = self.scheduler.watch
        started, ranking = 0.0 if watch is None else watch.now(), None
        if signature is not None and len(self.scored.totals):
            columns = self.cache.columns
            ranking = KeptRanking(
                names,
                feasible.copy(),
                self.scored.totals.copy(),
                columns.ranks.copy(),
                self.tie_break,
                columns.row_of[host],
            )
        batch.store(turn, signature, self.found.hint, host, ranking, others=max(0, len(self.scored.totals) - 1))
        if watch is not None:
            watch.results_stored(started)

    def given_up(self, error: SchedulingError) -> str:
        """The point that was under way ends with the error."""
        text = str(error)
        if self.found.laps is not None:
            self.found.laps.end(Status.failure(text))
        self.found.forget()
        return text

    # --- the outcome -----------------------------------------------------------------------

    def outcome(self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None) -> Decision:
        """What all this comes to."""
        scheduler = self.scheduler
        compiled, found = scheduler.compiled, self.found
        passed, narrowed = found.passed or Filtered(listed), found.narrowed
        rejected = narrowed.status
        absent = rejected if scheduler.rules.refusal_is_status else None
        if rejected is None and narrowed.nodes is not None:
            absent = scheduler.rules.outside(narrowed.plugins)
        verdicts, idle = passed.verdicts, ()
        if rejected is not None and self.thorough:
            verdicts, idle = self._own_words(passed, len(names))
        return self.decision(
            names,
            passed,
            host,
            error,
            verdicts=verdicts,
            idle=idle,
            feasible=found.feasible if error is None else NO_ROWS,
            extenders=found.traces,
            fit_error=scheduler.rules.fit_error,
            coded=True,
            scale=FRAMEWORK_SCALE,
            explainer=Explainer(scheduler.cache, compiled.algorithm.predicates, partial(scheduler.again, self.pod)),
            judged=found.judged,
            absent=absent,
            unresolvable=passed.unresolvable,
            nominated_codes=passed.nominated_codes,
            pending=passed.pending,
            refused=found.refused if found.filtered is None else {**found.refused, **found.filtered.refused},
            appends=scheduler.rules.appends,
            raws=self.scored.raws,
            pre_filter_plugins=narrowed.plugins,
            pre_filter_message="" if rejected is None else rejected.message,
            from_kept_ranking=found.by_hint and host is not None,
        )

    def _own_words(self, passed: Filtered, rows: int) -> tuple[Any, Any]:
        """(verdicts, what PreFilter plugins say of single nodes): a plugin that rejects the pod is not run on nodes."""
        everywhere = np.ones(rows, np.bool_)
        assert self.found.filtering is not None
        said = {
            name: dict.fromkeys(pre.answer.reasons, everywhere)
            for name, pre in self.found.filtering.state.pre.items()
            if pre.answer.reasons and name in self.scheduler.compiled.order
        }
        return tuple(v for v in passed.verdicts if v[0] not in said), tuple(said.items())

    def post_filter(self, decision: Decision) -> Decision:
        """The decision with what the PostFilter plugins came to; thorough: just what preemption would do, and if it
        fails, that is the decision's error."""
        scheduler = self.scheduler
        assert self.found.filtering is not None
        extenders = scheduler.compiled.algorithm.extenders
        algorithm = scheduler.compiled.algorithm
        search = Search(
            self.pod,
            decision,
            self.found.filtering,
            scheduler.cache,
            scheduler.preemption,
            extenders,
            samples=algorithm.percentage_of_nodes_to_score < 100 and not self.thorough,
        )
        plugins = scheduler.frame.at(Point.POST_FILTER)
        self._note_pre_filters()
        if self.thorough:
            plugins = tuple(plugin for plugin in plugins if searches(plugin))
        laps = None if scheduler.watch is None else scheduler.watch.laps("PostFilter")
        try:
            found = run_post_filters(plugins, search, self.cycle, scheduler.rules.collect, strict=self.thorough)
        except SchedulingError as error:
            return attrs.evolve(decision, error=str(error), error_at="postFilter")
        if laps is not None:
            laps.end(found.status)
        return attrs.evolve(
            decision,
            preemption=found.preemption,
            nominated=found.nominated,
            post_filter_message=found.message,
        )

    def _note_pre_filters(self) -> None:
        """What PreFilter plugins answered is to be seen in the state, under the keys that releases use."""
        assert self.found.filtering is not None
        pre = self.found.filtering.state.pre
        compiled = self.scheduler.compiled
        for plugin in compiled.pre_filters:
            if plugin.name in compiled.pre_checks:
                self.cycle.write(f"PreFilter{plugin.name}", pre[plugin.name].answer if plugin.name in pre else GO_ON)
            if plugin.name == self.found.narrowed.last:
                break


class FrameworkScheduler:
    """Decides where pods go in one cluster by one profile. Upstream: 1.20 and 1.36 genericScheduler.

    ``schedule`` changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    percentage: of nodes to score; 100: all, 0: adaptive.
    """

    def __init__(
        self,
        frame: Frame,
        cache: ClusterCache,
        rules: FrameworkDecisionRules,
        extenders: tuple[Extender, ...] = (),
        tie_break: TieBreak | None = None,
        percentage: int = 100,
        watch: Watch | None = None,
    ) -> None:
        """watch: what is told how long the plugins of a point took; None: nobody."""
        self.frame = frame
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        self.compiled = Compiled.of(frame, extenders, percentage)
        self.rules = rules
        self.watch = watch
        self.preemption = PreemptionMemory(cache)
        self.nominated = NominatedMemory(cache)
        self.sampler = Sampler()
        self.batch = rules.batching(frame, bool(extenders))
        self._memory = Memory(self.compiled.rules)
        self._fresh = partial(FrameworkScheduler, frame, cache, rules, extenders, None, percentage)

    @property
    def algorithm(self) -> Algorithm:
        """The column plugins and extenders, in the shape that legacy releases have."""
        return self.compiled.algorithm

    def schedule(
        self,
        pod: Pod,
        *,
        thorough: bool = False,
        preempt: bool = False,
        cycle: CycleState | None = None,
        turn: Turn | None = None,
    ) -> Decision:
        """Where the pod goes. Never raises for what a release reports: see ``Decision.message``.

        thorough: score also when just one node fits, run every Filter on every node, and try no nominated node first.
        preempt: when nothing fits, also run the PostFilter plugins. cycle: the attempt's state, if the caller keeps it.
        turn: which attempt it is of those of a scheduler that places one pod after the other; None: a question on its
        own, which no earlier attempt has a say in.
        """
        attempt = ProfileAttempt.of(self, pod, CycleState() if cycle is None else cycle, thorough=thorough, turn=turn)
        decision = attempt.decide()
        if not preempt or decision.host is not None or decision.error is not None:
            return decision
        return attempt.post_filter(decision)

    def place_run(
        self, pods: Sequence[Pod], is_held: Callable[[Pod], bool], numbers: TurnNumbers | None
    ) -> PlacedRun | None:
        """See ``GenericScheduler.place_run``. is_held: whether a PreEnqueue plugin holds a pod back.
        numbers: of the attempts of a scheduler that places one pod after the other; None: each is a question on its
        own."""
        from kubescheduler.framework.deciding.bulk_profile import placed_in_bulk

        return placed_in_bulk(self, pods, is_held, numbers)

    def again(self, pod: Pod) -> Decision:
        """A thorough decision that has no say in the choice among equal totals, nor in what is sampled next."""
        return self._fresh().schedule(pod, thorough=True)

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """See ``GenericScheduler.scores_on``."""
        return ProfileAttempt.of(self._fresh(), pod, CycleState(), thorough=True, instead=rows).decide()

    def state(self, info: PodInfo, snapshot: Snapshot) -> ProfileState:
        """What is kept for pods like one of this class."""
        state = self._memory.state(info, snapshot, self.cache.columns.log, self._new_state)
        assert isinstance(state, ProfileState)
        return state

    def _new_state(self, info: PodInfo, share: Sharing) -> ProfileState:
        return ProfileState(info, self.compiled, share)
