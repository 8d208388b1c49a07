"""HTTP extenders, good, broken, lying and dead, asked over real sockets."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from clusterstate.objects import Container, FrozenMap, Node, ObjectMeta, Pod, PodSpec
from kubescheduler.extender import transport
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig, ManagedResource
from kubescheduler.extender.wire import WireFormat
from kubescheduler.releases.lookup import release_named
from tests.support.custom.extender_asking import MS, NAMES, NODES, POD, Asking, error_of, node

WIRE_1_4, WIRE_1_16, WIRE_1_20, WIRE_1_36 = (release_named(name).wire for name in ("1.4", "1.16", "1.20", "1.36"))
BOTH = pytest.mark.parametrize("wire", [WIRE_1_20, WIRE_1_36], ids=["1.20", "1.36"])


# --- filter ----------------------------------------------------------------------------------


@pytest.mark.parametrize("by_name", [False, True], ids=["objects", "names"])
@pytest.mark.parametrize(
    ("behaviour", "nodes", "failed"),
    [
        ("good", NAMES, {}),
        ("refuse", ("n2",), {"n0": "not here"}),
        ("double", ("n2", "n1", "n0", "n0", "n1", "n2"), {}),
        ("shout", ("n1",), {"n0": "no"}),
        ("null", (), {}),
        ("nulls", (), {}),
        ("object", (), {}),
        ("null-message", (), {"n1": ""}),
        ("trailing", NAMES, {}),
        ("nameless/objects", ("", ""), {}),
    ],
)
def test_filter_answers(
    asking: Asking, behaviour: str, nodes: tuple[str, ...], failed: dict[str, str], by_name: bool
) -> None:
    """The answer's list stands as it came, in its order, whatever the case of its members."""
    result = asking(behaviour, node_cache_capable=by_name).filter(POD, NODES)
    assert (result.nodes, result.failed) == (nodes, failed)


def test_filter_keeps_answered_objects(asking: Asking) -> None:
    """Nodes answered as objects are at hand as JSON, one for each name."""
    objects = asking("unknown").filter(POD, NODES).objects
    assert objects is not None
    assert [msgspec.json.decode(o)["metadata"]["name"] for o in objects] == ["n0", "n1", "n2", "ghost"]
    assert asking("good", node_cache_capable=True).filter(POD, NODES).objects is None


def test_unknown_name_is_an_error(asking: Asking) -> None:
    """A name outside the given nodes, or outside the known ones, is refused with the release's text."""
    lying = asking("unknown", node_cache_capable=True)
    text = f'extender "{lying.name}" claims a filtered node "ghost" which is not found in nodeNameToInfo map'
    assert error_of(lying.filter, POD, NODES) == text
    assert lying.filter(POD, NODES, known={*NAMES, "ghost"}).nodes == (*NAMES, "ghost")


def test_no_verb_no_call() -> None:
    """An empty verb asks nobody: filter keeps all nodes, prioritize scores none, bind is refused."""
    silent = HTTPExtender(ExtenderConfig("http://127.0.0.1:1"), WIRE_1_16)
    assert silent.filter(POD, NODES).nodes == NAMES
    assert silent.prioritize(POD, NODES) == []
    assert error_of(silent.bind, POD, "n0") == "unexpected empty bindVerb in extender"


@pytest.mark.parametrize("by_name", [False, True], ids=["objects", "names"])
@pytest.mark.parametrize(
    "behaviour", ["list", "number", "numbers", "nodes-list", "bad-failed", "bad-error", "garbage", "html", "deep"]
)
def test_unreadable_filter_answers(asking: Asking, behaviour: str, by_name: bool) -> None:
    """An answer of the wrong shape is an extender error that says so."""
    liar = asking(behaviour, node_cache_capable=by_name)
    assert error_of(liar.filter, POD, NODES).startswith("cannot read the extender's answer: ")


# --- texts of failures -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ("error", "95%!f(MISSING)ull"),
        ("empty", "EOF"),
        ("blank", "EOF"),
        ("latin", "caf\N{REPLACEMENT CHARACTER}"),
        ("chunked", "in parts"),
        ("500", "Failed filter with extender at URL {}/500/filter, code 500"),
        ("404", "Failed filter with extender at URL {}/404/filter, code 404"),
        ("201", "Failed filter with extender at URL {}/201/filter, code 201"),
        ("hang-up", 'Post "{}/hang-up/filter": Remote end closed connection without response'),
        ("slow", 'Post "{}/slow/filter": no complete answer within 0.2 s (httpTimeout)'),
        ("drip-body", 'Post "{}/drip-body/filter": no complete answer within 0.2 s (httpTimeout)'),
        ("drip-headers", 'Post "{}/drip-headers/filter": no complete answer within 0.2 s (httpTimeout)'),
    ],
)
def test_failure_texts(asking: Asking, behaviour: str, text: str) -> None:
    """Refusals, refused statuses and broken exchanges have these texts; a drip is cut off too."""
    limit: dict[str, Any] = {"http_timeout_ns": 200 * MS} if "httpTimeout" in text else {}
    broken = asking(behaviour, **limit)
    assert error_of(broken.filter, POD, NODES) == text.format(asking.address)


@pytest.mark.parametrize("behaviour", ["truncated", "not-http"])
def test_broken_exchanges(asking: Asking, behaviour: str) -> None:
    """What the HTTP library reports is passed on behind the address."""
    assert error_of(asking(behaviour).filter, POD, NODES).startswith(f'Post "{asking.url(behaviour)}/filter": ')


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ("http://127.0.0.1:1/all/", 'Post "http://127.0.0.1:1/all/filter": Connection refused'),
        ("https://127.0.0.1:1", 'Post "https://127.0.0.1:1/filter": Connection refused'),
        (
            "127.0.0.1:1/x",
            'Post "127.0.0.1:1/x/filter": unsupported protocol scheme; urlPrefix has to begin with http://',
        ),
        ("", 'Post "/filter": unsupported protocol scheme; urlPrefix has to begin with http://'),
        ("http://[::1", 'Post "http://[::1/filter": '),
        ("http://127.0.0.1:99999", 'Post "http://127.0.0.1:99999/filter": '),
        ("http:///x", 'Post "http:///x/filter": '),
        ("http://a\nb", 'Post "http://a\\nb/filter": '),
        ("http://" + "a" * 300, f'Post "http://{"a" * 300}/filter": '),
    ],
    ids=["dead", "dead-tls", "no-scheme", "nothing", "bracket", "port", "no-host", "newline", "long-label"],
)
def test_bad_addresses(prefix: str, text: str) -> None:
    """An address nobody listens at, or that is none, is an extender error."""
    assert error_of(HTTPExtender(ExtenderConfig(prefix, "filter"), WIRE_1_16).filter, POD, NODES).startswith(text)


def test_answer_too_long(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer beyond the limit is not read to its end."""
    monkeypatch.setattr(transport, "MAX_BODY", 10)
    assert "the answer is longer than 10 bytes" in error_of(asking("good").filter, POD, NODES)


def test_unaccepted_connection_times_out() -> None:
    """A listener that never accepts nor reads is given up in time, also while a long body is being sent."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as deaf:
        config = ExtenderConfig(f"http://127.0.0.1:{deaf.getsockname()[1]}", "filter", http_timeout_ns=100 * MS)
        large = Node(ObjectMeta("n0"), manifest={"metadata": {"name": "n0", "annotations": {"a": "x" * 20_000_000}}})
        assert "no complete answer within 0.1 s" in error_of(HTTPExtender(config, WIRE_1_16).filter, POD, [large])


# --- prioritize ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "scores"),
    [
        ("good", [("n0", 0), ("n1", 1), ("n2", 2)]),
        ("double", [("n1", 1), ("n1", 2)]),
        ("shout", [("n1", 7)]),
        ("large-scores", [("n0", 2**63 - 1), ("n1", -(2**63))]),
        ("empty-scores", [("", 0), ("", 0)]),
        ("list", []),
        ("null", []),
    ],
)
def test_scores(asking: Asking, behaviour: str, scores: list[tuple[str, int]]) -> None:
    """Scores come back raw, in the answer's order, hosts repeated."""
    assert asking(behaviour).prioritize(POD, NODES) == scores


@pytest.mark.parametrize(
    "behaviour",
    ["half-scores", "float-scores", "text-scores", "true-scores", "huge-scores", "nan", "error", "object", "garbage"],
)
def test_unreadable_scores(asking: Asking, behaviour: str) -> None:
    """A score that is no integer of 64 bits, and anything but a list, spoils the whole answer."""
    assert error_of(asking(behaviour).prioritize, POD, NODES).startswith("cannot read the extender's answer: ")


# --- interest --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "interested"),
    [
        (PodSpec(), False),
        (PodSpec(containers=(Container(requests=FrozenMap({"x.com/gpu": 1000})),)), True),
        (PodSpec(containers=(Container(), Container(limits=FrozenMap({"x.com/gpu": 0})))), True),
        (PodSpec(init_containers=(Container(requests=FrozenMap({"x.com/gpu": 0})),)), True),
        (PodSpec(containers=(Container(requests=FrozenMap({"cpu": 1000})),)), False),
    ],
    ids=["nothing", "request", "limit-of-zero", "init-container", "other"],
)
def test_interest(spec: PodSpec, interested: bool) -> None:
    """A managed resource named in any container makes the pod interesting; without managed resources all pods are."""
    pod = Pod(ObjectMeta("p"), spec)
    managing = HTTPExtender(ExtenderConfig("u", managed_resources=(ManagedResource("x.com/gpu"),)), WIRE_1_16)
    assert managing.is_interested(pod) is interested
    assert HTTPExtender(ExtenderConfig("u"), WIRE_1_16).is_interested(pod)


@pytest.mark.parametrize(("given", "seconds"), [(0, 5.0), (-1, 5.0), (250_000_000, 0.25)])
def test_timeout(given: int, seconds: float) -> None:
    """No timeout is five seconds."""
    assert ExtenderConfig("u", http_timeout_ns=given).timeout == seconds


def test_import_is_light() -> None:
    """Neither the package nor an extender that is never called loads the HTTP library."""
    code = (
        "import sys; from kubescheduler.extender import client, config; "
        "from kubescheduler.releases.lookup import release_named; "
        "client.HTTPExtender(config.ExtenderConfig('http://x'), release_named('1.16').wire); "
        "sys.exit('urllib3' in sys.modules or 'ssl' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, env=os.environ | {"PYTHONPATH": "."}).returncode == 0
    )


# --- bind ------------------------------------------------------------------------------------


def test_bind(asking: Asking) -> None:
    """A binding without error succeeds; the request names pod and node."""
    asking("good").bind(POD, "n1")
    asking("null").bind(POD, "n1")
    sent = {"PodName": "p", "PodNamespace": "ns", "PodUID": "uid-1", "Node": "n1"}
    assert json.loads(error_of(asking("echo").bind, POD, "n1")) == sent
    assert error_of(asking("error").bind, POD, "n1") == "95%!f(MISSING)ull"


# --- requests --------------------------------------------------------------------------------


def test_capitalised_request(asking: Asking) -> None:
    """1.16 sends capitalised keys and explicit nulls, objects as read but for kind and apiVersion."""
    pod = {"metadata": {"name": "p", "namespace": "ns"}, "spec": POD.manifest and POD.manifest["spec"]}
    items = [{"metadata": {"name": name, "labels": {"zone": "a"}}} for name in NAMES]
    sent = json.loads(error_of(asking("echo").filter, POD, NODES))
    assert sent == {"Pod": pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}
    sent = json.loads(error_of(asking("echo", node_cache_capable=True).filter, POD, NODES))
    assert sent == {"Pod": pod, "Nodes": None, "NodeNames": list(NAMES)}


def test_lower_case_request(asking: Asking) -> None:
    """1.4 sends lower-case keys, always nodes, and its internal form of the pod."""
    sent = json.loads(error_of(asking("echo", WIRE_1_4, node_cache_capable=True).filter, POD, NODES))
    assert sent["pod"]["spec"] == {"containers": [], "securityContext": {"hostNetwork": True}, "volumes": None}
    assert [item["metadata"]["name"] for item in sent["nodes"]["items"]] == list(NAMES)
    assert set(sent) == {"pod", "nodes"}


@pytest.mark.parametrize(
    ("wire", "prefix", "path"),
    [
        (WIRE_1_16, "request", "/request/filter"),
        (WIRE_1_16, "request//", "/request/filter"),
        (WIRE_1_4, "request", "/request//filter"),
        (WIRE_1_4, "request/", "/request///filter"),
    ],
    ids=["1.16", "1.16-slashes", "1.4", "1.4-slash"],
)
def test_paths_and_headers(asking: Asking, wire: WireFormat, prefix: str, path: str) -> None:
    """The verb stands behind one slash in 1.16 and behind an empty version segment in 1.4."""
    seen = json.loads(error_of(asking(prefix, wire).filter, POD, NODES))
    assert seen["path"] == path
    assert seen["headers"]["Content-Type"] == "application/json"


def test_path_of_bare_address(asking: Asking) -> None:
    """A path that begins with two slashes is not taken for a host."""
    bare = HTTPExtender(ExtenderConfig(asking.address, "request/filter"), WIRE_1_4)
    assert json.loads(error_of(bare.filter, POD, NODES))["path"] == "//request/filter"
    bare.close()


def test_connection_is_kept(asking: Asking) -> None:
    """Calls share one connection; the budget of time starts anew for each."""
    kept = asking("request")
    ports = {json.loads(error_of(kept.filter, POD, NODES))["port"] for _ in range(5)}
    assert len(ports) == 1
    kept.close()
    assert json.loads(error_of(kept.filter, POD, NODES))["port"] not in ports


def test_changed_node_is_written_anew(asking: Asking) -> None:
    """The kept JSON belongs to the object, not to its name."""
    echo = asking("echo")
    sent = json.loads(error_of(echo.filter, POD, [node("n0")]))
    assert sent["Nodes"]["items"][0]["metadata"]["labels"] == {"zone": "a"}
    changed = Node(ObjectMeta("n0"), manifest={"metadata": {"name": "n0", "labels": {"zone": "b"}}})
    sent = json.loads(error_of(echo.filter, POD, [changed]))
    assert sent["Nodes"]["items"] == [{"metadata": {"name": "n0", "labels": {"zone": "b"}}}]


def test_proxies_of_the_environment_are_ignored(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that is set for other programs is not used."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert asking("good").filter(POD, NODES).nodes == NAMES


# --- user and password in the address --------------------------------------------------------


@pytest.mark.parametrize("wire", [WIRE_1_4, WIRE_1_16], ids=["1.4", "1.16"])
@pytest.mark.parametrize(
    ("userinfo", "sent"),
    [
        ("u:p", "u:p"),
        ("u", "u:"),
        (":p", ":p"),
        ("a%40b:p%3aw%20%c3%a9", "a@b:p:w é"),
        ("u:p:q", "u:p:q"),
        ("u:p@q", "u:p@q"),
    ],
)
def test_basic_authentication(asking: Asking, wire: WireFormat, userinfo: str, sent: str) -> None:
    """What stands before the @ is sent as Go's client sends it, and not in the request line or the host."""
    extender = asking("request", wire)
    config = msgspec.structs.replace(
        extender.config, url_prefix=extender.config.url_prefix.replace("://", f"://{userinfo}@")
    )
    seen = json.loads(error_of(HTTPExtender(config, wire).filter, POD, NODES))
    headers = {name.lower(): value for name, value in seen["headers"].items()}
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode() == sent
    assert "@" not in seen["path"] + headers["host"]
    plain = json.loads(error_of(extender.filter, POD, NODES))
    assert "authorization" not in {name.lower() for name in plain["headers"]}


@pytest.mark.parametrize(
    ("userinfo", "text"),
    [("u:se cret", "net/url: invalid userinfo"), ("u:secret%zz", 'invalid URL escape "%zz"'), ("u:secret%1", '"%1"')],
)
def test_a_broken_user_or_password(userinfo: str, text: str) -> None:
    """Go's error, without the password."""
    extender = HTTPExtender(ExtenderConfig(f"http://{userinfo}@127.0.0.1:1", filter_verb="filter"), WIRE_1_16)
    error = error_of(extender.filter, POD, NODES)
    assert text in error
    assert "cret" not in error


# --- 1.4 answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["200", "201", "404", "500"])
def test_status_is_ignored_in_1_4(asking: Asking, status: str) -> None:
    """A proper body counts under any status."""
    assert asking(status, WIRE_1_4).filter(POD, NODES).nodes == NAMES


def test_whole_body_is_read_in_1_4(asking: Asking) -> None:
    """What follows the document is a fault, and so is nothing at all."""
    assert error_of(asking("trailing", WIRE_1_4).filter, POD, NODES).startswith("cannot read the extender's answer")
    assert error_of(asking("empty", WIRE_1_4).filter, POD, NODES) == "unexpected end of JSON input"
    assert error_of(asking("error", WIRE_1_4).filter, POD, NODES) == "95%!f(MISSING)ull"


def victim(name: str) -> Pod:
    return Pod(ObjectMeta(name, "ns", f"uid-{name}"), manifest={"metadata": {"name": name, "uid": f"uid-{name}"}})


VICTIMS = {"n0": ([victim("a")], 0), "n1": ([victim("b"), victim("c")], 1)}

# --- filter since 1.20 -----------------------------------------------------------------------


@BOTH
def test_names_and_objects(asking: Asking, wire: WireFormat) -> None:
    """The answer tells whether nodes came as objects; without a verb nobody was asked."""
    names = asking("good", wire, node_cache_capable=True).filter(POD, NODES)
    assert (names.nodes, names.as_objects) == (NAMES, False)
    objects = asking("good", wire).filter(POD, NODES)
    assert (objects.nodes, objects.as_objects) == (NAMES, True)
    mute = asking("good", wire, filter_verb="").filter(POD, NODES)
    assert (mute.nodes, mute.as_objects) == (NAMES, False)
    nothing = asking("nulls", wire).filter(POD, NODES)
    assert (nothing.nodes, nothing.as_objects) == ((), False)


@BOTH
def test_requests_are_those_of_1_16(asking: Asking, wire: WireFormat) -> None:
    """Capitalised keys, one of nodes and names null, one slash before the verb."""
    for capable in (False, True):
        bodies = [
            json.loads(error_of(asking("echo", w, node_cache_capable=capable).filter, POD, NODES))
            for w in (WIRE_1_16, wire)
        ]
        assert bodies[0] == bodies[1]
    assert json.loads(error_of(asking("request//", wire).filter, POD, NODES))["path"] == "/request/filter"


@pytest.mark.parametrize(
    ("wire", "unresolvable"),
    [(WIRE_1_16, {}), (WIRE_1_20, {}), (WIRE_1_36, {"n1": "never", "n0": ""})],
    ids=lambda value: getattr(value, "release", ""),
)
def test_unresolvable_nodes(asking: Asking, wire: WireFormat, unresolvable: dict[str, str]) -> None:
    """Only 1.36 reads them; a node may be in both maps."""
    found = asking("unresolvable", wire).filter(POD, NODES)
    assert (found.failed, found.unresolvable) == ({"n1": "no"}, unresolvable)


def test_unresolvable_nodes_of_a_wrong_type(asking: Asking) -> None:
    """They are a fault where they are read."""
    assert asking("bad-unresolvable", WIRE_1_20).filter(POD, NODES).failed == {}
    error = error_of(asking("bad-unresolvable", WIRE_1_36).filter, POD, NODES)
    assert error.startswith("cannot read the extender's answer: failedAndUnresolvableNodes")


@BOTH
@pytest.mark.parametrize("known", [None, {*NAMES, "ghost"}], ids=["asked", "in-the-cluster"])
def test_names_that_were_not_asked(asking: Asking, wire: WireFormat, known: set[str] | None) -> None:
    """A name has to be among those sent, even if the cluster has it; objects are not looked up."""
    url = asking.url("unknown")
    text = f'extender "{url}" claims a filtered node "ghost" which is not found in the input node list'
    assert error_of(asking("unknown", wire, node_cache_capable=True).filter, POD, NODES, known) == text
    assert asking("unknown", wire).filter(POD, NODES, known).nodes == (*NAMES, "ghost")


# --- texts -----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("status", ["201", "404", "500"])
def test_refused_status(asking: Asking, wire: WireFormat, status: str) -> None:
    """Any status but 200 is a failure; the verb is told as configured."""
    url = asking.url(status)
    assert error_of(asking(status, wire).filter, POD, NODES) == (
        f"failed filter with extender at URL {url}/filter, code {status}"
    )
    assert error_of(asking(status, wire, prioritize_verb="rate").prioritize, POD, NODES) == (
        f"failed rate with extender at URL {url}/rate, code {status}"
    )


@pytest.mark.parametrize(
    ("wire", "text"), [(WIRE_1_20, "95%!f(MISSING)ull"), (WIRE_1_36, "95% full")], ids=["1.20", "1.36"]
)
def test_refusals(asking: Asking, wire: WireFormat, text: str) -> None:
    """1.20 takes the text for a format, 1.36 takes it as it is; filter and bind alike."""
    assert error_of(asking("error", wire).filter, POD, NODES) == text
    assert error_of(asking("error", wire).bind, POD, "n1") == text


# --- preempt ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "meta", "violations"),
    [(WIRE_1_16, True, 0), (WIRE_1_20, True, 0), (WIRE_1_20, False, 0), (WIRE_1_36, True, 3), (WIRE_1_36, False, 3)],
    ids=["1.16", "1.20-uids", "1.20-pods", "1.36-uids", "1.36-pods"],
)
def test_preempt(asking: Asking, wire: WireFormat, meta: bool, violations: int) -> None:
    """The order of victims is the answer's; the number of violated budgets only in 1.36."""
    caller = asking("preempt", wire, preempt_verb="preempt", node_cache_capable=meta)
    assert caller.preempt(POD, VICTIMS) == {"n1": (("uid-c", "uid-b"), violations)}


@pytest.mark.parametrize(
    ("wire", "meta", "violations"),
    [(WIRE_1_20, True, [0, 0]), (WIRE_1_20, False, [0, 1]), (WIRE_1_36, True, [0, 1]), (WIRE_1_36, False, [0, 1])],
    ids=["1.20-uids", "1.20-pods", "1.36-uids", "1.36-pods"],
)
def test_preempt_request(wire: WireFormat, meta: bool, violations: list[int]) -> None:
    """Uids to a nodeCacheCapable extender, in 1.20 without the number of violations; whole pods to others."""
    body = json.loads(wire.preemption(msgspec.Raw(b"{}"), VICTIMS, meta))
    given, other = "NodeNameToMetaVictims", "NodeNameToVictims"
    if not meta:
        given, other = other, given
    assert body[other] is None
    assert [body[given][name]["NumPDBViolations"] for name in ("n0", "n1")] == violations
    pod = body[given]["n1"]["Pods"][1]
    assert pod == ({"UID": "uid-c"} if meta else {"metadata": {"name": "c", "uid": "uid-c"}})


@BOTH
def test_preempt_that_fails(asking: Asking, wire: WireFormat) -> None:
    """No verb, a refused status and a wrong type are faults; an error member is an empty answer."""
    mute = asking("preempt", wire)
    assert error_of(mute.preempt, POD, VICTIMS) == (
        f"preempt verb is not defined for extender {mute.name} but run into ProcessPreemption"
    )
    refused = asking("500", wire, preempt_verb="preempt")
    assert error_of(refused.preempt, POD, VICTIMS).endswith("/500/preempt, code 500")
    bad = asking("bad-victims", wire, preempt_verb="preempt")
    assert "numPDBViolations" in error_of(bad.preempt, POD, VICTIMS)
    assert asking("error", wire, preempt_verb="preempt").preempt(POD, VICTIMS) == {}
