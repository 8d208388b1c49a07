"""What the steps of an attempt are for the plugins of a profile, from PreFilter to PostFilter.

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
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.attempt import Attempt, Decider
from kubescheduler.core.decision import FRAMEWORK_SCALE, NO_NODES, Decision, ScoreSource
from kubescheduler.core.extender_calls import Extender, ExtenderTrace, score_with_extenders
from kubescheduler.core.filter_and_score import Filtered
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.preemption import Search
from kubescheduler.core.selection import TieBreak
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.extender.answers import cluster_as_answered, node_not_found
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.frame import Frame
from kubescheduler.framework.contract.plugin import SignedPod
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runs import Laps, PreFilterOutcome, Watch, score_failed
from kubescheduler.framework.deciding.compiled_profile import Compiled
from kubescheduler.framework.deciding.filter_plugins import Filtering
from kubescheduler.framework.deciding.find_nodes import (
    ALL_NODES,
    NO_ROWS,
    SCALE,
    FrameworkDecisionRules,
    LeftByExtenders,
    Sampler,
    answers,
    ask_filters,
)
from kubescheduler.framework.deciding.opportunistic_batch import KeptRanking, Signature, Turn
from kubescheduler.framework.deciding.post_filter_plugins import run_post_filters, searches
from kubescheduler.framework.deciding.score_plugins import EmptiedNodes, HeapTie, Scoring, heap_root, random_ranks
from predicates.types import GO_ON


def _emptied(cache: ClusterCache) -> EmptiedNodes:
    """The nodes as they look when an extender answered them as objects."""
    return EmptiedNodes.of(cache.snapshot())


class ProfileAttempt(Attempt, eq=False, kw_only=True):
    """An attempt by the plugins of a profile. Upstream: schedulePod."""

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
    filtering: Filtering | None = None
    passed: Filtered | None = None
    filtered: LeftByExtenders | None = None
    traces: tuple[ExtenderTrace, ...] = ()
    judged: Mask | None = None
    """(N,) bool, the rows that Filter plugins are run on; None: all."""
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

    def ready(self) -> PodInfo:
        """Claims have to be there first, up to 1.19."""
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        info, waits = self.cache.info(self.pod).naming(self.pod.node_name), self.scheduler.rules.waits
        if waits is not None and (error := waits(info, self.cache.objects)):
            raise SchedulingError(error)
        return info

    # --- totals that are kept ----------------------------------------------------------------

    def keeps(self) -> bool:
        """Not where custom plugins or extenders have a say, nor where something else does than the pod's class."""
        scheduler = self.scheduler
        return (
            scheduler.compiled.keeps
            and not self.thorough
            and self.instead is None
            and (self.turn is None or scheduler.batch is None or scheduler.batch.signers is None)
            and self.laps is None
            and not self.pod.nominated_node_name
            and not scheduler.cache.nominated()
            and not isinstance(scheduler.tie_break, HeapTie)
        )

    def found_by_totals(self, state: ClassState, listed: Mask) -> None:
        """The nodes that fit, and the plugins that skip, are those that are kept for the class."""
        shared = state.shared
        self.cycle.skip_filter |= state.skips[0]
        self.cycle.skip_score |= state.skips[1]
        self.passed = Filtered(listed, shared.feasible, verdicts=shared.verdicts, unresolvable=shared.unresolvable)

    def chosen_by_totals(self, host: str) -> None:
        """A pod without a signature took no hint, and leaves none."""
        batch, turn = self.scheduler.batch, self.turn
        if batch is not None and turn is not None:
            batch.hint(turn, None, lambda _: None)
            batch.store(turn, None, "", host, None, others=max(0, len(self.feasible) - 1))

    def keep_totals(self, state: Any, snapshot: Snapshot) -> None:
        """With the plugins that skip; not where the search was narrowed."""
        if self.narrowed.nodes is None and self.judged is None and self.keeps():
            state.skips = frozenset(self.cycle.skip_filter), frozenset(self.cycle.skip_score)
            super().keep_totals(state, snapshot)

    def source_of(self, state: ClassState) -> ScoreSource:
        """Extenders score on another scale."""
        return ScoreSource(state.info, self.cache.snapshot, SCALE)

    # --- filter ------------------------------------------------------------------------------

    def find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:
        """PreFilter, Filter and extenders."""
        try:
            feasible = self._find(state, snapshot, listed)
        finally:
            if self.filtering is not None:
                self.reached = "filter"
        return feasible if self.instead is None else self._take_instead(self.instead)

    def named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Also of the nodes that an extender answered and the cluster does not have."""
        filtered = self.filtered
        return names if filtered is None else names + filtered.answered.added_names

    def scores(self, feasible: IntArray) -> bool:
        """Not the nominated or hinted node, which is enough."""
        return len(feasible) > (0 if self.thorough else 1) and not self.only

    def _find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:
        """(n,) the rows that are left: ascending, or where the order matters in that of the node list or of the last
        extender's answer.

        Raises SchedulingError when a plugin or an extender fails. Upstream: findNodesThatFitPod.
        """
        host, rules = self.scheduler, self.scheduler.rules
        self._narrow(state, snapshot)
        if self.laps is not None:
            self.laps.end(self.narrowed.status, "" if self.narrowed.status is not None else "Filter")
        filtering = self.filtering = Filtering.of(
            self.pod, state, host.compiled, self.cycle, host.cache, rules.filter_error, rules.rejected
        )
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
            self.judged = self._rows(self.narrowed.nodes, len(listed))
        passed = self.passed = filtering.run(self.judged, every=self.thorough)
        if self._samples or isinstance(host.tie_break, HeapTie):
            self._walk(passed)
        elif self.judged is not None and not self.thorough:
            host.sampler.advance(int((self.judged & listed).sum()), host.cache.columns.node_count)
        filtering.raise_error(passed, self.judged)
        if self.laps is not None:
            self.laps.end()
        return self._extend(passed.feasible, snapshot) if host.algorithm.extenders else passed.feasible

    def _take_instead(self, rows: IntArray) -> IntArray:
        """These rows are left, whatever was found."""
        if self.passed is not None:
            self.passed.feasible, self.passed.everywhere = rows, False
        if self.filtered is not None:
            self.filtered = msgspec.structs.replace(self.filtered, feasible=rows)
        return rows

    @property
    def feasible(self) -> IntArray:
        """(n,) int64: the rows that fit; empty before Filter plugins have run."""
        if self.filtered is not None:
            return self.filtered.feasible
        return NO_ROWS if self.passed is None else self.passed.feasible

    # --- PreFilter -------------------------------------------------------------------------

    def _narrow(self, state: ClassState, snapshot: Snapshot) -> None:
        host = self.scheduler
        given = answers(self.pod, state, host.compiled, self.cycle, snapshot, host.cache.columns.log)
        outcome = host.rules.narrow(given, self.cycle)
        if outcome.status is not None and outcome.status.code is Code.Error:
            raise SchedulingError(outcome.status.message)
        self.narrowed = outcome

    def _nowhere(self, filtering: Filtering, state: ClassState, snapshot: Snapshot, rows: int) -> IntArray:
        """PreFilter rejected the pod; thorough: all the others say what each would alone."""
        self.judged = np.zeros(rows, np.bool_)
        if self.thorough:
            for name in state.pre:
                state.ask(name, snapshot, self.scheduler.cache.columns.log)
            # Upstream runs no Filter plugin here: what one would say must not end the attempt with an error.
            self.passed = filtering.run(None, every=True, nominated=False)
            self.passed.feasible = NO_ROWS
        return NO_ROWS

    def _rows(self, names: frozenset[str], size: int) -> Mask:
        """The rows of some names, and the one that was tried already."""
        out = np.zeros(size, np.bool_)
        row_of = self.scheduler.cache.columns.row_of
        out[[row_of[name] for name in names if name in row_of]] = True
        if self.tried is not None:
            out[self.tried] = True
        return out

    # --- Filter ----------------------------------------------------------------------------

    def _ask_for_hint(self, filtering: Filtering, snapshot: Snapshot, listed: Mask) -> None:
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

    def _alone_on(self, node: str, filtering: Filtering, listed: Mask) -> IntArray | None:
        """A node's row, if the pod passes there; None if all nodes are to be looked at."""
        row = self.scheduler.cache.columns.row_of.get(node)
        if row is None or not listed[row]:
            return None
        alone = np.zeros(len(listed), np.bool_)
        alone[row] = True
        try:
            passed = filtering.run(alone, every=False)
            filtering.raise_error(passed, alone)
            feasible = passed.feasible
            if not len(feasible):
                self.tried = row
            elif self.scheduler.algorithm.extenders:
                feasible = self._extend(feasible, self.scheduler.cache.snapshot())
            if len(feasible):
                self.passed, self.judged, self.only = passed, alone, True
                return feasible
        except SchedulingError:
            pass  # all nodes are looked at, as if it had refused the pod
        if self.filtered is not None:
            self.refused, self.filtered = self.filtered.refused, None
        return None

    @property
    def _samples(self) -> bool:
        return self.scheduler.algorithm.percentage_of_nodes_to_score < 100

    def _walk(self, passed: Filtered) -> None:
        """Puts the rows in the order of the node list, and ends where enough were met."""
        host = self.scheduler
        total = host.cache.columns.node_count
        fits = np.zeros(len(passed.listed), np.bool_)
        fits[passed.feasible] = True
        order = host.cache.listed_rows()
        if self.judged is not None:
            order = order[self.judged[order]]
        passed.feasible, seen = host.sampler.sample(order, fits, self._wanted(total) if self._samples else total)
        passed.everywhere = False
        if self.tried is not None:
            seen[self.tried] = True
        passed.listed = seen if self.judged is None else seen | (passed.listed & ~self.judged)
        if self._samples or not self.thorough:
            host.sampler.advance(int(seen.sum()), total)

    def _wanted(self, total: int) -> int:
        """How many passing nodes are enough."""
        host, algorithm = self.scheduler, self.scheduler.algorithm
        scores = any(e.config.prioritize_verb for e in algorithm.extenders) or bool(host.compiled.scores)
        filters = any(e.config.filter_verb for e in algorithm.extenders)
        if host.rules.one_is_enough and not scores and not filters:
            return 1
        return host.rules.wanted(total, algorithm.percentage_of_nodes_to_score)

    # --- extenders -------------------------------------------------------------------------

    def _extend(self, feasible: IntArray, snapshot: Snapshot) -> IntArray:
        host = self.scheduler
        extenders = host.algorithm.extenders
        self.filtered = ask_filters(self.pod, extenders, snapshot, feasible, host.rules.note)
        self.traces = self.filtered.traces
        return self.filtered.feasible

    # --- score -----------------------------------------------------------------------------

    def score(self, state: ClassState, snapshot: Snapshot, feasible: IntArray) -> None:
        """PreScore and Score, then extenders."""
        scheduler = self.scheduler
        passed, filtered = self.passed, self.filtered
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
                state = ClassState(cache.info(self.pod).naming(self.pod.node_name), scheduler.algorithm)
            see = partial(_emptied, cache)
            base = see()
        view = base if everywhere else base.take(scored)
        self.source = ScoreSource(state.info, see, SCALE, None if scored is feasible else scored)
        scoring = Scoring(
            self.pod,
            state,
            scheduler.compiled,
            self.cycle,
            snapshot,
            view,
            None if everywhere else scored,
            scheduler.rules.pre_score_skips,
            self.laps,
        )
        self.scored = scoring.run(cache.columns.log)
        self.keep_totals(state, snapshot)
        extenders = scheduler.algorithm.extenders
        if extenders:
            assert filtered is not None
            sums, self.traces = score_with_extenders(
                self.pod, extenders, self.traces, filtered.answered, feasible, SCALE
            )
            self.scored.totals = self.scored.totals + sums

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
            )
        batch.store(turn, signature, self.hint, host, ranking, others=max(0, len(self.scored.totals) - 1))
        if watch is not None:
            watch.results_stored(started)

    def given_up(self, error: SchedulingError) -> str:
        """The point that was under way ends with the error."""
        text = str(error)
        if self.laps is not None:
            self.laps.end(Status.failure(text))
        if self.passed is not None:
            self.passed.feasible = NO_ROWS
        self.filtered = None
        return text

    # --- the outcome -----------------------------------------------------------------------

    def said(
        self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None
    ) -> tuple[Filtered, dict[str, Any]]:
        """Statuses with codes, scores before they were normalised, and what PreFilter said."""
        rules = self.scheduler.rules
        passed, narrowed, filtered = self.passed or Filtered(listed), self.narrowed, self.filtered
        rejected = narrowed.status
        absent = rejected if rules.refusal_is_status else None
        if rejected is None and narrowed.nodes is not None:
            absent = rules.outside(narrowed.plugins)
        verdicts, idle = passed.verdicts, ()
        if rejected is not None and self.thorough:
            verdicts, idle = self._own_words(passed, len(names))
        return passed, {
            "verdicts": verdicts,
            "idle": idle,
            "feasible": self.feasible if error is None else NO_ROWS,
            "extenders": self.traces,
            "fit_error": rules.fit_error,
            "coded": True,
            "scale": FRAMEWORK_SCALE,
            "judged": self.judged,
            "absent": absent,
            "unresolvable": passed.unresolvable,
            "nominated_codes": passed.nominated_codes,
            "pending": passed.pending,
            "refused": self.refused if filtered is None else {**self.refused, **filtered.refused},
            "appends": rules.appends,
            "pre_filter_plugins": narrowed.plugins,
            "pre_filter_message": "" if rejected is None else rejected.message,
            "from_kept_ranking": self.by_hint and host is not None,
        }

    def _own_words(self, passed: Filtered, rows: int) -> tuple[Any, Any]:
        """(verdicts, what PreFilter plugins say of single nodes): a plugin that rejects the pod is not run on nodes."""
        everywhere = np.ones(rows, np.bool_)
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
        assert self.filtering is not None
        algorithm = scheduler.algorithm
        search = Search(
            self.pod,
            decision,
            self.filtering.state,
            self.filtering.checks(),
            scheduler.cache,
            scheduler.preemption,
            algorithm.extenders,
            samples=algorithm.percentage_of_nodes_to_score < 100 and not self.thorough,
        )
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
        super().__init__(compiled.algorithm, cache, tie_break, compiled.rules, compiled.weights)
        self.rules = rules
        self.watch = watch
        self.sampler = Sampler()
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
