"""MaxEBSVolumeCount, MaxGCEPDVolumeCount, MaxAzureDiskVolumeCount and MaxCinderVolumeCount."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import (
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimVolume,
    CSINode,
    GCEPersistentDisk,
    Node,
    ObjectMeta,
    Pod,
)
from clusterstate.snapshot import PodChange, Snapshot
from clusterstate.volumes.claims import AZURE_DISK, CINDER, EBS, GCE_PD, DiskType
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from predicates.types import PredicateArgs, attached_last
from predicates.volume_counts import (
    COUNTING,
    TOO_MANY_VOLUMES,
    VOLUME_COUNTS,
    VOLUME_COUNTS_1_13,
    attach_limits,
    attached_volumes,
)
from tests.support.build import Cluster, labels, make_node, make_pod, resources
from tests.support.storage import by_text, claiming, make_claim, make_class, make_volume

NO_NAME = "error: PersistentVolumeClaim had no name"
FULL = {TOO_MANY_VOLUMES: ["a"]}


def ebs(*ids: str, name: str = "p", node: str = "") -> Pod:
    return make_pod(name, node=node, volumes=tuple(AWSElasticBlockStore(i) for i in ids))


def node_for(disks: int, name: str = "a") -> Node:
    return make_node(name, allocatable=resources(**{"attachable-volumes-aws-ebs": disks}))


def failing(cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None, **args: Any) -> dict[str, list[str]]:
    snapshot = cluster.snapshot if snapshot is None else snapshot
    rule = VOLUME_COUNTS["MaxEBSVolumeCount"](PredicateArgs(**args))
    return by_text(snapshot, rule.check(cluster.info(pod), snapshot))


@pytest.mark.parametrize(
    ("limit", "pod", "expected"),
    [
        pytest.param(3, ebs("x"), {}, id="just-fits"),
        pytest.param(2, ebs("x"), FULL, id="one-too-many"),
        pytest.param(2, ebs("v1", "v2"), {}, id="all-there-already"),
        pytest.param(1, ebs("v1"), FULL, id="over-the-limit-even-without-new-ones"),
        pytest.param(3, ebs("v1", "x", "y"), FULL, id="some-there-already"),
        pytest.param(0, ebs(), {}, id="no-volumes"),
        pytest.param(0, make_pod(volumes=(GCEPersistentDisk("d"),)), {}, id="another-type"),
        pytest.param(0, ebs("x"), FULL, id="allocatable-0-counts"),
        pytest.param(2, claiming("bound"), {}, id="claim-of-a-disk-that-is-there"),
        pytest.param(2, claiming("waiting"), FULL, id="unbound-claim-of-the-type"),
        pytest.param(2, claiming("lost"), FULL, id="claim-whose-volume-is-gone"),
        pytest.param(0, claiming("missing"), {}, id="missing-claim-is-ignored"),
        pytest.param(0, claiming("plain"), {}, id="claim-without-class-is-ignored"),
        pytest.param(9, claiming("bound", ""), {NO_NAME: ["a"]}, id="claim-without-name"),
    ],
)
def test_too_many_disks(limit: int, pod: Pod, expected: dict[str, list[str]]) -> None:
    """The union of the node's disks and the pod's stays within the limit."""
    others = [
        make_claim("bound", "v1"),
        make_volume("v1"),
        make_claim("waiting", storage_class="ebs"),
        make_claim("lost", "gone", storage_class="ebs"),
        make_claim("plain"),
        make_class("ebs"),
    ]
    cluster = Cluster([node_for(limit)], [ebs("v1", "v2", name="old", node="a")], others)
    assert failing(cluster, pod) == expected


def test_an_unbound_claim_counts_once_on_a_node() -> None:
    """Two pods with the same claim need one disk; the same name in another namespace is another."""
    others = [make_class("ebs"), *(make_claim("c", storage_class="ebs", namespace=n) for n in ("default", "other"))]
    cluster = Cluster([node_for(1)], [claiming("c", name="old", node="a")], others)
    assert failing(cluster, claiming("c")) == {}
    assert failing(cluster, claiming("c", namespace="other")) == FULL


def test_a_running_pod_with_a_nameless_claim_is_an_error() -> None:
    """Only for pods with disks of the type, and only on that node."""
    cluster = Cluster([node_for(0), node_for(0, "b")], [claiming("", name="old", node="b")])
    assert failing(cluster, ebs("x")) == {TOO_MANY_VOLUMES: ["a"], NO_NAME: ["b"]}
    assert failing(cluster, claiming("missing")) == {}


@pytest.mark.parametrize(
    ("disk", "environment", "limits"),
    [
        pytest.param(EBS, None, [39, 25, 7, 0], id="ebs"),
        pytest.param(EBS, 5, [5, 5, 7, 0], id="ebs-environment"),
        pytest.param(GCE_PD, None, [16, 16, 16, 16], id="gce"),
        pytest.param(AZURE_DISK, None, [16, 16, 16, 16], id="azure"),
        pytest.param(CINDER, None, [256, 256, 256, 256], id="cinder"),
        pytest.param(CINDER, 5, [5, 5, 5, 5], id="cinder-environment"),
    ],
)
def test_limits(disk: DiskType, environment: int | None, limits: list[int]) -> None:
    """The node's allocatable comes first, then the environment, then the default."""
    nitro = {"beta.kubernetes.io/instance-type": "m5.large"}
    allocatable = [resources(**{"attachable-volumes-aws-ebs": n}) for n in (7, 0)]
    nodes = [
        make_node("a"),
        make_node("b", nitro),
        *(make_node(f"c{i}", nitro, allocatable=a) for i, a in enumerate(allocatable)),
    ]
    assert attach_limits(Cluster(nodes).snapshot, disk, environment).tolist() == limits


MIGRATING = {"CSIMigration": True, "CSIMigrationAWS": True}
GATED: dict[str, tuple[dict[str, bool], dict[str, list[str]]]] = {
    "defaults": ({}, {TOO_MANY_VOLUMES: ["a", "b"]}),
    "AttachVolumeLimit-off": ({"AttachVolumeLimit": False}, {}),
    "handed-over": (MIGRATING, {TOO_MANY_VOLUMES: ["a"]}),
    "its-gate-alone": ({"CSIMigrationAWS": True}, {TOO_MANY_VOLUMES: ["a", "b"]}),
    "another-plugin": ({"CSIMigration": True, "CSIMigrationGCE": True}, {TOO_MANY_VOLUMES: ["a", "b"]}),
}


@pytest.mark.parametrize(("gates", "expected"), GATED.values(), ids=GATED)
def test_gates(gates: dict[str, bool], expected: dict[str, list[str]]) -> None:
    """Nodes are asked for limits, and b has handed the plugin over, where gates say so. 1.13 knows of no drivers."""
    annotated = ObjectMeta("b", annotations=labels({MIGRATED_ANNOTATION: EBS.provisioner}))
    cluster = Cluster([node_for(0), node_for(0, "b")], [], [CSINode(annotated)])
    pod = cluster.info(ebs("x"))
    rule = VOLUME_COUNTS["MaxEBSVolumeCount"](PredicateArgs(feature_gates=gates))
    older = VOLUME_COUNTS_1_13["MaxEBSVolumeCount"](PredicateArgs(feature_gates=gates))
    assert by_text(cluster.snapshot, rule.check(pod, cluster.snapshot)) == expected
    both = {TOO_MANY_VOLUMES: ["a", "b"]} if expected else {}
    assert by_text(cluster.snapshot, older.check(pod, cluster.snapshot)) == both


def test_the_last_that_counts_on_a_node() -> None:
    """Where a node has handed EBS over, what GCE disks leave counts; a pod without disks has none."""
    annotated = ObjectMeta("b", annotations=labels({MIGRATED_ANNOTATION: EBS.provisioner}))
    cluster = Cluster([node_for(5), node_for(5, "b")], [], [CSINode(annotated)])
    args = PredicateArgs(feature_gates=MIGRATING)
    checks = [VOLUME_COUNTS[name](args) for name in ("MaxGCEPDVolumeCount", "MaxEBSVolumeCount")]
    pod = cluster.info(make_pod(volumes=(GCEPersistentDisk("g"), AWSElasticBlockStore("v"))))
    found = attached_last(checks, pod, cluster.snapshot)
    assert found.tolist() == [[1, 1], [5, 16]]
    assert attached_last(checks[1:], pod, cluster.snapshot) is not None
    assert attached_last(checks, cluster.info(make_pod()), cluster.snapshot) is None


@pytest.mark.parametrize(
    ("name", "volume"),
    [
        ("MaxEBSVolumeCount", AWSElasticBlockStore("v")),
        ("MaxGCEPDVolumeCount", GCEPersistentDisk("v")),
        ("MaxAzureDiskVolumeCount", AzureDisk("v")),
        ("MaxCinderVolumeCount", Cinder("v")),
    ],
)
def test_each_rule_counts_its_own_type(name: str, volume: Any) -> None:
    """Every other type lets it be skipped, but a claim may lead to any type."""
    rule = VOLUME_COUNTS[name](PredicateArgs(max_pd_volumes=1))
    cluster = Cluster([make_node("a")], [make_pod("old", node="a", volumes=(type(volume)("w"),))])
    info = cluster.info(make_pod(volumes=(volume,)))
    assert rule.name == name
    assert by_text(cluster.snapshot, rule.check(info, cluster.snapshot)) == FULL
    assert [n for n, make in VOLUME_COUNTS.items() if make(PredicateArgs()).applies(info)] == [name]
    assert rule.applies(cluster.info(make_pod(volumes=(ClaimVolume("c"),))))


def test_it_follows_pods_and_storage() -> None:
    """Pods that go give disks back, and a claim that is bound later leads to its volume."""
    cluster = Cluster([node_for(1)], [ebs("v", name="old", node="a")], [make_claim("c")])
    old = cluster.info(ebs("v"))
    assert failing(cluster, ebs("x")) == FULL
    assert failing(cluster, ebs("x"), cluster.snapshot.what_if([PodChange(0, old, -1)])) == {}
    assert failing(cluster, claiming("c")) == {}
    cluster.columns.log.whole(cluster.objects.put(make_claim("c", "w")))
    cluster.columns.log.whole(cluster.objects.put(make_volume("w")))
    assert failing(cluster, claiming("c")) == FULL
    cluster.columns.take_pod(0, "default/old")
    assert failing(cluster, claiming("c")) == {}


@pytest.mark.parametrize(
    ("disks", "volumes", "expected"),
    [
        pytest.param((EBS,), (AWSElasticBlockStore("new"),), [1, 3], id="a-new-one"),
        pytest.param((EBS,), (AWSElasticBlockStore("v0"),), [0, 3], id="one-that-is-there"),
        pytest.param((EBS,), (AWSElasticBlockStore("v0"), AWSElasticBlockStore("a")), [1, 3], id="both"),
        pytest.param((EBS, GCE_PD), (AWSElasticBlockStore("a"), GCEPersistentDisk("g")), [1, 16], id="the-last-type"),
        pytest.param((EBS, GCE_PD), (AWSElasticBlockStore("a"),), [1, 3], id="the-last-that-the-pod-has"),
        pytest.param((GCE_PD,), (AWSElasticBlockStore("a"),), None, id="not-counted"),
        pytest.param((EBS,), (), None, id="no-volumes"),
    ],
)
def test_what_is_left_for_priorities(disks: tuple[DiskType, ...], volumes: Any, expected: list[int] | None) -> None:
    """(new disks, limit less those that are there) of the type that is counted last; 2 of 5 are there."""
    cluster = Cluster([node_for(5)], [ebs("v0", "v1", name="old", node="a")])
    pod = cluster.info(make_pod(volumes=volumes))
    answers = [attached_volumes(disk, None, COUNTING, pod, cluster.snapshot) for disk in reversed(disks)]
    found = next((answer for answer in answers if answer is not None), None)
    assert (None if found is None else found[:, 0].tolist()) == expected
