"""HostName and MatchNodeSelector: the nodes that a pod names or selects."""

from __future__ import annotations

from collections.abc import Callable

from clusterstate.changes import Reads
from clusterstate.podinfo import PodInfo
from clusterstate.selection import named_mask, pod_matches_nodes, selects_nodes
from clusterstate.snapshot import Snapshot
from predicates.types import PASS, FitPredicate, FitPredicateFactory, PredicateArgs, Verdict

WRONG_HOST = "node(s) didn't match the requested hostname"
NOT_SELECTED = "node(s) didn't match node selector"


def names_a_node(pod: PodInfo) -> bool:
    return pod.node_name != ""


def pod_fits_host(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """A pod that names a node fits that node only; names count, not hostname labels. Upstream: 1.16 PodFitsHost."""
    if not names_a_node(pod):
        return PASS
    return {WRONG_HOST: ~named_mask(snapshot, pod.node_name)}


def pod_match_node_selector(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The nodeSelector and the required node affinity both pick the node. Upstream: 1.16 PodMatchNodeSelector."""
    if not selects_nodes(pod):
        return PASS
    return {NOT_SELECTED: ~pod_matches_nodes(pod, snapshot)}


def _of_node(
    name: str, check: Callable[[PodInfo, Snapshot], Verdict], applies: Callable[[PodInfo], bool]
) -> FitPredicateFactory:
    def make(_: PredicateArgs) -> FitPredicate:
        return FitPredicate(name, check, Reads.NODE, applies)

    return make


NODE_IDENTITY: dict[str, FitPredicateFactory] = {
    "HostName": _of_node("HostName", pod_fits_host, names_a_node),
    "MatchNodeSelector": _of_node("MatchNodeSelector", pod_match_node_selector, selects_nodes),
}
