"""What the choices of one column do to the cluster: utilisation, packing, spread, evictions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from clusterstate.cache import ClusterCache
from clusterstate.node_order import STABLE_ZONE, ZONE
from clusterstate.objects import ClusterObject, Pod
from clusterstate.podinfo import ReleaseView
from clusterstate.selectors.matching import compile_map
from clusterstate.selectors.pod_owners import is_daemon_pod
from clusterstate.usage import CPU, MEMORY

NOT_SHOWN = frozenset({"pods", "ephemeral-storage"})
"""Resources that are left out as long as only cpu, memory and what pods ask for besides is of interest."""


class Utilisation(msgspec.Struct, frozen=True):
    """Requested by allocatable of one resource over the nodes that have any; 1.0 is full."""

    resource: str
    mean: float
    least: float
    most: float
    deviation: float


class NodeUse(msgspec.Struct, frozen=True):
    """How full a node is."""

    name: str
    zone: str
    pods: int
    """How many pods run there, without those of DaemonSets and static ones."""
    used: Mapping[str, float]
    """Resource → the share of allocatable that is requested by all pods, for the resources that the node has."""


class ServiceSpread(msgspec.Struct, frozen=True):
    """The pods of one service (``namespace/name``)."""

    service: str
    pods: int
    zones: Mapping[str, int]
    """Zone → its pods, for every zone of the cluster."""
    zone_skew: int
    """The most minus the fewest pods of a zone."""
    hosts: int
    """How many nodes have some of the pods."""
    host_skew: int
    """The most minus the fewest pods of a node."""


class Effects(msgspec.Struct, frozen=True):
    """The cluster with the pods where one column puts them.

    In the mode ``independent`` every pod is put, beside all others, where it goes on its own: a node may come out more
    than full.
    """

    placed: int
    """How many of the compared pods have a node."""
    unplaced: int
    """How many of them have none."""
    nodes: tuple[NodeUse, ...]
    utilisation: tuple[Utilisation, ...]
    fullest_half: float
    """The share of the pods that is on the fuller half of the nodes, without those of DaemonSets and static ones."""
    spread: tuple[ServiceSpread, ...]
    """The services that have pods."""
    evicted: int = 0
    """How many pods preemption evicts."""
    daemons: int = 0
    """How many pods of DaemonSets and static pods run. A node that has no others is not used: they come with it."""

    @property
    def nodes_used(self) -> int:
        """How many nodes have pods other than those of DaemonSets and static ones."""
        return sum(1 for node in self.nodes if node.pods)

    @property
    def nodes_empty(self) -> int:
        """How many nodes have none."""
        return len(self.nodes) - self.nodes_used


def effects(
    objects: Iterable[ClusterObject],
    pods: Sequence[Pod],
    hosts: Sequence[str | None],
    evicted: Sequence[Pod],
    view: ReleaseView,
    *,
    leave: bool,
) -> Effects:
    """The cluster with the pods in place.

    hosts: of ``pods``, in their order. leave: the ``evicted`` are gone; else they are counted. view: by which
    amounts are counted, the same for every column.
    """
    gone = {pod.metadata.uid for pod in evicted} if leave else set()
    kept = [obj for obj in objects if not isinstance(obj, Pod) or obj.metadata.uid not in gone]
    cache = ClusterCache.of(kept, view)
    placed = 0
    for pod, host in zip(pods, hosts, strict=True):
        if host is not None and pod.metadata.uid not in gone:
            cache.assume_pod(pod, host)
            placed += 1
    found = cluster_effects(cache)
    return msgspec.structs.replace(found, placed=placed, unplaced=len(pods) - placed, evicted=len(evicted))


def cluster_effects(cache: ClusterCache) -> Effects:
    """The cluster as it is."""
    there = [node for node in cache.columns.nodes if node is not None]
    rows = [cache.columns.row_of[node.name] for node in there]
    shares = _shares(cache, rows)
    pods = cache.pods()
    daemons = [pod for pod in pods if is_daemon_pod(pod)]
    counts = Counter(pod.node_name for pod in pods)
    counts.subtract(pod.node_name for pod in daemons)
    labels = ((node.name, node.metadata.labels) for node in there)
    zones = {name: label.get(STABLE_ZONE) or label.get(ZONE, "") for name, label in labels}
    nodes = [
        NodeUse(node.name, zones[node.name], counts[node.name], used)
        for node, used in zip(there, _by_node(shares, len(there)), strict=True)
    ]
    return Effects(
        placed=0,
        unplaced=0,
        nodes=tuple(sorted(nodes, key=lambda node: node.name.encode())),
        utilisation=tuple(filter(None, (_utilisation(name, values) for name, values in shares.items()))),
        fullest_half=_fullest_half(shares, [counts[node.name] for node in there]),
        spread=tuple(_spread(cache, zones)),
        daemons=len(daemons),
    )


# --- utilisation ---------------------------------------------------------------------------

Shares = dict[str, NDArray[np.float64]]
"""Resource → (n,) requested by allocatable, NaN where a node has none."""


def _shares(cache: ClusterCache, rows: list[int]) -> Shares:
    """Of cpu, memory and all that some pod asks for."""
    snapshot = cache.snapshot()
    asked = {name for pod in cache.pods() for name in cache.info(pod).usage.used}
    out: Shares = {}
    for name in (CPU, MEMORY, *sorted(asked - {CPU, MEMORY} - NOT_SHOWN)):
        index = snapshot.resource(name)
        if index is None:
            continue
        requested, allocatable = snapshot.requested[index][rows], snapshot.allocatable[index][rows]
        out[name] = np.where(allocatable > 0, requested / np.maximum(allocatable, 1), np.nan)
    return out


def _by_node(shares: Shares, nodes: int) -> list[dict[str, float]]:
    """Of each node the shares of what it has."""
    return [
        {name: round(float(values[at]), 6) for name, values in shares.items() if not np.isnan(values[at])}
        for at in range(nodes)
    ]


def _utilisation(name: str, values: NDArray[np.float64]) -> Utilisation | None:
    there = values[~np.isnan(values)]
    if not len(there):
        return None
    each = there.tolist()
    mean = math.fsum(each) / len(each)  # exactly, so that every machine comes to the same digits
    deviation = math.sqrt(math.fsum((share - mean) ** 2 for share in each) / len(each))
    return Utilisation(name, *(round(number, 6) for number in (mean, min(each), max(each), deviation)))


def _fullest_half(shares: Shares, counts: Sequence[int]) -> float:
    """Nodes are ordered by the mean of their shares of cpu and memory."""
    total = sum(counts)
    if not total:
        return 0.0
    zero = np.zeros(len(counts))
    fullness = sum((np.nan_to_num(shares.get(name, zero)) for name in (CPU, MEMORY)), zero)
    order = np.argsort(-fullness, kind="stable")[: (len(counts) + 1) // 2]
    inside: int = sum(counts[at] for at in order.tolist())
    return round(inside / total, 6)


# --- spread --------------------------------------------------------------------------------


def _spread(cache: ClusterCache, zones: Mapping[str, str]) -> Iterator[ServiceSpread]:
    """Every service with pods, by name. Pods that are equal in namespace and labels are matched once."""
    kinds: dict[str, dict[object, Counter[str]]] = {}
    for pod in cache.pods():
        hosts = kinds.setdefault(pod.metadata.namespace, {}).setdefault(pod.metadata.labels, Counter())
        hosts[pod.node_name] += 1
    for (namespace, name), service in sorted(cache.objects.services.items()):
        if not service.selector:
            continue
        matches = compile_map(service.selector)
        hosts = Counter()
        for labels, found in kinds.get(namespace, {}).items():
            if matches(labels):  # type: ignore[arg-type]
                hosts.update(found)
        if hosts:
            yield _service(f"{namespace}/{name}", hosts, zones)


def _service(name: str, hosts: Counter[str], zones: Mapping[str, str]) -> ServiceSpread:
    per_zone = Counter(dict.fromkeys(sorted(set(zones.values())), 0))
    for host, count in hosts.items():
        per_zone[zones.get(host, "")] += count
    per_host = [hosts[node] for node in zones]
    return ServiceSpread(
        service=name,
        pods=sum(hosts.values()),
        zones=dict(per_zone),
        zone_skew=max(per_zone.values()) - min(per_zone.values()),
        hosts=len(hosts),
        host_skew=max(per_host, default=0) - min(per_host, default=0),
    )
