"""What is told of a scene as a whole."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.lab_document import SceneOpenings, lab_document, share_text
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.laws import costly
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


def scene(name: str) -> Scene:
    """A scene with a node of that name."""
    return Scene.opened(ks.Cluster(release="1.36").node(name).pod("web"))


OPENINGS = SceneOpenings(lambda: scene("start"), lambda: scene("bundled"), lambda name: scene(f"of-{name}"))
STATE = scene("shared").state

SOURCES = {
    "start": ("start", "start"),
    "bundled": ("bundled", "bundled"),
    "exercise": ({"exercise": "taints"}, "of-taints"),
    "share": ({"share": share_text(STATE)}, "shared"),
    "lab": ({"lab": lab_document(STATE)}, "shared"),
}


@pytest.mark.parametrize(("source", "node"), SOURCES.values(), ids=SOURCES.keys())
def test_each_source_opens_its_scene(source: Any, node: str) -> None:
    """With its own cluster."""
    assert [each.name for each in OPENINGS({"from": source}).state.cluster.nodes] == [node]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"from": "elsewhere"}, "from: must be"),
        ({"from": {"share": "*"}}, "cannot be read"),
        ({"from": {"share": 1}}, "from: must be"),
        ({"from": {"lab": {"kind": "List"}}}, "scene: "),
        ({"from": {"lab": {}, "share": ""}}, "from: must be"),
        ({"of": "start"}, "of: unknown"),
    ],
)
def test_anything_else_is_refused(asked: dict[str, Any], words: str) -> None:
    """With what there is."""
    with pytest.raises(InputError, match=words):
        OPENINGS(asked)


NODES = st.sampled_from(["a", "b", "c", "a-1"])
PODS = st.sampled_from([f"default/{name}" for name in ("run-1", "run-2", "wait-1", "wait-2", "new")])
SIDES = st.sampled_from(["a", "b"])
RULES = {"a": ["NodeResourcesFit", "TaintToleration"], "b": ["LeastRequestedPriority", "NodeAffinityPriority"]}

EDITS = st.one_of(
    st.fixed_dictionaries(
        {"do": st.sampled_from(["kill", "removeNode", "cordon", "uncordon", "drain"]), "node": NODES}
    ),
    st.fixed_dictionaries({"do": st.just("clone"), "node": NODES, "count": st.integers(1, 2)}),
    st.fixed_dictionaries(
        {"do": st.just("taint"), "node": NODES, "taint": st.sampled_from(["k:NoSchedule", "k=v:PreferNoSchedule"])}
    ),
    st.fixed_dictionaries(
        {
            "do": st.just("label"),
            "node": NODES,
            "key": st.sampled_from(["disk", "topology.kubernetes.io/zone"]),
            "value": st.sampled_from(["ssd", "z", None]),
        }
    ),
    st.fixed_dictionaries(
        {"do": st.just("resize"), "node": NODES, "resources": st.fixed_dictionaries({"cpu": st.integers(1, 9)})}
    ),
    st.fixed_dictionaries({"do": st.sampled_from(["unbind", "removePod", "ask"]), "pod": PODS}),
    st.fixed_dictionaries({"do": st.just("bind"), "pod": PODS, "node": NODES}),
    st.fixed_dictionaries({"do": st.just("scale"), "pod": PODS, "replicas": st.integers(0, 3)}),
    st.fixed_dictionaries(
        {"do": st.just("addPod"), "name": st.just("new"), "cpu": st.integers(1, 4), "priority": st.integers(0, 9)}
    ),
    st.fixed_dictionaries({"do": st.just("schedule"), "side": SIDES}),
    st.sampled_from(["a", "b"]).flatmap(
        lambda side: st.fixed_dictionaries(
            {
                "do": st.just("weights"),
                "side": st.just(side),
                "weights": st.dictionaries(st.sampled_from(RULES[side]), st.integers(1, 9), min_size=1),
            }
        )
    ),
    st.fixed_dictionaries({"do": st.just("release"), "side": SIDES, "release": st.sampled_from(RELEASES_TRIED)}),
)


def opened() -> Scene:
    """Three nodes, two pods that run, two that wait; two sides."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4, zone="z").node("c", cpu=2)
    cluster = cluster.pod("run-1", node="a", cpu=3, priority=1).pod("run-2", node="b", cpu=2)
    cluster = cluster.pod("wait-1", cpu=2).pod("wait-2", cpu=4, priority=5)
    return Scene.opened(cluster, sides=[EngineSpec("1.36"), EngineSpec("1.16")])


def shown_whole(scene: Scene) -> Any:
    """All that a page would show of it, apart from the history."""
    gone = ("version", "canUndo", "undoText", "canRedo", "redoText")
    state = {key: value for key, value in VERBS["state"](scene, {}).items() if key not in gone}
    sides = [side.id for side in scene.state.sides]
    decisions = [VERBS["decision"](scene, {"side": side, "all": True}) for side in sides if scene.state.asked]
    clusters = [VERBS["cluster"](scene, {"side": side}) for side in sides]
    return scene.state.cluster.manifests(), state, decisions, clusters


@costly
@given(edits=st.lists(EDITS, min_size=1, max_size=6))
def test_undo_gives_back_what_was_and_redo_what_came(edits: list[dict[str, Any]]) -> None:
    """Whatever was edited, and whatever was refused in between; and a scene that is opened anew shows the same."""
    scene = opened()
    first = shown_whole(scene)
    for edit in edits:
        before = scene.version
        try:
            VERBS["edit"](scene, {"edit": edit})
        except InputError:
            assert scene.version == before
        shown_whole(scene)
    last = shown_whole(scene)
    assert shown_whole(Scene(scene.state)) == last
    while scene.undo_text is not None:
        VERBS["undo"](scene, {})
    assert shown_whole(scene) == first
    while scene.redo_text is not None:
        VERBS["redo"](scene, {})
    assert shown_whole(scene) == last


def test_a_new_edit_forgets_what_was_undone() -> None:
    """And no more than a hundred are remembered."""
    scene = opened()
    for at in range(103):
        VERBS["edit"](scene, {"edit": {"do": "label", "node": "a", "key": "n", "value": str(at)}})
    VERBS["undo"](scene, {})
    VERBS["edit"](scene, {"edit": {"do": "cordon", "node": "a"}})
    assert scene.redo_text is None
    steps = 0
    while scene.undo_text is not None:
        VERBS["undo"](scene, {})
        steps += 1
    assert steps == 100
    assert scene.state.cluster.nodes[0].metadata.labels["n"] == "2"
