"""NodeVolumeLimits, and the limits of disks of a type; how volumes are counted is tested with the rules."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimVolume,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    EphemeralVolume,
    FrozenMap,
    GCEPersistentDisk,
    Node,
    ObjectMeta,
    Pod,
    VolumeSource,
)
from clusterstate.volumes.claims import csi_limit_key
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import volume_limits
from kubescheduler.framework.plugins.volume_limits import (
    AZURE_DISK_LIMITS_1_20,
    CINDER_LIMITS_1_20,
    EBS_LIMITS_1_20,
    GCE_PD_LIMITS_1_20,
    node_volume_limits_1_20,
    node_volume_limits_1_36,
)
from kubescheduler.releases import v1_20, v1_36
from predicates.types import NodeError
from tests.support.build import Cluster, labels, make_node, make_pod, resources
from tests.support.custom.extender_asking import HANDLE, check_of, refused
from tests.support.storage import by_text, claiming, make_claim, make_class, make_volume

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


OLD_TYPE, TYPE = "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"


def handle(max_pd_volumes: int | None = None, **gates: bool) -> Any:
    return SimpleNamespace(feature_gates=gates, max_pd_volumes=max_pd_volumes)


def plugin(make: Any, of: Any = None) -> ColumnPlugin:
    made = make(None, of or handle())
    assert isinstance(made, ColumnPlugin)
    return made


def fits(made: ColumnPlugin, node: Node, disks: Sequence[VolumeSource], *others: Any) -> bool:
    """Whether a pod with these disks fits an empty node."""
    return refused(made, Cluster([node], [], others), make_pod(volumes=tuple(disks))) == {}


@pytest.mark.parametrize(
    ("make", "name", "disk", "most"),
    [
        pytest.param(EBS_LIMITS_1_20.make, "EBSLimits", AWSElasticBlockStore, 39, id="ebs"),
        pytest.param(GCE_PD_LIMITS_1_20.make, "GCEPDLimits", GCEPersistentDisk, 16, id="gce"),
        pytest.param(AZURE_DISK_LIMITS_1_20.make, "AzureDiskLimits", AzureDisk, 16, id="azure"),
        pytest.param(CINDER_LIMITS_1_20.make, "CinderLimits", Cinder, 256, id="cinder"),
    ],
)
def test_defaults(make: Any, name: str, disk: Any, most: int) -> None:
    """So many disks fit, and not one more."""
    made = plugin(make)
    assert made.name == name
    assert made.points == {Point.FILTER}
    assert not check_of(made).unresolvable(TEXT)
    assert fits(made, make_node("a"), [disk(str(i)) for i in range(most)])
    assert not fits(made, make_node("a"), [disk(str(i)) for i in range(most + 1)])


@pytest.mark.parametrize(
    ("label", "most"),
    [
        pytest.param({}, 39, id="no-type"),
        pytest.param({OLD_TYPE: "m5.large"}, 25, id="nitro"),
        pytest.param({TYPE: "c5d.large"}, 25, id="nitro-by-the-later-name"),
        pytest.param({TYPE: "x.t3"}, 25, id="t3-anywhere"),
        pytest.param({TYPE: "m4.large"}, 39, id="other-type"),
        pytest.param({OLD_TYPE: "m4.large", TYPE: "m5.large"}, 39, id="the-older-name-first"),
    ],
)
def test_instance_types(label: dict[str, str], most: int) -> None:
    """Some attach fewer EBS disks."""
    node, disks = make_node("a", label), [AWSElasticBlockStore(str(i)) for i in range(most + 1)]
    assert fits(plugin(EBS_LIMITS_1_20.make), node, disks[:-1])
    assert not fits(plugin(EBS_LIMITS_1_20.make), node, disks)


def test_environment_and_allocatable() -> None:
    """The environment replaces the default, what the node allows replaces everything."""
    disks = [AWSElasticBlockStore(str(i)) for i in range(3)]
    made = plugin(EBS_LIMITS_1_20.make, handle(2))
    assert not fits(made, make_node("a", {TYPE: "m5"}), disks)
    allowing = make_node("a", allocatable=resources(**{"attachable-volumes-aws-ebs": 3}))
    assert fits(made, allowing, disks)


def test_claims() -> None:
    """A claim of the plugin's class counts as a disk of its own; one without a name is an error."""
    node = make_node("a", allocatable=resources(**{"attachable-volumes-aws-ebs": 0}))
    others = [make_claim("c", storage_class="ebs"), make_class("ebs"), make_claim("d")]
    cluster, made = Cluster([node], [], others), plugin(EBS_LIMITS_1_20.make)
    assert refused(made, cluster, claiming("c")) == {TEXT: ["a"]}
    assert refused(made, cluster, claiming("d", "none")) == {}
    found = by_text(cluster.snapshot, check_of(made).check(cluster.info(claiming("c", "")), cluster.snapshot))
    assert found == {"error: PersistentVolumeClaim had no name": ["a"]}
    assert not check_of(made).applies(cluster.info(make_pod(volumes=(GCEPersistentDisk("d"),))))


def test_nodes_that_handed_the_plugin_over_pass() -> None:
    """With the gates on; a claim without a name is an error all the same."""
    ebs = "kubernetes.io/aws-ebs"
    csi_node = CSINode(ObjectMeta("a", annotations=labels({MIGRATED_ANNOTATION: ebs})))
    nodes = [make_node(n, allocatable=resources(**{"attachable-volumes-aws-ebs": 0})) for n in "ab"]
    cluster = Cluster(nodes, [], [csi_node])
    pod = make_pod(volumes=(AWSElasticBlockStore("v"),))
    gated = plugin(EBS_LIMITS_1_20.make, handle(CSIMigration=True, CSIMigrationAWS=True))
    assert refused(plugin(EBS_LIMITS_1_20.make), cluster, pod) == {TEXT: ["a", "b"]}
    assert refused(gated, cluster, pod) == {TEXT: ["b"]}
    assert refused(gated, cluster, claiming("")) == {"PersistentVolumeClaim had no name": ["a", "b"]}


@pytest.mark.parametrize(
    ("records", "counted"),
    [
        (volume_limits.NON_CSI_LIMITS_1_24, ["bare", "csi"]),
        (volume_limits.NON_CSI_LIMITS_1_26, ["bare", "csi"]),
        (volume_limits.NON_CSI_LIMITS_1_27, ["bare"]),
        (volume_limits.NON_CSI_LIMITS_1_28, ["bare"]),
        (volume_limits.NON_CSI_LIMITS_1_30, ["bare"]),
    ],
)
def test_between_1_24_and_1_30(records: Any, counted: list[str]) -> None:
    """Nodes with a CSINode count no EBS disks since 1.27; a missing claim is a reason since 1.30."""
    nodes = [make_node(name, allocatable=FrozenMap({"attachable-volumes-aws-ebs": 0})) for name in ("bare", "csi")]
    cluster = Cluster(nodes, [], [CSINode(ObjectMeta("csi"))], v1_20.VIEW)
    handle: Any = SimpleNamespace(feature_gates={}, max_pd_volumes=None)
    check = records[0].make(None, handle).check
    verdict = check.check(cluster.info(make_pod(volumes=(AWSElasticBlockStore("vol-1"),))), cluster.snapshot)
    (mask,) = [mask for mask in verdict.values() if mask.any()]
    assert [node.name for node, bad in zip(nodes, mask.tolist(), strict=True) if bad] == counted
    (reason,) = check.check(cluster.info(make_pod(volumes=(ClaimVolume("c"),))), cluster.snapshot)
    assert reason == 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert isinstance(reason, NodeError) is (records is not volume_limits.NON_CSI_LIMITS_1_30)
