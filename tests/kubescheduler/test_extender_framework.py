"""What releases 1.20 and 1.36 send to an extender, and what they make of its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from clusterstate.objects import ObjectMeta, Pod
from kubescheduler.extender.wire import WireFormat
from kubescheduler.releases.lookup import release_named
from tests.support.custom.extender_asking import NAMES, NODES, POD, Asking, asking_process, error_of, node

WIRE_1_16 = release_named("1.16").wire
WIRE_1_20 = release_named("1.20").wire
WIRE_1_36 = release_named("1.36").wire

BOTH = pytest.mark.parametrize("wire", [WIRE_1_20, WIRE_1_36], ids=["1.20", "1.36"])


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with asking_process() as asking:
        yield asking


def victim(name: str) -> Pod:
    return Pod(ObjectMeta(name, "ns", f"uid-{name}"), manifest={"metadata": {"name": name, "uid": f"uid-{name}"}})


VICTIMS = {"n0": ([victim("a")], 0), "n1": ([victim("b"), victim("c")], 1)}

# --- filter ----------------------------------------------------------------------------------


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
    ("wire", "text"),
    [(WIRE_1_20, "95%!f(MISSING)ull"), (WIRE_1_36, "95% full")],
    ids=["1.20", "1.36"],
)
def test_refusals(asking: Asking, wire: WireFormat, text: str) -> None:
    """1.20 takes the text for a format, 1.36 takes it as it is; filter and bind alike."""
    assert error_of(asking("error", wire).filter, POD, NODES) == text
    assert error_of(asking("error", wire).bind, POD, "n1") == text


@BOTH
def test_bind(asking: Asking, wire: WireFormat) -> None:
    """The request names pod and node; without a verb there is no call."""
    asking("good", wire).bind(POD, "n1")
    assert error_of(asking("good", wire, bind_verb="").bind, POD, "n1") == "unexpected empty bindVerb in extender"


@BOTH
def test_prioritize(asking: Asking, wire: WireFormat) -> None:
    """Scores come as answered; fractions and anything but a list are faults, the rest of the body is not read."""
    assert asking("large-scores", wire).prioritize(POD, NODES) == [("n0", 2**63 - 1), ("n1", -(2**63))]
    for behaviour in ("half-scores", "float-scores", "object"):
        assert error_of(asking(behaviour, wire).prioritize, POD, NODES).startswith("cannot read")
    assert error_of(asking("empty", wire).prioritize, POD, NODES) == "EOF"
    assert asking("null", wire).prioritize(POD, NODES) == []
    assert asking("trailing", wire).filter(POD, NODES).nodes == NAMES


# --- preempt ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "meta", "violations"),
    [
        (WIRE_1_16, True, 0),
        (WIRE_1_20, True, 0),
        (WIRE_1_20, False, 0),
        (WIRE_1_36, True, 3),
        (WIRE_1_36, False, 3),
    ],
    ids=["1.16", "1.20-uids", "1.20-pods", "1.36-uids", "1.36-pods"],
)
def test_preempt(asking: Asking, wire: WireFormat, meta: bool, violations: int) -> None:
    """The order of victims is the answer's; the number of violated budgets only in 1.36."""
    caller = asking("preempt", wire, preempt_verb="preempt", node_cache_capable=meta)
    assert caller.preempt_counted(POD, VICTIMS) == {"n1": (("uid-c", "uid-b"), violations)}
    assert caller.preempt(POD, VICTIMS) == {"n1": ("uid-c", "uid-b")}


@pytest.mark.parametrize(
    ("wire", "meta", "violations"),
    [(WIRE_1_20, True, [0, 0]), (WIRE_1_20, False, [0, 1]), (WIRE_1_36, True, [0, 1]), (WIRE_1_36, False, [0, 1])],
    ids=["1.20-uids", "1.20-pods", "1.36-uids", "1.36-pods"],
)
def test_preempt_request(wire: WireFormat, meta: bool, violations: list[int]) -> None:
    """Uids to a nodeCacheCapable extender, in 1.20 without the number of violations; whole pods to others."""
    import msgspec

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
    assert error_of(mute.preempt_counted, POD, VICTIMS) == (
        f"preempt verb is not defined for extender {mute.name} but run into ProcessPreemption"
    )
    refused = asking("500", wire, preempt_verb="preempt")
    assert error_of(refused.preempt_counted, POD, VICTIMS).endswith("/500/preempt, code 500")
    bad = asking("bad-victims", wire, preempt_verb="preempt")
    assert "numPDBViolations" in error_of(bad.preempt_counted, POD, VICTIMS)
    assert asking("error", wire, preempt_verb="preempt").preempt_counted(POD, VICTIMS) == {}


def test_objects_are_kept_as_they_came(asking: Asking) -> None:
    """1.36 goes on with the answered objects."""
    found = asking("good", WIRE_1_36).filter(POD, [node("n0")])
    assert found.objects is not None
    assert json.loads(bytes(found.objects[0])) == {"metadata": {"name": "n0", "labels": {"zone": "a"}}}
