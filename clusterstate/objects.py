"""The API objects a scheduler reads, frozen, with just the fields it reads.

Shapes follow v1 of the Kubernetes API, in snake_case. Resource amounts are exact: every list of
resources maps a name to thousandths of its unit (``clusterstate.quantity``). Values that many
objects share (label sets, pod specs) compare and hash by content, and remember their hash.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, NoReturn, TypeVar

import attrs

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class FrozenMap(dict[K, V], Generic[K, V]):
    """A mapping that never changes after it is made, and so can be a key itself."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({dict.__repr__(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenMap, (dict(self),))

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a FrozenMap cannot be changed")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse


Labels = FrozenMap[str, str]
"""Labels or annotations: key → value."""

ResourceList = FrozenMap[str, int]
"""Resource name → amount in thousandths of the unit (cpu ``100m`` is 100, memory ``1Ki`` is 1,024,000)."""

NO_LABELS: Labels = FrozenMap()
NO_RESOURCES: ResourceList = FrozenMap()


@attrs.frozen
class OwnerReference:
    kind: str
    name: str
    uid: str
    controller: bool = False
    api_version: str = ""


@attrs.frozen
class ObjectMeta:
    """Names and labels. Timestamps are the API's RFC 3339 texts."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: Labels = NO_LABELS
    annotations: Labels = NO_LABELS
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


# --- selectors -----------------------------------------------------------------------------


@attrs.frozen
class Requirement:
    """``key operator values``, as written: nothing is checked here."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@attrs.frozen(cache_hash=True)
class LabelSelector:
    match_labels: Labels = NO_LABELS
    match_expressions: tuple[Requirement, ...] = ()


@attrs.frozen
class NodeSelectorTerm:
    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


@attrs.frozen
class PreferredSchedulingTerm:
    weight: int
    preference: NodeSelectorTerm


@attrs.frozen
class NodeAffinity:
    """``required`` is None when absent; an empty tuple is a present selector without terms."""

    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()


@attrs.frozen(cache_hash=True)
class PodAffinityTerm:
    """``namespaces`` is None when absent; ``namespace_selector`` is read by 1.36 only."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


@attrs.frozen
class WeightedPodAffinityTerm:
    weight: int
    term: PodAffinityTerm


@attrs.frozen
class PodAffinity:
    """Pod affinity or pod anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()


@attrs.frozen(cache_hash=True)
class Affinity:
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


@attrs.frozen
class Taint:
    key: str
    value: str = ""
    effect: str = ""


@attrs.frozen
class Toleration:
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


@attrs.frozen
class TopologySpreadConstraint:
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


# --- volumes -------------------------------------------------------------------------------


@attrs.frozen
class GCEPersistentDisk:
    pd_name: str
    read_only: bool = False


@attrs.frozen
class AWSElasticBlockStore:
    volume_id: str
    read_only: bool = False


@attrs.frozen
class RBD:
    monitors: tuple[str, ...]
    image: str
    pool: str = "rbd"
    read_only: bool = False


@attrs.frozen
class ISCSI:
    iqn: str
    read_only: bool = False


@attrs.frozen
class AzureDisk:
    disk_name: str


@attrs.frozen
class Cinder:
    volume_id: str


@attrs.frozen
class CSI:
    driver: str
    volume_handle: str = ""


@attrs.frozen
class ClaimVolume:
    """``persistentVolumeClaim`` of a pod's volume."""

    claim_name: str
    read_only: bool = False


@attrs.frozen
class EphemeralVolume:
    """``ephemeral``: the claim is named ``<pod>-<volume>``; read by 1.36."""

    volume_name: str


VolumeSource = (
    GCEPersistentDisk | AWSElasticBlockStore | RBD | ISCSI | AzureDisk | Cinder | CSI | ClaimVolume | EphemeralVolume
)
"""The volume types that scheduling reads; all others are dropped while decoding."""


# --- pods ----------------------------------------------------------------------------------


@attrs.frozen
class ContainerPort:
    """``host_port`` 0 means none; empty ``host_ip`` and ``protocol`` are as written."""

    host_port: int = 0
    host_ip: str = ""
    protocol: str = ""


@attrs.frozen
class Container:
    """Ports without a hostPort are dropped while decoding."""

    name: str = ""
    image: str = ""
    requests: ResourceList = NO_RESOURCES
    limits: ResourceList = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None


@attrs.frozen(cache_hash=True)
class PodSpec:
    """What a pod asks for; everything but the node it is bound to, so that replicas share one."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[VolumeSource, ...] = ()
    node_selector: Labels = NO_LABELS
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduler_name: str = ""
    host_network: bool = False
    overhead: ResourceList = NO_RESOURCES
    resources: ResourceList = NO_RESOURCES
    scheduling_gates: tuple[str, ...] = ()


@attrs.frozen
class Pod:
    """``node_name`` is spec.nodeName, empty while pending. ``manifest`` is the object as it was read, if kept."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    node_name: str = ""
    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    manifest: Mapping[str, Any] | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def priority(self) -> int:
        """spec.priority, absent = 0."""
        return self.spec.priority or 0

    def on(self, node_name: str) -> Pod:
        """The same pod with spec.nodeName set."""
        return Pod(
            self.metadata,
            self.spec,
            node_name,
            self.phase,
            self.nominated_node_name,
            self.start_time,
            self.manifest,
        )


# --- nodes ---------------------------------------------------------------------------------


@attrs.frozen
class NodeCondition:
    type: str
    status: str


@attrs.frozen
class ContainerImage:
    names: tuple[str, ...]
    size_bytes: int


@attrs.frozen
class Node:
    metadata: ObjectMeta
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    allocatable: ResourceList = NO_RESOURCES
    capacity: ResourceList = NO_RESOURCES
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    manifest: Mapping[str, Any] | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def name(self) -> str:
        return self.metadata.name


# --- workloads and services ----------------------------------------------------------------


@attrs.frozen
class Service:
    """``selector`` is None when absent (a service without selector selects no pod)."""

    metadata: ObjectMeta
    selector: Labels | None = None


@attrs.frozen
class ReplicationController:
    metadata: ObjectMeta
    selector: Labels = NO_LABELS
    replicas: int = 1


@attrs.frozen
class ReplicaSet:
    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


@attrs.frozen
class StatefulSet:
    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


# --- storage -------------------------------------------------------------------------------


@attrs.frozen
class ClaimReference:
    namespace: str
    name: str
    uid: str = ""


@attrs.frozen
class PersistentVolume:
    """``node_affinity`` is None when absent; ``storage`` is capacity.storage in thousandths of a byte."""

    metadata: ObjectMeta
    source: VolumeSource | None = None
    storage: int = 0
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    phase: str = ""


@attrs.frozen
class PersistentVolumeClaim:
    """``storage_class_name`` is None when absent; ``storage`` is the request in thousandths of a byte."""

    metadata: ObjectMeta
    volume_name: str = ""
    storage: int = 0
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    phase: str = ""


@attrs.frozen
class StorageClass:
    """``allowed_topologies`` has one tuple of (key, values) per term."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[tuple[Requirement, ...], ...] = ()


@attrs.frozen
class CSINodeDriver:
    """``count`` is allocatable.count, None when absent."""

    name: str
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    count: int | None = None


@attrs.frozen
class CSINode:
    metadata: ObjectMeta
    drivers: tuple[CSINodeDriver, ...] = ()


@attrs.frozen
class CSIDriver:
    metadata: ObjectMeta
    attach_required: bool = True
    storage_capacity: bool = False


# --- policy --------------------------------------------------------------------------------


@attrs.frozen
class PriorityClass:
    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


@attrs.frozen
class PodDisruptionBudget:
    """``disruptions_allowed`` is status.disruptionsAllowed; absent = 0."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: tuple[str, ...] = ()


@attrs.frozen
class Namespace:
    metadata: ObjectMeta


ClusterObject = (
    Pod
    | Node
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | PriorityClass
    | PodDisruptionBudget
    | Namespace
)

KINDS: dict[str, type[Any]] = {cls.__name__: cls for cls in ClusterObject.__args__}
"""API kind → class."""


def labels_of(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> Labels:
    """Labels from any mapping or pairs."""
    return FrozenMap(pairs)
