"""GeneralPredicates: PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from clusterstate.footprint import Footprint, spec_alone
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import selects_nodes_1_4
from clusterstate.selectors.node_selection import selects_nodes
from clusterstate.snapshot import Snapshot
from predicates.node_identity import (
    NOT_SELECTED,
    NOT_SELECTED_1_4,
    WRONG_HOST,
    WRONG_HOST_1_4,
    explain_host,
    explain_selection,
    explain_selection_1_4,
    names_a_node,
    pod_fits_host,
    pod_fits_host_1_4,
    pod_match_node_selector,
    pod_match_node_selector_1_4,
    pod_match_node_selector_1_20,
)
from predicates.ports import (
    PORTS_TAKEN,
    PORTS_TAKEN_1_4,
    explain_ports,
    explain_ports_1_4,
    host_port_numbers,
    host_ports,
    pod_fits_host_ports,
    pod_fits_host_ports_1_4,
    wants_host_ports,
    wants_none,
)
from predicates.refusal_evidence import Explain, Refusal, predicate_evidence
from predicates.resources import explain_shortage, pod_fits_resources, pod_fits_resources_1_4
from predicates.taints import pod_tolerates_node_no_schedule_taints
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


def admitted(fits: Callable[[PodInfo, Snapshot], Verdict], pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether a pod that names no node passes resources, host ports, selector and NoSchedule taints on every row.

    fits: the release's check of resources. Upstream: 1.22 to 1.31 preCheckForNode and AdmissionCheck.
    """
    selected = partial(pod_match_node_selector_1_20, None)
    checks = (fits, pod_fits_host_ports, selected, pod_tolerates_node_no_schedule_taints)
    return not any(failing.any() for check in checks for failing in check(pod, snapshot).values())


def wants_resources_alone(pod: PodInfo) -> bool:
    """None of the parts looks at more than amounts for this pod."""
    return not (names_a_node(pod) or wants_host_ports(pod) or selects_nodes(pod))


def wants_resources_alone_1_4(pod: PodInfo) -> bool:
    """The same for the parts as they are in 1.4."""
    return not (names_a_node(pod) or host_port_numbers(pod.spec) or selects_nodes_1_4(pod))


def _explain(by_reason: Mapping[str, Explain]) -> Explain:
    """The facts of the part that gives a reason; all others are about resources."""

    def explain(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        return by_reason.get(reason, explain_shortage)(pod, snapshot, reason)

    return explain


EVIDENCE = predicate_evidence(
    "GeneralPredicates",
    _explain({WRONG_HOST: explain_host, PORTS_TAKEN: explain_ports(host_ports), NOT_SELECTED: explain_selection}),
)
EVIDENCE_1_4 = predicate_evidence(
    "GeneralPredicates",
    _explain(
        {
            WRONG_HOST_1_4: explain_host,
            PORTS_TAKEN_1_4: explain_ports_1_4,
            NOT_SELECTED_1_4: explain_selection_1_4,
        }
    ),
)


def make_general_predicates(args: PredicateArgs) -> FitPredicate:
    """PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector, in this order. All four are always run, so a
    node may report reasons of several of them.

    Upstream: 1.16 GeneralPredicates.
    """

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return general_predicates(pod, snapshot, args.ignored_resources)

    return FitPredicate(
        "GeneralPredicates",
        check,
        Footprint(pod_key=spec_alone, equal_for_equal_usage=wants_resources_alone, row_local=wants_none),
        evidence=EVIDENCE,
    )


def make_general_predicates_1_4(_: PredicateArgs) -> FitPredicate:
    """The parts as they are in 1.4; all four are always run.

    Upstream: 1.4 GeneralPredicates.
    """
    return FitPredicate(
        "GeneralPredicates",
        general_predicates_1_4,
        Footprint(pod_key=spec_alone, equal_for_equal_usage=wants_resources_alone_1_4),
        evidence=EVIDENCE_1_4,
    )


GENERAL: dict[str, FitPredicateFactory] = {"GeneralPredicates": make_general_predicates}
GENERAL_1_4: dict[str, FitPredicateFactory] = {"GeneralPredicates": make_general_predicates_1_4}
