"""Distinct ids per row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Cinder, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange
from tests.support.build import Cluster, make_node, make_pod

ROWS = 3
IDS = st.frozensets(st.sampled_from("abcd"), max_size=3)
PLACED = st.lists(st.tuples(st.integers(0, ROWS - 1), IDS), max_size=6)


def ids_of(info: PodInfo) -> frozenset[str]:
    return frozenset(volume.volume_id for volume in info.spec.volumes if isinstance(volume, Cinder))


def using(row: int, ids: frozenset[str], name: str) -> Pod:
    return make_pod(name, node=f"n{row}", volumes=tuple(Cinder(i) for i in sorted(ids)))


@given(PLACED, PLACED, IDS, st.data())
def test_union_sizes_follow_pods_and_changes(
    placed: list[tuple[int, frozenset[str]]],
    later: list[tuple[int, frozenset[str]]],
    new: frozenset[str],
    data: st.DataObject,
) -> None:
    """Pods that come, go, or are hypothetically added or removed give what counting from scratch gives."""
    pods = [using(row, ids, f"p{i}") for i, (row, ids) in enumerate(placed)]
    cluster = Cluster([make_node(f"n{row}") for row in range(ROWS)], pods)
    cluster.snapshot.union_sizes("ids", ids_of, new, 0)
    gone = data.draw(st.sets(st.integers(0, len(placed) - 1))) if placed else set()
    for i in gone:
        cluster.columns.take_pod(placed[i][0], pods[i].metadata.uid)
    there = [entry for i, entry in enumerate(placed) if i not in gone]
    away = data.draw(st.sets(st.integers(0, len(there) - 1))) if there else set()
    changes = [PodChange(row, cluster.info(using(row, ids, "x")), 1) for row, ids in later]
    changes += [PodChange(there[i][0], cluster.info(using(*there[i], "x")), -1) for i in away]
    left = later + [entry for i, entry in enumerate(there) if i not in away]
    expected = [len(new.union(*(ids for at, ids in left if at == row))) for row in range(ROWS)]
    snapshot = cluster.snapshot.what_if(changes)
    assert snapshot.union_sizes("ids", ids_of, new, 0).tolist() == expected
    some = snapshot.take(np.array([2, 0]))
    assert some.union_sizes("ids", ids_of, new, 0).tolist() == [expected[2], expected[0]]


def test_another_version_is_counted_anew() -> None:
    """The ids of pods that stay may change with what they are read from."""
    cluster = Cluster([make_node("n0")], [using(0, frozenset("ab"), "p")])
    known = {"a", "b"}

    def ids(info: PodInfo) -> frozenset[str]:
        return ids_of(info) & known

    assert cluster.snapshot.union_sizes("ids", ids, frozenset("c"), 1).tolist() == [3]
    known.discard("a")
    assert cluster.snapshot.union_sizes("ids", ids, frozenset("c"), 1).tolist() == [3]
    assert cluster.snapshot.union_sizes("ids", ids, frozenset("c"), 2).tolist() == [2]
