"""Ties as they are shown."""

from __future__ import annotations

import msgspec
import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_side import side_of
from kubescheduler.lab.scene.verbs import VERBS

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
