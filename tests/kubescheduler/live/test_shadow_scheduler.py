"""What is decided beside the real scheduler, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clusterstate.objects import Node, Pod, PodCondition
from tests.support.live.dry_runs import Shadow, read
from tests.support.live.live_cluster import a_node, a_pod


def node(name: str, cpu: str = "4", **status: Any) -> Node:
    found: Node = read(a_node(name, cpu), "Node")
    return msgspec.structs.replace(found, **status)


def pod(name: str, cpu: str = "100m", **spec: Any) -> Pod:
    document = a_pod(name, cpu, **spec)
    document["metadata"] |= {"namespace": "default", "uid": f"uid-{name}"}
    found: Pod = read(document, "Pod")
    return found


def unschedulable(waiting: Pod) -> Pod:
    return msgspec.structs.replace(waiting, conditions=(PodCondition("PodScheduled", "False", "Unschedulable"),))


@pytest.fixture
def shadow() -> Shadow:
    """Nodes a and b, b half full; everything has been read."""
    shadow = Shadow()
    shadow.comes(node("a"), node("b"), pod("old", "2").on("b"))
    shadow.shadow.decide_early()
    return shadow


def test_the_same_node(shadow: Shadow) -> None:
    """A pod that the real scheduler binds where this one would."""
    web = pod("web")
    shadow.comes(web)
    shadow.binds(web, "a")
    (line,) = shadow.lines
    assert (line["pod"], line["real"], line["first"]["node"]) == ("default/web", {"end": "bound", "node": "a"}, "a")
    assert (line["agrees"], line["cause"], shadow.told) == (True, "same", [True])


def test_pods_of_a_burst(shadow: Shadow) -> None:
    """Each sees what this scheduler chose for those before, though nothing is bound yet."""
    pods = [pod(name, "1500m") for name in ("p", "q", "r")]
    shadow.comes(*pods)
    for one, host in zip(pods, ("a", "a", "b"), strict=True):
        shadow.binds(one, host)
    assert [line["first"]["node"] for line in shadow.lines] == ["a", "a", "b"]
    assert shadow.results.agreeing == 3


def test_equally_good_nodes() -> None:
    """A node with the highest total, too, is where chance takes the pod."""
    shadow = Shadow()
    shadow.comes(node("a"), node("b"))
    shadow.shadow.decide_early()
    web = pod("web")
    shadow.comes(web)
    shadow.binds(web, "b")
    (line,) = shadow.lines
    assert (line["agrees"], line["cause"], line["then"]["tied"]) == (True, "could-have-been", 2)


def test_a_node_that_is_refused() -> None:
    """Where the model of the real scheduler takes the node, and this configuration refuses it, the check is named."""
    shadow = Shadow(new="release=1.36,feature-gates=", old="release=1.4")
    tainted = node("a")
    spread = {"maxSkew": 1, "topologyKey": "none", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    shadow.comes(tainted)
    shadow.shadow.decide_early()
    web = pod("web", topologySpreadConstraints=[spread])
    shadow.comes(web)
    shadow.binds(web, "a")
    (line,) = shadow.lines
    assert (line["agrees"], line["cause"], line["first"]["node"]) == (False, "filtered-now", None)
    assert line["reasons"] == {
        "PodTopologySpread": ["node(s) didn't match pod topology spread constraints (missing required label)"]
    }


def test_a_choice_that_nobody_explains(shadow: Shadow) -> None:
    """The configuration given for the real scheduler takes another node: it is said, with both nodes' scores."""
    web = pod("web")
    shadow.comes(web)
    shadow.binds(web, "b")
    (line,) = shadow.lines
    assert (line["agrees"], line["cause"]) == (False, "earlier-choices")
    assert line["text"].startswith("a is ahead of b by ")
    assert "the configuration given for the real scheduler takes a here" in line["text"]
    assert [part["new"]["name"] for part in line["contributions"]] != []


def test_it_fits_nowhere(shadow: Shadow) -> None:
    """Said once however often the status is written; when it is bound later, that is compared anew."""
    big = pod("big", "8")
    shadow.comes(big)
    refused = unschedulable(big)
    shadow.changes((big, refused), (refused, refused))
    [found] = shadow.shadow.unschedulable()
    assert (found.pod.metadata.name, found.plugins) == ("big", {"NodeResourcesFit"})
    assert [(line["real"], line["agrees"]) for line in shadow.lines] == [({"end": "unschedulable", "node": None}, True)]
    shadow.comes(node("c", "16"))
    shadow.binds(refused, "c")
    assert [line["cause"] for line in shadow.lines] == ["same", "same"]
    assert shadow.lines[1]["first"] is None
    assert shadow.shadow.undecided == len(shadow.shadow.unschedulable()) == 0


def test_what_the_real_one_cannot_place(shadow: Shadow) -> None:
    """A pod that fits here, and for the model too, while the real scheduler says that it fits nowhere."""
    web = pod("web")
    shadow.comes(web)
    shadow.changes((web, unschedulable(web)))
    (line,) = shadow.lines
    assert (line["agrees"], line["cause"], line["then"]["node"]) == (False, "earlier-choices", "a")
    assert line["text"].startswith("the real scheduler found no node, and ")


# --- preemption ---------------------------------------------------------------------------------------------


def leaving(victim: Pod) -> Pod:
    deleted = msgspec.structs.replace(victim.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(victim, metadata=deleted)


def targeted(victim: Pod) -> Pod:
    return msgspec.structs.replace(
        victim, conditions=(PodCondition("DisruptionTarget", "True", "PreemptionByScheduler"),)
    )


@pytest.fixture
def full() -> Shadow:
    """Nodes a and b, each with a pod that leaves no room and can be evicted; the one on b is more important."""
    shadow = Shadow()
    shadow.comes(node("a"), node("b"), pod("low-a", "3").on("a"), pod("low-b", "3", priority=1).on("b"))
    shadow.shadow.decide_early()
    return shadow


HIGH = pod("high", "2", priority=10)


@pytest.mark.parametrize("begins", [pytest.param(leaving, id="deleted"), pytest.param(targeted, id="1.36's condition")])
def test_other_victims(full: Shadow, begins: Callable[[Pod], Pod]) -> None:
    """Whom each of both evicts, and where, stands in the line of the refusal and once more in that of the end."""
    victim = pod("low-b", "3", priority=1).on("b")
    refused = msgspec.structs.replace(unschedulable(HIGH), nominated_node_name="b")
    full.comes(HIGH)
    full.changes((HIGH, refused), (victim, begins(victim)), (begins(victim), None))
    full.binds(refused, "b")
    refusal, end = full.lines
    ours = {"node": "a", "victims": ["default/low-a"]}
    assert refusal["real"] == {"end": "unschedulable", "node": None, "evicts": {"node": "b", "victims": []}}
    assert (refusal["then"]["evicts"], refusal["agrees"], refusal["cause"]) == (ours, False, "different-victims")
    assert refusal["text"] == "the real scheduler makes room on b, this configuration evicts default/low-a from a"
    assert end["real"]["evicts"] == {"node": "b", "victims": ["default/low-b"]}
    assert (end["evicts"], end["agrees"], end["cause"]) == (ours, False, "different-victims")
    assert full.told == [False, False]
    assert full.results.agreeing == 0


def test_the_same_victims(full: Shadow) -> None:
    """Both make room on the same node: they agree, and the pod that ends by itself meanwhile is no victim."""
    victim, other = pod("low-a", "3").on("a"), pod("done", "1m").on("a")
    full.comes(HIGH, other)
    refused = msgspec.structs.replace(unschedulable(HIGH), nominated_node_name="a")
    full.changes((HIGH, refused), (other, None), (victim, leaving(victim)), (leaving(victim), None))
    full.binds(refused, "a")
    assert [line["agrees"] for line in full.lines] == [True, True]
    assert full.lines[1]["real"]["evicts"] == full.lines[1]["evicts"] == {"node": "a", "victims": ["default/low-a"]}


def test_room_on_an_equally_good_node() -> None:
    """Where any of several nodes may be taken, the real scheduler's choice is one of them, with its victims."""
    shadow = Shadow()
    victim = pod("low-b", "3").on("b")
    shadow.comes(node("a"), node("b"), pod("low-a", "3").on("a"), victim)
    shadow.shadow.decide_early()
    refused = msgspec.structs.replace(unschedulable(HIGH), nominated_node_name="b")
    shadow.comes(HIGH)
    shadow.changes((HIGH, refused), (victim, leaving(victim)), (leaving(victim), None))
    shadow.binds(refused, "b")
    assert [line["agrees"] for line in shadow.lines] == [True, True]
    assert shadow.lines[0]["then"]["evicts"] == {"node": "b", "victims": ["default/low-b"]}
    assert shadow.lines[1]["evicts"] == {"node": "b", "victims": ["default/low-b"]}


def nominated(waiting: Pod, node: str) -> Pod:
    """Refused, and waiting for room on a node."""
    return msgspec.structs.replace(unschedulable(waiting), nominated_node_name=node)


@pytest.fixture
def emptied() -> Shadow:
    """Node a has just been emptied for a pod that has not been bound yet; b has no room for anyone."""
    shadow = Shadow()
    victim = pod("low-a", "3").on("a")
    shadow.comes(node("a"), node("b"), victim, pod("important", "4", priority=100).on("b"))
    shadow.shadow.decide_early()
    shadow.comes(HIGH)
    waits = nominated(HIGH, "a")
    shadow.changes((HIGH, waits), (victim, leaving(victim)), (leaving(victim), None))
    return shadow


MID = pod("mid", "3", priority=5)


def test_room_that_is_made_for_another(emptied: Shadow) -> None:
    """The real scheduler keeps it for the pod that it nominated; so does this one, for less important pods alone."""
    more, tiny = pod("more", "3", priority=20), pod("tiny", "1")
    emptied.comes(MID, tiny, more)
    emptied.changes((MID, unschedulable(MID)))
    emptied.binds(tiny, "a")
    emptied.binds(more, "a")
    assert [(line["pod"], line["agrees"], line["then"]["node"]) for line in emptied.lines[1:]] == [
        ("default/mid", True, None),
        ("default/tiny", True, "a"),
        ("default/more", True, "a"),
    ]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(unschedulable(HIGH), id="nominated no more"),
        pytest.param(None, id="deleted"),
        pytest.param(nominated(HIGH, "a").on("b"), id="bound elsewhere"),
    ],
)
def test_room_that_is_kept_no_more(emptied: Shadow, after: Pod | None) -> None:
    """Others may have it as soon as the pod does not wait for it."""
    emptied.changes((nominated(HIGH, "a"), after))
    emptied.comes(MID)
    emptied.binds(MID, "a")
    assert (emptied.lines[-1]["pod"], emptied.lines[-1]["agrees"]) == ("default/mid", True)


def test_room_that_was_made_before_the_start() -> None:
    """Pods that wait for room when the dry run begins have it."""
    shadow = Shadow()
    shadow.comes(node("a"), nominated(HIGH, "a"), MID)
    shadow.shadow.decide_early()
    shadow.changes((MID, unschedulable(MID)))
    shadow.binds(nominated(HIGH, "a"), "a")
    told = [(line["pod"], line["real"]["end"], line["agrees"]) for line in shadow.lines]
    assert told[1:] == [("default/mid", "unschedulable", True), ("default/high", "bound", True)]


def test_victims_that_are_gone_before_the_refusal_is_seen(full: Shadow) -> None:
    """Then the pod would fit; it is judged as if they still ran, which they did when it was refused."""
    victim = pod("low-a", "3").on("a")
    full.comes(HIGH)
    full.changes((victim, targeted(victim)), (targeted(victim), None), (HIGH, nominated(HIGH, "a")))
    full.binds(nominated(HIGH, "a"), "a")
    assert [(line["agrees"], line["cause"]) for line in full.lines] == [(True, "same")] * 2
    assert full.lines[0]["then"]["evicts"] == {"node": "a", "victims": ["default/low-a"]}


@pytest.mark.parametrize(
    ("started", "priority", "cause"),
    [
        pytest.param(None, 0, "no-start-times", id="nobody says when they started"),
        pytest.param("2026-01-01T00:00:00Z", 0, "different-victims", id="they say when"),
        pytest.param(None, 1, "different-victims", id="the other one is more important"),
    ],
)
def test_victims_that_chance_picks(started: str | None, priority: int, cause: str) -> None:
    """Of equally important pods those that started last have to go; where they do not say when, any may."""
    shadow = Shadow()
    first = msgspec.structs.replace(pod("first", "2").on("a"), start_time=started)
    second = msgspec.structs.replace(pod("second", "2", priority=priority).on("a"), start_time=started)
    shadow.comes(node("a"), first, second)
    shadow.shadow.decide_early()
    shadow.comes(HIGH)
    shadow.changes((HIGH, nominated(HIGH, "a")))
    (ours,) = shadow.lines[0]["then"]["evicts"]["victims"]
    other = first if ours == "default/second" else second
    shadow.changes((other, leaving(other)), (leaving(other), None))
    shadow.binds(nominated(HIGH, "a"), "a")
    assert [line["cause"] for line in shadow.lines] == ["same", cause]
    assert shadow.lines[1]["agrees"] is (cause == "no-start-times")


def test_victims_that_were_told_to_leave_before(full: Shadow) -> None:
    """Whoever leaves before the pod came leaves for another reason; so does who is more important."""
    victim, important = pod("low-b", "3", priority=1).on("b"), pod("important", "100m", priority=100).on("b")
    waits = pod("waits", "9")
    full.comes(waits, important)
    full.changes((victim, leaving(victim)))
    full.clock.moment += 10
    full.comes(HIGH)
    refused = msgspec.structs.replace(unschedulable(HIGH), nominated_node_name="b")
    full.changes((HIGH, refused), (important, leaving(important)))
    full.binds(refused, "b")
    assert full.lines[-1]["real"]["evicts"] == {"node": "b", "victims": []}


def test_a_pod_that_goes_while_room_is_made(full: Shadow) -> None:
    """Its line says what either would have evicted."""
    full.comes(HIGH)
    refused = unschedulable(HIGH)
    full.changes((HIGH, refused), (refused, None))
    assert full.lines[1]["evicts"] == {"node": "a", "victims": ["default/low-a"]}
    assert "evicts" not in full.lines[1]["real"]


def test_pods_that_go(shadow: Shadow) -> None:
    """A pod that is deleted while it waits is told of, and not counted; the room it would have taken is free."""
    web, big = pod("web", "4"), pod("big", "4")
    shadow.comes(web)
    shadow.changes((web, None))
    shadow.comes(big)
    shadow.binds(big, "a")
    assert shadow.causes == ["deleted", "same"]
    assert (shadow.results.compared, shadow.results.deleted, shadow.told) == (1, 1, [True])


def test_pods_before_the_start() -> None:
    """Pods that wait are decided once everything is read, the most important first."""
    shadow = Shadow()
    low, high = pod("low", "3", priority=0), pod("high", "3", priority=10)
    shadow.comes(low, high, node("a"))
    assert shadow.lines == []
    shadow.shadow.decide_early()
    shadow.binds(high, "a")
    shadow.changes((low, unschedulable(low)))
    assert [(line["pod"], line["agrees"]) for line in shadow.lines] == [("default/high", True), ("default/low", True)]
    assert [line["first"]["node"] for line in shadow.lines] == ["a", None]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"schedulerName": "another"}, id="another scheduler"),
        pytest.param({"schedulingGates": [{"name": "wait"}]}, id="gated"),
    ],
)
def test_pods_that_are_not_tried(shadow: Shadow, spec: dict[str, Any]) -> None:
    """They are not decided, and take their room when they are bound."""
    web = pod("web", "4", **spec)
    shadow.comes(web)
    shadow.binds(web, "a")
    assert shadow.lines == []
    after = pod("after", "3")
    shadow.comes(after)
    shadow.changes((after, unschedulable(after)))
    assert shadow.lines[0]["first"]["node"] is None


def test_a_pod_under_an_old_name(shadow: Shadow) -> None:
    """A pod of the same name that is another one is an end and a beginning."""
    first = pod("web")
    second = msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, uid="uid-second"))
    shadow.comes(first)
    shadow.changes((first, second))
    shadow.binds(second, "a")
    assert shadow.causes == ["deleted", "same"]


def test_nodes_that_change(shadow: Shadow) -> None:
    """Decisions follow the nodes: cordoned, and gone."""
    known = node("a")
    shadow.changes((known, node("a", unschedulable=True)))
    web = pod("web")
    shadow.comes(web)
    shadow.binds(web, "b")
    shadow.changes((node("b"), None))
    lost = pod("lost")
    shadow.comes(lost)
    shadow.changes((lost, unschedulable(lost)))
    assert [line["agrees"] for line in shadow.lines] == [True, True]


def test_the_summary_and_the_comparison(shadow: Shadow) -> None:
    """Counts by cause, and what the report of compare shows, with the last attempt of each pod."""
    same, other = pod("same"), pod("other")
    shadow.comes(same, other)
    shadow.binds(same, "a")
    shadow.binds(other, "b")
    assert shadow.results.summary() == ["2 attempts compared, 1 agree (50.0%)", "  earlier-choices: 1"]
    view = shadow.results._choices.ours.cache.view
    found = shadow.results.comparison([node("a"), node("b")], ("real", "ours"), ("1.36", "1.36"), view)
    assert [one.outcomes[0].host for one in found.pods] == ["a", "b"]
    assert [effect.placed for effect in found.effects] == [2, 2]


def test_work_that_is_asked_for(shadow: Shadow) -> None:
    """It is done by the thread that runs, which rests only while it waits; the cache has the dry run's own choices."""
    shadow.comes(pod("web"))
    seen: list[object] = []

    def look() -> None:
        known = shadow.shadow.cache.everything()
        seen.append(([each.metadata.name for each in known], shadow.shadow.is_idle))
        shadow.shadow.stop()

    shadow.shadow.ask(look)
    shadow.shadow.run()
    assert seen == [(["a", "b", "old", "web"], False)]
