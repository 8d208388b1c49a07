"""CheckServiceAffinity: pods of a service stay on nodes with the same values of some labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.objects import Labels
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import compile_map
from clusterstate.selectors.node_selection import node_selector_mask
from clusterstate.selectors.pod_owners import services_of
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_quote
from predicates.refusal_evidence import Explain, Refusal, Unmet, label_need, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

AFFINITY_VIOLATED = "node(s) didn't match service affinity"
AFFINITY_VIOLATED_1_4 = "CheckServiceAffinity"

Wanted = dict[str, str] | NodeError

READS = Reads.NODE | Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES


def check_service_affinity(labels: tuple[str, ...], pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where the node differs in ``labels`` from the pod's nodeSelector or, for what that leaves open, its peer.

    Upstream: 1.16 checkServiceAffinity. Of several peers, whose order is arbitrary there, the one on the lowest
    row counts. A peer on a node that is not known is an error.
    """
    wanted = wanted_labels(labels, pod, snapshot)
    if isinstance(wanted, NodeError):
        return {wanted: np.ones(len(snapshot), np.bool_)}
    return {AFFINITY_VIOLATED: ~node_selector_mask(snapshot, wanted)} if wanted else PASS


def wanted_labels(labels: tuple[str, ...], pod: PodInfo, snapshot: Snapshot) -> Wanted:
    """The labels that a node must have, or the error of a peer on a node that is not known."""
    wanted = {label: pod.spec.node_selector[label] for label in labels if label in pod.spec.node_selector}
    if any(label not in wanted for label in labels) and services_of(pod, snapshot):
        peer = _node_of_first_peer(pod, snapshot)
        if peer is not None:
            row = snapshot.row_of(peer)
            node = None if row is None else snapshot.node(row)
            if node is None:
                return NodeError(f"node {go_quote(peer)} not found in cache")
            theirs = node.metadata.labels
            wanted |= {label: theirs[label] for label in labels if label in theirs and label not in wanted}
    return wanted


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


def check_service_affinity_1_4(labels: tuple[str, ...], pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same with the pods of the pod's first service as its peers. Upstream: 1.4 checkServiceAffinity.

    Of several peers the one on the lowest row counts; one on a node that is not known is an error.
    """
    wanted = wanted_labels_1_4(labels, pod, snapshot)
    if isinstance(wanted, NodeError):
        return {wanted: np.ones(len(snapshot), np.bool_)}
    return {AFFINITY_VIOLATED_1_4: ~node_selector_mask(snapshot, wanted)} if wanted else PASS


def wanted_labels_1_4(labels: tuple[str, ...], pod: PodInfo, snapshot: Snapshot) -> Wanted:
    """The labels that a node must have, or the error of a peer on a node that is not known."""
    wanted = {label: pod.spec.node_selector[label] for label in labels if label in pod.spec.node_selector}
    if any(label not in wanted for label in labels) and (services := services_of(pod, snapshot)):
        row = _row_of_first_service_pod(pod, services[0].selector, snapshot)
        if row is not None:
            node = snapshot.node(row)
            if node is None:
                return NodeError(f"node '{snapshot.whole().names[row]}' not found")
            theirs = node.metadata.labels
            wanted |= {label: theirs[label] for label in labels if label in theirs and label not in wanted}
    return wanted


def _row_of_first_service_pod(pod: PodInfo, selector: Labels | None, snapshot: Snapshot) -> int | None:
    matches = compile_map(selector)

    def weight(info: PodInfo) -> int:
        return int(info.namespace == pod.namespace and matches(info.labels))

    tally = snapshot.tally(("CheckServiceAffinity 1.4", pod.namespace, selector), None, weight)
    there = snapshot.domain_sums(tally) > 0
    return int(there.argmax()) if there.any() else None


def service_affinity_factory(name: str, labels: tuple[str, ...]) -> FitPredicateFactory:
    """From a policy's `serviceAffinity` argument. The node must have the values that the pod's nodeSelector gives for
    the listed labels; for labels that it leaves open, and if the pod has a service, the values of the node of one
    running pod of the same namespace that carries all of this pod's labels.

    Upstream: 1.16 NewServiceAffinityPredicate. name: that of the policy's entry.
    """
    return _factory(name, labels, check_service_affinity, wanted_labels)


def service_affinity_factory_1_4(name: str, labels: tuple[str, ...]) -> FitPredicateFactory:
    """The peers are the pods that the pod's first service selects. Any name works.

    Upstream: 1.4 NewServiceAffinityPredicate. The arguments are those of ``service_affinity_factory``.
    """
    return _factory(name, labels, check_service_affinity_1_4, wanted_labels_1_4)


def explain_peers(wanted: Callable[[PodInfo, Snapshot], Wanted]) -> Explain:
    """The labels that the nodeSelector or the first peer's node ask for, and the node's."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        found = wanted(pod, snapshot)
        requirements = () if isinstance(found, NodeError) else compile_map(found).requirements
        return Unmet(tuple(label_need(snapshot, requirement) for requirement in requirements))

    return explain


def _factory(
    name: str,
    labels: tuple[str, ...],
    rule: Callable[[tuple[str, ...], PodInfo, Snapshot], Verdict],
    wanted: Callable[[tuple[str, ...], PodInfo, Snapshot], Wanted],
) -> FitPredicateFactory:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return rule(labels, pod, snapshot)

    def applies(_: PodInfo) -> bool:
        return bool(labels)

    def make(_: PredicateArgs) -> FitPredicate:
        return FitPredicate(
            name,
            check,
            Footprint(READS),
            applies,
            evidence=predicate_evidence("CheckServiceAffinity", explain_peers(partial(wanted, labels))),
        )

    return make
