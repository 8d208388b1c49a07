"""What is told of a scene as a whole."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.releases_tried import RELEASES_TRIED

COUNTS = {"few": (20, []), "many": (23, ["and 3 more"])}


@pytest.mark.parametrize(("count", "end"), COUNTS.values(), ids=COUNTS.keys())
def test_a_list_of_notes_ends(count: int, end: list[str]) -> None:
    """After twenty, with how many more there are."""
    notes = tuple(f"note {at}" for at in range(count))
    state = Scene.opened(ks.Cluster(release="1.36").node("a")).state
    answer = VERBS["state"](Scene(msgspec.structs.replace(state, notes=notes)), {})
    assert answer["notes"] == [*notes[:20], *end]


def shown(scene: Scene, **asked: Any) -> Any:
    return VERBS["cluster"](scene, asked)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_nodes_say_whether_the_pod_fits(release: str) -> None:
    """The pod that is asked about, or one that is named; and the node that it goes to, with its place."""
    cluster = ks.Cluster(release=release).node("a", cpu=1).node("b", cpu=4).node("c", cpu=2)
    scene = Scene.opened(cluster.pod("web", cpu=2).pod("small", node="c", cpu=1))
    found = shown(scene)
    assert {node["name"]: node["fits"] for node in found["nodes"]} == {"a": False, "b": True, "c": False}
    assert (found["host"], found["hostAt"]) == ("b", 1)
    assert [node["fits"] for node in shown(scene, pod="default/small")["nodes"]] == [True, True, True]
    assert shown(scene, find="a")["hostAt"] is None


def test_without_a_pod_no_node_says_anything() -> None:
    """There is nothing to fit."""
    found = shown(Scene.opened(ks.Cluster(release="1.36").node("a", cpu=1)))
    assert (found["nodes"][0]["fits"], found["host"], found["hostAt"]) == (None, None, None)
