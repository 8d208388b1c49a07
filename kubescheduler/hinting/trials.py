"""Changes are tried by deciding in the changed cluster, which is put back afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.growable import IntArray
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION, INIT_ANNOTATIONS, TOLERATIONS_ANNOTATION
from clusterstate.objects import FrozenMap, Labels, Node, Pod
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.engine.spec import Engine, PodScheduler
from kubescheduler.hinting.proposals import Goal, Hint, Proposal, Scale

SPEC_ANNOTATIONS = (AFFINITY_ANNOTATION, TOLERATIONS_ANNOTATION, *INIT_ANNOTATIONS)
"""What 1.4 reads in place of fields of a pod's spec."""


def at_once() -> None:
    """Nobody has to be waited for."""


class Trials:
    """Decides one pod in one cluster under changes. The cluster is the same after every call.

    Equal totals go to the first node by name, whatever the scheduler's own way is.
    """

    def __init__(
        self,
        engine: Engine,
        cache: ClusterCache,
        pod: Pod,
        goal: Goal,
        scheduler: PodScheduler,
        *,
        reports: bool = True,
        pause: Callable[[], None] = at_once,
    ) -> None:
        """scheduler: the engine's over the cache; it is kept from one pod's trials to the next. reports: whether the
        message of ``base`` is the release's whole one. pause: is called before each decision."""
        self.engine = engine
        self.cache = cache
        self.pod = pod
        self.goal = goal
        self.scheduler = scheduler
        self.count = 0
        self._pause = pause
        self.last: Decision | None = None
        self.errors: dict[str, None] = {}
        self.base = self.decide((), reports=reports)

    @cached_property
    def thorough(self) -> Decision:
        """The decision as things are, with every check on every node and every score."""
        return self.scheduler.decide(self.pod, thorough=True)

    def decide(self, proposals: Sequence[Proposal], *, reports: bool = False) -> Decision:
        """The decision under changes. A text of an error that ended it is kept in ``errors``.

        reports: whether its message is the release's whole one.
        """
        self._pause()
        with self.under(proposals) as (scheduler, pod):
            self.count += 1
            preempts = any(one.preempts for one in proposals)
            decision = scheduler.decide(pod, preempt=preempts, reports=reports)
        self.last = decision
        if gave_up(decision):
            self.errors.setdefault(decision.message)
        return decision

    @contextmanager
    def under(self, proposals: Sequence[Proposal]) -> Iterator[tuple[PodScheduler, Pod]]:
        """The scheduler and the pod under changes, and meanwhile the cluster."""
        pod, scheduler = self.pod, self.scheduler
        for one in proposals:
            pod = pod if one.pod is None else one.pod(pod)
        with ExitStack() as stack:
            stack.enter_context(changed_nodes(self.cache, proposals))
            for each in (each for one in proposals for each in one.created):
                before = None if isinstance(each, Pod) else self.cache.objects.current(each)
                self.cache.add(each)
                stack.callback(*((self.cache.remove, each) if before is None else (self.cache.add, before)))
            stack.enter_context(without_pods(self.cache, [gone for one in proposals for gone in one.evicted]))
            edits = [one.engine for one in proposals if one.engine is not None]
            if edits:
                engine = self.engine
                for edit in edits:
                    engine = edit(engine)
                scheduler = engine.scheduler(self.cache)
            yield scheduler, pod

    def tried(self, *proposals: Proposal) -> Hint | None:
        """The hint that changes make if they reach the goal, else None."""
        try:
            decision = self.decide(proposals)
        except ConfigError:  # the release has no scheduler without this plugin
            return None
        host = self.goal.host(decision, preempts=any(one.preempts for one in proposals))
        if host is None or decision.error is not None:
            return None
        where = {one.where for one in proposals if one.where}
        if where and not where <= {decision.names[row] for row in decision.feasible.tolist()}:
            return None
        evicted = decision.preemption.candidates[host].pods if decision.host is None and decision.preemption else ()
        return Hint(tuple(proposals), host, victims=tuple(pod.key for pod in evicted))

    def smallest(self, scale: Scale, *beside: Proposal) -> Hint | None:
        """The hint with the smallest amount that reaches the goal, beside other changes; None if none does."""

        def tried(amount: int) -> Hint | None:
            return self.tried(*beside, scale.at(amount))

        best = tried(scale.largest)
        guessed = 0 if scale.guess is None or self.last is None else scale.guess(self.last)
        if best is None:  # where the pod has to be chosen, too much of a change may make another node win
            return tried(guessed) if self.goal.node and 0 < guessed < scale.largest else None
        low, high = 0, scale.largest  # the goal is not reached by the one, and is by the other
        for amount in (guessed, guessed - 1):
            if low < amount < high:
                hint = tried(amount)
                low, high, best = (amount, high, best) if hint is None else (low, amount, hint)
        while high - low > 1:
            amount = (low + high) // 2
            hint = tried(amount)
            low, high, best = (amount, high, best) if hint is None else (low, amount, hint)
        return best

    def shortage(self, decision: Decision, resource: str) -> IntArray:
        """(n,) by how much of a resource the pod asks for more than is free, on the nodes that fit by a decision.

        Where a node is wanted, on that one.
        """
        snapshot = self.cache.snapshot()
        index, row = snapshot.resource(resource), snapshot.row_of(self.goal.node)
        rows = decision.feasible if row is None else decision.feasible[decision.feasible == row]
        if index is None or not len(rows):
            return np.zeros(0, np.int64)
        there = snapshot.take(rows)
        asked = dict(self.cache.info(self.pod).used).get(index, 0)
        out: IntArray = there.requested[index] + asked - there.allocatable[index]
        return out


@contextmanager
def changed_nodes(cache: ClusterCache, proposals: Iterable[Proposal]) -> Iterator[None]:
    """The cluster with nodes changed and added."""
    columns = cache.columns
    before: dict[str, Node | None] = {}
    try:
        for one in proposals:
            row = columns.row_of.get(one.where, -1)
            there = columns.nodes[row] if row >= 0 else None
            after = one.added if one.node is None or there is None else one.node(there)
            if one.where and after is not None:
                before.setdefault(one.where, there)
                cache.update_node(after)
        if before:
            columns.images.refresh()
        yield
    finally:
        for name, node in reversed(before.items()):
            if node is None:
                cache.remove_node(name)
            else:
                cache.update_node(node)
        if before:
            columns.images.refresh()


@contextmanager
def without_pods(cache: ClusterCache, gone: Sequence[Pod]) -> Iterator[None]:
    """The cluster without some running pods; afterwards every node has its pods in the order it had them."""
    columns = cache.columns
    rows = {columns.row_of[pod.node_name] for pod in gone}
    order = [(pod, cache.is_assumed(pod)) for row in rows for pod in columns.pods[row].values()]
    try:
        for pod in gone:
            _take(cache, pod)
        yield
    finally:
        for pod, assumed in order if gone else ():
            if pod in cache:
                _take(cache, pod)
            if assumed:
                cache.assume_pod(msgspec.structs.replace(pod, node_name=""), pod.node_name)
            else:
                cache.add_pod(pod)


def _take(cache: ClusterCache, pod: Pod) -> None:
    if cache.is_assumed(pod):
        cache.forget_pod(pod)
    else:
        cache.remove_pod(pod)


def as_read(pod: Pod, cache: ClusterCache) -> Pod:
    """The pod with what 1.4 reads in its annotations as fields, which are changed more easily."""
    if not pod.metadata.annotations.keys() & set(SPEC_ANNOTATIONS):
        return pod
    spec = cache.info(pod).spec
    if spec == pod.spec:
        return pod
    annotations = without_annotations(pod.metadata.annotations, *SPEC_ANNOTATIONS)
    return msgspec.structs.replace(
        pod, spec=spec, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations)
    )


def without_annotations(annotations: Labels, *gone: str) -> Labels:
    """The annotations but for some."""
    return FrozenMap({key: value for key, value in annotations.items() if key not in gone})
