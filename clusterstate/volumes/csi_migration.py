"""In-tree volumes as their CSI drivers know them: drivers, handles and node affinity."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    CSINode,
    GCEPersistentDisk,
    Labels,
    NodeSelectorTerm,
    PersistentVolume,
    PortworxVolume,
    Requirement,
)
from clusterstate.snapshot import Snapshot

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE_SEPARATOR = "__"
MIGRATED_ANNOTATION = "storage.alpha.kubernetes.io/migrated-plugins"

UNSPECIFIED = "UNSPECIFIED"
"""Stands for the project of a GCE disk, and for a zone that is not known."""

UNREADABLE_EBS_ID = "failed to translate Kubernetes ID to EBS Volume ID"
_EBS_ID = re.compile(r"vol-[^/]*")

Terms = tuple[NodeSelectorTerm, ...]


class TranslationError(SchedulingError):
    """A volume that cannot be translated; the release's text."""


class MigratedPlugin(msgspec.Struct, frozen=True):
    """An in-tree plugin and the driver that takes its place."""

    name: str
    driver: str
    source: type[Any]
    handle: Callable[[Any, Labels], str]
    """The handle of a PersistentVolume with these labels. May raise TranslationError."""
    inline_handle: Callable[[Any], str]
    """The handle of a volume in a pod's spec. May raise TranslationError."""
    topology_key: str = ""
    """The driver's label for a zone, empty when node affinity stays as it is."""


# --- handles -------------------------------------------------------------------------------


def ebs_handle(volume_id: str) -> str:
    """``aws://<zone>/vol-1`` without the zone; any other id is as it is. Upstream: KubernetesVolumeIDToEBSVolumeID."""
    if not volume_id.startswith("aws://"):
        return volume_id
    try:
        handle = urlsplit(volume_id).path.strip("/")
    except ValueError as error:
        raise TranslationError(f"{UNREADABLE_EBS_ID} invalid disk name ({volume_id}): {error}") from error
    if not _EBS_ID.fullmatch(handle):
        raise TranslationError(f"{UNREADABLE_EBS_ID} invalid format for AWS volume ({volume_id})")
    return handle


def gce_handle(name: str, labels: Labels) -> str:
    """The place of a disk: its zone, or the region of its zones. Upstream: gcePersistentDiskCSITranslator."""
    zones = (labels.get(ZONE) or labels.get(BETA_ZONE) or "").split(ZONE_SEPARATOR)
    if len(zones) > 1:
        return f"projects/{UNSPECIFIED}/regions/{_region_of(zones)}/disks/{name}"
    return f"projects/{UNSPECIFIED}/zones/{zones[0] or UNSPECIFIED}/disks/{name}"


def _region_of(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        shown = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{shown}]"
        )
    return regions.pop()


# --- plugins -------------------------------------------------------------------------------

PLUGINS: dict[str, MigratedPlugin] = {
    plugin.name: plugin
    for plugin in (
        MigratedPlugin(
            "kubernetes.io/aws-ebs",
            "ebs.csi.aws.com",
            AWSElasticBlockStore,
            lambda source, _: ebs_handle(source.volume_id),
            lambda source: ebs_handle(source.volume_id),
            "topology.ebs.csi.aws.com/zone",
        ),
        MigratedPlugin(
            "kubernetes.io/gce-pd",
            "pd.csi.storage.gke.io",
            GCEPersistentDisk,
            lambda source, labels: gce_handle(source.pd_name, labels),
            lambda source: gce_handle(source.pd_name, Labels()),
            "topology.gke.io/zone",
        ),
        MigratedPlugin(
            "kubernetes.io/azure-disk",
            "disk.csi.azure.com",
            AzureDisk,
            lambda source, _: source.disk_uri,
            lambda source: source.disk_uri,
        ),
        MigratedPlugin(
            "kubernetes.io/cinder",
            "cinder.csi.openstack.org",
            Cinder,
            lambda source, _: source.volume_id,
            lambda source: source.volume_id,
            "topology.cinder.csi.openstack.org/zone",
        ),
        MigratedPlugin(
            "kubernetes.io/portworx-volume",
            "pxd.portworx.com",
            PortworxVolume,
            lambda source, _: source.volume_id,
            lambda source: source.volume_id,
        ),
    )
}
"""Name of an in-tree plugin → what takes its place, as far as scheduling can meet it."""

_BY_SOURCE: dict[type[Any], MigratedPlugin] = {plugin.source: plugin for plugin in PLUGINS.values()}

ALL_PLUGINS = frozenset(PLUGINS)
"""The plugins that are handed over in 1.36."""

MIGRATING_GATES: dict[str, str] = {
    "kubernetes.io/aws-ebs": "CSIMigrationAWS",
    "kubernetes.io/gce-pd": "CSIMigrationGCE",
    "kubernetes.io/azure-disk": "CSIMigrationAzureDisk",
    "kubernetes.io/cinder": "CSIMigrationOpenStack",
}
"""Plugin → the gate that hands it over from 1.16 to 1.24, besides CSIMigration."""


def migrating_plugins(gates: Mapping[str, bool]) -> frozenset[str]:
    """The plugins that nodes may hand over under these feature gates. Upstream: 1.16 isCSIMigrationOn."""
    plugins = frozenset(name for name, gate in MIGRATING_GATES.items() if gates.get(gate, False))
    return plugins if gates.get("CSIMigration", False) else frozenset()


def plugin_of(source: object) -> MigratedPlugin | None:
    """The plugin of an in-tree volume; None for any other."""
    return _BY_SOURCE.get(type(source))


# --- translation ---------------------------------------------------------------------------


def translated_source(volume: PersistentVolume, plugin: MigratedPlugin) -> CSI:
    """The CSI volume that an in-tree one becomes. Raises TranslationError."""
    return CSI(plugin.driver, plugin.handle(volume.source, volume.metadata.labels))


def translated_affinity(volume: PersistentVolume, plugin: MigratedPlugin) -> Terms | None:
    """The node affinity with the driver's own zone label. Raises TranslationError as ``translated_source`` does.

    A requirement on a zone label is put to the driver's label; without one the zones of the volume's own label are
    required in every term. Upstream: translateTopologyFromInTreeToCSI.
    """
    translated_source(volume, plugin)
    if not plugin.topology_key:
        return volume.node_affinity
    terms, labels = volume.node_affinity, volume.metadata.labels
    zone = _zone_label(terms or (), labels)
    if zone in set(_keys(terms or ())):
        terms = _renamed(terms or (), zone, plugin.topology_key)
    else:
        zones = sorted({part.strip() for part in labels.get(zone, "").split(ZONE_SEPARATOR)} - {""})
        if zones:
            wanted = Requirement(plugin.topology_key, "In", tuple(zones))
            terms = tuple(
                msgspec.structs.replace(term, match_expressions=(*term.match_expressions, wanted))
                for term in terms or (NodeSelectorTerm(),)
            )
    return _renamed(terms, BETA_REGION, REGION) if terms and zone == BETA_ZONE else terms


def _zone_label(terms: Terms, labels: Labels) -> str:
    keys = set(_keys(terms))
    for place in (keys, labels):
        for label in (ZONE, BETA_ZONE):
            if label in place:
                return label
    return ZONE


def _keys(terms: Terms) -> Iterator[str]:
    return (requirement.key for term in terms for requirement in term.match_expressions)


def _renamed(terms: Terms, key: str, new: str) -> Terms:
    return tuple(
        msgspec.structs.replace(
            term,
            match_expressions=tuple(
                msgspec.structs.replace(requirement, key=new) if requirement.key == key else requirement
                for requirement in term.match_expressions
            ),
        )
        for term in terms
    )


# --- nodes ---------------------------------------------------------------------------------


def migrated_plugins(csi_node: CSINode) -> frozenset[str]:
    """The plugins that a node says it has handed over."""
    listed = csi_node.metadata.annotations.get(MIGRATED_ANNOTATION, "")
    return frozenset(listed.split(",")) if listed else frozenset()


def migrated_mask(snapshot: Snapshot, plugin: str) -> Mask:
    """(n,) bool: the nodes that have handed a plugin over to its driver, as their CSINode says."""
    rows = snapshot.derived("migrated plugins", Reads.CSI_NODES | Reads.ALL_NODES, lambda: _rows_by_plugin(snapshot))
    if plugin not in rows:
        return np.zeros(len(snapshot), np.bool_)
    out: Mask = np.isin(snapshot.row_numbers, rows[plugin])
    return out


def migrated_groups(snapshot: Snapshot, plugins: Iterable[str]) -> list[tuple[frozenset[str], Mask]]:
    """(those of ``plugins`` that are handed over, (n,) bool: the nodes with just these); every node is in one group."""
    groups: list[tuple[frozenset[str], Mask]] = [(frozenset(), np.ones(len(snapshot), np.bool_))]
    for plugin in sorted(plugins):
        migrated = migrated_mask(snapshot, plugin)
        if migrated.any():
            with_plugin = [(names | {plugin}, rows & migrated) for names, rows in groups]
            groups = [*((names, rows & ~migrated) for names, rows in groups), *with_plugin]
    return [(names, rows) for names, rows in groups if rows.any()]


def _rows_by_plugin(snapshot: Snapshot) -> dict[str, IntArray]:
    found: dict[str, list[int]] = {}
    for name, csi_node in snapshot.objects.csi_nodes.items():
        row = snapshot.row_of(name)
        for plugin in migrated_plugins(csi_node) if row is not None else ():
            found.setdefault(plugin, []).append(row or 0)
    return {plugin: np.array(rows, np.int64) for plugin, rows in found.items()}
