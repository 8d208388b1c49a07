"""MaxCSIVolumeCountPred, and NodeVolumeLimits of 1.20: a node attaches no more volumes of a CSI driver than it can."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.resource_names import is_attachable_volume_resource
from clusterstate.selectors.pod_keys import spec_alone
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import (
    CLAIM_WITHOUT_NAME,
    NO_PLUGINS,
    Plugins,
    csi_limit_key,
    csi_volumes,
    has_claims,
    unnamed_claims,
)
from clusterstate.volumes.csi_migration import migrated_groups
from clusterstate.volumes.storage_keys import bound_storage
from predicates.refusal_evidence import Explain, LimitReached, LimitsReached, Refusal, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

TOO_MANY_VOLUMES = "node(s) exceed max volume count"

NO_LIMIT = np.iinfo(np.int64).max


class CSINodeLimits(msgspec.Struct):
    """What the CSINode objects say, by limit key and row; read again only when they or the nodes change.

    counts: limit key → row → volumes.
    """

    counts: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    _objects: ClusterObjects | None = None
    _version: int = -1

    def update(self, snapshot: Snapshot) -> None:
        """Reads the limits anew if a CSINode or node has changed."""
        objects, version = snapshot.objects, snapshot.version(Reads.CSI_NODES | Reads.ALL_NODES)
        if objects is self._objects and version == self._version:
            return
        self._objects, self._version, self.counts = objects, version, {}
        for name, csi_node in objects.csi_nodes.items():
            row = snapshot.row_of(name)
            for driver in csi_node.drivers if row is not None else ():
                if row is not None and driver.count is not None:
                    self.counts.setdefault(csi_limit_key(driver.name), {})[row] = driver.count


def attach_limits(snapshot: Snapshot, csi_nodes: CSINodeLimits, key: str) -> IntArray:
    """(n,) volumes: the CSINode's limit where it has one, else the node's allocatable, else NO_LIMIT."""
    rows = snapshot.row_numbers
    limits: IntArray = np.full(int(rows.max(initial=-1)) + 1, NO_LIMIT, np.int64)
    index = snapshot.resource(key)
    if index is not None:
        limits[rows] = np.where(snapshot.allocatable_set[index], snapshot.allocatable[index], NO_LIMIT)
    _write(limits, csi_nodes.counts.get(key, {}))
    return limits[rows]


def _write(table: IntArray, counts: dict[int, int]) -> None:
    """Puts the counts of the rows that the table has into it."""
    rows = np.fromiter(counts.keys(), np.int64, len(counts))
    values = np.fromiter(counts.values(), np.int64, len(counts))
    inside = rows < len(table)
    table[rows[inside]] = values[inside]


def has_limits(snapshot: Snapshot, csi_nodes: CSINodeLimits) -> Mask:
    """(n,) bool: the node or its CSINode limits any kind of volume."""
    indices = [index for name, index in snapshot.resources.items() if is_attachable_volume_resource(name)]
    out: Mask = np.logical_or.reduce(snapshot.allocatable_set[indices], axis=0)
    for counts in csi_nodes.counts.values():
        out |= np.isin(snapshot.row_numbers, list(counts))
    return out


def max_csi_volume_count(pod: PodInfo, snapshot: Snapshot, csi_nodes: CSINodeLimits) -> Verdict:
    """Fails where volumes that are not there yet raise a driver above its limit; an error where a claim has no name.

    ``csi_nodes`` is brought up to date first. Upstream: 1.16 CSIMaxVolumeLimitChecker.
    """
    return _count(pod, snapshot, csi_nodes, NO_PLUGINS)


def csi_limits_1_20(
    pod: PodInfo, snapshot: Snapshot, csi_nodes: CSINodeLimits, plugins: Plugins = NO_PLUGINS
) -> Verdict:
    """The same; in-tree volumes count on nodes that have handed their plugin over. plugins: those that may be.

    Upstream: 1.20 CSILimits.
    """
    verdict: Verdict = {}
    for migrated, rows in migrated_groups(snapshot, plugins):
        for reason, mask in _count(pod, snapshot, csi_nodes, migrated).items():
            here = mask & rows
            verdict[reason] = verdict[reason] | here if reason in verdict else here
    return verdict


def _count(pod: PodInfo, snapshot: Snapshot, csi_nodes: CSINodeLimits, migrated: Plugins) -> Verdict:
    if unnamed_claims(pod):
        return {NodeError(CLAIM_WITHOUT_NAME): np.ones(len(snapshot), np.bool_)}
    new = csi_volumes(pod, snapshot.objects, migrated)
    if not new:
        return PASS
    csi_nodes.update(snapshot)
    exceeded = np.zeros(len(snapshot), np.bool_)
    for key, names in new.items():
        limits = attach_limits(snapshot, csi_nodes, key)
        if (limits != NO_LIMIT).any():
            there, together = (_used(snapshot, key, ids, migrated) for ids in (frozenset[str](), names))
            exceeded |= (together > there) & (together > limits)
    unnamed = snapshot.counts(snapshot.tally("unnamed claims", None, unnamed_claims)) > 0
    if unnamed.any():
        unnamed &= has_limits(snapshot, csi_nodes)
    return {TOO_MANY_VOLUMES: exceeded & ~unnamed, NodeError(CLAIM_WITHOUT_NAME): unnamed}


def _used(snapshot: Snapshot, key: str, new: frozenset[str], migrated: Plugins) -> IntArray:
    """(n,) the distinct volumes under a limit key with ``new`` on top."""
    objects = snapshot.objects

    def ids(info: PodInfo) -> frozenset[str]:
        return csi_volumes(info, objects, migrated).get(key, frozenset())

    return snapshot.union_sizes(("MaxCSIVolumeCount", key, migrated), ids, new, snapshot.version(Reads.STORAGE_CLASSES))


def explain_limits(csi_nodes: CSINodeLimits, plugins: Plugins = NO_PLUGINS) -> Explain:
    """By driver how many volumes there would be, and the node's limit. plugins: as in ``csi_limits_1_20``."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        csi_nodes.update(snapshot)
        migrated = next((m for m, rows in migrated_groups(snapshot, plugins) if rows[0]), NO_PLUGINS)
        limits = []
        for key, names in csi_volumes(pod, snapshot.objects, migrated).items():
            limit = int(attach_limits(snapshot, csi_nodes, key)[0])
            there, together = (int(_used(snapshot, key, ids, migrated)[0]) for ids in (frozenset[str](), names))
            limits.append(LimitReached(key, there, together, None if limit == NO_LIMIT else limit))
        return LimitsReached(tuple(limits))

    return explain


def make_max_csi_volume_count(_: PredicateArgs) -> FitPredicate:
    """Counts the volumes of each CSI driver on the node together with the pod's own. Limits are those of the node's
    CSINode, otherwise allocatable `attachable-volumes-csi-<driver>`; a driver without a limit is not counted.

    Upstream: 1.16 CSIMaxVolumeLimitChecker.
    """
    csi_nodes = CSINodeLimits()

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_csi_volume_count(pod, snapshot, csi_nodes)

    return FitPredicate(
        "MaxCSIVolumeCountPred",
        check,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence("MaxCSIVolumeCountPred", explain_limits(csi_nodes)),
    )


CSI_VOLUMES: dict[str, FitPredicateFactory] = {"MaxCSIVolumeCountPred": make_max_csi_volume_count}
