"""Hints that evict or move running pods."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given, settings

import kubescheduler as ks
from clusterstate.objects import Pod
from kubescheduler.hinting.proposals import Hint
from tests.support.hint_worlds import HintWorld, hint_worlds
from tests.support.releases_tried import RELEASES_TRIED


def evicting(found: list[Hint]) -> list[Hint]:
    return [hint for hint in found if hint.changes[0].kind == "eviction"]


def gone(hint: Hint) -> tuple[Pod, ...]:
    return hint.changes[0].evicted


@pytest.mark.parametrize("release", RELEASES_TRIED)
@settings(max_examples=15, deadline=None)
@given(world=hint_worlds())
def test_nobody_of_higher_priority_is_evicted_than_has_to_be(release: str, world: HintWorld) -> None:
    """Of all sets of pods of one node, none whose pods are all of lower priority makes the pod fit there."""
    cluster = world.cluster(release)
    found = ks.hints(cluster, world.pod, top=None, pairs=False)
    works: list[int] = []
    for node in cluster.nodes:
        there = [pod for pod in cluster.pods if pod.node_name == node.name]
        for pods in chain.from_iterable(combinations(there, n) for n in range(1, len(there) + 1)):
            without = cluster.without_pod(*(pod.key for pod in pods))
            if node.name in ks.Scheduler(without).decide(dict(world.pod)).fits():
                works.append(max(pod.priority for pod in pods))
    hints = [] if found.reached else evicting(list(found))
    assert found.reached or bool(works) == bool(hints)
    if hints:
        assert min(max(pod.priority for pod in gone(hint)) for hint in hints) == min(works)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_where_the_evicted_pods_go(release: str) -> None:
    """A pod that fits elsewhere is moved: the hint says where."""
    cluster = ks.Cluster(release=release).node("big", cpu=4).node("small", cpu=1).pod("low", node="big", cpu=1)
    (hint,) = evicting(list(ks.hints(cluster, ks.pod("web", cpu=4))))
    assert (hint.text, hint.host, dict(hint.moves)) == ("evict default/low from big", "big", {"default/low": "small"})


def test_pods_of_daemon_sets_stay() -> None:
    """Their controller would put them back."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    daemon = ks.pod("daemon", node="a", cpu=3)
    daemon["metadata"]["ownerReferences"] = [owner]
    cluster = ks.Cluster().node("a", cpu=4).pod(daemon)
    assert not evicting(list(ks.hints(cluster, ks.pod("web", cpu=2))))


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_cluster_is_as_before(release: str) -> None:
    """Nodes, pods and their order, assumed pods, and what the next decision says."""
    cluster = ks.Cluster(release=release).node("a", cpu=4, taints=["x:NoSchedule"]).node("b", cpu=2, unschedulable=True)
    cluster = cluster.node("c", cpu=2).pod("p", node="c", cpu=1).pod("q", node="c", cpu="100m")
    scheduler = ks.Scheduler(cluster)
    scheduler.bind(scheduler.decide(ks.pod("r", cpu="100m")))
    search = scheduler.hint_search()
    columns = search.cache.columns

    def state() -> object:
        rows = columns.row_of.items()
        pods = {name: [pod.key for pod in columns.pods[row].values()] for name, row in rows}
        used = {name: columns.requested.view[:, row].tolist() for name, row in rows}
        return pods, used, {name: columns.nodes[row] for name, row in rows}, search.cache.tree.listed()

    before = state()
    pod = cluster.to_place(ks.pod("web", cpu="1500m")).pods[0]
    first, second = search.hints(pod), search.hints(pod)
    assert [hint.to_dict() for hint in first] == [hint.to_dict() for hint in second]
    assert state() == before
