"""NodeVolumeLimits; how volumes are counted is tested with the rules."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    ClaimVolume,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    EphemeralVolume,
    ObjectMeta,
    Pod,
)
from clusterstate.volumes.claims import csi_limit_key
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.volume_limits import node_volume_limits_1_20, node_volume_limits_1_36
from kubescheduler.releases import v1_36
from tests.support.build import Cluster, labels, make_node, make_pod, resources
from tests.support.custom.extender_asking import HANDLE, check_of, refused
from tests.support.storage import claiming, make_claim, make_class, make_volume

OLD, NEW = node_volume_limits_1_20(None, HANDLE), node_volume_limits_1_36(None, HANDLE)
TEXT = "node(s) exceed max volume count"
EBS = "ebs.csi.aws.com"


def gates(**on: bool) -> Any:
    return SimpleNamespace(feature_gates=on)


def csi_node(name: str, driver: str, count: int | None, plugins: str = "") -> CSINode:
    annotations = labels({MIGRATED_ANNOTATION: plugins} if plugins else {})
    return CSINode(ObjectMeta(name, annotations=annotations), (CSINodeDriver(driver, count=count),))


STORAGE = [
    *(make_claim(f"c{i}", f"pv{i}") for i in range(3)),
    *(make_volume(f"pv{i}", CSI(EBS, f"h{i}")) for i in range(2)),
    make_volume("pv2", AWSElasticBlockStore("vol-2")),
    make_claim("in-tree", storage_class="in-tree"),
    make_class("in-tree", "kubernetes.io/aws-ebs"),
]


def test_a_driver_whose_limit_is_reached_refuses() -> None:
    """Taking pods away helps; a claim that is not there refuses in 1.36 alone, and that does not."""
    cluster = Cluster(
        [make_node("a"), make_node("b")],
        [claiming("c0", name="x", node="a")],
        [*STORAGE, csi_node("a", EBS, 1)],
        v1_36.VIEW,
    )
    for plugin in (OLD, NEW):
        assert refused(plugin, cluster, claiming("c1")) == {TEXT: ["a"]}
        assert refused(plugin, cluster, claiming("c0")) == {}
        assert not check_of(plugin).unresolvable(TEXT)
    missing = 'looking up PVC default/none: persistentvolumeclaim "none" not found'
    assert refused(OLD, cluster, claiming("none")) == {}
    assert refused(NEW, cluster, claiming("none")) == {missing: ["a", "b"]}
    assert check_of(NEW).unresolvable(missing)


@pytest.mark.parametrize(
    ("driver", "key"),
    [
        pytest.param("d.io", "attachable-volumes-csi-d.io", id="short"),
        pytest.param("a" * 39, "attachable-volumes-csi-" + "a" * 39, id="just-short-enough"),
        pytest.param("a" * 40, "attachable-volumes-csi-" + "a" * 23, id="long"),
    ],
)
def test_1_20_also_reads_what_is_allocatable(driver: str, key: str) -> None:
    """Under a name in which the tail of a long driver is hashed."""
    assert csi_limit_key(driver).startswith(key)
    assert len(csi_limit_key(driver)) == (len(key) if len(driver) < 40 else 62)
    node = make_node("a", allocatable=resources(**{csi_limit_key(driver): 0}))
    cluster = Cluster([node], [], [make_claim("c", "pv"), make_volume("pv", CSI(driver, "h"))])
    assert refused(OLD, cluster, claiming("c")) == {TEXT: ["a"]}
    assert refused(NEW, cluster, claiming("c")) == {}


def test_in_tree_volumes_of_1_20_count_where_they_are_handed_over() -> None:
    """That takes two gates and the node's word."""
    csi_nodes = [csi_node("a", EBS, 0, "kubernetes.io/aws-ebs"), csi_node("b", EBS, 0)]
    cluster = Cluster([make_node("a"), make_node("b")], [], [*STORAGE, *csi_nodes])
    gated = node_volume_limits_1_20(None, gates(CSIMigration=True, CSIMigrationAWS=True))
    half = node_volume_limits_1_20(None, gates(CSIMigration=False, CSIMigrationAWS=True))
    for pod in (claiming("c2"), claiming("in-tree")):
        assert refused(OLD, cluster, pod) == refused(half, cluster, pod) == {}
        assert refused(gated, cluster, pod) == {TEXT: ["a"]}
        assert refused(NEW, cluster, pod) == {TEXT: ["a", "b"]}
    assert refused(gated, cluster, claiming("c0")) == {TEXT: ["a", "b"]}


@pytest.mark.parametrize(
    ("pod", "old", "new"),
    [
        pytest.param(make_pod(), False, False, id="no-volumes"),
        pytest.param(make_pod(volumes=(CSI("d.io"),)), False, False, id="inline-csi"),
        pytest.param(make_pod(volumes=(AWSElasticBlockStore("v"),)), False, True, id="inline-in-tree"),
        pytest.param(make_pod(volumes=(ClaimVolume("c"),)), True, True, id="claim"),
        pytest.param(make_pod(volumes=(EphemeralVolume("v"),)), False, True, id="ephemeral"),
    ],
)
def test_pods_that_are_skipped(pod: Pod, old: bool, new: bool) -> None:
    """They have no volumes that could count."""
    info = Cluster(view=v1_36.VIEW).info(pod)
    assert (check_of(OLD).applies(info), check_of(NEW).applies(info)) == (old, new)
    assert OLD.points == {Point.FILTER}
    assert NEW.points == {Point.PRE_FILTER, Point.FILTER}


def test_gate_volume_limit_scaling() -> None:
    """A driver that has to be installed is looked for."""
    driver = CSIDriver(ObjectMeta(EBS), prevent_pod_scheduling_if_missing=True)
    cluster = Cluster([make_node("a")], [], [*STORAGE, driver])
    scaling = node_volume_limits_1_36(None, gates(VolumeLimitScaling=True))
    assert refused(NEW, cluster, claiming("c0")) == {}
    assert refused(scaling, cluster, claiming("c0")) == {f"{EBS} CSI driver is not installed on the node": ["a"]}
