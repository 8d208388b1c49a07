"""NoDiskConflict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import ISCSI, RBD, AWSElasticBlockStore, ClaimVolume, GCEPersistentDisk, Pod, VolumeSource
from clusterstate.snapshot import Snapshot
from predicates.disks import DISK_CONFLICT, conflicts, exclusive_disks, no_disk_conflict
from tests.support.build import Cluster, make_node, make_pod, names_where

GCE, EBS = GCEPersistentDisk("d"), AWSElasticBlockStore("v")
GCE_RO, EBS_RO = GCEPersistentDisk("d", read_only=True), AWSElasticBlockStore("v", read_only=True)
RBD_AB, RBD_AB_RO = RBD(("a", "b"), "i"), RBD(("a", "b"), "i", read_only=True)
LUN, LUN_RO = ISCSI("iqn.x"), ISCSI("iqn.x", read_only=True)


def mounting(*volumes: VolumeSource, name: str = "p", node: str = "") -> Pod:
    return make_pod(name, node=node, volumes=volumes)


def failing(cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> list[str]:
    snapshot = cluster.snapshot if snapshot is None else snapshot
    verdict = no_disk_conflict(cluster.info(pod), snapshot)
    return names_where(snapshot, verdict[DISK_CONFLICT]) if verdict else []


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        pytest.param(GCE, GCE, True, id="gce-same"),
        pytest.param(GCE, GCE_RO, True, id="gce-one-reads"),
        pytest.param(GCE_RO, GCE_RO, False, id="gce-both-read"),
        pytest.param(GCE, GCEPersistentDisk("other"), False, id="gce-other-disk"),
        pytest.param(EBS, EBS, True, id="ebs-same"),
        pytest.param(EBS_RO, EBS_RO, True, id="ebs-read-only-does-not-help"),
        pytest.param(EBS, AWSElasticBlockStore("w"), False, id="ebs-other-volume"),
        pytest.param(RBD_AB, RBD(("b", "c"), "i"), True, id="rbd-one-common-monitor"),
        pytest.param(RBD_AB, RBD(("c",), "i"), False, id="rbd-no-common-monitor"),
        pytest.param(RBD_AB, RBD(("a", "b"), "j"), False, id="rbd-other-image"),
        pytest.param(RBD_AB, RBD(("a", "b"), "i", pool="q"), False, id="rbd-other-pool"),
        pytest.param(RBD_AB_RO, RBD_AB_RO, False, id="rbd-both-read"),
        pytest.param(RBD_AB, RBD_AB_RO, True, id="rbd-one-reads"),
        pytest.param(LUN, LUN, True, id="iscsi-same"),
        pytest.param(LUN, LUN_RO, True, id="iscsi-one-reads"),
        pytest.param(LUN_RO, LUN_RO, False, id="iscsi-both-read"),
        pytest.param(LUN, ISCSI("iqn.y"), False, id="iscsi-other-target"),
        pytest.param(GCEPersistentDisk("v"), EBS, False, id="types-differ"),
        pytest.param(ClaimVolume("c"), ClaimVolume("c"), False, id="claims-are-not-looked-through"),
    ],
)
def test_conflicts(one: VolumeSource, other: VolumeSource, conflict: bool) -> None:
    """Which pairs of volumes exclude each other on a node, whichever of the two came first."""
    for there, wanted in ((one, other), (other, one)):
        cluster = Cluster([make_node("a"), make_node("b")], [mounting(there, name="x", node="a")])
        assert failing(cluster, mounting(wanted)) == (["a"] if conflict else [])


VOLUMES = st.one_of(
    st.builds(GCEPersistentDisk, st.sampled_from("de"), st.booleans()),
    st.builds(AWSElasticBlockStore, st.sampled_from("de"), st.booleans()),
    st.builds(
        RBD, st.lists(st.sampled_from("abc"), max_size=2).map(tuple), st.just("i"), st.just("rbd"), st.booleans()
    ),
    st.builds(ISCSI, st.sampled_from("de"), st.booleans()),
)


@given(st.lists(VOLUMES, max_size=3), st.lists(st.tuples(st.integers(0, 3), st.lists(VOLUMES, max_size=2)), max_size=6))
def test_it_agrees_with_comparing_all_pairs(
    wanted: list[VolumeSource], used: list[tuple[int, list[VolumeSource]]]
) -> None:
    """A row fails exactly if some pair of volumes conflicts, and a subset of rows says the same."""
    pods = [mounting(*volumes, name=f"p{i}", node=f"n{row}") for i, (row, volumes) in enumerate(used)]
    cluster, pod = Cluster([make_node(f"n{i}") for i in range(4)], pods), mounting(*wanted)
    expected = [
        f"n{row}"
        for row in range(4)
        if any(
            conflicts(a, b)
            for p in pods
            if p.node_name == f"n{row}"
            for a in exclusive_disks(p.spec)
            for b in exclusive_disks(pod.spec)
        )
    ]
    assert failing(cluster, pod) == expected
    some = cluster.snapshot.take(np.array([3, 1]))
    assert sorted(failing(cluster, pod, some)) == [name for name in expected if name in ("n1", "n3")]
