"""What each release sends to an extender, and which answers it takes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import msgspec
import pytest

from clusterstate.objects import Node, ObjectMeta
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.extender.wire import WireFormat
from kubescheduler.releases.lookup import release_named
from tests.support.custom.extender_asking import NAMES, NODES, POD, Asking, asking_process, error_of, node

WIRE_1_4 = release_named("1.4").wire
WIRE_1_16 = release_named("1.16").wire


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with asking_process() as asking:
        yield asking


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
