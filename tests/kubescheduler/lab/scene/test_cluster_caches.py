"""Caches of a scene's clusters: what is kept, updated, or filled anew, is as if it were filled anew."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kubescheduler as ks
from kubescheduler import Cluster
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.lab.scene.cluster_caches import ClusterCaches
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS

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


@pytest.mark.parametrize("release", ks.RELEASES)
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
