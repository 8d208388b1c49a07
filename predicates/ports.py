"""PodFitsHostPorts: the host ports a pod wants are free."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import Mask
from clusterstate.objects import Container, PodSpec
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from predicates.refusal_evidence import Conflict, Explain, InUse, Refusal, pods_there, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, PredicateArgs, Verdict

PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
PORTS_TAKEN_1_4 = "PodFitsHostPorts"
ANY_IP = "0.0.0.0"

HostPort = tuple[str, str, int]
"""(host IP, protocol, host port), defaults filled in."""


PortsOf = Callable[[PodSpec], frozenset[HostPort]]


@lru_cache(maxsize=8192)
def host_ports(spec: PodSpec) -> frozenset[HostPort]:
    """The host ports of the ordinary containers; no IP means 0.0.0.0, no protocol TCP."""
    return _host_ports(spec.containers)


def _host_ports(containers: Iterable[Container]) -> frozenset[HostPort]:
    return frozenset(
        (port.host_ip or ANY_IP, port.protocol or "TCP", port.host_port)
        for container in containers
        for port in container.ports
        if port.host_port > 0
    )


def conflicts(one: HostPort, other: HostPort) -> bool:
    """Same protocol and port, and IPs that are equal as written or one of them 0.0.0.0."""
    return one[1:] == other[1:] and (one[0] == other[0] or ANY_IP in (one[0], other[0]))


def wants_host_ports(pod: PodInfo) -> bool:
    """Whether a container asks for a host port."""
    return bool(host_ports(pod.spec))


def pod_fits_host_ports(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a pod holds a host port that conflicts with a wanted one.

    Upstream: 1.16 PodFitsHostPorts and 1.20 NodePorts.
    """
    return _fits("PodFitsHostPorts", host_ports, pod, snapshot)


def _fits(rule: str, ports_of: PortsOf, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    wanted = ports_of(pod.spec)
    if not wanted:
        return PASS

    def in_the_way(info: PodInfo) -> frozenset[HostPort]:
        return frozenset(held for held in ports_of(info.spec) if any(conflicts(held, want) for want in wanted))

    def weight(info: PodInfo) -> int:
        return len(in_the_way(info))

    tally = snapshot.tally((rule, wanted), None, weight)
    taken: Mask = snapshot.counts(tally) > 0
    freed = {change.row for change in snapshot.changes if change.sign < 0 and weight(change.info)}
    for row in freed:
        taken[snapshot.row_numbers == row] = _still_taken(row, in_the_way, snapshot)
    return {PORTS_TAKEN: taken}


def _still_taken(row: int, in_the_way: Callable[[PodInfo], frozenset[HostPort]], snapshot: Snapshot) -> bool:
    """Whether a conflicting port is held on a row that pods were hypothetically removed from.

    The ports of a node are a set: a pod that goes frees its ports even where another pod holds the same ones,
    until one is added again. So the changes count in their order.
    """
    held: set[HostPort] = set()
    for pod in snapshot.pods_on(row):
        held |= in_the_way(snapshot.info(pod))
    changes: list[PodChange] = [change for change in snapshot.changes if change.row == row]
    for change in changes:
        ports = in_the_way(change.info)
        held = held | ports if change.sign > 0 else held - ports
    return bool(held)


def wants_none(pod: PodInfo, _: Snapshot) -> bool:
    """Whether freed ports do not matter to the pod: the order in which they are freed would."""
    return not wants_host_ports(pod)


# --- 1.4 -----------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def host_port_numbers(spec: PodSpec) -> frozenset[int]:
    """The host ports of the ordinary containers as bare numbers."""
    return frozenset(p.host_port for container in spec.containers for p in container.ports if p.host_port)


def wants_host_port_numbers(pod: PodInfo) -> bool:
    """Whether a container asks for a host port other than 0."""
    return bool(host_port_numbers(pod.spec))


def pod_fits_host_ports_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a pod holds a wanted port, whatever IP and protocol are. Upstream: 1.4 PodFitsHostPorts."""
    wanted = host_port_numbers(pod.spec)
    if not wanted:
        return PASS

    def weight(info: PodInfo) -> int:
        return len(host_port_numbers(info.spec) & wanted)

    tally = snapshot.tally(("PodFitsHostPorts 1.4", wanted), None, weight)
    return {PORTS_TAKEN_1_4: snapshot.counts(tally) > 0}


# --- 1.36 ----------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def host_ports_1_36(spec: PodSpec) -> frozenset[HostPort]:
    """The host ports of the ordinary containers and of the init containers that are always restarted."""
    return _host_ports((*spec.containers, *(c for c in spec.init_containers if c.restart_policy == "Always")))


def wants_host_ports_1_36(pod: PodInfo) -> bool:
    """Whether a container or sidecar asks for a host port."""
    return bool(host_ports_1_36(pod.spec))


def pod_fits_host_ports_1_36(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule over the ports of sidecars too. Upstream: 1.36 NodePorts."""
    return _fits("NodePorts 1.36", host_ports_1_36, pod, snapshot)


def wants_none_1_36(pod: PodInfo, _: Snapshot) -> bool:
    """As ``wants_none``."""
    return not wants_host_ports_1_36(pod)


# --- evidence ------------------------------------------------------------------------------


def explain_ports(ports_of: PortsOf) -> Explain:
    """By wanted port the pods that hold one in its way."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        def holders(want: HostPort) -> tuple[str, ...]:
            return pods_there(snapshot, lambda info: any(conflicts(held, want) for held in ports_of(info.spec)))

        wanted = sorted(ports_of(pod.spec), key=lambda port: port[2])
        return Conflict(tuple(InUse(f"host port {port_text(port)}", "held", holders(port)) for port in wanted))

    return explain


def explain_ports_1_4(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By wanted port number the pods that hold it."""

    def holders(port: int) -> tuple[str, ...]:
        return pods_there(snapshot, lambda info: port in host_port_numbers(info.spec))

    wanted = sorted(host_port_numbers(pod.spec))
    return Conflict(tuple(InUse(f"host port {port}", "held", holders(port)) for port in wanted))


def port_text(port: HostPort) -> str:
    """``TCP 80``, and the address if it is not every one."""
    address, protocol, number = port
    return f"{protocol} {number}" if address == ANY_IP else f"{protocol} {address}:{number}"


# --- maps ----------------------------------------------------------------------------------


def _named(name: str) -> FitPredicate:
    return FitPredicate(
        name,
        pod_fits_host_ports,
        Footprint(Reads.PODS, pod_key=spec_alone, row_local=wants_none),
        wants_host_ports,
        evidence=predicate_evidence(name, explain_ports(host_ports)),
    )


def make_pod_fits_host_ports(_: PredicateArgs) -> FitPredicate:
    """Fails where a pod on the node holds a host port that this pod wants: same protocol, same port, and the same host
    IP or one of the two `0.0.0.0`. Init containers do not count.

    Upstream: 1.16 PodFitsHostPorts.
    """
    return _named("PodFitsHostPorts")


def make_pod_fits_ports(_: PredicateArgs) -> FitPredicate:
    """An old name of PodFitsHostPorts. 1.16 accepts it in a policy and never runs it.

    Upstream: 1.16 defaults.go, registered for backwards compatibility and missing in the ordering.
    """
    return _named("PodFitsPorts")


PORTS: dict[str, FitPredicateFactory] = {
    "PodFitsHostPorts": make_pod_fits_host_ports,
    "PodFitsPorts": make_pod_fits_ports,
}


def _named_1_4(name: str) -> FitPredicate:
    return FitPredicate(
        name,
        pod_fits_host_ports_1_4,
        Footprint(Reads.PODS, pod_key=spec_alone),
        wants_host_port_numbers,
        evidence=predicate_evidence(name, explain_ports_1_4),
    )


def make_pod_fits_host_ports_1_4(_: PredicateArgs) -> FitPredicate:
    """The port number decides, whatever IP and protocol are.

    Upstream: 1.4 PodFitsHostPorts.
    """
    return _named_1_4("PodFitsHostPorts")


def make_pod_fits_ports_1_4(_: PredicateArgs) -> FitPredicate:
    """PodFitsHostPorts under an old name; 1.4 runs it where a policy asks for it.

    Upstream: 1.4 defaults.go, registered for backwards compatibility.
    """
    return _named_1_4("PodFitsPorts")


PORTS_1_4: dict[str, FitPredicateFactory] = {
    "PodFitsHostPorts": make_pod_fits_host_ports_1_4,
    "PodFitsPorts": make_pod_fits_ports_1_4,
}
