"""The API objects a scheduler reads, frozen, with just the fields it reads.

First what all share, then pods, what they are placed among, and dynamic resources. Shapes follow v1 of the Kubernetes
API, in snake_case. Resource amounts are exact: every list of resources maps a name to thousandths of its unit
(``clusterstate.quantity``). Values that many objects share (label sets, pod specs) compare and hash by content, and
remember their hash.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, NoReturn, TypeVar

import attrs
import msgspec

from clusterstate.quantity import amount_text

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


def amounts_text(resources: Mapping[str, int]) -> str:
    """``cpu 500m, memory 8Gi``: amounts as Kubernetes writes them."""
    return ", ".join(f"{name} {amount_text(name, milli)}" for name, milli in resources.items())


class OwnerReference(msgspec.Struct, frozen=True):
    """Who made an object; at most one of its owners is the controller."""

    kind: str
    name: str
    uid: str
    controller: bool = False
    api_version: str = ""


class ObjectMeta(msgspec.Struct, frozen=True):
    """Names and labels. Timestamps are the API's RFC 3339 texts."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: Labels = NO_LABELS
    annotations: Labels = NO_LABELS
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that is the controller."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Manifested(msgspec.Struct, frozen=True, eq=False, kw_only=True, repr_omit_defaults=True):
    """An object that may keep what it was read from, which is no part of what it says: it is not compared."""

    manifest: Mapping[str, Any] | None = None
    """The object as it was read, if that is kept."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _without_manifest(self) == _without_manifest(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_without_manifest(self))

    def __repr__(self) -> str:
        return msgspec.Struct.__repr__(msgspec.structs.replace(self, manifest=None))


def _without_manifest(obj: Manifested) -> tuple[Any, ...]:
    return msgspec.structs.astuple(obj)[:-1]


# --- pods, and what they say about nodes and one another ------------------------------------------


class Requirement(msgspec.Struct, frozen=True):
    """``key operator values``, as written: nothing is checked here."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, cache_hash=True):
    """Picks objects by labels; every requirement must hold. An empty one picks all."""

    match_labels: Labels = NO_LABELS
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True):
    """Picks nodes by labels and fields; every requirement must hold. An empty one picks none."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class PreferredSchedulingTerm(msgspec.Struct, frozen=True):
    """A preference for nodes, with its weight of 1 to 100."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(msgspec.Struct, frozen=True):
    """``required`` is None when absent; an empty tuple is a present selector without terms."""

    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """``namespaces`` is None when absent; ``namespace_selector`` is read by 1.36 only."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True):
    """A preference for nodes near pods, or away from them, with its weight of 1 to 100."""

    weight: int
    term: PodAffinityTerm


class PodAffinity(msgspec.Struct, frozen=True):
    """Pod affinity or pod anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod wants of nodes, and of pods near its own."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Taint(msgspec.Struct, frozen=True, gc=False):
    """Keeps pods that do not tolerate it off a node (effect NoSchedule, NoExecute or PreferNoSchedule)."""

    key: str
    value: str = ""
    effect: str = ""


class Toleration(msgspec.Struct, frozen=True):
    """Taints that a pod accepts. Without a key any key, without an effect any effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def covers_value(self, taint: Taint) -> bool:
        """``Equal`` or no operator: the taint's value is the same; ``Exists``: whatever it is; others never."""
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


class TopologySpreadConstraint(msgspec.Struct, frozen=True):
    """How evenly pods are spread over the domains of a topology key."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class GCEPersistentDisk(msgspec.Struct, frozen=True):
    """A disk of Google Compute Engine."""

    pd_name: str
    read_only: bool = False


class AWSElasticBlockStore(msgspec.Struct, frozen=True):
    """A disk of Amazon Web Services."""

    volume_id: str
    read_only: bool = False
    volume_name: str = ""
    """What a pod calls the volume; kept only for an id in the long form (``aws://…``)."""


class RBD(msgspec.Struct, frozen=True):
    """An image in a Ceph cluster."""

    monitors: tuple[str, ...]
    image: str
    pool: str = "rbd"
    read_only: bool = False


class ISCSI(msgspec.Struct, frozen=True):
    """A disk of an iSCSI target."""

    iqn: str
    read_only: bool = False


class AzureDisk(msgspec.Struct, frozen=True):
    """A managed disk of Azure."""

    disk_name: str
    disk_uri: str = ""


class Cinder(msgspec.Struct, frozen=True):
    """A volume of OpenStack."""

    volume_id: str


class PortworxVolume(msgspec.Struct, frozen=True):
    """Read by 1.36."""

    volume_id: str


class CSI(msgspec.Struct, frozen=True):
    """A volume of a CSI driver."""

    driver: str
    volume_handle: str = ""


class ClaimVolume(msgspec.Struct, frozen=True):
    """``persistentVolumeClaim`` of a pod's volume."""

    claim_name: str
    read_only: bool = False


class EphemeralVolume(msgspec.Struct, frozen=True):
    """``ephemeral``: the claim is named ``<pod>-<volume>``; read by 1.36."""

    volume_name: str


class EphemeralClaim(msgspec.Struct, frozen=True):
    """The claim that an ephemeral volume of one pod leads to; it has to be that pod's own.

    No part of the API: it stands in a spec for the EphemeralVolume where a release reads those
    (``with_ephemeral_claims``).
    """

    claim_name: str
    pod_name: str
    pod_uid: str


class ImageVolume(msgspec.Struct, frozen=True):
    """``image`` of a pod's volume: a container image to mount; read by 1.36."""

    reference: str = ""


VolumeSource = (
    GCEPersistentDisk
    | AWSElasticBlockStore
    | RBD
    | ISCSI
    | AzureDisk
    | Cinder
    | PortworxVolume
    | CSI
    | ClaimVolume
    | EphemeralVolume
    | EphemeralClaim
    | ImageVolume
)
"""The volume types that scheduling reads; all others are dropped while decoding."""


class ContainerPort(msgspec.Struct, frozen=True):
    """``host_port`` 0 means none; empty ``host_ip`` and ``protocol`` are as written."""

    host_port: int = 0
    host_ip: str = ""
    protocol: str = ""


class Container(msgspec.Struct, frozen=True):
    """Ports without a hostPort are dropped while decoding."""

    name: str = ""
    image: str = ""
    requests: ResourceList = NO_RESOURCES
    limits: ResourceList = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_rule_actions: tuple[str, ...] = ()
    """The actions of its restartPolicyRules."""


class PodResourceClaim(msgspec.Struct, frozen=True):
    """An entry of ``spec.resourceClaims``: a claim by name, or a template that one is made from."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class RequestsInUse(msgspec.Struct, frozen=True):
    """What a running pod's containers, and the pod as a whole, are granted when that is not what its spec asks for."""

    containers: tuple[ResourceList, ...]
    """Of each container of the spec, in its order."""
    init_containers: tuple[ResourceList, ...]
    """Of each init container of the spec, in its order."""
    resources: ResourceList
    """Of the pod as a whole."""


class PodSpec(msgspec.Struct, frozen=True, cache_hash=True):
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
    host_users: bool | None = None
    scheduling_group: str = ""
    resource_claims: tuple[PodResourceClaim, ...] = ()
    runtime_class_name: str = ""
    in_use: RequestsInUse | None = None
    """No part of the API's spec; a release that reads resize status puts it there (``pod_view_1_36``)."""

    @property
    def required_nodes(self) -> tuple[NodeSelectorTerm, ...] | None:
        """The terms of the required node affinity; None without one."""
        return self.affinity.node_affinity.required if self.affinity and self.affinity.node_affinity else None

    @property
    def preferred_nodes(self) -> tuple[PreferredSchedulingTerm, ...]:
        """The terms of the preferred node affinity."""
        return self.affinity.node_affinity.preferred if self.affinity and self.affinity.node_affinity else ()


class PodCondition(msgspec.Struct, frozen=True, gc=False):
    """An entry of ``status.conditions``."""

    type: str
    status: str = ""
    reason: str = ""


class ResourceClaimStatus(msgspec.Struct, frozen=True):
    """The claim that was made for an entry of ``spec.resourceClaims``; None: none is needed."""

    name: str
    resource_claim_name: str | None = None


class Grant(msgspec.Struct, frozen=True):
    """``resources.requests`` and ``allocatedResources`` of a container's status, or of a pod's."""

    requests: ResourceList = NO_RESOURCES
    allocated: ResourceList = NO_RESOURCES


class PodGrants(msgspec.Struct, frozen=True, cache_hash=True):
    """What the status of a pod says of its resources."""

    containers: FrozenMap[str, Grant]
    """By name, init containers too; those whose status has ``resources``."""
    pod: Grant | None = None
    """None without ``status.resources``."""


class Pod(Manifested, frozen=True, eq=False):
    """``node_name`` is spec.nodeName, empty while pending."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    node_name: str = ""
    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    grants: PodGrants | None = None
    resource_claim_statuses: tuple[ResourceClaimStatus, ...] = ()

    def __str__(self) -> str:
        asked: dict[str, int] = {}
        for container in self.spec.containers:
            for name, milli in container.requests.items():
                asked[name] = asked.get(name, 0) + milli
        where = f"on {self.node_name}" if self.node_name else "pending"
        return f"Pod {self.key}: {', '.join(filter(None, (where, amounts_text(asked))))}"

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
        return msgspec.structs.replace(self, node_name=node_name)

    def bound_to(self, node_name: str, start_time: str) -> Pod:
        """The same pod on a node from a time on, which the API writes; nominated to none."""
        return msgspec.structs.replace(self, node_name=node_name, start_time=start_time, nominated_node_name="")


# --- what pods are placed among: nodes, storage, and what governs the pods of a namespace ---------


class NodeCondition(msgspec.Struct, frozen=True, gc=False):
    """An entry of ``status.conditions``; status is True, False or Unknown."""

    type: str
    status: str


class ContainerImage(msgspec.Struct, frozen=True):
    """An image that a node has, under all its names."""

    names: tuple[str, ...]
    size_bytes: int


class Node(Manifested, frozen=True, eq=False):
    """A node."""

    metadata: ObjectMeta
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    allocatable: ResourceList = NO_RESOURCES
    capacity: ResourceList = NO_RESOURCES
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.metadata.name

    def __str__(self) -> str:
        taints = [f"{each.key}={each.value}:{each.effect}".replace("=:", ":") for each in self.taints]
        parts = [amounts_text(self.allocatable), *taints, "unschedulable" if self.unschedulable else ""]
        return f"Node {self.name}: {', '.join(filter(None, parts))}"


class Service(msgspec.Struct, frozen=True):
    """A v1 Service."""

    metadata: ObjectMeta
    selector: Labels | None = None
    """None when absent: a service without a selector selects no pod."""


class ReplicationController(msgspec.Struct, frozen=True):
    """What is read of a v1 ReplicationController."""

    metadata: ObjectMeta
    selector: Labels = NO_LABELS
    replicas: int = 1


class ReplicaSet(msgspec.Struct, frozen=True):
    """What is read of an apps/v1 ReplicaSet."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


class StatefulSet(msgspec.Struct, frozen=True):
    """What is read of an apps/v1 StatefulSet."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


class PriorityClass(msgspec.Struct, frozen=True):
    """The priority that pods get by its name."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class RuntimeClass(msgspec.Struct, frozen=True):
    """What a new pod gets that names it."""

    metadata: ObjectMeta
    overhead: ResourceList = NO_RESOURCES
    node_selector: Labels = NO_LABELS
    tolerations: tuple[Toleration, ...] = ()


class LimitRangeItem(msgspec.Struct, frozen=True):
    """Bounds of each container or pod (``type``), and what containers get that name no amount."""

    type: str = ""
    max: ResourceList = NO_RESOURCES
    min: ResourceList = NO_RESOURCES
    default: ResourceList = NO_RESOURCES
    default_request: ResourceList = NO_RESOURCES
    max_limit_request_ratio: ResourceList = NO_RESOURCES


class LimitRange(msgspec.Struct, frozen=True):
    """What new pods of its namespace may ask for."""

    metadata: ObjectMeta
    limits: tuple[LimitRangeItem, ...] = ()


AdmissionObject = PriorityClass | RuntimeClass | LimitRange
"""What the admission plugins of an API server read; schedulers do not."""


class PodDisruptionBudget(msgspec.Struct, frozen=True):
    """``disruptions_allowed`` is status.disruptionsAllowed; absent = 0. Schedulers read no more than the status.

    ``min_available`` and ``max_unavailable`` are a number or a share ("50%"), None when absent. A selector that selects
    no pod, as an empty one of policy/v1beta1 does, is None.
    """

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: tuple[str, ...] = ()
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""
    is_counted: bool = True
    """Whether it has a status: the disruption controller has counted its pods."""


class Namespace(msgspec.Struct, frozen=True):
    """A namespace; its labels are what namespace selectors match."""

    metadata: ObjectMeta


class ClaimReference(msgspec.Struct, frozen=True):
    """The claim that a PersistentVolume is bound to."""

    namespace: str
    name: str
    uid: str = ""


class PersistentVolume(msgspec.Struct, frozen=True):
    """A PersistentVolume."""

    metadata: ObjectMeta
    source: VolumeSource | None = None
    storage: int = 0
    """``capacity.storage`` in thousandths of a byte."""
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    """None when absent."""
    phase: str = ""
    volume_attributes_class_name: str = ""
    """Empty for none; read by 1.36."""


class PersistentVolumeClaim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta
    volume_name: str = ""
    storage: int = 0
    """The request in thousandths of a byte."""
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    phase: str = ""
    volume_attributes_class_name: str = ""
    """Empty for none; read by 1.36."""


class StorageClass(msgspec.Struct, frozen=True):
    """``allowed_topologies`` has one tuple of (key, values) per term."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[tuple[Requirement, ...], ...] = ()


class CSINodeDriver(msgspec.Struct, frozen=True):
    """A CSI driver on a node."""

    name: str
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    count: int | None = None
    """``allocatable.count``, None when absent."""


class CSINode(msgspec.Struct, frozen=True):
    """The CSI drivers that a node has, with their limits."""

    metadata: ObjectMeta
    drivers: tuple[CSINodeDriver, ...] = ()


class CSIDriver(msgspec.Struct, frozen=True):
    """A CSI driver of the cluster."""

    metadata: ObjectMeta
    attach_required: bool = True
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False
    """Read by 1.36."""


class CSIStorageCapacity(msgspec.Struct, frozen=True):
    """What a storage class can still provision for the nodes that ``node_topology`` selects; read by 1.36.

    ``capacity`` and ``maximum_volume_size`` in thousandths of a byte, None when absent.
    """

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: int | None = None
    maximum_volume_size: int | None = None


class VolumeAttachment(msgspec.Struct, frozen=True):
    """A volume that a driver attaches to a node; ``volume_name`` is empty for an inline volume. Read by 1.36."""

    metadata: ObjectMeta
    attacher: str = ""
    node_name: str = ""
    volume_name: str = ""


# --- dynamic resources: devices, who asks for them, who has them. API group resource.k8s.io/v1 ----


EXACT_COUNT, ALL = "ExactCount", "All"
"""Allocation modes."""


class DeviceAttribute(msgspec.Struct, frozen=True, cache_hash=True):
    """An attribute of a device."""

    kind: str
    """``int``, ``bool``, ``string`` or ``version``; distinguishes 1 from true."""
    value: int | bool | str


Attributes = FrozenMap[str, DeviceAttribute]
"""Attribute name → value; a name without a domain is in the driver's."""

NO_ATTRIBUTES: Attributes = FrozenMap()


class CounterSet(msgspec.Struct, frozen=True):
    """Named amounts in thousandths: what a pool has of them, or what a device takes."""

    name: str
    counters: ResourceList = NO_RESOURCES


class Placement(msgspec.Struct, frozen=True):
    """The nodes that something is on. ``node_selector`` is None when absent."""

    node_name: str = ""
    node_selector: tuple[NodeSelectorTerm, ...] | None = None
    all_nodes: bool = False


class RequestPolicy(msgspec.Struct, frozen=True):
    """How requests for a capacity of a shareable device are rounded and limited; all amounts in thousandths."""

    default: int | None = None
    """What a request that does not name the capacity consumes; None: all there is."""
    valid_values: tuple[int, ...] = ()
    """The amounts that can be consumed, ascending."""
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None
    """Above the minimum, amounts are rounded up to a multiple of it, counted in whole units."""


NO_POLICIES: FrozenMap[str, RequestPolicy] = FrozenMap()


class Device(msgspec.Struct, frozen=True, cache_hash=True):
    """A device of a ResourceSlice."""

    name: str
    attributes: Attributes = NO_ATTRIBUTES
    capacity: ResourceList = NO_RESOURCES
    consumes_counters: tuple[CounterSet, ...] = ()
    taints: tuple[Taint, ...] = ()
    placement: Placement = Placement()
    """Counts only where the slice leaves it to each device."""
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    shareable: bool = False
    """``allowMultipleAllocations``."""
    policies: FrozenMap[str, RequestPolicy] = NO_POLICIES
    """Capacity → its ``requestPolicy``."""


class ResourceSlice(msgspec.Struct, frozen=True):
    """Devices of one pool. A pool is complete when its newest generation has ``slice_count`` slices."""

    metadata: ObjectMeta
    driver: str = ""
    pool: str = ""
    generation: int = 0
    slice_count: int = 1
    placement: Placement = Placement()
    per_device: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class DeviceConfig(msgspec.Struct, frozen=True):
    """Parameters for a driver, as JSON text. ``source`` is where an allocation has them from."""

    driver: str = ""
    parameters: str = ""
    requests: tuple[str, ...] = ()
    source: str = ""


class DeviceClass(msgspec.Struct, frozen=True):
    """``selectors`` are CEL expressions."""

    metadata: ObjectMeta
    selectors: tuple[str, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    extended_resource_name: str | None = None


class DeviceAsk(msgspec.Struct, frozen=True):
    """What ``exactly``, or one alternative of ``firstAvailable``, asks for; only the latter has a name."""

    device_class_name: str
    name: str = ""
    selectors: tuple[str, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: ResourceList | None = None
    """Requested amounts in thousandths; None: none are named."""


class DeviceRequest(msgspec.Struct, frozen=True):
    """Either ``exactly`` or ``first_available`` is set."""

    name: str
    exactly: DeviceAsk | None = None
    first_available: tuple[DeviceAsk, ...] = ()

    def alternatives(self) -> tuple[tuple[str, DeviceAsk], ...]:
        """(full name, what is asked for), the best first."""
        if self.exactly is not None:
            return ((self.name, self.exactly),)
        return tuple((f"{self.name}/{ask.name}", ask) for ask in self.first_available)


class DeviceConstraint(msgspec.Struct, frozen=True):
    """What the devices of ``requests`` (none: of all) have the same of, or each its own of."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class ClaimSpec(msgspec.Struct, frozen=True):
    """What a ResourceClaim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfig, ...] = ()


class AllocatedDevice(msgspec.Struct, frozen=True):
    """One result of an allocation. ``request`` is the full name of the alternative chosen."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    """Set for a share of a device that allows several allocations."""
    consumed_capacity: ResourceList = NO_RESOURCES
    """What the share takes of the device's capacity, in thousandths."""
    tolerations: tuple[Toleration, ...] = ()
    """Those of the request when the device was allocated."""


class Allocation(msgspec.Struct, frozen=True):
    """The devices that a claim holds."""

    devices: tuple[AllocatedDevice, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    node_selector: tuple[NodeSelectorTerm, ...] | None = None
    """Where the devices can be used, None: everywhere."""
    timestamp: str | None = None
    """When it was written, RFC 3339; binding conditions time out counted from it."""


class DeviceStatus(msgspec.Struct, frozen=True):
    """What a driver reports of an allocated device."""

    driver: str
    pool: str
    device: str
    conditions: tuple[tuple[str, str], ...] = ()
    """(type, status) of each condition."""
    details: tuple[tuple[str, str], ...] = ()
    """(reason, message) of each condition, in the same order; empty: none has any."""


class ConsumerReference(msgspec.Struct, frozen=True):
    """Who a claim is reserved for."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


@attrs.frozen
class ResourceClaim:
    """``allocation`` is None until devices are allocated."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    allocation: Allocation | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    device_statuses: tuple[DeviceStatus, ...] = ()
    resource_version: str = attrs.field(default="", eq=False)
    """``metadata.resourceVersion``: which version of the claim this is; no part of what it says."""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class ResourceClaimTemplate(msgspec.Struct, frozen=True):
    """What claims are made from, one for each pod that names the template."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()


class PendingAllocation(msgspec.Struct, frozen=True):
    """No API object: what a pod on its way to a node will write into the claim of that name."""

    metadata: ObjectMeta
    allocation: Allocation
    pod_uid: str


class PodGroup(msgspec.Struct, frozen=True):
    """scheduling.k8s.io. ``min_count`` is that of the gang policy, None for a group without one."""

    metadata: ObjectMeta
    min_count: int | None = None


# --- all of them ----------------------------------------------------------------------------------

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
    | CSIStorageCapacity
    | VolumeAttachment
    | PriorityClass
    | RuntimeClass
    | LimitRange
    | PodDisruptionBudget
    | Namespace
    | ResourceClaim
    | ResourceClaimTemplate
    | ResourceSlice
    | DeviceClass
    | PodGroup
)

KINDS: dict[str, type[Any]] = {cls.__name__: cls for cls in ClusterObject.__args__}
"""API kind → class."""
