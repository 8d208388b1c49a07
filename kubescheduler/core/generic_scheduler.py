"""GenericScheduler: deciding by predicates and priorities. ``schedule_one`` has an attempt from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import Decision
from kubescheduler.core.filter_and_score import Filtered
from kubescheduler.core.pod_classes import ClassState, Memory
from kubescheduler.core.preemption import PreemptionMemory
from kubescheduler.core.schedule_one import PredicatesAttempt, Steps, no_steps
from kubescheduler.core.selection import FirstByName, TieBreak

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun


class GenericScheduler:
    """Decides where pods go in one cluster by one algorithm. Upstream: 1.16 genericScheduler.

    ``decide`` changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    """

    def __init__(self, algorithm: Algorithm, cache: ClusterCache, tie_break: TieBreak | None = None) -> None:
        self.algorithm = algorithm
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        scores = [priority.config for priority in algorithm.priorities]
        self._memory = Memory([*algorithm.predicates, *scores], lambda info, share: ClassState(info, algorithm, share))
        self._preemption = PreemptionMemory(cache, algorithm.behaviour.order)
        self._weights = {p.config.name: p.weight for p in algorithm.priorities}
        self.steps: Steps = no_steps
        """What is told when a part of the algorithm begins (an empty name) and ends."""

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
            return self._attempt(pod, thorough=thorough).run(preempt=preempt)
        except CustomCodeError as error:
            raise error.of_pod(pod.key) from error

    def place_run(self, pods: Sequence[Pod]) -> PlacedRun | None:
        """Decides and assumes the first of the pods that no rule can tell apart, one after another as ``decide`` in a
        sequence and ``assume_pod`` do; None, or fewer than there are: from there on pods are decided one by one."""
        if self.steps is not no_steps:
            return None
        from kubescheduler.core.equal_runs import placed_in_bulk

        snapshot, log = self.cache.snapshot(), self.cache.columns.log
        return placed_in_bulk(
            pods,
            self.cache,
            self.algorithm,
            self.tie_break,
            lambda info: self._memory.state(info, snapshot, log),
            lambda pod: bool(self.foreign(pod)),
        )

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """What it would say if the nodes of these rows, and no others, had passed every check.

        rows: (n,) of the cluster. Extenders' filters are called, and have no say.
        """
        return GenericScheduler(self.algorithm, self.cache)._attempt(pod, thorough=True, instead=rows).decide()

    def _left_alone(self, pod: Pod, text: str) -> Decision:
        names, listed = self.cache.columns.published
        total = self.cache.columns.node_count
        return Decision(pod, self.algorithm.release, names, listed, total, error=text, tried=False)

    def _attempt(self, pod: Pod, *, thorough: bool = False, instead: IntArray | None = None) -> PredicatesAttempt:
        """Before anything is decided. instead: the rows to score in place of those that pass; None: these."""
        cache = self.cache
        filtered = Filtered(cache.columns.published[1])
        given = (pod, cache, self.algorithm, self.tie_break, self._weights, self.again, thorough, instead)
        return PredicatesAttempt(
            *given,
            memory=self._memory,
            preemption=self._preemption,
            steps=self.steps,
            filtered=filtered,
        )

    def again(self, pod: Pod) -> Decision:
        """The same with every score, and without a say in the choice among equal totals."""
        return GenericScheduler(self.algorithm, self.cache).decide(pod, thorough=True)
