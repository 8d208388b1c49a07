"""Preemption as it is shown, in every release that has it."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS

RELEASES = ks.RELEASES[1:]
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
