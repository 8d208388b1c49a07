"""What the plugins of a profile add to an attempt, from PreFilter to PostFilter.

``core/attempt.py`` has an attempt from top to bottom.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs
import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.attempt import Attempt, Decider
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision, ScoreSource
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.filter_and_score import Filtered
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.selection import ListWalk, TieBreak
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.extender.answers import AnsweredRows, cluster_as_answered, node_not_found
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.frame import Frame
from kubescheduler.framework.contract.plugin import SignedPod
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runs import Laps, PreFilterOutcome, Watch, score_failed
from kubescheduler.framework.deciding.compiled_profile import Compiled
from kubescheduler.framework.deciding.filter_plugins import PluginFiltering
from kubescheduler.framework.deciding.find_nodes import ALL_NODES, FrameworkDecisionRules, answers
from kubescheduler.framework.deciding.opportunistic_batch import KeptRanking, Signature, Turn
from kubescheduler.framework.deciding.post_filter_plugins import run_post_filters, searches
from kubescheduler.framework.deciding.score_plugins import EmptiedNodes, HeapTie, PluginScoring, heap_root, random_ranks
from predicates.types import GO_ON


def _emptied(cache: ClusterCache) -> EmptiedNodes:
    """The nodes as they look when an extender answered them as objects."""
    return EmptiedNodes.of(cache.snapshot())


class ProfileAttempt(Attempt, eq=False, kw_only=True):
    """An attempt by the plugins of a profile."""

    scheduler: FrameworkScheduler
    cycle: CycleState
    turn: Turn | None = None
    """Which attempt of a scheduler's it is; None: a question on its own."""
    reached: str = "preFilter"
    signature: Signature | None = None
    """What makes other pods the same to the profile; None: it has none, or nobody asked for it."""
    hint: str = ""
    """The next node of the ranking that was kept from the pod before; empty when there is none."""
    by_hint: bool = False
    """The pod passes on that node, and no other is looked at."""
    narrowed: PreFilterOutcome = ALL_NODES
    """What PreFilter plugins came to."""
    tried: int | None = None
    """The row of the nominated node that was tried alone and did not pass."""
    refused: Mapping[str, Status] = msgspec.field(default_factory=dict)
    """Node → what extenders said of the nominated node, tried alone."""
    only: bool = False
    """The nominated or hinted node passed, and no other is looked at."""
    laps: Laps | None = None
    """What times the points; None where nothing is measured."""

    def __post_init__(self) -> None:
        watch = self.scheduler.watch
        if watch is not None and watch.observer.measures:
            self.laps = watch.laps("PreFilter")

    # --- totals that are kept ----------------------------------------------------------------

    def keeps(self) -> bool:
        """Not where custom plugins have a say, nor where something else does than the pod's class."""
        scheduler = self.scheduler
        return (
            scheduler.compiled.keeps
            and (self.turn is None or scheduler.batch is None or scheduler.batch.signs is None)
            and self.laps is None
            and not self.pod.nominated_node_name
            and not isinstance(scheduler.tie_break, HeapTie)
        )

    def found_by_totals(self, state: ClassState) -> None:
        """The plugins that skip are those that are kept for the class."""
        self.cycle.skip_filter |= state.skips[0]
        self.cycle.skip_score |= state.skips[1]

    def chosen_by_totals(self, host: str) -> None:
        """A pod without a signature took no hint, and leaves none."""
        batch, turn = self.scheduler.batch, self.turn
        if batch is not None and turn is not None:
            batch.hint(turn, None, lambda _: None)
            batch.store(turn, "", host, None, others=max(0, len(self.feasible) - 1))

    def keep_totals(self, state: ClassState, snapshot: Snapshot) -> None:
        """With the plugins that skip."""
        state.skips = frozenset(self.cycle.skip_filter), frozenset(self.cycle.skip_score)
        super().keep_totals(state, snapshot)

    # --- filter ------------------------------------------------------------------------------

    def find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:
        """PreFilter, Filter and extenders."""
        try:
            return self._find(state, snapshot, listed)
        finally:
            if self.filtering is not None:
                self.reached = "filter"

    def scores(self, feasible: IntArray) -> bool:
        """Not the nominated or hinted node, which is enough."""
        return super().scores(feasible) and not self.only

    def _find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:
        """Raises SchedulingError when a plugin or an extender fails. Upstream: findNodesThatFitPod."""
        host, rules = self.scheduler, self.scheduler.rules
        self._narrow(state, snapshot)
        if self.laps is not None:
            self.laps.end(self.narrowed.status, "" if self.narrowed.status is not None else "Filter")
        filtering = PluginFiltering.of(self.pod, state, self.cache, rules, host.compiled, self.cycle)
        self.filtering = filtering
        if self.narrowed.status is not None:
            return self._nowhere(filtering, state, snapshot, len(listed))
        self._ask_for_hint(filtering, snapshot, listed)
        first = self.pod.nominated_node_name or self.hint
        if first and not self.thorough and rules.nominated_first(host.frame.feature_gates):
            alone = self._alone_on(first, filtering, listed)
            if alone is not None:
                self.by_hint = first == self.hint and not self.pod.nominated_node_name
                return alone
        if self.narrowed.nodes is not None:
            self.judged = self._rows(self.narrowed.nodes, listed)
        passing = self.filter(filtering)
        if self.laps is not None:
            self.laps.end()
        return self.extend(passing, snapshot)

    # --- PreFilter -------------------------------------------------------------------------

    def _narrow(self, state: ClassState, snapshot: Snapshot) -> None:
        host = self.scheduler
        given = answers(self.pod, state, host.compiled, self.cycle, snapshot, host.cache.columns.log)
        outcome = host.rules.narrow(given, self.cycle)
        if outcome.status is not None and outcome.status.code is Code.Error:
            raise SchedulingError(outcome.status.message)
        self.narrowed = outcome

    def _nowhere(self, filtering: PluginFiltering, state: ClassState, snapshot: Snapshot, rows: int) -> IntArray:
        """PreFilter rejected the pod; thorough: all the others say what each would alone."""
        self.judged = np.zeros(rows, np.bool_)
        if self.thorough:
            for name in state.pre:
                state.ask(name, snapshot, self.scheduler.cache.columns.log)
            # Upstream runs no Filter plugin here: what one would say must not end the attempt with an error.
            self.passed = filtering.run(every=True, nominated=False)
            self.passed.feasible = NO_NUMBERS
        return NO_NUMBERS

    def _rows(self, names: frozenset[str], listed: Mask) -> Mask:
        """The rows of some names, and the one that was tried already.

        Raises SchedulingError for a name that no node has, where the release does.
        """
        out = np.zeros(len(listed), np.bool_)
        row_of = self.scheduler.cache.columns.row_of
        if self.scheduler.rules.names_are_nodes:
            for name in sorted(names):
                if name not in row_of or not listed[row_of[name]]:
                    raise SchedulingError(node_not_found(name))
        out[[row_of[name] for name in names if name in row_of]] = True
        if self.tried is not None:
            out[self.tried] = True
        return out

    # --- Filter ----------------------------------------------------------------------------

    def _ask_for_hint(self, filtering: PluginFiltering, snapshot: Snapshot, listed: Mask) -> None:
        """The node that a kept ranking has for the pod, if it may take one."""
        batch, row_of = self.scheduler.batch, self.scheduler.cache.columns.row_of
        if batch is None or self.turn is None or self.thorough:
            return

        def is_full(node: str) -> bool | None:
            row = row_of.get(node)
            return None if row is None or not listed[row] else filtering.refused_by_plugins(row)

        watch = self.scheduler.watch
        started = 0.0 if watch is None else watch.now()
        self.signature = batch.signature(SignedPod(self.pod, filtering.state.info, snapshot))
        self.hint = batch.hint(self.turn, self.signature, is_full)
        if watch is not None:
            watch.hint_asked(self.hint, started)

    def _alone_on(self, node: str, filtering: PluginFiltering, listed: Mask) -> IntArray | None:
        """A node's row, if the pod passes there; None if all nodes are to be looked at."""
        row = self.scheduler.cache.columns.row_of.get(node)
        if row is None or not listed[row]:
            return None
        alone = np.zeros(len(listed), np.bool_)
        alone[row] = True
        try:
            passed = filtering.run(alone)
            filtering.raise_error(passed, alone)
            feasible = passed.feasible
            if not len(feasible):
                self.tried = row
            else:
                feasible = self.extend(feasible, self.cache.snapshot())
            if len(feasible):
                self.passed, self.judged, self.only = passed, alone, True
                return feasible
        except SchedulingError:
            pass  # all nodes are looked at, as if it had refused the pod
        if self.left is not None:
            self.refused, self.left = self.left.refused, None
        return None

    def sample(self, passed: Filtered) -> None:
        """Notes where the next attempt begins to look; a heap gets all nodes in the order of the list."""
        host, total, samples = self.scheduler, self.cache.columns.node_count, self._samples
        if samples or isinstance(host.tie_break, HeapTie):
            self.walk(passed, self.wanted() if samples else total)
            if self.tried is not None:
                passed.listed[self.tried] = True
            if not samples and self.thorough:
                return
        elif self.judged is None or self.thorough:
            return
        seen = passed.listed if self.judged is None else passed.listed & self.judged
        host.walk.advance(int(np.count_nonzero(seen)), total)

    @property
    def _samples(self) -> bool:
        return self.scheduler.algorithm.percentage_of_nodes_to_score < 100

    def wanted(self) -> int:
        """One is enough where nothing scores, in some releases."""
        host, algorithm = self.scheduler, self.scheduler.algorithm
        scores = any(e.config.prioritize_verb for e in algorithm.extenders) or bool(host.compiled.scores)
        filters = any(e.config.filter_verb for e in algorithm.extenders)
        return 1 if host.rules.one_is_enough and not scores and not filters else super().wanted()

    # --- score -----------------------------------------------------------------------------

    def score(self, state: ClassState, snapshot: Snapshot, feasible: IntArray) -> None:
        """PreScore and Score, then extenders."""
        scheduler, left = self.scheduler, self.left
        everywhere = self.passed is not None and self.passed.everywhere and left is None
        cache, see, scored = self.cache, self.cache.snapshot, feasible
        base, emptied = snapshot, left is not None and left.emptied and scheduler.rules.empties
        answered = None if left is None else left.places
        assert answered is None or isinstance(answered, AnsweredRows)
        if answered is not None and answered.invented and not scheduler.rules.empties:
            self._cannot_score(next(iter(answered.invented)))
        if answered is not None and emptied:
            if answered.altered:
                cluster = cluster_as_answered(cache, answered)
                cache, scored = cluster.cache, cluster.rows(feasible)
                snapshot = cache.snapshot()
                state = ClassState(cache.info(self.pod).naming(self.pod.node_name), scheduler.algorithm)
            see = partial(_emptied, cache)
            base = see()
        view = base if everywhere else base.take(scored)
        scale = scheduler.rules.extender_scale
        self.source = ScoreSource(state.info, see, scale, None if scored is feasible else scored)
        scoring = PluginScoring(
            state,
            scheduler.weights,
            scheduler.rules,
            snapshot,
            view,
            None if everywhere else scored,
            int(not scheduler.algorithm.extenders),
            dict.fromkeys(state.scores, (state.info, view)) if emptied else {},
            pod=self.pod,
            compiled=scheduler.compiled,
            cycle=self.cycle,
            skips=scheduler.rules.pre_score_skips,
            laps=self.laps,
        )
        self.add_up(scoring, cache, feasible)

    def _cannot_score(self, name: str) -> None:
        """A node that is not there makes the first Score plugin fail. Upstream: 1.20."""
        for plugin in self.scheduler.compiled.scores:
            text = f'getting node "{name}" from Snapshot: {node_not_found(name)}'
            raise SchedulingError(score_failed(plugin, text))

    def select(self, feasible: IntArray, totals: IntArray, names: tuple[str, ...]) -> int:
        """By a heap, where that is the release's own choice."""
        if isinstance(self.scheduler.tie_break, HeapTie):
            return self._heap(feasible, totals, self.scheduler.tie_break.rng, names)
        return super().select(feasible, totals, names)

    def _heap(self, feasible: IntArray, totals: IntArray, rng: random.Random, names: tuple[str, ...]) -> int:
        """Upstream's own choice."""
        hosts = {host for trace in self.traces for host, _ in trace.scores or ()}
        if not hosts:
            return int(feasible[heap_root(totals)])
        scored = np.array([at for at, row in enumerate(feasible.tolist()) if names[row] in hosts], np.int64)
        ranks = random_ranks(len(feasible), scored, rng) if len(scored) else None
        return int(feasible[heap_root(totals, ranks)])

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:
        """Keeps the ranking for the next pod."""
        batch, turn, signature = self.scheduler.batch, self.turn, self.signature
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
                self.scheduler.tie_break,
                columns.row_of[host],
                signature,
                turn.now,
            )
        batch.store(turn, self.hint, host, ranking, others=max(0, len(self.scored.totals) - 1))
        if watch is not None:
            watch.results_stored(started)

    def given_up(self, error: SchedulingError) -> str:
        """The point that was under way ends with the error."""
        if self.laps is not None:
            self.laps.end(Status.failure(str(error)))
        return super().given_up(error)

    # --- the outcome -----------------------------------------------------------------------

    def more(self, passed: Filtered, *, found: bool) -> dict[str, Any]:
        """Statuses with codes, and what PreFilter said."""
        rules, narrowed, left = self.scheduler.rules, self.narrowed, self.left
        rejected = narrowed.status
        absent = rejected if rules.refusal_is_status else None
        if rejected is None and narrowed.nodes is not None:
            absent = rules.outside(narrowed.plugins)
        fields = {
            "coded": True,
            "scale": FRAMEWORK_SCALE,
            "absent": absent,
            "pending": passed.pending,
            "refused": self.refused if left is None else {**self.refused, **left.refused},
            "pre_filter_plugins": narrowed.plugins,
            "pre_filter_rejection": rejected,
            "from_kept_ranking": self.by_hint and found,
        }
        if rejected is not None and self.thorough:
            fields["verdicts"], fields["idle"] = self._own_words(passed)
        return fields

    def _own_words(self, passed: Filtered) -> tuple[Any, Any]:
        """(verdicts, what PreFilter plugins say of single nodes): a plugin that rejects the pod is not run on nodes."""
        everywhere = np.ones(len(passed.listed), np.bool_)
        assert self.filtering is not None
        said = {
            name: dict.fromkeys(pre.answer.reasons, everywhere)
            for name, pre in self.filtering.state.pre.items()
            if pre.answer.reasons and name in self.scheduler.compiled.order
        }
        return tuple(v for v in passed.verdicts if v[0] not in said), tuple(said.items())

    def post_filter(self, decision: Decision) -> Decision:
        """The decision with what the PostFilter plugins came to; thorough: just what preemption would do."""
        scheduler = self.scheduler
        search = self.search(decision, samples=self._samples and not self.thorough)
        plugins = scheduler.frame.at(Point.POST_FILTER)
        self._note_pre_filters()
        if self.thorough:
            plugins = tuple(plugin for plugin in plugins if searches(plugin))
        laps = None if scheduler.watch is None else scheduler.watch.laps("PostFilter")
        collect = scheduler.rules.collect
        preemption, nominated, status = run_post_filters(plugins, search, self.cycle, collect, strict=self.thorough)
        if laps is not None:
            laps.end(status)
        message = "" if status is None or is_success(status) else status.message
        return attrs.evolve(decision, preemption=preemption, nominated=nominated, post_filter_message=message)

    def _note_pre_filters(self) -> None:
        """What PreFilter plugins answered is to be seen in the state, under the keys that releases use."""
        assert self.filtering is not None
        pre = self.filtering.state.pre
        compiled = self.scheduler.compiled
        for plugin in compiled.pre_filters:
            if plugin.name in compiled.algorithm.pre_filters:
                self.cycle.write(f"PreFilter{plugin.name}", pre[plugin.name].answer if plugin.name in pre else GO_ON)
            if plugin.name == self.narrowed.last:
                break


class FrameworkScheduler(Decider):
    """Decides by one profile. Upstream: 1.20 and 1.36 genericScheduler."""

    rules: FrameworkDecisionRules
    walk: ListWalk

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
        """percentage: of nodes to score; 100: all, 0: adaptive. watch: what is told how long the plugins of a point
        took; None: nobody."""
        self.frame = frame
        self.compiled = compiled = Compiled.of(frame, extenders, percentage)
        super().__init__(compiled.algorithm, cache, tie_break, rules, compiled.rules, compiled.weights)
        self.watch = watch
        self.batch = rules.batching(frame, bool(extenders))

    def fresh(self) -> FrameworkScheduler:
        """See Decider."""
        algorithm = self.algorithm
        percentage = algorithm.percentage_of_nodes_to_score
        return FrameworkScheduler(self.frame, self.cache, self.rules, algorithm.extenders, None, percentage)

    def attempt(
        self,
        pod: Pod,
        cycle: CycleState | None = None,
        *,
        thorough: bool = False,
        turn: Turn | None = None,
        instead: IntArray | None = None,
    ) -> ProfileAttempt:
        """Before anything is decided: ``run`` says where the pod goes.

        thorough: score also when just one node fits, run every Filter on every node, and try no nominated node first.
        cycle: the attempt's state, if the caller keeps it. turn: which attempt it is of those of a scheduler that
        places one pod after the other; None: a question on its own, which no earlier attempt has a say in. instead:
        the rows to score in place of those that pass.
        """
        return ProfileAttempt(
            pod=pod,
            scheduler=self,
            cache=self.cache,
            thorough=thorough,
            instead=instead,
            cycle=CycleState() if cycle is None else cycle,
            turn=turn,
        )
