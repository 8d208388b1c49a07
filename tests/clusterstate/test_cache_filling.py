"""A cache that is filled at once is as one that is filled object by object."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.errors import ClusterStateError
from clusterstate.objects import ContainerImage
from kubescheduler.releases import v1_4, v1_16, v1_36
from tests.support.build import make_node, make_pod, resources
from tests.support.rich_worlds import DrawnCluster, worlds

VIEWS = (v1_4.VIEW, v1_16.VIEW, v1_36.VIEW)
NAMES = ("a", "b", "c")
IMAGES = ((), (ContainerImage(("a", "b"), 5),), (ContainerImage(("b", "b"), 7), ContainerImage(("c",), 2)))


def contents(cache: ClusterCache) -> dict[str, Any]:
    """Everything that a rule can read of a cache, in its order."""
    columns = cache.columns
    arrays = ("allocatable", "allocatable_set", "requested", "nonzero", "allowed_pods", "pod_count", "has_node")
    return {
        **{name: getattr(columns, name).view.tolist() for name in arrays},
        "resources": list(columns.resources),
        "nodes": (columns.node_count, columns.listed_count),
        "images": [column.tolist() for name in NAMES for column in columns.images.column(name, len(columns))],
        "names": list(columns.names),
        "pods": [list(there.items()) for there in columns.pods],
        "classes": [(key, info.rows, info.serial) for key, info in columns.infos.items()],
        "uses": columns.affinity_uses,
        "keys": columns.term_keys,
        "ranks": columns.ranks.tolist(),
        "listed": cache.tree.listed(),
        "placed": cache.pods(),
        "nominated": {name: list(pods) for name, pods in cache.nominated().items()},
    }


@given(worlds(most_pods=9), st.sampled_from(VIEWS), st.randoms())
def test_at_once_as_one_by_one(world: DrawnCluster, view: Any, random: Any) -> None:
    """Nodes, pods and all others may come in any order; some pods wait, are over, or run where no node is known, and a
    node may come twice. A node that comes later is counted alike.
    """
    more = [make_node("idle"), *random.choices(world.nodes, k=random.choice((0, 0, 1)))]
    nodes = [msgspec.structs.replace(node, images=random.choice(IMAGES)) for node in (*world.nodes, *more)]
    objects: list[Any] = [*nodes, *world.pods, *world.others]
    for pod in world.pods:
        ways: tuple[dict[str, Any], ...] = (
            {"phase": "Succeeded"},
            {"node_name": "", "nominated_node_name": "n0"},
            {"node_name": "gone"},
        )
        for changes in ways:
            name = f"{pod.metadata.name}-{len(objects)}"
            objects.append(
                msgspec.structs.replace(
                    pod, metadata=msgspec.structs.replace(pod.metadata, name=name, uid=name), **changes
                )
            )
    random.shuffle(objects)
    one_by_one = ClusterCache(view)
    for obj in objects:
        one_by_one.add(obj)
    one_by_one.columns.images.refresh()
    at_once = ClusterCache.of(objects, view)
    assert contents(at_once) == contents(one_by_one)
    for cache in (at_once, one_by_one):
        cache.add(msgspec.structs.replace(make_node("late"), images=IMAGES[-1]))
    assert contents(at_once) == contents(one_by_one)
    assert sorted(at_once.columns.images.copied()) == sorted(one_by_one.columns.images.copied())
    assert contents(at_once) == contents(one_by_one)


@pytest.mark.parametrize("replicas", [1, 3, 50], ids=["one", "few", "many"])
def test_amounts_past_64_bits_go_round(replicas: int) -> None:
    """As they do when pods are added one by one."""
    node, huge = make_node("a"), resources(cpu=0, memory=2**62)
    pods = [make_pod(f"p{at}", node="a", requests=huge) for at in range(replicas)]
    one_by_one = ClusterCache.of([node], v1_16.VIEW)
    for pod in pods:
        one_by_one.add(pod)
    assert contents(ClusterCache.of([node, *pods], v1_16.VIEW)) == contents(one_by_one)


@pytest.mark.parametrize(
    ("uids", "text"),
    [
        pytest.param(("a", "a"), "pod a was already in added state", id="twice"),
        pytest.param(("",), "Cannot get cache key for pod with empty UID", id="no uid"),
    ],
)
def test_pods_that_cannot_be_added(uids: tuple[str, ...], text: str) -> None:
    """The error is the one of adding the pod by itself."""
    pods = [make_pod("p", node="n") for _ in uids]
    named = [
        msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
        for pod, uid in zip(pods, uids, strict=True)
    ]
    with pytest.raises(ClusterStateError, match=text):
        ClusterCache.of(named, v1_16.VIEW)


def test_replicas_are_counted_class_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts are added as often as there are classes of pods, however many pods of them run."""
    asked: list[int] = []
    count_many = Columns._count_many

    def counted(columns: Columns, counts: Any, info: Any, sign: int) -> None:
        asked.append(len(counts))
        count_many(columns, counts, info, sign)

    monkeypatch.setattr(Columns, "_count_many", counted)
    nodes = [make_node(f"n{at}") for at in range(10)]
    pods = [make_pod(f"p{at}", {"app": str(at % 3)}, node=f"n{at % 10}") for at in range(300)]
    cache = ClusterCache.of([*nodes, *pods], v1_36.VIEW)
    assert asked == [10, 10, 10]
    assert np.array_equal(cache.columns.pod_count.view, np.full(10, 30))
