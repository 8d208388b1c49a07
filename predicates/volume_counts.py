"""Max…VolumeCount, and EBSLimits and the like: a node attaches no more disks of one type than it can.

Fails where |disks of the pods there ∪ disks of the pod| > the node's limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from textwrap import fill

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import ABSENT, IntArray, Mask
from clusterstate.objects import ClaimVolume
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import (
    AZURE_DISK,
    CINDER,
    CLAIM_WITHOUT_NAME,
    EBS,
    GCE_PD,
    NO_PLUGINS,
    DiskIds,
    DiskType,
    Plugins,
    disk_ids,
    disk_ids_1_13,
    has_claims,
    is_nitro,
    unnamed_claims,
)
from clusterstate.volumes.csi_migration import migrated_mask, migrating_plugins
from clusterstate.volumes.volume_decision import bound_storage
from kubecel.api_names import go_quote
from predicates.refusal_evidence import CheckEvidence, Explain, LimitReached, Refusal, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

TOO_MANY_VOLUMES = "node(s) exceed max volume count"
INSTANCE_TYPE = "beta.kubernetes.io/instance-type"
STABLE_INSTANCE_TYPE = "node.kubernetes.io/instance-type"

DEFAULT_LIMITS: dict[DiskType, int] = {EBS: 39, GCE_PD: 16, AZURE_DISK: 16, CINDER: 256}
"""Disks per node where neither the node nor the environment sets a limit."""
EBS_NITRO_LIMIT = 25


def attach_limits(snapshot: Snapshot, disk: DiskType, max_pd_volumes: int | None) -> IntArray:
    """(n,) disks: the node's allocatable where it has one, even 0; else the environment's; else the default."""
    return _or_allocatable(attach_limits_without_gate(snapshot, disk, max_pd_volumes), snapshot, disk)


def attach_limits_without_gate(snapshot: Snapshot, disk: DiskType, max_pd_volumes: int | None) -> IntArray:
    """The same, but nodes are not asked. Upstream: 1.13 to 1.16 with the feature gate AttachVolumeLimit off."""
    if disk is EBS and not max_pd_volumes:
        limits: IntArray = snapshot.spread_label(INSTANCE_TYPE, _ebs_limit, np.int64)
        return limits
    return np.full(len(snapshot), max_pd_volumes or DEFAULT_LIMITS[disk], np.int64)


def attach_limits_1_20(snapshot: Snapshot, disk: DiskType, max_pd_volumes: int | None) -> IntArray:
    """The same; an instance type may be told by the label's later name, the older one goes first."""
    limits: IntArray = np.full(len(snapshot), max_pd_volumes or DEFAULT_LIMITS[disk], np.int64)
    if disk is EBS and not max_pd_volumes:
        stable = snapshot.spread_label(STABLE_INSTANCE_TYPE, _ebs_limit, np.int64)
        lacking = snapshot.label_codes(INSTANCE_TYPE)[0] == ABSENT
        limits = np.where(lacking, stable, snapshot.spread_label(INSTANCE_TYPE, _ebs_limit, np.int64))
    return _or_allocatable(limits, snapshot, disk)


def _ebs_limit(instance_type: str | None) -> int:
    return EBS_NITRO_LIMIT if is_nitro(instance_type) else DEFAULT_LIMITS[EBS]


def _or_allocatable(limits: IntArray, snapshot: Snapshot, disk: DiskType) -> IntArray:
    index = snapshot.resource(disk.limit_key)
    if index is None:
        return limits
    return np.where(snapshot.allocatable_set[index], snapshot.allocatable[index], limits)


class DiskCounting(msgspec.Struct, frozen=True):
    """How a release counts disks, and up to which limits."""

    name: str
    """Equal names mean equal ``ids``."""
    ids: DiskIds
    limits: Callable[[Snapshot, DiskType, int | None], IntArray]
    migrates: bool = True
    """Whether feature gates let nodes hand plugins over to CSI drivers."""
    plugins: Plugins = NO_PLUGINS
    """The in-tree plugins that nodes may have handed over: such nodes do not count the disks."""

    def counts(self, snapshot: Snapshot, disk: DiskType) -> Mask:
        """(n,) bool: the nodes that count disks of a type."""
        if disk.provisioner not in self.plugins:
            return np.ones(len(snapshot), np.bool_)
        return ~migrated_mask(snapshot, disk.provisioner)

    def under(self, gates: Mapping[str, bool]) -> DiskCounting:
        """The same with the feature gates AttachVolumeLimit and CSIMigration…, where a release has them."""
        asks_nodes = gates.get("AttachVolumeLimit", True)
        limits = self.limits if asks_nodes else attach_limits_without_gate
        plugins = migrating_plugins(gates) if self.migrates else NO_PLUGINS
        return msgspec.structs.replace(self, limits=limits, plugins=plugins)


COUNTING = DiskCounting("1.16", disk_ids, attach_limits)
COUNTING_1_13 = DiskCounting("1.13", disk_ids_1_13, attach_limits, migrates=False)
COUNTING_1_20 = DiskCounting("1.16", disk_ids, attach_limits_1_20)


def max_volume_count(
    pod: PodInfo,
    snapshot: Snapshot,
    disk: DiskType,
    max_pd_volumes: int | None = None,
    counting: DiskCounting = COUNTING,
) -> Verdict:
    """Fails where the disks of one type would be too many; an error where a claim has no name.

    Upstream: 1.13 to 1.16 MaxPDVolumeCountChecker; 1.20 EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits.
    """
    if unnamed_claims(pod):
        return {NodeError(CLAIM_WITHOUT_NAME): np.ones(len(snapshot), np.bool_)}
    new = counting.ids(pod, snapshot.objects, disk)
    if not new:
        return PASS
    exceeded = _used(snapshot, disk, new, counting) > counting.limits(snapshot, disk, max_pd_volumes)
    here = counting.counts(snapshot, disk)
    unnamed = here & (snapshot.counts(snapshot.tally("unnamed claims", None, unnamed_claims)) > 0)
    return {TOO_MANY_VOLUMES: exceeded & here & ~unnamed, NodeError(CLAIM_WITHOUT_NAME): unnamed}


def attached_volumes(
    disk: DiskType, max_pd_volumes: int | None, counting: DiskCounting, pod: PodInfo, snapshot: Snapshot
) -> IntArray | None:
    """(2, n) disks of the pod that are new to the node, and how many more of the type it can attach; -1 and 0 where
    they do not count, None for a pod without any.

    Upstream: 1.16 MaxPDVolumeCountChecker, which leaves it in the node's TransientInfo.
    """
    new = counting.ids(pod, snapshot.objects, disk)
    if not new:
        return None
    there = _used(snapshot, disk, frozenset(), counting)
    limits = counting.limits(snapshot, disk, max_pd_volumes)
    left = np.stack([_used(snapshot, disk, new, counting) - there, limits - there])
    left[:, ~counting.counts(snapshot, disk)] = [[-1], [0]]
    return left


# --- evidence ------------------------------------------------------------------------------


def explain_count(disk: DiskType, max_pd_volumes: int | None, counting: DiskCounting) -> Explain:
    """How many disks of the type there would be, and the node's limit; none where it does not count them."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        limit, counts = counting.limits(snapshot, disk, max_pd_volumes), counting.counts(snapshot, disk)
        numbers = _numbers(pod, snapshot, disk, counting)
        return LimitReached(disk.limit_key, *numbers, int(limit[0]), bool(counts[0]))

    return explain


def _numbers(pod: PodInfo, snapshot: Snapshot, disk: DiskType, counting: DiskCounting) -> tuple[int, int]:
    """(disks of the type that are there, and with the pod's)."""
    new = counting.ids(pod, snapshot.objects, disk)
    there, together = (_used(snapshot, disk, ids, counting) for ids in (frozenset[str](), new))
    return int(there[0]), int(together[0])


def _used(snapshot: Snapshot, disk: DiskType, new: frozenset[str], counting: DiskCounting) -> IntArray:
    """(n,) the distinct disks of one type with ``new`` on top."""
    objects = snapshot.objects

    def ids(info: PodInfo) -> frozenset[str]:
        return counting.ids(info, objects, disk)

    rule = ("MaxVolumeCount", counting.name, disk.limit_key)
    return snapshot.union_sizes(rule, ids, new, snapshot.version(Reads.STORAGE_CLASSES))


def may_use(disk: DiskType, pod: PodInfo) -> bool:
    """Whether the pod has claims or disks of the type."""
    return has_claims(pod) or any(isinstance(volume, disk.source) for volume in pod.spec.volumes)


def counting_disks(
    name: str,
    disk: DiskType,
    limit: int | None,
    counting: DiskCounting,
    evidence: Callable[[str, Explain], CheckEvidence] = predicate_evidence,
) -> FitPredicate:
    """The check of a rule that counts disks of a type. limit: the environment's."""

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_volume_count(pod, snapshot, disk, limit, counting)

    return FitPredicate(
        name,
        check,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        partial(may_use, disk),
        evidence=evidence(name, explain_count(disk, limit, counting)),
        attached=partial(attached_volumes, disk, limit, counting),
    )


def _counting(name: str, disk: DiskType, args: PredicateArgs, counting: DiskCounting = COUNTING) -> FitPredicate:
    return counting_disks(name, disk, args.max_pd_volumes, counting.under(args.feature_gates))


class CountedType(msgspec.Struct, frozen=True):
    """A type of disk that rules count."""

    name: str
    """As it stands in the rules' names."""
    disk: DiskType
    kind: str
    """As texts say it."""
    otherwise: str
    """The limit that nobody has set, as texts say it."""

    def docstring(self, text: str, upstream: str) -> str:
        """Of a factory: a text with what differs from type to type, wrapped as docstrings are; where it comes from."""
        key, default = self.disk.limit_key, DEFAULT_LIMITS[self.disk]
        said = text.format(kind=self.kind, key=key, otherwise=self.otherwise, default=default)
        wrapped = fill(said, 116, initial_indent=" " * 3).strip()  # the quotes stand before it
        return f"{wrapped}\n\nUpstream: {upstream.format(name=self.name)}\n"


COUNTED = (
    CountedType("EBS", EBS, "EBS", "39, or 25 on Nitro instance types"),
    CountedType("GCEPD", GCE_PD, "GCE", "16"),
    CountedType("AzureDisk", AZURE_DISK, "Azure", "16"),
    CountedType("Cinder", CINDER, "Cinder", "256"),
)
TEXT = (
    "Counts the {kind} disks of the pods on the node together with the pod's own, each disk once, inline or behind a "
    "claim. Fails where there would be more than the node's limit: allocatable `{key}`, otherwise {otherwise}."
)
TEXT_1_13 = "A claim that leads to no known volume counts as a disk, whatever its class makes."
TEXT_1_4 = "The limit is `KUBE_MAX_PD_VOLS`, otherwise {default}; allocatable is not asked."


def _factories(
    types: Iterable[CountedType], make: Callable[[str, DiskType, PredicateArgs], FitPredicate], text: str, release: str
) -> dict[str, FitPredicateFactory]:
    """Name → factory, whose docstring says a text."""

    def factory(counted: CountedType) -> FitPredicateFactory:
        def made(args: PredicateArgs) -> FitPredicate:
            return make(f"Max{counted.name}VolumeCount", counted.disk, args)

        made.__doc__ = counted.docstring(text, f"{release} MaxPDVolumeCountChecker with {{name}}VolumeFilter.")
        return made

    return {f"Max{counted.name}VolumeCount": factory(counted) for counted in types}


# --- release 1.4 -------------------------------------------------------------------------------
#
# A claim or volume that is not there counts as a disk of its own, and the rest of its pod's volumes is not looked at.

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
    exceeded = _used_1_4(snapshot, disk, new) > (max_pd_volumes or DEFAULT_LIMITS_1_4[disk])
    return {TOO_MANY_VOLUMES_1_4: exceeded & ~erring, **_errors(snapshot, erring, disk)}


def _used_1_4(snapshot: Snapshot, disk: DiskType, new: CountedDisks) -> IntArray:
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
        there, together = (int(_used_1_4(snapshot, disk, disks)[0]) for disks in (CountedDisks(), new))
        return LimitReached(disk.limit_key, there, together, max_pd_volumes or DEFAULT_LIMITS_1_4[disk])

    return explain


def _errors(snapshot: Snapshot, erring: Mask, disk: DiskType) -> Verdict:
    """The error of the first pod that has one, on each row of ``erring``."""
    verdict: Verdict = {}
    errors: dict[PodInfo, str | None] = {}
    for at in np.flatnonzero(erring).tolist():
        for other in snapshot.pods_on(int(snapshot.row_numbers[at])):
            info = snapshot.info(other)
            if info not in errors:
                errors[info] = counted_disks(info, snapshot.objects, disk).error
            text = errors[info]
            if text is not None:
                verdict.setdefault(NodeError(text), np.zeros(len(snapshot), np.bool_))[at] = True
                break
    return verdict


def _counting_1_4(name: str, disk: DiskType, args: PredicateArgs) -> FitPredicate:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_volume_count_1_4(pod, snapshot, disk, args.max_pd_volumes)

    return FitPredicate(
        name,
        check,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        partial(may_use, disk),
        evidence=predicate_evidence(name, explain_count_1_4(disk, args.max_pd_volumes)),
    )


VOLUME_COUNTS = _factories(COUNTED, _counting, TEXT, "1.16")
VOLUME_COUNTS_1_15 = _factories(COUNTED, partial(_counting, counting=COUNTING_1_13), TEXT_1_13, "1.13 and 1.15")
VOLUME_COUNTS_1_13 = {name: make for name, make in VOLUME_COUNTS_1_15.items() if name != "MaxCinderVolumeCount"}
VOLUME_COUNTS_1_4 = _factories(COUNTED[:2], _counting_1_4, TEXT_1_4, "1.4")
