"""HostName and MatchNodeSelector: the nodes that a pod names or selects."""

from __future__ import annotations

from collections.abc import Callable

from clusterstate.changes import Reads
from clusterstate.podinfo import PodInfo
from clusterstate.selection import named_mask, pod_matches_nodes, selects_nodes
from clusterstate.selectors_1_4 import pod_matches_nodes_1_4, selects_nodes_1_4
from clusterstate.snapshot import Snapshot
from predicates.types import PASS, FitPredicate, FitPredicateFactory, PredicateArgs, Verdict

WRONG_HOST = "node(s) didn't match the requested hostname"
NOT_SELECTED = "node(s) didn't match node selector"
WRONG_HOST_1_4 = "HostName"
NOT_SELECTED_1_4 = "MatchNodeSelector"


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


def pod_fits_host_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule. Upstream: 1.4 PodFitsHost."""
    return {WRONG_HOST_1_4: ~named_mask(snapshot, pod.node_name)} if names_a_node(pod) else PASS


def pod_match_node_selector_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The nodeSelector and the required node affinity both pick the node. Upstream: 1.4 PodSelectorMatches."""
    if not selects_nodes_1_4(pod):
        return PASS
    return {NOT_SELECTED_1_4: ~pod_matches_nodes_1_4(pod, snapshot)}


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

NODE_IDENTITY_1_4: dict[str, FitPredicateFactory] = {
    "HostName": _of_node("HostName", pod_fits_host_1_4, names_a_node),
    "MatchNodeSelector": _of_node("MatchNodeSelector", pod_match_node_selector_1_4, selects_nodes_1_4),
}
