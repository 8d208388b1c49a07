"""Tuning in a scene, and thresholds of weights, held against engines that decide with the weights themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.core.decision import Decision
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.form_rows import SideText
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.tune_verbs import EDITS, form_of, thresholds, tune, tune_text, weighed, winning_ranges
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED


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
    done = edit(opened("1.36"), "weights", weights={"ImageLocality": 3})
    assert done == "Weighed ImageLocality 3 (the default is written as the configuration that says the same)"


def test_a_text_of_which_no_engine_can_be_made_is_refused() -> None:
    """With its problems, and nothing is changed."""
    scene = opened("1.36")
    with pytest.raises(InputError, match="kind"):
        edit(scene, "configure", kind="config", text="kind: Policy\n")
    assert scene.side("a").kind == "provider"
    with pytest.raises(InputError, match="unknown flag: --policy-config-file"):
        edit(scene, "configure", kind="policy", text="kind: Policy\napiVersion: v1\n")


Manifest = dict[str, Any]


@st.composite
def scored_worlds(draw: st.DrawFn) -> tuple[list[Manifest], Manifest]:
    """Nodes that often score alike, and a pod with preferences."""
    nodes = [
        ks.node(
            name,
            cpu=draw(st.sampled_from([2, 4, 16])),
            memory=draw(st.sampled_from(["4Gi", "32Gi"])),
            labels={"disk": draw(st.sampled_from(["ssd", "hdd"]))},
            taints=draw(st.sampled_from([[], ["old:PreferNoSchedule"]])),
        )
        for name in draw(st.lists(st.sampled_from(["a", "b", "c", "b1", "b-1"]), min_size=1, max_size=5, unique=True))
    ]
    term = {"weight": 5, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod = ks.pod("web", cpu=draw(st.sampled_from(["500m", "1500m"])), memory="1Gi")
    if draw(st.booleans()):
        pod["spec"]["affinity"] = affinity
    return nodes, pod


def decided(side: SideText, nodes: list[Manifest], pod: Manifest) -> Decision:
    """The pod's decision by a fresh engine, with every score."""
    cluster = ks.Cluster(*nodes, release=side.release)
    document: dict[str, Any] = {
        "policy": side.spec.policy,
        "config": side.spec.component,
        "provider": side.spec.provider,
    }
    return ks.Scheduler(cluster, **document).decide(pod, thorough=True)


def limits(side: SideText) -> dict[str, int]:
    """Rule → the largest weight that the release takes."""
    return {row.id: row.most or 0 for row in form_of(side).rules if row.on}


@pytest.mark.parametrize("release", RELEASES_TRIED)
@given(world=scored_worlds(), data=st.data())
@costly
def test_the_node_wins_within_its_range_and_not_beside_it(
    release: str, world: tuple[list[Manifest], Manifest], data: st.DataObject
) -> None:
    """With the first and the last weight of a range the engine takes its node, with those beside it another one."""
    side = SideText(EngineSpec(release))
    decision, most = decided(side, *world), limits(side)
    rule = data.draw(st.sampled_from(sorted(most)))
    found = list(winning_ranges(decision, {rule: most[rule]}))
    for one in found:
        assert one.low is not None
        assert one.high is not None
        beside = [weight for weight in (one.low - 1, one.high + 1) if 1 <= weight <= one.most]
        for weight in {*beside, one.low, one.high}:
            host = decided(weighed(side, {rule: weight}), *world).host
            assert (host == one.node) == (one.low <= weight <= one.high), (one, weight)
    assert [one.node for one in found if one.wins_now] == [*filter(None, [decision.host])]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@given(world=scored_worlds())
@costly
def test_the_ranges_of_a_rule_cover_every_weight_once(release: str, world: tuple[list[Manifest], Manifest]) -> None:
    """From 1 to the largest weight of the release, one node wins with each."""
    side = SideText(EngineSpec(release))
    decision, most = decided(side, *world), limits(side)
    for rule, largest in most.items():
        found = list(winning_ranges(decision, {rule: largest}))
        if decision.host is None:
            assert found == []
            continue
        after = 1
        for one in found:
            assert one.low == after
            assert one.high is not None
            after = one.high + 1
        assert after - 1 == found[0].most <= largest


def test_a_rule_that_scored_nothing_decides_nothing() -> None:
    """The node that wins does so with any of its weights, all others with none; ties go by name."""
    side = SideText(EngineSpec("1.36"))
    decision = decided(side, [ks.node("b"), ks.node("a")], ks.pod("web"))
    found = list(winning_ranges(decision, {"NodeAffinity": 100}, ["a", "b"]))
    assert "NodeAffinity" not in decision.scores
    assert [(one.node, one.low, one.high) for one in found] == [("a", 1, 100), ("b", None, None)]
    assert [one.text for one in found] == [
        "a wins with any weight of NodeAffinity",
        "no weight of NodeAffinity makes b win",
    ]


def test_the_words_of_a_threshold() -> None:
    """A threshold is said as somebody would say it, with the weight as it is."""
    side = SideText(EngineSpec("1.16"))
    nodes = [ks.node("big", cpu=16, memory="32Gi", taints=["old:PreferNoSchedule"]), ks.node("small", cpu=1)]
    decision = decided(side, nodes, ks.pod("web", cpu=1, memory="1Gi"))
    found = {one.node: one.to_dict() for one in winning_ranges(decision, {"TaintTolerationPriority": 1000})}
    first, last = found["big"], found["small"]
    assert first["text"] == f"TaintTolerationPriority ≤ {first['to']} makes big win"
    assert last["text"] == f"TaintTolerationPriority ≥ {last['from']} makes small win"
    assert (last["to"], first["now"]) == (None, 1)


def test_nothing_is_said_of_a_decision_without_scores() -> None:
    """One node that fits is taken unscored; there are no totals then to be linear in anything."""
    decision = ks.Scheduler(ks.Cluster(ks.node("a"), release="1.16")).decide(ks.pod("web"))
    assert list(winning_ranges(decision, {"TaintTolerationPriority": 9})) == []
