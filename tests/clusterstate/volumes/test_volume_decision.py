"""What is decided about claims on each node; see also tests/predicates for what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.objects import (
    ClaimReference,
    CSIDriver,
    CSIStorageCapacity,
    LabelSelector,
    ObjectMeta,
    PersistentVolume,
    Requirement,
)
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import BindingRules
from clusterstate.volumes.volume_decision import RULES_1_20, RULES_1_36, bindings_for, capacity_for
from tests.support.build import Cluster, labels, make_node, names_where
from tests.support.storage import BOUND, claiming, make_claim, make_class, make_volume, on_nodes

NODES = [make_node(n, {"host": n}) for n in "abc"]
SELECTED = "volume.kubernetes.io/selected-node"
LATE = make_class("late", "d.io")
DRIVER = CSIDriver(ObjectMeta("d.io"), storage_capacity=True)


def free(name: str, *hosts: str, **fields: Any) -> PersistentVolume:
    """An available volume of class ``late`` and 10 bytes on these hosts; without hosts anywhere."""
    fields = {"storage_class_name": "late", "phase": "Available", "storage": 10_000, **fields}
    return make_volume(name, node_affinity=on_nodes(*hosts) if hosts else None, **fields)


def room(name: str, size: int | None, *hosts: str, largest: int | None = None, of: str = "late") -> CSIStorageCapacity:
    """Bytes left for a class on some hosts."""
    selector = LabelSelector(match_expressions=(Requirement("host", "In", hosts),)) if hosts else LabelSelector()
    return CSIStorageCapacity(
        ObjectMeta(name, "kube-system"),
        of,
        selector,
        None if size is None else size * 1000,
        None if largest is None else largest * 1000,
    )


def decided(claims: tuple[str, ...], *others: Any, node: int = 0, rules: BindingRules = RULES_1_36) -> Any:
    """(claim → its volume, claims to provision) on a node."""
    cluster = Cluster(NODES, [], [LATE, *others])
    found = bindings_for(cluster.info(claiming(*claims)), cluster.snapshot, node, rules)
    bindings = {claim.metadata.name: volume.metadata.name for claim, volume in found.bindings}
    return bindings, [claim.metadata.name for claim in found.provisions]


def late(name: str, storage: int = 5, **fields: Any) -> Any:
    return make_claim(name, storage_class="late", storage=storage * 1000, **fields)


BINDING_POD: dict[str, Any] = {
    "no-claims": ((), [], ({}, [])),
    "bound": (("bound",), [make_claim("bound", "v", annotations=BOUND)], ({}, [])),
    "smallest": (("c",), [late("c"), free("v"), free("w", storage=7000)], ({"c": "w"}, [])),
    "provisioned": (("c",), [late("c"), free("v", "b")], ({}, ["c"])),
    "small-claims-first": (("big", "small"), [late("big", 8), late("small"), free("v")], ({"small": "v"}, ["big"])),
    "sent": (("c", "d"), [late("c"), late("d", annotations={SELECTED: "a"}), free("v")], ({"c": "v"}, ["d"])),
    "reserved": (
        ("c",),
        [late("c"), free("v", claim_ref=ClaimReference("default", "c", "uid-c"), phase="Bound"), free("w")],
        ({"c": "v"}, []),
    ),
}


@pytest.mark.parametrize(("claims", "others", "expected"), BINDING_POD.values(), ids=BINDING_POD)
def test_what_binding_a_pod_to_a_node_means(claims: tuple[str, ...], others: list[Any], expected: Any) -> None:
    """Volumes for the claims that some fit, provisions for the others."""
    assert decided(claims, *others) == expected


def test_attributes_classes_have_to_be_the_same_in_1_36() -> None:
    """1.20 does not know them."""
    others = [late("c", volume_attributes_class_name="fast"), free("v")]
    assert decided(("c",), *others) == ({}, ["c"])
    assert decided(("c",), *others, rules=RULES_1_20) == ({"c": "v"}, [])
    assert decided(("c",), others[0], free("v", volume_attributes_class_name="fast")) == ({"c": "v"}, [])


# --- capacity ------------------------------------------------------------------------------


def capacities(size: int, *others: Any) -> tuple[Snapshot, Any]:
    cluster = Cluster(NODES, [], [LATE, *others])
    claim = make_claim("c", storage_class="late", storage=size)
    return cluster.snapshot, capacity_for(claim, LATE, cluster.snapshot)


@pytest.mark.parametrize(
    ("size", "others"),
    [
        pytest.param(0, [DRIVER], id="nothing-requested"),
        pytest.param(5000, [], id="no-driver"),
        pytest.param(5000, [CSIDriver(ObjectMeta("d.io"))], id="driver-without-capacity"),
        pytest.param(5000, [CSIDriver(ObjectMeta("e.io"), storage_capacity=True)], id="another-driver"),
    ],
)
def test_nobody_keeps_account(size: int, others: list[Any]) -> None:
    """Then there is always room."""
    assert capacities(size, *others)[1] is None


ROOM_VOLUME: dict[str, Any] = {
    "nothing-said": ([], "", [-1, -1, -1]),
    "by-node": ([room("r", 10, "a"), room("s", 5, "b"), room("t", 4, "c")], "ab", [10, 5, -1]),
    "everywhere": ([room("r", 10)], "abc", [10, 10, 10]),
    "another-class": ([room("r", 10, of="other")], "", [-1, -1, -1]),
    "largest-volume-goes-first": ([room("r", 10, largest=4)], "", [-1, -1, -1]),
    "largest-volume-alone": ([room("r", None, largest=5)], "abc", [-1, -1, -1]),
    "no-limit-is-no-room": ([room("r", None)], "", [-1, -1, -1]),
    "the-first-that-will-do": ([room("r", 9, "a"), room("s", 7, "a", "b")], "ab", [9, 7, -1]),
    "no-topology": ([CSIStorageCapacity(ObjectMeta("r"), "late", None, 10_000)], "", [-1] * 3),
    "topology-that-cannot-be-read": (
        [
            CSIStorageCapacity(
                ObjectMeta("r"), "late", LabelSelector(match_expressions=(Requirement("host", "Bad"),)), 10_000
            )
        ],
        "",
        [-1] * 3,
    ),
    "sizes-are-rounded-up": (
        [CSIStorageCapacity(ObjectMeta("r"), "late", LabelSelector(labels({"host": "b"})), 4_001)],
        "b",
        [-1, 5, -1],
    ),
}


@pytest.mark.parametrize(("rooms", "nodes", "left"), ROOM_VOLUME.values(), ids=ROOM_VOLUME)
def test_room_for_a_volume(rooms: list[CSIStorageCapacity], nodes: str, left: list[int]) -> None:
    """Some object of the class has to have enough of it for the node."""
    snapshot, capacity = capacities(4_500, DRIVER, *rooms)
    assert "".join(names_where(snapshot, capacity[0])) == nodes
    assert np.where(capacity[0], capacity[1], -1).tolist() == left
