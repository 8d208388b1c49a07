"""How many volumes of a CSI driver a node attaches: MaxCSIVolumeCountPred, and NodeVolumeLimits of 1.36."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    EphemeralVolume,
    FrozenMap,
    GCEPersistentDisk,
    Node,
    ObjectMeta,
    Pod,
    PortworxVolume,
    VolumeAttachment,
)
from clusterstate.snapshot import PodChange, Snapshot
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from kubescheduler.releases import v1_36
from predicates.csi_volumes import (
    CSI_VOLUMES,
    LIMITS_1_25,
    LIMITS_1_26,
    LIMITS_1_27,
    LIMITS_1_28,
    LIMITS_1_30,
    TOO_MANY_VOLUMES,
    LimitRules,
    csi_limits_1_36,
    csi_limits_before_1_36,
    csi_limits_with_scaling,
)
from predicates.types import FitPredicate, NodeError, PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.storage import by_text, claiming, limits, make_claim, make_class, make_volume, owned_claim

NO_NAME = "error: PersistentVolumeClaim had no name"
FULL = {TOO_MANY_VOLUMES: ["a"]}
STORAGE = [
    *(make_claim(f"c{i}", f"pv{i}") for i in range(4)),
    *(make_volume(f"pv{i}", CSI("d.io", f"h{i}")) for i in range(4)),
    make_claim("other", "pv-other"),
    make_volume("pv-other", CSI("e.io", "h")),
    make_claim("waiting", storage_class="csi"),
    make_class("csi", "d.io"),
]


def node_for(name: str, disks: int) -> Node:
    return make_node(name, allocatable=resources(**{"attachable-volumes-csi-d.io": disks}))


def rule() -> FitPredicate:
    return CSI_VOLUMES["MaxCSIVolumeCountPred"](PredicateArgs())


def failing(
    cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None, predicate: FitPredicate | None = None
) -> dict[str, list[str]]:
    snapshot = cluster.snapshot if snapshot is None else snapshot
    return by_text(snapshot, (predicate or rule()).check(cluster.info(pod), snapshot))


@pytest.mark.parametrize(
    ("count", "pod", "expected"),
    [
        pytest.param(3, claiming("c2"), {}, id="just-fits"),
        pytest.param(2, claiming("c2"), FULL, id="one-too-many"),
        pytest.param(1, claiming("c0", "c1"), {}, id="over-the-limit-but-nothing-new"),
        pytest.param(3, claiming("c0", "c2", "c3"), FULL, id="some-there-already"),
        pytest.param(2, claiming("waiting"), FULL, id="unbound-claim-of-the-driver"),
        pytest.param(0, claiming("other"), {}, id="driver-without-limit"),
        pytest.param(0, claiming("missing"), {}, id="missing-claim-is-ignored"),
        pytest.param(0, make_pod(volumes=(CSI("d.io", "x"),)), {}, id="inline-volumes-do-not-count"),
        pytest.param(0, claiming("other", "c2"), FULL, id="each-driver-on-its-own"),
        pytest.param(9, claiming("c0", ""), {NO_NAME: ["a"]}, id="claim-without-name"),
    ],
)
@pytest.mark.parametrize("where", ["allocatable", "csi-node"])
def test_too_many_volumes(where: str, count: int, pod: Pod, expected: dict[str, list[str]]) -> None:
    """New volumes of a driver stay within its limit; the limit may come from either object."""
    node, csi_node = (
        (node_for("a", count), []) if where == "allocatable" else (make_node("a"), [limits("a", ("d.io", count))])
    )
    cluster = Cluster([node], [claiming("c0", "c1", name="old", node="a")], STORAGE + csi_node)
    assert failing(cluster, pod) == expected


@pytest.mark.parametrize(
    ("node", "csi_node", "full"),
    [
        pytest.param(node_for("a", 0), limits("a", ("d.io", 1)), False, id="csi-node-wins"),
        pytest.param(node_for("a", 1), limits("a", ("d.io", 0)), True, id="also-with-0"),
        pytest.param(node_for("a", 0), limits("a", ("d.io", None)), True, id="no-count"),
        pytest.param(node_for("a", 0), limits("b", ("d.io", 1)), True, id="of-another-node"),
        pytest.param(make_node("a"), limits("a", ("e.io", 0)), False, id="no-limit"),
    ],
)
def test_limits(node: Node, csi_node: CSINode, full: bool) -> None:
    """A count of the CSINode replaces the node's allocatable."""
    cluster = Cluster([node], [], [*STORAGE, csi_node])
    assert failing(cluster, claiming("c0")) == (FULL if full else {})


def test_a_running_pod_with_a_nameless_claim_is_an_error() -> None:
    """Only on nodes that limit anything, for pods with CSI volumes."""
    nodes = [
        make_node("a"),
        node_for("b", 1),
        make_node("c"),
        make_node("d", allocatable=resources(**{"attachable-volumes-x": 1})),
    ]
    pods = [claiming("", name=f"old-{n}", node=n) for n in "abcd"]
    cluster = Cluster(nodes, pods, [*STORAGE, limits("c", ("e.io", 1))])
    assert failing(cluster, claiming("c0")) == {NO_NAME: ["b", "c", "d"]}
    assert failing(cluster, claiming("missing")) == {}


def test_it_follows_csi_nodes_and_nodes() -> None:
    """Limits are read again when CSINodes or nodes change, and another cluster has its own."""
    predicate = rule()
    cluster = Cluster([make_node("a")], [], STORAGE)
    change: Any = limits("a", ("d.io", 0))
    assert failing(cluster, claiming("c0"), predicate=predicate) == {}
    cluster.columns.log.whole(cluster.objects.put(change))
    assert failing(cluster, claiming("c0"), predicate=predicate) == FULL
    assert failing(Cluster([make_node("a")], [], STORAGE), claiming("c0"), predicate=predicate) == {}
    cluster.columns.log.whole(cluster.objects.put(limits("b", ("d.io", 0))))
    cluster.columns.put_node(cluster.columns.row("b"), make_node("b"))
    assert failing(cluster, claiming("c0"), predicate=predicate) == {TOO_MANY_VOLUMES: ["a", "b"]}


EBS = "ebs.csi.aws.com"
DISKS = [
    *STORAGE,
    make_claim("disk", "pv-disk"),
    make_volume("pv-disk", AWSElasticBlockStore("aws://z/vol-1")),
    make_claim("bad", "pv-bad"),
    make_volume("pv-bad", AWSElasticBlockStore("aws://z/x")),
    make_claim("old", storage_class="in-tree"),
    make_claim("file", storage_class="file"),
    make_claim("classless"),
    make_claim("lost", "gone", storage_class="csi"),
    make_class("in-tree", "kubernetes.io/aws-ebs"),
    make_class("file", "kubernetes.io/azure-file"),
]


def world(pods: list[Pod], *others: Any) -> Cluster:
    return Cluster([make_node("a"), make_node("b")], pods, [*DISKS, *others], v1_36.VIEW)


def refusing(
    cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None, *, scaling: bool = False
) -> dict[str, list[str]]:
    snapshot = cluster.snapshot if snapshot is None else snapshot
    rule = csi_limits_with_scaling if scaling else csi_limits_1_36
    return by_text(snapshot, rule(cluster.info(pod), snapshot))


def mounting(*volumes: Any, **fields: Any) -> Pod:
    return make_pod(volumes=volumes, **fields)


@pytest.mark.parametrize(
    ("counts", "pod", "expected"),
    [
        pytest.param({"d.io": 3}, claiming("c2"), {}, id="just-fits"),
        pytest.param({"d.io": 2}, claiming("c2"), FULL, id="one-too-many"),
        pytest.param({"d.io": 1}, claiming("c0", "c1"), {}, id="over-the-limit-but-nothing-new"),
        pytest.param({"d.io": 3}, claiming("c0", "c2", "c3"), FULL, id="some-there-already"),
        pytest.param({"d.io": 2}, claiming("waiting"), FULL, id="unbound-claim-of-the-driver"),
        pytest.param({"d.io": 2}, claiming("lost"), FULL, id="volume-missing"),
        pytest.param({"d.io": 0}, claiming("classless"), {}, id="no-class"),
        pytest.param({"d.io": 0, "e.io": None}, claiming("other"), {}, id="driver-without-limit"),
        pytest.param({EBS: 0}, claiming("disk"), FULL, id="in-tree-volume"),
        pytest.param({EBS: 0}, claiming("old"), FULL, id="in-tree-class"),
        pytest.param({EBS: 0}, claiming("bad"), {}, id="in-tree-volume-that-cannot-be-translated"),
        pytest.param({"kubernetes.io/azure-file": 0}, claiming("file"), {}, id="in-tree-class-of-no-plugin"),
        pytest.param({EBS: 0}, mounting(AWSElasticBlockStore("vol-9")), FULL, id="inline"),
        pytest.param({"pd.csi.storage.gke.io": 0}, mounting(GCEPersistentDisk("d")), FULL, id="inline-gce"),
        pytest.param({"disk.csi.azure.com": 0}, mounting(AzureDisk("d", "/d")), FULL, id="inline-azure"),
        pytest.param({"disk.csi.azure.com": 0}, mounting(AzureDisk("d")), {}, id="inline-azure-without-uri"),
        pytest.param({"pxd.portworx.com": 0}, mounting(PortworxVolume("p")), FULL, id="inline-portworx"),
        pytest.param({"d.io": 0}, mounting(CSI("d.io", "x")), {}, id="inline-csi-volumes-do-not-count"),
    ],
)
def test_volumes_are_counted_by_driver(counts: dict[str, int], pod: Pod, expected: dict[str, list[str]]) -> None:
    """Node a runs c0 twice and c1; node b has no CSINode and so no limit."""
    pods = [claiming("c0", name="x", node="a"), claiming("c0", "c1", name="y", node="a")]
    assert refusing(world(pods, limits("a", *counts.items())), pod) == expected


def missing(name: str) -> str:
    return f'looking up PVC default/{name}: persistentvolumeclaim "{name}" not found'


INLINE = (
    "error: converting volume(v) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
    "invalid format for AWS volume (aws://x)"
)


VOLUMES_COUNTED: dict[str, Any] = {
    "claim-missing": (claiming("none"), {missing("none"): ["a", "b"]}),
    "claim-without-name": (claiming("c0", "", "none"), {NO_NAME: ["a", "b"]}),
    "ephemeral-missing": (mounting(EphemeralVolume("v")), {missing("p-v"): ["a", "b"]}),
    "ephemeral-of-another": (
        make_pod("q", volumes=(EphemeralVolume("v"),)),
        {"error: PVC default/q-v was not created for pod default/q (pod is not owner)": ["a", "b"]},
    ),
    "ephemeral": (make_pod("own", volumes=(EphemeralVolume("v"),)), FULL),
    "inline": (mounting(AWSElasticBlockStore("aws://x", volume_name="v")), {INLINE: ["a"]}),
}


@pytest.mark.parametrize(("pod", "expected"), VOLUMES_COUNTED.values(), ids=VOLUMES_COUNTED)
def test_volumes_that_cannot_be_counted(pod: Pod, expected: dict[str, list[str]]) -> None:
    """Inline volumes matter only to nodes with a CSINode."""
    others = [
        owned_claim("q-v", "somebody", storage_class="csi"),
        owned_claim("own-v", "default/own", storage_class="csi"),
    ]
    assert refusing(world([], limits("a", ("d.io", 0)), *others), pod) == expected


RUNNING_PODS: dict[str, Any] = {
    "missing-claims-are-passed-over": (claiming("none", "c1", name="x", node="a"), {}),
    "claim-without-name": (claiming("", name="x", node="a"), {NO_NAME: ["a"]}),
    "inline": (make_pod("x", node="a", volumes=(AWSElasticBlockStore("aws://x", volume_name="v"),)), {INLINE: ["a"]}),
    "where-nothing-is-counted": (claiming("", name="x", node="b"), {}),
}


@pytest.mark.parametrize(("running", "expected"), RUNNING_PODS.values(), ids=RUNNING_PODS)
def test_running_pods_whose_volumes_cannot_be_counted(running: Pod, expected: dict[str, list[str]]) -> None:
    """They stop the attempt where volumes have to be counted, until they are hypothetically removed."""
    cluster = world([running], limits("a", ("d.io", 9)))
    assert refusing(cluster, claiming("c0")) == expected
    assert refusing(cluster, claiming("disk")) == expected
    row = cluster.snapshot.row_of(running.node_name)
    assert row is not None
    away = cluster.snapshot.what_if([PodChange(row, cluster.info(running), -1)])
    assert refusing(cluster, claiming("c0"), away) == {}
    back = away.what_if([PodChange(row, cluster.info(running), 1)])
    assert refusing(cluster, claiming("c0"), back) == expected


def test_errors_of_several_running_pods() -> None:
    """Each node tells its own, the same text on several nodes is one reason."""
    pods = [claiming("", name="x", node="a"), claiming("", "c0", name="y", node="b")]
    cluster = world(pods, limits("a", ("d.io", 9)), limits("b", ("d.io", 9)))
    assert refusing(cluster, claiming("c0")) == {NO_NAME: ["a", "b"]}


# --- attachments ---------------------------------------------------------------------------


def attached(name: str, volume: str, node: str = "a", attacher: str = "d.io") -> VolumeAttachment:
    return VolumeAttachment(ObjectMeta(name), attacher, node, volume)


@pytest.mark.parametrize(
    ("attachments", "expected"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([attached("x", "pv3")], FULL, id="nobody-uses-it"),
        pytest.param([attached("x", "pv0")], {}, id="a-pod-uses-it"),
        pytest.param([attached("x", "pv1")], FULL, id="new-and-attached-counts-twice"),
        pytest.param([attached("x", "pv3", "b")], {}, id="on-another-node"),
        pytest.param([attached("x", "pv3", "gone")], {}, id="on-no-node"),
        pytest.param([attached("x", "pv3", attacher="e.io")], {}, id="of-another-driver"),
        pytest.param([attached("x", "pv3", attacher="")], {}, id="without-attacher"),
        pytest.param([attached("x", "gone"), attached("y", "pv-disk"), attached("z", "")], {}, id="no-csi-volume"),
    ],
)
def test_attachments_count_where_no_pod_uses_them(
    attachments: list[VolumeAttachment], expected: dict[str, list[str]]
) -> None:
    """Node a allows two volumes and a pod there uses pv0."""
    cluster = world([claiming("c0", name="x", node="a")], limits("a", ("d.io", 2)), *attachments)
    assert refusing(cluster, claiming("c1")) == expected


def test_what_a_pod_leaves_behind() -> None:
    """Its volume stays attached when it is hypothetically removed."""
    pods = [claiming("c0", name="x", node="a"), claiming("c2", name="y", node="a")]
    cluster = world(pods, limits("a", ("d.io", 2)), attached("x", "pv0"))
    assert refusing(cluster, claiming("c1")) == FULL
    for pod, expected in zip(pods, (FULL, {}), strict=True):
        away = cluster.snapshot.what_if([PodChange(0, cluster.info(pod), -1)])
        assert refusing(cluster, claiming("c1"), away) == expected


# --- gate VolumeLimitScaling ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("prevents", "scaling", "expected"),
    [
        pytest.param(True, True, {"d.io CSI driver is not installed on the node": ["b"]}, id="missing"),
        pytest.param(False, True, {}, id="may-be-missing"),
        pytest.param(True, False, {}, id="gate-off"),
    ],
)
def test_a_driver_may_have_to_be_installed(prevents: bool, scaling: bool, expected: dict[str, list[str]]) -> None:
    """With the gate, and when the driver wants it."""
    driver = CSIDriver(ObjectMeta("d.io"), prevent_pod_scheduling_if_missing=prevents)
    cluster = world([], limits("a", ("d.io", None)), driver)
    assert refusing(cluster, claiming("c0", "other"), scaling=scaling) == expected


# --- laws ----------------------------------------------------------------------------------

CLAIMS = st.lists(st.sampled_from(["c0", "c1", "c2", "c3", "other", "disk", "waiting", "none"]), max_size=3).map(tuple)
PLACED = st.lists(st.tuples(CLAIMS, st.sampled_from("ab")), max_size=4)
ATTACHED = st.lists(st.tuples(st.sampled_from(["pv0", "pv1", "pv2", "pv3", "pv-other"]), st.sampled_from("ab")))
COUNTS = st.dictionaries(st.sampled_from(["d.io", "e.io", EBS]), st.integers(0, 4))
HANDLES = {f"c{i}": ("d.io", f"h{i}") for i in range(4)} | {
    "other": ("e.io", "h"),
    "disk": (EBS, "vol-1"),
    "waiting": ("d.io", "waiting"),
}
VOLUMES = {f"pv{i}": ("d.io", f"h{i}") for i in range(4)} | {"pv-other": ("e.io", "h")}


def too_many(claims: Any, node: str, placed: Any, held: Any, counts: dict[str, int]) -> bool:
    """The rule, node by node and volume by volume."""
    used = {HANDLES[c] for names, at in placed if at == node for c in names if c in HANDLES}
    left = {VOLUMES[v] for v, at in held if at == node} - used
    new = {HANDLES[c] for c in claims if c in HANDLES} - used
    return any(
        _of(driver, new) and _of(driver, used) + _of(driver, left) + _of(driver, new) > count
        for driver, count in counts.items()
    )


def _of(driver: str, volumes: set[tuple[str, str]]) -> int:
    return sum(name == driver for name, _ in volumes)


@given(claims=CLAIMS, placed=PLACED, held=ATTACHED, counts=COUNTS, moved=st.none() | CLAIMS)
def test_counting_one_by_one_gives_the_same(claims: Any, placed: Any, held: Any, counts: Any, moved: Any) -> None:
    """Also for one row, and with a pod that is only hypothetically on node a."""
    pods = [claiming(*names, name=f"x{i}", node=at) for i, (names, at) in enumerate(placed)]
    others = [attached(f"va{i}", volume, at, VOLUMES[volume][0]) for i, (volume, at) in enumerate(held)]
    cluster = world(pods, *(limits(name, *counts.items()) for name in "ab"), *others)
    snapshot, pod = cluster.snapshot, claiming(*claims)
    if moved is not None:
        snapshot = snapshot.what_if([PodChange(0, cluster.info(claiming(*moved, name="moved")), 1)])
        placed = [*placed, (moved, "a")]
    wanted = [] if "none" in claims else [n for n in "ab" if too_many(claims, n, placed, held, counts)]
    assert refusing(cluster, pod, snapshot).get(TOO_MANY_VOLUMES, []) == wanted
    only_b = refusing(cluster, pod, snapshot.take(np.array([1])))
    assert only_b.get(TOO_MANY_VOLUMES, []) == [n for n in wanted if n == "b"]


# --- between 1.25 and 1.31 -----------------------------------------------------------------

GCE, CINDER_DRIVER = "pd.csi.storage.gke.io", "cinder.csi.openstack.org"


def before(rules: LimitRules, cluster: Cluster, pod: Pod) -> dict[str, list[str]]:
    snapshot = cluster.snapshot
    return by_text(snapshot, csi_limits_before_1_36(rules, cluster.info(pod), snapshot))


def test_allocatable_counted_up_to_1_31() -> None:
    """The CSINode goes first; attachments do not count."""
    key = "attachable-volumes-csi-d.io"
    node = make_node("a", allocatable=FrozenMap({key: 1000}))
    for limit, claims, expected in ((None, ("c0", "c1"), FULL), (None, ("c0",), {}), (2, ("c0", "c1"), {})):
        cluster = Cluster([node], [], [*DISKS, limits("a", ("d.io", limit)), attached("x", "pv3")], v1_36.VIEW)
        assert before(LIMITS_1_30, cluster, claiming(*claims)) == expected


@pytest.mark.parametrize(
    ("rules", "annotated", "expected"),
    [
        (LIMITS_1_28, "", [EBS, GCE, CINDER_DRIVER]),
        (LIMITS_1_27, "", [EBS, CINDER_DRIVER]),
        (LIMITS_1_27, "kubernetes.io/gce-pd", [EBS, GCE, CINDER_DRIVER]),
        (LIMITS_1_26, "", [CINDER_DRIVER]),
        (LIMITS_1_26, "kubernetes.io/aws-ebs", [EBS, CINDER_DRIVER]),
        (LIMITS_1_25, "", []),
        (LIMITS_1_25, "kubernetes.io/cinder,kubernetes.io/gce-pd", [GCE, CINDER_DRIVER]),
    ],
)
def test_plugins_that_drivers_stand_in_for(rules: LimitRules, annotated: str, expected: list[str]) -> None:
    """Always, or where the CSINode says so; a node that may attach none of a driver's refuses its disks."""
    metadata = ObjectMeta("a", annotations=FrozenMap({MIGRATED_ANNOTATION: annotated}))
    disks = {EBS: AWSElasticBlockStore("vol-1"), GCE: GCEPersistentDisk("d"), CINDER_DRIVER: Cinder("c")}
    found = []
    for driver, disk in disks.items():
        csi_node = CSINode(metadata, (CSINodeDriver(driver, count=0),))
        if before(rules, Cluster([make_node("a")], [], [csi_node], v1_36.VIEW), mounting(disk)) == FULL:
            found.append(driver)
    assert found == expected


def test_a_missing_claim_was_an_error_up_to_1_29() -> None:
    """Later it is a reason."""
    cluster = world([])
    for rules, error in ((LIMITS_1_28, True), (LIMITS_1_30, False)):
        (reason,) = csi_limits_before_1_36(rules, cluster.info(claiming("none")), cluster.snapshot)
        assert isinstance(reason, NodeError) is error
        assert reason == missing("none")
