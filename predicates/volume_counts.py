"""Max…VolumeCount: a node attaches no more disks of one type than it can.

Fails where |disks of the pods there ∪ disks of the pod| > the node's limit.
"""

from __future__ import annotations

import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes import (
    AZURE_DISK,
    CINDER,
    CLAIM_WITHOUT_NAME,
    EBS,
    GCE_PD,
    DiskType,
    disk_ids,
    has_claims,
    is_nitro,
    unnamed_claims,
)
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

TOO_MANY_VOLUMES = "node(s) exceed max volume count"
INSTANCE_TYPE = "beta.kubernetes.io/instance-type"

DEFAULT_LIMITS: dict[DiskType, int] = {EBS: 39, GCE_PD: 16, AZURE_DISK: 16, CINDER: 256}
"""Disks per node where neither the node nor the environment sets a limit."""
EBS_NITRO_LIMIT = 25


def attach_limits(snapshot: Snapshot, disk: DiskType, max_pd_volumes: int | None) -> IntArray:
    """(n,) disks: the node's allocatable where it has one, even 0; else the environment's; else the default."""
    limits: IntArray = np.full(len(snapshot), max_pd_volumes or DEFAULT_LIMITS[disk], np.int64)
    if disk is EBS and not max_pd_volumes:
        limits = snapshot.spread_label(
            INSTANCE_TYPE, lambda value: EBS_NITRO_LIMIT if is_nitro(value) else DEFAULT_LIMITS[EBS], np.int64
        )
    index = snapshot.resource(disk.limit_key)
    if index is None:
        return limits
    return np.where(snapshot.allocatable_set[index], snapshot.allocatable[index], limits)


def max_volume_count(pod: PodInfo, snapshot: Snapshot, disk: DiskType, max_pd_volumes: int | None = None) -> Verdict:
    """Fails where the disks of one type would be too many; an error where a claim has no name.

    Upstream: 1.16 MaxPDVolumeCountChecker, CSI migration off.
    """
    if unnamed_claims(pod):
        return {NodeError(CLAIM_WITHOUT_NAME): np.ones(len(snapshot), np.bool_)}
    objects = snapshot.objects
    new = disk_ids(pod, objects, disk)
    if not new:
        return PASS

    def ids(info: PodInfo) -> frozenset[str]:
        return disk_ids(info, objects, disk)

    used = snapshot.union_sizes(("MaxVolumeCount", disk.limit_key), ids, new, snapshot.version(Reads.STORAGE))
    exceeded = used > attach_limits(snapshot, disk, max_pd_volumes)
    unnamed = snapshot.counts(snapshot.tally("unnamed claims", None, unnamed_claims)) > 0
    return {TOO_MANY_VOLUMES: exceeded & ~unnamed, NodeError(CLAIM_WITHOUT_NAME): unnamed}


def _of(name: str, disk: DiskType) -> FitPredicateFactory:
    def applies(pod: PodInfo) -> bool:
        return has_claims(pod) or any(isinstance(volume, disk.source) for volume in pod.spec.volumes)

    def make(args: PredicateArgs) -> FitPredicate:
        def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
            return max_volume_count(pod, snapshot, disk, args.max_pd_volumes)

        return FitPredicate(name, check, LOCAL | Reads.STORAGE, applies)

    return make


VOLUME_COUNTS: dict[str, FitPredicateFactory] = {
    "MaxEBSVolumeCount": _of("MaxEBSVolumeCount", EBS),
    "MaxGCEPDVolumeCount": _of("MaxGCEPDVolumeCount", GCE_PD),
    "MaxAzureDiskVolumeCount": _of("MaxAzureDiskVolumeCount", AZURE_DISK),
    "MaxCinderVolumeCount": _of("MaxCinderVolumeCount", CINDER),
}
