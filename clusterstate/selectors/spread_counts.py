"""The spread constraints of a pod against the pods that run, in releases 1.20 to 1.36: hard ones, with the least
count among domains, and soft ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import Reads, remember
from clusterstate.growable import ABSENT, IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import Matcher
from clusterstate.selectors.spread_constraints import (
    HOSTNAME,
    Constraints,
    Counter,
    CounterSum,
    PickedPods,
    Selectors,
    SpreadConstraint,
    added_up,
    both,
    carrying,
    counted_1_20,
    counted_1_36,
    counter,
    included_nodes,
    picked_nodes,
)
from clusterstate.snapshot import Snapshot

NO_PODS_ANYWHERE = (1 << 31) - 1
"""Upstream's count of the emptiest domain when there is no domain."""

NO_DOMAIN = -1


class Tracked:
    """Pods by domain with the two smallest counts remembered; the third smallest is not.

    size: how many domains there are. Upstream: 1.20 and 1.36 criticalPaths.
    """

    __slots__ = ("_base", "_changed", "_known", "_slots", "size")

    def __init__(self, base: IntArray, known: frozenset[int], slots: tuple[tuple[int, int], ...], size: int) -> None:
        self._base = base
        self._known = known
        self._slots = slots
        self._changed: dict[int, int] = {}
        self.size = size

    @classmethod
    def of(cls, totals: IntArray, domains: IntArray) -> Tracked:
        """totals: (D,) by domain code, kept. domains: the codes that count."""
        counts = totals[domains]
        slots = [(NO_PODS_ANYWHERE, NO_DOMAIN), (NO_PODS_ANYWHERE, NO_DOMAIN)]
        for at in range(min(2, len(domains))):
            least = int(counts.argmin())
            slots[at] = (int(counts[least]), int(domains[least]))
            counts[least] = np.iinfo(np.int64).max
        return cls(totals.copy(), frozenset(domains.tolist()), tuple(slots), len(domains))

    def copy(self) -> Tracked:
        """For one what-if; only one that has not been changed itself."""
        return Tracked(self._base, self._known, self._slots, self.size)

    @property
    def least(self) -> int:
        """The fewest pods of any domain."""
        return self._slots[0][0]

    def array(self) -> IntArray:
        """(D,) the counts, by domain code."""
        out = self._base.copy()
        for code, count in self._changed.items():
            out[code] = count
        return out

    def add(self, code: int, amount: int, *, create: bool) -> None:
        """Adds or removes pods of a domain; one that did not count before is left alone unless ``create``."""
        if code not in self._known and code not in self._changed:
            if not create:
                return
            self.size += 1
        count = self._changed.get(code, int(self._base[code])) + amount
        self._changed[code] = count
        first, second = self._slots
        if code in (first[1], second[1]):
            first, second = ((count, code), second) if code == first[1] else (first, (count, code))
            if first[0] > second[0]:
                first, second = second, first
        elif count < first[0]:
            first, second = (count, code), first
        elif count < second[0]:
            second = (count, code)
        self._slots = (first, second)


MOST_GROUNDS = 256


class Ground(msgspec.Struct, frozen=True, eq=False):
    """What one or more constraints count by."""

    counter: Counter | CounterSum
    domains: IntArray
    """The codes of the domains that count, ascending."""
    every: bool
    """Whether these are all domains of the key."""
    takes: Mask | None
    """(N,) bool, rows whose added and removed pods count; None: those of the domains that count (1.20)."""

    def totals(self, whole: Snapshot) -> IntArray:
        """(D,) int64 by domain code, 0 for domains that do not count; meaningless at code 0."""
        totals = self.counter.totals(whole)
        if self.every:
            return totals
        out = np.zeros(len(totals), np.int64)
        out[self.domains] = totals[self.domains]
        return out

    def least(self, totals: IntArray) -> int:
        """The count of the emptiest domain."""
        if not len(self.domains):
            return NO_PODS_ANYWHERE
        return int((totals[1:] if self.every else totals[self.domains]).min())


class Plan(msgspec.Struct, frozen=True, eq=False):
    """What the hard constraints of a pod class mean as long as the nodes stay as they are."""

    constraints: Constraints
    grounds: tuple[Ground, ...]
    """By constraint: what it counts by."""
    own: tuple[int, ...]
    """By constraint: 1 if it counts the pod itself, otherwise 0."""
    lacking: tuple[Mask | None, ...]
    """By constraint: (N,) bool, the rows that lack its topology key; None when no row does."""
    qualified: Mask
    """(N,) bool, the rows that have every key."""


Grounds = Callable[[PodInfo, Snapshot, Constraints, Mask], tuple[Ground, ...]]


def grounds_1_20(pod: PodInfo, whole: Snapshot, constraints: Constraints, qualified: Mask) -> tuple[Ground, ...]:
    """One ground for all constraints of a key.

    The domains are those of nodes that have every key and that the pod's node affinity picks, but every node in one of
    them counts. Upstream: 1.20 calPreFilterState.
    """
    eligible = both(qualified, picked_nodes(pod, whole))
    assert eligible is not None
    grounds: dict[str, Ground] = {}
    for key in dict.fromkeys(c.topology_key for c in constraints):
        selectors = tuple(s for c in constraints if c.topology_key == key for s in counted_1_20(c.selector))
        domains, every = _domains(whole, key, eligible)
        grounds[key] = Ground(counter(whole, pod.namespace, key, selectors, None), domains, every, None)
    return tuple(grounds[c.topology_key] for c in constraints)


def _grounds_by_key(
    counted: Callable[[Matcher], Selectors], pod: PodInfo, whole: Snapshot, constraints: Constraints, qualified: Mask
) -> tuple[Ground, ...]:
    """The constraints of a key share their counts: on each node those of the last one that lets it count.

    counted: the pods that a constraint's selector counts. Upstream: 1.24 to 1.32 calPreFilterState.
    """
    takes = []
    for c in constraints:
        rows = both(qualified, included_nodes(pod, whole, c))
        assert rows is not None
        takes.append(rows)
    grounds: dict[str, Ground] = {}
    for key in dict.fromkeys(c.topology_key for c in constraints):
        counters: list[Counter] = []
        covered: Mask = np.zeros(len(qualified), np.bool_)
        for c, rows in zip(reversed(constraints), reversed(takes), strict=True):
            if c.topology_key == key and not (counters and (covered | ~rows).all()):
                counters.append(counter(whole, pod.namespace, key, counted(c.selector), rows & ~covered))
                covered = covered | rows
        domains, every = _domains(whole, key, covered)
        grounds[key] = Ground(added_up(counters), domains, every, covered)
    return tuple(
        msgspec.structs.replace(grounds[c.topology_key], takes=rows) for c, rows in zip(constraints, takes, strict=True)
    )


grounds_1_24: Grounds = partial(_grounds_by_key, counted_1_20)
"""An empty selector counts every pod of the namespace. Releases 1.24 to 1.26."""
grounds_1_27: Grounds = partial(_grounds_by_key, counted_1_36)
"""An empty selector counts no pod. Releases 1.27 to 1.32."""


def grounds_1_36(pod: PodInfo, whole: Snapshot, constraints: Constraints, qualified: Mask) -> tuple[Ground, ...]:
    """A ground for each constraint: the nodes that have every key and that its inclusion policies let count.

    Upstream: 1.36 calPreFilterState.
    """
    grounds = []
    for c in constraints:
        takes = both(qualified, included_nodes(pod, whole, c))
        assert takes is not None
        domains, every = _domains(whole, c.topology_key, takes)
        counting = counter(whole, pod.namespace, c.topology_key, counted_1_36(c.selector), takes)
        grounds.append(Ground(counting, domains, every, takes))
    return tuple(grounds)


def _domains(whole: Snapshot, key: str, rows: Mask) -> tuple[IntArray, bool]:
    """(the codes of the domains that some rows are in, whether these are all there are)."""
    codes, index = whole.label_codes(key)
    present = np.bincount(codes[rows], minlength=len(index) + 1)
    present[ABSENT] = 0
    domains = np.flatnonzero(present)
    return domains, len(domains) == len(index) > 0


def plan_of(pod: PodInfo, whole: Snapshot, constraints: Constraints, grounds: Grounds) -> Plan:
    """The plan of a pod class, made once while the nodes stay as they are."""
    memo: dict[tuple[Grounds, PodInfo, Constraints, int], Plan] = whole.derived(
        "hard spread constraints", Reads.ALL_NODES, dict
    )
    name = (grounds, pod, constraints, len(whole))
    plan = memo.get(name)
    if plan is None:
        plan = remember(memo, name, _make_plan(pod, whole, constraints, grounds), MOST_GROUNDS)
    return plan


def _make_plan(pod: PodInfo, whole: Snapshot, constraints: Constraints, grounds: Grounds) -> Plan:
    qualified = carrying(whole, (c.topology_key for c in constraints))
    lacks = [whole.label_codes(c.topology_key)[0] == ABSENT for c in constraints]
    return Plan(
        constraints=constraints,
        grounds=grounds(pod, whole, constraints, qualified),
        own=tuple(int(c.selector(pod.labels)) for c in constraints),
        lacking=tuple(mask if mask.any() else None for mask in lacks),
        qualified=qualified,
    )


# --- counting with pods hypothetically added and removed -----------------------------------

Counts = list[tuple[IntArray, int]]
"""By constraint: (D,) int64 pods by domain code, and the count that it is compared with."""


def counts_of(pod: PodInfo, snapshot: Snapshot, plan: Plan) -> Counts:
    """The counts with the snapshot's changes, whatever rows it is over."""
    whole = snapshot.whole()
    if snapshot.changes:
        return _changed_counts(pod, snapshot, plan, whole.until(0))
    out: Counts = []
    for constraint, ground in zip(plan.constraints, plan.grounds, strict=True):
        totals = ground.totals(whole)
        enough = len(ground.domains) >= constraint.min_domains
        out.append((totals, ground.least(totals) if enough else 0))
    return out


def _changed_counts(pod: PodInfo, snapshot: Snapshot, plan: Plan, before: Snapshot) -> Counts:
    """The counts after the changes, in the order they happened; pods being deleted count like others.

    Upstream: updateWithPod.
    """
    memo: dict[Plan, tuple[Tracked, ...]] = before.derived(
        "tracked spread counts", Reads.ALL_NODES | Reads.ALL_PODS, dict
    )
    kept = memo.get(plan)
    if kept is None:
        distinct = {id(g.counter): Tracked.of(g.totals(before), g.domains) for g in plan.grounds}
        kept = memo[plan] = tuple(distinct[id(g.counter)] for g in plan.grounds)
    copies = {id(tracked): tracked.copy() for tracked in kept}
    tracked = [copies[id(t)] for t in kept]
    for change in snapshot.changes:
        row, info = change.row, change.info
        if info.namespace != pod.namespace or not plan.qualified[row]:
            continue
        for constraint, ground, counts in zip(plan.constraints, plan.grounds, tracked, strict=True):
            if constraint.selector(info.labels) and (ground.takes is None or ground.takes[row]):
                code = int(before.label_codes(constraint.topology_key)[0][row])
                counts.add(code, change.sign, create=ground.takes is not None)
    return [
        (t.array(), t.least if t.size >= c.min_domains else 0) for c, t in zip(plan.constraints, tracked, strict=True)
    ]


MOST_PLANS = 256
"""Plans that are kept however many rows there are."""
PLAN_ROWS = 1 << 23
"""Rows of all plans that may be kept, on a cluster where these are more."""


class SoftPart(msgspec.Struct, frozen=True, eq=False):
    """One soft constraint."""

    constraint: SpreadConstraint
    pods: PickedPods
    """Those on the node itself."""
    counter: Counter | CounterSum | None
    """None for the hostname key, whose pods are those on the node itself."""
    lacking: Mask | None
    """(N,) bool, the rows that lack the topology key, None when no row does."""
    sized: bool = True
    """False where an earlier constraint of the same key already counts the domains (up to 1.32)."""


class SoftPlan(msgspec.Struct, frozen=True, eq=False):
    """What soft constraints mean as long as the nodes stay as they are."""

    parts: tuple[SoftPart, ...]
    ignored: Mask | None
    """(N,) bool: the rows that get no score because they lack a required key; None when no row does."""
    _sizes: dict[int, int] = msgspec.field(default_factory=dict)

    def ignored_among(self, snapshot: Snapshot) -> Mask:
        """(n,) bool; there must be ignored rows."""
        assert self.ignored is not None
        return self.ignored if snapshot.rows is None else self.ignored[snapshot.rows]

    def nodes_among(self, snapshot: Snapshot) -> int:
        """How many rows are not passed over."""
        if self.ignored is None:
            return len(snapshot)
        return len(snapshot) - int(self.ignored_among(snapshot).sum())

    def size(self, snapshot: Snapshot, at: int) -> int:
        """How many domains a constraint's key has among rows that are not passed over."""
        if not self.parts[at].sized:
            return 0
        if snapshot.rows is not None:
            return self._size(snapshot, at)
        size = self._sizes.get(at)
        if size is None:
            size = self._sizes[at] = self._size(snapshot, at)
        return size

    def _size(self, snapshot: Snapshot, at: int) -> int:
        """Rows without the key form a domain together with those that have the empty value."""
        codes, index = snapshot.label_codes(self.parts[at].constraint.topology_key)
        if self.ignored is not None:
            codes = codes[~self.ignored_among(snapshot)]
        present = np.bincount(codes, minlength=len(index) + 1) > 0
        both_empty = "" in index and present[ABSENT] and present[index[""]]
        return int(np.count_nonzero(present)) - int(both_empty)


MakePlan = Callable[[PodInfo, Snapshot, Constraints, bool], SoftPlan]


class SoftPlans(msgspec.Struct, frozen=True, eq=False):
    """Plans, each made once while the nodes stay as they are."""

    make: MakePlan

    def of(self, pod: PodInfo, whole: Snapshot, constraints: Constraints, all_keys: bool) -> SoftPlan:
        """all_keys: rows that lack a key are passed over."""
        memo: dict[Hashable, SoftPlan] = whole.derived(("soft spread constraints", self.make), Reads.ALL_NODES, dict)
        spec, size = pod.spec, len(whole)
        name = (pod.namespace, spec.node_selector, spec.affinity, spec.tolerations, constraints, all_keys, size)
        plan = memo.get(name)
        if plan is None:
            most = max(MOST_PLANS, PLAN_ROWS // max(size, 1))
            plan = remember(memo, name, self.make(pod, whole, constraints, all_keys), most)
        return plan


def _soft_plan(
    counted_by: Callable[[Matcher], Selectors],
    together: bool,
    pod: PodInfo,
    whole: Snapshot,
    constraints: Constraints,
    all_keys: bool,
) -> SoftPlan:
    """Constraints count over the nodes that their inclusion policies let count.

    counted_by: the pods that a selector counts. together: constraints of one key add into the same counts. Upstream:
    initPreScoreState and PreScore.
    """
    keys = [c.topology_key for c in constraints]
    places: Sequence[str | int] = keys if together else range(len(keys))
    qualified = carrying(whole, keys) if all_keys else None
    counters: dict[str | int, list[Counter]] = {}
    for c, place in zip(constraints, places, strict=True):
        if c.topology_key != HOSTNAME:
            counted = both(included_nodes(pod, whole, c), qualified)
            counting = counter(whole, pod.namespace, c.topology_key, counted_by(c.selector), counted)
            counters.setdefault(place, []).append(counting)
    counts = {place: added_up(several) for place, several in counters.items()}
    parts = tuple(
        SoftPart(
            c,
            PickedPods(pod.namespace, counted_by(c.selector)),
            counts.get(place),
            _lacking(whole, c.topology_key),
            sized=place not in places[:at],
        )
        for at, (c, place) in enumerate(zip(constraints, places, strict=True))
    )
    return SoftPlan(parts, None if qualified is None or qualified.all() else ~qualified)


soft_plan_1_20: MakePlan = partial(_soft_plan, counted_1_20, True)
"""An empty selector counts every pod of the namespace. Releases 1.18 to 1.26."""
soft_plan_1_27: MakePlan = partial(_soft_plan, counted_1_36, True)
"""An empty selector counts no pod. Releases 1.27 to 1.32."""
soft_plan_1_36: MakePlan = partial(_soft_plan, counted_1_36, False)
"""Each constraint counts by itself."""


def _lacking(whole: Snapshot, key: str) -> Mask | None:
    lacking = whole.label_codes(key)[0] == ABSENT
    return lacking if lacking.any() else None


def pods_on(snapshot: Snapshot, pods: PickedPods) -> IntArray:
    """(n,) int64: the pods on each row itself. Not to be written to."""
    if not pods.selectors:
        return np.zeros(len(snapshot), np.int64)
    return snapshot.counts(pods.tally(snapshot, None))
