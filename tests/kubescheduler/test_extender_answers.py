"""Laws of reading answers: any bytes give a value or an extender error."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    ContainerImage,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Service,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import ExtenderTrace, SnapshotRows, score_with_extenders
from kubescheduler.extender.answers import (
    ExtenderError,
    first_value,
    node_name,
    only_value,
    read_error,
    read_filter,
    read_scores,
)
from kubescheduler.extender.config import ExtenderConfig, masked
from kubescheduler.extender.transport import Budget, Transport, _addresses
from kubescheduler.extender.wire import format_without_operands
from tests.support.build import cache_of, labels, make_node, make_pod, resources
from tests.support.comparisons import LEAST, Policies

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["nodes", "NodeNames", "items", "metadata", "name", "failedNodes", "ERROR", "host", "score"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def read_all(body: bytes, document: Callable[[bytes], msgspec.Raw]) -> None:
    """Reads a body as every kind of answer; only extender errors may come out."""
    for read in (read_filter, read_scores, read_error):
        try:
            answer = read(document(body))
            for node in getattr(answer, "objects", None) or ():
                node_name(node)
        except ExtenderError:
            pass


@pytest.mark.parametrize("document", [first_value, only_value])
@given(body=st.binary(max_size=40) | st.text(alphabet='{}[]",:0.e-tn \\u', max_size=20).map(str.encode))
def test_any_bytes(document: Callable[[bytes], msgspec.Raw], body: bytes) -> None:
    """No bytes break the reader."""
    read_all(body, document)


@pytest.mark.parametrize("document", [first_value, only_value])
@given(value=VALUES)
def test_any_value(document: Callable[[bytes], msgspec.Raw], value: object) -> None:
    """No JSON value breaks the reader."""
    read_all(json.dumps(value).encode(), document)


@given(value=VALUES.filter(lambda v: not isinstance(v, (int, float))), rest=st.binary(max_size=10))
def test_what_follows_the_first_value(value: object, rest: bytes) -> None:
    """The first value is the same whatever stands behind it."""
    body = json.dumps(value, allow_nan=True).encode()
    try:
        alone = bytes(first_value(body))
    except ExtenderError:
        return
    assert msgspec.json.decode(bytes(first_value(body + b" " + rest))) == msgspec.json.decode(alone)


@pytest.mark.parametrize(
    ("body", "value"),
    [(b' {"a":1}{"b":2}', {"a": 1}), (b"null x", None), (b'\n["\xc3\xa9"]\xff', ["é"]), (b"[-0]]", [0])],
    ids=["two", "null", "accents", "zero"],
)
def test_first_value(body: bytes, value: object) -> None:
    """The first value is cut out where it ends."""
    assert msgspec.json.decode(bytes(first_value(body))) == value


ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES = [
    make_node(
        "n0",
        {"zone": "a", ZONE: "a", "disk": "ssd"},
        allocatable=resources(cpu=2000, memory=8 << 30, pods=110),
        images=(ContainerImage(("web:1",), 600 << 20),),
    ),
    make_node("n1", {"zone": "a", ZONE: "a"}),
    make_node("n2", {"zone": "b", ZONE: "b"}),
]
"""Each is answered with what the one before it has: n0 as in zone b, n1 with the disk and the image, n2 in zone a."""
PEER = make_pod("x", {"app": "web"}, node="n0")
SELECTOR = LabelSelector(labels({"app": "web"}))
NEAR = {
    "podAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "podAffinityTerm": {
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "topologyKey": "zone",
                    "namespaces": ["default"],
                },
            }
        ]
    }
}
TERM = WeightedPodAffinityTerm(1, PodAffinityTerm("zone", SELECTOR))
ALONE = make_pod("p", {"app": "web"}, requests=resources(cpu=1000, memory=4 << 30))
PODS = {
    "InterPodAffinityPriority 1.4": make_pod(
        "p", annotations={"scheduler.alpha.kubernetes.io/affinity": json.dumps(NEAR)}
    ),
    "InterPodAffinityPriority 1.16": make_pod("p", affinity=Affinity(pod_affinity=PodAffinity(preferred=(TERM,)))),
    "EvenPodsSpreadPriority 1.16": make_pod(
        "p",
        {"app": "web"},
        topology_spread_constraints=(TopologySpreadConstraint(1, "zone", "ScheduleAnyway", SELECTOR),),
    ),
}
WITH_IMAGE = msgspec.structs.replace(
    ALONE,
    spec=msgspec.structs.replace(
        ALONE.spec, containers=(msgspec.structs.replace(ALONE.spec.containers[0], image="web:1"),)
    ),
)


def decided(folder: Path, release: str, priority: str, extenders: list[dict[str, Any]], pod: Pod) -> Decision:
    """By one priority, where one pod of the service runs on n0."""
    policies = Policies(folder)
    given: dict[str, Any] = {priority: 1}
    weights = json.loads(Path(policies.policy(release, **given).policy_file or "").read_text())["priorities"]
    spec = policies.written(release, predicates=[], priorities=weights, extenders=extenders)
    spec = msgspec.structs.replace(spec, feature_gates="EvenPodsSpread=true" if priority.startswith("Even") else "")
    service = Service(ObjectMeta("web", "default"), selector=labels({"app": "web"}))
    return spec.engine(print).scheduler(cache_of([*NODES, PEER, service], spec.release_view())).decide(pod)


def called(address: str, behaviour: str, *verbs: str) -> dict[str, Any]:
    return {"urlPrefix": f"{address}/{behaviour}", "weight": 1, **{f"{verb}Verb": verb for verb in verbs}}


@pytest.mark.parametrize(
    ("release", "priority", "as_answered", "as_known"),
    [
        ("1.4", "disk", [0, 10, 0], [10, 0, 0]),
        ("1.4", "ImageLocalityPriority", [0, 6, 0], [6, 0, 0]),
        ("1.4", LEAST, [4, 6, 6], [4, 6, 6]),
        ("1.4", "SelectorSpreadPriority", [0, 10, 10], [0, 3, 10]),
        ("1.4", "InterPodAffinityPriority", [0, 10, 10], [10, 10, 0]),
        ("1.16", "disk", [10, 0, 0], [10, 0, 0]),
        ("1.16", LEAST, [4, 6, 6], [4, 6, 6]),
        ("1.16", "SelectorSpreadPriority", [0, 3, 10], [0, 3, 10]),
        ("1.16", "InterPodAffinityPriority", [0, 10, 10], [10, 10, 0]),
        ("1.16", "EvenPodsSpreadPriority", [10, 5, 5], [5, 5, 10]),
    ],
)
def test_which_priorities_read_the_answered_objects(
    tmp_path: Path, address: str, release: str, priority: str, as_answered: list[int], as_known: list[int]
) -> None:
    """1.4: all, but amounts and running pods are the cluster's; 1.16: those two that are not worked out by node."""
    pod = PODS.get(f"{priority} {release}", WITH_IMAGE if "Image" in priority else ALONE)
    known = decided(tmp_path, release, priority, [], pod)
    answered = decided(tmp_path, release, priority, [called(address, "exchange-objects", "filter")], pod)
    names = ("n0", "n1", "n2")
    assert known.score(priority) == dict(zip(names, as_known, strict=True))
    assert (answered.error, answered.score(priority)) == (None, dict(zip(names, as_answered, strict=True)))
    for name, score in answered.score(priority).items():
        assert [evidence.product for evidence in answered.score_evidence(name)] == [score]


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_later_calls_send_the_answered_objects(tmp_path: Path, address: str, release: str) -> None:
    """To the filters of the extenders behind, and to whoever prioritizes."""
    exchange, ranks = called(address, "exchange-labels", "filter"), called(address, "zone-b", "prioritize")
    scored = decided(tmp_path, release, "EqualPriority", [ranks, exchange], ALONE)
    assert scored.extenders[0].scores == (("n0", 5), ("n1", 0), ("n2", 0))
    left = decided(tmp_path, release, "EqualPriority", [exchange, called(address, "zone-b", "filter")], ALONE)
    assert (left.fits(), left.host) == (["n0"], "n0")


@pytest.mark.parametrize("release", ["1.4", "1.16"])
def test_a_node_that_is_not_there_is_still_an_error(tmp_path: Path, address: str, release: str) -> None:
    """Beside nodes that are."""
    found = decided(tmp_path, release, "EqualPriority", [called(address, "unknown", "filter")], ALONE)
    assert found.error == "node not found: an extender passed 'ghost', which is not in the cluster"


def test_names_are_resolved_within_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that does not answer is waited for no longer than httpTimeout says."""
    released = threading.Event()

    def stuck(*_: Any, **__: Any) -> Any:
        released.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    budget = Budget()
    budget.grant(0.05)
    with pytest.raises(TimeoutError):
        _addresses("example.com", 80, budget)
    released.set()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@host:80/x", "http://user:***@host:80/x"),
        ("https://:s@h", "https://:***@h"),
        ("http://user:a@b@host/x", "http://user:***@host/x"),
        ("http://host/a:b@c", "http://host/a:b@c"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    """Messages and results have an address without its password."""
    assert masked(url) == ExtenderConfig(url).name == shown


def test_an_error_has_no_password() -> None:
    """Neither has what is said when nobody listens there."""
    with pytest.raises(ExtenderError) as caught:
        Transport(ExtenderConfig("http://u:secret@127.0.0.1:1")).post(
            "http://u:secret@127.0.0.1:1/f", b"", lambda _: None
        )
    assert "secret" not in str(caught.value)
    assert "http://u:***@127.0.0.1:1/f" in str(caught.value)


class _Repeating:
    """An extender that names one node over and over."""

    config = ExtenderConfig("http://x", prioritize_verb="p", weight=2)

    def is_interested(self, pod: Any) -> bool:
        return True

    def prioritize(self, pod: Any, nodes: Any) -> list[tuple[str, int]]:
        return [("n", 1)] * 20_000


class _OneNode:
    """A snapshot of one node, as far as scores ask."""

    names = ("n",)

    def node(self, row: int) -> None:
        """No node object is needed."""


def test_repeated_names_are_added_once() -> None:
    """Twenty thousand scores of a node that is there twenty thousand times are added in linear time."""
    rows = np.zeros(20_000, np.int64)
    extender: Any = _Repeating()
    snapshot: Any = _OneNode()
    pod: Any = None
    sums, _ = score_with_extenders(pod, [extender], [ExtenderTrace("x", 2)], SnapshotRows(snapshot), rows)
    assert set(sums.tolist()) == {40_000}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("all is well", "all is well"),
        ("95% full", "95%!f(MISSING)ull"),
        ("100% sure", "100%!s(MISSING)ure"),
        ("%d of %s", "%!d(MISSING) of %!s(MISSING)"),
        ("100%%", "100%"),
        ("%5%", "%"),
        ("100%", "100%!(NOVERB)"),
        ("100% ", "100%!(NOVERB)"),
        ("%-08.3f|", "%!f(MISSING)|"),
        ("%.x", "%!x(MISSING)"),
        ("%.", "%!(NOVERB)"),
        ("%é", "%!é(MISSING)"),
        ("%!", "%!!(MISSING)"),
        ("%*d", "%!(BADWIDTH)%!d(MISSING)"),
        ("%.*d", "%!(BADPREC)%!d(MISSING)"),
        ("%[1]d", "%!d(BADINDEX)"),
        ("%[1][2]d", "%![(BADINDEX)2]d"),
        ("%[x][2]d", "%!d(BADINDEX)"),
        ("%[1]*[2]d", "%!(BADWIDTH)%!d(BADINDEX)"),
        ("%.[1]d", "%!d(BADINDEX)"),
        ("%[", "%!(NOVERB)"),
        ("%[]", "%!](BADINDEX)"),
        ("%[d", "%!d(BADINDEX)"),
        ("%1000000d!", "%!d(MISSING)!"),
        ("%100000000d!", "%!(NOVERB)"),
        ("%" + "9" * 5000 + "d", "%!(NOVERB)"),
        ("%\n", "%!\n(MISSING)"),
    ],
)
def test_texts(text: str, printed: str) -> None:
    """Flags, width, precision and index are read as Go reads them; the verb finds no operand."""
    assert format_without_operands(text) == printed


@given(st.text(alphabet=st.characters(exclude_characters="%")))
def test_text_without_percent_is_unchanged(text: str) -> None:
    """Nothing but % sequences changes."""
    assert format_without_operands(text) == text


@given(st.text())
def test_doubled_percents_come_back(text: str) -> None:
    """A text whose % are doubled prints as the text."""
    assert format_without_operands(text.replace("%", "%%")) == text


@given(st.text(alphabet="%[]*.#0+- 19dsx\n"))
def test_any_text_prints(text: str) -> None:
    """Every text prints something, and what stands before the first % stays."""
    assert format_without_operands(text).startswith(text.partition("%")[0])
