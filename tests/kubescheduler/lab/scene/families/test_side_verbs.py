"""Sides of a scene compared."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS


def opened(*sides: EngineSpec) -> Scene:
    """Two nodes of different sizes, and three pods that wait."""
    cluster = ks.Cluster(release=sides[0].release).node("a", cpu=4, memory="8Gi").node("b", cpu=8, memory="8Gi")
    for name in ("web-1", "web-2", "web-3"):
        cluster = cluster.pod(name, cpu=1, memory="1Gi")
    return Scene.opened(cluster, sides=sides)


@pytest.mark.parametrize("mode", ["independent", "sequence"])
def test_what_is_said_is_what_compare_finds(mode: str) -> None:
    """Hosts and causes by side, the first one being the measure."""
    specs = (EngineSpec("1.16"), EngineSpec("1.16", provider="ClusterAutoscalerProvider"), EngineSpec("1.36"))
    scene = opened(*specs)
    answer = VERBS["sides"](scene, {"mode": mode})
    found = ks.compare(scene.state.cluster, old=specs[0], new=list(specs[1:]), mode=mode)
    assert [tuple(pod["hosts"].values()) for pod in answer["pods"]] == [
        tuple(outcome.host for outcome in pod.outcomes) for pod in found.pods
    ]
    assert [[(cause["name"], cause["text"]) for cause in pod["causes"]] for pod in answer["pods"]] == [
        [(str(change.cause), change.text) for change in pod.changes] for pod in found.pods
    ]
    assert list(answer["pods"][0]["hosts"]) == ["a", "b", "c"]


def test_hosts_are_those_of_the_sides_decisions() -> None:
    """Independent decisions are what Why shows."""
    scene = opened(EngineSpec("1.4"), EngineSpec("1.36"))
    answer = VERBS["sides"](scene, {"pods": "asked"})
    assert [pod["pod"] for pod in answer["pods"]] == [scene.state.asked]
    assert answer["pods"][0]["hosts"] == {letter: scene.decision(letter).host for letter in "ab"}


def test_one_side_has_nothing_to_be_compared_with() -> None:
    """It says what to do."""
    answer = VERBS["sides"](opened(EngineSpec("1.36")), {})
    assert (answer["pods"], answer["text"]) == ([], "There is one scheduler; add another side.")
