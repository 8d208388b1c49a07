"""What pods and nodes say, read by the thousand and without the defaults of a release.

msgspec reads them into types that are made of the tables of fields (``clusterstate.manifests.kinds``), and into records
that are as the API has them. They check nothing: what they cannot hold is read by the tables, which find the faults.
Replicas are recognised by the JSON of what scheduling reads of their spec, and share one text of it. Of nodes, amounts,
conditions, taints and images that many have in common are read once.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from sys import intern
from typing import Annotated, Any, TypeVar, cast

import msgspec

from clusterstate.changes import remember
from clusterstate.errors import DecodeError
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.kinds import CLAIM_STATUS, CONTAINER, METADATA, OWNER, SPEC, VOLUME_KEYS, read_grants
from clusterstate.manifests.tables import struct_of
from clusterstate.objects import (
    NO_LABELS,
    NO_RESOURCES,
    ContainerImage,
    FrozenMap,
    Labels,
    Node,
    NodeCondition,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodCondition,
    PodGrants,
    PodSpec,
    ResourceClaimStatus,
    ResourceList,
    Taint,
)
from kubecel.api_names import is_object_name

FAULTY = PodGrants(FrozenMap())
"""Stands for grants that cannot be read."""

FAULTS = (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError)
"""What parsing raises."""

T = TypeVar("T", bound=Hashable)

# --- the types that msgspec reads ------------------------------------------------------------

ABSENT = msgspec.Raw()
"""Stands for a field that a text does not have."""
NULL = b"null"

Owner: Any = OWNER.struct("Owner", frozen=True)
_OWNERS: Any = list[Owner] | None
_LABELS: Any = dict[str, str] | None
Metadata: Any = METADATA.struct("Metadata", ("ownerReferences", _OWNERS, None), ("resourceVersion", Any, None))
MetadataText: Any = METADATA.struct(
    "MetadataText",
    ("labels", msgspec.Raw, ABSENT),
    ("ownerReferences", msgspec.Raw, ABSENT),
    ("resourceVersion", Any, None),
)


def _spec(kind: Any, absent: Any) -> Any:
    """A pod's spec, whose fields are of one kind but for those that have to be looked into."""

    def struct(name: str, keys: Iterable[str], *others: tuple[str, Any, Any]) -> Any:
        return struct_of(name, *((key, kind, absent) for key in keys), *others)

    container, volume = struct("Container", CONTAINER.keys), struct("Volume", VOLUME_KEYS)
    lists = (("containers", container), ("initContainers", container), ("volumes", volume))
    looked_into = ((key, types.GenericAlias(list, (each,)) | None, None) for key, each in lists)
    return struct("Spec", SPEC.keys, *looked_into, ("nodeName", str | None, None))


Spec: Any = _spec(Any, None)
SpecText: Any = _spec(msgspec.Raw, ABSENT)
"""What replicas share is compared as text, and parsed once."""


class ContainerStatus(msgspec.Struct):
    """What is read of an entry of ``status.containerStatuses``."""

    allocatedResources: msgspec.Raw = ABSENT  # noqa: N815
    name: str = ""
    resources: msgspec.Raw = ABSENT


class PodStatusFields(msgspec.Struct):
    """What is read of a pod's ``status``."""

    allocatedResources: Any = None  # noqa: N815
    conditions: tuple[PodCondition, ...] | None = None
    containerStatuses: list[ContainerStatus] | None = None  # noqa: N815
    initContainerStatuses: list[ContainerStatus] | None = None  # noqa: N815
    nominatedNodeName: str | None = None  # noqa: N815
    phase: str | None = None
    resourceClaimStatuses: Any = None  # noqa: N815
    resources: Any = None
    startTime: str | None = None  # noqa: N815


class ParsedPod(msgspec.Struct):
    """What is read of a pod's manifest."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: Spec = msgspec.field(default_factory=Spec)
    status: PodStatusFields = msgspec.field(default_factory=PodStatusFields)


class PodText(msgspec.Struct):
    """What is read of the JSON of a pod."""

    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    metadata: MetadataText = msgspec.field(default_factory=MetadataText)
    spec: SpecText = msgspec.field(default_factory=SpecText)
    status: PodStatusFields = msgspec.field(default_factory=PodStatusFields)


class ReadPod(msgspec.Struct, frozen=True, eq=False):
    """A pod whose spec is still a text. There are as many as pods in a list, and msgspec makes them fastest."""

    spec: bytes
    """The JSON of what decoding reads of the spec."""
    metadata: ObjectMeta
    """What names the pod; namespace and uid may be empty."""
    node_name: str
    """As ``Pod.node_name``."""
    status: tuple[Any, ...]
    """The other fields of ``Pod``, in its order."""
    is_stored: bool
    """Whether it has a resourceVersion."""
    kind: str
    """What it says that it is; empty if it says nothing."""
    version: str
    """Its apiVersion; empty if it says none."""

    def pod(self, metadata: ObjectMeta, spec: PodSpec) -> Pod:
        """The pod without its manifest, with what its API server has filled in."""
        return Pod(metadata, spec, self.node_name, *self.status)


class PodReader:
    """Reads pods, and keeps tables of what they share."""

    def __init__(self) -> None:
        self._parse = msgspec.json.Decoder(PodText).decode
        self._parse_all = msgspec.json.Decoder(list[PodText]).decode
        self._encode = msgspec.json.Encoder().encode
        self._texts: dict[bytes, bytes] = {}
        self._labels: dict[bytes | tuple[tuple[str, str], ...], Labels] = {}
        self._owners: dict[bytes | tuple[Owner, ...], tuple[OwnerReference, ...]] = {}
        self._grants: dict[tuple[Granted, ...], PodGrants] = {}
        self._shared: dict[Any, Any] = {}
        self._namespaces: set[str] = {""}

    def read(self, content: Mapping[str, Any] | msgspec.Raw) -> ReadPod | None:
        """What a pod says; None when anything is unusual about it, and the long way has to look."""
        try:
            if isinstance(content, msgspec.Raw):
                return self._read_text(self._parse(content))
            seen = msgspec.convert(content, ParsedPod)
            if seen.spec.volumes:
                drop_unread_names(seen.spec.volumes, None)
            return self._read(seen, "", "")
        except FAULTS:
            return None

    def read_all(self, texts: bytes | memoryview) -> Iterator[ReadPod | None]:
        """The same of each object of a JSON list, which need not be pods; None once in place of a list with a fault."""
        try:
            for seen in self._parse_all(texts):
                yield self._read_text(seen)
        except FAULTS:
            yield None

    def _read_text(self, seen: PodText) -> ReadPod | None:
        if seen.spec.volumes:
            drop_unread_names(seen.spec.volumes, ABSENT)
        return self._read(seen, seen.kind, seen.apiVersion)

    def _read(self, seen: ParsedPod | PodText, kind: str, version: str) -> ReadPod | None:
        meta, spec, status = seen.metadata, seen.spec, seen.status
        node_name, spec.nodeName = spec.nodeName, None
        grants = self._pod_grants(status) if reports_grants(status) else None
        claims = _claims(status) if status.resourceClaimStatuses else ()
        if grants is FAULTY or claims is None or not self._is_named(meta.name, meta.namespace):
            return None
        text = self._encode(spec)
        return ReadPod(
            self._texts.get(text) or remember(self._texts, text, text),
            self._metadata(meta),
            intern(node_name) if node_name else "",
            (
                intern(status.phase) if status.phase else "",
                status.nominatedNodeName or "",
                status.startTime,
                self.share(status.conditions) if status.conditions else (),
                grants,
                claims,
            ),
            bool(meta.resourceVersion),
            kind,
            version,
        )

    def _is_named(self, name: str, namespace: str) -> bool:
        """Whether name and namespace are such as an API server takes."""
        if namespace not in self._namespaces:
            if not is_object_name(namespace):
                return False
            self._namespaces.add(namespace)
        return is_object_name(name)

    def _metadata(self, seen: Metadata | MetadataText) -> ObjectMeta:
        labels, owners = seen.labels, seen.ownerReferences
        return _object_meta(
            seen,
            NO_LABELS if labels is None or labels is ABSENT else self._label_set(labels),
            () if owners is None or owners is ABSENT else self._owner_references(owners),
        )

    def _label_set(self, labels: dict[str, str] | msgspec.Raw) -> Labels:
        key = bytes(labels) if isinstance(labels, msgspec.Raw) else tuple(labels.items())
        found = self._labels.get(key)
        if found is None:
            plain = msgspec.json.decode(labels, type=_LABELS) if isinstance(labels, msgspec.Raw) else labels
            found = remember(self._labels, key, self.share(FrozenMap(plain)) if plain else NO_LABELS)
        return found

    def _owner_references(self, owners: Any) -> tuple[OwnerReference, ...]:
        key = bytes(owners) if isinstance(owners, msgspec.Raw) else tuple(owners)
        found = self._owners.get(key)
        if found is None:
            seen = msgspec.json.decode(owners, type=_OWNERS) if isinstance(owners, msgspec.Raw) else owners
            read = tuple(OwnerReference(o.kind, o.name, o.uid, o.controller, o.apiVersion) for o in seen or ())
            found = remember(self._owners, key, self.share(read))
        return found

    def _pod_grants(self, status: PodStatusFields) -> PodGrants | None:
        """None when the status grants nothing, FAULTY when it cannot be read."""
        containers = granted(status)
        if status.resources is not None:
            return _new_grants(
                containers, {"resources": status.resources, "allocatedResources": status.allocatedResources}
            )
        if not containers:
            return None
        found = self._grants.get(containers)
        if found is None:
            found = _new_grants(containers, {})
            if found is not FAULTY:
                remember(self._grants, containers, found)
        return found

    def share(self, value: T) -> T:
        """The first value seen that equals this one."""
        found = self._shared.get(value)
        return remember(self._shared, value, value) if found is None else cast("T", found)


def _object_meta(seen: Metadata | MetadataText, labels: Labels, owners: tuple[OwnerReference, ...] = ()) -> ObjectMeta:
    return ObjectMeta(
        seen.name,
        intern(seen.namespace),
        seen.uid,
        labels,
        FrozenMap(seen.annotations) if seen.annotations else NO_LABELS,
        owners,
        seen.creationTimestamp,
        seen.deletionTimestamp,
    )


def _new_grants(containers: Iterable[Granted], of_pod: Mapping[str, Any]) -> PodGrants:
    read = msgspec.json.decode
    statuses = [
        {"name": name, "resources": read(resources), "allocatedResources": read(allocated)}
        for name, resources, allocated in containers
    ]
    faults: list[str] = []
    grants = read_grants(Fields({"containerStatuses": statuses, **of_pod}, faults))
    return FAULTY if faults or grants is None else grants


def _claims(status: PodStatusFields) -> tuple[ResourceClaimStatus, ...] | None:
    """None when they cannot be read."""
    faults: list[str] = []
    given = Fields({"resourceClaimStatuses": status.resourceClaimStatuses}, faults)
    claims = tuple(map(CLAIM_STATUS.read, given.children("resourceClaimStatuses")))
    return None if faults else claims


def reports_grants(status: PodStatusFields) -> bool:
    """Whether a status may say what was granted."""
    if status.resources is not None:
        return True
    for statuses in (status.containerStatuses, status.initContainerStatuses):
        if statuses:
            for one in statuses:
                if one.resources is not ABSENT:
                    return True
    return False


Granted = tuple[str, bytes, bytes]
"""Name of a container, JSON of its ``resources`` and its ``allocatedResources``."""


def granted(status: PodStatusFields) -> tuple[Granted, ...]:
    """What the statuses of containers say was granted, of those that do."""
    statuses = (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))
    return tuple(
        (one.name, resources, bytes(one.allocatedResources) or NULL)
        for one in statuses
        if (resources := bytes(one.resources) or NULL) != NULL
    )


def drop_unread_names(volumes: Iterable[Any], absent: object) -> None:
    """Takes the names from volumes where decoding does not read them, as those of replicas differ.

    absent: what stands for a field that is not there.
    """
    for volume in volumes:
        if volume.ephemeral is absent and volume.awsElasticBlockStore is absent:
            volume.name = absent


# --- running pods ----------------------------------------------------------------------------


class SettledPods:
    """Reads pods that a server has stored and that run; any other, and one with a fault, is left to be read whole."""

    def __init__(self) -> None:
        self._reader = PodReader()
        self._settled: dict[bytes, bool] = {}

    def read(self, text: msgspec.Raw) -> ReadPod | None:
        """What the JSON of a pod says; None for one that has to be read whole."""
        read = self._reader.read(text)
        return read if read is not None and self._is_settled(read.spec) and _is_running(read) else None

    def read_all(self, texts: bytes | memoryview) -> list[ReadPod] | None:
        """The same of a JSON list of pods that say what they are; None when one is no pod, or has to be read whole."""
        out = []
        settled, is_settled = self._settled, self._is_settled
        for read in self._reader.read_all(texts):
            if (
                read is None
                or not is_pod(read.kind, read.version)
                or not (settled.get(read.spec) or is_settled(read.spec))
                or not _is_running(read)
            ):
                return None
            out.append(read)
        return out

    def _is_settled(self, text: bytes) -> bool:
        found = self._settled.get(text)
        return remember(self._settled, text, _is_settled(text)) if found is None else found


def is_pod(kind: str, version: str) -> bool:
    """Whether an object is a Pod of the core group."""
    return kind == "Pod" and version == "v1"


def _is_running(read: ReadPod) -> bool:
    """Whether a server has stored a pod, and a scheduler has placed it."""
    return read.is_stored and bool(read.node_name)


def _is_settled(text: bytes) -> bool:
    """Whether nothing but its node can be missing: no fault, no class without a priority."""
    faults: list[str] = []
    try:
        spec = spec_of_text(text)
        SPEC.read(Fields(spec, faults))
    except (msgspec.MsgspecError, DecodeError, TypeError, UnicodeDecodeError, RecursionError):
        return False
    if faults:
        return False
    return spec.get("priority") is not None or not spec.get("priorityClassName")


def spec_of_text(text: bytes) -> dict[str, Any]:
    """What decoding reads of a spec, from its JSON. Raises msgspec.MsgspecError for what it cannot hold."""
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


UNREADABLE: ResourceList = FrozenMap()
"""Stands for amounts that cannot be read."""


class ImageProjection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of ``status.images`` with these two fields and no other, so that its manifest can be made of them."""

    names: tuple[str, ...]
    sizeBytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # noqa: N815


class NodeSpec(msgspec.Struct):
    """What is read of ``spec``."""

    taints: tuple[Taint, ...] | None = None
    unschedulable: bool | None = None


class NodeStatus(msgspec.Struct):
    """What is read of ``status``."""

    allocatable: dict[str, str] | None = None
    capacity: dict[str, str] | None = None
    conditions: tuple[NodeCondition, ...] | None = None
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
            self._share(spec.taints or ()),
            allocatable,
            capacity,
            self._share(status.conditions or ()),
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
    return _object_meta(seen, FrozenMap(seen.labels) if seen.labels else NO_LABELS)


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
