"""Simulations of a scene: what is told of them, and their moments."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault, Side
from kubescheduler.lab.scene.time_verbs import run_text
from kubescheduler.lab.scene.verbs import VERBS
from kubescheduler.simulation.simulation_report import RUNNING, WAITING
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED


def coming(name: str, cpu: int, priority: int, after: int) -> dict[str, Any]:
    """A pod that comes so many seconds after the start."""
    pod = ks.pod(name, cpu=cpu, priority=priority)
    pod["metadata"]["annotations"] = {"kubescheduler/arrives-after": str(after)}
    return pod


STARTS = [
    *(ks.node("a", cpu=4), ks.node("b", cpu=2), ks.pod("low", node="a", cpu=3, priority=1)),
    *(coming("w0", 2, 50, 40), coming("w1", 1, 5, 20), coming("w2", 3, 5, 0)),
]
"""Of two victims of one priority the one that started last has to go: which that is is known from the run only."""


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Two nodes, a pod that runs, and some that come, stay for a while and are of different worth."""
    out = [ks.node("a", cpu=4), ks.node("b", cpu=2), ks.pod("low", node="a", cpu=3, priority=1)]
    for at in range(draw(st.integers(1, 4))):
        annotations = {"kubescheduler/arrives-after": str(draw(st.integers(0, 3)) * 20)}
        if draw(st.booleans()):
            annotations["kubescheduler/duration"] = "40"
        pod = ks.pod(f"w{at}", cpu=draw(st.integers(1, 4)), priority=draw(st.sampled_from([0, 5, 50])))
        pod["metadata"]["annotations"] = annotations
        out.append(pod)
    return out


def opened(release: str, manifests: list[dict[str, Any]]) -> Scene:
    """A scene of manifests."""
    return Scene.opened(ks.Cluster(*manifests, release=release), sides=[EngineSpec(release)])


@pytest.mark.parametrize("release", RELEASES_TRIED)
@example(manifests=STARTS, grace=0.0)
@given(manifests=clusters(), grace=st.sampled_from([0.0, 30.0]))
@costly
def test_every_attempt_can_be_gone_back_to(release: str, manifests: list[dict[str, Any]], grace: float) -> None:
    """What is decided at its moment is what was decided in the run, and each pod is in one lane at a time."""
    scene = opened(release, manifests)
    run = VERBS["time"](scene, {"grace": grace})
    assert run["attempts"]
    for attempt in run["attempts"]:
        then = VERBS["timeAt"](scene, {"attempt": attempt["id"]})
        decision = then["decision"]
        assert (then["pod"], decision["pod"]) == (attempt["pod"], attempt["pod"])
        assert (decision["host"] or decision["nominated"] or None) == attempt["node"]
        assert decision["message"].rstrip() == attempt["text"]
    stays = [stay for name, lane in run["lanes"].items() if name != "more" for stay in lane]
    for pod in {stay["pod"] for stay in stays}:
        own = sorted((s["from"], run["duration"] if s["to"] is None else s["to"]) for s in stays if s["pod"] == pod)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(own))
    assert sorted(n for stay in stays for n in stay["attempts"]) == [one["id"] for one in run["attempts"]]


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_use_is_that_of_a_simulation(release: str) -> None:
    """In shares of what is allocatable, over the whole run."""
    manifests = [ks.node("a", cpu=4), ks.pod("w1", cpu=1), ks.pod("w2", cpu=2)]
    manifests[1]["metadata"]["annotations"] = {"kubescheduler/duration": "40"}
    cluster = ks.Cluster(manifests[0], release=release)
    answer = VERBS["time"](opened(release, manifests), {})
    report = ks.simulate(cluster, manifests[1:], preempt=True)
    times, cpu, _, pods = answer["samples"]
    assert times[: len(report.samples)] == [sample.time for sample in report.samples]
    assert cpu[: len(report.samples)] == [sample.used[0] / sample.capacity[0] for sample in report.samples]
    assert (cpu[0], pods[0]) == (0.75, 2 / 110)
    assert answer["duration"] == report.end


def test_a_run_that_draws_ties_can_be_run_again() -> None:
    """Also without a seed; other seeds draw otherwise."""
    cluster = ks.Cluster(*(ks.node(f"n{at}") for at in range(8)), release="1.36")
    for at in range(6):
        cluster = cluster.pod(f"w{at}", cpu=1)
    side = Side("a", "", EngineSpec("1.36"), tie_break="random")
    scene = Scene.opened(cluster, sides=[side])
    hosts = [one["node"] for one in VERBS["time"](scene, {})["attempts"]]
    again = Scene.opened(cluster, sides=[side])
    assert [one["node"] for one in VERBS["time"](again, {})["attempts"]] == hosts
    drawn = {tuple(one["node"] for one in VERBS["time"](scene, {"seed": at})["attempts"]) for at in range(5)}
    assert len(drawn) > 1


def test_a_moment_becomes_the_scene_and_back() -> None:
    """With what has come by then, where it was; undo brings the scene back."""
    manifests = [ks.node("a", cpu=4), ks.pod("first", cpu=3), ks.pod("late", cpu=2)]
    manifests[2]["metadata"]["annotations"] = {"kubescheduler/arrives-after": "60"}
    scene = opened("1.36", manifests)
    run = VERBS["time"](scene, {})
    late = next(one["id"] for one in run["attempts"] if one["pod"] == "default/late")
    assert VERBS["edit"](scene, {"edit": {"do": "fork", "side": "a", "attempt": 0}})["text"] == (
        "Went to the moment 0 s, before the attempt of default/first"
    )
    assert [pod.key for pod in scene.state.cluster.pods] == ["default/first"]
    VERBS["undo"](scene, {})
    VERBS["edit"](scene, {"edit": {"do": "fork", "side": "a", "attempt": late}})
    assert {pod.key: pod.node_name for pod in scene.state.cluster.pods} == {"default/first": "a", "default/late": ""}
    assert scene.state.asked == "default/late"


def test_a_moment_has_what_the_run_wrote_of_pods() -> None:
    """Those that it bound have the time at which they started; a nomination that it took back is gone."""
    manifests = [ks.node("a", cpu=4), ks.pod("first", cpu=3, priority=1), coming("late", 4, 50, 60)]
    manifests[1]["status"] = {"nominatedNodeName": "a"}
    scene = opened("1.36", manifests)
    run = VERBS["time"](scene, {})
    late = next(one["id"] for one in run["attempts"] if one["pod"] == "default/late")
    VERBS["edit"](scene, {"edit": {"do": "fork", "side": "a", "attempt": late}})
    pods = {pod.key: pod for pod in scene.state.cluster.pods}
    assert pods["default/first"].nominated_node_name == ""
    assert pods["default/first"].start_time is not None
    assert pods["default/late"].start_time is None


def test_a_workload_comes_besides() -> None:
    """Also its nodes; at a moment those that have joined are there."""
    workload = """
apiVersion: v1
kind: Node
metadata: {name: late-node, annotations: {kubescheduler/arrives-after: "30"}}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
"""
    scene = opened("1.36", [ks.node("a", cpu=4)])
    run = VERBS["time"](scene, {"workload": workload})
    placed = [(one["node"], one["id"]) for one in run["attempts"] if one["result"] == "placed"]
    assert sorted(node for node, _ in placed) == ["a", "late-node", "late-node"]
    last = VERBS["timeAt"](scene, {"attempt": placed[-1][1], "verb": "cluster"})["cluster"]
    assert [(node["name"], len(node["pods"])) for node in last["nodes"]] == [("a", 1), ("late-node", 1)]


def test_a_run_without_an_end_is_ended() -> None:
    """And says so."""
    manifests = [ks.node("a", cpu=1), ks.pod("big", cpu=3)]
    later = ks.pod("later", cpu=1)
    later["metadata"]["annotations"] = {"kubescheduler/arrives-after": "10h"}
    answer = VERBS["time"](opened("1.36", [*manifests, later]), {"until": 100})
    assert answer["duration"] <= 100
    assert answer["text"].endswith("the run was ended after 100 seconds.")


FAULTS = {
    "nothing": ({}, "no pod waits, and none is to come"),
    "no attempt": ({"attempt": 7}, "there is no attempt 7"),
    "a list": ({"attempt": 0, "verb": ["decision"]}, "expected one of"),
    "an edit": ({"attempt": 0, "verb": "edit"}, "expected one of"),
}


@pytest.mark.parametrize(("asked", "text"), FAULTS.values(), ids=FAULTS.keys())
def test_what_there_is_not_is_refused(asked: dict[str, Any], text: str) -> None:
    """With words for it."""
    scene = opened("1.36", [ks.node("a"), *([ks.pod("web")] if asked else [])])
    with pytest.raises(SceneFault, match=text):
        VERBS["timeAt" if asked else "time"](scene, asked)


COUNTS = {
    "one of each": ((1, 1, 1), 1, "1 attempt, of 3 pods 1 runs, 1 waits, 1 has gone."),
    "several of each": ((2, 3, 2), 8, "8 attempts, of 7 pods 2 run, 3 wait, 2 have gone."),
    "a single pod": ((0, 1, 0), 2, "2 attempts, of 1 pod 0 run, 1 waits."),
}


@pytest.mark.parametrize(("counts", "tries", "text"), COUNTS.values(), ids=COUNTS.keys())
def test_numbers_and_verbs_agree(counts: tuple[int, int, int], tries: int, text: str) -> None:
    """One pod runs, two run."""
    running, waiting, gone = counts
    outcomes = [RUNNING] * running + [WAITING] * waiting + ["finished"] * gone
    records = [SimpleNamespace(outcome=outcome) for outcome in outcomes]
    run: Any = SimpleNamespace(records=records, attempts=range(tries), ended="")
    assert run_text(run, 5.0) == f"After 5 s and {text}"
