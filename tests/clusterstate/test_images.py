"""How many nodes have an image, as each release remembers it."""

from __future__ import annotations

from clusterstate.cache import ClusterCache
from clusterstate.objects import Container, ContainerImage, Node
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import make_node, make_pod
from tests.support.deciders import deciding
from tests.support.rich_worlds import in_tree


def with_app(name: str) -> Node:
    return make_node(name, images=(ContainerImage(("app:latest",), 100),))


def counts(cache: ClusterCache) -> dict[str, int]:
    snapshot = cache.snapshot()
    return dict(zip(snapshot.names, snapshot.image("app:latest")[1].tolist(), strict=True))


def test_1_36_counts_nodes_with_an_image_when_a_row_is_copied() -> None:
    """A row is copied for a decision when its node or its pods have changed since the last one."""
    cache = ClusterCache.of([with_app("a"), with_app("b"), make_node("c")], v1_36.VIEW)
    assert counts(cache) == {"a": 2, "b": 2, "c": 0}
    cache.add_node(with_app("d"))
    assert counts(cache) == {"a": 2, "b": 2, "c": 0, "d": 3}
    pod = make_pod("p")
    cache.assume_pod(pod, "a")
    assert counts(cache) == {"a": 3, "b": 2, "c": 0, "d": 3}
    cache.remove_node("d")
    cache.forget_pod(pod)
    assert counts(cache) == {"a": 2, "b": 2, "c": 0, "": 0}


def test_1_36_counts_as_of_the_copy_and_not_of_the_change() -> None:
    """What changes between two decisions is counted at the second; a decision in between makes the difference."""
    together, apart = (ClusterCache.of([with_app("a")], v1_36.VIEW) for _ in range(2))
    for cache in (together, apart):
        counts(cache)
        cache.assume_pod(make_pod("p"), "a")
        if cache is apart:
            counts(cache)
        cache.add_node(with_app("b"))
    assert counts(together) == {"a": 2, "b": 2}
    assert counts(apart) == {"a": 1, "b": 2}


def test_1_20_counts_when_the_node_is_updated() -> None:
    """Pods that come and go make no difference."""
    cache = ClusterCache.of([with_app("a")], v1_20.VIEW)
    cache.add_node(with_app("b"))
    cache.assume_pod(make_pod("p"), "a")
    assert counts(cache) == {"a": 1, "b": 2}
    cache.update_node(with_app("a"))
    assert counts(cache) == {"a": 2, "b": 2}


def test_a_score_follows_the_count() -> None:
    """A kept score is worked out again when the copy of a row says another number."""
    extra = [with_app(name) for name in ("b", "c")]
    nodes = [make_node(name, images=(ContainerImage(("app:latest",), 900 << 20),)) for name in ("a", "d")]
    scheduler = deciding("1.36", in_tree("1.36")["ImageLocality"], cluster=[*nodes, make_node("e")])
    asks = make_pod("p", containers=(Container("c", "app:latest"),))
    before = scheduler.schedule(asks).score("ImageLocality")
    for node in extra:
        scheduler.cache.add_node(node)
    assert scheduler.schedule(asks).score("ImageLocality")["d"] < before["d"]
    scheduler.cache.assume_pod(make_pod("q"), "a")
    after = scheduler.schedule(asks).score("ImageLocality")
    assert after["a"] > after["d"]
