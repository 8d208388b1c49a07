"""Edits: what each changes, and that one which is refused changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene import cluster_edits, side_verbs
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import side_of
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.releases_tried import RELEASES_TRIED


def opened(release: str = "1.36") -> Scene:
    """Two nodes, a pod on each and one that waits; on ``b`` also a pod of a DaemonSet."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "1", "controller": True}
    agent = ks.pod("agent-b", node="b")
    agent["metadata"]["ownerReferences"] = [owner]
    cluster = (
        ks.Cluster(release=release)
        .node("a", cpu=4)
        .node("b", cpu=8, taints=["old:NoSchedule"])
        .pod("web-1", node="a", cpu=3)
        .pod("web-2", node="b", cpu=1)
        .add(agent)
        .pod("next", cpu=1)
    )
    return Scene.opened(cluster, sides=[EngineSpec(release)])


def edit(scene: Scene, **asked: Any) -> Any:
    """Makes one edit."""
    return VERBS["edit"](scene, {"edit": asked})


def places(scene: Scene) -> dict[str, str]:
    """Pod → node."""
    return {pod.metadata.name: pod.node_name for pod in scene.state.cluster.pods}


BEFORE = {"web-1": "a", "web-2": "b", "agent-b": "b", "next": ""}

PLACES: list[tuple[dict[str, Any], dict[str, str], str]] = [
    ({"do": "bind", "pod": "default/next", "node": "a"}, {**BEFORE, "next": "a"}, "Put pod default/next on node a"),
    ({"do": "unbind", "pod": "default/web-1"}, {**BEFORE, "web-1": ""}, "Took pod default/web-1 off its node"),
    ({"do": "kill", "node": "b"}, {"web-1": "a", "web-2": "", "next": ""}, "Killed node b"),
    ({"do": "removeNode", "node": "b"}, {"web-1": "a", "next": ""}, "Removed node b with its 2 pods"),
    ({"do": "drain", "node": "b"}, {**BEFORE, "web-2": ""}, "Drained node b"),
    ({"do": "removePod", "pod": "next"}, {"web-1": "a", "web-2": "b", "agent-b": "b"}, "Removed pod default/next"),
    ({"do": "scale", "pod": "next", "replicas": 2}, {**BEFORE, "next-1": ""}, "Scaled next to 2 pods"),
    ({"do": "addPod", "name": "x", "count": 2}, {**BEFORE, "x-1": "", "x-2": ""}, "Added 2 pods: x"),
    ({"do": "schedule"}, {**BEFORE, "next": "a"}, "Scheduled 1 pod: default/next on a"),
    ({"do": "schedule", "pod": "default/next"}, {**BEFORE, "next": "a"}, "Scheduled 1 pod: default/next on a"),
]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize(
    ("asked", "expected", "text"),
    PLACES,
    ids=lambda value: str(value.get("do", ""))[:10] if isinstance(value, dict) else "",
)
def test_an_edit_moves_pods(asked: dict[str, Any], expected: dict[str, str], text: str, release: str) -> None:
    """Undo takes it back, redo makes it again."""
    scene = opened(release)
    answer = edit(scene, **asked)
    assert (places(scene), answer["text"], answer["state"]["undoText"]) == (expected, text, text)
    VERBS["undo"](scene, {})
    assert places(scene) == BEFORE
    assert VERBS["redo"](scene, {})["text"] == f"Done again: {text}"
    assert places(scene) == expected


NODES: list[tuple[dict[str, Any], str, Any]] = [
    ({"do": "cordon", "node": "a"}, "a", {"cordoned": True}),
    ({"do": "taint", "node": "a", "taint": "k=v:NoExecute"}, "a", {"taints": ["k=v:NoExecute"]}),
    ({"do": "untaint", "node": "b", "key": "old"}, "b", {"taints": []}),
    ({"do": "clone", "node": "b", "count": 2}, "b-2", {"taints": ["old:NoSchedule"], "podsTotal": 0}),
    ({"do": "addNode", "name": "c", "zone": "east", "taints": ["x:NoSchedule"]}, "c", {"zone": "east"}),
    (
        {"do": "label", "node": "a", "key": "disk", "value": "ssd"},
        "a",
        {"labels": {"kubernetes.io/hostname": "a", "disk": "ssd"}},
    ),
]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize(("asked", "node", "expected"), NODES, ids=[asked["do"] for asked, _, _ in NODES])
def test_an_edit_changes_a_node(asked: dict[str, Any], node: str, expected: dict[str, Any], release: str) -> None:
    """As the verb cluster shows it."""
    scene = opened(release)
    edit(scene, **asked)
    shown = {entry["name"]: entry for entry in VERBS["cluster"](scene, {"side": "a"})["nodes"]}
    assert {key: shown[node][key] for key in expected} == expected


def test_a_node_is_resized() -> None:
    """One resource stays as it was where only another is given."""
    scene = opened()
    edit(scene, do="resize", node="a", resources={"cpu": "16"})
    sizes = {one["name"]: one["text"]["allocatable"] for one in VERBS["cluster"](scene, {})["nodes"][0]["resources"]}
    assert sizes == {"cpu": "16", "memory": "8Gi", "pods": "110"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"do": "tain", "node": "a"}, "edit.do: there is no edit 'tain'; did you mean taint?"),
    ({"do": "kill", "node": "z"}, "there is no node z in the cluster"),
    ({"do": "kill"}, "Object missing required field `node`"),
    ({"do": "kill", "node": "a", "force": True}, "Object contains unknown field `force`"),
    ({"do": "untaint", "node": "a", "key": "old"}, "Node a: there is no taint old; it has none"),
    ({"do": "taint", "node": "a", "taint": "k=v"}, "k=v"),
    ({"do": "addNode", "name": "a"}, "Node a: metadata.name: already in the cluster"),
    ({"do": "addPod", "name": "web-1"}, "Pod default/web-1: metadata.name: already in the cluster"),
    ({"do": "addPod", "name": "x", "count": 0}, "count: expected 1 to 5000, found 0"),
    ({"do": "addYaml", "text": " "}, "text: it is empty"),
    ({"do": "addYaml", "text": "kind: Pod\nmetadata: {name: x}\nspec: {nodeNme: a}"}, "nodeNme"),
    (
        {"do": "editYaml", "kind": "Node", "key": "a", "text": "metadata: {name: z}"},
        "name and namespace cannot be changed",
    ),
    ({"do": "schedule", "pod": "web-1"}, "pod: default/web-1 runs on a; take it off its node first"),
    ({"do": "weights", "side": "a", "weights": {"NodeResourceFit": 2}}, "did you mean NodeResourcesFit?"),
    ({"do": "weights", "side": "a", "weights": {"NodeResourcesFit": -2}}, "the weight has to be 1 or more, found -2"),
    ({"do": "toggle", "side": "a", "rule": "TaintTolerations", "on": False}, "did you mean TaintToleration?"),
    ({"do": "configure", "side": "a", "kind": "policy", "text": "{}"}, "--policy-config-file"),
    ({"do": "release", "side": "a", "release": "1.17"}, "1.17"),
    ({"do": "removeSide", "side": "a"}, "sides: it is the only one"),
    ({"do": "migrateSide", "from": "a", "to": "1.16"}, "has no provider to migrate"),
]


@pytest.mark.parametrize(
    ("asked", "text"), REFUSED, ids=[f"{asked['do']}-{at}" for at, (asked, _) in enumerate(REFUSED)]
)
def test_an_edit_that_is_refused_changes_nothing(asked: dict[str, Any], text: str) -> None:
    """It says what is wrong."""
    scene = opened()
    before = (scene.state, scene.version)
    with pytest.raises(InputError) as raised:
        edit(scene, **asked)
    assert text in str(raised.value)
    assert before == (scene.state, scene.version)


def test_every_edit_is_tried() -> None:
    """One that is added is added to the tables too; those of the families have tests of their own."""
    tried = {asked["do"] for asked, _, _ in (*PLACES, *NODES)} | {asked["do"] for asked, _ in REFUSED}
    assert {*cluster_edits.EDITS, *side_verbs.EDITS} - tried <= {
        *("uncordon", "ask", "resize", "addSide", "nameSide", "askExtenders"),
    }


@pytest.mark.parametrize(
    ("joins", "weights"),
    [(("drag 1", "drag 1", "drag 1"), [1]), (("drag 1", "drag 2", "drag 2"), [3, 1]), (("", "", ""), [4, 3, 1])],
    ids=["one drag", "two drags", "apart"],
)
def test_edits_that_join_are_one_step_back(joins: tuple[str, ...], weights: list[int]) -> None:
    """What a slider does while it is dragged is undone at once."""
    scene = Scene.opened(ks.Cluster(release="1.36").node("a").pod("web"))
    rule = "NodeResourcesFit"
    for weight, join in zip((3, 4, 5), joins, strict=True):
        VERBS["edit"](scene, {"edit": {"do": "weights", "weights": {rule: weight}}, "join": join})
    found = []
    while scene.undo_text:
        VERBS["undo"](scene, {})
        found.append(next(row["weight"] for row in VERBS["tune"](scene, {})["rules"] if row["id"] == rule))
    assert found == weights


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}}
"""


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_manifests_are_added_with_the_pods_of_controllers(release: str) -> None:
    """The first of them is asked about."""
    scene = opened(release)
    assert edit(scene, do="addYaml", text=DEPLOYMENT)["text"] == "Added 2 pods and 2 other objects"
    assert scene.state.asked == "default/shop-0"
    assert [pod.key for pod in scene.state.cluster.pending()][-2:] == ["default/shop-0", "default/shop-1"]


def test_an_object_is_edited_as_yaml() -> None:
    """What the verb ``pod`` gave, with something else in it."""
    scene = opened()
    text = VERBS["pod"](scene, {"key": "next"})["yaml"]
    edit(scene, do="editYaml", kind="Pod", key="default/next", text=text.replace("cpu: 1", "cpu: 9"))
    assert VERBS["decision"](scene, {})["host"] is None


GATE = "TaintTolerationComparisonOperators=true"
NEWER = """
kind: Pod
metadata: {name: newer}
spec: {tolerations: [{key: sla, operator: Gt, value: "9"}], containers: [{name: c}]}
"""


def test_what_one_release_refuses_to_read_is_a_problem_of_its_side() -> None:
    """The other side decides."""
    cluster = ks.Cluster(release="1.36", gates=GATE).node("a").pod("next")
    scene = Scene.opened(cluster, sides=[EngineSpec("1.36", feature_gates=GATE), EngineSpec("1.16")])
    edit(scene, do="addYaml", text=NEWER)
    sides = {side["id"]: side["problems"] for side in VERBS["state"](scene, {})["sides"]}
    assert sides["a"] == []
    assert any("operator" in problem for problem in sides["b"])
    assert VERBS["decision"](scene, {"side": "a"})["host"] == "a"
    with pytest.raises(InputError, match="operator"):
        VERBS["decision"](scene, {"side": "b"})
    edit(scene, do="removePod", pod="default/newer")
    assert VERBS["decision"](scene, {"side": "b"})["host"] == "a"


def test_what_only_a_side_can_read_makes_the_cluster_one_of_its_release() -> None:
    """The cluster's own release refuses it."""
    scene = opened("1.16")
    with pytest.raises(InputError, match="operator"):
        edit(scene, do="addYaml", text=NEWER)
    scene.change("a side that reads it", scene.state.with_side(side_of(EngineSpec("1.36", feature_gates=GATE), "b")))
    edit(scene, do="addYaml", text=NEWER)
    assert scene.state.cluster.release == "1.36"
    assert VERBS["decision"](scene, {"side": "b"})["host"] == "a"


def test_sides_are_added_named_migrated_and_removed() -> None:
    """At most four; a migration's notes are comments of its text."""
    scene = opened("1.16")
    edit(scene, do="migrateSide", **{"from": "a", "to": "1.36"})
    edit(scene, do="addSide", copy="a")
    edit(scene, do="release", side="c", release="1.20")
    edit(scene, do="addSide", release="1.4")
    edit(scene, do="nameSide", side="d", name="old")
    sides = VERBS["state"](scene, {})["sides"]
    assert [(side["id"], side["release"], side["kind"]) for side in sides] == [
        ("a", "1.16", "provider"),
        ("b", "1.36", "config"),
        ("c", "1.20", "provider"),
        ("d", "1.4", "provider"),
    ]
    assert (sides[1]["text"][0], sides[2]["name"], sides[3]["name"]) == ("#", "release 1.20", "old")
    assert [VERBS["decision"](scene, {"side": side})["host"] for side in "abcd"] == ["a"] * 4
    with pytest.raises(InputError, match="there are 4 already"):
        edit(scene, do="addSide", copy="a")
    edit(scene, do="migrateSide", **{"from": "a", "to": "c"})
    assert scene.side("c").kind == "config"
    edit(scene, do="removeSide", side="a")
    assert [side.id for side in scene.state.sides] == ["b", "c", "d"]


def test_a_pod_that_is_gone_is_not_asked_about() -> None:
    """Another that waits is, if there is one."""
    scene = opened()
    edit(scene, do="addPod", name="last")
    assert scene.state.asked == "default/last"
    edit(scene, do="removePod", pod="last")
    assert scene.state.asked == "default/next"
    edit(scene, do="removePod", pod="next")
    assert VERBS["state"](scene, {})["asked"] is None
    with pytest.raises(InputError, match="no pod is asked about"):
        VERBS["decision"](scene, {})


def test_a_release_that_cannot_read_the_configuration_takes_the_migrated_one() -> None:
    """Asked for plainly it is refused; the side keeps its id, and one step back it is what it was."""
    scene = opened()
    policy = "kind: Policy\napiVersion: v1\npriorities:\n- {name: LeastRequestedPriority, weight: 7}\n"
    edit(scene, do="release", side="a", release="1.16")
    edit(scene, do="configure", side="a", kind="policy", text=policy)
    with pytest.raises(InputError):
        edit(scene, do="release", side="a", release="1.36")
    edit(scene, do="release", side="a", release="1.36", migrated=True)
    (side,) = scene.state.sides
    assert (side.id, side.release, side.kind) == ("a", "1.36", "config")
    assert "weight: 7" in side.text
    VERBS["undo"](scene, {})
    assert scene.state.sides[0].text == policy
