"""Runs of pods that no rule can tell apart, placed in one go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical import ClassesOfRun
from clusterstate.objects import ClaimVolume, EphemeralVolume, Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.decision import Decision, kept_ranking_note
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.run_choice import Choose, Placings, RunOfPods, RunOverError, RunRules, first_of_best
from kubescheduler.core.selection import FirstByName, TieBreak

FEWEST = 8
"""Pods that are not worth a run."""
MOST = 1 << 14
"""Pods that are placed at a time."""
LONGEST_WAIT = 1024


class BulkPlacement(msgspec.Struct, frozen=True, eq=False):
    """Where one pod of a run went: what is shown of a decision in a line."""

    run: PlacedRun
    pod: Pod
    host: str
    fits: int
    """On how many nodes it fitted."""
    total: int | None
    """What its node totalled; None: nothing was scored."""
    tied: int
    """How many nodes were as good, its own included."""
    from_kept_ranking: bool
    """See ``Decision``."""

    @property
    def notes(self) -> tuple[str, ...]:
        """As of a decision; without those on nodes that do not say how much they have, which are the same for each pod
        of a run."""
        return (kept_ranking_note(self.pod.key, self.host),) if self.from_kept_ranking else ()


class PlacedRun(msgspec.Struct, frozen=True, eq=False):
    """Pods that were decided one after another and assumed, in bulk: what deciding each by itself would have found."""

    pods: Sequence[Pod]
    hosts: list[str]
    """The node of each."""
    placings: Placings
    nodes_total: int
    """The nodes of the cluster."""
    release: str
    """Who decided."""
    by_ranking: Mask
    """(k,) bool: the pod took the next node of the ranking kept from the pod before, and nothing was scored."""

    def __len__(self) -> int:
        return len(self.hosts)

    def by_pod(self) -> Iterator[tuple[str, str]]:
        """(namespace/name, node) of each."""
        for pod, host in zip(self.pods, self.hosts, strict=True):
            yield pod.key, host

    def fits(self) -> list[int]:
        """(k,) on how many nodes each fitted; of one that took its node from a kept ranking no other was looked at."""
        filled = np.zeros(len(self.hosts) + 1, np.int64)
        filled[np.array(self.placings.filled, np.int64) + 1] = 1
        others: list[int] = np.where(self.by_ranking, 1, self.placings.fits - filled.cumsum()[:-1]).tolist()
        return others

    def totals(self) -> list[int | None]:
        """(k,) what the node of each totalled; None: nothing was scored."""
        totals = self.placings.totals.tolist()
        return [None if kept else total for total, kept in zip(totals, self.by_ranking.tolist(), strict=True)]

    def tied(self) -> list[int]:
        """(k,) how many nodes were as good as the one that was taken, that one included."""
        rows, totals = self.placings.rows.tolist(), self.placings.totals.tolist()
        then = dict(zip(self.placings.left.tolist(), self.placings.left_totals.tolist(), strict=True))
        following: list[int | None] = []
        for row, total in zip(reversed(rows), reversed(totals), strict=True):
            following.append(then.get(row))
            then[row] = total
        counts = Counter(then.values())
        tied = []
        for total, after, kept in zip(totals, reversed(following), self.by_ranking.tolist(), strict=True):
            tied.append(1 if kept else counts[total])
            counts[total] -= 1
            if after is not None:
                counts[after] += 1
        return tied

    def placements(self) -> Iterator[BulkPlacement]:
        """Each pod by itself."""
        kept = self.by_ranking.tolist()
        for of_pod in zip(self.pods, self.hosts, self.fits(), self.totals(), self.tied(), kept, strict=True):
            yield BulkPlacement(self, *of_pod)


class ReadyRun(msgspec.Struct, frozen=True, eq=False):
    """A run whose pods, rules and nodes are known; see ``ready_run``."""

    cache: ClusterCache
    rules: RunRules
    feasible: IntArray
    """(n,) the rows that fit the first, ascending."""
    infos: Sequence[PodInfo]
    """(k,) the class of each pod."""

    def choose(self, tie_break: TieBreak) -> Placings:
        """Where the pods go by a tie rule, as far as the run goes; nothing is assumed yet."""
        ranks = self.cache.columns.ranks
        if isinstance(tie_break, FirstByName):
            return self.place(first_of_best, self.feasible[ranks[self.feasible].argsort()])
        return self.place(chooser(tie_break, ranks), self.feasible)

    def place(self, choose: Choose, rows: IntArray) -> Placings:
        """The same by another rule. rows: (n,) the feasible ones in the order in which it is shown them."""
        try:
            return RunOfPods(self.rules, rows, len(self.infos)).place(choose)
        except RunOverError:
            return Placings.none()

    def assume(
        self, pods: Sequence[Pod], placings: Placings, release: str, by_ranking: Mask | None = None
    ) -> PlacedRun | None:
        """Assumes the pods that were placed; None: there are none. by_ranking: see PlacedRun."""
        count = len(placings.rows)
        if not count:
            return None
        rows = placings.rows.tolist()
        columns = self.cache.columns
        placed = pods[:count]
        self.cache.assume_pods(placed, rows, self.infos[:count])
        hosts = [columns.names[row] for row in rows]
        kept = np.zeros(count, np.bool_) if by_ranking is None else by_ranking
        return PlacedRun(placed, hosts, placings, columns.node_count, release, kept)


def chooser(tie_break: TieBreak, ranks: IntArray) -> Choose:
    """Takes one of the best by a tie rule."""

    def choose(rows: IntArray, totals: IntArray) -> int:
        best = np.flatnonzero(totals == totals.max())
        row = tie_break.choose(rows[best], ranks)
        return int(best[np.flatnonzero(rows[best] == row)[0]])

    return choose


def can_run(algorithm: Algorithm) -> bool:
    """Whether an algorithm's pods may be placed in bulk at all: every node is scored, by rules that are known."""
    if algorithm.extenders or algorithm.percentage_of_nodes_to_score < 100:
        return False
    if any(predicate.evidence is None for predicate in algorithm.predicates):
        return False
    return all(priority.config.evidence is not None for priority in algorithm.priorities)


def ready_run(
    pods: Sequence[Pod],
    cache: ClusterCache,
    algorithm: Algorithm,
    state_of: Callable[[PodInfo], ClassState],
    is_held: Callable[[Pod], bool],
    scoring: Callable[[ClassState], Sequence[WeightedPriority] | None],
) -> ReadyRun | None:
    """The first of some pods, as far as no rule can tell them apart; None: they are decided one by one, as they are too
    few, need more than a node, rules look further than a node, or deciding ends with an error.

    state_of: what is remembered of a class. is_held: whether a pod is not decided on, for what it does not have in
    common with the others. scoring: the rules that score pods of a class; None: one by one.
    """
    first = pods[0]
    worth = len(pods) >= FEWEST and cache.columns.listed_count and can_run(algorithm) and asks_for_a_node(first)
    if not worth or _leaves_room(cache, first):
        return None
    _, listed = cache.columns.published
    snapshot, log = cache.snapshot(), cache.columns.log
    try:
        state = state_of(cache.info(first))
        few = len(_classes(pods[:FEWEST], cache, state, state_of, is_held)) < FEWEST
        priorities = None if few else scoring(state)
        if priorities is None:
            return None
        state.check(snapshot, log, listed)
        if len(state.feasible) <= 1 or not cache.columns.images.stands():
            return None
        state.score(snapshot, log)
        rules = RunRules.of(state, priorities, snapshot, int(not algorithm.priorities))
    except SchedulingError:
        return None
    if rules is None:
        return None
    infos = _classes(pods, cache, state, state_of, is_held)
    return ReadyRun(cache, msgspec.structs.replace(rules, likes=ClassesOfRun(infos)), state.feasible, infos)


def _classes(
    pods: Sequence[Pod],
    cache: ClusterCache,
    state: ClassState,
    state_of: Callable[[PodInfo], ClassState],
    is_held: Callable[[Pod], bool],
) -> list[PodInfo]:
    """(k,) the class of each of the first pods, as far as these have the state in common."""
    last: PodInfo | None = None
    infos: list[PodInfo] = []
    for pod in pods:
        if pod.node_name or pod.nominated_node_name or is_held(pod):
            break
        info = cache.info(pod)
        if info is not last and state_of(info) is not state:
            break
        infos.append(info)
        last = info
    return infos


def placed_in_order(
    place_run: Callable[[Sequence[Pod]], PlacedRun | None], pods: Sequence[Pod], one: Callable[[Pod], Decision]
) -> Iterator[Decision | PlacedRun]:
    """What becomes of each pod, each placed before the next, the same as if ``one`` was called for all of them.

    place_run: a scheduler's. one: decides on a pod, as one in a sequence, and assumes it. It is called when its
    decision is asked for. Where runs come to nothing they are tried more and more seldom.
    """
    at = wait = plain = 0
    while at < len(pods):
        if plain >= wait:
            run = place_run(pods[at : at + MOST])
            worth = run is not None and len(run) > FEWEST
            wait, plain = 0 if worth else min(2 * wait + FEWEST, LONGEST_WAIT), 0
            if run is not None:
                at += len(run)
                yield run
                continue
        yield one(pods[at])
        at, plain = at + 1, plain + 1


def asks_for_a_node(pod: Pod) -> bool:
    """Whether a pod claims nothing besides: neither volumes nor devices."""
    return not pod.spec.resource_claims and not any(
        isinstance(volume, ClaimVolume | EphemeralVolume) for volume in pod.spec.volumes
    )


def _leaves_room(cache: ClusterCache, pod: Pod) -> bool:
    """Whether some pod is nominated for which a pod of this priority has to leave room."""
    waiting = cache.nominated()
    return any(other.priority >= pod.priority for pods in waiting.values() for other in pods)
