"""Small clusters for tests, straight from objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import KEPT, ClusterObjects
from clusterstate.columns import Columns
from clusterstate.objects import (
    Container,
    FrozenMap,
    Labels,
    Node,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    ResourceList,
)
from clusterstate.podinfo import PodInfo, ReleaseView
from clusterstate.snapshot import Snapshot
from kubescheduler.releases import v1_4, v1_16


def labels(pairs: Mapping[str, str] | None = None) -> Labels:
    return FrozenMap(pairs or {})


def resources(**amounts: int) -> ResourceList:
    """cpu in millicores, memory and others in whole units; ``_`` in names stands for ``-``."""
    return FrozenMap({k.replace("_", "-"): v if k == "cpu" else v * 1000 for k, v in amounts.items()})


def make_node(
    name: str, label: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None, **fields: Any
) -> Node:
    """A node with cpu 4, memory 8 GiB and 110 pods unless ``allocatable`` says otherwise."""
    fields.setdefault("allocatable", resources(cpu=4000, memory=8 << 30, pods=110))
    return Node(ObjectMeta(name, labels=labels(label), annotations=labels(annotations)), **fields)


def make_pod(
    name: str = "p",
    label: Mapping[str, str] | None = None,
    *,
    namespace: str = "default",
    node: str = "",
    requests: ResourceList | None = None,
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
    owners: tuple[OwnerReference, ...] = (),
    nominated: str = "",
    **spec: Any,
) -> Pod:
    """A pod of one container; ``spec`` are fields of PodSpec."""
    spec.setdefault("containers", (Container("c", requests=requests or FrozenMap()),))
    meta = ObjectMeta(
        name,
        namespace,
        uid=f"{namespace}/{name}",
        labels=labels(label),
        annotations=labels(annotations),
        owner_references=owners,
        deletion_timestamp="2020-01-01T00:00:00Z" if deleting else None,
    )
    return Pod(meta, PodSpec(**spec), node_name=node, nominated_node_name=nominated)


def pods_on(**counts: int) -> list[Pod]:
    """So many pods with the label app=x on each node."""
    label = {"app": "x"}
    return [make_pod(f"{node}-{i}", label, node=node) for node, count in counts.items() for i in range(count)]


class Cluster:
    """Columns filled with nodes, running pods (their node_name says where) and other objects."""

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        pods: Iterable[Pod] = (),
        others: Iterable[Any] = (),
        view: ReleaseView = v1_16.VIEW,
    ) -> None:
        self.columns = Columns(view)
        self.objects = ClusterObjects()
        for node in nodes:
            self.columns.put_node(self.columns.row(node.name), node)
        for pod in pods:
            self.columns.put_pod(self.columns.row(pod.node_name), pod, pod.metadata.uid)
        for other in others:
            self.columns.log.whole(self.objects.put(other))

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.columns, self.objects)

    def info(self, pod: Pod) -> PodInfo:
        return self.columns.info(pod)


def cache_of(objects: Iterable[Any] = (), view: ReleaseView = v1_16.VIEW) -> ClusterCache:
    """A cache of these objects, by default as release 1.16 sees them."""
    return ClusterCache.of(objects, view)


def cluster_1_4(nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), others: Iterable[Any] = ()) -> Cluster:
    """The same as release 1.4 sees it."""
    return Cluster(nodes, pods, others, v1_4.VIEW)


def kept_objects(cache: ClusterCache) -> list[Any]:
    """The objects of a cluster that are neither nodes nor pods, each kind in order of arrival."""
    return [obj for table, _ in KEPT.values() for obj in getattr(cache.objects, table).values()]


def names_where(snapshot: Snapshot, mask: Any) -> list[str]:
    """The names of the rows where a mask is True."""
    return [name for name, hit in zip(snapshot.names, mask, strict=True) if hit]
