"""In-tree volumes as their CSI drivers know them."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    CSINode,
    GCEPersistentDisk,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    PortworxVolume,
    Requirement,
)
from clusterstate.volumes.csi_migration import (
    MIGRATED_ANNOTATION,
    TranslationError,
    migrated_groups,
    migrated_mask,
    migrating_plugins,
    plugin_of,
    translated_affinity,
    translated_source,
)
from tests.support.build import Cluster, labels, make_node, names_where
from tests.support.storage import make_volume

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS_TEXT = "failed to translate Kubernetes ID to EBS Volume ID invalid format for AWS volume"
GCE = "projects/UNSPECIFIED"


def source_of(volume: PersistentVolume) -> CSI:
    plugin = plugin_of(volume.source)
    assert plugin is not None
    return translated_source(volume, plugin)


VOLUME_BECOMES: dict[str, Any] = {
    "ebs": (AWSElasticBlockStore("vol-1"), {}, "ebs.csi.aws.com", "vol-1"),
    "ebs-any-id": (AWSElasticBlockStore("anything"), {}, "ebs.csi.aws.com", "anything"),
    "ebs-with-zone": (AWSElasticBlockStore("aws://eu-1a/vol-1"), {}, "ebs.csi.aws.com", "vol-1"),
    "ebs-with-empty-zone": (AWSElasticBlockStore("aws:///vol-1"), {}, "ebs.csi.aws.com", "vol-1"),
    "gce": (GCEPersistentDisk("d"), {}, "pd.csi.storage.gke.io", f"{GCE}/zones/UNSPECIFIED/disks/d"),
    "zone": (GCEPersistentDisk("d"), {ZONE: "eu-1-a"}, "pd.csi.storage.gke.io", f"{GCE}/zones/eu-1-a/disks/d"),
    "zones": (
        GCEPersistentDisk("d"),
        {BETA_ZONE: "eu-1-a__eu-1-b", ZONE: ""},
        "pd.csi.storage.gke.io",
        f"{GCE}/regions/eu-1/disks/d",
    ),
    "azure": (AzureDisk("d", "/disks/d"), {}, "disk.csi.azure.com", "/disks/d"),
    "cinder": (Cinder("c"), {}, "cinder.csi.openstack.org", "c"),
    "portworx": (PortworxVolume("p"), {}, "pxd.portworx.com", "p"),
}


@pytest.mark.parametrize(("source", "label", "driver", "handle"), VOLUME_BECOMES.values(), ids=VOLUME_BECOMES)
def test_a_volume_becomes_one_of_its_driver(source: Any, label: dict[str, str], driver: str, handle: str) -> None:
    """With the driver's own way to name volumes."""
    assert source_of(make_volume("v", source, label=label)) == CSI(driver, handle)


TRANSLATED: dict[str, Any] = {
    "ebs": (AWSElasticBlockStore("aws://z/disk-1"), {}, f"{EBS_TEXT} (aws://z/disk-1)"),
    "ebs-path": (AWSElasticBlockStore("aws://z/vol-1/x"), {}, f"{EBS_TEXT} (aws://z/vol-1/x)"),
    "zone-format": (
        GCEPersistentDisk("d"),
        {ZONE: "eu-1a__eu-1b"},
        "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: eu-1a",
    ),
    "two-regions": (
        GCEPersistentDisk("d"),
        {ZONE: "eu-1-a__us-2-b"},
        "failed to get region from zones: multiple or no regions gotten from zones, got: map[eu-1:{} us-2:{}]",
    ),
}


@pytest.mark.parametrize(("source", "label", "text"), TRANSLATED.values(), ids=TRANSLATED)
def test_what_cannot_be_translated(source: Any, label: dict[str, str], text: str) -> None:
    """The text says why."""
    with pytest.raises(TranslationError) as caught:
        source_of(make_volume("v", source, label=label))
    assert str(caught.value) == text


def test_an_id_that_is_no_address_cannot_be_translated() -> None:
    """Whatever is wrong with it."""
    with pytest.raises(TranslationError, match="invalid disk name"):
        source_of(make_volume("v", AWSElasticBlockStore("aws://[vol-1")))


def test_other_volumes_have_no_plugin() -> None:
    """They are what they are."""
    assert plugin_of(CSI("d", "h")) is None
    assert plugin_of(None) is None


def term(*pairs: tuple[str, str]) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(Requirement(key, "In", (value,)) for key, value in pairs))


NODE_AFFINITY: dict[str, Any] = {
    "nothing": (None, {}, None),
    "key-replaced": ((term((ZONE, "a")),), {}, (term((EBS_ZONE, "a")),)),
    "affinity-before-labels": ((term((ZONE, "a")),), {ZONE: "b"}, (term((EBS_ZONE, "a")),)),
    "beta": ((term((BETA_ZONE, "a"), (BETA_REGION, "r")),), {}, (term((EBS_ZONE, "a"), (REGION, "r")),)),
    "the-later-name-first": (
        (term((ZONE, "a")), term((BETA_ZONE, "b"))),
        {},
        (term((EBS_ZONE, "a")), term((BETA_ZONE, "b"))),
    ),
    "term-created": (None, {ZONE: "a"}, (term((EBS_ZONE, "a")),)),
    "several-zones": (None, {BETA_ZONE: "b__ a__"}, (NodeSelectorTerm((Requirement(EBS_ZONE, "In", ("a", "b")),)),)),
    "no-zone-in-the-label": (None, {ZONE: "__"}, None),
    "every-term": (
        (term(("host", "x")), term(("host", "y"))),
        {ZONE: "a"},
        (term(("host", "x"), (EBS_ZONE, "a")), term(("host", "y"), (EBS_ZONE, "a"))),
    ),
    "region-alone": ((term((REGION, "r")),), {}, (term((REGION, "r")),)),
}


@pytest.mark.parametrize(("terms", "label", "expected"), NODE_AFFINITY.values(), ids=NODE_AFFINITY)
def test_node_affinity_uses_the_label_of_the_driver(
    terms: tuple[NodeSelectorTerm, ...] | None, label: dict[str, str], expected: Any
) -> None:
    """Of the affinity itself, or else of the volume's own labels."""
    volume = make_volume("v", label=label, node_affinity=terms)
    plugin = plugin_of(volume.source)
    assert plugin is not None
    assert translated_affinity(volume, plugin) == expected


def test_node_affinity_stays_where_the_driver_has_no_label() -> None:
    """As for Azure disks."""
    volume = make_volume("v", AzureDisk("d"), label={ZONE: "a"}, node_affinity=(term((ZONE, "a")),))
    plugin = plugin_of(volume.source)
    assert plugin is not None
    assert translated_affinity(volume, plugin) == volume.node_affinity


def migrated(name: str, plugins: str) -> CSINode:
    return CSINode(ObjectMeta(name, annotations=labels({MIGRATED_ANNOTATION: plugins} if plugins else {})))


EBS, CINDER = "kubernetes.io/aws-ebs", "kubernetes.io/cinder"


def test_nodes_say_what_they_have_handed_over() -> None:
    """In an annotation of their CSINode; groups part the nodes by it."""
    nodes = [make_node(name) for name in "abcd"]
    csi_nodes = [migrated("a", EBS), migrated("b", f"{EBS},{CINDER}"), migrated("c", ""), migrated("gone", EBS)]
    snapshot = Cluster(nodes, [], csi_nodes).snapshot
    assert names_where(snapshot, migrated_mask(snapshot, EBS)) == ["a", "b"]
    assert names_where(snapshot, migrated_mask(snapshot, "other")) == []
    groups = {names: names_where(snapshot, rows) for names, rows in migrated_groups(snapshot, {EBS, CINDER})}
    assert groups == {frozenset({EBS}): ["a"], frozenset({EBS, CINDER}): ["b"], frozenset(): ["c", "d"]}
    assert len(migrated_groups(snapshot, ())) == 1


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param([], set(), id="none"),
        pytest.param(["CSIMigrationAWS"], set(), id="without-the-main-gate"),
        pytest.param(["CSIMigration"], set(), id="the-main-gate-alone"),
        pytest.param(["CSIMigration", "CSIMigrationAWS", "CSIMigrationOpenStack"], {EBS, CINDER}, id="both"),
    ],
)
def test_migrating_plugins(gates: list[str], expected: set[str]) -> None:
    """A plugin is handed over with its own gate and CSIMigration."""
    assert migrating_plugins(dict.fromkeys(gates, True)) == expected
