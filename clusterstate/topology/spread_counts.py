"""How the pods that spread constraints count are spread over the domains of their topology keys."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from clusterstate.counting.tally import Tally
from clusterstate.growable import IntArray, Mask
from clusterstate.nodecolumn import ABSENT
from clusterstate.objects import LabelSelector, TopologySpreadConstraint
from clusterstate.podinfo import PodInfo, any_of
from clusterstate.selectors.matching import Matcher, compile_label_selector
from clusterstate.selectors.node_selection import pod_matches_nodes, selects_nodes
from clusterstate.snapshot import Snapshot

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"

Constraints = tuple[TopologySpreadConstraint, ...]
Selectors = tuple[LabelSelector | None, ...]


class DomainCounts(msgspec.Struct, frozen=True):
    """Counts over the domains of one topology key, by domain code."""

    totals: IntArray
    """(D,) int64 pods on the eligible nodes, meaningless at code 0."""
    present: Mask
    """(D,) bool: whether the domain has an eligible node."""


def constraints_of(pod: PodInfo, when_unsatisfiable: str) -> Constraints:
    """The pod's constraints of one sort, HARD or SOFT."""
    return tuple(c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == when_unsatisfiable)


def carrying(snapshot: Snapshot, keys: Iterable[str]) -> Mask:
    """(n,) bool: the rows whose node has every one of these labels; ``keys`` must not be empty."""
    out: Mask | None = None
    for key in keys:
        has = snapshot.label_codes(key)[0] != ABSENT
        out = has if out is None else out & has
    assert out is not None
    return out


def eligible_rows(pod: PodInfo, snapshot: Snapshot, constraints: Constraints) -> Mask:
    """(n,) bool: the rows that carry every key and that the pod's nodeSelector and node affinity pick."""
    out = carrying(snapshot, (constraint.topology_key for constraint in constraints))
    return out & pod_matches_nodes(pod, snapshot) if selects_nodes(pod) else out


class DomainCounter(msgspec.Struct, frozen=True, eq=False):
    """Counts pods over the domains of one topology key as long as the nodes stay as they are."""

    topology_key: str
    namespace: str | None
    """Where pods are counted; None: everywhere."""
    selectors: Selectors
    """A pod counts once for each that selects it."""
    codes: IntArray | None
    """(N,) int64, the domain codes of the eligible rows, 0 for others; None: every row with the key is eligible."""
    present: Mask
    """(D,) bool: whether the domain has an eligible node."""

    def totals(self, whole: Snapshot) -> IntArray:
        """(D,) int64 pods on the eligible nodes, meaningless at code 0; not to be written to.

        Raises SelectorError for an invalid selector.
        """
        if self.codes is None:
            return whole.domain_sums(_tally(whole, self.namespace, self.selectors, self.topology_key))
        counts = whole.counts(_tally(whole, self.namespace, self.selectors, None))
        return np.bincount(self.codes, weights=counts, minlength=len(self.present)).astype(np.int64)


def domain_counters(
    pod: PodInfo, whole: Snapshot, constraints: Constraints, namespace: str | None
) -> dict[str, DomainCounter] | None:
    """Topology key → what counts the pods that the key's constraints select; None when no row is eligible.

    A pod counts once for each constraint of the key that selects it. namespace: where pods are counted, None for
    everywhere.
    """
    selectors: dict[str, Selectors] = {}
    for constraint in constraints:
        selectors[constraint.topology_key] = (*selectors.get(constraint.topology_key, ()), constraint.label_selector)
    eligible = eligible_rows(pod, whole, constraints)
    if not eligible.any():
        return None
    return {key: _counter(whole, key, namespace, wanted, eligible) for key, wanted in selectors.items()}


def _counter(whole: Snapshot, key: str, namespace: str | None, selectors: Selectors, eligible: Mask) -> DomainCounter:
    codes = whole.label_codes(key)[0]
    every = np.array_equal(eligible, codes != ABSENT)
    codes = codes if every else codes * eligible
    present = np.bincount(codes, minlength=len(whole.label_values(key))) > 0
    present[ABSENT] = False
    return DomainCounter(key, namespace, selectors, None if every else codes, present)


def spread_over(
    pod: PodInfo, snapshot: Snapshot, constraints: Constraints, namespace: str | None
) -> dict[str, DomainCounts] | None:
    """Topology key → the spread of the pods that the key's constraints select; None when no row is eligible.

    The whole cluster is looked at, whatever rows the snapshot is over; see ``domain_counters``. Raises SelectorError
    for an invalid selector.
    """
    whole = snapshot.whole()
    counters = domain_counters(pod, whole, constraints, namespace)
    if counters is None:
        return None
    return {key: DomainCounts(counter.totals(whole), counter.present) for key, counter in counters.items()}


def _tally(snapshot: Snapshot, namespace: str | None, selectors: Selectors, topology_key: str | None) -> Tally:
    """The running count of the pods that ``selectors`` select, once for each that does."""
    matchers: list[Matcher] = [compile_label_selector(selector) for selector in selectors]

    def weight(info: PodInfo) -> int:
        if namespace is not None and info.namespace != namespace:
            return 0
        return sum(matcher(info.labels) for matcher in matchers)

    reach = any_of(*(matcher.marks for matcher in matchers))
    return snapshot.tally(("topology spread", namespace, selectors, topology_key), topology_key, weight, reach)


def any_pods(pod: PodInfo, snapshot: Snapshot, constraints: Constraints, namespace: str | None) -> bool:
    """Whether any pod at all (of a namespace) runs on an eligible row: a selector would be tried on it."""
    everything: Selectors = (LabelSelector(),)
    whole = snapshot.whole()
    counts = whole.counts(_tally(whole, namespace, everything, None))
    return bool(counts[eligible_rows(pod, whole, constraints)].any())
