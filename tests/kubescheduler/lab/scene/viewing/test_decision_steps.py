"""The steps of an attempt, and what became of each, by release and by what ends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.profiles.plugin_loading import plugin_option
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.custom.extender_process import extender

LEGACY = ["predicates", "priorities", "select", "bind"]
FRAMEWORK = [
    "gates",
    "queue",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "normalise",
    "select",
    "reserve",
    "permit",
    "bind",
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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An extender in a process of its own."""
    with extender() as found:
        yield found


@pytest.mark.parametrize("release", ks.RELEASES)
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
    VERBS["edit"](scene, {"edit": {"do": "askExtenders", "side": "a", "on": True}})
    asked = VERBS["decision"](scene, {})
    assert asked["host"] is None
    assert asked["error"]
    assert asked["steps"][3 if release in ("1.20", "1.36") else 0]["text"] == asked["error"]
    (entry,) = asked["extenders"]
    assert (entry["answered"], entry["request"]["verbs"]) == (False, {"filter": "filter"})
    assert not any(node["refused"] for node in asked["nodes"])
