"""From what happens to events on the API server."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.live.recording.event_rules import (
    FINISHED,
    REFRESH,
    Document,
    EventRules,
    EventSeries,
    EventSpamFilter,
    KnownEvent,
    micro_time,
    whole_seconds,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import JSON, STRATEGIC_MERGE, ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.wall_clock import WallClock

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


class EventBroadcaster:
    """Writes events beside everything else, begun in the order in which they came."""

    def __init__(
        self,
        api: ApiClient,
        io: IoThread,
        rules: EventRules,
        surface: Surface,
        *,
        trouble: Callable[[str], None],
        clock: WallClock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.api = api
        """By which events are written, and nothing else."""
        self._io = io
        self._rules = rules
        self._surface = surface
        self._trouble = trouble
        self._clock = clock or WallClock()
        self._rng = random.Random() if rng is None else rng
        self._series = EventSeries(rules)
        self._spam = EventSpamFilter()
        self._waiting: deque[Callable[[], Coroutine[Any, Any, None]]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._writing = 0
        self._core = False
        self.tasks: list[asyncio.Task[None]] = []
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
            "eventTime": micro_time(now),
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
                        self._trouble(f'"Server rejected event (will not retry!)" err="{error}" event="{name}"')
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
