"""Pods by the thousand: replicas are recognised by the JSON of what scheduling reads, and share one spec."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from sys import intern
from typing import Any, TypeVar, cast

import attrs
import msgspec

from clusterstate.api_names import is_object_name
from clusterstate.errors import DecodeError
from clusterstate.manifests.decode_pod import decode_pod_spec
from clusterstate.manifests.decode_pod_status import decode_claim_statuses, decode_grants
from clusterstate.manifests.documents import Manifest
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.projection import (
    ConditionProjection,
    Granted,
    MetadataProjection,
    OwnerProjection,
    PodProjection,
    SpecProjection,
    StatusProjection,
    drop_unread_volumes,
    granted,
    reports_grants,
)
from clusterstate.manifests.shared_images import SharedImages
from clusterstate.objects import (
    NO_LABELS,
    FrozenMap,
    Labels,
    Node,
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

T = TypeVar("T", bound=Hashable)


class PodDecoder:
    """The short way for pods, and the tables of what objects share."""

    def __init__(self, prepare: Callable[[Manifest], Manifest] | None) -> None:
        self._prepare = prepare
        self._parse = msgspec.json.Decoder(PodProjection)
        self._encode = msgspec.json.Encoder().encode
        self._specs: dict[bytes, PodSpec] = {}
        self._labels: dict[tuple[tuple[str, str], ...], Labels] = {}
        self._owners: dict[tuple[OwnerProjection, ...], tuple[OwnerReference, ...]] = {}
        self._conditions: dict[tuple[ConditionProjection, ...], tuple[PodCondition, ...]] = {}
        self._grants: dict[tuple[Granted, ...], PodGrants] = {}
        self._shared: dict[Any, Any] = {}
        self._images = SharedImages()
        self._namespaces: set[str] = {""}

    def decode(
        self,
        content: Manifest | msgspec.Raw,
        passes: Callable[[Manifest | msgspec.Raw], bool] | None = None,
        *,
        every: bool = False,
    ) -> Pod | None:
        """A pod without its manifest; None when anything is unusual about it, and the long way has to look.

        passes: asked about a pod without a uid, which no server has stored, or about every pod; False is unusual.
        """
        try:
            if isinstance(content, msgspec.Raw):
                seen = self._parse.decode(content)
            else:
                seen = msgspec.convert(content, PodProjection)
            node_name, seen.spec.nodeName = seen.spec.nodeName, None
            spec = self._spec(seen.spec)
            status = seen.status
            grants = self._pod_grants(status) if reports_grants(status) else None
            claims = _claims(status) if status.resourceClaimStatuses else ()
        except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError):
            return None
        if spec is None or grants is FAULTY or claims is None or not self._is_named(seen.metadata):
            return None
        if passes is not None and (every or not seen.metadata.uid) and not passes(content):
            return None
        return Pod(
            metadata=self._metadata(seen.metadata),
            spec=spec,
            node_name=intern(node_name) if node_name else "",
            phase=intern(status.phase) if status.phase else "",
            nominated_node_name=status.nominatedNodeName or "",
            start_time=status.startTime,
            conditions=self._pod_conditions(status.conditions) if status.conditions else (),
            grants=grants,
            resource_claim_statuses=claims,
        )

    def _spec(self, spec: SpecProjection) -> PodSpec | None:
        if spec.volumes:
            spec.volumes = drop_unread_volumes(spec.volumes)
        key = self._encode(spec)
        found = self._specs.get(key)
        if found is None:
            found = self._new_spec(msgspec.json.decode(key))
            if found is not None:
                _remember(self._specs, key, found)
        return found

    def _new_spec(self, spec: dict[str, Any]) -> PodSpec | None:
        if self._prepare is not None:
            try:
                spec = self._prepare({"apiVersion": "v1", "kind": "Pod", "spec": spec})["spec"]
            except DecodeError:
                return None
        faults: list[str] = []
        decoded = decode_pod_spec(Fields(spec, faults))
        return None if faults else self.share(decoded)

    def _is_named(self, seen: MetadataProjection) -> bool:
        """Whether name and namespace are such as an API server takes."""
        namespace = seen.namespace
        if namespace not in self._namespaces:
            if not is_object_name(namespace):
                return False
            self._namespaces.add(namespace)
        return is_object_name(seen.name)

    def _metadata(self, seen: MetadataProjection) -> ObjectMeta:
        namespace, uid = seen.namespace, seen.uid
        if self._prepare is not None and not (namespace and uid):
            given = {"name": seen.name, "namespace": namespace, "uid": uid}
            meta = self._prepare({"apiVersion": "v1", "kind": "Pod", "metadata": given})["metadata"]
            namespace, uid = meta["namespace"], meta["uid"]
        return ObjectMeta(
            name=seen.name,
            namespace=intern(namespace),
            uid=uid,
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
            _remember(self._labels, key, found)
        return found

    def _owner_references(self, owners: list[OwnerProjection]) -> tuple[OwnerReference, ...]:
        key = tuple(owners)
        found = self._owners.get(key)
        if found is None:
            found = tuple(OwnerReference(o.kind, o.name, o.uid, o.controller, o.apiVersion) for o in owners)
            _remember(self._owners, key, found)
        return found

    def _pod_conditions(self, seen: tuple[ConditionProjection, ...]) -> tuple[PodCondition, ...]:
        found = self._conditions.get(seen)
        if found is None:
            found = tuple(PodCondition(c.type, c.status, c.reason) for c in seen)
            _remember(self._conditions, seen, found)
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
                _remember(self._grants, containers, found)
        return found

    def share(self, value: T) -> T:
        """The first value seen that equals this one."""
        found = self._shared.get(value)
        if found is None:
            _remember(self._shared, value, value)
            return value
        return cast("T", found)

    def share_pod(self, pod: Pod, manifest: Manifest | None) -> Pod:
        """The pod with shared parts, and its manifest if that is kept."""
        meta = attrs.evolve(pod.metadata, labels=self.share(pod.metadata.labels))
        return attrs.evolve(
            pod,
            metadata=meta,
            spec=self.share(pod.spec),
            conditions=self.share(pod.conditions),
            grants=self.share(pod.grants),
            manifest=manifest,
        )

    def share_node(self, node: Node, manifest: Manifest) -> Node:
        """The node with shared parts, and its manifest."""
        return attrs.evolve(
            node,
            taints=self.share(node.taints),
            allocatable=self.share(node.allocatable),
            capacity=self.share(node.capacity),
            conditions=self.share(node.conditions),
            images=self.share(tuple(map(self.share, node.images))),
            manifest=self._images.manifest(manifest),
        )


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


def _remember(table: dict[Any, Any], key: Hashable, value: object) -> None:
    if len(table) >= REMEMBERED:
        table.clear()
    table[key] = value
