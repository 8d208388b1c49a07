"""Caches of a scene's clusters: what is kept, updated, or filled anew, is as if it were filled anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler import Cluster
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.side_schedulers import ClusterCaches
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.releases_tried import RELEASES_TRIED
from tests.support.rich_worlds import DrawnCluster, incoming, told, worlds

IMAGES = [{"names": ["web:1"], "sizeBytes": 90_000_000}]
START = (
    Cluster(release="1.36")
    .node("a", zone="z", labels={"disk": "ssd"}, status={"images": IMAGES})
    .node("b", status={"images": IMAGES})
    .node("c", taints=["k:PreferNoSchedule"])
    .pod("x", node="a", cpu=1)
    .pod("y", cpu=1, image="web:1")
)

KEPT, CHANGED, ANEW = "kept", "changed", "anew"
CHANGES: dict[str, tuple[Callable[[Cluster], Cluster], str]] = {
    "a-pod-that-waits": (lambda cluster: cluster.pod("z", cpu=2), KEPT),
    "no-pod-waits": (lambda cluster: cluster.without_pod("y").pod("y", cpu=1, image="web:1"), KEPT),
    "cordoned": (lambda cluster: cluster.cordoned("b"), CHANGED),
    "tainted": (lambda cluster: cluster.with_taint("a", "k:NoSchedule"), CHANGED),
    "labelled": (lambda cluster: cluster.with_label("b", "disk", "hdd"), CHANGED),
    "resized": (lambda cluster: cluster.resized("a", cpu=1), CHANGED),
    "moved-to-another-zone": (
        lambda cluster: cluster.with_label("a", "failure-domain.beta.kubernetes.io/zone", "y"),
        CHANGED,
    ),
    "bound": (lambda cluster: cluster.bound("y", "b").pod("y-2", cpu=1, image="web:1"), CHANGED),
    "a-node-more": (lambda cluster: cluster.node("d"), CHANGED),
    "a-node-gone": (lambda cluster: cluster.without_node("a"), CHANGED),
    "a-service-more": (
        lambda cluster: cluster.add({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web"}}),
        ANEW,
    ),
    "all-different": (lambda cluster: Cluster(*cluster.manifests(), release=cluster.release), CHANGED),
}


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("change", CHANGES)
def test_a_cache_is_filled_anew_only_where_more_than_nodes_and_their_pods_differ(change: str, release: str) -> None:
    """And what is decided in it, forth and back, is what a new scene decides."""
    make, expected = CHANGES[change]
    start = START.for_release(release)
    engine, caches, now = EngineSpec(release).engine(no_notice), ClusterCaches(), make(start)
    first = caches.filled(engine, start)
    found = caches.filled(engine, now)
    assert (ANEW if found is not first else CHANGED if found.turn else KEPT) == expected
    scene = Scene.opened(start, sides=[EngineSpec(release)])
    pod = now.pending()[-1].key
    before = VERBS["decision"](scene, {"all": True})
    for state, asked in ((now, pod), (start, start.pending()[-1].key)):
        scene.change("changed", Scene.opened(state, sides=scene.state.sides).state)
        answer = VERBS["decision"](scene, {"all": True, "pod": asked})
        assert answer == VERBS["decision"](
            Scene.opened(state, sides=[EngineSpec(release)]), {"all": True, "pod": asked}
        )
        assert VERBS["why"](scene, {"node": "b", "pod": asked})["node"] == "b"
    assert answer == before


def states(world: DrawnCluster, drawn: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Cluster]:
    """Clusters of a world's objects: of each the nodes that are there, and for each pod its node by number, one past
    the last for a pod that waits. What two of them have in common are the same objects, as in a scene."""
    placed = {
        (pod.key, at): msgspec.structs.replace(pod, node_name="" if at == len(world.nodes) else world.nodes[at].name)
        for pod in world.pods
        for at in range(len(world.nodes) + 1)
    }
    out = []
    for there, places in drawn:
        nodes = [world.nodes[at] for at in sorted(set(there))]
        names = {"", *(node.name for node in nodes)}
        pods = [placed[pod.key, at] for pod, at in zip(world.pods, places, strict=True)]
        kept = [pod if pod.node_name in names else placed[pod.key, len(world.nodes)] for pod in pods]
        out.append(Cluster(*world.others, *nodes, *kept, release="1.36"))
    return out


@st.composite
def histories(draw: st.DrawFn) -> list[Cluster]:
    """A world whose nodes come and go, and whose pods move."""
    world = draw(worlds(most_pods=8))
    numbers = st.lists(st.integers(0, len(world.nodes) - 1), min_size=1)
    places = st.lists(st.integers(0, len(world.nodes)), min_size=len(world.pods), max_size=len(world.pods))
    return states(world, draw(st.lists(st.tuples(numbers, places), min_size=2, max_size=4)))


@pytest.mark.parametrize("release", ["1.20", "1.36"])
@settings(max_examples=40, deadline=None)
@given(history=histories(), pod=incoming)
def test_a_changed_cache_is_as_one_that_is_filled_anew(release: str, history: list[Cluster], pod: Pod) -> None:
    """Whatever nodes and pods came and went, each pod that waits is decided alike, preemption included, and nodes are
    visited in the same order."""
    engine, caches = EngineSpec(release).engine(no_notice), ClusterCaches()
    first = caches.filled(engine, history[0])
    for cluster in (*history, *history[-2::-1]):
        found = caches.filled(engine, cluster)
        assert found is first
        fresh = cache_for(engine, cluster.objects)
        assert found.cache.tree.listed() == fresh.tree.listed()
        for waiting in (pod, *cluster.pending()):
            decisions = [engine.scheduler(cache).decide(waiting, preempt=True) for cache in (found.cache, fresh)]
            assert told(decisions[0]) == told(decisions[1])
            assert decisions[0].nominated == decisions[1].nominated
            assert decisions[0].message == decisions[1].message


def test_a_cache_that_was_changed_by_half_is_not_kept() -> None:
    """After an error on the way the cluster is filled anew."""
    caches, engine = ClusterCaches(), EngineSpec("1.36").engine(no_notice)
    first = caches.filled(engine, START)
    later = START.bound("y", "b").cordoned("a")
    with patch.object(ClusterCache, "add_pod", side_effect=MemoryError), pytest.raises(MemoryError):
        caches.filled(engine, later)
    found = caches.filled(engine, later)
    assert found is not first
    assert sorted(pod.metadata.name for pod in found.cache.pods()) == ["x", "y"]
