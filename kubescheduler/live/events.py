"""Events about pods and locks: which are the same one again, what each release writes of them, and how they get to the
API server.

Read ``EventBroadcaster`` first. Upstream: eventBroadcasterImpl; for events of core/v1 EventCorrelator.
"""

from __future__ import annotations

import asyncio
import random
import re
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any

import attrs
import msgspec

from clusterstate.objects import Pod
from kubescheduler.live.klog import structured
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import JSON, STRATEGIC_MERGE, ApiClient
from kubescheduler.live.transport.io_thread import IoThread, WallClock

Document = dict[str, Any]

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME = 253


class EventRules(msgspec.Struct, frozen=True, eq=False):
    """How one release writes its events."""

    group_version: str
    """Of the API it asks for; where the server does not have it, core/v1 takes its place."""
    discovery_timeout: str
    """The query of the question whether the server has it."""
    metadata: Mapping[str, Any]
    """What stands in an event's metadata besides name and namespace."""
    source: Callable[[str], Document]
    """Of a controller's name: the member deprecatedSource."""
    first_count: int
    """Of a series, when the event came for the second time."""
    series: Callable[[int, str], Document]
    """Of (count, last time): the member series."""
    by_type: bool
    """Whether events of two types are never one series."""
    name: Callable[[str, int], str]
    """Of (the object's name, nanoseconds since 1970): the event's name."""
    says_related: bool
    """Whether the other object that an event concerns is written; 1.36 loses it."""
    core_component: bool
    """Whether events of core/v1 also say their component as reportingComponent."""


def whole_seconds(moment: datetime) -> str:
    """A moment as Kubernetes' Time."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def plain_name(name: str, nanoseconds: int) -> str:
    """The object's name with the time."""
    return f"{name}.{nanoseconds:x}"


def valid_name(name: str, nanoseconds: int) -> str:
    """The same, or a random one where that is no name that the server takes (1.36)."""
    text = plain_name(name, nanoseconds)
    fits = len(text) <= LONGEST_NAME and SUBDOMAIN.fullmatch(text)
    return text if fits else str(uuid.uuid4())


REFRESH = 30 * 60.0
"""Seconds after which a series that goes on is written anew."""
FINISHED = 6 * 60.0
"""Seconds without anything new after which an event is forgotten, and how often that is looked at."""

ALIKE = ("action", "reason", "reportingController", "reportingInstance", "regarding", "related")
"""Members that events of one series have in common."""


@attrs.define(eq=False)
class KnownEvent:
    """An event that was written. There is one for each pod of the last minutes, so that it is kept short."""

    body: bytes
    """As it was sent."""
    last: float
    """When it came last, by the monotonic clock."""
    last_text: str
    """The same, as MicroTime."""
    count: int = 0
    """Of its series; 0: it came once."""

    def event(self) -> Document:
        """As it was sent."""
        event: Document = msgspec.json.decode(self.body)
        return event


@attrs.define(eq=False)
class EventSeries:
    """The events that may come again. Used on the I/O thread."""

    rules: EventRules
    _known: dict[bytes, KnownEvent] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._known)

    def record(self, event: Document, now: float) -> KnownEvent | None:
        """Takes an event in; what is to be written at once: a new event, or one that became a series. None: nothing.

        now: seconds by the monotonic clock.
        """
        key = self._key(event)
        known = self._known.get(key)
        if known is None:
            self._known[key] = known = KnownEvent(msgspec.json.encode(event), now, event["eventTime"])
            return known
        known.last, known.last_text = now, event["eventTime"]
        if known.count:
            known.count += 1
            return None
        known.count = self.rules.first_count
        return known

    def forget(self, event: Document) -> None:
        """An event that the server refused is not known."""
        self._known.pop(self._key(event), None)

    def running(self) -> list[KnownEvent]:
        """The series, which are written anew every ``REFRESH`` seconds."""
        return [known for known in self._known.values() if known.count]

    def finish(self, now: float) -> list[KnownEvent]:
        """Drops what has not come for long; the series among that, which are written for the last time."""
        over = {key: known for key, known in self._known.items() if known.last < now - FINISHED}
        for key in over:
            del self._known[key]
        return [known for known in over.values() if known.count]

    def patch(self, known: KnownEvent) -> Document:
        """What is sent of a series."""
        return {"series": self.rules.series(known.count, known.last_text)}

    def _key(self, event: Document) -> bytes:
        """Equal for equal events alone, as far as 128 bits can tell."""
        parts = [event.get(part) for part in ALIKE]
        return blake2b(
            msgspec.json.encode([*parts, event["type"] if self.rules.by_type else ""]), digest_size=16
        ).digest()


BURST, REFILL = 25, 1 / 300
"""Events at once of one source and object, and how many more a second."""
SIMILAR, WITHIN = 10, 600.0
"""Events that differ in their text alone are put together after so many within so many seconds."""
COMBINED = "(combined from similar events): "
REMEMBERED = 4096
"""Entries of each table; the oldest is dropped."""


@attrs.define(eq=False)
class EventSpamFilter:
    """Decides what becomes of an event of core/v1. Times are seconds of the monotonic clock."""

    _tokens: OrderedDict[Hashable, tuple[float, float]] = attrs.field(factory=OrderedDict)
    _similar: OrderedDict[Hashable, tuple[set[str], float]] = attrs.field(factory=OrderedDict)
    _written: OrderedDict[Hashable, tuple[str, int, str]] = attrs.field(factory=OrderedDict)

    def passes(self, event: Document, now: float) -> bool:
        """Whether an event is written at all."""
        key = (event["source"].get("component"), _about(event))
        tokens, last = self._tokens.pop(key, (float(BURST), now))
        tokens = min(float(BURST), tokens + (now - last) * REFILL)
        _remember(self._tokens, key, (max(tokens - 1, 0.0) if tokens >= 1 else tokens, now))
        return tokens >= 1

    def correlated(self, event: Document, now: float) -> tuple[Document, str]:
        """(the event to write, the name of the one that it counts up; empty for a new one)."""
        event = self._aggregated(event, now)
        key = (_about(event), event["reason"], event["type"], event["message"])
        name, count, first = self._written.get(key, ("", 0, event["firstTimestamp"]))
        event = {**event, "count": count + 1, "firstTimestamp": first}
        if name:
            event["metadata"] = {**event["metadata"], "name": name}
        _remember(self._written, key, (event["metadata"]["name"], count + 1, first))
        return event, name

    def _aggregated(self, event: Document, now: float) -> Document:
        key = (event["source"].get("component"), _about(event), event["type"], event["reason"])
        texts, last = self._similar.pop(key, (set(), now))
        if now - last > WITHIN:
            texts = set()
        texts = texts | {event["message"]}
        combined = len(texts) > SIMILAR
        _remember(self._similar, key, (set(list(texts)[: SIMILAR + 1]), now))
        return {**event, "message": COMBINED + event["message"]} if combined else event


def _about(event: Document) -> Hashable:
    return tuple(sorted((event.get("involvedObject") or {}).items()))


def _remember(table: OrderedDict[Hashable, Any], key: Hashable, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > REMEMBERED:
        table.popitem(last=False)


WRITES = 64
"""Events that are written at the same time: enough to keep pace with bindings, although each waits for the server's
disk. A client's CONNECTIONS at most."""
WAITING = 50_000
"""Events that wait to be written; what comes on top is dropped. Upstream: DropIfChannelFull, but with a goroutine for
each event that is taken out of the channel."""
TRIES, PAUSE = 12, 10.0
"""Tries for an event whose server cannot be reached, and the seconds between them, times 1 to 1.25."""


class Surface(msgspec.Struct, frozen=True, eq=False):
    """What one process says of itself in its events."""

    host: str
    """The machine's name."""
    version_of: Callable[[Pod], str]
    """The resourceVersion of a pod as it was seen."""


class PodEvent(msgspec.Struct, frozen=True, eq=False):
    """An event about a pod, as it was recorded."""

    controller: str
    """The profile on whose behalf."""
    pod: Pod
    said: Mapping[str, str]
    """type, reason, action and note."""
    related: Pod | None
    """The other pod that it concerns."""
    moment: datetime
    version: str
    """The pod's resourceVersion as it was seen then."""
    related_version: str
    """The same of the other pod."""


@attrs.define(eq=False)
class EventBroadcaster:
    """Writes events beside everything else, begun in the order in which they came."""

    api: ApiClient
    """By which events are written, and nothing else."""
    _io: IoThread
    _rules: EventRules
    _surface: Surface
    _trouble: Callable[[str], None]
    _clock: WallClock = attrs.field(factory=WallClock)
    _rng: random.Random = attrs.field(factory=random.Random)
    _series: EventSeries = attrs.field(init=False, default=attrs.Factory(lambda self: EventSeries(self._rules), True))
    _spam: EventSpamFilter = attrs.field(factory=EventSpamFilter, init=False)
    _waiting: deque[Callable[[], Coroutine[Any, Any, None]]] = attrs.field(factory=deque, init=False)
    _under_way: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    _writing: int = attrs.field(default=0, init=False)
    _core: bool = attrs.field(default=False, init=False)
    tasks: list[asyncio.Task[None]] = attrs.field(factory=list, init=False)
    """What goes on until ``stop``; for the I/O thread."""

    # --- from any thread ---------------------------------------------------------------------------

    def start(self, *, core: bool) -> None:
        """From now on events are written. core: see ``use_core``."""
        self._core = core
        self._io.wait(self._start())

    def use_core(self) -> None:
        """From now on events are of core/v1: the server does not have the release's own API of events."""
        self._core = True

    def use_own(self) -> None:
        """From now on events are those of the release."""
        self._core = False

    def take_no_more(self) -> None:
        """What is recorded from now on is not written; what waits is, without regard to the client's limit."""
        self._io.wait(self._take_no_more())

    def stop(self, seconds: float = 0.0) -> None:
        """What waits is given so many seconds to be written; nothing is after that."""
        self._io.wait(self._stop(seconds))

    def recorder(self, profiles: Sequence[str]) -> PodEventRecorder:
        """Records events about pods on behalf of the profiles of these names."""
        return PodEventRecorder(self, tuple(profiles))

    def about_pod(self, controller: str, pod: Pod, said: Mapping[str, str], related: Pod | None) -> None:
        """An event about a pod. said: type, reason, action and note."""
        version = self._surface.version_of
        seen = PodEvent(
            controller, pod, said, related, self._clock.now(), version(pod), "" if related is None else version(related)
        )
        self._io.call(self._take, partial(self._write_pod, seen, core=self._core))

    def about_lock(self, component: str, lock: Mapping[str, str], reason: str, message: str) -> None:
        """An event of core/v1 about the object that leaders are elected by."""
        said = {"type": "Normal", "reason": reason, "note": message}
        event = self._of_core(component, dict(lock), said, self._clock.now())
        self._io.call(self._take, partial(self._write_core, event))

    # --- what is written -----------------------------------------------------------------------------

    def _event(self, seen: PodEvent) -> Document:
        now, said, controller = seen.moment, seen.said, seen.controller
        rules, meta = self._rules, seen.pod.metadata
        name = rules.name(meta.name, int(now.timestamp() * 1e9))
        event: Document = {
            "kind": "Event",
            "apiVersion": rules.group_version,
            "metadata": {"name": name, "namespace": meta.namespace or "default", **rules.metadata},
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": controller,
            "reportingInstance": f"{controller}-{self._surface.host}",
            "action": said["action"],
            "reason": said["reason"],
            "regarding": _reference(seen.pod, seen.version),
        }
        if seen.related is not None and rules.says_related:
            event["related"] = _reference(seen.related, seen.related_version)
        event |= {"note": said["note"], "type": said["type"], "deprecatedSource": rules.source(controller)}
        return event | {"deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None}

    def _of_core(self, component: str, about: Document, said: Mapping[str, str], now: datetime) -> Document:
        name = self._rules.name(about["name"], int(now.timestamp() * 1e9))
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": about.get("namespace") or "default", **self._rules.metadata},
            "involvedObject": about,
            "reason": said["reason"],
            "message": said["note"],
            "source": {"component": component},
            "firstTimestamp": whole_seconds(now),
            "lastTimestamp": whole_seconds(now),
            "count": 1,
            "type": said["type"],
            "eventTime": None,
            "reportingComponent": component if self._rules.core_component else "",
            "reportingInstance": "",
        }

    # --- on the I/O thread -----------------------------------------------------------------------------

    async def _start(self) -> None:
        every = ((REFRESH, self._refresh), (FINISHED, self._finish))
        self.tasks = [asyncio.create_task(self._every(seconds, work)) for seconds, work in every]

    async def _take_no_more(self) -> None:
        tasks, self.tasks = self.tasks, []
        await _cancel(tasks)
        self.api.bucket.lift()

    async def _stop(self, seconds: float) -> None:
        await self._take_no_more()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._under_way:
                    await asyncio.wait(self._under_way)
        lost = len(self._waiting) + len(self._under_way)
        self._waiting.clear()
        if lost:
            self._trouble(f'"Events were not written before the end" count={lost}')
        await _cancel(list(self._under_way))

    def _take(self, write: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self.tasks and len(self._waiting) < WAITING:
            self._waiting.append(write)
            self._begin()

    def _begin(self) -> None:
        """Writes what waits, as far as there is room for it."""
        while self._waiting and self._writing < WRITES:
            self._writing += 1
            task = asyncio.create_task(self._written(self._waiting.popleft()))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _written(self, write: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await write()
        finally:
            self._give_way()

    def _give_way(self) -> None:
        """Lets another event be written."""
        self._writing -= 1
        self._begin()

    async def _pause(self) -> None:
        """Waits for a server that cannot be reached, without holding up others."""
        self._give_way()
        await self._clock.sleep(PAUSE * (1 + self._rng.random() / 4))
        self._writing += 1

    async def _every(self, seconds: float, work: Callable[[], Any]) -> None:
        while True:
            await self._clock.sleep(seconds)
            await work()

    async def _write_pod(self, seen: PodEvent, *, core: bool) -> None:
        if core:
            about = _reference(seen.pod, seen.version)
            await self._write_core(self._of_core(seen.controller, about, seen.said, seen.moment))
            return
        known = self._series.record(self._event(seen), self._clock.monotonic())
        if known is not None:
            await self._send(known)

    async def _send(self, known: KnownEvent) -> None:
        """A new event is created, a series patched, or created whole where it is gone."""
        event = known.event()
        path = f"/apis/{self._rules.group_version}/namespaces/{event['metadata']['namespace']}/events"
        if known.count:
            patch = self._series.patch(known)
            code = await self._ask("PATCH", f"{path}/{event['metadata']['name']}", patch, STRATEGIC_MERGE, event)
            if code != 404:
                return
            event = {**event, **patch}
        if await self._ask("POST", path, event, JSON, event) not in (0, 409):
            self._series.forget(event)

    async def _write_core(self, event: Document) -> None:
        now = self._clock.monotonic()
        if not self._spam.passes(event, now):
            return
        event, again = self._spam.correlated(event, now)
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        if again:
            patch = {key: event[key] for key in ("count", "lastTimestamp", "message")}
            if await self._ask("PATCH", f"{path}/{again}", patch, STRATEGIC_MERGE, event) != 404:
                return
        await self._ask("POST", path, event, JSON, event)

    async def _ask(self, method: str, path: str, body: Document, content_type: str, event: Document) -> int:
        """0: the server took it; else its status. A server that cannot be reached is asked again, and then given up.

        That an event is there already (409) is no fault: it was created by a request whose answer was lost, or by
        another process after a patch found nothing.
        """
        data = msgspec.json.encode(body)
        for last in (*(False,) * (TRIES - 1), True):
            try:
                await self.api.request(method, path, (), data, content_type)
            except ApiError as error:
                if error.code or last:
                    if error.code != 409 and (error.code != 404 or method == "POST"):
                        name = event["metadata"]["name"]
                        self._trouble(structured("Server rejected event (will not retry!)", err=str(error), event=name))
                    return error.code or -1
                await self._pause()
            else:
                return 0
        return -1

    async def _refresh(self) -> None:
        for known in self._series.running():
            await self._send(known)

    async def _finish(self) -> None:
        for known in self._series.finish(self._clock.monotonic()):
            await self._send(known)


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _reference(pod: Pod, version: str) -> Document:
    """What an event says of a pod. version: empty where it is not known."""
    meta = pod.metadata
    reference = {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid, "apiVersion": "v1"}
    return {**reference, "resourceVersion": version} if version else reference


class PodEventRecorder(msgspec.Struct, frozen=True, eq=False):
    """Records events about pods; each profile is a controller of its own."""

    broadcaster: EventBroadcaster
    profiles: tuple[str, ...]

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str, related: Pod | None = None) -> None:
        """Records an event about a pod. related: the one in whose attempt it happened, where that is another."""
        name = (pod if related is None else related).spec.scheduler_name
        controller = name if name in self.profiles else self.profiles[0]
        said = {"type": type_, "reason": reason, "action": action, "note": note}
        self.broadcaster.about_pod(controller, pod, said, related)
