"""Verbs: plain data in every release."""

from __future__ import annotations

import msgspec
import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS, VIEWS
from tests.support.releases_tried import RELEASES_TRIED

PARAMETERS = {
    "why": {"node": "a"},
    "whatif": {"node": "c"},
    "drained": {"node": "c"},
    "lost": {"node": "c"},
    "pod": {"key": "web-1"},
    "node": {"name": "b"},
    "rule": {"rule": "TaintToleration", "release": "1.36"},
    "tuneText": {"text": ""},
}
"""Verb → what it cannot do without."""


def opened(release: str) -> Scene:
    """Three nodes in two zones, one of them tainted, and a pod that waits."""
    cluster = (
        ks.Cluster(release=release)
        .node("a", zone="east", cpu=4)
        .node("b", zone="west", cpu=8)
        .node("c", zone="east", cpu=8, taints=["dedicated=db:NoSchedule"])
        .pod("web-1", node="a", cpu=3)
        .pod("web-2", cpu=2, memory="1Gi")
    )
    return Scene.opened(cluster, sides=[EngineSpec(release)])


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("verb", [verb for verb in VIEWS if verb != "extenderRequest"])
def test_every_verb_answers_data_that_json_can_hold(verb: str, release: str) -> None:
    """Also in the releases that write manifests otherwise."""
    answer = VERBS[verb](opened(release), PARAMETERS.get(verb, {}))
    text = msgspec.json.encode(answer)
    assert msgspec.json.decode(text).keys() == answer.keys()


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_decision_has_the_rows_that_are_asked_for(release: str) -> None:
    """Those that fit come first, the others by name with the reasons by check."""
    answer = VERBS["decision"](opened(release), {"from": 0, "to": 2})
    assert (answer["host"], answer["fits"], answer["total"]) == ("b", 1, 3)
    named = VERBS["decision"](opened(release), {"find": "a"})
    counts = ("fits", "nodesTotal", "total", "fitting")
    assert [answer[count] for count in counts] == [1, 3, 3, 1]
    assert [named[count] for count in counts] == [1, 3, 1, 0]
    assert [node["name"] for node in answer["nodes"]] == ["b", "a"]
    assert list(answer["nodes"][1]["refused"].values()) == [["Insufficient cpu"]]
    assert answer["scored"] == (release == "1.4")  # which scores a single node too
    assert bool(answer["scoredText"]) != answer["scored"]
    products = [score["product"] for score in answer["nodes"][0]["scores"].values()]
    assert sum(products) == answer["nodes"][0]["total"] > 0


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_cluster_shows_what_is_used_and_what_the_pod_would_take(release: str) -> None:
    """In the unit of each resource, nodes by zone and name."""
    answer = VERBS["cluster"](opened(release), {"side": "a"})
    assert [(node["name"], node["zone"]) for node in answer["nodes"]] == [("a", "east"), ("c", "east"), ("b", "west")]
    assert answer["zones"] == [{"name": "east", "nodes": 2}, {"name": "west", "nodes": 1}]
    cpu = answer["nodes"][0]["resources"][0]
    assert (cpu["allocatable"], cpu["used"], cpu["ghost"]) == (4000, 3000, 2000)
    assert answer["nodes"][1]["taints"] == ["dedicated=db:NoSchedule"]


@pytest.mark.parametrize(
    ("verb", "asked", "text"),
    [
        ("decision", {"side": "z"}, "side: there is no side 'z'; there are a"),
        ("decision", {"pod": "default/nobody"}, "pod: there is no pod default/nobody in the cluster"),
        ("decision", {"form": 3}, "Object contains unknown field `form`"),
        ("cluster", {"from": "x"}, "Expected `int`, got `str` - at `$.from`"),
    ],
)
def test_a_question_that_cannot_be_answered_is_a_fault(verb: str, asked: dict[str, object], text: str) -> None:
    """It says what is wrong."""
    with pytest.raises(SceneFault) as raised:
        VERBS[verb](opened("1.36"), asked)
    assert raised.value.problems == (text,)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_why_says_what_a_refusal_and_a_score_were_made_of(release: str) -> None:
    """Also of the one node that fits, which most releases take unscored; products add up to the total."""
    scene = opened(release)
    (refusal,) = VERBS["why"](scene, {"node": "a"})["refusals"]
    assert (refusal["reason"], refusal["text"]) == ("Insufficient cpu", "asks 2, 1 of 4 free")
    answer = VERBS["why"](scene, {"node": "b"})
    shown = VERBS["decision"](scene, {"find": "b"})["nodes"][0]
    assert {one["rule"]: one["product"] for one in answer["scores"]} == {
        rule: score["product"] for rule, score in shown["scores"].items()
    }
    rule = answer["scores"][0]["rule"]
    assert [one["rule"] for one in VERBS["why"](scene, {"node": "b", "rule": rule})["scores"]] == [rule]


WHAT_IFS = [
    ("a", "default/web-2 does not fit on a: Insufficient cpu; the scheduler puts it on b"),
    ("b", "default/web-2 fits on b, and the scheduler puts it there"),
]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize(("node", "text"), WHAT_IFS)
def test_what_if_a_pod_ran_on_a_node(node: str, text: str, release: str) -> None:
    """It says so in a line."""
    assert VERBS["whatif"](opened(release), {"node": node})["text"] == text


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_running_pod_is_decided_as_if_it_waited(release: str) -> None:
    """Its own place is free then."""
    answer = VERBS["whatif"](opened(release), {"node": "a", "pod": "default/web-1"})
    assert (answer["fits"], answer["pod"]) == (True, "default/web-1")


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_pods_that_wait_are_shown_with_what_would_become_of_them(release: str) -> None:
    """In the order of the queue; pods that look alike are decided once, and each is named."""
    scene = opened(release)
    for name in ("big-1", "big-2"):
        VERBS["edit"](scene, {"edit": {"do": "addPod", "name": name, "cpu": 9, "labels": {"app": "big"}}})
    found = {pod["key"]: pod for pod in VERBS["pending"](scene, {})["pods"]}
    assert found["default/web-2"]["host"] == "b"
    assert "Insufficient cpu" in found["default/big-2"]["message"]
    assert found["default/big-2"]["host"] is None


@pytest.mark.parametrize(
    ("release", "name", "kind"),
    [
        pytest.param("1.4", "PodFitsResources", "predicate", id="1.4"),
        pytest.param("1.16", "LeastRequestedPriority", "priority", id="1.16"),
        pytest.param("1.36", "NodeResourcesFit", "plugin", id="1.36"),
    ],
)
def test_a_rule_has_its_page(release: str, name: str, kind: str) -> None:
    """As ``kubescheduler explain`` has it."""
    page = VERBS["rule"](opened(release), {"rule": name, "release": release})
    assert (page["rule"], page["kind"]) == (name, kind)
    assert release in page["releases"]
    assert page["text"]


def test_a_rule_that_is_not_documented_is_named() -> None:
    """A custom rule has no page."""
    with pytest.raises(SceneFault, match="no documentation of Mine"):
        VERBS["rule"](opened("1.36"), {"rule": "Mine", "release": "1.36"})


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_side_that_nothing_is_said_of_names_the_provider_where_there_are_some(release: str) -> None:
    """1.36 has none."""
    (side,) = VERBS["state"](opened(release), {})["sides"]
    assert side["text"] == ("" if release == "1.36" else "DefaultProvider")
