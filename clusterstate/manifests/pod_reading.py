"""What the JSON of a pod says, read without the defaults of a release: replicas share one text of their spec."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from sys import intern
from typing import Any, TypeVar, cast

import msgspec

from clusterstate.manifests.decode_pod_status import decode_claim_statuses, decode_grants
from clusterstate.manifests.documents import Manifest
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.projection import (
    ABSENT,
    ConditionProjection,
    Granted,
    MetadataProjection,
    MetadataText,
    OwnerProjection,
    PodProjection,
    PodText,
    StatusProjection,
    drop_unread_names,
    granted,
    reports_grants,
)
from clusterstate.manifests.read_pod import ReadPod
from clusterstate.objects import (
    NO_LABELS,
    FrozenMap,
    Labels,
    ObjectMeta,
    OwnerReference,
    PodCondition,
    PodGrants,
    ResourceClaimStatus,
)
from kubecel.api_names import is_object_name

REMEMBERED = 16_384
"""Entries of each table; a full one starts anew."""

FAULTY = PodGrants(FrozenMap())
"""Stands for grants that cannot be read."""

LABELS: Any = dict[str, str] | None
OWNERS: Any = list[OwnerProjection] | None
"""What a text of them may be."""

FAULTS = (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError)
"""What parsing raises."""

T = TypeVar("T", bound=Hashable)


class PodReader:
    """Reads pods, and keeps tables of what they share."""

    def __init__(self) -> None:
        self._parse = msgspec.json.Decoder(PodText).decode
        self._parse_all = msgspec.json.Decoder(list[PodText]).decode
        self._encode = msgspec.json.Encoder().encode
        self._texts: dict[bytes, bytes] = {}
        self._labels: dict[bytes | tuple[tuple[str, str], ...], Labels] = {}
        self._owners: dict[bytes | tuple[OwnerProjection, ...], tuple[OwnerReference, ...]] = {}
        self._conditions: dict[tuple[ConditionProjection, ...], tuple[PodCondition, ...]] = {}
        self._grants: dict[tuple[Granted, ...], PodGrants] = {}
        self._shared: dict[Any, Any] = {}
        self._namespaces: set[str] = {""}

    def read(self, content: Manifest | msgspec.Raw) -> ReadPod | None:
        """What a pod says; None when anything is unusual about it, and the long way has to look."""
        try:
            if isinstance(content, msgspec.Raw):
                return self._read_text(self._parse(content))
            seen = msgspec.convert(content, PodProjection)
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

    def _read(self, seen: PodProjection | PodText, kind: str, version: str) -> ReadPod | None:
        meta, spec, status = seen.metadata, seen.spec, seen.status
        node_name, spec.nodeName = spec.nodeName, None
        grants = self._pod_grants(status) if reports_grants(status) else None
        claims = _claims(status) if status.resourceClaimStatuses else ()
        if grants is FAULTY or claims is None or not self._is_named(meta.name, meta.namespace):
            return None
        text = self._encode(spec)
        return ReadPod(
            self._texts.get(text) or self._new_text(text),
            self._metadata(meta),
            intern(node_name) if node_name else "",
            intern(status.phase) if status.phase else "",
            status.nominatedNodeName or "",
            status.startTime,
            self._pod_conditions(status.conditions) if status.conditions else (),
            grants,
            claims,
            bool(meta.resourceVersion),
            kind,
            version,
        )

    def _new_text(self, text: bytes) -> bytes:
        remember(self._texts, text, text)
        return text

    def _is_named(self, name: str, namespace: str) -> bool:
        """Whether name and namespace are such as an API server takes."""
        if namespace not in self._namespaces:
            if not is_object_name(namespace):
                return False
            self._namespaces.add(namespace)
        return is_object_name(name)

    def _metadata(self, seen: MetadataProjection | MetadataText) -> ObjectMeta:
        labels, owners = seen.labels, seen.ownerReferences
        return ObjectMeta(
            seen.name,
            intern(seen.namespace),
            seen.uid,
            NO_LABELS if labels is None or labels is ABSENT else self._label_set(labels),
            FrozenMap(seen.annotations) if seen.annotations else NO_LABELS,
            () if owners is None or owners is ABSENT else self._owner_references(owners),
            seen.creationTimestamp,
            seen.deletionTimestamp,
        )

    def _label_set(self, labels: dict[str, str] | msgspec.Raw) -> Labels:
        key = bytes(labels) if isinstance(labels, msgspec.Raw) else tuple(labels.items())
        found = self._labels.get(key)
        if found is None:
            found = self._new_label_set(labels)
            remember(self._labels, key, found)
        return found

    def _new_label_set(self, labels: dict[str, str] | msgspec.Raw) -> Labels:
        plain = msgspec.json.decode(labels, type=LABELS) if isinstance(labels, msgspec.Raw) else labels
        return self.share(FrozenMap(plain)) if plain else NO_LABELS

    def _owner_references(self, owners: list[OwnerProjection] | msgspec.Raw) -> tuple[OwnerReference, ...]:
        key = bytes(owners) if isinstance(owners, msgspec.Raw) else tuple(owners)
        found = self._owners.get(key)
        if found is None:
            found = self.share(_new_owners(owners))
            remember(self._owners, key, found)
        return found

    def _pod_conditions(self, seen: tuple[ConditionProjection, ...]) -> tuple[PodCondition, ...]:
        found = self._conditions.get(seen)
        if found is None:
            found = tuple(PodCondition(c.type, c.status, c.reason) for c in seen)
            remember(self._conditions, seen, found)
        return found

    def _pod_grants(self, status: StatusProjection) -> PodGrants | None:
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
        if found is None:
            remember(self._shared, value, value)
            return value
        return cast("T", found)


def _new_owners(owners: list[OwnerProjection] | msgspec.Raw) -> tuple[OwnerReference, ...]:
    seen = msgspec.json.decode(owners, type=OWNERS) if isinstance(owners, msgspec.Raw) else owners
    return tuple(OwnerReference(o.kind, o.name, o.uid, o.controller, o.apiVersion) for o in seen or ())


def _new_grants(containers: Iterable[Granted], of_pod: Mapping[str, Any]) -> PodGrants:
    read = msgspec.json.decode
    statuses = [
        {"name": name, "resources": read(resources), "allocatedResources": read(allocated)}
        for name, resources, allocated in containers
    ]
    faults: list[str] = []
    grants = decode_grants(Fields({"containerStatuses": statuses, **of_pod}, faults))
    return FAULTY if faults or grants is None else grants


def _claims(status: StatusProjection) -> tuple[ResourceClaimStatus, ...] | None:
    """None when they cannot be read."""
    faults: list[str] = []
    claims = decode_claim_statuses(Fields({"resourceClaimStatuses": status.resourceClaimStatuses}, faults))
    return None if faults else claims


def remember(table: dict[Any, Any], key: Hashable, value: object) -> None:
    """Adds to a table, which is emptied first when it is full."""
    if len(table) >= REMEMBERED:
        table.clear()
    table[key] = value
