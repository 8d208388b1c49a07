"""Lists and watches against a server: everything arrives, once and in order, whatever breaks."""

from __future__ import annotations

import gc
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from clusterstate.manifests.decode import Decoder, Item
from clusterstate.objects import Pod
from kubescheduler.live.informer_rules import InformerRules
from kubescheduler.live.informers import Informers, ServerOutage, ServerOutages
from kubescheduler.live.stored_objects import Inbox, Key, RawObjects, Stored, StoredObjects
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import IN_PROCESS, ApiServer, FrontServer
from tests.support.apiserver.front_server import hanging_watches, lost
from tests.support.live.live_cluster import HastyClock, StoodClock
from tests.support.processes import SECONDS

RULES_1_16 = live_release("1.16").informers
RULES_1_20 = live_release("1.20").informers
RULES_1_36 = live_release("1.36").informers

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"

RULES = pytest.mark.parametrize(
    "rules",
    [pytest.param(RULES_1_16, id="1.16"), pytest.param(RULES_1_20, id="1.20"), pytest.param(RULES_1_36, id="1.36")],
)


def a_pod(name: str, **status: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec, "status": status}


class CountedOutage(ServerOutage):
    """Counts the tries that failed."""

    tries = 0

    def failed(self, error: ApiError, text: str) -> None:
        self.tries += 1
        super().failed(error, text)


class Reading:
    """Running informers, and what they have delivered."""

    def __init__(self, api: ApiClient, io: IoThread, rules: InformerRules) -> None:
        self.inbox = Inbox()
        self.troubles: list[str] = []
        clock = HastyClock()
        self.outage = CountedOutage(clock, self.troubles.append, self.troubles.append)
        self.informers = Informers(
            api, io, rules, self.inbox.put, outage=self.outage, clock=clock, rng=random.Random(1)
        )
        self.known: dict[tuple[str, str], str] = {}
        """(kind, name) → uid, as the changes say."""
        self.order: list[str] = []
        """What happened to pods."""

    def take(self) -> None:
        for change in self.inbox.take():
            obj = change.new or change.old
            key = (change.kind, obj.metadata.name)
            if change.new is None:
                assert self.known.pop(key, None) is not None, f"{key} went twice"
            else:
                self.known[key] = obj.metadata.uid
            if change.kind == "Pod":
                sign = "-" if change.new is None else ("+" if change.old is None else "=")
                self.order.append(sign + obj.metadata.name)

    def until(self, holds: Callable[[], bool]) -> None:
        """Takes changes until something holds."""
        for _ in range(int(SECONDS * 100)):
            self.take()
            if holds():
                return
            self.inbox.wait(0.01)
        raise AssertionError(f"it never came to hold: {self.known} {self.troubles}")

    @property
    def pods(self) -> set[str]:
        return {name for kind, name in self.known if kind == "Pod"}


@contextmanager
def reading(api: ApiClient, io: IoThread, rules: InformerRules) -> Iterator[Reading]:
    found = Reading(api, io, rules)
    found.informers.start()
    try:
        assert found.informers.synced.wait(SECONDS)
        yield found
    finally:
        found.informers.stop()


@RULES
def test_everything_arrives(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """What is there at the start, what comes, changes (a may while it goes) and goes; ended pods are not there."""
    api_server.storage.create(PODS, "default", a_pod("a"))
    api_server.storage.create(PODS, "default", a_pod("done", phase="Succeeded"))
    with reading(api, io, rules) as found:
        found.take()
        assert found.order == ["+a"]
        api_server.storage.create(PODS, "default", a_pod("b"))
        api_server.storage.change(PODS, "default", "b", lambda pod: pod["spec"].update(nodeName="n"))
        api_server.storage.change(PODS, "default", "b", lambda pod: pod["status"].update(phase="Failed"))
        api_server.storage.delete(PODS, "default", "a")
        found.until(lambda: [one for one in found.order if one != "=a"] == ["+a", "+b", "=b", "-b", "-a"])
    assert found.troubles == []


def test_an_object_is_let_go_when_it_has_changed(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """What a stream told first is not kept for as long as it goes on, which would be each pod twice."""
    api_server.storage.create(PODS, "default", a_pod("a"))
    with reading(api, io, RULES_1_36) as found:
        first = next(change.new for change in found.inbox.take() if change.kind == "Pod")
        api_server.storage.change(PODS, "default", "a", lambda pod: pod["spec"].update(nodeName="n"))
        found.until(lambda: "=a" in found.order)
        assert [one for one in gc.get_referrers(first) if isinstance(one, Stored)] == []


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        pytest.param(RULES_1_16, True, id="1.16, which writes pods whole"),
        pytest.param(RULES_1_20, True, id="1.20"),
        pytest.param(RULES_1_36, False, id="1.36"),
    ],
)
def test_who_wrote_which_field(
    io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules, kept: bool
) -> None:
    """It is half of a pod's memory, and 1.36 does without."""
    pod = a_pod("a")
    pod["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update"}]
    api_server.storage.create(PODS, "default", pod)
    with reading(api, io, rules) as found:
        obj = next(change.new for change in found.inbox.take() if change.kind == "Pod")
    assert isinstance(obj, Pod)
    assert obj.manifest is not None
    assert obj.manifest["metadata"]["name"] == "a"
    assert ("managedFields" in obj.manifest["metadata"]) is kept


def test_requests_of_1_36(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """One stream a kind that tells everything first, and goes on."""
    with reading(api, io, RULES_1_36):
        pass
    asked = [one.path for one in api_server.asked if one.path.startswith(f"{PODS}?")]
    selector = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
    assert len(asked) == 1
    head, _, tail = asked[0].partition("&timeout=")
    assert head == (
        f"{PODS}?allowWatchBookmarks=true&{selector}&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
    )
    assert tail.endswith("&watch=true")
    assert len({one.path.partition("?")[0] for one in api_server.asked}) == len(RULES_1_36.kinds)


def test_requests_of_1_16(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """A list from the server's cache, then a watch; groups that are gone are found where they are today."""
    with reading(api, io, RULES_1_16) as found:
        api_server.storage.create(PODS, "default", a_pod("a"))
        found.until(lambda: found.pods == {"a"})
    asked = [one.path for one in api_server.asked if one.path.startswith(f"{PODS}?")]
    selector = "fieldSelector=status.phase%21%3DFailed%2Cstatus.phase%21%3DSucceeded"
    assert asked[0] == f"{PODS}?{selector}&limit=500&resourceVersion=0"
    assert re.match(rf".*[?]allowWatchBookmarks=true&{selector}&resourceVersion=\d+&timeoutSeconds=", asked[1])


def test_groups_that_are_gone(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """1.16's beta groups are not on a server of today."""
    if isinstance(api_server, ApiServer):
        api_server.groups = ("v1", "apps/v1", "storage.k8s.io/v1", "policy/v1")
    with reading(api, io, RULES_1_16):
        asked = {one.path.partition("?")[0] for one in api_server.asked}
    assert {"/apis/policy/v1beta1/poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets"} <= asked


def test_kinds_that_are_not_served(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """There is none of them, which is said once, and all else is read, in older groups where these are there."""
    if not isinstance(api_server, ApiServer):
        pytest.skip("a real server has its groups")
    api_server.groups = ("v1", "apps/v1", "storage.k8s.io/v1", "policy/v1beta1")
    with reading(api, io, RULES_1_36) as found:
        kinds = ("DeviceClass", "ResourceClaim", "ResourceSlice")
        assert sorted(found.troubles) == [f"The API server has no {kind}: none is read" for kind in kinds]
        api_server.storage.create(PODS, "default", a_pod("a"))
        found.until(lambda: found.pods == {"a"})
    assert "/apis/policy/v1beta1/poddisruptionbudgets" in {one.path.partition("?")[0] for one in api_server.asked}


@RULES
def test_cut_streams(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """Streams that break again and again lose nothing and tell nothing twice."""
    with reading(api, io, rules) as found:
        for number in range(30):
            api_server.storage.create(PODS, "default", a_pod(f"p{number}"))
            if number % 3 == 0:
                api_server.cut()
            if number % 5 == 4:
                api_server.storage.delete(PODS, "default", f"p{number - 2}")
        left = {f"p{number}" for number in range(30) if number % 5 != 2}
        found.until(lambda: found.pods == left)


def test_a_stream_that_never_tells_everything(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """1.36 lists where streams break before their initial events are all there."""
    api_server.storage.create(PODS, "default", a_pod("a"))

    async def breaks(request: web.Request) -> web.StreamResponse | None:
        if "sendInitialEvents" not in request.query:
            return None
        response = web.StreamResponse()
        await response.prepare(request)
        return lost(request)

    api_server.faults.append(breaks)
    with reading(api, io, RULES_1_36) as found:
        api_server.storage.create(PODS, "default", a_pod("b"))
        found.until(lambda: found.pods == {"a", "b"})


def test_cut_streams_go_on(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """A stream that breaks at once, again and again, goes on from where it was: nothing is read anew."""
    with reading(api, io, RULES_1_36) as found:
        for number in range(10):
            watches = len(watches_of_pods(api_server))
            found.until(lambda watches=watches: api_server.cut() or len(watches_of_pods(api_server)) > watches)  # type: ignore[misc]
            if number % 4 == 3:
                api_server.storage.create(PODS, "default", a_pod(f"p{number}"))
        found.until(lambda: found.pods == {"p3", "p7"})
    assert len([path for path in watches_of_pods(api_server) if "sendInitialEvents" in path]) == 1


@RULES
def test_the_newest_state(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """A watch that hangs is given up for a new reading; what it had not told is known then."""
    with reading(api, io, rules) as found:
        watches = len(watches_of_pods(api_server))
        api_server.faults.append(hanging_watches(PODS))
        api_server.cut()
        found.until(lambda: len(watches_of_pods(api_server)) > watches)
        api_server.storage.create(PODS, "default", a_pod("a"))
        io.wait(found.informers.reach_newest("Pod", "Node"), SECONDS)
        found.take()
        assert found.pods == {"a"}
        api_server.faults.clear()


@IN_PROCESS
@RULES
def test_the_newest_state_is_known(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """Nothing is read anew where a watch has told everything."""
    with reading(api, io, rules) as found:
        api_server.storage.create(PODS, "default", a_pod("a"))
        found.until(lambda: found.pods == {"a"})
        watches = watches_of_pods(api_server)
        io.wait(found.informers.reach_newest("Pod"), SECONDS)
        assert [path for path in watches_of_pods(api_server) if "watch=true" in path] == [
            path for path in watches if "watch=true" in path
        ]


def watches_of_pods(server: FrontServer) -> list[str]:
    return [one.path for one in list(server.asked) if one.path.startswith(f"{PODS}?")]


@RULES
def test_an_expired_version(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """410: everything is read anew; what went meanwhile is found to be gone."""
    api_server.storage.create(PODS, "default", a_pod("a"))
    api_server.storage.create(PODS, "default", a_pod("b"))
    with reading(api, io, rules) as found:
        api_server.faults.append(refuses(503))
        api_server.cut()
        api_server.storage.delete(PODS, "default", "a")
        api_server.storage.create(PODS, "default", a_pod("c"))
        api_server.storage.compact()
        api_server.faults.clear()
        found.until(lambda: found.pods == {"b", "c"})


@RULES
def test_a_server_that_restarts(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """Refused connections are tried again; what is known is kept."""
    api_server.storage.create(PODS, "default", a_pod("a"))
    with reading(api, io, rules) as found:
        port = int(api_server.url.rpartition(":")[2])
        api_server.stop()
        api_server.storage.create(PODS, "default", a_pod("b"))
        api_server.start(port)
        found.until(lambda: found.pods == {"a", "b"})
        assert "-a" not in found.order


@RULES
def test_an_outage_is_logged_once(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """Not by every informer at every try; and once more when the server is back. A try from before may end then, or be
    answered after others were refused."""
    with reading(api, io, rules) as found:
        port = int(api_server.url.rpartition(":")[2])
        api_server.stop()
        found.until(lambda: found.outage.tries > 3 * len(rules.kinds))
        assert len(found.troubles) < len(rules.kinds)
        assert found.troubles[0].startswith("The API server cannot be reached; asking it again until it answers: Get ")
        api_server.start(port)
        found.until(lambda: found.troubles[-1].startswith("The API server answers again, after "))
        api_server.storage.create(PODS, "default", a_pod("a"))
        found.until(lambda: found.pods == {"a"})
    assert [text.startswith("The API server cannot be reached") for text in found.troubles] == [
        number % 2 == 0 for number in range(len(found.troubles))
    ]


@RULES
def test_a_kind_that_is_refused(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """What the server says of a single kind is logged at every try, beside all outages."""
    refused = api_server.faults
    refused.append(forbids(NODES))
    found = Reading(api, io, rules)
    found.informers.start()
    try:
        found.until(lambda: len(found.troubles) >= 3)
        refused.clear()
        assert found.informers.synced.wait(SECONDS)
    finally:
        found.informers.stop()
    assert set(found.troubles) == {rules.trouble("Node", "the server does not allow access to the requested resource")}


def test_a_server_without_watch_list(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """1.36 lists page by page where streams are refused."""
    for number in range(1200):
        api_server.storage.create(PODS, "default", a_pod(f"p{number}"))

    async def no_stream(request: web.Request) -> web.Response | None:
        return web.Response(status=400) if "sendInitialEvents" in request.query else None

    api_server.faults.append(no_stream)
    with reading(api, io, RULES_1_36) as found:
        found.take()
        assert len(found.pods) == 1200
        api_server.storage.create(PODS, "default", a_pod("new"))
        found.until(lambda: "new" in found.pods)


@IN_PROCESS
@RULES
def test_an_unreadable_object(io: IoThread, api: ApiClient, api_server: FrontServer, rules: InformerRules) -> None:
    """One object that cannot be read is reported, and the others are read all the same."""
    api_server.storage.create(NODES, "", {"metadata": {"name": "bad"}, "status": {"allocatable": {"cpu": "much"}}})
    api_server.storage.create(NODES, "", {"metadata": {"name": "good"}})
    with reading(api, io, rules) as found:
        found.take()
        assert ("Node", "good") in found.known
        assert ("Node", "bad") not in found.known
        assert any("bad" in text and "cpu" in text for text in found.troubles)


@IN_PROCESS
def test_events_that_are_no_json(io: IoThread, api: ApiClient, api_server: FrontServer) -> None:
    """A first stream whose lines cannot be read is reported, and pages of a list are read instead."""
    api_server.faults.append(garbles(PODS))
    api_server.storage.create(PODS, "default", a_pod("a"))
    with reading(api, io, RULES_1_36) as found:
        found.take()
        assert found.pods == {"a"}
        api_server.storage.create(PODS, "default", a_pod("b"))
        found.until(lambda: "b" in found.pods)
        assert any("not readable" in text for text in found.troubles)


@IN_PROCESS
@RULES
def test_an_error_that_nobody_foresaw(
    io: IoThread, api: ApiClient, monkeypatch: pytest.MonkeyPatch, rules: InformerRules
) -> None:
    """It is reported, and everything is read all the same, after a pause."""
    request, watch, left = api.request, api.watch, ["request", "watch"]

    def raising(name: str, asks: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            if name in left:
                left.remove(name)
                raise LookupError(name)
            return asks(*arguments)

        return asked

    monkeypatch.setattr(api, "request", raising("request", request))
    monkeypatch.setattr(api, "watch", raising("watch", watch))
    with reading(api, io, rules) as found:
        found.until(lambda: any("LookupError: watch" in text for text in found.troubles))


def garbles(path: str) -> Callable[[web.Request], Any]:
    """A fault: streams that tell everything first are no JSON."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.path != path or "sendInitialEvents" not in request.query:
            return None
        return web.Response(body=b"<html>\n</html>\n")

    return answer


def forbids(path: str) -> Callable[[web.Request], Any]:
    """A fault: nobody may read a collection."""

    async def answer(request: web.Request) -> web.Response | None:
        return web.Response(status=403) if request.path == path else None

    return answer


def refuses(code: int) -> Callable[[web.Request], Any]:
    """A fault: every request is refused."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=code)

    return answer


GONE = ApiError("Get /a: refused", unanswered=True)
FORBIDDEN = ApiError("pods is forbidden", 403, "Forbidden")
HERE, THERE = "http://here", "http://there"


class Logged:
    """The outages of a process, and its log."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.clock = StoodClock()
        self.outages = ServerOutages(
            self.clock, lambda text: self.lines.append(f"E {text}"), lambda text: self.lines.append(f"I {text}")
        )

    def taken(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def test_one_line_as_it_begins_and_one_as_it_ends() -> None:
    """However many informers try in vain, and however often."""
    logged = Logged()
    logged.outages.of(HERE).answered()
    for _ in range(20):
        logged.outages.of(HERE).failed(GONE, "of one kind")
        logged.clock.moment += 0.5
    logged.outages.of(HERE).answered()
    logged.outages.of(HERE).answered()
    assert logged.taken() == [
        "E The API server cannot be reached; asking it again until it answers: Get /a: refused",
        "I The API server answers again, after 10.0 s",
    ]
    logged.outages.of(HERE).failed(GONE, "of one kind")
    assert len(logged.taken()) == 1


def test_refusals_are_always_logged() -> None:
    """In the release's words, also while others get no answer; they end no outage."""
    logged = Logged()
    for error in (FORBIDDEN, GONE, FORBIDDEN, GONE, FORBIDDEN):
        logged.outages.of(HERE).failed(error, "Failed to list *v1.Pod: pods is forbidden")
    assert [line[:16] for line in logged.taken()] == ["E Failed to list", "E The API server", *["E Failed to list"] * 2]


def test_servers_have_outages_of_their_own() -> None:
    """One that answers says nothing of another one."""
    logged = Logged()
    logged.outages.of(HERE).failed(GONE, "of one kind")
    logged.outages.of(THERE).answered()
    logged.outages.of(THERE).failed(GONE, "of one kind")
    assert len(logged.taken()) == 2


class CountingDecoder(Decoder):
    """Counts what it decodes."""

    decoded = 0

    def decode_item(self, item: Item, *, keep_manifest: bool = False) -> Any:
        type(self).decoded += 1
        return super().decode_item(item, keep_manifest=keep_manifest)


def raw(name: str, version: str, uid: str = "u") -> msgspec.Raw:
    meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": version}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return msgspec.Raw(json.dumps({"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}).encode())


@pytest.mark.parametrize(
    ("again", "decoded", "changes"),
    [
        pytest.param([raw("a", "1"), raw("b", "2")], 0, [], id="as they were"),
        pytest.param([raw("a", "1"), raw("b", "3")], 1, ["=b"], id="changed"),
        pytest.param([raw("a", "1", uid="w"), raw("b", "2")], 1, ["=a"], id="another of the same name and version"),
        pytest.param([raw("b", "2"), raw("c", "4")], 1, ["+c", "-a"], id="one came and one went"),
    ],
)
def test_what_is_read_again(again: list[msgspec.Raw], decoded: int, changes: list[str]) -> None:
    """Only objects at another version are decoded, and only they are reported, with what is gone."""
    decoder = type("Counting", (CountingDecoder,), {"decoded": 0})()
    objects, store = RawObjects("Pod", decoder, pytest.fail), StoredObjects("Pod")
    store.replace(read for one in (raw("a", "1"), raw("b", "2")) if (read := objects.read(one)) is not None)
    type(decoder).decoded = 0
    found = [read for one in again if (read := objects.read(one, store.get)) is not None]
    told = []
    for change in store.replace(found):
        sign = "-" if change.new is None else ("+" if change.old is None else "=")
        told.append(sign + (change.old if change.new is None else change.new).metadata.name)
    assert (type(decoder).decoded, told) == (decoded, changes)
    assert len(store) == 2


def test_what_stays_is_never_missing() -> None:
    """Another thread that looks an object up while everything is replaced finds it: it would take it for deleted."""
    objects, store = RawObjects("Pod", Decoder(), pytest.fail), StoredObjects("Pod")
    found = [read for name in "abc" if (read := objects.read(raw(name, "1"))) is not None]
    store.replace(found)

    def replacing() -> Iterator[tuple[Key, Stored]]:
        for read in found[:2]:
            assert [store.get(*key) is not None for key, _ in found] == [True] * 3
            assert len(list(store)) == 3
            yield read

    assert [change.new for change in store.replace(replacing())] == [None]
    assert len(store) == 2


def test_an_object_that_nobody_foresaw() -> None:
    """Whatever the decoder raises, the object is reported and left out, and the informer goes on."""

    class Failing(Decoder):
        def decode_item(self, item: Item, *, keep_manifest: bool = False) -> Any:
            raise OverflowError("too large")

    troubles: list[str] = []
    assert RawObjects("Pod", Failing(), troubles.append).read(raw("a", "1")) is None
    assert troubles == ["an object of kind Pod cannot be read: OverflowError: too large"]
