"""Events on their way to an API server that takes its time."""

from __future__ import annotations

import asyncio
import random
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from aiohttp import web

from clusterstate.objects import ObjectMeta, Pod, PodSpec
from kubescheduler.live.events import FINISHED, WRITES, EventBroadcaster, EventSeries, Surface
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import ApiServer
from tests.support.live.live_cluster import StoodClock
from tests.support.processes import SECONDS, until

RULES_1_36 = live_release("1.36").events

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def a_pod(name: str) -> Pod:
    return Pod(ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"), PodSpec())


class Gate:
    """Lets nobody through until it is opened."""

    def __init__(self, io: IoThread, room: int = WRITES) -> None:
        self.waiting, self._room = 0, room
        self.full = threading.Event()
        """Whether so many wait as are written at the same time."""
        self._io = io
        self._open: asyncio.Event | None = None

    async def __call__(self, request: web.Request) -> web.StreamResponse | None:
        if request.path != EVENTS:
            return None
        self._open = self._open or asyncio.Event()
        self.waiting += 1
        if self.waiting == self._room:
            self.full.set()
        await self._open.wait()
        return None

    def open(self) -> None:
        self._io.call(self._open.set)


class Versions:
    """The resourceVersion of all pods, which changes."""

    now = "1"

    def of(self, _: Pod) -> str:
        return self.now


@pytest.fixture
def clock() -> StoodClock:
    return StoodClock()


@pytest.fixture
def versions() -> Versions:
    return Versions()


@pytest.fixture
def broadcaster(io: IoThread, server: ApiServer, clock: StoodClock, versions: Versions) -> Iterator[EventBroadcaster]:
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(0, 0)))
    troubles: list[str] = []
    surface = Surface("host", versions.of)
    made = EventBroadcaster(client, io, RULES_1_36, surface, trouble=troubles.append, clock=clock, rng=random.Random(1))
    io.wait(_begun(made))
    yield made
    made.stop(SECONDS)
    io.wait(client.close())
    assert troubles == []


async def _begun(broadcaster: EventBroadcaster) -> None:
    """Without what is done every few minutes, for which a clock that stands would not wait."""
    broadcaster.tasks = [asyncio.create_task(asyncio.sleep(SECONDS))]


def posted(server: ApiServer) -> list[str]:
    return [one.body["regarding"]["name"] for one in server.asked if one.path == EVENTS and one.method == "POST"]


def test_few_are_written_at_the_same_time(io: IoThread, server: ApiServer, broadcaster: EventBroadcaster) -> None:
    """While the server takes its time over some, the rest wait; none is lost, and they are begun in order."""
    gate = Gate(io)
    server.faults.append(gate)
    recorder = broadcaster.recorder(["default-scheduler"])
    names = [f"p{number}" for number in range(5 * WRITES)]
    for name in names:
        recorder.event(a_pod(name), "Normal", "Scheduled", "Binding", "assigned")
    assert gate.full.wait(SECONDS)
    assert sorted(posted(server)) == sorted(names[:WRITES])
    gate.open()
    until(lambda: len(posted(server)) >= len(names))
    assert sorted(posted(server)) == sorted(names)


def test_what_waits_is_written_at_the_end(
    io: IoThread, server: ApiServer, clock: StoodClock, versions: Versions
) -> None:
    """All of it, and no longer at the pace of the client's limit; what comes then is not taken."""
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(1.0, 1)), clock=clock)
    made = EventBroadcaster(client, io, RULES_1_36, Surface("host", versions.of), trouble=pytest.fail, clock=clock)
    io.wait(_begun(made))
    gate = Gate(io)
    server.faults.append(gate)
    recorder = made.recorder(["default-scheduler"])
    names = [f"p{number}" for number in range(10 * WRITES)]
    for name in names:
        recorder.event(a_pod(name), "Normal", "Scheduled", "Binding", "assigned")
    assert gate.full.wait(SECONDS)
    made.take_no_more()
    recorder.event(a_pod("late"), "Normal", "Scheduled", "Binding", "assigned")
    gate.open()
    made.stop(SECONDS)
    assert sorted(posted(server)) == sorted(names)
    assert len(clock.slept) < WRITES
    io.wait(client.close())


def test_what_cannot_be_written_at_the_end_is_counted(
    io: IoThread, server: ApiServer, clock: StoodClock, versions: Versions
) -> None:
    """A server that does not answer keeps no process from ending, and the log says how many events it cost."""
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(0, 0)))
    troubles: list[str] = []
    made = EventBroadcaster(client, io, RULES_1_36, Surface("host", versions.of), trouble=troubles.append, clock=clock)
    io.wait(_begun(made))
    gate = Gate(io)
    server.faults.append(gate)
    recorder = made.recorder(["default-scheduler"])
    for number in range(2 * WRITES):
        recorder.event(a_pod(f"p{number}"), "Normal", "Scheduled", "Binding", "assigned")
    assert gate.full.wait(SECONDS)
    made.stop(0.0)
    assert troubles == [f'"Events were not written before the end" count={2 * WRITES}']
    gate.open()
    io.wait(client.close())


def test_an_event_that_is_there_already_is_no_fault(
    io: IoThread, server: ApiServer, broadcaster: EventBroadcaster, clock: StoodClock
) -> None:
    """A series whose patch found nothing is created, and by then another may have: the fixture sees no error line."""

    async def refuse(request: web.Request) -> web.StreamResponse | None:
        code = {"PATCH": 404, "POST": 409}.get(request.method) if request.path.startswith(EVENTS) else None
        return None if code is None else web.json_response({}, status=code)

    recorder = broadcaster.recorder(["default-scheduler"])
    for number in range(2):
        recorder.event(a_pod("p"), "Warning", "FailedScheduling", "Scheduling", "no")
        if not number:
            until(lambda: len(posted(server)) >= 1)
            server.faults.append(refuse)
    until(lambda: len(posted(server)) >= 2)
    assert [one.method for one in server.asked if one.path.startswith(EVENTS)] == ["POST", "PATCH", "POST"]


def test_an_event_says_what_was_seen_when_it_was_recorded(
    io: IoThread, server: ApiServer, broadcaster: EventBroadcaster, clock: StoodClock, versions: Versions
) -> None:
    """However late it is written: its time, its name and the version of the pod."""
    gate = Gate(io)
    server.faults.append(gate)
    recorder = broadcaster.recorder(["default-scheduler"])
    for number in range(WRITES):
        recorder.event(a_pod(f"p{number}"), "Normal", "Scheduled", "Binding", "assigned")
    assert gate.full.wait(SECONDS)
    clock.moment, versions.now = 7.0, "7"
    recorder.event(a_pod("last"), "Normal", "Scheduled", "Binding", "assigned")
    clock.moment, versions.now = 99.0, "99"
    gate.open()
    until(lambda: len(posted(server)) >= WRITES + 1)
    event = next(one.body for one in server.asked if one.path == EVENTS and one.body["regarding"]["name"] == "last")
    assert event["eventTime"] == "2026-01-01T00:00:07.000000Z"
    assert event["regarding"]["resourceVersion"] == "7"
    assert event["metadata"]["name"] == f"last.{1767225607 * 10**9:x}"


NAMED_EVENTS = 1000


def an_event(number: int, **members: Any) -> dict[str, Any]:
    return {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": f"pod-{number}.18a4c2f3e5d6b7a8", "namespace": "default"},
        "eventTime": f"2026-01-01T00:00:00.{number:06}Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": "default", "name": f"pod-{number}", "uid": f"uid-{number}"},
        "note": f"Successfully assigned default/pod-{number} to node-1",
        "type": "Normal",
        **members,
    }


def test_an_event_is_remembered_in_little_memory() -> None:
    """There is one for each pod of the last minutes: less than two kilobytes each, whatever else the process holds."""
    series = EventSeries(RULES_1_36)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(NAMED_EVENTS):
            series.record(an_event(number), 0.0)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(series) == NAMED_EVENTS
    assert used < NAMED_EVENTS * 1500


def test_events_are_forgotten() -> None:
    """What did not come again for six minutes makes room."""
    series = EventSeries(RULES_1_36)
    for number in range(NAMED_EVENTS):
        series.record(an_event(number), 0.0)
    assert series.finish(FINISHED) == []
    assert len(series) == NAMED_EVENTS
    assert series.finish(FINISHED + 1) == []
    assert len(series) == 0


def test_a_series_is_of_events_that_are_alike() -> None:
    """Whatever the text and the time; of another reason, or about another object, it is another event."""
    series = EventSeries(RULES_1_36)
    first = series.record(an_event(1), 0.0)
    assert series.record(an_event(1, note="other", eventTime="later"), 1.0) is first
    assert (first.count, first.last_text) == (2, "later")
    assert first.event() == msgspec.json.decode(msgspec.json.encode(an_event(1)))
    for other in (an_event(2), an_event(1, reason="Other"), an_event(1, type="Warning"), an_event(1, related={})):
        found = series.record(other, 1.0)
        assert found.count == 0
