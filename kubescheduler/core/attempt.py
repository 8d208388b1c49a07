"""One attempt to place a pod, read from top to bottom, for all releases: nodes are filtered and scored, one is chosen.

``Attempt.run`` is the whole of it; its steps follow, as they are where there are only predicates and priorities. What
plugins add at the points of a profile is in ``framework/deciding/profile_attempt.py``. The scheduler that makes such
attempts comes last.
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
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm, AttemptRules
from kubescheduler.core.decision import NO_NODES, Decision, Explainer, ScoreSource
from kubescheduler.core.extender_calls import (
    ExtenderTrace,
    LeftByExtenders,
    filter_with_extenders,
    score_with_extenders,
)
from kubescheduler.core.filter_and_score import Filtered, Filtering, Scored, Scoring
from kubescheduler.core.pod_classes import ClassState, Memory, Rule
from kubescheduler.core.preemption import Search, preempt
from kubescheduler.core.preemption_choice import nominee_of
from kubescheduler.core.preemption_memory import PreemptionMemory
from kubescheduler.core.selection import FirstByName, ListWalk, NodeWalk, TieBreak
from kubescheduler.core.totals import LazyScores, kept_totals
from predicates.types import Verdict

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun

Steps = Callable[[str], object]
"""Told of the name of a part of the algorithm when it is over, of an empty one when the next begins."""


def no_steps(_: str) -> None:
    """Nobody listens."""


class Attempt(msgspec.Struct, eq=False, kw_only=True):
    """One pod's decision under way. Upstream: 1.16 genericScheduler.Schedule, later schedulePod."""

    pod: Pod
    scheduler: Decider
    cache: ClusterCache
    """The scheduler's."""
    thorough: bool = False
    """Score also when just one node fits, and judge by every rule there is."""
    instead: IntArray | None = None
    """(n,) the rows to score in place of those that pass; None: these."""
    reached: str = "filter"
    """The point that it has come to."""
    filtering: Filtering | None = None
    judged: Mask | None = None
    """(N,) bool, the rows that checks are run on; None: all."""
    passed: Filtered | None = None
    idle: tuple[tuple[str, Verdict], ...] = ()
    left: LeftByExtenders | None = None
    """What extenders leave of the nodes that passed; None: none was asked."""
    traces: tuple[ExtenderTrace, ...] = ()
    scored: Scored = msgspec.field(default_factory=Scored)
    held: LazyScores | None = None
    """The scores instead of ``scored``, where they were patched."""
    source: ScoreSource | None = None

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
        cache, steps = self.cache, self.scheduler.steps
        names, listed = cache.columns.published
        host = error = None
        try:
            info = self.ready()
            snapshot = cache.snapshot()
            state = self.scheduler.state(info, snapshot)
            if (row := self._patched(state, snapshot, listed)) is not None:
                self.chosen_by_totals(names[row])
                steps("priority_evaluation")
                return self._outcome(names, listed, names[row], None)
            feasible = self.find(state, snapshot, listed)
            if self.instead is not None:
                feasible = self._take(self.instead)
            steps("predicate_evaluation" if len(feasible) else "")
            if self.left is not None:
                names = names + self.left.places.added_names
            if self.scores(feasible):
                self.reached = "score"
                self.score(state, snapshot, feasible)
                host = names[self.select(feasible, self.scored.totals, names)]
            elif len(feasible):
                host = names[int(feasible[0])]
            steps("" if host is None else "priority_evaluation")
            self.chosen(host, feasible, names)
        except SchedulingError as e:
            error, host = self.given_up(e), None
            self.scored, self.source = Scored(), None
        except CustomCodeError as e:
            e.at = self.reached
            raise
        return self._outcome(names, listed, host, error)

    def ready(self) -> PodInfo:
        """The pod's class, once it is known that it can be scheduled at all: claims have to be there first, and nodes.

        Raises SchedulingError.
        """
        info, waits = self.cache.info(self.pod), self.scheduler.rules.waits
        if waits is not None and (error := waits(info, self.cache.objects)):
            raise SchedulingError(error)
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        return info.naming(self.pod.node_name)

    # --- totals that are kept ----------------------------------------------------------------

    def _patched(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> int | None:
        """The row chosen by what is kept of the last decision on a pod of the class; None: that cannot be brought up
        to date."""
        kept, state.kept = state.kept, None
        if kept is None or not self._may_keep():
            return None
        self.held = kept.patch(state, snapshot, self.cache.columns)
        if self.held is None:
            return None
        state.kept = kept
        self.reached = "score"
        self.source = ScoreSource(state.info, self.cache.snapshot, self.scheduler.rules.extender_scale)
        shared = state.shared
        self.passed = Filtered(listed, shared.feasible, verdicts=shared.verdicts, unresolvable=shared.unresolvable)
        self.found_by_totals(state)
        self.scheduler.steps("predicate_evaluation")
        row: int = kept.choose(self.held, self.scheduler.tie_break)
        return row

    def _may_keep(self) -> bool:
        """Whether the totals may be kept from the pod before, and for the next one: not where extenders have a say, nor
        where room may have to be left for nominated pods."""
        algorithm = self.scheduler.algorithm
        if self.thorough or self.instead is not None or algorithm.extenders:
            return False
        if algorithm.percentage_of_nodes_to_score < 100 or (self.scheduler.rules.nominates and self.cache.nominated()):
            return False
        return self.keeps()

    def keeps(self) -> bool:
        """Whether nothing has a say but the pod's class."""
        return True

    def found_by_totals(self, state: ClassState) -> None:
        """The nodes that fit are those that are kept for the class."""

    def chosen_by_totals(self, host: str) -> None:
        """A node was chosen by what is kept."""

    def keep_totals(self, state: ClassState, snapshot: Snapshot) -> None:
        """Keeps the totals for the next pod of the class."""
        state.kept = kept_totals(state, snapshot, self.cache.columns, self.scored, self.scheduler.weights)

    # --- filter ------------------------------------------------------------------------------

    def find(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> IntArray:  # noqa: ARG002
        """(n,) the rows that every check and every extender leaves, the pods that are nominated to nodes counted:
        ascending, or where the order matters in that of the node list or of the last extender's answer.

        Raises SchedulingError when one fails.
        """
        algorithm, rules = self.scheduler.algorithm, self.scheduler.rules
        passing = self.filter(Filtering(self.pod, state, self.cache, rules, algorithm.always_check_all_predicates))
        self.idle = tuple((rule.name, rule.check(state.info, snapshot)) for rule in algorithm.idle if self.thorough)
        return self.extend(passing, snapshot)

    def filter(self, filtering: Filtering) -> IntArray:
        """(n,) the rows, of those that are judged, that every check leaves. Raises SchedulingError."""
        self.filtering = filtering
        passed = self.passed = filtering.run(self.judged, every=self.thorough)
        self.sample(passed)
        filtering.raise_error(passed, self.judged)
        return passed.feasible

    def sample(self, passed: Filtered) -> None:
        """Where a part of the nodes is enough, puts the rows in the order in which they are met, and ends there."""
        if self.scheduler.algorithm.percentage_of_nodes_to_score < 100:
            self.walk(passed, self.wanted())

    def wanted(self) -> int:
        """How many nodes that fit are enough."""
        percentage = self.scheduler.algorithm.percentage_of_nodes_to_score
        return self.scheduler.rules.wanted(self.cache.columns.node_count, percentage)

    def walk(self, passed: Filtered, wanted: int) -> None:
        """Goes along the nodes until so many fit."""
        fits = np.zeros(len(passed.listed), np.bool_)
        fits[passed.feasible] = True
        passed.feasible, seen = self.scheduler.walk.sample(self.cache, fits, self.judged, wanted)
        passed.everywhere = False
        passed.listed = seen if self.judged is None else seen | (passed.listed & ~self.judged)

    def extend(self, feasible: IntArray, snapshot: Snapshot) -> IntArray:
        """The rows that extenders leave."""
        extenders, rules = self.scheduler.algorithm.extenders, self.scheduler.rules
        if not extenders:
            return feasible
        self.left = filter_with_extenders(self.pod, extenders, rules.places(snapshot), feasible, rules.note)
        self.traces = self.left.traces
        return self.left.feasible

    @property
    def feasible(self) -> IntArray:
        """(n,) int64: the rows that fit; empty before checks have run."""
        if self.left is not None:
            return self.left.feasible
        return NO_NUMBERS if self.passed is None else self.passed.feasible

    def _take(self, rows: IntArray) -> IntArray:
        """These rows are left, whatever was found."""
        if self.passed is not None:
            self.passed.feasible, self.passed.everywhere = rows, False
        if self.left is not None:
            self.left = msgspec.structs.replace(self.left, feasible=rows)
        return rows

    # --- score -------------------------------------------------------------------------------

    def scores(self, feasible: IntArray) -> bool:
        """Whether the nodes that are left are scored: most releases return a single one unscored."""
        return len(feasible) > (0 if self.thorough or self.scheduler.rules.scores_single else 1)

    def score(self, state: ClassState, snapshot: Snapshot, feasible: IntArray) -> None:
        """Fills in ``scored`` and ``source``, extenders' scores in the totals. Raises SchedulingError."""
        scheduler, left = self.scheduler, self.left
        views = {} if left is None else left.places.views(self.pod, self.cache, scheduler.weights, feasible)
        rows = None if self.passed is not None and self.passed.everywhere and left is None else feasible
        view = snapshot if rows is None else snapshot.take(rows)
        self.source = ScoreSource(state.info, self.cache.snapshot, scheduler.rules.extender_scale, views=views)
        nothing = int(not scheduler.algorithm.extenders)
        self.add_up(
            Scoring(state, scheduler.weights, scheduler.rules, snapshot, view, rows, nothing, views),
            self.cache,
            feasible,
        )

    def add_up(self, scoring: Scoring, cache: ClusterCache, feasible: IntArray) -> None:
        """The scores of rules, then those of extenders. cache: of the nodes that rules read."""
        self.scored = scoring.run(cache.columns.log)
        if self.judged is None and self._may_keep():
            self.keep_totals(scoring.state, scoring.snapshot)
        if self.left is not None:
            extenders, scale = self.scheduler.algorithm.extenders, self.scheduler.rules.extender_scale
            sums, self.traces = score_with_extenders(
                self.pod, extenders, self.traces, self.left.places, feasible, scale
            )
            self.scored.totals = self.scored.totals + sums

    def select(self, feasible: IntArray, totals: IntArray, names: tuple[str, ...]) -> int:  # noqa: ARG002
        """The row with the highest total. totals: (n,) of the feasible rows."""
        first = int(totals.argmax())
        tied = np.flatnonzero(totals == totals[first])
        return self.scheduler.tie_break.choose(feasible[tied], self.cache.columns.ranks)

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:
        """A node was chosen, or none was left."""

    # --- the outcome -------------------------------------------------------------------------

    def given_up(self, error: SchedulingError) -> str:
        """The text that the release reports of an error."""
        return str(error)

    def post_filter(self, decision: Decision) -> Decision:
        """The decision with what preemption would do. Raises SchedulingError when that fails."""
        raise NotImplementedError

    def search(self, decision: Decision, *, samples: bool = False) -> Search:
        """What preemption is asked about. samples: see there."""
        filtering, scheduler = self.filtering, self.scheduler
        assert filtering is not None
        return Search(
            self.pod,
            decision,
            filtering.state,
            filtering.checks(),
            self.cache,
            scheduler.preemption,
            scheduler.algorithm.extenders,
            samples,
        )

    def more(self, passed: Filtered, *, found: bool) -> dict[str, Any]:  # noqa: ARG002
        """The fields of a Decision that not all releases have. found: a node was."""
        return {}

    def _outcome(self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None) -> Decision:
        """What all this comes to."""
        scheduler, passed = self.scheduler, self.passed or Filtered(listed)
        columns, algorithm, rules = self.cache.columns, scheduler.algorithm, scheduler.rules
        fields: dict[str, Any] = {
            "verdicts": passed.verdicts,
            "idle": self.idle,
            "refused": {} if self.left is None else self.left.refused,
        }
        fields.update(self.more(passed, found=host is not None))
        return Decision(
            pod=self.pod,
            release=algorithm.release,
            names=names,
            listed=passed.listed,
            nodes_total=columns.node_count,
            unresolvable=passed.unresolvable,
            with_nominated=passed.with_nominated,
            nominated_codes=passed.nominated_codes,
            every_reason=algorithm.always_check_all_predicates,
            judged=self.judged,
            feasible=self.feasible if error is None else NO_NUMBERS,
            scored=self.scored if self.held is None else self.held,
            weights=scheduler.weights,
            extenders=self.traces,
            appends=rules.appends,
            host=host,
            error=error,
            error_at="" if error is None else self.reached,
            known=columns.known,
            fit_error=rules.fit_error,
            explainer=Explainer(self.cache, algorithm, scheduler.again, self.source),
            **fields,
        )


class PredicatesAttempt(Attempt, eq=False, kw_only=True):
    """An attempt by predicates and priorities, which preempts without plugins."""

    scheduler: GenericScheduler

    def post_filter(self, decision: Decision) -> Decision:
        """Preemption; releases before it leave the pod as it is."""
        behaviour = self.scheduler.algorithm.behaviour
        if not behaviour.preempts:
            return decision
        self.scheduler.steps("")
        preemption, _ = preempt(self.search(decision), behaviour.preemption)
        self.scheduler.steps("preemption_evaluation")
        return attrs.evolve(decision, preemption=preemption, nominated=nominee_of(preemption))


class Decider:
    """Decides where pods go in one cluster, by attempts, and keeps what is remembered from one to the next.

    An attempt changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        cache: ClusterCache,
        tie_break: TieBreak | None,
        rules: AttemptRules,
        asked: Iterable[Rule],
        weights: Mapping[str, int],
    ) -> None:
        """rules: how the release goes about an attempt. asked: everything over columns. weights: rule → its weight, of
        all that may score, in order."""
        self.algorithm = algorithm
        self.rules = rules
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        self.weights = weights
        self.walk: NodeWalk = rules.walk()
        self.steps: Steps = no_steps
        """What is told when a part of the algorithm begins (an empty name) and ends."""
        self.preemption = PreemptionMemory(cache, rules.order)
        self._memory = Memory(asked, lambda info, share: ClassState(info, algorithm, share))

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
        super().__init__(algorithm, cache, tie_break, algorithm.behaviour, (*algorithm.predicates, *scores), weights)

    def fresh(self) -> GenericScheduler:
        """See Decider. Nor does it move on in the cluster's tree of nodes."""
        out = GenericScheduler(self.algorithm, self.cache)
        out.walk = ListWalk()
        return out

    @property
    def has_custom_plugins(self) -> bool:
        """There are no plugins."""
        return False

    def foreign(self, pod: Pod) -> str:
        """See Algorithm."""
        return self.algorithm.foreign(pod)

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
        from kubescheduler.core.equal_runs import ready_run

        algorithm, snapshot = self.algorithm, self.cache.snapshot()
        ready = ready_run(
            pods,
            self.cache,
            algorithm,
            lambda info: self.state(info, snapshot),
            lambda pod: bool(self.foreign(pod)),
            lambda _: algorithm.priorities,
        )
        return None if ready is None else ready.assume(pods, ready.choose(self.tie_break), algorithm.release)

    def _left_alone(self, pod: Pod, text: str) -> Decision:
        names, listed = self.cache.columns.published
        total = self.cache.columns.node_count
        return Decision(pod, self.algorithm.release, names, listed, total, error=text, tried=False)

    def attempt(self, pod: Pod, *, thorough: bool = False, instead: IntArray | None = None) -> PredicatesAttempt:
        """See Decider."""
        return PredicatesAttempt(pod=pod, scheduler=self, cache=self.cache, thorough=thorough, instead=instead)

    def again(self, pod: Pod) -> Decision:
        """See Decider."""
        return self.fresh().decide(pod, thorough=True)
