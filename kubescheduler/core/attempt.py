"""One attempt to place a pod, read from top to bottom, for all releases: nodes are filtered and scored, one is chosen.

``Attempt.run`` is the whole of it. Below is what each step is for predicates and priorities, and the scheduler that
makes such attempts; for the plugins of a profile ``framework/deciding/profile_attempt.py`` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import ClaimVolume, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import NO_NODES, Decision, Explainer, ScoreSource
from kubescheduler.core.extender_calls import ExtenderTrace, SnapshotRows, filter_with_extenders, score_with_extenders
from kubescheduler.core.filter_and_score import Filtered, Scored, find_feasible, prioritize
from kubescheduler.core.pod_classes import ClassState, Memory, Rule
from kubescheduler.core.preemption import Search, preempt
from kubescheduler.core.preemption_choice import nominee_of
from kubescheduler.core.preemption_memory import PreemptionMemory
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.core.status import Status
from kubescheduler.core.totals import LazyScores, kept_totals
from predicates.types import Verdict
from priorities.types import PriorityError

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun


class Attempt(msgspec.Struct, eq=False, kw_only=True):
    """One pod's decision under way."""

    pod: Pod
    scheduler: Decider
    cache: ClusterCache
    """The scheduler's."""
    thorough: bool = False
    """Score also when just one node fits, and judge by every rule there is."""
    instead: IntArray | None = None
    """(n,) the rows to score in place of those that pass; None: these."""
    scored: Scored = msgspec.field(default_factory=Scored)
    held: LazyScores | None = None
    """The scores instead of ``scored``, where they were patched."""
    source: ScoreSource | None = None
    reached: str = ""
    """The point that it has come to."""

    def run(self, *, preempt: bool = False, reports: bool = False) -> Decision:
        """The whole attempt. preempt: where no node is left, also what preemption would do. reports: only what is said
        of that in the message.

        Never raises for what a release reports: see ``Decision.message``.
        """
        decision = self.decide()
        if not (preempt or reports) or decision.host is not None or decision.error is not None:
            return decision
        try:
            decision = self.post_filter(decision)
        except SchedulingError as error:
            return attrs.evolve(decision, error=str(error), error_at="postFilter")
        return decision if preempt else attrs.evolve(decision, preemption=None, nominated=None)

    def decide(self) -> Decision:
        """Filter, score and select."""
        cache = self.cache
        names, listed = cache.columns.published
        host = error = None
        try:
            info = self.ready()
            snapshot = cache.snapshot()
            state = self.scheduler.state(info, snapshot)
            if (row := self._patched(state, snapshot, listed)) is not None:
                self.chosen_by_totals(names[row])
                return self._outcome(names, listed, names[row], None)
            feasible = self.find(state, snapshot, listed)
            names = self.named(names)
            if self.scores(feasible):
                self.reached = "score"
                self.score(state, snapshot, feasible)
                host = names[self.select(feasible, self.scored.totals, names)]
            elif len(feasible):
                host = names[int(feasible[0])]
            self.chosen(host, feasible, names)
        except SchedulingError as e:
            error, host = self.given_up(e), None
            self.scored, self.source = Scored(), None
        except CustomCodeError as e:
            e.at = self.reached
            raise
        return self._outcome(names, listed, host, error)

    # --- the steps ---------------------------------------------------------------------------

    def ready(self) -> PodInfo:
        """The pod's class, once it is known that it can be scheduled at all. Raises SchedulingError."""
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        return self.cache.info(self.pod).naming(self.pod.node_name)

    def _patched(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> int | None:
        """The row chosen by what is kept of the last decision on a pod of the class; None: that cannot be brought up
        to date."""
        kept, state.kept = state.kept, None
        if kept is None or not self.keeps():
            return None
        self.held = kept.patch(state, snapshot, self.cache.columns)
        if self.held is None:
            return None
        state.kept = kept
        self.reached = "score"
        self.source = self.source_of(state)
        self.found_by_totals(state, listed)
        row: int = kept.choose(self.held, self.scheduler.tie_break)
        return row

    def keeps(self) -> bool:
        """Whether the totals may be kept from the pod before, and for the next one."""
        raise NotImplementedError

    def found_by_totals(self, state: Any, listed: Mask) -> None:
        """The nodes that fit are those that are kept for the class."""

    def chosen_by_totals(self, host: str) -> None:
        """A node was chosen by what is kept."""

    def find(self, state: Any, snapshot: Snapshot, listed: Mask) -> IntArray:
        """(n,) the rows that every rule and every extender leaves, the pods that are nominated to nodes counted.

        Raises SchedulingError when one fails.
        """
        raise NotImplementedError

    def named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Row → name, of all rows that may be left."""
        return names

    def scores(self, feasible: IntArray) -> bool:
        """Whether the nodes that are left are scored: releases return a single one unscored."""
        return len(feasible) > (0 if self.thorough else 1)

    def score(self, state: Any, snapshot: Snapshot, feasible: IntArray) -> None:
        """Fills in ``scored`` and ``source``, extenders' scores in the totals. Raises SchedulingError."""
        raise NotImplementedError

    def source_of(self, state: ClassState) -> ScoreSource:
        """What the scores are made of."""
        return ScoreSource(state.info, self.cache.snapshot)

    def keep_totals(self, state: ClassState, snapshot: Snapshot) -> None:
        """Keeps the totals for the next pod of the class."""
        state.kept = kept_totals(state, snapshot, self.cache.columns, self.scored, self.scheduler.weights)

    def select(self, feasible: IntArray, totals: IntArray, names: tuple[str, ...]) -> int:  # noqa: ARG002
        """The row with the highest total. totals: (n,) of the feasible rows."""
        first = int(totals.argmax())
        tied = np.flatnonzero(totals == totals[first])
        return self.scheduler.tie_break.choose(feasible[tied], self.cache.columns.ranks)

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:
        """A node was chosen, or none was left."""

    def given_up(self, error: SchedulingError) -> str:
        """The text that the release reports of an error; no row is left."""
        return str(error)

    def post_filter(self, decision: Decision) -> Decision:
        """The decision with what preemption would do. Raises SchedulingError when that fails."""
        raise NotImplementedError

    def said(
        self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None
    ) -> tuple[Filtered, dict[str, Any]]:
        """(what was filtered, the fields of a Decision that are not the same for all releases)."""
        raise NotImplementedError

    def _outcome(self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None) -> Decision:
        """What all this comes to."""
        filtered, more = self.said(names, listed, host, error)
        columns, algorithm = self.cache.columns, self.scheduler.algorithm
        return Decision(
            pod=self.pod,
            release=algorithm.release,
            names=names,
            listed=filtered.listed,
            nodes_total=columns.node_count,
            with_nominated=filtered.with_nominated,
            every_reason=algorithm.always_check_all_predicates,
            scored=self.scored if self.held is None else self.held,
            weights=self.scheduler.weights,
            host=host,
            error=error,
            error_at="" if error is None else self.reached,
            known=columns.known,
            explainer=Explainer(self.cache, algorithm, self.scheduler.again, self.source),
            **more,
        )


# --- by predicates and priorities ---------------------------------------------------------------

Steps = Callable[[str], object]
"""Told of the name of a part of the algorithm when it is over, of an empty one when the next begins."""


def no_steps(_: str) -> None:
    """Nobody listens."""


class PredicatesAttempt(Attempt, eq=False, kw_only=True):
    """An attempt by predicates and priorities. Upstream: 1.16 genericScheduler.Schedule."""

    scheduler: GenericScheduler
    filtered: Filtered
    reached: str = "filter"
    traces: tuple[ExtenderTrace, ...] = ()
    idle: tuple[tuple[str, Verdict], ...] = ()
    places: SnapshotRows | None = None
    """The rows of the nodes, with what is made of the node objects that extenders answer."""

    def ready(self) -> PodInfo:
        """Claims have to be there first."""
        info = self.cache.info(self.pod)
        if any(isinstance(volume, ClaimVolume) for volume in info.spec.volumes):
            error = self.scheduler.algorithm.behaviour.waits(info, self.cache.objects)
            if error is not None:
                raise SchedulingError(error)
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        return info.naming(self.pod.node_name)

    def keeps(self) -> bool:
        """Not where extenders have a say, nor where room may have to be left for nominated pods."""
        algorithm = self.scheduler.algorithm
        if self.thorough or self.instead is not None or algorithm.extenders:
            return False
        nominates = algorithm.behaviour.nominates and bool(self.cache.nominated())
        return algorithm.percentage_of_nodes_to_score >= 100 and not nominates

    def found_by_totals(self, state: ClassState, listed: Mask) -> None:
        """The nodes that fit are those that are kept for the class."""
        shared = state.shared
        self.filtered = Filtered(listed, shared.feasible, verdicts=shared.verdicts)
        self.scheduler.steps("predicate_evaluation")

    def chosen_by_totals(self, host: str) -> None:  # noqa: ARG002
        """The priorities are over."""
        self.scheduler.steps("priority_evaluation")

    def find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:  # noqa: ARG002
        """Predicates, then extenders."""
        algorithm, info = self.scheduler.algorithm, state.info
        filtered = self.filtered = find_feasible(self.pod, state, self.cache, algorithm)
        self.idle = tuple((rule.name, rule.check(info, snapshot)) for rule in algorithm.idle if self.thorough)
        self.places = algorithm.behaviour.places(snapshot)
        if algorithm.extenders:
            filtered.feasible, self.traces = filter_with_extenders(
                self.pod, algorithm.extenders, self.places, filtered.feasible
            )
            filtered.everywhere = False
        if self.instead is not None:
            filtered.feasible, filtered.everywhere = self.instead, False
        self.scheduler.steps("predicate_evaluation" if len(filtered.feasible) else "")
        return filtered.feasible

    def scores(self, feasible: IntArray) -> bool:
        """1.4 scores a single node, too."""
        return super().scores(feasible) or (self.scheduler.algorithm.behaviour.scores_single and len(feasible) > 0)

    def score(self, state: ClassState, snapshot: Snapshot, feasible: IntArray) -> None:
        """Priorities, then extenders."""
        algorithm, log, places = self.scheduler.algorithm, self.cache.columns.log, self.places
        assert places is not None
        views = places.views(self.pod, self.cache, self.scheduler.weights, feasible)
        self.scored = prioritize(state, places.snapshot, self.filtered, algorithm, log, views)
        self.source = ScoreSource(state.info, self.cache.snapshot, views=views)
        if algorithm.extenders:
            sums, self.traces = score_with_extenders(self.pod, algorithm.extenders, self.traces, places, feasible)
            self.scored.totals = self.scored.totals + sums
        elif self.keeps():
            self.keep_totals(state, snapshot)

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:  # noqa: ARG002
        """The priorities are over."""
        self.scheduler.steps("" if host is None else "priority_evaluation")

    def given_up(self, error: SchedulingError) -> str:
        """1.4 tells some errors of priorities as often as there are nodes."""
        text = str(error)
        if isinstance(error, PriorityError):
            text = self.scheduler.algorithm.behaviour.priority_error(error, len(self.filtered.feasible))
        self.filtered.feasible = NO_NUMBERS
        return text

    def post_filter(self, decision: Decision) -> Decision:
        """Preemption; releases before it leave the pod as it is."""
        if not self.scheduler.algorithm.behaviour.preempts:
            return decision
        self.scheduler.steps("")
        algorithm = self.scheduler.algorithm
        state = self.scheduler.state(self.ready(), self.cache.snapshot())
        search = Search(
            self.pod,
            decision,
            state,
            algorithm.predicates,
            self.cache,
            self.scheduler.preemption,
            algorithm.extenders,
        )
        preemption, _ = preempt(search, algorithm.behaviour.preemption)
        self.scheduler.steps("preemption_evaluation")
        return attrs.evolve(decision, preemption=preemption, nominated=nominee_of(preemption))

    def said(
        self,
        names: tuple[str, ...],  # noqa: ARG002
        listed: Mask,  # noqa: ARG002
        host: str | None,  # noqa: ARG002
        error: str | None,  # noqa: ARG002
    ) -> tuple[Filtered, dict[str, Any]]:
        """The idle predicates' verdicts, and what extenders said."""
        filtered, algorithm = self.filtered, self.scheduler.algorithm
        return filtered, {
            "verdicts": filtered.verdicts,
            "idle": self.idle,
            "feasible": filtered.feasible,
            "extenders": self.traces,
            "refused": _refused(self.traces) if self.traces else {},
            "appends": True,
            "unresolvable": filtered.unresolvable,
            "nominated_codes": filtered.nominated_codes,
            "fit_error": algorithm.behaviour.fit_error,
        }


def _refused(traces: Iterable[ExtenderTrace]) -> dict[str, Status]:
    """Node → every extender's reason for refusing it, in the order they were asked."""
    by_node: dict[str, list[str]] = {}
    for trace in traces:
        for name, message in (trace.failed or {}).items():
            by_node.setdefault(name, []).append(message)
    return {name: Status.unschedulable(*messages) for name, messages in by_node.items()}


class Decider:
    """Decides where pods go in one cluster, by attempts, and keeps what is remembered from one to the next.

    An attempt changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        cache: ClusterCache,
        tie_break: TieBreak | None,
        rules: Iterable[Rule],
        weights: Mapping[str, int],
    ) -> None:
        """rules: everything over columns that is asked. weights: rule → its weight."""
        self.algorithm = algorithm
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        self.weights = weights
        self.preemption = PreemptionMemory(cache, algorithm.behaviour.order)
        self._memory = Memory(rules, lambda info, share: ClassState(info, algorithm, share))

    def fresh(self) -> Decider:
        """The same, with nothing remembered, and no say in the choice among equal totals nor in what is sampled."""
        raise NotImplementedError

    def attempt(self, pod: Pod, *, thorough: bool = False, instead: IntArray | None = None) -> Attempt:
        """Before anything is decided: ``run`` says where the pod goes. See Attempt."""
        raise NotImplementedError

    def state(self, info: PodInfo, snapshot: Snapshot) -> ClassState:
        """What is remembered for pods like one of this class."""
        return self._memory.state(info, snapshot, self.cache.columns.log)

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """What it would say if the nodes of these rows, and no others, had passed every check.

        rows: (n,) of the cluster. Extenders' filters are called, and have no say.
        """
        return self.fresh().attempt(pod, thorough=True, instead=rows).decide()

    def again(self, pod: Pod) -> Decision:
        """The same with every score, and without a say in the choice among equal totals."""
        return self.fresh().attempt(pod, thorough=True).decide()


class GenericScheduler(Decider):
    """Decides by predicates and priorities. Upstream: 1.16 genericScheduler."""

    def __init__(self, algorithm: Algorithm, cache: ClusterCache, tie_break: TieBreak | None = None) -> None:
        scores = [priority.config for priority in algorithm.priorities]
        weights = {p.config.name: p.weight for p in algorithm.priorities}
        super().__init__(algorithm, cache, tie_break, (*algorithm.predicates, *scores), weights)
        self.steps: Steps = no_steps
        """What is told when a part of the algorithm begins (an empty name) and ends."""

    def fresh(self) -> GenericScheduler:
        """See Decider."""
        return GenericScheduler(self.algorithm, self.cache)

    @property
    def has_custom_plugins(self) -> bool:
        """There are no plugins."""
        return False

    def foreign(self, pod: Pod) -> str:
        """Why a pod is left alone: it names another scheduler than this one is known to be; else empty."""
        mine, named = self.algorithm.scheduler_name, self.algorithm.behaviour.scheduler_of(pod)
        return "" if mine is None or named == mine else f"the pod names scheduler {named}, and this one is {mine}"

    def points(self, pod: Pod) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """The predicates under ``filter``, in the order they run."""
        return {"filter": tuple(predicate.name for predicate in self.algorithm.predicates)}

    def decide(
        self,
        pod: Pod,
        *,
        preempt: bool = False,
        thorough: bool = False,
        enqueued: bool = False,  # noqa: ARG002
        in_sequence: bool = False,  # noqa: ARG002
        reports: bool = True,  # noqa: ARG002
    ) -> Decision:
        """Where the pod goes. Never raises for what a release reports: see ``Decision.message``.

        thorough: score also when just one node fits (releases return that node unscored), and judge by idle
        predicates too. preempt: when nothing fits, also say what preemption would do. enqueued, in_sequence, reports:
        without meaning here, where no plugin holds pods back, keeps anything or adds to the message.
        """
        if text := self.foreign(pod):
            return self._left_alone(pod, text)
        try:
            self.steps("")
            return self.attempt(pod, thorough=thorough).run(preempt=preempt)
        except CustomCodeError as error:
            raise error.of_pod(pod.key) from error

    def place_run(self, pods: Sequence[Pod]) -> PlacedRun | None:
        """Decides and assumes the first of the pods that no rule can tell apart, one after another as ``decide`` in a
        sequence and ``assume_pod`` do; None, or fewer than there are: from there on pods are decided one by one."""
        if self.steps is not no_steps:
            return None
        from kubescheduler.core.equal_runs import placed_in_bulk

        snapshot = self.cache.snapshot()
        return placed_in_bulk(
            pods,
            self.cache,
            self.algorithm,
            self.tie_break,
            lambda info: self.state(info, snapshot),
            lambda pod: bool(self.foreign(pod)),
        )

    def _left_alone(self, pod: Pod, text: str) -> Decision:
        names, listed = self.cache.columns.published
        total = self.cache.columns.node_count
        return Decision(pod, self.algorithm.release, names, listed, total, error=text, tried=False)

    def attempt(self, pod: Pod, *, thorough: bool = False, instead: IntArray | None = None) -> PredicatesAttempt:
        """See Decider."""
        cache = self.cache
        filtered = Filtered(cache.columns.published[1])
        return PredicatesAttempt(
            pod=pod, scheduler=self, cache=cache, thorough=thorough, instead=instead, filtered=filtered
        )

    def again(self, pod: Pod) -> Decision:
        """See Decider."""
        return self.fresh().decide(pod, thorough=True)
