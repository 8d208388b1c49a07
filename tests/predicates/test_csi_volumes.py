"""MaxCSIVolumeCountPred."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import CSI, CSINode, Node, Pod
from clusterstate.snapshot import Snapshot
from predicates.csi_volumes import CSI_VOLUMES, TOO_MANY_VOLUMES
from predicates.types import FitPredicate, PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.storage import by_text, claiming, limits, make_claim, make_class, make_volume

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
