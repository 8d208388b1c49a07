"""What two records of the same scenes may differ in, and what not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.live_scenes import Record, compare_records, main

BINDING = {"kind": "Binding", "metadata": {"name": "p", "uid": "6d2e0c52-8f0a-4b1e-9d0b-0c5a3c9d7e11"}}
CONDITION = {"type": "PodScheduled", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
NODES = "/api/v1/nodes"
PODS, EVENTS = "/api/v1/namespaces/default/pods", "/apis/events.k8s.io/v1/namespaces/default/events"

UID = "6d2e0c52-8f0a-4b1e-9d0b-0c5a3c9d7e11"
SYSTEM = "/api/v1/namespaces/kube-system"
CONFIGURATION = f"{SYSTEM}/configmaps/extension-apiserver-authentication"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
DELETING = "skip schedule deleting pod: default/p"
IN_CACHE = "pod 6d2e0c52-8f0a-4b1e-9d0b-0c5a3c9d7e11 is in the cache, so can't be assumed"
SAID, POD = {"type": "Normal", "reason": "Scheduled"}, {"kind": "Pod", "name": "p"}


def asked(method: str, path: str, body: Any = None, code: Any = 200, scene: str = "one") -> Record:
    return {"scene": scene, "t": 1.0, "method": method, "path": path, "body": body, "code": code}


def bound(node: str, uid: str = "6d2e0c52-8f0a-4b1e-9d0b-0c5a3c9d7e11", code: Any = 201) -> Record:
    metadata = {"name": "p", "uid": uid}
    return asked("POST", f"{PODS}/p/binding", {**BINDING, "metadata": metadata, "target": {"name": node}}, code)


def led(transitions: int = 0, holder: str = f"host_{UID}", seconds: int = 15) -> Record:
    """A renewal."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": transitions}
    return asked("PUT", LEASE, {"kind": "Lease", "spec": spec})


def patched(time: str, message: str = "no") -> Record:
    condition = {**CONDITION, "lastTransitionTime": time, "message": message}
    return asked("PATCH", f"{PODS}/p/status", {"status": {"conditions": [condition]}})


def event(name: str, note: str) -> Record:
    return asked(
        "POST", EVENTS, {**SAID, "metadata": {"name": name}, "note": note, "regarding": {"resourceVersion": name[-3:]}}
    )


def failed(note: str) -> Record:
    return asked("POST", EVENTS, {"type": "Warning", "reason": "FailedScheduling", "regarding": POD, "note": note})


def refused(message: str) -> Record:
    return asked("PUT", f"{PODS}/p/status", {"status": {"conditions": [{**CONDITION, "message": message}]}}, 409)


TOLERATED_DIFFERENCES: dict[str, Any] = {
    "node choice": ([bound("n1")], [bound("n2")]),
    "uid": ([bound("n1")], [bound("n1", "0c5a3c9d-8f0a-4b1e-9d0b-6d2e0c527e11")]),
    "time": ([patched("2026-01-01T00:00:00Z")], [patched("2026-02-02T10:00:00.123456Z")]),
    "event name, version": ([event("p.18ea4ca4185e424e", "x")], [event("p.18ea4ca4185e4dd1", "x")]),
    "order": ([bound("n1"), patched("")], [patched(""), bound("n1")]),
    "repeated reads": ([asked("GET", NODES), asked("GET", NODES)], [asked("GET", NODES)]),
    "renewals": ([led(), led(), led(1)], [led(4, f"other-host_{UID}")]),
    "a lock that was there": ([asked("POST", LEASE.rpartition("/")[0], {}, 201), led()], [led()]),
    "a lock that is given back": ([led(), led(holder="")], [led()]),
    "authentication": ([asked("GET", CONFIGURATION)], []),
    "group version": (
        [asked("GET", "/apis/policy/v1/poddisruptionbudgets?limit=500&resourceVersion=3")],
        [asked("GET", "/apis/policy/v1beta1/poddisruptionbudgets?limit=500&resourceVersion=0", code=404)],
    ),
    "scene": ([asked("GET", "/metrics", scene="http")], []),
    "event API": (
        [asked("POST", "/api/v1/namespaces/default/events", {**SAID, "involvedObject": POD, "message": "m"}, 201)],
        [asked("POST", EVENTS, {**SAID, "regarding": POD, "note": "m"}, 422)],
    ),
    "a read of a single pod": ([], [asked("GET", f"{PODS}/p")]),
    "a pod that is being deleted": ([], [failed(DELETING)]),
    "put back twice": ([], [failed(IN_CACHE), refused(IN_CACHE)]),
    "no lock": ([asked("PUT", LEASE, {}, 200), bound("n1")], [asked("PUT", LEASE, {}, 500)]),
}


@pytest.mark.parametrize(("ours", "theirs"), TOLERATED_DIFFERENCES.values(), ids=TOLERATED_DIFFERENCES)
def test_tolerated_differences(ours: list[Record], theirs: list[Record]) -> None:
    """Two records that differ in these alone agree."""
    start = asked("GET", "/start")
    assert all(found.agrees for found in compare_records([start, *ours], [start, *theirs]))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param([bound("n1")], [], id="a request"),
        pytest.param([patched(""), patched(""), patched("")], [patched("")], id="repeats"),
        pytest.param([led(seconds=5)], [], id="what a lock says"),
        pytest.param([asked("POST", f"{SYSTEM}/events", {"message": "m"}, 201)], [], id="an event of kube-system"),
        pytest.param([bound("n1")], [bound("n1", code=409)], id="an answer"),
        pytest.param([patched("", "no")], [patched("", "yes")], id="a text"),
        pytest.param([event("p.18ea4ca4185e424e", "x")], [event("p.18ea4ca4185e424e", "y")], id="a note"),
        pytest.param([asked("GET", "/api/v1/pods?limit=500")], [asked("GET", "/api/v1/pods")], id="a query"),
        pytest.param([asked("DELETE", "/x", {"a": None})], [asked("DELETE", "/x", {})], id="a member"),
        pytest.param([failed(IN_CACHE)], [], id="put back twice by ours"),
        pytest.param([asked("DELETE", f"{PODS}/p", {})], [], id="a deletion of a single pod"),
    ],
)
def test_everything_else_is_found(ours: list[Record], theirs: list[Record]) -> None:
    """The requests that only one has are named, by side."""
    start = asked("GET", "/start")
    found = list(compare_records([start, *ours], [start, *theirs]))
    more = len(ours) - len(theirs)
    assert sum(len(one.ours) - len(one.theirs) for one in found) == more
    assert not all(one.agrees for one in found)


def at(record: Record, scene: str, t: float) -> Record:
    return {**record, "scene": scene, "t": t}


@pytest.mark.parametrize(("t", "agree"), [(5.2, True), (6.0, False)], ids=["at once", "later"])
def test_what_comes_as_a_scene_begins(t: float, agree: bool) -> None:
    """It may belong to the scene before; what comes later does not."""
    ours = [at(asked("GET", "/a"), "one", 1.0), at(asked("GET", "/b"), "two", 5.0), at(bound("n1"), "two", t)]
    theirs = [at(asked("GET", "/a"), "one", 1.0), at(bound("n1"), "one", 4.9), at(asked("GET", "/b"), "two", 5.0)]
    assert {found.agrees for found in compare_records(ours, theirs)} == {agree}
    assert {found.agrees for found in compare_records(theirs, ours)} == {agree}


def test_a_slow_start() -> None:
    """What one reads in its first scene, the other may read in the next one."""
    read, placed = asked("GET", "/api/v1/pods?limit=500"), at(bound("n1"), "two", 9.0)
    quick, slow = [at(read, "start", 1.0), placed], [at(read, "two", 8.0), placed]
    for records in ((quick, slow), (slow, quick)):
        assert [found.agrees for found in compare_records(*records)] == [True]
    assert [found.agrees for found in compare_records([placed], quick)] == [False]


def test_pods_of_scenes_that_only_one_has() -> None:
    """What is said of them later is not compared."""
    start, late = asked("GET", "/a"), asked("GET", "/b", scene="late")
    stranger = [at(bound("n1"), "only theirs", 2.0), at(failed("no"), "late", 3.0)]
    assert all(found.agrees for found in compare_records([start, late], [start, *stranger, late]))
    known = [at(bound("n1"), "one", 2.0), at(failed("no"), "late", 3.0)]
    differing = compare_records([start, late], [start, *known, late])
    assert [found.agrees for found in differing] == [False, False]


def test_a_second_binding() -> None:
    """A pod that is bound twice where the other is bound once is found, in every scene."""
    for scene in ("one", "clean"):
        start, once = at(asked("GET", "/a"), scene, 1.0), at(bound("n1"), scene, 2.0)
        [found] = compare_records([start, once, once], [start, once])
        assert (len(found.ours), len(found.theirs)) == (1, 0)


def test_deletions_while_pods_are_tried() -> None:
    """In the scene that deletes everything a write may be missing; but it has to be one that the other knows."""
    start, placed = at(asked("GET", "/a"), "start", 0.0), at(bound("n1"), "start", 0.5)
    late = at(bound("n1", code=404), "clean", 1.0)
    read = at(asked("GET", "/api/v1/pods"), "clean", 1.0)
    status, strange = at(patched(""), "clean", 1.0), at(asked("DELETE", f"{PODS}/p"), "clean", 1.0)

    def agrees(ours: list[Record], theirs: list[Record]) -> list[bool]:
        return [found.agrees for found in compare_records([start, placed, *ours], [start, placed, *theirs])]

    assert agrees([late, read], [read]) == [True, True]
    assert agrees([read], [read, late]) == [True, True]
    assert agrees([late, read], [at(asked("GET", "/b"), "clean", 1.0)]) == [True, False]
    assert agrees([read, status], [read]) == [True, False]
    assert agrees([read, strange], [read]) == [True, False]


def test_a_preemptor_between_its_victims() -> None:
    """Whether it is tried before the second one ends is not compared; that it is bound is."""
    start, placed = at(asked("GET", "/a"), "victims end", 1.0), at(bound("n1"), "victims end", 2.0)
    patch = at(asked("PATCH", f"{EVENTS}/high.18ea4ca4185e424e", {"series": {"count": 2}}), "victims end", 1.0)
    start = at(asked("PATCH", f"{EVENTS}/big.18ea4ca4185e424e", {"series": {"count": 1}}), "victims end", 1.0)
    assert [found.agrees for found in compare_records([start, placed], [start, patch, placed])] == [True]
    assert [found.agrees for found in compare_records([start, patch], [start, patch, placed])] == [False]


def test_a_new_leader_and_a_lost_answer() -> None:
    """What we do better is passed over in its scene, and found in any other."""
    start, lost = "second start; lease PUT fails from now on: loss", "binding forwarded, answer lost"
    read = f"{PODS}?limit=1"
    for scene in (start, "one"):
        [found] = compare_records([asked("GET", read, scene=scene)], [asked("GET", NODES, scene=scene)])
        assert (found.ours == ()) is (scene == start)
    status = asked("PATCH", f"{PODS}/lost/status", {"status": {"conditions": [CONDITION]}}, scene=lost)
    other = asked("PATCH", f"{PODS}/other/status", {"status": {"conditions": [CONDITION]}}, scene=lost)
    [found] = compare_records([asked("GET", PODS, scene=lost)], [status, other])
    assert len(found.theirs) == 1


def test_the_command(tmp_path: Path) -> None:
    """One line a scene; the status says whether anything differs. Records may be gzipped."""
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl.gz"
    ours.write_text(json.dumps(bound("n1")) + "\n")
    with gzip.open(theirs, "wt") as file:
        file.write(json.dumps(bound("n2")) + "\n")
    same = CliRunner().invoke(main, [str(ours), str(theirs)])
    lines = [line.split() for line in same.output.splitlines()]
    assert (same.exit_code, lines) == (0, [["same", "1", "one"], ["1", "of", "1", "scenes", "agree"]])
    ours.write_text(json.dumps(bound("n1", code=500)) + "\n")
    differs = CliRunner().invoke(main, [str(ours), str(theirs)])
    assert differs.exit_code == 1
    assert differs.output.count("only ours") == differs.output.count("only theirs") == 1
