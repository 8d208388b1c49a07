"""The soft spread constraints of a pod against the nodes: releases 1.20 and 1.36."""

from __future__ import annotations

from collections.abc import Callable, Hashable
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
    """False where an earlier constraint of the same key already counts the domains (1.20)."""


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


def soft_plan_1_20(pod: PodInfo, whole: Snapshot, constraints: Constraints, all_keys: bool) -> SoftPlan:
    """Constraints of one key add into the same counts; only nodes that the pod's node affinity picks count."""
    keys = [c.topology_key for c in constraints]
    qualified = carrying(whole, keys) if all_keys else None
    counted = both(picked_nodes(pod, whole), qualified)
    parts = []
    for at, c in enumerate(constraints):
        key = c.topology_key
        selectors = tuple(s for other in constraints if other.topology_key == key for s in counted_1_20(other.selector))
        own = counted_1_20(c.selector)
        counting = None if key == HOSTNAME else counter(whole, pod.namespace, key, selectors, counted)
        parts.append(SoftPart(c, PickedPods(pod.namespace, own), counting, _lacking(whole, key), key not in keys[:at]))
    return SoftPlan(tuple(parts), _ignored(qualified))


def _plan_by_key(
    counted_by: Callable[[Matcher], Selectors],
    pod: PodInfo,
    whole: Snapshot,
    constraints: Constraints,
    all_keys: bool,
) -> SoftPlan:
    """Constraints of one key add into the same counts, each over the nodes that its inclusion policies let count.

    counted_by: the pods that a selector counts. Upstream: 1.24 to 1.32 initPreScoreState and PreScore.
    """
    keys = [c.topology_key for c in constraints]
    qualified = carrying(whole, keys) if all_keys else None
    counters: dict[str, list[Counter]] = {key: [] for key in keys}
    for c in constraints:
        if c.topology_key != HOSTNAME:
            counted = both(included_nodes(pod, whole, c), qualified)
            selectors = counted_by(c.selector)
            counters[c.topology_key].append(counter(whole, pod.namespace, c.topology_key, selectors, counted))
    together = {key: added_up(several) for key, several in counters.items() if several}
    parts = tuple(
        SoftPart(
            c,
            PickedPods(pod.namespace, counted_by(c.selector)),
            together.get(c.topology_key),
            _lacking(whole, c.topology_key),
            c.topology_key not in keys[:at],
        )
        for at, c in enumerate(constraints)
    )
    return SoftPlan(parts, _ignored(qualified))


soft_plan_1_24: MakePlan = partial(_plan_by_key, counted_1_20)
"""An empty selector counts every pod of the namespace. Releases 1.24 to 1.26."""
soft_plan_1_27: MakePlan = partial(_plan_by_key, counted_1_36)
"""An empty selector counts no pod. Releases 1.27 to 1.32."""


def soft_plan_1_36(pod: PodInfo, whole: Snapshot, constraints: Constraints, all_keys: bool) -> SoftPlan:
    """Each constraint counts by itself, over the nodes that its inclusion policies let count."""
    qualified = carrying(whole, [c.topology_key for c in constraints]) if all_keys else None
    parts = []
    for c in constraints:
        key, own = c.topology_key, counted_1_36(c.selector)
        counted = both(included_nodes(pod, whole, c), qualified)
        counting = None if key == HOSTNAME else counter(whole, pod.namespace, key, own, counted)
        parts.append(SoftPart(c, PickedPods(pod.namespace, own), counting, _lacking(whole, key)))
    return SoftPlan(tuple(parts), _ignored(qualified))


def _lacking(whole: Snapshot, key: str) -> Mask | None:
    lacking = whole.label_codes(key)[0] == ABSENT
    return lacking if lacking.any() else None


def _ignored(qualified: Mask | None) -> Mask | None:
    return None if qualified is None or qualified.all() else ~qualified


def pods_on(snapshot: Snapshot, pods: PickedPods) -> IntArray:
    """(n,) int64: the pods on each row itself. Not to be written to."""
    if not pods.selectors:
        return np.zeros(len(snapshot), np.int64)
    return snapshot.counts(pods.tally(snapshot, None))
