"""NoDiskConflict and VolumeRestrictions: no disk is mounted twice on a node, unless both mounts only read where that is
allowed; 1.36 also: no claim for one pod only is used by two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import Mask
from clusterstate.objects import ISCSI, RBD, AWSElasticBlockStore, GCEPersistentDisk, PodSpec, VolumeSource
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import READ_WRITE_ONCE_POD, NotFoundError, claim_names, find_claim, has_claims
from predicates.refusal_evidence import Conflict, Explain, InUse, Refusal, pods_on_rows, pods_there, predicate_evidence
from predicates.types import GO_ON, PASS, SKIP, FitPredicate, FitPredicateFactory, PredicateArgs, PreFiltered, Verdict

DISK_CONFLICT = "node(s) had no available disk"
DISK_CONFLICT_1_4 = "NoDiskConflict"
CLAIM_IN_USE_1_22 = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
CLAIM_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

Disks = tuple[VolumeSource, ...]

EXCLUSIVE = (GCEPersistentDisk, AWSElasticBlockStore, RBD, ISCSI)
"""The volume types that can conflict; the volumes of claims are not looked through."""


def exclusive_disks(spec: PodSpec) -> Disks:
    """The pod's disks that cannot always be shared."""
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
    """Whether the pod has such disks."""
    return bool(exclusive_disks(pod.spec))


def no_disk_conflict(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a disk of a running pod conflicts with one of the pod's.

    Upstream: 1.16 NoDiskConflict and 1.20 VolumeRestrictions.
    """
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


# --- 1.36 ----------------------------------------------------------------------------------


def once_only_claims(pod: PodInfo, objects: ClusterObjects) -> frozenset[str]:
    """The pod's claims that one pod at a time may use. Raises NotFoundError for a claim that is not there."""
    claims = [find_claim(pod.namespace, name, objects) for name in claim_names(pod.spec)]
    return frozenset(claim.metadata.name for claim in claims if READ_WRITE_ONCE_POD in claim.access_modes)


def restrictions_apply(pod: PodInfo) -> bool:
    """Whether the pod has exclusive disks or claims."""
    return uses_exclusive_disks(pod) or has_claims(pod)


CLAIMS_IN_USE = Reads.ALL_PODS | Reads.ALL_NODES | Reads.STORAGE
"""What a claim's use depends on: a pod counts while its node is there."""


def restrictions_read(pod: PodInfo) -> Reads:
    """What the verdict depends on: for pods with claims also on their use anywhere."""
    return Reads.PODS | CLAIMS_IN_USE if has_claims(pod) else Reads.PODS


def volume_restrictions_pre_filter(pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
    """Refuses a pod with a claim that is not there; skips one without disks whose claims nobody uses.

    Upstream: 1.36 VolumeRestrictions.PreFilter.
    """
    try:
        claims = once_only_claims(pod, snapshot.objects)
    except NotFoundError as error:
        return PreFiltered(reasons=(str(error),))
    return GO_ON if uses_exclusive_disks(pod) or _claims_in_use(pod, claims, snapshot) else SKIP


def claim_in_use_1_22(pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
    """Refuses a pod with a claim that is not there, or for one pod only and in use.

    Upstream: 1.22 VolumeRestrictions.PreFilter, feature gate ReadWriteOncePod on.
    """
    try:
        claims = once_only_claims(pod, snapshot.objects)
    except NotFoundError as error:
        return PreFiltered(reasons=(str(error),))
    return PreFiltered(reasons=(CLAIM_IN_USE_1_22,)) if _claims_in_use(pod, claims, snapshot) else GO_ON


def volume_restrictions_1_27(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same in other words. Upstream: 1.27 VolumeRestrictions.Filter."""
    verdict = volume_restrictions(pod, snapshot)
    return {CLAIM_IN_USE_1_22 if reason == CLAIM_IN_USE else reason: mask for reason, mask in verdict.items()}


def volume_restrictions(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails as ``no_disk_conflict`` does, and everywhere else while a claim for one pod only is in use.

    Upstream: 1.36 VolumeRestrictions.Filter.
    """
    verdict = no_disk_conflict(pod, snapshot)
    try:
        claims = once_only_claims(pod, snapshot.objects)
    except NotFoundError:
        return verdict
    if not claims or _claims_in_use(pod, claims, snapshot) + _claims_moved(claims, snapshot) <= 0:
        return verdict
    conflict = verdict.get(DISK_CONFLICT, np.zeros(len(snapshot), np.bool_))
    return {**verdict, CLAIM_IN_USE: ~conflict}


def frees_claims_nowhere(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether taking pods away from one row matters to that row alone: no claim for one pod only is in use."""
    try:
        claims = once_only_claims(pod, snapshot.objects)
    except NotFoundError:
        return True
    return not _claims_in_use(pod, claims, snapshot)


def _claims_in_use(pod: PodInfo, claims: frozenset[str], snapshot: Snapshot) -> int:
    """How many of the claims a pod on any node uses, the changes left out."""
    return sum(_is_used(pod.namespace, name, snapshot) for name in claims)


def _is_used(namespace: str, name: str, snapshot: Snapshot) -> bool:
    has_node = snapshot.whole().has_node
    users = snapshot.users_of((namespace, name))
    return any(name in claim_names(info.spec) and bool(has_node[list(info.rows)].any()) for info in users)


def _claims_moved(claims: frozenset[str], snapshot: Snapshot) -> int:
    """By how much the changes raise the count: once for each volume of that claim name, in whatever namespace."""
    return sum(
        change.sign * len([n for n in claim_names(change.info.spec) if n in claims]) for change in snapshot.changes
    )


# --- evidence ------------------------------------------------------------------------------


def explain_disks(disks_of: Callable[[PodSpec], Disks]) -> Explain:
    """By wanted disk the pods on the node that hold it; by claim for one pod only the pods that use it."""

    def explain(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        if reason in (CLAIM_IN_USE, CLAIM_IN_USE_1_22):
            return _explain_claims(pod, snapshot)

        def holders(want: VolumeSource) -> tuple[str, ...]:
            return pods_there(snapshot, lambda info: any(conflicts(want, held) for held in exclusive_disks(info.spec)))

        wanted = disks_of(pod.spec)
        return Conflict(tuple(InUse(f"disk {disk_text(want)}", "held", holders(want)) for want in wanted))

    return explain


def disk_text(disk: VolumeSource) -> str:
    """Which disk a volume is."""
    match disk:
        case GCEPersistentDisk():
            return disk.pd_name
        case AWSElasticBlockStore():
            return disk.volume_id
        case ISCSI():
            return disk.iqn
        case RBD():
            return f"{disk.pool}/{disk.image}"
    return type(disk).__name__


def _explain_claims(pod: PodInfo, snapshot: Snapshot) -> Refusal:
    there = snapshot.whole().has_node

    def users(name: str) -> tuple[str, ...]:
        def uses(info: PodInfo) -> bool:
            return info.namespace == pod.namespace and name in claim_names(info.spec)

        return pods_on_rows(snapshot, lambda row: bool(there[row]), uses)

    claims = sorted(once_only_claims(pod, snapshot.objects))
    return Conflict(tuple(InUse(f"claim {name} for one pod only", "used", users(name)) for name in claims))


# --- maps ----------------------------------------------------------------------------------


EVIDENCE = predicate_evidence("NoDiskConflict", explain_disks(exclusive_disks))
EVIDENCE_1_4 = predicate_evidence("NoDiskConflict", explain_disks(exclusive_disks_1_4))


def make_no_disk_conflict(_: PredicateArgs) -> FitPredicate:
    """Fails where a pod on the node mounts the same disk: a GCE disk, RBD image or iSCSI target unless both mounts are
    read-only, an EBS volume always. Only volumes written in the pods themselves count, not claims.

    Upstream: 1.16 NoDiskConflict.
    """
    return FitPredicate(
        "NoDiskConflict",
        no_disk_conflict,
        Footprint(Reads.PODS, pod_key=spec_alone),
        uses_exclusive_disks,
        evidence=EVIDENCE,
    )


def uses_exclusive_disks_1_4(pod: PodInfo) -> bool:
    """Whether the pod has disks that are exclusive in 1.4."""
    return bool(exclusive_disks_1_4(pod.spec))


def make_no_disk_conflict_1_4(_: PredicateArgs) -> FitPredicate:
    """iSCSI targets are not looked at.

    Upstream: 1.4 NoDiskConflict.
    """
    return FitPredicate(
        "NoDiskConflict",
        no_disk_conflict_1_4,
        Footprint(Reads.PODS, pod_key=spec_alone),
        uses_exclusive_disks_1_4,
        evidence=EVIDENCE_1_4,
    )


DISKS: dict[str, FitPredicateFactory] = {"NoDiskConflict": make_no_disk_conflict}
DISKS_1_4: dict[str, FitPredicateFactory] = {"NoDiskConflict": make_no_disk_conflict_1_4}
