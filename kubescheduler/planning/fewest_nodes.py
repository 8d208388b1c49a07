"""The fewest, or cheapest, new nodes with which everything runs, found by having the scheduler run with them.

``Needs`` say what is too little whatever the scheduler does; between them and the first set of nodes that was seen to
do, ``FewestNodes`` tries sets: all that are cheaper, in order of cost, where these are few enough, which proves the
answer; else nodes are taken away and exchanged as long as everything still runs. A scheduler is no packer: with one
node more it may place otherwise and need another, so that only sets that were tried count, each on its own.

A need is an inequality over the numbers x of new nodes of each shape: ``sum(each[s] · x[s]) >= amount``. It is said
only where the scheduler itself was seen to hold to it, on an empty node, so that it is true of any configuration:

- of a resource: the pods that may go nowhere but to some shapes and some nodes of the cluster, all that they ask for,
  less what those nodes have free. A node of a shape offers what it has beside its DaemonSets.
- of pods of a kind of which no node takes two, for their ports or their anti-affinity: a node each.

Where a pod may go is what no check forbids for good: selectors and required node affinity, taints, cordons, ports, and
amounts that even an empty node does not have. Checks that other pods may change (affinity, spread) forbid nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product

import msgspec
import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Container, FrozenMap, Node, ObjectMeta, Pod, PodSpec
from clusterstate.podinfo import pod_key
from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.comparison.differences import CHECKS_OF_RULES
from kubescheduler.engine.spec import Engine, PodScheduler, cache_for
from kubescheduler.planning.node_trials import Counts, NodeTrials, Played
from kubescheduler.planning.shapes import prices_of
from kubescheduler.simulation.workload import renamed
from predicates.refusal_evidence import amount

GROWS_FULL = LOCAL | Reads.RESOURCES
"""What more pods and more nodes only take from: a refusal by a check that reads no more than this stands."""
ORDERS = 20
"""Needs that are put first, each in turn, to find what all cost together."""
AFFINITY = frozenset(CHECKS_OF_RULES["pod affinity"])
"""The checks by which anti-affinity keeps two pods apart; ports are told by the reason."""


class AlikePods(msgspec.Struct, frozen=True, eq=False):
    """Pods that no rule can tell apart, and where they may go."""

    pods: tuple[Pod, ...]
    asks: FrozenMap[str, int]
    """By resource, of each; one of ``pods``."""
    shapes: frozenset[int]
    """The shapes on whose nodes nothing forbids them for good."""
    nodes: Mask
    """(N,) bool: the rows of the cluster's nodes where nothing does."""
    alone: bool = False
    """Whether no node takes two of them."""


class NodeNeed(msgspec.Struct, frozen=True):
    """``sum(each[s] · x[s]) >= amount``."""

    what: str
    """In words: what it is of, with the numbers."""
    amount: int
    each: tuple[int, ...]
    """What one node of each shape offers."""

    def met_by(self, counts: Counts) -> bool:
        """Whether so many nodes offer enough."""
        return self.short(counts) <= 0

    def short(self, counts: Counts) -> int:
        """How much is missing."""
        return self.amount - sum(each * number for each, number in zip(self.each, counts, strict=True))


class LowerBound(msgspec.Struct, frozen=True):
    """What new nodes cost at least."""

    cost: Fraction
    why: str
    """The need that says so, in words; empty where nothing is needed."""


class Needs:
    """All needs of pods that are asked about."""

    def __init__(self, trials: NodeTrials) -> None:
        self._shapes = trials.shapes
        self._prices = prices_of(trials.shapes)
        once = trials.one_of_each()
        cache = cache_for(trials.engine, [*trials.asked.objects, *(obj for objects in once for obj in objects)])
        self._cache = cache
        self._scheduler = trials.engine.scheduler(cache)
        self._rows = [cache.columns.row_of[objects[0].metadata.name] for objects in once]
        new = np.zeros(len(cache.columns), np.bool_)
        new[self._rows] = True
        self._there = cache.columns.has_node.data[: len(cache.columns)] & ~new
        self.kinds = self._kinds(trials.asked.pods())
        asked = {name for kind in self.kinds for name, number in kind.asks.items() if number}
        in_order = sorted(asked, key=lambda name: (name == PODS, name not in (CPU, MEMORY), name))
        self._enforced = [each for each in in_order if _is_enforced(trials.engine, trials.shapes[0].node, each)]

    def of_kind(self, key: str) -> AlikePods:
        """That of a pod, by namespace/name."""
        return self._by_pod[key]

    def all_but(self, left: Iterable[str]) -> list[NodeNeed]:
        """The needs of all pods but those; with them the nodes that the cluster has count."""
        without = frozenset(left)
        pods = {kind: sum(pod.key not in without for pod in kind.pods) for kind in self.kinds}
        return list(self._needs(pods, free=True))

    def only_of(self, keys: Iterable[str]) -> list[NodeNeed]:
        """The needs of these pods alone, as if new nodes were all there is."""
        pods: dict[AlikePods, int] = {}
        for key in keys:
            kind = self._by_pod[key]
            pods[kind] = pods.get(kind, 0) + 1
        return list(self._needs(pods, free=False))

    # --- where pods may go -----------------------------------------------------------------------------

    def _kinds(self, pods: Iterable[Pod]) -> list[AlikePods]:
        alike: dict[object, list[Pod]] = {}
        for pod in pods:
            alike.setdefault(pod_key(pod), []).append(pod)
        kinds = [self._kind(members) for members in alike.values()]
        self._by_pod = {pod.key: kind for kind in kinds for pod in kind.pods}
        return kinds

    def _kind(self, pods: Sequence[Pod]) -> AlikePods:
        decision = self._scheduler.decide(pods[0], thorough=True)
        forbidden = np.zeros(len(self._there), np.bool_)
        lasting = decision.checks_reading(GROWS_FULL)
        for check, verdict in decision.verdicts:
            if check in lasting:
                for mask in verdict.values():
                    forbidden |= mask[: len(forbidden)]
        shapes = frozenset(at for at, row in enumerate(self._rows) if not forbidden[row])
        usage = self._cache.info(pods[0]).usage
        asks = {name: min(number, usage.used.get(name, number)) for name, number in usage.request.items()}
        kind = AlikePods(tuple(pods), FrozenMap({**asks, PODS: 1}), shapes, self._there & ~forbidden)
        alone = len(pods) > 1 and self._may_be_alone(kind) and all(self._alone(pods[0], at) for at in shapes)
        return msgspec.structs.replace(kind, alone=alone)

    def _may_be_alone(self, kind: AlikePods) -> bool:
        """Whether the pods have ports of the node's, or anti-affinity by labels that all their nodes have."""
        spec = kind.pods[0].spec
        if any(port.host_port for container in spec.containers for port in container.ports):
            return True
        affinity = spec.affinity
        against = None if affinity is None else affinity.pod_anti_affinity
        keys = {term.topology_key for term in against.required} if against is not None else set()
        nodes = [self._cache.columns.nodes[row] for row in np.flatnonzero(kind.nodes).tolist()]
        return bool(keys) and all(keys <= node.metadata.labels.keys() for node in nodes if node is not None)

    def _alone(self, pod: Pod, shape: int) -> bool:
        """Whether a node of the shape that has one refuses a second for their ports or their anti-affinity."""
        row = self._rows[shape]
        if self._apart(pod, row):  # for something else than its like
            return False
        self._cache.assume_pod(pod, self._cache.columns.names[row])
        try:
            return self._apart(renamed(pod, f"{pod.metadata.name}-second"), row)
        finally:
            self._cache.forget_pod(pod)

    def _apart(self, pod: Pod, row: int) -> bool:
        for check, verdict in self._scheduler.decide(pod, thorough=True).verdicts:
            for reason, mask in verdict.items():
                if mask[row] and (check in AFFINITY or "port" in str(reason).casefold()):
                    return True
        return False

    # --- inequalities -------------------------------------------------------------------------------------

    def _needs(self, pods: dict[AlikePods, int], *, free: bool) -> Iterator[NodeNeed]:
        groups = {kind.shapes for kind, number in pods.items() if number and kind.shapes}
        everywhere = frozenset[int]().union(*groups)
        for places in dict.fromkeys((everywhere, *sorted(groups, key=sorted))):
            within = {kind: number for kind, number in pods.items() if number and kind.shapes and kind.shapes <= places}
            if within:
                yield from self._of_resources(within, places, free=free)
        for kind, number in pods.items():
            if kind.alone and number and kind.shapes:
                there = int(kind.nodes.sum()) if free else 0
                if number > there:
                    each = tuple(int(at in kind.shapes) for at in range(len(self._shapes)))
                    on_these = f", {there} of them on the nodes there are" if there else ""
                    text = f"{number} pods like {kind.pods[0].key}, one a node{on_these}"
                    yield NodeNeed(text, number - there, each)

    def _of_resources(self, pods: dict[AlikePods, int], places: frozenset[int], *, free: bool) -> Iterator[NodeNeed]:
        nodes = reduce(np.logical_or, (kind.nodes for kind in pods)) if free else np.zeros_like(self._there)
        for resource in self._enforced:
            asked = sum(kind.asks.get(resource, 0) * number for kind, number in pods.items())
            room = self._free(resource)
            there = int(room[nodes].sum())
            if asked > there:
                each = tuple(int(room[row]) if at in places else 0 for at, row in enumerate(self._rows))
                shown = f"{amount(resource, asked)} {resource} asked for, {amount(resource, there)} free"
                yield NodeNeed(shown if free else resource, asked - there, each)

    def _free(self, resource: str) -> IntArray:
        """(N,) int64: of every node what its pods leave, never less than nothing."""
        columns = self._cache.columns
        if resource == PODS:
            left = columns.allowed_pods.view - columns.pod_count.view
        else:
            at, size = columns.resources.get(resource), len(columns)
            if at is None:
                return np.zeros(size, np.int64)
            left = columns.allocatable.data[at, :size] - columns.requested.data[at, :size]
        free: IntArray = np.maximum(left, 0)
        return free

    # --- bounds -----------------------------------------------------------------------------------------------

    def bound(self, needs: Sequence[NodeNeed], most: Sequence[int | None]) -> LowerBound | None:
        """The largest of what each need alone costs, and of what several cost together; None where one cannot be met.
        Rounded up to what prices add up to."""
        step = common_price(self._prices)
        best = LowerBound(Fraction(0), "")
        for need in needs:
            cost = self.least(need, most)
            if cost is None:
                return None
            best = max(best, LowerBound(math.ceil(cost / step) * step, need.what), key=lambda each: each.cost)
        widest_first = sorted(needs, key=lambda need: -sum(each > 0 for each in need.each))
        for first in (*widest_first[:ORDERS], *widest_first[ORDERS:][-1:]):
            cost, used = self._together([first, *(need for need in widest_first if need is not first)])
            rounded = math.ceil(cost / step) * step
            if rounded > best.cost:
                best = LowerBound(rounded, "; ".join(need.what for need in used))
        cost, used = relaxed(needs, self._prices, most)
        rounded = math.ceil(cost / step) * step
        return LowerBound(rounded, "; ".join(need.what for need in used)) if rounded > best.cost else best

    def _together(self, needs: Iterable[NodeNeed]) -> tuple[Fraction, list[NodeNeed]]:
        """What needs cost together at least, and which of them add to that.

        Each unit of a need is given a worth, one need after the other as much as the prices leave: what a node offers
        of all needs is never worth more than the node costs, so that nodes which meet them all cost no less than what
        they are worth (weak duality of linear programs, where any order of the needs gives a bound).
        """
        left, total, used = list(self._prices), Fraction(0), list[NodeNeed]()
        for need in needs:
            offered = [(left[at], each) for at, each in enumerate(need.each) if each]
            worth = min((price / each for price, each in offered), default=Fraction(0))
            if worth:
                left = [price - worth * each for price, each in zip(left, need.each, strict=True)]
                total += worth * need.amount
                used.append(need)
        return total, used

    def least(self, need: NodeNeed, most: Sequence[int | None]) -> Fraction | None:
        """What meeting a need costs at least, were nodes divisible: by the shapes that offer most for their price."""
        missing, cost = Fraction(need.amount), Fraction(0)
        order = sorted(
            (at for at, each in enumerate(need.each) if each), key=lambda at: self._prices[at] / need.each[at]
        )
        for at in order:
            if missing <= 0:
                break
            number = missing / need.each[at]
            limit = most[at]
            if limit is not None:
                number = min(number, Fraction(limit))
            cost += number * self._prices[at]
            missing -= number * need.each[at]
        return cost if missing <= 0 else None


def relaxed(
    needs: Sequence[NodeNeed], prices: Sequence[Fraction], most: Sequence[int | None]
) -> tuple[Fraction, list[NodeNeed]]:
    """What needs cost together at least, were nodes divisible, and which of them add to that: the linear relaxation,
    solved by SciPy's HiGHS; nothing where SciPy is not installed.

    Its floats are not trusted: they are the worth of a unit of each need, of which any that is not negative proves a
    bound (weak duality), added up here exactly. What nodes of a shape offer beyond their price is taken off again, as
    often as there may be such nodes; where there may be any number, all worth is made less.
    """
    try:
        from scipy.optimize import linprog  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return Fraction(0), []
    if not needs:
        return Fraction(0), []
    rows = [[-each / need.amount for each in need.each] for need in needs]
    limits = [(0, limit) for limit in most]
    solved = linprog([float(price) for price in prices], A_ub=rows, b_ub=[-1.0] * len(needs), bounds=limits)
    if solved.status != 0:
        return Fraction(0), []
    shares = [max(Fraction(0), Fraction(-float(share))) for share in solved.ineqlin.marginals]
    offered = [
        sum((share * need.each[at] / need.amount for share, need in zip(shares, needs, strict=True)), Fraction(0))
        for at in range(len(prices))
    ]
    unlimited = [(price, worth) for price, worth, limit in zip(prices, offered, most, strict=True) if limit is None]
    scale = min((price / worth for price, worth in unlimited if worth > price), default=Fraction(1))
    beyond = (
        max(worth * scale - price, Fraction(0)) * limit
        for price, worth, limit in zip(prices, offered, most, strict=True)
        if limit is not None
    )
    cost = sum(shares, Fraction(0)) * scale - sum(beyond, Fraction(0))
    return cost, [need for share, need in zip(shares, needs, strict=True) if share]


def _is_enforced(engine: Engine, node: Node, resource: str) -> bool:
    """Whether the scheduler gives out no more of a resource than a node has: told by a pod that asks for one more than
    a node that has nothing else against it."""
    bare = msgspec.structs.replace(node, taints=(), unschedulable=False)
    if resource == PODS:
        bare = msgspec.structs.replace(bare, allocatable=FrozenMap({**bare.allocatable, PODS: 0}))
    more = 1000 * (1 + math.ceil(bare.allocatable.get(resource, 0) / 1000))
    requests = FrozenMap({} if resource == PODS else {resource: more})
    probe = Pod(
        ObjectMeta("probe", "default", "probe"), PodSpec(containers=(Container(name="main", requests=requests),))
    )
    scheduler: PodScheduler = engine.scheduler(cache_for(engine, [bare]))
    reasons = scheduler.decide(probe, thorough=True).reasons().get(node.name, [])
    wanted = ("insufficient pods", "too many pods") if resource == PODS else (f"insufficient {resource}",)
    return any(reason.casefold().startswith(wanted) for reason in reasons)


def common_price(prices: Iterable[Fraction]) -> Fraction:
    """The largest amount of which every price is a multiple."""

    def common(one: Fraction, other: Fraction) -> Fraction:
        below = one.denominator * other.denominator
        return Fraction(math.gcd(one.numerator * other.denominator, other.numerator * one.denominator), below)

    return reduce(common, prices)


MOST_STEPS = 50_000
"""Of the enumeration of cheaper sets; where it needs more, there are too many."""


class Found(msgspec.Struct, frozen=True, eq=False):
    """The best set that was found."""

    played: Played
    cost: Fraction
    bound: LowerBound
    """Of the needs of what runs."""
    proven: bool
    """Whether no cheaper set does: every one was tried, or the bound says so."""
    left: frozenset[str]
    """The pods that no number of nodes of any shape was seen to help, by namespace/name."""


class FewestNodes:
    """One search."""

    def __init__(self, trials: NodeTrials, needs: Needs) -> None:
        self._trials, self._needs = trials, needs
        self._prices, self._most = prices_of(trials.shapes), [shape.most for shape in trials.shapes]
        self._left: frozenset[str] = frozenset()

    def run(self) -> Found:
        """The search, within the trials there may be."""
        nothing = (0,) * len(self._prices)
        first = self._trials.play(nothing)
        self._left = frozenset(key for key, record in first.pending.items() if not record.attempts)
        best = self._grown(first)
        self._trials.begin()
        self._left &= best.pending.keys()
        needs = self._needs.all_but(self._left)
        best = self._shrunk(best, needs)
        for start in self._of_one_shape(needs):
            best = min(best, self._shrunk(start, needs), key=lambda played: self.cost(played.counts))
        bound = self._needs.bound(needs, self._most) or LowerBound(Fraction(0), "")
        while True:
            below = self._below(bound.cost, self.cost(best.counts), needs)
            if below is not None and len(below) <= self._trials.left:
                done = next((played for counts in below if self._does(played := self._trials.play(counts))), None)
                return Found(done or best, self.cost((done or best).counts), bound, True, self._left)
            exchanged = self._exchanged(best, needs)
            if exchanged is None:
                cost = self.cost(best.counts)
                return Found(best, cost, bound, cost == bound.cost, self._left)
            best = self._shrunk(exchanged, needs)

    def cost(self, counts: Counts) -> Fraction:
        """What nodes cost."""
        return sum((number * price for number, price in zip(counts, self._prices, strict=True)), Fraction(0))

    def _does(self, played: Played) -> bool:
        """Whether everything runs but what nothing helps."""
        return played.pending.keys() <= self._left

    # --- a first set ------------------------------------------------------------------------------------

    def _grown(self, played: Played) -> Played:
        """A set with which everything runs that nodes help, from one with which not everything does.

        What is added is doubled from time to time: the scheduler may spread pods over whatever there is.
        """
        times = 1
        while waiting := played.pending.keys() - self._left:
            hopeless = frozenset(key for key in waiting if not self._needs.of_kind(key).shapes)
            self._left |= hopeless
            if not waiting - hopeless:
                continue
            more = self._more(played, waiting - hopeless, times) or self._any_set(played)
            if more is None:
                self._left |= waiting
                break
            played, times = more, 2 * times
        return played

    def _more(self, played: Played, waiting: Iterable[str], times: int) -> Played | None:
        """With nodes more, so that more pods run; None: neither what these need does it, so many times or 16 times as
        many, nor any one node more, nor one of each shape, nor a quarter more nodes or twice as many."""
        counts = played.counts
        useful = {at for key in waiting for at in self._needs.of_kind(key).shapes}
        needed = self.cover(self._needs.only_of(waiting), counts)
        one_each = tuple(int(at in useful) for at in range(len(counts)))
        singles = [tuple(int(at == one) for at in range(len(counts))) for one in sorted(useful)]
        several = ([tuple(times * factor * each for each in needed)] for factor in (1, 4, 16))
        many = ([tuple(-(-number // part) for number in counts)] for part in (4, 1))
        for attempts in (*several, singles, [one_each], *many):
            tried = [self._trials.play(sums) for more in attempts if (sums := self._added(counts, more)) != counts]
            if tried:
                best = min(tried, key=lambda each: (-each.placed, self.cost(each.counts)))
                if best.placed > played.placed:
                    return best
        return None

    def _any_set(self, played: Played) -> Played | None:
        """Any set of up to three nodes more of each shape, also with fewer of some, with which more pods run: the first
        with which everything does. None: there is none, or there are too many to try."""
        limit = self.cost(played.counts) + 3 * sum(self._prices, Fraction(0))
        sets = self._below(Fraction(0), limit + 1, self._needs.all_but(self._left))
        best = played
        for counts in sets if sets is not None and len(sets) <= self._trials.left else ():
            tried = self._trials.play(counts)
            if self._does(tried):
                return tried
            best = tried if tried.placed > best.placed else best
        return None if best is played else best

    def _added(self, counts: Counts, more: Counts) -> Counts:
        sums = [one + other for one, other in zip(counts, more, strict=True)]
        return tuple(
            total if most is None else min(total, max(most, 0)) for total, most in zip(sums, self._most, strict=True)
        )

    def cover(self, needs: Sequence[NodeNeed], there: Counts = (), among: Iterable[int] | None = None) -> Counts:
        """Nodes that meet needs, as far as there may be so many beside those there are: the need that costs most first,
        by the shape that offers most of it for its price, and of such the one that offers most of the others."""
        size = len(self._prices)
        counts, usable = [0] * size, set(range(size) if among is None else among)
        room = [
            None if most is None else most - was for most, was in zip(self._most, there or (0,) * size, strict=True)
        ]
        while True:
            there_now = tuple(counts)
            open_ = [at for at in usable if (limit := room[at]) is None or counts[at] < limit]
            short = [need for need in needs if need.short(there_now) > 0 and any(need.each[at] for at in open_)]
            if not short:
                return there_now
            rates = [min(self._prices[at] / need.each[at] for at in open_ if need.each[at]) for need in short]
            _, worst = max(zip(rates, short, strict=True), key=lambda rated: rated[1].short(there_now) * rated[0])
            offering = [at for at in open_ if worst.each[at]]
            best = min(
                offering, key=lambda at: (self._prices[at] / worst.each[at], -self._worth(at, short, there_now), at)
            )
            steps, limit = -(-worst.short(there_now) // worst.each[best]), room[best]
            counts[best] += steps if limit is None else min(steps, limit - counts[best])

    def _worth(self, at: int, short: Sequence[NodeNeed], counts: Counts) -> Fraction:
        """What a node of a shape meets of the needs, in shares of what is missing, for its price."""
        shares = (
            Fraction(min(need.each[at], missing), missing) for need in short if (missing := need.short(counts)) > 0
        )
        return sum(shares, Fraction(0)) / self._prices[at]

    def _of_one_shape(self, needs: Sequence[NodeNeed]) -> Iterator[Played]:
        """Sets of a single shape with which everything runs; the number is doubled a few times until it does."""
        for at in range(len(self._prices)) if len(self._prices) > 1 else ():
            counts = self.cover(needs, among=[at])
            if not all(need.met_by(counts) for need in needs):
                continue
            for _ in range(3):
                if not self._trials.left:
                    return
                played = self._trials.play(counts)
                if self._does(played):
                    yield played
                    break
                counts = self._added(counts, tuple(-(-number // 4) for number in counts))

    # --- fewer -----------------------------------------------------------------------------------------------

    def _shrunk(self, best: Played, needs: Sequence[NodeNeed]) -> Played:
        """Nodes taken away, many at a time and then fewer, of the dearest shape first."""
        for at in sorted(range(len(self._prices)), key=lambda at: (-self._prices[at], at)):
            step = best.counts[at]
            while step:
                smaller = self._changed(best.counts, {at: -step})
                meets = smaller is not None and all(need.met_by(smaller) for need in needs)
                if smaller is not None and meets and self._trials.left:
                    played = self._trials.play(smaller)
                    if self._does(played):
                        best, step = played, min(step, smaller[at])
                        continue
                step //= 2
        return best

    def _exchanged(self, best: Played, needs: Sequence[NodeNeed]) -> Played | None:
        """A cheaper set with one or two nodes less of some shapes and one more of another; None: none was found."""
        size = range(len(self._prices))
        away = [{at: -1} for at in size] + [
            {one: -2} if one == other else {one: -1, other: -1} for one, other in product(size, size) if one <= other
        ]
        before = self.cost(best.counts)
        for less, more in product(away, size):
            counts = self._changed(best.counts, {**less, more: less.get(more, 0) + 1})
            if counts is None or self.cost(counts) >= before or not all(need.met_by(counts) for need in needs):
                continue
            if not self._trials.left:
                return None
            played = self._trials.play(counts)
            if self._does(played):
                return played
        return None

    def _changed(self, counts: Counts, by: dict[int, int]) -> Counts | None:
        """None where there cannot be so many."""
        out = tuple(number + by.get(at, 0) for at, number in enumerate(counts))
        limits = zip(out, self._most, strict=True)
        return out if all(number >= 0 and (most is None or number <= most) for number, most in limits) else None

    def _below(self, least: Fraction, cost: Fraction, needs: Sequence[NodeNeed]) -> list[Counts] | None:
        """Every set that costs at least ``least`` and less than ``cost`` and meets the needs, the cheapest first; None:
        there are too many to look at."""
        step = common_price(self._prices)
        prices = [int(price / step) for price in self._prices]
        low, high = int(least / step), int(cost / step) - 1
        best = [  # of each need, of the shapes from each on: (what a node offers, its price) where that is most for it
            [
                max(zip(need.each[at:], prices[at:], strict=True), key=lambda rate: Fraction(*rate), default=(0, 1))
                for at in range(len(prices) + 1)
            ]
            for need in needs
        ]
        found: list[Counts] = []
        stack: list[tuple[Counts, int, tuple[int, ...]]] = [((), 0, tuple(need.amount for need in needs))]
        for _ in range(MOST_STEPS):
            if not stack:
                return sorted(found, key=lambda counts: (self.cost(counts), [-number for number in counts]))
            begun, spent, short = stack.pop()
            at, left = len(begun), high - spent
            rates = (of_need[at] for of_need in best)
            if any(missing * price > each * left for missing, (each, price) in zip(short, rates, strict=True)):
                continue
            if at == len(prices):
                found += [begun] if spent >= low else []
                continue
            limit = self._most[at]
            each_here = [need.each[at] for need in needs]
            for number in range(1 + (left // prices[at] if limit is None else min(left // prices[at], limit))):
                missing = tuple(was - number * each for was, each in zip(short, each_here, strict=True))
                stack.append(((*begun, number), spent + number * prices[at], missing))
        return None
