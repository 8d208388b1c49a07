"""Nodes by the thousand: amounts, conditions, taints and images that many nodes have in common are read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from clusterstate.changes import remember
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.kinds import NODE_CONDITION, TAINT
from clusterstate.manifests.pod_reading import FAULTS, Metadata
from clusterstate.objects import (
    NO_LABELS,
    NO_RESOURCES,
    ContainerImage,
    FrozenMap,
    Node,
    NodeCondition,
    ObjectMeta,
    ResourceList,
    Taint,
)
from kubecel.api_names import is_object_name

UNREADABLE: ResourceList = FrozenMap()
"""Stands for amounts that cannot be read."""


class ImageProjection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of ``status.images`` with these two fields and no other, so that its manifest can be made of them."""

    names: tuple[str, ...]
    sizeBytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # noqa: N815


_Taint: Any = TAINT.struct("_Taint", frozen=True)
_Condition: Any = NODE_CONDITION.struct("_Condition", frozen=True)


class NodeSpec(msgspec.Struct):
    """What is read of ``spec``."""

    taints: tuple[_Taint, ...] | None = None
    unschedulable: bool | None = None


class NodeStatus(msgspec.Struct):
    """What is read of ``status``."""

    allocatable: dict[str, str] | None = None
    capacity: dict[str, str] | None = None
    conditions: tuple[_Condition, ...] | None = None
    declaredFeatures: tuple[str, ...] | None = None  # noqa: N815
    images: tuple[ImageProjection, ...] | None = None


class ParsedNode(msgspec.Struct):
    """What is read of a node."""

    metadata: Metadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class _KnownImage(msgspec.Struct, frozen=True, eq=False):
    """An image as it was first seen."""

    seen: ImageProjection
    image: ContainerImage
    manifest: Mapping[str, Any]
    """Its part of a manifest; empty for one that nobody shares."""


class NodeReader:
    """Reads nodes the short way, and keeps tables of what they share.

    share: gives the first value seen that equals another, also one that was read the long way.
    """

    def __init__(self, share: Callable[[Any], Any]) -> None:
        self._share = share
        self._amounts: dict[tuple[tuple[str, str], ...], ResourceList] = {}
        self._parts: dict[Any, Any] = {}
        self._lists: dict[tuple[ImageProjection, ...], tuple[tuple[ContainerImage, ...], list[Any]]] = {}
        self._images: dict[ImageProjection, _KnownImage] = {}

    def read(self, manifest: Mapping[str, Any]) -> Node | None:
        """A node with its manifest, images in it shared; None when anything is unusual, and the long way has to look.

        manifest: whole, with what its API server fills in. It is not changed.
        """
        try:
            seen = msgspec.convert(manifest, ParsedNode)
        except FAULTS:
            return None
        metadata, spec, status = _metadata(seen.metadata), seen.spec, seen.status
        allocatable, capacity = self._resources(status.allocatable), self._resources(status.capacity)
        if metadata is None or allocatable is UNREADABLE or capacity is UNREADABLE:
            return None
        if status.images:
            images, plain = self._image_list(status.images, manifest["status"]["images"])
            manifest = {**manifest, "status": {**manifest["status"], "images": plain}}
        else:
            images = ()
        return Node(
            metadata,
            bool(spec.unschedulable),
            self._all(spec.taints, lambda t: Taint(t.key, t.value, t.effect)),
            allocatable,
            capacity,
            self._all(status.conditions, lambda c: NodeCondition(c.type, c.status)),
            images,
            status.declaredFeatures or (),
            manifest=manifest,
        )

    def _resources(self, amounts: dict[str, str] | None) -> ResourceList:
        if not amounts:
            return NO_RESOURCES
        key = tuple(amounts.items())
        found = self._amounts.get(key)
        if found is None:
            faults: list[str] = []
            found = Fields({"amounts": amounts}, faults).resources("amounts")
            if faults:
                return UNREADABLE
            found = remember(self._amounts, key, self._share(found))
        return found

    def _all(self, seen: tuple[Any, ...] | None, make: Callable[[Any], Any]) -> tuple[Any, ...]:
        """What is made of each; of equal ones the same."""
        if not seen:
            return ()
        found: tuple[Any, ...] | None = self._parts.get(seen)
        if found is None:
            found = remember(self._parts, seen, tuple(self._share(tuple(map(make, seen)))))
        return found

    def _image_list(
        self, seen: tuple[ImageProjection, ...], plain: list[Any]
    ) -> tuple[tuple[ContainerImage, ...], list[Any]]:
        """The images, and their part of a manifest; a server writes the names of each first."""
        if {*map(next, map(iter, plain))} != {"names"}:
            return self._share(tuple([self._image(image, {}).image for image in seen])), plain
        found = self._lists.get(seen)
        if found is None:
            known = [self._image(image, given) for image, given in zip(seen, plain, strict=True)]
            found = self._share(tuple([each.image for each in known])), [each.manifest for each in known]
            remember(self._lists, tuple([each.seen for each in known]), found)
        return found

    def _image(self, seen: ImageProjection, given: Mapping[str, Any]) -> _KnownImage:
        found = self._images.get(seen)
        if found is None or (given and not found.manifest):
            image = self._share(ContainerImage(seen.names, seen.sizeBytes))
            found = remember(self._images, seen, _KnownImage(seen, image, given))
        return found


def _metadata(seen: Metadata) -> ObjectMeta | None:
    """None for a name that no server takes, and for what nodes do not have."""
    if not is_object_name(seen.name) or seen.namespace or seen.ownerReferences:
        return None
    return ObjectMeta(
        seen.name,
        "",
        seen.uid,
        FrozenMap(seen.labels) if seen.labels else NO_LABELS,
        FrozenMap(seen.annotations) if seen.annotations else NO_LABELS,
        (),
        seen.creationTimestamp,
        seen.deletionTimestamp,
    )


# --- the manifests of nodes ------------------------------------------------------------------

REMEMBERED_IMAGES = 65_536
"""Images; when there are more, all are forgotten and remembered anew."""

IMAGE_FIELDS = ["names", "sizeBytes"]
"""The fields of an image, in the order in which a server writes them."""


class SharedImages:
    """Has equal images of all manifests be one object. Manifests are never written to."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def manifest(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """The manifest of a node, its images those seen before where they are equal."""
        status = manifest.get("status")
        if not isinstance(status, Mapping) or not status.get("images"):
            return manifest
        return {**manifest, "status": {**status, "images": [self._image(image) for image in status["images"]]}}

    def _image(self, image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The image itself when it is written in another way than a server does."""
        if image is None or list(image) != IMAGE_FIELDS or not image["names"]:
            return image
        found = self._seen.get((*image["names"], image["sizeBytes"]))
        if found is not None:
            return found
        return remember(self._seen, (*image["names"], image["sizeBytes"]), image, REMEMBERED_IMAGES)
