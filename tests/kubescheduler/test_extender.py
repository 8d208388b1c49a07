"""HTTP extenders, good, broken, lying and dead, asked over real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from clusterstate.objects import Container, FrozenMap, Node, ObjectMeta, Pod, PodSpec
from kubescheduler.extender import transport
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig, ManagedResource
from kubescheduler.releases.lookup import release_named
from tests.support.custom.extender_asking import MS, NAMES, NODES, POD, Asking, asking_process, error_of

WIRE_1_16 = release_named("1.16").wire


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with asking_process() as asking:
        yield asking


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
    "behaviour",
    ["list", "number", "numbers", "nodes-list", "bad-failed", "bad-error", "garbage", "html", "deep"],
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
    broken = asking(behaviour, http_timeout_ns=200 * MS)
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
