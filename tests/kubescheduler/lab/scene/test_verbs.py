"""Verbs: plain data in every release."""

from __future__ import annotations

import msgspec
import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verbs import VERBS, VIEWING

PARAMETERS = {"tuneText": {"text": ""}}
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


@pytest.mark.parametrize("release", ks.RELEASES)
@pytest.mark.parametrize("verb", VIEWING)
def test_every_verb_answers_data_that_json_can_hold(verb: str, release: str) -> None:
    """Also in the releases that write manifests otherwise."""
    answer = VERBS[verb](opened(release), PARAMETERS.get(verb, {}))
    assert msgspec.json.decode(msgspec.json.encode(answer)) == answer


@pytest.mark.parametrize("release", ks.RELEASES)
def test_a_decision_has_the_rows_that_are_asked_for(release: str) -> None:
    """Those that fit come first, the others by name with the reasons by check."""
    answer = VERBS["decision"](opened(release), {"from": 0, "to": 2})
    assert (answer["host"], answer["fits"], answer["total"]) == ("b", 1, 3)
    assert [node["name"] for node in answer["nodes"]] == ["b", "a"]
    assert list(answer["nodes"][1]["refused"].values()) == [["Insufficient cpu"]]
    assert answer["scored"] == (release == "1.4")  # which scores a single node too
    assert bool(answer["scoredText"]) != answer["scored"]
    products = [score["product"] for score in answer["nodes"][0]["scores"].values()]
    assert sum(products) == answer["nodes"][0]["total"] > 0


@pytest.mark.parametrize("release", ks.RELEASES)
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
