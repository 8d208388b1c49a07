"""How many pods a spread constraint of releases 1.20 and 1.36 counts in each domain of its topology key."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from clusterstate.counting.tally import Tally, Weight
from clusterstate.growable import IntArray, Mask
from clusterstate.nodecolumn import ABSENT
from clusterstate.objects import Node, Taint
from clusterstate.podinfo import PodInfo, Reach, any_of
from clusterstate.selectors.matching import Matcher, any_tolerates
from clusterstate.selectors.node_selection import pod_matches_nodes_1_20, selects_nodes
from clusterstate.snapshot import Snapshot
from clusterstate.topology.spread_constraints import SpreadConstraint

MOST_REMEMBERED = 4096
"""Selectors of which it is remembered what they count."""
KEEPS_OUT = ("NoSchedule", "NoExecute")

Selectors = tuple[Matcher, ...]


class PickedPods(msgspec.Struct, frozen=True, eq=False):
    """The pods of a namespace, not being deleted, that selectors pick; counted once for each that does."""

    namespace: str
    selectors: Selectors
    _tallies: dict[str | None, Tally] = msgspec.field(default_factory=dict)
    """By topology key: the running counts, as they were found last."""

    def tally(self, snapshot: Snapshot, topology_key: str | None) -> Tally:
        """Their running count by domain of a topology key; None: by node."""
        tally = self._tallies.get(topology_key)
        if tally is None or not snapshot.are_current((tally,)):
            weight, reach = _picked(self.namespace, self.selectors)
            name = "spread counts", self.namespace, self.selectors, topology_key
            tally = self._tallies[topology_key] = snapshot.tally(name, topology_key, weight, reach)
        return tally


class Counter(msgspec.Struct, frozen=True, eq=False):
    """Counts pods by domain as long as the nodes stay as they are."""

    topology_key: str
    pods: PickedPods
    rows: Mask | None
    """(N,) bool, the nodes whose pods count, None: every one that has the key."""
    blank: Mask | None
    """(N,) bool, nodes without the key that count into the domain of the empty value; None when there are none, or no
    such domain.
    """

    def totals(self, whole: Snapshot) -> IntArray:
        """(D,) int64 by domain code, meaningless at code 0; pods being deleted do not count. Not to be written to."""
        key = self.topology_key
        if not self.pods.selectors:
            return np.zeros(len(whole.label_values(key)), np.int64)
        if self.rows is None:
            sums = whole.domain_sums(self.pods.tally(whole, key))
        else:
            codes = whole.label_codes(key)[0] * self.rows
            counts = self._by_node(whole)
            sums = np.bincount(codes, weights=counts, minlength=len(whole.label_values(key))).astype(np.int64)
        if self.blank is not None:
            sums = sums.copy()
            sums[whole.label_codes(key)[1][""]] += self._by_node(whole)[self.blank].sum()
        return sums

    def _by_node(self, whole: Snapshot) -> IntArray:
        return whole.domain_sums(self.pods.tally(whole, None))[: len(whole)]


def counter(whole: Snapshot, namespace: str, key: str, selectors: Selectors, counted: Mask | None) -> Counter:
    """counted: (N,) bool, the nodes whose pods count, also those without the key; None: all nodes."""
    codes, index = whole.label_codes(key)
    has = codes != ABSENT
    rows = None if counted is None or not (has & ~counted).any() else counted
    blank: Mask | None = None
    if "" in index:
        lacking = ~has & (whole.has_node if counted is None else counted & whole.has_node)
        blank = lacking if lacking.any() else None
    return Counter(key, PickedPods(namespace, selectors), rows, blank)


@lru_cache(MOST_REMEMBERED)
def _picked(namespace: str, selectors: Selectors) -> tuple[Weight, Reach]:
    """(what a pod counts, of which classes that is other than 0)."""
    reach = any_of(*(selector.marks for selector in selectors))

    def weight(info: PodInfo) -> int:
        if info.terminating or info.namespace != namespace:
            return 0
        labels = info.labels
        return sum([selector(labels) for selector in selectors])

    return weight, reach


def counted_1_20(selector: Matcher) -> Selectors:
    """A pod that matches the constraint's selector counts once."""
    return (selector,)


def counted_1_36(selector: Matcher) -> Selectors:
    """An empty selector counts no pod at all. Upstream: 1.36 countPodsMatchSelector."""
    return () if selector.everything else (selector,)


# --- nodes that count ----------------------------------------------------------------------


def picked_nodes(pod: PodInfo, whole: Snapshot) -> Mask | None:
    """(N,) bool: the nodes that the pod's nodeSelector and node affinity pick; None: it has neither."""
    return pod_matches_nodes_1_20(pod, whole) if selects_nodes(pod) else None


def included_nodes(pod: PodInfo, whole: Snapshot, constraint: SpreadConstraint) -> Mask | None:
    """(N,) bool: the nodes that the constraint's inclusion policies let count; None: all. Release 1.36."""
    out = picked_nodes(pod, whole) if constraint.honours_affinity else None
    if constraint.honours_taints:
        tolerations = pod.spec.tolerations

        def is_open(taints: tuple[Taint, ...] | None) -> bool:
            return all(any_tolerates(tolerations, t) for t in taints or () if t.effect in KEEPS_OUT)

        free: Mask = whole.spread(_taints, is_open)
        out = free if out is None else out & free
    return out


def _taints(node: Node) -> tuple[Taint, ...] | None:
    return node.taints or None


def both(first: Mask | None, second: Mask | None) -> Mask | None:
    """The rows in both masks, None standing for all rows."""
    if first is None or second is None:
        return second if first is None else first
    out: Mask = first & second
    return out
