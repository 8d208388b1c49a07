"""What a page shows of a decision: steps, preemption, ties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kubescheduler as ks
from kubescheduler.cli import run
from kubescheduler.core.extender_calls import ExtenderTrace
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.plugin_loading import plugin_option
from kubescheduler.lab.scene.decision_view import MOST_NODES, extender_answer
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import side_of
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.recorded_scenes import RecordedScene, drawn_scenes
from tests.support.releases_tried import RELEASES_TRIED

LEGACY = ["predicates", "priorities", "select", "bind"]
FRAMEWORK = [
    *("gates", "queue", "preFilter", "filter", "postFilter", "preScore", "score", "normalise", "select"),
    *("reserve", "permit", "bind"),
]
CLUSTER = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4)
FIRST = {"passed": "+", "stopped": "!", "skipped": "-", "none": "."}


def states(answer: dict[str, Any]) -> str:
    """A sign for each step: + passed, ! stopped, - skipped, . not come to."""
    return "".join(FIRST[step["state"]] for step in answer["steps"])


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("1.4", {"cpu": 1}, "++++", ""),
    ("1.16", {"cpu": 1}, "++++", ""),
    ("1.16", {"cpu": 9}, "!..!.", "0 of 2 nodes fit"),
    ("1.20", {"cpu": 1}, "-+++-+++++-+", ""),
    ("1.36", {"cpu": 1}, "++++-+++++-+", ""),
    ("1.36", {"cpu": 9}, "+++!!.......", "0 of 2 nodes fit"),
    ("1.36", {"gates": ["wait"]}, "!...........", "waiting for scheduling gates"),
    ("1.36", {"scheduler_name": "mine"}, ".!..........", 'profile not found for scheduler name "mine"'),
    ("1.16", {"scheduler_name": "mine"}, "!...", "the pod names scheduler mine"),
]


@pytest.mark.parametrize(("release", "pod", "expected", "text"), CASES, ids=[f"{r}-{p}" for r, p, _, _ in CASES])
def test_each_release_has_its_steps(release: str, pod: dict[str, Any], expected: str, text: str) -> None:
    """A pod that fits, one that does not, one that is held back, and one of another scheduler."""
    scene = Scene.opened(CLUSTER.for_release(release).pod("web", **pod), sides=[EngineSpec(release)])
    answer = VERBS["decision"](scene, {})
    known = FRAMEWORK if release in ("1.20", "1.36") else LEGACY
    assert [step["id"] for step in answer["steps"] if step["id"] != "preemption"] == known
    assert states(answer) == expected
    if text and answer["host"] is None:
        assert any(text in step["text"] for step in answer["steps"] if step["state"] == "stopped")


def test_a_plugin_that_rejects_the_pod_before_nodes_are_looked_at() -> None:
    """A claim that is not there: no Filter is run."""
    spec = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]}
    scene = Scene.opened(CLUSTER.pod("web", spec=spec), sides=[EngineSpec("1.36")])
    answer = VERBS["decision"](scene, {})
    assert states(answer)[:4] == "++!."
    assert {tuple(node["refused"]) for node in answer["nodes"]} == {("VolumeRestrictions",)}


class Raising:
    """A plugin that raises."""

    name = "Mine"

    def __init__(self, *_: Any) -> None:
        """Nothing to set up."""


class RaisingFilter(Raising):
    """In Filter."""

    def filter(self, state: Any, pod: Any, node_info: Any) -> Any:
        """Raises."""
        raise ValueError("no such shelf")


class RaisingScore(Raising):
    """In Score."""

    def score(self, state: Any, pod: Any, node_info: Any) -> Any:
        """Raises."""
        raise ValueError("no such shelf")


@pytest.mark.parametrize(("where", "plugin"), [("filter", RaisingFilter), ("score", RaisingScore)])
def test_a_plugin_that_raises_is_an_error_of_the_decision(where: str, plugin: type[Raising]) -> None:
    """At its step and with its text, not a node that does not fit."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {where: {"enabled": [{"name": "Mine"}]}}}],
    }
    spec = EngineSpec("1.36", component=document, plugins=(plugin_option("Mine", plugin),))
    scene = Scene.opened(CLUSTER.pod("web"), sides=[spec])
    answer = VERBS["decision"](scene, {})
    assert "no such shelf" in answer["error"]
    (stopped,) = [step for step in answer["steps"] if step["state"] == "stopped"]
    assert stopped["id"] == where
    assert "no such shelf" in stopped["text"]
    assert "error" in VERBS["whatif"](scene, {"node": "a"})["text"]
    assert VERBS["why"](scene, {"node": "a"})["fits"] is False
    assert "no such shelf" in VERBS["pending"](scene, {})["pods"][0]["error"]


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_an_extender_that_cannot_be_asked_is_an_error(release: str, address: str) -> None:
    """Of a scene that asks; one that passes extenders over decides without, and says so."""
    settings = {"urlPrefix": f"{address}/refuses", "filterVerb": "filter", "weight": 1, "enableHttps": False}
    if release == "1.36":
        document: dict[str, Any] = {
            "component": {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [{key: value for key, value in settings.items() if key != "enableHttps"}],
            }
        }
    else:
        document = {"policy": {"kind": "Policy", "apiVersion": "v1", "extenders": [settings]}}
    spec = EngineSpec(release, extenders="pass", **document)
    scene = Scene.opened(CLUSTER.for_release(release).pod("web", cpu=1), sides=[spec])
    passed = VERBS["decision"](scene, {})
    assert (passed["host"], passed["error"]) == ("a", None)
    assert scene.made(scene.side("a")).notes
    assert VERBS["state"](scene, {})["sides"][0]["extendersPassed"]
    VERBS["edit"](scene, {"edit": {"do": "askExtenders", "side": "a", "on": True}})
    assert not VERBS["state"](scene, {})["sides"][0]["extendersPassed"]
    asked = VERBS["decision"](scene, {})
    assert asked["host"] is None
    assert asked["error"]
    assert asked["steps"][3 if release in ("1.20", "1.36") else 0]["text"] == asked["error"]
    (entry,) = asked["extenders"]
    assert (entry["refused"], entry["scores"], entry["request"]["verbs"]) == (None, None, {"filter": "filter"})
    assert not any(node["refused"] for node in asked["nodes"])


def test_a_long_answer_of_an_extender_is_counted() -> None:
    """As many nodes as a page shows are named; how many there are is said beside them."""
    failed = {f"n{at}": "full" for at in range(MOST_NODES)}
    scores = tuple((f"n{at}", 1) for at in range(MOST_NODES + 3))
    answer = extender_answer(ExtenderTrace("x", failed=failed, unresolvable={"m": "gone", "o": "gone"}, scores=scores))
    assert (len(answer["refused"]), answer["refusedTotal"]) == (MOST_NODES, MOST_NODES + 2)
    assert (len(answer["scores"]), answer["scoresTotal"]) == (MOST_NODES, MOST_NODES + 3)


RELEASES = RELEASES_TRIED[1:]
"""Those that preempt."""


def full(release: str) -> Scene:
    """Three full nodes: on ``a`` a pod of priority 5, on ``b`` one of 2, on ``c`` two of 2; one of 100 waits."""
    cluster = ks.Cluster(release=release)
    for name in "abc":
        cluster = cluster.node(name, cpu=4)
    for name, node, cpu, priority in (("x", "a", 4, 5), ("y", "b", 4, 2), ("z-1", "c", 2, 2), ("z-2", "c", 2, 2)):
        cluster = cluster.pod(name, node=node, cpu=cpu, priority=priority)
    return Scene.opened(cluster.pod("urgent", cpu=4, priority=100), sides=[EngineSpec(release)])


def shown(scene: Scene) -> Any:
    """The verb ``decision``'s part about preemption."""
    return VERBS["decision"](scene, {})["preemption"]


@pytest.mark.parametrize("release", RELEASES)
def test_candidates_victims_and_the_rule_that_decided(release: str) -> None:
    """The lowest most important victim leaves two nodes, the lowest sum of priorities one."""
    found = shown(full(release))
    victims = {one["node"]: sorted(victim["key"] for victim in one["victims"]) for one in found["candidates"]}
    assert victims == {"b": ["default/y"], "a": ["default/x"], "c": ["default/z-1", "default/z-2"]}
    assert [one["node"] for one in found["candidates"] if one["chosen"]] == ["b"]
    assert [rule["left"] for rule in found["rules"]] == [["a", "b", "c"], ["b", "c"], ["b"], ["b"], ["b"]]
    assert [rule["text"] for rule in found["rules"] if rule["decided"]] == ["lowest sum of the victims' priorities"]
    assert found["text"] == "Evicting default/y makes room on b, to which the pod is nominated"


@pytest.mark.parametrize("release", RELEASES)
def test_scheduling_evicts_and_binds(release: str) -> None:
    """The victim waits again."""
    scene = full(release)
    text = VERBS["edit"](scene, {"edit": {"do": "schedule", "pod": "default/urgent"}})["text"]
    assert text == "Scheduled 1 pod: default/urgent on b; evicted 1 pod"
    assert {pod.metadata.name: pod.node_name for pod in scene.state.cluster.pods if pod.node_name in ("b", "")} == {
        "urgent": "b",
        "y": "",
    }


def test_release_1_4_has_none() -> None:
    """A pod that fits nowhere waits."""
    assert shown(full("1.4")) is None


@pytest.mark.parametrize("release", RELEASES)
def test_nobody_is_less_important(release: str) -> None:
    """There is no candidate, and it says so."""
    scene = full(release)
    VERBS["edit"](scene, {"edit": {"do": "addPod", "name": "late", "cpu": 4, "priority": 1}})
    found = shown(scene)
    assert (found["candidates"], found["rules"]) == ([], [])
    assert found["text"]


def test_each_rule_says_what_it_compared() -> None:
    """The numbers of the nodes that the rules before it had left, and which of them it leaves."""
    rules = {rule["text"]: rule["compared"] for rule in shown(full("1.36"))["rules"]}
    said = {text: {one["node"]: one["number"] for one in compared} for text, compared in rules.items()}
    assert said["fewest violations of disruption budgets"] == {"a": "0", "b": "0", "c": "0"}
    assert said["the most important victim has the lowest priority"] == {"a": "5", "b": "2", "c": "2"}
    sums = {"b": f"{2 + 2**31:,}", "c": f"{2 * (2 + 2**31):,}"}
    assert said["lowest sum of the victims' priorities"] == sums
    assert [one["left"] for one in rules["lowest sum of the victims' priorities"]] == [True, False]
    assert said["the most important victim started last"] == {"b": "no start"}


TEXTS = [
    (
        "1.4",
        "first",
        "here the first by name is taken, so that the answer repeats; kube-scheduler 1.4 takes them in turn",
    ),
    ("1.16", "upstream", ": kube-scheduler 1.16 draws one of them, each with equal chance."),
    ("1.20", "random", "here any of them is drawn; kube-scheduler 1.20 draws one of them"),
    ("1.36", "upstream", ": kube-scheduler 1.36 takes the one at the root of the heap"),
]


@pytest.mark.parametrize(("release", "tie_break", "text"), TEXTS)
def test_nodes_that_tie_and_by_what_one_is_chosen(release: str, tie_break: str, text: str) -> None:
    """Asked twice it is the same one, whatever was asked in between."""
    cluster = ks.Cluster(release=release).node("b").node("a").node("c", cpu=2).pod("web", cpu=1).pod("other", cpu=1)
    side = msgspec.structs.replace(side_of(EngineSpec(release)), tie_break=tie_break, seed=7)
    scene = Scene.opened(cluster, sides=[side])
    answer = VERBS["decision"](scene, {})
    assert (answer["ties"]["nodes"], answer["ties"]["total"]) == (["a", "b"], 2)
    assert text in answer["ties"]["text"]
    assert [node["name"] for node in answer["nodes"] if node["best"]] == ["a", "b"]
    scene.decision("a", "default/other")
    assert VERBS["decision"](scene, {})["host"] == answer["host"]


def test_one_node_alone_at_the_top_is_no_tie() -> None:
    """Nor is a node that was not scored."""
    cluster = ks.Cluster().node("a", cpu=8).node("b", cpu=2).pod("web", cpu=1)
    assert VERBS["decision"](Scene.opened(cluster), {})["ties"] is None


ROW_CASES = [drawn for release in RELEASES_TRIED for drawn in drawn_scenes(release, count=8, seed=3)]


@pytest.mark.parametrize("drawn", ROW_CASES, ids=lambda drawn: drawn.name)
def test_raw_normalised_and_product_are_those_of_why(drawn: RecordedScene) -> None:
    """In every release, also where it does not keep raw scores."""
    scene = drawn.scene()
    if scene.problems("a"):
        return
    for node in VERBS["decision"](scene, {"to": 4})["nodes"]:
        evidence = VERBS["why"](scene, {"node": node["name"]})["scores"]
        said = {one["rule"]: [one["raw"], one["normalised"], one["product"]] for one in evidence}
        assert {rule: list(score.values()) for rule, score in node["scores"].items()} == said


TOTALS = [drawn for release in RELEASES_TRIED for drawn in drawn_scenes(release)]


def shown_rows(drawn: RecordedScene) -> dict[str, Any]:
    """The verb ``decision`` with every node."""
    scene = drawn.scene()
    first = VERBS["decision"](scene, {"from": 0, "to": 500})
    for start in range(500, first["total"], 500):
        first["nodes"] += VERBS["decision"](scene, {"from": start, "to": start + 500})["nodes"]
    return first


@pytest.mark.parametrize("drawn", TOTALS, ids=lambda drawn: drawn.name)
def test_recorded_scenarios_of_each_release(
    drawn: RecordedScene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Host, message, who fits, reasons by check, totals, best nodes; products add up to totals."""
    run(["schedule", *drawn.arguments(tmp_path), "--preempt", "-o", "json"])
    text = capsys.readouterr().out
    assert (not text) == bool(drawn.scene().problems("a"))  # a policy that the release does not take
    if not text:
        return
    (said,) = json.loads(text)["items"]
    answer = shown_rows(drawn)
    nodes = {node["name"]: node for node in answer["nodes"]}
    assert (answer["host"], answer["message"], answer["error"]) == (said["host"], said["message"], said["error"])
    assert sorted(name for name, node in nodes.items() if node["fits"]) == said["fits"]
    totals = {name: node["total"] for name, node in nodes.items() if node["total"] is not None}
    assert (totals if answer["scored"] else {}) == said["total"]
    assert sorted(name for name, node in nodes.items() if node["best"] and answer["scored"]) == (
        said["best"] if answer["scored"] else []
    )
    for node in nodes.values():
        assert node["total"] is None or sum(one["product"] for one in node["scores"].values()) == node["total"]
    failed = {
        name: sorted(reason for reasons in node["refused"].values() for reason in reasons)
        for name, node in nodes.items()
        if node["refused"]
    }
    if said["error"] is not None:
        return  # the command says no more; a scene shows which nodes the error was met on
    assert failed == {name: sorted(reasons) for name, reasons in said["failed"].items()}
    if "codes" in said:
        assert {name: node["code"] for name, node in nodes.items() if "code" in node and node["refused"]} == said[
            "codes"
        ]
    found = answer["preemption"]
    expected = said["preemption"]
    assert (found is None) == (expected is None)
    if found is not None:
        assert sorted(one["node"] for one in found["candidates"] if one["chosen"]) == expected["chosen"]
        victims = {one["node"]: [victim["key"] for victim in one["victims"]] for one in found["candidates"]}
        assert victims == {name: one["victims"] for name, one in expected["candidates"].items()}
