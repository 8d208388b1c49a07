"""Runs of pods that no plugin of a profile can tell apart, placed in bulk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import WeightedPriority
from kubescheduler.core.equal_runs import PlacedRun, ReadyRun, ready_run
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.run_choice import PODS_OF_ROWS, Placings
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import SignedPod
from kubescheduler.framework.contract.runs import Observer
from kubescheduler.framework.deciding.find_nodes import answers
from kubescheduler.framework.deciding.opportunistic_batch import (
    KeptRanking,
    OpportunisticBatch,
    Signature,
    Turn,
    TurnNumbers,
)
from kubescheduler.framework.deciding.profile_attempt import FrameworkScheduler
from kubescheduler.framework.deciding.score_plugins import HeapTie, heap_root


def placed_in_bulk(
    host: FrameworkScheduler, pods: Sequence[Pod], is_held: Callable[[Pod], bool], numbers: TurnNumbers
) -> PlacedRun | None:
    """Decides and assumes the first of the pods that no plugin can tell apart; see ``GenericScheduler.place_run``.

    is_held: whether a PreEnqueue plugin holds a pod back. numbers: of the attempts of the scheduler.
    """
    if not _can_run(host):
        return None
    snapshot = host.cache.snapshot()
    ready = ready_run(
        pods,
        host.cache,
        host.algorithm,
        lambda info: host.state(info, snapshot),
        is_held,
        lambda state: _scoring(host, pods[0], state, snapshot),
    )
    if ready is None:
        return None
    if host.batch is not None:
        return _with_rankings(host, host.batch, ready, pods, numbers, snapshot)
    placings = _choose(host, ready)
    numbers.take(len(placings.rows))
    return ready.assume(pods, placings, host.frame.release)


def _can_run(host: FrameworkScheduler) -> bool:
    """Whether pods may be placed in bulk at all: by plugins that are known, with nobody who measures."""
    compiled = host.compiled
    if compiled.has_custom or type(host.frame.observer) is not Observer:
        return False
    if host.batch is not None and host.batch.signs is not None and isinstance(host.tie_break, HeapTie):
        return False
    columns = host.cache.columns
    return columns.listed_count == columns.node_count


def _scoring(
    host: FrameworkScheduler, pod: Pod, state: ClassState, snapshot: Snapshot
) -> list[WeightedPriority] | None:
    """The plugins that score pods of a class, once PreFilter and PreScore were asked; None: one by one.

    Raises SchedulingError.
    """
    compiled, log = host.compiled, host.cache.columns.log
    pre_filters = compiled.algorithm.pre_filters
    if any(pre_filters[name].footprint.pre_reads_for(state.info) & PODS_OF_ROWS for name in state.pre):
        return None
    cycle = CycleState()
    if state.pre:
        outcome = host.rules.narrow(answers(pod, state, compiled, cycle, snapshot, log), cycle)
        if outcome.status is not None or outcome.nodes is not None:
            return None
    skipped = set()
    for config in compiled.algorithm.pre_scores:
        asked = state.pre_scores.get(config.name)
        if asked is not None and not asked.ask(state.info, snapshot, log):
            if not config.footprint.ignores_pods_elsewhere(state.info, snapshot):
                return None
            skipped.add(config.name)
    return [one for one in compiled.algorithm.priorities if one.config.name not in skipped]


def _choose(host: FrameworkScheduler, ready: ReadyRun) -> Placings:
    """Where the pods go."""
    if not isinstance(host.tie_break, HeapTie):
        return ready.choose(host.tie_break)
    fits = np.zeros(len(host.cache.columns), np.bool_)
    fits[ready.feasible] = True
    shown, _ = host.walk.sample(host.cache, fits, None, len(fits))

    def root(_: IntArray, totals: IntArray) -> int:
        return heap_root(totals)

    return ready.place(root, shown)


# --- rankings that are kept ------------------------------------------------------------------


class Rankings(msgspec.Struct, frozen=True, eq=False):
    """The attempts of a run as opportunistic batching sees them: the pod after one that filled its node takes the next
    node of the ranking kept from before, if both have the same signature. As no other total has changed since, that is
    the node that scoring would find.
    """

    placings: Placings
    signatures: Sequence[Signature | None]
    """(k,) of each pod."""
    by_ranking: Mask
    """(k,) bool: the pods that take the next node of a ranking."""
    scored: int
    """The position of the last pod that did not."""

    @classmethod
    def of(cls, placings: Placings, signatures: Sequence[Signature | None]) -> Rankings:
        """From where the pods go."""
        count = len(signatures)
        by_ranking = np.zeros(count, np.bool_)
        scored = 0
        for filled in placings.filled:
            scored = scored if by_ranking[filled] else filled
            signature = signatures[scored]
            if filled + 1 < count and signature is not None:
                by_ranking[filled + 1] = signatures[filled + 1] == signature
        return cls(placings, signatures, by_ranking, scored if by_ranking[-1] else count - 1)

    def kept(self, host: FrameworkScheduler) -> KeptRanking | None:
        """What is kept for the pod after the run."""
        signature, placings, scored = self.signatures[self.scored], self.placings, self.scored
        if signature is None:
            return None
        columns = host.cache.columns
        rows, totals = placings.rows[scored:], np.zeros(len(columns), np.int64)
        totals[placings.left] = placings.left_totals
        totals[rows[::-1]] = placings.totals[scored:][::-1]
        feasible = np.union1d(placings.left, rows)
        names, _ = columns.published
        ranks, chosen = columns.ranks.copy(), int(rows[0])
        ranking = KeptRanking(names, feasible, totals[feasible], ranks, host.tie_break, chosen, signature, 0.0)
        ranking.take(rows[1:])
        return ranking


def _with_rankings(
    host: FrameworkScheduler,
    batch: OpportunisticBatch,
    ready: ReadyRun,
    pods: Sequence[Pod],
    numbers: TurnNumbers,
    snapshot: Snapshot,
) -> PlacedRun | None:
    """Decides and assumes the pods where rankings are kept from pod to pod."""
    fitting = {ready.cache.columns.names[row] for row in ready.feasible.tolist()}
    if batch.may_hint(numbers.last + 1, fitting):
        return None
    placings = _choose(host, ready)
    count = len(placings.rows)
    if not count:
        return None
    signatures = _signatures(batch, pods[:count], ready.infos, snapshot)
    rankings = Rankings.of(placings, signatures)
    kept = rankings.kept(host)
    run = ready.assume(pods, placings, host.frame.release, rankings.by_ranking)
    assert run is not None
    batch.resume(Turn(numbers.take(count), 0.0), run.hosts[-1], kept)
    return run


def _signatures(
    batch: OpportunisticBatch, pods: Sequence[Pod], infos: Sequence[PodInfo], snapshot: Snapshot
) -> list[Signature | None]:
    """(k,) the signature of each pod. Pods of one class whose manifests were not kept have the same."""
    signatures: list[Signature | None] = []
    known: tuple[PodInfo | None, bool] = None, False
    for pod, info in zip(pods, infos, strict=False):
        if known == (info, True) and pod.manifest is None:
            signatures.append(signatures[-1])
        else:
            signatures.append(batch.signature(SignedPod(pod, info, snapshot)))
        known = info, pod.manifest is None
    return signatures
