"""VolumeRestrictions."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.changes import Reads
from clusterstate.objects import AWSElasticBlockStore, ClaimVolume, GCEPersistentDisk, Pod
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.volume_filters import volume_restrictions_1_20, volume_restrictions_1_36
from predicates.types import GO_ON, SKIP, PreFiltered
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused
from tests.support.storage import claiming, make_claim

DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
OLD, NEW = volume_restrictions_1_20(None, HANDLE), volume_restrictions_1_36(None, HANDLE)
NODES = [make_node(name) for name in "abc"]
ONCE = ("ReadWriteOncePod",)
STORAGE = [
    *(make_claim(name, access_modes=ONCE) for name in ("c", "d")),
    make_claim("c", namespace="other", access_modes=ONCE),
    make_claim("shared", access_modes=("ReadWriteMany",)),
]


def world(*pods: Pod) -> Cluster:
    return Cluster(NODES, pods, STORAGE)


def asked(cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> PreFiltered:
    rule, info = check_of(NEW), cluster.info(pod)
    assert rule.pre_filter is not None
    return rule.pre_filter(info, cluster.snapshot if snapshot is None else snapshot)


@pytest.mark.parametrize("plugin", [OLD, NEW], ids=["1.20", "1.36"])
def test_a_disk_in_use_refuses(plugin: ColumnPlugin) -> None:
    """Taking the pod away that mounts it mends it; pods without disks are not looked at."""
    disk = (AWSElasticBlockStore("v"),)
    cluster = world(make_pod("old", node="a", volumes=disk))
    assert refused(plugin, cluster, make_pod(volumes=disk)) == {DISK: ["a"]}
    assert refused(plugin, cluster, make_pod(volumes=(GCEPersistentDisk("v"),))) == {}
    assert not check_of(plugin).unresolvable(DISK)
    assert not check_of(plugin).applies(cluster.info(make_pod()))


def test_where_it_takes_part() -> None:
    """1.36 asks before nodes are looked at."""
    assert OLD.points == {Point.FILTER}
    assert NEW.points == {Point.PRE_FILTER, Point.FILTER}
    assert NEW.filter_alone == 'cannot read "PreFilterVolumeRestrictions" from cycleState'


@pytest.mark.parametrize(
    ("pod", "running", "expected"),
    [
        pytest.param(claiming("c"), [], SKIP, id="nobody-uses-it"),
        pytest.param(claiming("shared"), [claiming("shared", name="old", node="b")], SKIP, id="for-many"),
        pytest.param(claiming("c"), [claiming("c", name="old", node="b")], GO_ON, id="in-use"),
        pytest.param(
            claiming("c"), [claiming("c", name="old", node="b", namespace="other")], SKIP, id="in-another-namespace"
        ),
        pytest.param(claiming("c"), [claiming("c", name="old", node="gone")], SKIP, id="on-a-node-that-is-gone"),
        pytest.param(make_pod(volumes=(GCEPersistentDisk("d"), ClaimVolume("c"))), [], GO_ON, id="with-a-disk"),
        pytest.param(
            claiming("none", "c"),
            [],
            PreFiltered(reasons=('persistentvolumeclaim "none" not found',)),
            id="claim-missing",
        ),
    ],
)
def test_what_is_said_before_nodes_are_looked_at(pod: Pod, running: list[Pod], expected: PreFiltered) -> None:
    """A claim that is not there refuses the pod; a claim in use makes it look at nodes."""
    cluster = world(*running)
    assert asked(cluster, pod) == expected
    assert all(check_of(NEW).unresolvable(reason) for reason in expected.reasons)


def test_a_claim_for_one_pod_refuses_everywhere() -> None:
    """Nodes with a disk conflict say just that; 1.20 does not look at claims."""
    disk = GCEPersistentDisk("d")
    pods = [claiming("c", name="old", node="b"), make_pod("disk", node="a", volumes=(disk,))]
    pod = make_pod(volumes=(ClaimVolume("c"), disk))
    assert refused(NEW, world(*pods), pod) == {DISK: ["a"], IN_USE: ["b", "c"]}
    assert refused(OLD, world(*pods), pod) == {DISK: ["a"]}
    assert not check_of(NEW).unresolvable(IN_USE)


def change(cluster: Cluster, row: int, pod: Pod, sign: int) -> PodChange:
    return PodChange(row, cluster.info(pod), sign)


@pytest.mark.parametrize(
    ("others", "moved", "refuses"),
    [
        pytest.param([("c",)], [(("c",), -1)], False, id="its-only-pod-goes"),
        pytest.param([("c",), ("c",)], [(("c",), -1)], False, id="one-of-two-goes"),
        pytest.param([("c",), ("d",)], [(("c",), -1)], True, id="another-claim-stays"),
        pytest.param([("c", "d")], [(("c", "d"), -1)], False, id="both-claims-at-once"),
        pytest.param([("c",)], [(("shared",), -1)], True, id="a-pod-without-the-claim-goes"),
        pytest.param([("c",)], [(("c",), -1), (("c",), 1)], True, id="goes-and-comes-back"),
        pytest.param([], [(("c",), 1)], True, id="comes"),
        pytest.param([], [(("c", "c"), 1), (("c",), -1)], True, id="every-volume-counts"),
    ],
)
def test_pods_that_are_thought_away(others: Any, moved: Any, refuses: bool) -> None:
    """Each of their volumes changes the count by one, while pods that are there count once for each claim."""
    pods = [claiming(*claims, name=f"old{i}", node="a") for i, claims in enumerate(others)]
    cluster = world(*pods)
    changes = [change(cluster, 0, claiming(*claims, name="moved"), sign) for claims, sign in moved]
    found = refused(NEW, cluster, claiming("c", "d"), cluster.snapshot.what_if(changes))
    assert found == ({IN_USE: ["a", "b", "c"]} if refuses else {})


def test_namespaces_are_not_compared_when_pods_move() -> None:
    """A pod of another namespace with a claim of the same name counts as well."""
    cluster = world(claiming("c", name="old", node="a"))
    stranger = change(cluster, 1, claiming("c", name="x", namespace="other"), -1)
    assert refused(NEW, cluster, claiming("c"), cluster.snapshot.what_if([stranger])) == {}


def test_rows_depend_on_others_only_while_a_claim_is_in_use() -> None:
    """So that preemption can try many rows at once."""
    footprint = check_of(NEW).footprint
    busy, idle = world(claiming("c", name="old", node="b")), world()
    disks = make_pod(volumes=(GCEPersistentDisk("d"),))
    assert not footprint.is_row_local(busy.info(claiming("c")), busy.snapshot)
    assert footprint.is_row_local(idle.info(claiming("c")), idle.snapshot)
    assert footprint.is_row_local(busy.info(claiming("none")), busy.snapshot)
    assert footprint.narrow is not None
    assert footprint.narrow(busy.info(disks)) == Reads.PODS
    assert Reads.STORAGE in footprint.narrow(busy.info(claiming("c")))


def test_a_missing_claim_leaves_the_disks() -> None:
    """The pod is refused before; the nodes say what they can."""
    disk = GCEPersistentDisk("d")
    cluster = world(make_pod("disk", node="a", volumes=(disk,)))
    assert refused(NEW, cluster, make_pod(volumes=(disk, ClaimVolume("none")))) == {DISK: ["a"]}
