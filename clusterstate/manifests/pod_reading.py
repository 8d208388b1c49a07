"""What the JSON of a pod says, read without the defaults of a release: replicas share one text of their spec."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from sys import intern
from typing import Any, TypeVar, cast

import msgspec

from clusterstate.api_names import is_object_name
from clusterstate.manifests.decode_pod_status import decode_claim_statuses, decode_grants
from clusterstate.manifests.documents import Manifest
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.projection import (
    ConditionProjection,
    Granted,
    MetadataProjection,
    OwnerProjection,
    PodProjection,
    PodText,
    StatusProjection,
    drop_unread_volume_texts,
    drop_unread_volumes,
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
    Pod,
    PodCondition,
    PodGrants,
    PodSpec,
    ResourceClaimStatus,
)

REMEMBERED = 16_384
"""Entries of each table; a full one starts anew."""

FAULTY = PodGrants(FrozenMap())
"""Stands for grants that cannot be read."""

UNREAD = PodSpec()
"""Stands for a spec that is still a text."""

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
        self._labels: dict[tuple[tuple[str, str], ...], Labels] = {}
        self._owners: dict[tuple[OwnerProjection, ...], tuple[OwnerReference, ...]] = {}
        self._conditions: dict[tuple[ConditionProjection, ...], tuple[PodCondition, ...]] = {}
        self._grants: dict[tuple[Granted, ...], PodGrants] = {}
        self._shared: dict[Any, Any] = {}
        self._namespaces: set[str] = {""}

    def read(self, content: Manifest | msgspec.Raw) -> ReadPod | None:
        """What a pod says; None when anything is unusual about it, and the long way has to look."""
        try:
            if isinstance(content, msgspec.Raw):
                return self._read_text(self._parse(content))
            return self._read(msgspec.convert(content, PodProjection), drop_unread_volumes)
        except FAULTS:
            return None

    def read_all(self, texts: bytes) -> Iterator[ReadPod | None]:
        """The same of each object of a JSON list, which need not be pods; None once in place of a list with a fault."""
        try:
            for seen in self._parse_all(texts):
                yield self._read_text(seen)
        except FAULTS:
            yield None

    def _read_text(self, seen: PodText) -> ReadPod | None:
        return self._read(seen, drop_unread_volume_texts, seen.kind, seen.apiVersion)

    def _read(
        self,
        seen: PodProjection | PodText,
        drop: Callable[[list[Any]], list[Any] | None],
        kind: str = "",
        version: str = "",
    ) -> ReadPod | None:
        spec, status = seen.spec, seen.status
        node_name, spec.nodeName = spec.nodeName, None
        if spec.volumes:
            spec.volumes = drop(spec.volumes)
        text = self._encode(spec)
        grants = self._pod_grants(status) if reports_grants(status) else None
        claims = _claims(status) if status.resourceClaimStatuses else ()
        if grants is FAULTY or claims is None or not self._is_named(seen.metadata):
            return None
        pod = Pod(
            metadata=self._metadata(seen.metadata),
            spec=UNREAD,
            node_name=intern(node_name) if node_name else "",
            phase=intern(status.phase) if status.phase else "",
            nominated_node_name=status.nominatedNodeName or "",
            start_time=status.startTime,
            conditions=self._pod_conditions(status.conditions) if status.conditions else (),
            grants=grants,
            resource_claim_statuses=claims,
        )
        return ReadPod(pod, self._spec_text(text), bool(seen.metadata.resourceVersion), kind, version)

    def _spec_text(self, text: bytes) -> bytes:
        found = self._texts.get(text)
        if found is None:
            remember(self._texts, text, text)
            return text
        return found

    def _is_named(self, seen: MetadataProjection) -> bool:
        """Whether name and namespace are such as an API server takes."""
        namespace = seen.namespace
        if namespace not in self._namespaces:
            if not is_object_name(namespace):
                return False
            self._namespaces.add(namespace)
        return is_object_name(seen.name)

    def _metadata(self, seen: MetadataProjection) -> ObjectMeta:
        return ObjectMeta(
            name=seen.name,
            namespace=intern(seen.namespace),
            uid=seen.uid,
            labels=self._label_set(seen.labels) if seen.labels else NO_LABELS,
            annotations=FrozenMap(seen.annotations) if seen.annotations else NO_LABELS,
            owner_references=self._owner_references(seen.ownerReferences) if seen.ownerReferences else (),
            creation_timestamp=seen.creationTimestamp,
            deletion_timestamp=seen.deletionTimestamp,
        )

    def _label_set(self, labels: dict[str, str]) -> Labels:
        key = tuple(labels.items())
        found = self._labels.get(key)
        if found is None:
            found = self.share(FrozenMap(labels))
            remember(self._labels, key, found)
        return found

    def _owner_references(self, owners: list[OwnerProjection]) -> tuple[OwnerReference, ...]:
        key = tuple(owners)
        found = self._owners.get(key)
        if found is None:
            found = tuple(OwnerReference(o.kind, o.name, o.uid, o.controller, o.apiVersion) for o in owners)
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
