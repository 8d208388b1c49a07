"""``ks.why``: what is said of running and pending pods, and for whom a pod of a gang waits."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from kubescheduler.api.why import Why
from tests.support.releases_tried import RELEASES_TRIED

TWO = ks.Cluster(release="1.36").node("a", cpu=2).node("b", cpu=4)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_difference_of_totals_is_explained_in_full(release: str) -> None:
    """What the rules add makes up the difference, of a pod that would go elsewhere and of one that is pending."""
    cluster = (
        ks.Cluster(release=release).node("a", cpu=2).node("b", cpu=4).pod("web", node="a", cpu=1).pod("new", cpu=1)
    )
    for name in ("web", "new"):
        beside = ks.why(cluster, name).beside
        assert beside is not None
        assert sum(one.points for one in beside.differences) == beside.total - beside.other_total


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (TWO.pod("web", node="b", cpu=1), "It would go there again. b has a total"),
        (TWO.pod("web", node="a", cpu=1), "It would go to b now. a has a total"),
        (TWO.pod("web", node="b", cpu=3), "It would go there again: no other node fits."),
        (TWO.node("c", cpu=4).pod("web", node="c", cpu=1), "It would go there again or elsewhere: b would be as good"),
        (
            TWO.pod("web", node="a", cpu=1).with_taint("a", "x:NoSchedule"),
            "It would not go there again, as a does not fit it now: node(s) had untolerated taint(s).",
        ),
        (TWO.pod("web", node="b", cpu=1).pod("other", node="a", cpu=2), "1 node does not fit it: 1 Insufficient cpu."),
        (
            TWO.pod({"metadata": {"name": "web"}, "spec": {"nodeName": "a"}, "status": {"phase": "Succeeded"}}),
            "default/web ran on a and has finished (Succeeded): it uses nothing of the node any more.",
        ),
    ],
)
def test_running(cluster: ks.Cluster, said: str) -> None:
    """The pod is decided on in the cluster without it, which stays as it is."""
    before = list(cluster)
    answer = ks.why(cluster, "web")
    assert any(text.startswith(said) for text in answer.sentences()), answer.sentences()
    assert answer.placed
    assert answer.hints is None
    assert list(cluster) == before


def test_pending() -> None:
    """What its scheduler wrote, what the release says now, and what would help; all that is printed and exported."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "message": "no",
    }
    manifest = ks.pod("big", cpu=6) | {"status": {"conditions": [condition]}}
    answer = ks.why(TWO.pod(manifest), "default/big")
    assert not answer.placed
    assert answer.sentences()[0] == "default/big is pending. The cluster's scheduler said (2026-01-01T00:00:00Z): no"
    assert answer.sentences()[1].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert answer.hints is not None
    assert answer.hints[0].text == "ask for 4 cpu instead of 6"
    assert answer.to_dict()["hints"][0]["host"] == "b"
    assert "ask for 4 cpu instead of 6 → b" in str(answer)


def test_preemption_of_a_pending_pod() -> None:
    """It is nominated, or would evict."""
    cluster = TWO.pod("low", node="b", cpu=4)
    waiting = ks.pod("high", cpu=4, priority=5)
    assert ks.why(cluster.pod(waiting), "high").decision.preemption is not None
    nominated = waiting | {"status": {"nominatedNodeName": "b"}}
    assert any("nominated to b" in text for text in ks.why(cluster.pod(nominated), "high").sentences())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wbe", "there is no pod default/wbe in the cluster; did you mean default/web?"),
        ("default/cart", "there is no pod default/cart in the cluster"),
        ("cart", "there is no pod default/cart in the cluster; there is shop/cart"),
    ],
)
def test_a_pod_that_is_not_there(name: str, text: str) -> None:
    """The nearest is named, or where one of that name is."""
    cluster = TWO.pod("web", node="a").pod({"metadata": {"name": "cart", "namespace": "shop"}, "spec": {}})
    with pytest.raises(ks.errors.InputError) as caught:
        ks.why(cluster, name)
    assert str(caught.value).startswith(text)


GATES = {"GangScheduling": True, "GenericWorkload": True}


def asked(needed: int, members: int = 3, *, placed: int = 0, gates: dict[str, bool] | None = None) -> Why:
    """Of the first of so many members of two cpus, with two nodes of two."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "film", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": needed}}},
    }
    spec = {"schedulingGroup": {"podGroupName": "film"}}
    cluster = ks.Cluster(release="1.36").node("a", cpu=2).node("b", cpu=2).add(group)
    for at in range(placed):
        cluster = cluster.pod(f"there-{at}", cpu=2, node="ab"[at], spec=spec)
    for at in range(members):
        cluster = cluster.pod(f"work-{at}", cpu=2, spec=spec)
    return ks.why(cluster, "work-0", gates=GATES if gates is None else gates)


@pytest.mark.parametrize(
    ("why", "nodes", "said"),
    [
        (asked(3), ["a", "b", ""], "0 of the 3 there are have one, 2 more would get one: all wait."),
        (asked(2), ["a", "b", ""], "0 of the 3 there are have one, 2 more would get one: enough."),
        (asked(3, 2, placed=1), ["b", ""], "1 of the 3 there are have one, 1 more would get one: all wait."),
        (asked(5, 1), [""], "4 more have to come, and 0 more would get one: all wait."),
    ],
    ids=["too-little-room", "enough", "one-runs", "too-few"],
)
def test_members(why: Why, nodes: list[str], said: str) -> None:
    """Where each would go, one after the other, and why one goes nowhere."""
    assert [member.node for member in why.gang.waiting] == nodes
    assert said in next(why.gang.sentences())
    last = why.gang.waiting[-1]
    if len(why.gang.waiting) > 1:
        assert last.message.startswith("0/2 nodes are available: 2 Insufficient cpu")
        assert last.reasons == {"a": ("Insufficient cpu",), "b": ("Insufficient cpu",)}
        assert why.to_dict()["gang"]["group"] == "default/film"
    else:
        assert last.message == "waiting for minCount pods from a gang to appear in scheduling queue"


def test_a_gang_that_nobody_holds_back() -> None:
    """With the gate off, as by default, the group is nothing to the scheduler, and nothing is said of it."""
    why = asked(3, gates={})
    assert why.gang is None
    assert not any("gang" in text for text in why.sentences())
