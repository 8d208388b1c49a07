"""PodFitsResources and NodeResourcesFit: everything a pod asks for is still free, and one more pod may run;
GeneralPredicates: that, and the node's name, its labels and its ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec
import numpy as np

from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import selects_nodes_1_4
from clusterstate.selectors.node_selection import selects_nodes
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY, NVIDIA_GPU, PODS, RESTARTABLE, is_extended_resource
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
from predicates.refusal_evidence import Explain, Need, Refusal, Shortage, Unmet, predicate_evidence
from predicates.taints import pod_tolerates_node_no_schedule_taints
from predicates.types import GO_ON, FitPredicate, FitPredicateFactory, PredicateArgs, PreFiltered, Verdict

ALWAYS_CHECKED = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""The first three of the resource axis, in its order."""


def insufficient(resource: str) -> str:
    """The reason for too little of a resource."""
    return f"Insufficient {resource}"


TOO_MANY_PODS = insufficient(PODS)
ALWAYS_INSUFFICIENT = tuple(insufficient(name) for name in ALWAYS_CHECKED)


def pod_fits_resources(pod: PodInfo, snapshot: Snapshot, ignored: frozenset[str] = frozenset()) -> Verdict:
    """Fails per resource where allocatable < request + requested, all of them reported.

    A pod that asks for nothing at all is only counted; one that asks for anything is tested on cpu, memory
    and ephemeral-storage too. Upstream: 1.16 PodFitsResources.

    ignored: extended resources that are not counted here.
    """
    return {TOO_MANY_PODS: _full(snapshot), **_short_with_any(pod, snapshot, Ignored(ignored))}


def pod_fits_resources_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails per resource where allocatable < request + requested: cpu, memory and GPUs, all of them reported.

    A pod that asks for nothing at all is only counted. Upstream: 1.4 PodFitsResources.
    """
    verdict: Verdict = {TOO_MANY_PODS: _full(snapshot)}
    request = pod.usage.request
    if not any(request.values()):
        return verdict
    allocatable, requested = snapshot.allocatable, snapshot.requested
    for index, name in enumerate((CPU, MEMORY)):
        verdict[insufficient(name)] = allocatable[index] < requested[index] + request.get(name, 0)
    gpus, asked = snapshot.resource(NVIDIA_GPU), request.get(NVIDIA_GPU, 0)
    if gpus is None:
        verdict[insufficient(NVIDIA_GPU)] = _nowhere(asked, len(snapshot))
    else:
        verdict[insufficient(NVIDIA_GPU)] = allocatable[gpus] < requested[gpus] + asked
    return verdict


def _full(snapshot: Snapshot) -> Mask:
    full: Mask = snapshot.pod_count + 1 > snapshot.allowed_pods
    return full


def _short_with_any(pod: PodInfo, snapshot: Snapshot, ignored: Ignored) -> Verdict:
    """Where a resource falls short for a pod that asks for any; nothing for one that asks for none."""
    request = pod.usage.request
    always = [request.get(name, 0) for name in ALWAYS_CHECKED]
    scalars = [name for name in request if name not in ALWAYS_CHECKED]
    if not scalars and not any(always):
        return {}
    allocatable, requested = snapshot.allocatable, snapshot.requested
    short = allocatable[:3] < requested[:3] + np.array(always, np.int64)[:, None]
    verdict: Verdict = dict(zip(ALWAYS_INSUFFICIENT, short, strict=True))
    for name in scalars:
        if ignored.covers(name):
            continue
        index, amount = snapshot.resource(name), request[name]
        if index is None:
            verdict[insufficient(name)] = _nowhere(amount, len(snapshot))
        else:
            verdict[insufficient(name)] = allocatable[index] < requested[index] + amount
    return verdict


def _nowhere(amount: int, size: int) -> Mask:
    """A resource that no node has: 0 < 0 + amount."""
    return np.full(size, amount > 0)


# --- framework releases --------------------------------------------------------------------

TOO_MANY = "Too many pods"


class Ignored(msgspec.Struct, frozen=True):
    """Extended resources that are not counted: by full name, or by what stands before the first ``/``."""

    resources: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    def covers(self, name: str) -> bool:
        """Whether the resource is extended and ignored by name or group."""
        if not self.resources and not self.groups:
            return False
        return (name in self.resources or name.partition("/")[0] in self.groups) and is_extended_resource(name)


NOTHING_IGNORED = Ignored()

Backed = Callable[[Snapshot, str], bool]
"""Whether a DeviceClass provides a resource (1.36, gate DRAExtendedResource)."""


def by_no_class(_: Snapshot, __: str) -> bool:
    """No DeviceClass provides the resource."""
    return False


def node_resources_fit_1_20(pod: PodInfo, snapshot: Snapshot, ignored: Ignored = NOTHING_IGNORED) -> Verdict:
    """As ``pod_fits_resources``, with init containers and overhead counted on nodes too.

    Upstream: 1.20 NodeResourcesFit.
    """
    return {TOO_MANY: _full(snapshot), **_short_with_any(pod, snapshot, ignored)}


def node_resources_fit_1_26(pod: PodInfo, snapshot: Snapshot, ignored: Ignored = NOTHING_IGNORED) -> Verdict:
    """As in 1.20, but scalar resources that are asked for with 0 are not tested. Upstream: 1.26 NodeResourcesFit."""
    verdict = node_resources_fit_1_20(pod, snapshot, ignored)
    unasked = {insufficient(name) for name, value in pod.usage.request.items() if not value} - {*ALWAYS_INSUFFICIENT}
    return {reason: mask for reason, mask in verdict.items() if reason not in unasked}


SIDECARS_ARE_OFF = "Pod has a restartable init container and the SidecarContainers feature is disabled"


def has_sidecars(pod: PodInfo) -> bool:
    """Whether an init container of the pod is always restarted."""
    return any(container.restart_policy == RESTARTABLE for container in pod.spec.init_containers)


def explain_sidecars(otherwise: Explain, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """Which init containers are always restarted; ``otherwise`` explains all other reasons."""
    if reason != SIDECARS_ARE_OFF:
        return otherwise(pod, snapshot, reason)
    names = ", ".join(c.name for c in pod.spec.init_containers if c.restart_policy == RESTARTABLE)
    wanted = "no init container with restartPolicy Always, as the feature gate SidecarContainers is off"
    return Unmet((Need(wanted, names, not has_sidecars(pod)),))


def sidecars_refused(pod: PodInfo, _: Snapshot) -> PreFiltered:
    """Refuses pods with sidecars. Upstream: 1.30 NodeResourcesFit.PreFilter without feature gate SidecarContainers."""
    return PreFiltered(reasons=(SIDECARS_ARE_OFF,)) if has_sidecars(pod) else GO_ON


def node_resources_fit_1_36(
    pod: PodInfo, snapshot: Snapshot, ignored: Ignored = NOTHING_IGNORED, backed: Backed = by_no_class
) -> Verdict:
    """Fails per resource that is asked for where request > allocatable - requested, all of them reported.

    A scalar resource that a node has none of is passed over where a DeviceClass provides it (``backed``).
    Upstream: 1.36 NodeResourcesFit.
    """
    verdict: Verdict = {TOO_MANY: _full(snapshot)}
    for name, short, _ in _short_1_36(pod, snapshot, ignored, backed):
        verdict[insufficient(name)] = short
    return verdict


def beyond_allocatable_1_36(
    pod: PodInfo, snapshot: Snapshot, ignored: Ignored = NOTHING_IGNORED, backed: Backed = by_no_class
) -> Mask:
    """(n,) bool, rows that fall short of a resource of which the pod asks for more than is allocatable at all."""
    beyond = np.zeros(len(snapshot), np.bool_)
    for name, short, allocatable in _short_1_36(pod, snapshot, ignored, backed):
        beyond |= short & (allocatable < pod.usage.request[name])
    return beyond


def _short_1_36(
    pod: PodInfo, snapshot: Snapshot, ignored: Ignored, backed: Backed
) -> Iterator[tuple[str, Mask, IntArray]]:
    """(resource, (n,) where it falls short, (n,) allocatable), cpu, memory and ephemeral-storage first."""
    request = pod.usage.request
    asked = [name for name in ALWAYS_CHECKED if request.get(name, 0) > 0]
    asked += [name for name, value in request.items() if value and name not in ALWAYS_CHECKED]
    if not asked:
        return
    allocatable, requested = snapshot.allocatable, snapshot.requested
    for name in asked:
        if ignored.covers(name):
            continue
        index = snapshot.resource(name)
        if index is None:
            yield name, _nowhere(request[name], len(snapshot)), np.zeros(len(snapshot), np.int64)
            continue
        short = allocatable[index] - requested[index] < request[name]
        if name not in ALWAYS_CHECKED and backed(snapshot, name):
            short &= allocatable[index] > 0
        yield name, short, allocatable[index]


# --- evidence ------------------------------------------------------------------------------


def explain_shortage(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """What is asked for, used and allocatable of the resource that a reason names."""
    if reason in (TOO_MANY_PODS, TOO_MANY):
        return Shortage(PODS, 1, int(snapshot.pod_count[0]), int(snapshot.allowed_pods[0]))
    name = reason.removeprefix(insufficient(""))
    index, asked = snapshot.resource(name), pod.usage.request.get(name, 0)
    if index is None:
        return Shortage(name, asked, 0, 0)
    return Shortage(name, asked, int(snapshot.requested[index, 0]), int(snapshot.allocatable[index, 0]))


def explain_shortage_1_36(backed: Backed, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The same; a resource that a node has none of may be one that a DeviceClass provides."""
    shortage = explain_shortage(pod, snapshot, reason)
    assert isinstance(shortage, Shortage)
    known = shortage.resource not in ALWAYS_CHECKED and snapshot.resource(shortage.resource) is not None
    return msgspec.structs.replace(shortage, provided_by_class=known and backed(snapshot, shortage.resource))


EVIDENCE = predicate_evidence("PodFitsResources", explain_shortage)


def make_pod_fits_resources(args: PredicateArgs) -> FitPredicate:
    """Fails where the node already runs as many pods as it allows, or where allocatable < requested + asked for. A pod
    asks for the sum of its containers or for its largest init container, whichever is more. Once a pod asks for
    anything at all, cpu, memory and ephemeral-storage are all tested, also those it does not ask for. Extended
    resources that an extender manages with `ignoredByScheduler` are not tested.

    Upstream: 1.16 PodFitsResources.
    """

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return pod_fits_resources(pod, snapshot, args.ignored_resources)

    return FitPredicate(
        "PodFitsResources",
        check,
        Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=EVIDENCE,
    )


def make_pod_fits_resources_1_4(_: PredicateArgs) -> FitPredicate:
    """Cpu, memory and GPUs (`alpha.kubernetes.io/nvidia-gpu`) are all that is tested.

    Upstream: 1.4 PodFitsResources.
    """
    rule = pod_fits_resources_1_4
    return FitPredicate(
        "PodFitsResources", rule, Footprint(pod_key=spec_alone, equal_for_equal_usage=True), evidence=EVIDENCE
    )


RESOURCES: dict[str, FitPredicateFactory] = {"PodFitsResources": make_pod_fits_resources}
RESOURCES_1_4: dict[str, FitPredicateFactory] = {"PodFitsResources": make_pod_fits_resources_1_4}


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


GENERAL_EVIDENCE = predicate_evidence(
    "GeneralPredicates",
    _explain({WRONG_HOST: explain_host, PORTS_TAKEN: explain_ports(host_ports), NOT_SELECTED: explain_selection}),
)
GENERAL_EVIDENCE_1_4 = predicate_evidence(
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
        evidence=GENERAL_EVIDENCE,
    )


def make_general_predicates_1_4(_: PredicateArgs) -> FitPredicate:
    """The parts as they are in 1.4; all four are always run.

    Upstream: 1.4 GeneralPredicates.
    """
    return FitPredicate(
        "GeneralPredicates",
        general_predicates_1_4,
        Footprint(pod_key=spec_alone, equal_for_equal_usage=wants_resources_alone_1_4),
        evidence=GENERAL_EVIDENCE_1_4,
    )


GENERAL: dict[str, FitPredicateFactory] = {"GeneralPredicates": make_general_predicates}
GENERAL_1_4: dict[str, FitPredicateFactory] = {"GeneralPredicates": make_general_predicates_1_4}
