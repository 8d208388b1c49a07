"""Whom a pod of a gang waits for."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from kubescheduler.api.why import Why

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
    assert why.gang is not None
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
