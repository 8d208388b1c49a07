"""Pods."""

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
from clusterstate.objects.constraints import Affinity, Toleration, TopologySpreadConstraint
from clusterstate.objects.volumes import VolumeSource


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
