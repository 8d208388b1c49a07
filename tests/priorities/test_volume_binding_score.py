"""VolumeBinding's score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.objects import CSIDriver, CSIStorageCapacity, LabelSelector, ObjectMeta, PersistentVolume
from clusterstate.volumes.volume_decision import RULES_1_20
from priorities.volume_binding import (
    DEFAULT_SHAPE_1_21,
    has_volumes_found,
    has_volumes_to_find,
    score_table,
    storage_scores,
    volume_scores_1_21,
)
from tests.support.build import Cluster, labels, make_node
from tests.support.storage import BOUND, claiming, make_claim, make_class, make_volume, on_nodes

NODES = [make_node(n, {"host": n}) for n in "abc"]
CLASSES = [make_class("late", "d.io"), make_class("fast", "d.io"), CSIDriver(ObjectMeta("d.io"), storage_capacity=True)]


def late(name: str, size: int, of: str = "late", **fields: Any) -> Any:
    """A claim for so many bytes."""
    return make_claim(name, storage_class=of, storage=size * 1000, **fields)


def free(name: str, size: int, *hosts: str, of: str = "late") -> PersistentVolume:
    return make_volume(
        name, storage_class_name=of, phase="Available", storage=size * 1000, node_affinity=on_nodes(*hosts)
    )


def room(name: str, size: int | None, host: str, of: str = "late", largest: int | None = None) -> CSIStorageCapacity:
    selector = LabelSelector(labels({"host": host}))
    sizes = [None if n is None else n * 1000 for n in (size, largest)]
    return CSIStorageCapacity(ObjectMeta(name, "x"), of, selector, *sizes)


def scores(claims: tuple[str, ...], *others: Any, shape: tuple[tuple[int, int], ...] = ()) -> list[int]:
    cluster = Cluster(NODES, [], [*CLASSES, *others])
    info, table = cluster.info(claiming(*claims)), score_table(shape)
    found = storage_scores(table, info, cluster.snapshot)
    rows = np.array([2, 0], np.int64)
    assert storage_scores(table, info, cluster.snapshot.take(rows)).tolist() == found[rows].tolist()
    return [int(score) for score in found]


FULLNESS: dict[str, Any] = {
    "static": (("c",), [late("c", 5), free("v", 10, "a"), free("w", 20, "b")], [50, 75, 0]),
    "claims-of-one-class-together": (
        ("c", "d"),
        [late("c", 5), late("d", 5), free("v", 5, "a"), free("w", 15, "a", "b"), free("x", 10, "b")],
        [50, 60, 0],
    ),
    "classes-are-averaged": (
        ("c", "d"),
        [late("c", 5), late("d", 1, "fast"), free("v", 10, "a"), free("w", 2, "a", of="fast")],
        [50, 0, 0],
    ),
    "halves-are-rounded-up": (
        ("c", "d"),
        [late("c", 1), late("d", 1, "fast"), free("v", 3, "a"), free("w", 2, "a", of="fast")],
        [59, 0, 0],
    ),
    "dynamic": (("c",), [late("c", 5), room("r", 10, "a"), room("s", 50, "b"), room("t", 5, "c")], [50, 90, 0]),
    "too-much": (("c", "d"), [late("c", 5), late("d", 5), room("r", 10, "a"), room("s", 8, "b")], [0, 0, 0]),
    "static-goes-first": (
        ("c", "d"),
        [late("c", 5), late("d", 9), free("v", 10, "a"), room("r", 100, "a"), room("s", 100, "b")],
        [50, 86, 0],
    ),
    "nobody-says": (("c",), [late("c", 5), room("r", None, "a", largest=9)], [0, 0, 0]),
    "bound": (("c",), [make_claim("c", "v", annotations=BOUND)], [0, 0, 0]),
    "claim-missing": (("none",), [], [0, 0, 0]),
    "no-claims": ((), [], [0, 0, 0]),
}


@pytest.mark.parametrize(("claims", "others", "expected"), FULLNESS.values(), ids=FULLNESS)
def test_the_fuller_the_worse(claims: tuple[str, ...], others: list[Any], expected: list[int]) -> None:
    """By default; only nodes that offer something score at all."""
    assert scores(claims, *others) == expected


def test_a_shape_turns_it_round() -> None:
    """As the args say."""
    others = [late("c", 5), free("v", 10, "a"), free("w", 20, "b")]
    assert scores(("c",), *others, shape=((0, 0), (100, 10))) == [50, 25, 0]


def test_pods_with_nothing_to_find() -> None:
    """All their claims are bound, or missing."""
    cluster = Cluster(NODES, [], [*CLASSES, late("c", 5), make_claim("old", "v", annotations=BOUND)])
    found = {
        claims: has_volumes_to_find(cluster.info(claiming(*claims)), cluster.snapshot)
        for claims in ((), ("c",), ("old",), ("old", "c"), ("none",))
    }
    assert [claims for claims, some in found.items() if some] == [("c",), ("old", "c")]


@pytest.mark.parametrize(
    ("claims", "others", "expected", "found"),
    [
        pytest.param(("c",), [late("c", 5), free("v", 10, "a"), free("w", 20, "b")], [50, 25, 0], True, id="volumes"),
        pytest.param(("c",), [late("c", 5), room("r", 10, "a")], [0, 0, 0], False, id="one-is-to-be-made"),
        pytest.param((), [], [0, 0, 0], False, id="no-claims"),
    ],
)
def test_volume_capacity_priority(
    claims: tuple[str, ...], others: list[Any], expected: list[int], *, found: bool
) -> None:
    """With 1.21's gate only volumes that are found count, and the fuller they would be the better."""
    cluster = Cluster(NODES, [], [*CLASSES, *others])
    info, table = cluster.info(claiming(*claims)), score_table(DEFAULT_SHAPE_1_21)
    assert volume_scores_1_21(table, RULES_1_20, info, cluster.snapshot).tolist() == expected
    assert has_volumes_found(RULES_1_20, info, cluster.snapshot) == found
