"""NoVolumeZoneConflict."""

from __future__ import annotations

import pytest

from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import label_zones
from predicates.volume_zone import RULE_1_16, ZONE_CONFLICT, volume_zone_1_27, volume_zone_1_36
from tests.support.build import Cluster, make_node
from tests.support.storage import IMMEDIATE, REGION, ZONE, by_text, claiming, make_claim, make_class, make_volume

NODES = [
    make_node("east-1", {ZONE: "e1", REGION: "east"}),
    make_node("east-2", {ZONE: "e2", REGION: "east"}),
    make_node("zone-only", {ZONE: "e1"}),
    make_node("nowhere", {"topology.kubernetes.io/zone": "e1"}),
]
ZONED = ["east-1", "east-2", "zone-only"]


def volume_in(name: str, **where: str) -> list[object]:
    """A claim and the volume of the same name, with these zone and region labels."""
    keys = {"zone": ZONE, "region": REGION}
    return [make_claim(name, name), make_volume(name, label={keys[k]: v for k, v in where.items()})]


STORAGE = [
    *volume_in("e1", zone="e1"),
    *volume_in("both", zone="e1__e2"),
    *volume_in("spaced", zone=" e2 __ e9"),
    *volume_in("bad", zone="e9__"),
    *volume_in("empty", zone=""),
    *volume_in("east", region="east"),
    *volume_in("e2-west", zone="e2", region="west"),
    *volume_in("free"),
    make_claim("waiting", storage_class="wait"),
    make_claim("late", storage_class="now"),
    make_claim("odd", storage_class="odd"),
    make_claim("classless"),
    make_claim("lost", "gone"),
    make_class("wait"),
    make_class("now", mode=IMMEDIATE),
    make_class("odd", mode=None),
]


def failing(pod: Pod, snapshot: Snapshot | None = None) -> dict[str, list[str]]:
    cluster = Cluster(NODES, [], STORAGE)
    snapshot = cluster.snapshot if snapshot is None else snapshot
    return by_text(snapshot, RULE_1_16.check(cluster.info(pod), snapshot))


@pytest.mark.parametrize(
    ("claims", "conflict"),
    [
        pytest.param([], [], id="no-claims"),
        pytest.param(["free"], [], id="volume-without-labels"),
        pytest.param(["e1"], ["east-2"], id="zone"),
        pytest.param(["both"], [], id="several-zones"),
        pytest.param(["spaced"], ["east-1", "zone-only"], id="zones-are-trimmed"),
        pytest.param(["bad"], [], id="an-empty-zone-makes-the-label-ignored"),
        pytest.param(["empty"], [], id="an-empty-label-is-ignored"),
        pytest.param(["east"], ["zone-only"], id="a-node-without-the-key-conflicts"),
        pytest.param(["e2-west"], ZONED, id="both-keys-have-to-agree"),
        pytest.param(["e1", "spaced"], ZONED, id="every-claim-counts"),
        pytest.param(["waiting", "e1"], ["east-2"], id="waiting-claims-are-passed-over"),
    ],
)
def test_zones(claims: list[str], conflict: list[str]) -> None:
    """Zone and region labels of the volumes hold for the node; a node with neither label passes."""
    assert failing(claiming(*claims)) == ({ZONE_CONFLICT: conflict} if conflict else {})


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        pytest.param("", "PersistentVolumeClaim had no name", id="no-name"),
        pytest.param("missing", 'persistentvolumeclaim "missing" not found', id="claim-missing"),
        pytest.param("late", 'PersistentVolumeClaim was not found: "late"', id="unbound-immediate"),
        pytest.param("classless", 'PersistentVolumeClaim was not found: "classless"', id="unbound-without-class"),
        pytest.param("odd", 'VolumeBindingMode not set for StorageClass "odd"', id="class-without-mode"),
        pytest.param("lost", 'persistentvolume "gone" not found', id="volume-missing"),
    ],
)
def test_errors(claim: str, text: str) -> None:
    """Only nodes with zone labels that met no conflict before see an error."""
    assert failing(claiming(claim)) == {f"error: {text}": ZONED}
    assert failing(claiming("e1", claim)) == {ZONE_CONFLICT: ["east-2"], f"error: {text}": ["east-1", "zone-only"]}


@pytest.mark.parametrize(
    ("value", "zones"),
    [("a", {"a"}), ("a__b", {"a", "b"}), (" a ", {"a"}), ("", set()), ("a__", set()), ("a_b", {"a_b"})],
)
def test_zones_of_a_label(value: str, zones: set[str]) -> None:
    """Zones are separated by two underscores; one that is empty spoils them all."""
    assert label_zones(value) == zones


@pytest.mark.parametrize(("rule", "fits"), [(volume_zone_1_27, ["beta"]), (volume_zone_1_36, ["beta", "later"])])
def test_beta_labels_are_met_by_later_ones_since_1_29(rule: object, fits: list[str]) -> None:
    """A node that has the zone under the later name alone."""
    nodes = [make_node("beta", {ZONE: "x"}), make_node("later", {"topology.kubernetes.io/zone": "x"})]
    cluster = Cluster(nodes, (), [make_claim("c", volume="v"), make_volume("v", label={ZONE: "x"})])
    assert callable(rule)
    verdict = rule(cluster.info(claiming("c")), cluster.snapshot)
    failed = [node.name for node, bad in zip(nodes, verdict[ZONE_CONFLICT].tolist(), strict=True) if bad]
    assert [node.name for node in nodes if node.name not in failed] == fits
