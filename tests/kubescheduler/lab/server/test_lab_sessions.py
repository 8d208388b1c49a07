"""Server-sent events."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.lab.server.lab_sessions import ServerLimits
from tests.support.pages.lab_server import TOKEN, LabServer, PlainScene, lab_server


@contextmanager
def stream(server: LabServer, tab: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request("GET", f"/api/events?tab={tab}&token={TOKEN}")
        yield connection.getresponse()
    finally:
        connection.close()


def lines(events: http.client.HTTPResponse) -> Iterator[str]:
    """What is written, but for empty lines."""
    while line := events.readline():
        if line.strip():
            yield line.decode().strip()


def next_event(events: http.client.HTTPResponse) -> Any:
    return next(json.loads(line.removeprefix("data: ")) for line in lines(events) if line.startswith("data: "))


def test_a_stream_begins_with_the_version() -> None:
    """So that a page that was away sees that it missed something."""
    with lab_server({}) as server, stream(server, server.opened()) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        assert events.headers["cache-control"] == "no-store"
        assert next_event(events) == {"version": 1, "what": "hello"}


def test_a_silent_stream_shows_that_it_lives() -> None:
    """By comments."""
    with lab_server({}, limits=ServerLimits(heartbeat=0.01)) as server, stream(server, server.opened()) as events:
        written = lines(events)
        assert [next(written) for _ in range(4)][2:] == [": still here", ": still here"]


def test_a_file_that_is_saved_is_told(tmp_path: Path) -> None:
    """With the version, and what is wrong with it."""
    file = tmp_path / "plugin.py"
    file.write_text("good")
    scene = PlainScene(files=(file,), problems=("line 1: not good",))
    with lab_server({}, lambda: scene, limits=ServerLimits(watching=0.01)) as server:
        tab = server.opened()
        with stream(server, tab) as events:
            next_event(events)
            file.write_text("no longer good")
            assert next_event(events) == {"version": 2, "what": "plugin", "problems": ["line 1: not good"]}


def test_a_dropped_session_is_told() -> None:
    """Then its stream ends."""
    with lab_server({}, limits=ServerLimits(sessions=1)) as server, stream(server, server.opened()) as events:
        next_event(events)
        server.opened()
        assert next_event(events) == {"what": "gone"}
        assert list(lines(events)) == []


@pytest.mark.parametrize(
    ("query", "status"),
    [("tab=none", 403), ("tab=none&token=x", 403), ("token={token}&token=x", 403)],
)
def test_streams_that_are_refused(query: str, status: int) -> None:
    """Without the token, for a known tab or an unknown one."""
    with lab_server({}) as server:
        path = f"/api/events?{query.format(token=TOKEN)}"
        assert server.send("GET", path, headers={"X-Lab-Token": None}).status == status


def test_the_stream_of_an_unknown_tab_says_that_it_is_gone() -> None:
    """And ends: a browser that connects after its scene was dropped hears why it hears no more."""
    with lab_server({}) as server, stream(server, "none") as events:
        assert events.status == 200
        assert next_event(events) == {"what": "gone"}
        assert list(lines(events)) == []


def test_streams_of_a_tab_are_bounded() -> None:
    """The next is refused."""
    with lab_server({}, limits=ServerLimits(streams=1)) as server:
        tab = server.opened()
        with stream(server, tab) as events:
            next_event(events)
            assert server.send("GET", f"/api/events?tab={tab}").status == 429


def test_the_server_ends_with_a_stream_open() -> None:
    """The stream just ends."""
    with lab_server({}) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", f"/api/events?tab={server.opened()}&token={TOKEN}")
        events = connection.getresponse()
        next_event(events)
    assert list(lines(events)) == []
    connection.close()
