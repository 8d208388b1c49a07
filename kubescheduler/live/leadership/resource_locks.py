"""The objects that leaders are elected by, and the record in them that all candidates read and write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient

Document = dict[str, Any]

LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
"""Where Endpoints and ConfigMaps keep the record."""


class LeaderRecord(msgspec.Struct, frozen=True):
    """Upstream: resourcelock.LeaderElectionRecord."""

    holder: str = ""
    """The leader's identity, empty when the lock was released."""
    seconds: int = 0
    """How long others leave it alone after they saw it change."""
    acquired: str = ""
    """RFC 3339."""
    renewed: str = ""
    """RFC 3339."""
    transitions: int = 0
    """How often another one took over."""


def lease_time(moment: datetime) -> str:
    """A moment as a Lease says it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def annotation_time(moment: datetime) -> str:
    """A moment as the annotation says it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_lease(document: Mapping[str, Any]) -> LeaderRecord:
    """The record that a Lease holds."""
    spec = document.get("spec") or {}
    return LeaderRecord(
        spec.get("holderIdentity") or "",
        spec.get("leaseDurationSeconds") or 0,
        spec.get("acquireTime") or "",
        spec.get("renewTime") or "",
        spec.get("leaseTransitions") or 0,
    )


def into_lease(document: Mapping[str, Any], record: LeaderRecord) -> Document:
    """A Lease as it was read, with another record."""
    spec = {
        **(document.get("spec") or {}),
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": _fine(record.acquired),
        "renewTime": _fine(record.renewed),
        "leaseTransitions": record.transitions,
    }
    return {**document, "spec": spec}


def _fine(moment: str) -> str:
    """A moment with the microseconds without which no server takes a Lease."""
    return moment if "." in moment else moment.replace("Z", ".000000Z")


def of_annotation(document: Mapping[str, Any]) -> LeaderRecord:
    """The record in an annotation; an empty one where there is none. Raises ValueError for one that is no JSON."""
    text = ((document.get("metadata") or {}).get("annotations") or {}).get(LEADER_ANNOTATION)
    if not text:
        return LeaderRecord()
    said = msgspec.json.decode(text)
    return LeaderRecord(
        said.get("holderIdentity") or "",
        said.get("leaseDurationSeconds") or 0,
        said.get("acquireTime") or "",
        said.get("renewTime") or "",
        said.get("leaderTransitions") or 0,
    )


def into_annotation(document: Mapping[str, Any], record: LeaderRecord) -> Document:
    """An object as it was read, with another record in its annotation."""
    text = msgspec.json.encode(
        {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": record.seconds,
            "acquireTime": record.acquired,
            "renewTime": record.renewed,
            "leaderTransitions": record.transitions,
        }
    ).decode()
    metadata = dict(document.get("metadata") or {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), LEADER_ANNOTATION: text}
    return {**document, "metadata": metadata}


class LockKind(msgspec.Struct, frozen=True, eq=False):
    """A kind of object that holds the record."""

    kind: str
    api_version: str
    plural: str
    """As paths say it."""
    read: Callable[[Mapping[str, Any]], LeaderRecord]
    write: Callable[[Mapping[str, Any], LeaderRecord], Document]
    time: Callable[[datetime], str]
    """How it says moments."""

    @property
    def prefix(self) -> str:
        """The path of its API group."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


LEASE = LockKind("Lease", "coordination.k8s.io/v1", "leases", of_lease, into_lease, lease_time)
ENDPOINTS = LockKind("Endpoints", "v1", "endpoints", of_annotation, into_annotation, annotation_time)
CONFIG_MAP = LockKind("ConfigMap", "v1", "configmaps", of_annotation, into_annotation, annotation_time)


class ResourceLock(Protocol):
    """A lock as the elector sees it. Everything asynchronous raises ApiError as the API does."""

    name: str
    """``namespace/name``."""

    async def get(self) -> LeaderRecord:
        """Reads the record, and keeps the object for the next ``update``."""
        ...

    async def create(self, record: LeaderRecord) -> None:
        """Makes the object."""
        ...

    async def update(self, record: LeaderRecord) -> None:
        """Writes the record into the object as it was last read or written. Raises ApiError 409 when it has changed."""
        ...

    def time(self, moment: datetime) -> str:
        """A moment as the record says it."""
        ...

    @property
    def reference(self) -> Mapping[str, str]:
        """The object as events name it."""
        ...


class ObjectLock:
    """A lock that is one object."""

    def __init__(
        self,
        api: ApiClient,
        kind: LockKind,
        namespace: str,
        name: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        timeout: str = "10s",
    ) -> None:
        """metadata: what a new object has besides its name. timeout: as the query says it."""
        self.name = f"{namespace}/{name}"
        self._api = api
        self._kind = kind
        self._identity = {"name": name, "namespace": namespace}
        self._metadata = dict(metadata or {})
        self._query = (("timeout", timeout),)
        self._document: Document = {}

    @property
    def _folder(self) -> str:
        return f"{self._kind.prefix}/namespaces/{self._identity['namespace']}/{self._kind.plural}"

    async def get(self) -> LeaderRecord:
        """Reads the record, and keeps the object for the next ``update``."""
        answer = await self._api.request("GET", f"{self._folder}/{self._identity['name']}", self._query)
        self._document = answer.document()
        try:
            return self._kind.read(self._document)
        except (ValueError, AttributeError) as error:
            raise ApiError(f"the leader's record is not readable: {error}") from None

    async def create(self, record: LeaderRecord) -> None:
        """Makes the object."""
        bare = {"kind": self._kind.kind, "apiVersion": self._kind.api_version}
        body = self._kind.write({**bare, "metadata": {**self._identity, **self._metadata}}, record)
        self._document = (await self._api.request("POST", self._folder, self._query, body)).document()

    async def update(self, record: LeaderRecord) -> None:
        """Writes the record into the object as it was last read or written."""
        body = self._kind.write(self._document, record)
        path = f"{self._folder}/{self._identity['name']}"
        self._document = (await self._api.request("PUT", path, self._query, body)).document()

    def time(self, moment: datetime) -> str:
        """A moment as the record says it."""
        return self._kind.time(moment)

    @property
    def reference(self) -> Mapping[str, str]:
        """The object as events name it."""
        metadata = self._document.get("metadata") or {}
        return {
            "kind": self._kind.kind,
            "namespace": self._identity["namespace"],
            "name": self._identity["name"],
            "uid": metadata.get("uid", ""),
            "apiVersion": self._kind.api_version,
            "resourceVersion": metadata.get("resourceVersion", ""),
        }


class TwofoldLock:
    """An old lock and a Lease, held together, to move from one to the other. Upstream: MultiLock (1.20)."""

    def __init__(self, first: ObjectLock, second: ObjectLock) -> None:
        self._locks: Sequence[ObjectLock] = (first, second)
        self.name = first.name

    async def get(self) -> LeaderRecord:
        """The first one's record; one of nobody's when the two do not agree on the leader."""
        first, second = self._locks
        record = await first.get()
        try:
            other = await second.get()
        except ApiError as error:
            if error.code == 404:
                return record
            raise
        return record if record.holder == other.holder else msgspec.structs.replace(record, holder="*unknown*")

    async def create(self, record: LeaderRecord) -> None:
        """Makes both; one that is there already is another's."""
        for lock in self._locks:
            await lock.create(record)

    async def update(self, record: LeaderRecord) -> None:
        """Writes both; the second is made where it is missing."""
        first, second = self._locks
        await first.update(record)
        try:
            await second.get()
        except ApiError as error:
            if error.code != 404:
                raise
            await second.create(record)
        else:
            await second.update(record)

    def time(self, moment: datetime) -> str:
        """As the first one says moments."""
        return self._locks[0].time(moment)

    @property
    def reference(self) -> Mapping[str, str]:
        """The first object."""
        return self._locks[0].reference


KINDS = {"leases": (LEASE,), "endpoints": (ENDPOINTS,), "configmaps": (CONFIG_MAP,)}
"""``resourceLock`` → the objects, of releases that know one each."""
KINDS_1_20 = {**KINDS, "endpointsleases": (ENDPOINTS, LEASE), "configmapsleases": (CONFIG_MAP, LEASE)}
"""The same with the locks to move by."""

REMOVED = frozenset(KINDS_1_20) - {"leases"}
"""The locks that 1.36 does not have any more."""


def no_lock_1_16(name: str) -> str:
    """The text of 1.16 and 1.20 for a type of lock that does not exist."""
    return f"couldn't create resource lock: Invalid lock-type {name}"


def no_lock_1_36(name: str) -> str:
    """The same of 1.36."""
    text = f"{name} lock is removed, migrate to leases" if name in REMOVED else f"Invalid lock-type {name}"
    return f"couldn't create resource lock: {text}"


def resource_lock(
    api: ApiClient, kinds: Sequence[LockKind], namespace: str, name: str, metadata: Mapping[str, Any], timeout: str
) -> ResourceLock:
    """The lock of these objects; see ObjectLock."""
    locks = [ObjectLock(api, kind, namespace, name, metadata=metadata, timeout=timeout) for kind in kinds]
    return locks[0] if len(locks) == 1 else TwofoldLock(*locks)
