"""MaxEBSVolumeCount and MaxGCEPDVolumeCount as release 1.4 counts.

A claim or volume that is not there counts as a disk of its own, and the rest of its pod's volumes is not looked at.
"""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import ClaimVolume
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_keys import spec_alone
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import CLAIM_WITHOUT_NAME, EBS, GCE_PD, DiskType, has_claims
from clusterstate.volumes.storage_keys import bound_storage
from kubecel.api_names import go_quote
from predicates.refusal_evidence import Explain, LimitReached, Refusal, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

TOO_MANY_VOLUMES_1_4 = "MaxVolumeCount"
DEFAULT_LIMITS_1_4: dict[DiskType, int] = {EBS: 39, GCE_PD: 16}
"""Disks per node where the environment does not set a limit."""


class CountedDisks(msgspec.Struct, frozen=True):
    """A pod's disks of one type. lost: one more, behind a claim or volume that is not there. error: or an error."""

    known: frozenset[str] = frozenset()
    lost: bool = False
    error: str | None = None


def counted_disks(pod: PodInfo, objects: ClusterObjects, disk: DiskType) -> CountedDisks:
    """Upstream: 1.4 MaxPDVolumeCountChecker.filterVolumes."""
    known: set[str] = set()
    for volume in pod.spec.volumes:
        if isinstance(volume, disk.source):
            known.add(disk.id_of(volume))
        elif isinstance(volume, ClaimVolume):
            name = volume.claim_name
            if not name:
                return CountedDisks(error=CLAIM_WITHOUT_NAME)
            claim = objects.persistent_volume_claims.get((pod.namespace, name))
            if claim is None:
                return CountedDisks(frozenset(known), lost=True)
            if not claim.volume_name:
                return CountedDisks(error=f"PersistentVolumeClaim is not bound: {go_quote(name)}")
            bound = objects.persistent_volumes.get(claim.volume_name)
            if bound is None:
                return CountedDisks(frozenset(known), lost=True)
            if isinstance(bound.source, disk.source):
                known.add(disk.id_of(bound.source))
    return CountedDisks(frozenset(known))


def max_volume_count_1_4(
    pod: PodInfo, snapshot: Snapshot, disk: DiskType, max_pd_volumes: int | None = None
) -> Verdict:
    """Fails where the disks of one type would be too many. An error: a claim, of the pod or of one that is there
    already, without a name or unbound. Upstream: 1.4 MaxPDVolumeCountChecker.
    """
    objects = snapshot.objects
    new = counted_disks(pod, objects, disk)
    if new.error is not None:
        return {NodeError(new.error): np.ones(len(snapshot), np.bool_)}
    if not new.known and not new.lost:
        return PASS
    rule = ("MaxVolumeCount 1.4", disk.limit_key)

    def errs(info: PodInfo) -> int:
        return counted_disks(info, objects, disk).error is not None

    erring = snapshot.counts(snapshot.tally((*rule, "errors"), None, errs, follows_claims=True)) > 0
    exceeded = _used(snapshot, disk, new) > (max_pd_volumes or DEFAULT_LIMITS_1_4[disk])
    return {TOO_MANY_VOLUMES_1_4: exceeded & ~erring, **_errors(snapshot, erring, disk)}


def _used(snapshot: Snapshot, disk: DiskType, new: CountedDisks) -> IntArray:
    """(n,) the disks of one type with ``new`` on top."""
    objects = snapshot.objects
    rule = ("MaxVolumeCount 1.4", disk.limit_key)

    def ids(info: PodInfo) -> frozenset[str]:
        return counted_disks(info, objects, disk).known

    def lost(info: PodInfo) -> int:
        return counted_disks(info, objects, disk).lost

    used = snapshot.union_sizes(rule, ids, new.known, 0)
    counted = snapshot.tally((*rule, "lost"), None, lost, follows_claims=True)
    out: IntArray = used + snapshot.counts(counted) + new.lost
    return out


def explain_count_1_4(disk: DiskType, max_pd_volumes: int | None) -> Explain:
    """How many disks of the type there would be, and the limit."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        new = counted_disks(pod, snapshot.objects, disk)
        there, together = (int(_used(snapshot, disk, disks)[0]) for disks in (CountedDisks(), new))
        return LimitReached(disk.limit_key, there, together, max_pd_volumes or DEFAULT_LIMITS_1_4[disk])

    return explain


def _errors(snapshot: Snapshot, erring: Mask, disk: DiskType) -> Verdict:
    """The error of the first pod that has one, on each row of ``erring``."""
    verdict: Verdict = {}
    found: dict[PodInfo, str | None] = {}
    for at in np.flatnonzero(erring).tolist():
        for other in snapshot.pods_on(int(snapshot.row_numbers[at])):
            info = snapshot.info(other)
            if info not in found:
                found[info] = counted_disks(info, snapshot.objects, disk).error
            text = found[info]
            if text is not None:
                verdict.setdefault(NodeError(text), np.zeros(len(snapshot), np.bool_))[at] = True
                break
    return verdict


def _counting(name: str, disk: DiskType, args: PredicateArgs) -> FitPredicate:
    def applies(pod: PodInfo) -> bool:
        return has_claims(pod) or any(isinstance(volume, disk.source) for volume in pod.spec.volumes)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_volume_count_1_4(pod, snapshot, disk, args.max_pd_volumes)

    return FitPredicate(
        name,
        check,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        applies,
        evidence=predicate_evidence(name, explain_count_1_4(disk, args.max_pd_volumes)),
    )


def make_max_ebs_volume_count_1_4(args: PredicateArgs) -> FitPredicate:
    """The limit is `KUBE_MAX_PD_VOLS`, otherwise 39; allocatable is not asked.

    Upstream: 1.4 MaxPDVolumeCountChecker with EBSVolumeFilter.
    """
    return _counting("MaxEBSVolumeCount", EBS, args)


def make_max_gce_pd_volume_count_1_4(args: PredicateArgs) -> FitPredicate:
    """The limit is `KUBE_MAX_PD_VOLS`, otherwise 16; allocatable is not asked.

    Upstream: 1.4 MaxPDVolumeCountChecker with GCEPDVolumeFilter.
    """
    return _counting("MaxGCEPDVolumeCount", GCE_PD, args)


VOLUME_COUNTS_1_4: dict[str, FitPredicateFactory] = {
    "MaxEBSVolumeCount": make_max_ebs_volume_count_1_4,
    "MaxGCEPDVolumeCount": make_max_gce_pd_volume_count_1_4,
}
