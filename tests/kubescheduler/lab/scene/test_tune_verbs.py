"""Tuning in a scene: forms, texts, thresholds, and edits that can be undone."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.tune_verbs import EDITS, thresholds, tune, tune_text


def opened(release: str) -> Scene:
    """A large node with a taint that is to be avoided if possible, a small one without, and a pod that waits."""
    cluster = (
        ks.Cluster(release=release)
        .node("big", cpu=16, memory="32Gi", taints=["old:PreferNoSchedule"])
        .node("small", cpu=1, memory="2Gi")
        .pod("web", cpu=1, memory="1Gi")
    )
    return Scene.opened(cluster, sides=[EngineSpec(release)])


def edit(scene: Scene, do: str, **asked: Any) -> str:
    """Makes an edit; what was done."""
    text, state = EDITS[do](scene, asked)
    scene.change(text, state)
    return text


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_a_threshold_can_be_tried(release: str) -> None:
    """With the weight that a threshold names the node wins, and undo brings the other back."""
    scene = opened(release)
    before = scene.decision("a").host
    found = [one for one in thresholds(scene, {})["thresholds"] if not one["wins"]]
    assert found
    for one in found:
        edit(scene, "weights", weights={one["rule"]: one["from"]})
        assert scene.decision("a").host == one["node"] != before
        scene.undo()
        assert scene.decision("a").host == before


def test_asked_nodes_have_a_range_each() -> None:
    """Also those that win with no weight."""
    answer = thresholds(opened("1.36"), {"nodes": ["big", "small"]})
    by_rule: dict[str, list[str]] = {one["rule"]: [] for one in answer["thresholds"]}
    for one in answer["thresholds"]:
        by_rule[one["rule"]].append(one["node"])
    assert set(map(tuple, by_rule.values())) == {("big", "small")}
    assert set(by_rule) == set(opened("1.36").decision("a").weights)


def test_a_text_is_tried_without_being_kept() -> None:
    """Its form is shown, and its problems with their paths; the scene stays."""
    scene = opened("1.36")
    text = tune(scene, {})["text"]
    assert "kind: KubeSchedulerConfiguration" in text
    version = scene.version
    plugins = "  plugins:\n    score:\n      enabled:\n      - name: ImageLocality\n        weight: 8\n"
    answer = tune_text(scene, {"text": text + plugins})
    assert {row["id"]: row["weight"] for row in answer["rules"]}["ImageLocality"] == 8
    wrong = tune_text(scene, {"text": text + plugins.replace("8", "x")})
    paths = {problem["path"]: problem["line"] for problem in wrong["problems"]}
    assert paths["profiles[0].plugins.score.enabled[0].weight"] == (text + plugins).count("\n")
    assert scene.version == version


def test_edits_say_what_was_done() -> None:
    """With what became of the text."""
    scene = opened("1.16")
    done = edit(scene, "weights", weights={"ImageLocalityPriority": 3})
    assert done == (
        "Weighed ImageLocalityPriority 3 (the provider DefaultProvider is written as the Policy that says the same)"
    )
    assert scene.side("a").kind == "policy"
    assert edit(scene, "toggle", rule="ImageLocalityPriority", on=False) == "Switched ImageLocalityPriority off"
    assert "ImageLocalityPriority" not in scene.side("a").text
    assert edit(scene, "configure", kind="provider", text="ClusterAutoscalerProvider")
    assert "MostRequestedPriority" in scene.decision("a").weights


def test_a_text_of_which_no_engine_can_be_made_is_refused() -> None:
    """With its problems, and nothing is changed."""
    scene = opened("1.36")
    with pytest.raises(InputError, match="kind"):
        edit(scene, "configure", kind="config", text="kind: Policy\n")
    assert scene.side("a").kind == "provider"
    with pytest.raises(InputError, match="unknown flag: --policy-config-file"):
        edit(scene, "configure", kind="policy", text="kind: Policy\napiVersion: v1\n")


def test_arguments_come_back_in_the_form() -> None:
    """As values of the fields."""
    scene = opened("1.36")
    edit(scene, "args", rule="NodeResourcesFit", args={"scoringStrategy": {"type": "MostAllocated"}})
    fields = next(one["schema"] for one in tune(scene, {})["args"] if one["rule"] == "NodeResourcesFit")
    assert next(field["value"] for field in fields if field["path"] == "scoringStrategy.type") == "MostAllocated"
