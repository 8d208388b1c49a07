"""VolumeRestrictions and VolumeZone."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.changes import Reads
from clusterstate.objects import AWSElasticBlockStore, ClaimVolume, EphemeralVolume, GCEPersistentDisk, Pod
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.volume_filters import (
    volume_restrictions_1_20,
    volume_restrictions_1_36,
    volume_zone_1_20,
    volume_zone_1_36,
)
from predicates.types import GO_ON, SKIP, PreFiltered
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused
from tests.support.storage import claiming, make_claim, make_class, make_volume

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


NODES_LOOKED: dict[str, Any] = {
    "nobody-uses-it": (claiming("c"), [], SKIP),
    "for-many": (claiming("shared"), [claiming("shared", name="old", node="b")], SKIP),
    "in-use": (claiming("c"), [claiming("c", name="old", node="b")], GO_ON),
    "in-another-namespace": (claiming("c"), [claiming("c", name="old", node="b", namespace="other")], SKIP),
    "on-a-node-that-is-gone": (claiming("c"), [claiming("c", name="old", node="gone")], SKIP),
    "with-a-disk": (make_pod(volumes=(GCEPersistentDisk("d"), ClaimVolume("c"))), [], GO_ON),
    "claim-missing": (claiming("none", "c"), [], PreFiltered(reasons=('persistentvolumeclaim "none" not found',))),
}


@pytest.mark.parametrize(("pod", "running", "expected"), NODES_LOOKED.values(), ids=NODES_LOOKED)
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


OLD_ZONE, NEW_ZONE = volume_zone_1_20(None, HANDLE), volume_zone_1_36(None, HANDLE)
CONFLICT = "node(s) had no available volume zone"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"

NODES_ZONE = [
    make_node("both", {ZONE: "z", BETA_ZONE: "z"}),
    make_node("beta", {BETA_ZONE: "z"}),
    make_node("ga", {ZONE: "z"}),
    make_node("other", {ZONE: "y", BETA_ZONE: "y"}),
    make_node("region", {REGION: "r"}),
    make_node("none"),
]


def failing(label: dict[str, str]) -> list[list[str]]:
    """The nodes that a volume with these labels cannot be used from, in 1.20 and in 1.36."""
    cluster = Cluster(NODES_ZONE, [], [make_claim("c", "pv"), make_volume("pv", label=label)])
    found = [refused(plugin, cluster, claiming("c")) for plugin in (OLD_ZONE, NEW_ZONE)]
    assert all(verdict.keys() <= {CONFLICT} for verdict in found)
    return [verdict.get(CONFLICT, []) for verdict in found]


@pytest.mark.parametrize(
    ("label", "old", "new"),
    [
        pytest.param({}, [], [], id="no-labels"),
        pytest.param({ZONE: "z"}, ["beta", "other", "region"], ["beta", "other", "region"], id="ga"),
        pytest.param({BETA_ZONE: "z"}, ["ga", "other", "region"], ["other", "region"], id="beta"),
        pytest.param({BETA_ZONE: "y__z"}, ["ga", "region"], ["region"], id="several"),
        pytest.param({ZONE: "y__"}, [], [], id="a-label-that-cannot-be-read"),
        pytest.param({BETA_REGION: "r"}, ["both", "beta", "ga", "other", "region"], ["both", "beta", "ga", "other"]),
        pytest.param({"disk": "ssd"}, [], [], id="other-labels"),
    ],
)
def test_a_volume_in_another_zone_refuses(label: dict[str, str], old: list[str], new: list[str]) -> None:
    """1.36 finds a beta label under its later name; a node without any label passes."""
    assert failing(label) == [old, new]


STORAGE_ZONE = [
    *(make_claim("bare"), make_claim("now", storage_class="now"), make_claim("late", storage_class="late")),
    *(make_claim("lost", "gone"), make_claim("c", "pv"), make_volume("pv", label={ZONE: "z"})),
    *(make_claim("anywhere", "free"), make_volume("free")),
    *(make_class("now", mode="Immediate"), make_class("late")),
]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(("c",), GO_ON, id="bound"),
        pytest.param(("late",), SKIP, id="waits"),
        pytest.param(("anywhere", "late"), SKIP, id="no-zones"),
        pytest.param(("c", "now"), PreFiltered(reasons=("PersistentVolume had no name",)), id="immediate"),
        pytest.param(("",), PreFiltered(reasons=("PersistentVolumeClaim had no name",)), id="no-name"),
        pytest.param(("lost",), PreFiltered(reasons=('persistentvolume "gone" not found',)), id="volume-missing"),
        pytest.param(("none",), PreFiltered(reasons=('persistentvolumeclaim "none" not found',)), id="claim-missing"),
    ],
)
def test_1_36_looks_at_claims_before_nodes(claims: tuple[str, ...], expected: PreFiltered) -> None:
    """Without PreFilter every node says the same."""
    cluster, rule = Cluster(NODES_ZONE, [], STORAGE_ZONE), check_of(NEW_ZONE)
    assert rule.pre_filter is not None
    assert rule.pre_filter(cluster.info(claiming(*claims)), cluster.snapshot) == expected
    if expected.reasons:
        assert refused(NEW_ZONE, cluster, claiming(*claims)) == {
            expected.reasons[0]: [node.name for node in NODES_ZONE]
        }


CLAIMS_FIRST: dict[str, Any] = {
    "bound": (("c",), {CONFLICT: ["beta", "other", "region"]}),
    "waits": (("late",), {}),
    "after-a-conflict-nothing-more": (
        ("c", "now"),
        {CONFLICT: ["beta", "other", "region"], "PersistentVolume had no name": ["both", "ga"]},
    ),
    "before-a-conflict-everywhere": (
        ("bare", "c"),
        {"PersistentVolumeClaim had no pv name and storageClass name": ["both", "beta", "ga", "other", "region"]},
    ),
}


@pytest.mark.parametrize(("claims", "expected"), CLAIMS_FIRST.values(), ids=CLAIMS_FIRST)
def test_1_20_looks_at_claims_on_each_node(claims: tuple[str, ...], expected: dict[str, list[str]]) -> None:
    """A node without any label passes whatever the claims are."""
    assert refused(OLD_ZONE, Cluster(NODES_ZONE, [], STORAGE_ZONE), claiming(*claims)) == expected


def test_codes_and_points() -> None:
    """Nothing that it says can be mended by taking pods away; ephemeral volumes are not looked at."""
    cluster = Cluster(NODES_ZONE)
    plugins: list[Any] = [OLD_ZONE, NEW_ZONE]
    for plugin in plugins:
        assert check_of(plugin).unresolvable(CONFLICT)
        assert not check_of(plugin).applies(cluster.info(make_pod(volumes=(EphemeralVolume("v"),))))
    assert OLD_ZONE.points == {Point.FILTER}
    assert NEW_ZONE.points == {Point.PRE_FILTER, Point.FILTER}
