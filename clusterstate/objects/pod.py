"""Pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from clusterstate.objects.base import NO_LABELS, NO_RESOURCES, Labels, ObjectMeta, ResourceList
from clusterstate.objects.constraints import Affinity, Toleration, TopologySpreadConstraint
from clusterstate.objects.volumes import VolumeSource


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
