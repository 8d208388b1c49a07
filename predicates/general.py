"""GeneralPredicates: PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector in one."""

from __future__ import annotations

from clusterstate.podinfo import PodInfo
from clusterstate.selection import selects_nodes
from clusterstate.snapshot import Snapshot
from predicates.node_identity import names_a_node, pod_fits_host, pod_match_node_selector
from predicates.ports import pod_fits_host_ports, wants_host_ports
from predicates.resources import pod_fits_resources
from predicates.types import FitPredicate, FitPredicateFactory, PredicateArgs, Verdict


def general_predicates(pod: PodInfo, snapshot: Snapshot, ignored: frozenset[str] = frozenset()) -> Verdict:
    """All four, each of them run whatever the others say. Upstream: 1.16 GeneralPredicates.

    ignored: extended resources that are not counted here.
    """
    verdict = dict(pod_fits_resources(pod, snapshot, ignored))
    if names_a_node(pod):
        verdict |= pod_fits_host(pod, snapshot)
    if wants_host_ports(pod):
        verdict |= pod_fits_host_ports(pod, snapshot)
    if selects_nodes(pod):
        verdict |= pod_match_node_selector(pod, snapshot)
    return verdict


def _make_general_predicates(args: PredicateArgs) -> FitPredicate:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return general_predicates(pod, snapshot, args.ignored_resources)

    return FitPredicate("GeneralPredicates", check)


GENERAL: dict[str, FitPredicateFactory] = {"GeneralPredicates": _make_general_predicates}
