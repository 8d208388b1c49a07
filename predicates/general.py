"""GeneralPredicates: PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector in one."""

from __future__ import annotations

from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching_1_4 import selects_nodes_1_4
from clusterstate.selectors.node_selection import selects_nodes
from clusterstate.snapshot import Snapshot
from predicates.node_identity import (
    names_a_node,
    pod_fits_host,
    pod_fits_host_1_4,
    pod_match_node_selector,
    pod_match_node_selector_1_4,
)
from predicates.ports import (
    host_port_numbers,
    pod_fits_host_ports,
    pod_fits_host_ports_1_4,
    wants_host_ports,
    wants_none,
)
from predicates.resources import pod_fits_resources, pod_fits_resources_1_4
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


def general_predicates_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """All four as they are in 1.4. Upstream: 1.4 GeneralPredicates."""
    verdict = dict(pod_fits_resources_1_4(pod, snapshot))
    if names_a_node(pod):
        verdict |= pod_fits_host_1_4(pod, snapshot)
    if host_port_numbers(pod.spec):
        verdict |= pod_fits_host_ports_1_4(pod, snapshot)
    if selects_nodes_1_4(pod):
        verdict |= pod_match_node_selector_1_4(pod, snapshot)
    return verdict


def _make_general_predicates(args: PredicateArgs) -> FitPredicate:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return general_predicates(pod, snapshot, args.ignored_resources)

    return FitPredicate("GeneralPredicates", check, alone=wants_none)


def _make_general_predicates_1_4(_: PredicateArgs) -> FitPredicate:
    return FitPredicate("GeneralPredicates", general_predicates_1_4)


GENERAL: dict[str, FitPredicateFactory] = {"GeneralPredicates": _make_general_predicates}
GENERAL_1_4: dict[str, FitPredicateFactory] = {"GeneralPredicates": _make_general_predicates_1_4}
