"""One scheduler of several leads: the objects that leaders are elected by, and ``LeaderElector``, which seeks
leadership, keeps it and gives it back. Upstream: client-go's leaderelection.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import attrs
import msgspec

from kubescheduler.live.klog import LogLine, Severity, structured
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import WallClock

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
    return _record(document.get("spec") or {}, "leaseTransitions")


def _record(said: Mapping[str, Any], transitions: str) -> LeaderRecord:
    """transitions: the member that says them."""
    return LeaderRecord(
        said.get("holderIdentity") or "",
        said.get("leaseDurationSeconds") or 0,
        said.get("acquireTime") or "",
        said.get("renewTime") or "",
        said.get(transitions) or 0,
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
    return _record(msgspec.json.decode(text), "leaderTransitions")


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


class ResourceLock:
    """A lock that is one object, as the elector sees it. What is asynchronous raises ApiError."""

    def __init__(
        self, api: ApiClient, kind: LockKind, namespace: str, name: str, metadata: Mapping[str, Any], timeout: str
    ) -> None:
        """See ``resource_lock``."""
        self.name = f"{namespace}/{name}"
        self._api = api
        self._kind = kind
        self._identity = {"name": name, "namespace": namespace}
        self._metadata = metadata
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
        """Writes the record into the object as it was last read or written. Raises ApiError 409 when it has changed."""
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


class TwofoldLock(ResourceLock):
    """An old lock, and a Lease that is held with it, to move from one to the other. Upstream: MultiLock (1.20)."""

    second: ResourceLock

    async def get(self) -> LeaderRecord:
        """The first one's record; one of nobody's when the two do not agree on the leader."""
        record = await super().get()
        try:
            other = await self.second.get()
        except ApiError as error:
            if error.code == 404:
                return record
            raise
        return record if record.holder == other.holder else msgspec.structs.replace(record, holder="*unknown*")

    async def create(self, record: LeaderRecord) -> None:
        await super().create(record)
        await self.second.create(record)

    async def update(self, record: LeaderRecord) -> None:
        await super().update(record)
        try:
            await self.second.get()
        except ApiError as error:
            if error.code != 404:
                raise
            await self.second.create(record)
        else:
            await self.second.update(record)


KINDS = {"leases": (LEASE,), "endpoints": (ENDPOINTS,), "configmaps": (CONFIG_MAP,)}
"""``resourceLock`` → the objects, of releases that know one each."""
KINDS_1_20 = {**KINDS, "endpointsleases": (ENDPOINTS, LEASE), "configmapsleases": (CONFIG_MAP, LEASE)}
"""The same with the locks to move by."""

REMOVED = frozenset(KINDS_1_20) - {"leases"}
"""The locks that 1.36 does not have any more."""


def no_lock_1_36(name: str) -> str:
    """The same of 1.36."""
    text = f"{name} lock is removed, migrate to leases" if name in REMOVED else f"Invalid lock-type {name}"
    return f"couldn't create resource lock: {text}"


def resource_lock(
    api: ApiClient, kinds: Sequence[LockKind], namespace: str, name: str, metadata: Mapping[str, Any], timeout: str
) -> ResourceLock:
    """The lock of these objects. metadata: what new ones have besides their names. timeout: as the query says it."""
    if len(kinds) == 1:
        return ResourceLock(api, kinds[0], namespace, name, metadata, timeout)
    first, second = kinds
    lock = TwofoldLock(api, first, namespace, name, metadata, timeout)
    lock.second = ResourceLock(api, second, namespace, name, metadata, timeout)
    return lock


JITTER = 1.2
"""A candidate waits for the retry period times 1 to 1 + this."""


class ElectionTiming(msgspec.Struct, frozen=True):
    """In seconds."""

    lease: float = 15.0
    """For how long others leave a leader alone."""
    renew: float = 10.0
    """For how long a leader tries to renew before it gives up."""
    retry: float = 2.0
    """Between two tries."""

    def fault(self) -> str:
        """Why an elector cannot be made, empty if it can; upstream's text."""
        if self.lease <= self.renew:
            return "leaseDuration must be greater than renewDeadline"
        if self.renew <= self.retry * JITTER:
            return "renewDeadline must be greater than retryPeriod*JitterFactor"
        return ""


class ElectionRules(msgspec.Struct, frozen=True, eq=False):
    """In what the releases' elections differ."""

    trusts_record: bool
    """Whether the record says for how long it is to be left alone (1.36), or each candidate's own setting does."""
    fast_path: bool
    """Whether a leader writes at once what it wrote last, without reading it (1.36)."""
    log: Callable[[str, str, str], LogLine | None]
    """Of (what happened, the lock's name, the error): the line; see ``log_1_16``."""


# --- what is logged ------------------------------------------------------------------------------------

LINES_1_16 = {
    "seeking": (Severity.INFO, "attempting to acquire leader lease  {lock}..."),
    "acquired": (Severity.INFO, "successfully acquired lease {lock}"),
    "lost": (Severity.INFO, "failed to renew lease {lock}: {error}"),
    "reading failed": (Severity.ERROR, "error retrieving resource lock {lock}: {error}"),
    "creating failed": (Severity.ERROR, "error initially creating leader election record: {error}"),
    "writing failed": (Severity.ERROR, "Failed to update lock: {error}"),
    "releasing failed": (Severity.ERROR, "Failed to release lock: {error}"),
}
LINES_1_20 = {**LINES_1_16, "seeking": (Severity.INFO, "attempting to acquire leader lease {lock}...")}
"""The same of 1.20, which has one blank less."""
MESSAGES_1_36 = {
    "seeking": LogLine(Severity.INFO, "Attempting to acquire leader lease..."),
    "acquired": LogLine(Severity.INFO, "Successfully acquired lease"),
    "lost": LogLine(Severity.ERROR, "Failed to renew lease"),
    "reading failed": LogLine(Severity.ERROR, "Error retrieving lease lock"),
    "creating failed": LogLine(Severity.ERROR, "Error initially creating lease lock"),
    "writing failed": LogLine(Severity.ERROR, "Failed to update lease"),
    "fast path": LogLine(Severity.INFO, "Failed to update lease optimistically, falling back to slow path", 2),
    "releasing failed": LogLine(Severity.ERROR, "Failed to release lease"),
}
"""What happened → the message of 1.36, without its keys."""


def log_plain(lines: Mapping[str, tuple[Severity, str]], what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.16 or 1.20; None for what it does not log."""
    if what not in lines:
        return None
    severity, text = lines[what]
    return LogLine(severity, text.format(lock=lock, error=error))


log_1_16, log_1_20 = partial(log_plain, LINES_1_16), partial(log_plain, LINES_1_20)


def log_1_36(what: str, lock: str, error: str) -> LogLine | None:
    """A line of 1.36; None for what it does not log."""
    line = MESSAGES_1_36.get(what)
    if line is None:
        return None
    if what == "lost":
        error = "context deadline exceeded"
    pairs = {"err": error, "lock": lock} if error else {"lock": lock}
    return LogLine(line.severity, structured(line.text, **pairs), line.level)


class ElectionListener(msgspec.Struct, frozen=True, eq=False):
    """What an elector reports to; all of it is called on the I/O thread."""

    leads: Callable[[bool], None]
    """Called when leadership begins and ends."""
    log: Callable[[LogLine], None]
    """Writes a line of the log."""
    event: Callable[[str], None]
    """Makes an event about the lock."""
    slowed: Callable[[], None] = lambda: None
    """Told that the lease has to be read before it can be renewed."""


@attrs.define(eq=False)
class LeaderElector:
    """One candidate. ``run`` is for the I/O thread, and ends when leadership is lost or ``stop`` was called."""

    _lock: ResourceLock
    _identity: str
    _timing: ElectionTiming
    _rules: ElectionRules
    _clock: WallClock
    _listener: ElectionListener
    _rng: random.Random = attrs.field(factory=random.Random)
    _seen: LeaderRecord = attrs.field(factory=LeaderRecord)
    _seen_at: float = float("-inf")
    _stopping: asyncio.Event = attrs.field(factory=asyncio.Event)
    succeeds: bool = False
    """Whether the lock was there before it led: another may have bound pods until then."""

    @property
    def is_leader(self) -> bool:
        """Whether the record last seen is ours."""
        return self._seen.holder == self._identity

    def is_overdue(self, seconds: float) -> bool:
        """Whether it leads, but has not renewed its lock, so many seconds after that ended. Upstream: Check."""
        return self.is_leader and self._clock.monotonic() - self._seen_at > self._timing.lease + seconds

    def stop(self) -> None:
        """Ends ``run``: on the I/O thread."""
        self._stopping.set()

    async def run(self) -> None:
        """Seeks leadership, keeps it while it can, and gives it back in the end.

        The lock is given back last: until it is, nobody else leads.
        """
        if not await self._acquire():
            return
        self._listener.leads(True)
        try:
            await self._keep()
        finally:
            self._listener.leads(False)
            if self.is_leader:
                await self._release()

    # --- seeking and keeping -----------------------------------------------------------------------

    async def _acquire(self) -> bool:
        """Tries until it leads; False: it was stopped before."""
        self._say("seeking")
        while not self._stopping.is_set():
            if await self._try():
                self._listener.event(f"{self._identity} became leader")
                self._say("acquired")
                return True
            await self._pause(self._timing.retry * (1 + self._rng.random() * JITTER))
        return False

    async def _keep(self) -> None:
        """Renews until that fails for too long, or it is stopped."""
        while not self._stopping.is_set():
            deadline = self._clock.monotonic() + self._timing.renew
            while not await self._try_until(deadline):
                if self._clock.monotonic() + self._timing.retry > deadline or self._stopping.is_set():
                    break
                await self._pause(self._timing.retry)
            else:
                await self._pause(self._timing.retry)
                continue
            if self._stopping.is_set():
                return
            self._say("lost", "timed out waiting for the condition")
            self._listener.event(f"{self._identity} stopped leading")
            return

    async def _try_until(self, deadline: float) -> bool:
        """One try that the deadline cuts off."""
        left = deadline - self._clock.monotonic()
        try:
            return await asyncio.wait_for(self._try(), max(left, 0.001))
        except TimeoutError:
            return False

    async def _pause(self, seconds: float) -> None:
        """Waits so many seconds, or until it is stopped."""
        waits: list[Awaitable[object]] = [self._clock.sleep(seconds), self._stopping.wait()]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    # --- one try -----------------------------------------------------------------------------------

    async def _try(self) -> bool:
        """Acquires or renews once. Upstream: tryAcquireOrRenew."""
        now = self._lock.time(self._clock.now())
        wanted = LeaderRecord(self._identity, int(self._timing.lease), now, now)
        if self._rules.fast_path and self.is_leader and self._valid():
            renewed = msgspec.structs.replace(wanted, acquired=self._seen.acquired, transitions=self._seen.transitions)
            if await self._written(self._lock.update, renewed, "fast path"):
                return True
            self._listener.slowed()
        try:
            record = await self._lock.get()
        except ApiError as error:
            if error.code != 404:
                self._say("reading failed", str(error))
                return False
            return await self._written(self._lock.create, wanted, "creating failed")
        if record != self._seen:
            self._see(record)
        if not self.is_leader:
            self.succeeds = True
            if record.holder and self._valid():
                return False
        if self.is_leader:
            wanted = msgspec.structs.replace(wanted, acquired=record.acquired, transitions=record.transitions)
        else:
            wanted = msgspec.structs.replace(wanted, transitions=record.transitions + 1)
        return await self._written(self._lock.update, wanted, "writing failed")

    async def _written(self, write: Callable[[LeaderRecord], Awaitable[None]], record: LeaderRecord, what: str) -> bool:
        try:
            await write(record)
        except ApiError as error:
            self._say(what, str(error))
            return False
        self._see(record)
        return True

    def _see(self, record: LeaderRecord) -> None:
        """Other machines' clocks never matter: what counts is when we saw it."""
        self._seen, self._seen_at = record, self._clock.monotonic()

    def _valid(self) -> bool:
        """Whether the record last seen still holds."""
        seconds = self._seen.seconds if self._rules.trusts_record else self._timing.lease
        return self._seen_at + seconds > self._clock.monotonic()

    async def _release(self) -> None:
        """Gives the lock back: nobody holds it, for one second. Upstream: 1.36 release; the others keep it."""
        now = self._lock.time(self._clock.now())
        try:
            record = await self._lock.get()
            if record.holder == self._identity:
                await self._lock.update(LeaderRecord("", 1, now, now, record.transitions))
        except ApiError as error:
            self._say("releasing failed", str(error))

    def _say(self, what: str, error: str = "") -> None:
        line = self._rules.log(what, self._lock.name, error)
        if line is not None:
            self._listener.log(line)
