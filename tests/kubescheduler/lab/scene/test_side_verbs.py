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


def test_running_pods() -> None:
    """Each is taken out, as ``compare`` does it; a selector that picks none is said, and nothing is compared."""
    specs = (EngineSpec("1.16"), EngineSpec("1.36"))
    scene = opened(*specs)
    cluster = scene.state.cluster.bound("web-1", "a").bound("web-2", "a")
    scene = Scene.opened(cluster, sides=specs)
    answer = VERBS["sides"](scene, {"pods": "running"})
    found = ks.compare(cluster, old=specs[0], new=specs[1], running=True)
    assert [(pod["pod"], pod["runsOn"]) for pod in answer["pods"]] == [("default/web-1", "a"), ("default/web-2", "a")]
    assert [tuple(pod["hosts"].values()) for pod in answer["pods"]] == [
        tuple(outcome.host for outcome in pod.outcomes) for pod in found.pods
    ]
    assert answer["notes"] == ["each of the 2 running pods was taken out of the cluster and decided anew"]
    none = VERBS["sides"](scene, {"pods": "running", "of": "app=none"})
    assert (none["pods"], none["text"][:40]) == ([], "no running pod is picked by app=none; wr")
