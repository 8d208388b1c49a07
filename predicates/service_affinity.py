"""CheckServiceAffinity: pods of a service stay on nodes with the same values of some labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray, Mask
from clusterstate.node_order import zone_key_stable
from clusterstate.objects import Labels, Requirement
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import compile_map
from clusterstate.selectors.node_selection import labelled_mask, node_selector_mask
from clusterstate.selectors.pod_owners import services_of
from clusterstate.snapshot import PodChange, Snapshot
from kubecel.api_names import go_quote
from predicates.refusal_evidence import Explain, Refusal, Unmet, label_need, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

AFFINITY_VIOLATED = "node(s) didn't match service affinity"
AFFINITY_VIOLATED_1_4 = "CheckServiceAffinity"

Wanted = dict[str, str] | NodeError

READS = Reads.NODE | Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES


Peer = Callable[[PodInfo, Snapshot], Labels | NodeError | None]
"""The labels of the node of a pod's first peer, or the error of one whose node is not known; None without a peer."""


def wanted_labels(peer: Peer, labels: tuple[str, ...], pod: PodInfo, snapshot: Snapshot) -> Wanted:
    """Those of ``labels`` that a node must have: the pod's nodeSelector's, then, for what that leaves open and if the
    pod has a service, its peer's; or the error of the peer."""
    wanted = {label: pod.spec.node_selector[label] for label in labels if label in pod.spec.node_selector}
    if any(label not in wanted for label in labels) and services_of(pod, snapshot):
        theirs = peer(pod, snapshot)
        if isinstance(theirs, NodeError):
            return theirs
        wanted |= {label: theirs[label] for label in labels if theirs and label in theirs and label not in wanted}
    return wanted


def check_service_affinity(
    wanted: Wanted, snapshot: Snapshot, mask: Callable[[Snapshot, dict[str, str]], Mask], reason: str
) -> Verdict:
    """Fails where the node has not all that is wanted. mask: (n,) bool, the rows that have."""
    if isinstance(wanted, NodeError):
        return {wanted: np.ones(len(snapshot), np.bool_)}
    return {reason: ~mask(snapshot, wanted)} if wanted else PASS


def peer_1_16(pod: PodInfo, snapshot: Snapshot) -> Labels | NodeError | None:
    """Of several peers, whose order is arbitrary upstream, the one on the lowest row counts.

    Upstream: 1.16 checkServiceAffinity.
    """
    peer = _node_of_first_peer(pod, snapshot)
    row = None if peer is None else snapshot.row_of(peer)
    node = None if row is None else snapshot.node(row)
    if node is None:
        return None if peer is None else NodeError(f"node {go_quote(peer)} not found in cache")
    return node.metadata.labels


def _node_of_first_peer(pod: PodInfo, snapshot: Snapshot) -> str | None:
    """The node name of the first pod of the same namespace that has all of this pod's labels, None without one.

    A pod that is only nominated comes last, and is on no node yet: its node name is empty.
    """
    matches = compile_map(pod.labels)

    def weight(info: PodInfo) -> int:
        return int(info.namespace == pod.namespace and matches(info.labels))

    tally = snapshot.tally(("CheckServiceAffinity", pod.namespace, pod.labels), None, weight)
    there = snapshot.domain_sums(tally, nominated=False) > 0
    if there.any():
        return snapshot.whole().names[int(there.argmax())]
    nominated = any(change.nominated and change.sign > 0 and weight(change.info) for change in snapshot.changes)
    return "" if nominated else None


def peer_1_4(pod: PodInfo, snapshot: Snapshot) -> Labels | NodeError | None:
    """The peers are the pods of the pod's first service; of several the one on the lowest row counts.

    Upstream: 1.4 checkServiceAffinity.
    """
    selector = services_of(pod, snapshot)[0].selector
    matches = compile_map(selector)

    def weight(info: PodInfo) -> int:
        return int(info.namespace == pod.namespace and matches(info.labels))

    tally = snapshot.tally(("CheckServiceAffinity 1.4", pod.namespace, selector), None, weight)
    there = snapshot.domain_sums(tally) > 0
    if not there.any():
        return None
    row = int(there.argmax())
    node = snapshot.node(row)
    return NodeError(f"node '{snapshot.whole().names[row]}' not found") if node is None else node.metadata.labels


def service_affinity_factory(name: str, labels: tuple[str, ...]) -> FitPredicateFactory:
    """From a policy's `serviceAffinity` argument. The node must have the values that the pod's nodeSelector gives for
    the listed labels; for labels that it leaves open, and if the pod has a service, the values of the node of one
    running pod of the same namespace that carries all of this pod's labels.

    Upstream: 1.16 NewServiceAffinityPredicate. name: that of the policy's entry.
    """
    return _factory(name, labels, peer_1_16, AFFINITY_VIOLATED)


def service_affinity_factory_1_4(name: str, labels: tuple[str, ...]) -> FitPredicateFactory:
    """The peers are the pods that the pod's first service selects. Any name works.

    Upstream: 1.4 NewServiceAffinityPredicate. The arguments are those of ``service_affinity_factory``.
    """
    return _factory(name, labels, peer_1_4, AFFINITY_VIOLATED_1_4)


def explain_peers(
    peer: Peer, labels: tuple[str, ...], pairs: Callable[[Mapping[str, str]], Iterable[Requirement]]
) -> Explain:
    """The labels that the nodeSelector or the first peer's node ask for, and the node's. pairs: what they ask."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        labels_wanted = wanted_labels(peer, labels, pod, snapshot)
        asked = () if isinstance(labels_wanted, NodeError) else pairs(labels_wanted)
        return Unmet(tuple(label_need(snapshot, requirement) for requirement in asked))

    return explain


def _factory(name: str, labels: tuple[str, ...], peer: Peer, reason: str) -> FitPredicateFactory:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_service_affinity(wanted_labels(peer, labels, pod, snapshot), snapshot, node_selector_mask, reason)

    def applies(_: PodInfo) -> bool:
        return bool(labels)

    def make(_: PredicateArgs) -> FitPredicate:
        explain = explain_peers(peer, labels, lambda wanted: compile_map(wanted).requirements)
        return FitPredicate(
            name, check, Footprint(READS), applies, evidence=predicate_evidence("CheckServiceAffinity", explain)
        )

    return make


# --- ServiceAffinity: the peers of a pod are a list, of which the first one decides -------------

NODE_NOT_FOUND = "node not found"


def check_service_affinity_1_20(labels: tuple[str, ...], pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where the node differs in ``labels`` from the pod's nodeSelector or, for what that leaves open, from the
    node of its first peer; an error when that one is not bound yet. Upstream: 1.20 ServiceAffinity.
    """
    wanted = wanted_labels(_peer_1_20, labels, pod, snapshot)
    return check_service_affinity(wanted, snapshot, labelled_mask, AFFINITY_VIOLATED)


def _peer_1_20(pod: PodInfo, snapshot: Snapshot) -> Labels | NodeError | None:
    peers = _peers(pod, snapshot)
    if peers.unbound:
        return NodeError(NODE_NOT_FOUND)
    node = None if peers.row is None else snapshot.node(peers.row)
    return None if node is None else node.metadata.labels


def explain_peers_1_20(labels: tuple[str, ...]) -> Explain:
    """Of ``check_service_affinity_1_20``."""
    return explain_peers(
        _peer_1_20, labels, lambda wanted: [Requirement(key, "In", (value,)) for key, value in wanted.items()]
    )


class _First(msgspec.Struct, frozen=True):
    """Where the first peer is; unbound: it is only nominated. Neither: there is none."""

    row: int | None = None
    unbound: bool = False


def _peers(pod: PodInfo, snapshot: Snapshot) -> _First:
    """The first pod of the same namespace that has all of this pod's labels.

    Pods that run come in the order of the node list; those that are hypothetically added come after them, in
    their order, as does a pod that was removed before.
    """
    pairs = pod.labels.items()

    def weight(info: PodInfo) -> int:
        return int(info.namespace == pod.namespace and pairs <= info.labels.items())

    tally = snapshot.tally(("ServiceAffinity", pod.namespace, pod.labels), None, weight)
    added: dict[Hashable, PodChange] = {}
    gone: Counter[int] = Counter()
    for change in snapshot.changes:
        if not weight(change.info):
            continue
        key = (change.row, change.info) if change.pod is None else change.pod.key
        if change.sign > 0:
            added[key] = change
        elif added.pop(key, None) is None:
            gone[change.row] += 1
    row = _first_row(_there(tally, gone, snapshot.whole().until(0)), snapshot)
    if row is not None:
        return _First(row)
    first = next(iter(added.values()), None)
    if first is None:
        return _First()
    return _First(unbound=True) if first.nominated else _First(first.row)


def _there(tally: Tally, gone: Mapping[int, int], unchanged: Snapshot) -> Mask:
    """(N,) bool: the listed rows with a running peer that was not hypothetically removed."""
    counts: IntArray = unchanged.counts(tally).copy()
    for row, number in gone.items():
        counts[row] -= number
    there: Mask = (counts > 0) & unchanged.has_node
    return there


def _first_row(there: Mask, snapshot: Snapshot) -> int | None:
    rows = np.flatnonzero(there)
    return int(rows[_places(snapshot)[rows].argmin()]) if len(rows) else None


def _places(snapshot: Snapshot) -> IntArray:
    """(N,) each row's place in the node list; rows without a node come last.

    The first node of every zone, then the second of every zone, and so on: zones in the order in which they turn
    up, the nodes of a zone in row order. Upstream: 1.20 nodeTree.list.
    """
    return snapshot.derived("node list 1.20", Reads.ALL_NODES, lambda: _listed(snapshot.whole()))


def _listed(snapshot: Snapshot) -> IntArray:
    codes, _ = snapshot.property_codes(zone_key_stable)
    rows = np.flatnonzero(snapshot.has_node)
    by_zone = rows[np.argsort(codes[rows], kind="stable")]
    zones = codes[by_zone]
    turns = np.arange(len(rows))
    begin = np.maximum.accumulate(np.where(np.diff(zones, prepend=-1) != 0, turns, 0))
    places = np.full(len(snapshot), len(rows), np.int64)
    places[by_zone[np.lexsort((by_zone[begin], turns - begin))]] = turns
    return places
