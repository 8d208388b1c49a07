"""NoDiskConflict: no disk is mounted twice on a node, unless both mounts only read where that is allowed."""

from __future__ import annotations

from clusterstate.changes import Reads
from clusterstate.growable import Mask
from clusterstate.objects import ISCSI, RBD, AWSElasticBlockStore, GCEPersistentDisk, PodSpec, VolumeSource
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.types import PASS, FitPredicate, FitPredicateFactory, PredicateArgs, Verdict

DISK_CONFLICT = "node(s) had no available disk"
DISK_CONFLICT_1_4 = "NoDiskConflict"

Disks = tuple[VolumeSource, ...]

EXCLUSIVE = (GCEPersistentDisk, AWSElasticBlockStore, RBD, ISCSI)
"""The volume types that can conflict; the volumes of claims are not looked through."""


def exclusive_disks(spec: PodSpec) -> Disks:
    return tuple(volume for volume in spec.volumes if isinstance(volume, EXCLUSIVE))


def exclusive_disks_1_4(spec: PodSpec) -> Disks:
    """iSCSI disks do not conflict there."""
    return tuple(volume for volume in exclusive_disks(spec) if not isinstance(volume, ISCSI))


def conflicts(one: VolumeSource, other: VolumeSource) -> bool:
    """Whether two pods' volumes are the same disk and may not be used together. Upstream: 1.16 isVolumeConflict."""
    match one, other:
        case GCEPersistentDisk(), GCEPersistentDisk():
            return one.pd_name == other.pd_name and not (one.read_only and other.read_only)
        case AWSElasticBlockStore(), AWSElasticBlockStore():
            return one.volume_id == other.volume_id
        case ISCSI(), ISCSI():
            return one.iqn == other.iqn and not (one.read_only and other.read_only)
        case RBD(), RBD():
            same = (one.pool, one.image) == (other.pool, other.image)
            shared = not set(one.monitors).isdisjoint(other.monitors)
            return same and shared and not (one.read_only and other.read_only)
    return False


def uses_exclusive_disks(pod: PodInfo) -> bool:
    return bool(exclusive_disks(pod.spec))


def no_disk_conflict(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a disk of a running pod conflicts with one of the pod's. Upstream: 1.16 NoDiskConflict."""
    wanted = exclusive_disks(pod.spec)
    return {DISK_CONFLICT: _in_use(wanted, snapshot)} if wanted else PASS


def no_disk_conflict_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same without iSCSI. Upstream: 1.4 NoDiskConflict."""
    wanted = exclusive_disks_1_4(pod.spec)
    return {DISK_CONFLICT_1_4: _in_use(wanted, snapshot)} if wanted else PASS


def _in_use(wanted: Disks, snapshot: Snapshot) -> Mask:
    """(n,) bool: rows where a running pod's disk conflicts with a wanted one."""

    def weight(info: PodInfo) -> int:
        return sum(conflicts(want, held) for held in exclusive_disks(info.spec) for want in wanted)

    tally = snapshot.tally(("NoDiskConflict", wanted), None, weight)
    out: Mask = snapshot.counts(tally) > 0
    return out


def _make_no_disk_conflict(_: PredicateArgs) -> FitPredicate:
    return FitPredicate("NoDiskConflict", no_disk_conflict, Reads.PODS, uses_exclusive_disks)


def uses_exclusive_disks_1_4(pod: PodInfo) -> bool:
    return bool(exclusive_disks_1_4(pod.spec))


def _make_no_disk_conflict_1_4(_: PredicateArgs) -> FitPredicate:
    return FitPredicate("NoDiskConflict", no_disk_conflict_1_4, Reads.PODS, uses_exclusive_disks_1_4)


DISKS: dict[str, FitPredicateFactory] = {"NoDiskConflict": _make_no_disk_conflict}
DISKS_1_4: dict[str, FitPredicateFactory] = {"NoDiskConflict": _make_no_disk_conflict_1_4}
