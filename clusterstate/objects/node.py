"""Nodes."""

from __future__ import annotations

import msgspec

from clusterstate.objects.base import NO_RESOURCES, Manifested, ObjectMeta, ResourceList, amounts_text
from clusterstate.objects.constraints import Taint


class NodeCondition(msgspec.Struct, frozen=True):
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
