"""Pods, and what they say about nodes and one another: selectors, affinity, tolerations, spreading, volumes."""

from __future__ import annotations

import msgspec

from clusterstate.objects.base import (
    NO_LABELS,
    NO_RESOURCES,
    FrozenMap,
    Labels,
    Manifested,
    ObjectMeta,
    ResourceList,
    amounts_text,
)


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


class Taint(msgspec.Struct, frozen=True):
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
    (``clusterstate.views``).
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
    in_use: RequestsInUse | None = None
    """No part of the API's spec; a release that reads resize status puts it there (``pod_view_1_36``)."""


class PodCondition(msgspec.Struct, frozen=True):
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
