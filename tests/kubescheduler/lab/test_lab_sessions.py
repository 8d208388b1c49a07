"""Server-sent events."""

from __future__ import annotations

import http.client
import json
import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import force_setattr

from clusterstate.errors import InputError
from kubescheduler.lab.lab_sessions import ServerLimits
from kubescheduler.lab.scene_process import answer_bytes
from tests.support.pages.lab_server import TOKEN, LabServer, PlainScene, lab_server
from tests.support.processes import SECONDS, until


@contextmanager
def stream(server: LabServer, tab: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
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


def test_a_duplicated_tab_is_told_of_changes() -> None:
    """Both pages have one scene; a page that is alone is not told of what it does itself."""

    def edit(scene: PlainScene, _: Mapping[str, Any]) -> dict[str, Any]:
        scene.version += 1
        return {}

    with lab_server({"edit": edit}) as server:
        tab = server.opened()
        with stream(server, tab) as first:
            next_event(first)
            server.ask("edit", tab=tab)
            with stream(server, tab) as second:
                assert next_event(second)["what"] == "hello"
                server.ask("edit", tab=tab)
                assert [next_event(each) for each in (first, second)] == [{"version": 3, "what": "changed"}] * 2


def test_a_dropped_session_is_told() -> None:
    """Then its stream ends."""
    with lab_server({}, limits=ServerLimits(sessions=1)) as server, stream(server, server.opened()) as events:
        next_event(events)
        server.opened()
        assert next_event(events) == {"what": "gone"}
        assert list(lines(events)) == []


@pytest.mark.parametrize(
    ("query", "status"), [("tab=none", 403), ("tab=none&token=x", 403), ("token={token}&token=x", 403)]
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
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        connection.request("GET", f"/api/events?tab={server.opened()}&token={TOKEN}")
        events = connection.getresponse()
        next_event(events)
    assert list(lines(events)) == []
    connection.close()


FORKED = multiprocessing.get_context("fork")
HELD = FORKED.Event()
"""Set: work that is held goes on."""
BEGUN = FORKED.Semaphore(0)
"""Released when work that is held has begun."""


def held(_: PlainScene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Waits as long as the test wants."""
    BEGUN.release()
    assert HELD.wait(SECONDS)
    return {"asked": asked}


def endless(scene: PlainScene, _: Mapping[str, Any]) -> dict[str, Any]:
    """Never ends by itself."""
    BEGUN.release()
    while scene.version:
        continue
    return {}


def faulty(_: PlainScene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Raises what a scene raises, or what it should not."""
    if asked["how"] == "input":
        raise InputError(["one", "two"])
    raise RuntimeError("a secret path: /root")


def edit(scene: PlainScene, _: Mapping[str, Any]) -> dict[str, Any]:
    """A change."""
    scene.version += 1
    return {"text": "done"}


VERBS = {"echo": lambda _, asked: {"asked": asked}, "held": held, "endless": endless, "faulty": faulty, "edit": edit}


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    HELD.clear()
    while BEGUN.acquire(block=False):
        continue
    yield
    HELD.set()


@pytest.fixture
def server() -> Iterator[LabServer]:
    with lab_server(VERBS, limits=ServerLimits(sessions=3, body=2000, impatient=0.05)) as running:
        yield running


def test_a_question_is_answered(server: LabServer) -> None:
    """With the verb's parameters alone, and the scene's version beside the answer."""
    answer = server.ask("echo", tab=server.opened(), side="a", ask="cluster", serial=3)
    assert (answer.status, answer.json) == (200, {"asked": {"side": "a"}, "version": 1})
    assert answer.headers["cache-control"] == "no-store"


def test_tabs_have_scenes_of_their_own(server: LabServer) -> None:
    """An edit in one is none in the other."""
    one, other = server.opened(), server.opened()
    assert server.ask("edit", tab=one).json["version"] == 2
    assert [server.ask("echo", tab=tab).json["version"] for tab in (one, other)] == [2, 1]


WRONG = {
    "no JSON": (b"{", 400),
    "no object": (b"[1]", 400),
    "not UTF-8": (b'{"tab": "\xff"}', 400),
    "nested too deeply": (b'{"a":' + b"[" * 500 + b"]" * 500 + b"}", 400),
    "too large": (b'{"a": "' + b"x" * 2000 + b'"}', 413),
    "a tab that is no text": (b'{"tab": 1}', 400),
    "a serial that is no number": (b'{"tab": "", "serial": "1"}', 400),
}


@pytest.mark.parametrize(("body", "status"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said(server: LabServer, body: bytes, status: int) -> None:
    """A status and problems."""
    answer = server.send("POST", "/api/echo", body)
    assert answer.status == status
    assert all(isinstance(problem, str) for problem in answer.json["problems"])


@pytest.mark.parametrize("body", [b'{"tab": "none"}', b"{}"], ids=["an unknown tab", "no tab"])
def test_a_scene_that_is_not_there_is_an_answer(server: LabServer, body: bytes) -> None:
    """Not a status, which a browser would write on its console."""
    answer = server.send("POST", "/api/echo", body)
    assert (answer.status, answer.json["refused"]) == (200, "tab")
    assert "open it again" in answer.json["problems"][0]


def test_brackets_in_texts_are_not_depth(server: LabServer) -> None:
    """Only lists and objects are nested."""
    text = "[" * 300 + '"'
    assert server.ask("echo", tab=server.opened(), text=text).json["asked"] == {"text": text}


def test_a_question_that_is_no_json_by_its_type_is_refused(server: LabServer) -> None:
    """A form of another page can send such a body, but not such a type."""
    assert server.send("POST", "/api/echo", b"{}", {"Content-Type": "text/plain"}).status == 415


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/api/none", 404), ("GET", "/api/echo", 404), ("DELETE", "/", 405), ("POST", "/", 405)],
)
def test_what_is_not_there(server: LabServer, method: str, path: str, status: int) -> None:
    """Unknown verbs, and methods that nothing has."""
    assert server.send(method, path, b"{}").status == status


def test_faults_of_scenes(server: LabServer) -> None:
    """Every problem of wrong input; of a fault in the program nothing but that there is one."""
    tab = server.opened()
    answer = server.ask("faulty", tab=tab, how="input")
    assert (answer.status, answer.json) == (200, {"refused": "asked", "problems": ["one", "two"]})
    answer = server.ask("faulty", tab=tab, how="else")
    assert (answer.status, answer.json) == (500, {"problems": ["a fault"]})


def test_stale_questions_are_dropped(server: LabServer) -> None:
    """Of several in one slot that wait, the newest is answered, whatever order they arrive in; other slots are not
    concerned."""
    tab = server.opened()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(server.ask, "held", tab=tab)
        assert BEGUN.acquire(timeout=SECONDS)
        old = pool.submit(server.ask, "echo", tab=tab, ask="cluster", serial=1)
        other = pool.submit(server.ask, "echo", tab=tab, ask="why", serial=1)
        until_waiting(server, tab, 2)
        new = pool.submit(server.ask, "echo", tab=tab, ask="cluster", serial=3)
        assert (old.result().status, old.result().json["refused"]) == (200, "superseded")
        assert server.ask("echo", tab=tab, ask="cluster", serial=2).json["refused"] == "superseded"
        HELD.set()
        assert ["refused" in one.result().json for one in (first, other, new)] == [False] * 3


def test_other_tabs_are_answered_meanwhile(server: LabServer) -> None:
    """One long question holds up nobody else."""
    busy, free = server.opened(), server.opened()
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(server.ask, "held", tab=busy)
        assert BEGUN.acquire(timeout=SECONDS)
        assert server.ask("echo", tab=free).status == 200
        HELD.set()
        assert long.result().status == 200


def test_a_question_that_is_superseded_while_it_works_is_stopped(server: LabServer) -> None:
    """The scene is as it was before."""
    tab = server.opened()
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(server.ask, "endless", tab=tab, ask="hints", serial=1)
        assert BEGUN.acquire(timeout=SECONDS)
        until(lambda: worker_of(server, tab).is_slow)  # it has run for longer than a stale question may
        assert server.ask("echo", tab=tab, ask="hints", serial=2).status == 200
        assert long.result().json["refused"] == "superseded"
    assert server.ask("echo", tab=tab).json["version"] == 1


def test_a_question_that_takes_too_long_is_stopped() -> None:
    """It says so, and the tab goes on."""
    with lab_server(VERBS) as server:
        tab = server.opened()
        # For this question alone: a busy machine may take as long to open a tab.
        force_setattr(server.application._asked, "limits", ServerLimits(answering=0.2))
        answer = server.ask("endless", tab=tab)
        force_setattr(server.application._asked, "limits", ServerLimits())
        assert answer.status == 503
        assert "too long" in answer.json["problems"][0]
        assert server.ask("echo", tab=tab).status == 200


def test_the_tab_that_was_idle_longest_makes_room(server: LabServer) -> None:
    """Its next question finds no scene; the others are kept."""
    first, second, third = (server.opened() for _ in range(3))
    assert server.ask("echo", tab=first).status == 200
    fourth = server.opened()
    kept = ["refused" not in server.ask("echo", tab=tab).json for tab in (first, second, third, fourth)]
    assert kept == [True, False, True, True]


def test_a_scene_that_cannot_be_opened_is_no_session() -> None:
    """Its problems are said."""

    def fail() -> PlainScene:
        raise InputError("there is no such scene")

    with lab_server({}, fail) as server:
        answer = server.ask("open", **{"from": "start"})
        assert (answer.status, answer.json) == (200, {"refused": "asked", "problems": ["there is no such scene"]})
        assert len(server.application.sessions) == 0


def test_too_much_at_once_is_refused() -> None:
    """Questions that wait are bounded."""
    with lab_server(VERBS, limits=ServerLimits(waiting=1)) as server, ThreadPoolExecutor(2) as pool:
        tab = server.opened()
        pool.submit(server.ask, "held", tab=tab)
        assert BEGUN.acquire(timeout=SECONDS)
        pool.submit(server.ask, "echo", tab=tab)
        until_waiting(server, tab, 1)
        assert server.ask("echo", tab=tab).status == 503
        HELD.set()


def test_a_body_that_is_longer_than_it_says(server: LabServer) -> None:
    """In pieces, without a length, it is limited as well."""
    sent = json.dumps({"a": "x" * 3000}).encode()
    pieces = b"%x\r\n%s\r\n0\r\n\r\n" % (len(sent), sent)
    answer = server.send("POST", "/api/echo", None, {"Transfer-Encoding": "chunked"}, after=pieces)
    assert answer.status == 413


@pytest.mark.parametrize(
    ("number", "sent"),
    [(2**53 - 1, 2**53 - 1), (-(2**53) + 1, -(2**53) + 1), (2**53, str(2**53)), (-(2**63), str(-(2**63)))],
    ids=["the largest that is exact", "the smallest that is exact", "one more", "the least score"],
)
def test_numbers_that_a_browser_would_round_are_sent_as_text(number: int, sent: Any) -> None:
    """Wherever they stand; texts with many digits stay as they are."""
    answer = msgspec.json.decode(answer_bytes({"nodes": [{"total": number}], "text": "12345678901234567890"}))
    assert answer == {"nodes": [{"total": sent}], "text": "12345678901234567890"}


def worker_of(server: LabServer, tab: str) -> Any:
    session = server.application.sessions.find(tab)
    return session.worker


def until_waiting(server: LabServer, tab: str, count: int) -> None:
    """Until so many questions of the tab wait behind the one that runs."""
    until(lambda: worker_of(server, tab).waiting >= count)
