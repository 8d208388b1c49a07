"""Nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.objects.base import NO_RESOURCES, ObjectMeta, ResourceList
from clusterstate.objects.constraints import Taint


class NodeCondition(msgspec.Struct, frozen=True):
    """An entry of ``status.conditions``; status is True, False or Unknown."""

    type: str
    status: str


class ContainerImage(msgspec.Struct, frozen=True):
    """An image that a node has, under all its names."""

    names: tuple[str, ...]
    size_bytes: int


@attrs.frozen
class Node:
    """A node."""

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
        """``metadata.name``."""
        return self.metadata.name
