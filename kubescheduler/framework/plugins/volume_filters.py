"""What volumes keep from a node: VolumeRestrictions lets no disk be mounted twice there, VolumeZone wants the volumes
behind claims in its zone and region.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import has_claims
from clusterstate.volumes.volume_decision import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import (
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    sign_volumes,
)
from kubescheduler.queue.queueing_hints import (
    NEW_OR_LABELLED,
    NODE,
    POD,
    PV,
    PVC,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    Registered,
    may_be_claimed,
)
from predicates import disks
from predicates.disks import (
    CLAIM_IN_USE_1_22,
    CLAIMS_IN_USE,
    exclusive_disks,
    explain_disks,
    frees_claims_nowhere,
    no_disk_conflict,
    restrictions_apply,
    restrictions_read,
    uses_exclusive_disks,
    volume_restrictions,
    volume_restrictions_pre_filter,
)
from predicates.refusal_evidence import Explain, filter_evidence
from predicates.types import FitPredicate, Verdict, always
from predicates.volume_zone import (
    RULE_1_18,
    RULE_1_20,
    ZoneRule,
    explain_zones_1_27,
    explain_zones_1_36,
    volume_zone_pre_filter,
)
from predicates.volume_zone import volume_zone_1_27 as check_1_27
from predicates.volume_zone import volume_zone_1_36 as check_1_36

# --- VolumeRestrictions ----------------------------------------------------------------------

VOLUME_RESTRICTIONS = "VolumeRestrictions"
VOLUME_RESTRICTIONS_POINTS_1_20 = frozenset({Point.FILTER})
VOLUME_RESTRICTIONS_POINTS_1_36 = frozenset({Point.PRE_FILTER, Point.FILTER})
VOLUME_RESTRICTIONS_UNPREPARED = 'cannot read "PreFilterVolumeRestrictions" from cycleState'


def is_missing_claim(reason: str) -> bool:
    """Taking pods away frees disks and claims, but brings no claim."""
    return reason.endswith(" not found")


ONCE_GATE = "ReadWriteOncePod"
EVIDENCE = filter_evidence(VOLUME_RESTRICTIONS, explain_disks(exclusive_disks))


def volume_restrictions_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """There is no access mode ReadWriteOncePod.

    Upstream: 1.20 VolumeRestrictions.
    """
    rule = FitPredicate(
        VOLUME_RESTRICTIONS,
        no_disk_conflict,
        Footprint(Reads.PODS, pod_key=spec_alone),
        uses_exclusive_disks,
        evidence=EVIDENCE,
    )
    return ColumnPlugin(VOLUME_RESTRICTIONS, VOLUME_RESTRICTIONS_POINTS_1_20, rule)


def volume_restrictions_1_22(_: Any, handle: Handle) -> ColumnPlugin:
    """With feature gate ReadWriteOncePod a claim with that access mode that another pod uses refuses the whole pod.

    Upstream: 1.22 VolumeRestrictions.
    """
    rule = FitPredicate(
        VOLUME_RESTRICTIONS,
        no_disk_conflict,
        Footprint(Reads.PODS, pod_key=spec_alone, pre_reads=CLAIMS_IN_USE),
        uses_exclusive_disks,
        pre_filter=disks.claim_in_use_1_22 if handle.feature_gates.get(ONCE_GATE, False) else None,
        unresolvable=is_refused_as_a_whole,
        evidence=EVIDENCE,
    )
    return ColumnPlugin(VOLUME_RESTRICTIONS, VOLUME_RESTRICTIONS_POINTS_1_36, rule)


def is_refused_as_a_whole(reason: str) -> bool:
    """Taking pods away does not help where no node was looked at."""
    return is_missing_claim(reason) or reason == CLAIM_IN_USE_1_22


def volume_restrictions_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Fails where a pod on the node mounts the same disk: a GCE disk, RBD image or iSCSI target unless both mounts are
    read-only, an EBS volume always. Only volumes written in the pods themselves count. Fails also everywhere, if a
    claim with access mode ReadWriteOncePod is in use by another pod.

    Upstream: 1.36 VolumeRestrictions.
    """
    return _with_claims(volume_restrictions)


def volume_restrictions_1_27(_: Any, __: Handle) -> ColumnPlugin:
    """The reason for a claim in use is worded otherwise.

    Upstream: 1.27 VolumeRestrictions.
    """
    return _with_claims(disks.volume_restrictions_1_27)


def _with_claims(check: Callable[[PodInfo, Snapshot], Verdict]) -> ColumnPlugin:
    rule = FitPredicate(
        VOLUME_RESTRICTIONS,
        check,
        Footprint(
            Reads.PODS | CLAIMS_IN_USE,
            narrow=restrictions_read,
            pod_key=spec_alone,
            row_local=frees_claims_nowhere,
            pre_reads=CLAIMS_IN_USE,
        ),
        restrictions_apply,
        pre_filter=volume_restrictions_pre_filter,
        unresolvable=is_missing_claim,
        evidence=EVIDENCE,
    )
    return ColumnPlugin(
        VOLUME_RESTRICTIONS,
        VOLUME_RESTRICTIONS_POINTS_1_36,
        rule,
        filter_alone=VOLUME_RESTRICTIONS_UNPREPARED,
        sign=sign_volumes,
    )


def had_volumes_nearby(waiting: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that left used volumes in the waiting pod's namespace."""
    return bool(waiting.metadata.namespace == event.old.metadata.namespace and event.old.spec.volumes)


VOLUME_RESTRICTIONS_REASONS = (PluginReason("node(s) had no available disk", UNSCHEDULABLE),)
VOLUME_RESTRICTIONS_REASONS_1_36 = (
    PluginReason(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
        "another pod",
        UNSCHEDULABLE,
    ),
    PluginReason('persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE, "PreFilter"),
    *VOLUME_RESTRICTIONS_REASONS,
)
VOLUME_RESTRICTIONS_EVENTS = (
    Registered(POD, Action.DELETE, had_volumes_nearby),
    Registered(NODE, Action.ADD),
    Registered(PVC, Action.ADD, may_be_claimed),
)

VOLUME_RESTRICTIONS_1_20 = InTreePlugin(
    VOLUME_RESTRICTIONS, VOLUME_RESTRICTIONS_POINTS_1_20, volume_restrictions_1_20, reasons=VOLUME_RESTRICTIONS_REASONS
)
VOLUME_RESTRICTIONS_REASONS_1_22 = (
    PluginReason(CLAIM_IN_USE_1_22, UNRESOLVABLE, "PreFilter"),
    PluginReason('persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE, "PreFilter"),
    *VOLUME_RESTRICTIONS_REASONS,
)
VOLUME_RESTRICTIONS_1_22 = InTreePlugin(
    VOLUME_RESTRICTIONS,
    VOLUME_RESTRICTIONS_POINTS_1_36,
    volume_restrictions_1_22,
    reasons=VOLUME_RESTRICTIONS_REASONS_1_22,
)
VOLUME_RESTRICTIONS_1_36 = InTreePlugin(
    VOLUME_RESTRICTIONS,
    VOLUME_RESTRICTIONS_POINTS_1_36,
    volume_restrictions_1_36,
    reasons=VOLUME_RESTRICTIONS_REASONS_1_36,
    events=VOLUME_RESTRICTIONS_EVENTS,
)
VOLUME_RESTRICTIONS_REASONS_1_27 = (
    PluginReason(CLAIM_IN_USE_1_22, UNSCHEDULABLE),
    *VOLUME_RESTRICTIONS_REASONS_1_36[1:],
)
VOLUME_RESTRICTIONS_1_27 = msgspec.structs.replace(
    VOLUME_RESTRICTIONS_1_36, make=volume_restrictions_1_27, reasons=VOLUME_RESTRICTIONS_REASONS_1_27
)


# --- VolumeZone ------------------------------------------------------------------------------

VOLUME_ZONE = "VolumeZone"
VOLUME_ZONE_POINTS_1_20 = frozenset({Point.FILTER})
VOLUME_ZONE_POINTS_1_36 = frozenset({Point.PRE_FILTER, Point.FILTER})
VOLUME_ZONE_READS = Reads.NODE | Reads.STORAGE


def volume_zone_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """The claims are looked at on each node, and a label of the volume is met by that of the same name alone.

    Upstream: 1.20 VolumeZone.
    """
    return _looking_at_nodes(RULE_1_20)


def volume_zone_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """The claims are looked at on each node; one without a volume is an error.

    Upstream: 1.18 and 1.19 VolumeZone.
    """
    return _looking_at_nodes(RULE_1_18)


def _looking_at_nodes(rule: ZoneRule) -> ColumnPlugin:
    footprint = Footprint(VOLUME_ZONE_READS, pod_key=spec_alone, storage=bound_storage)
    evidence = filter_evidence(VOLUME_ZONE, rule.explain)
    check = FitPredicate(VOLUME_ZONE, rule.check, footprint, has_claims, unresolvable=always, evidence=evidence)
    return ColumnPlugin(VOLUME_ZONE, VOLUME_ZONE_POINTS_1_20, check)


def volume_zone_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """The zone and region labels of the volumes behind the pod's claims must agree with those of the node. A node with
    none of these labels passes. The claims are looked at once for the pod. A beta label of the volume is also met by
    the node's label `topology.kubernetes.io/…`.

    Upstream: 1.36 VolumeZone.
    """
    return _looking_once(check_1_36, explain_zones_1_36)


def volume_zone_1_27(_: Any, __: Handle) -> ColumnPlugin:
    """A label of the volume is met by that of the same name alone.

    Upstream: 1.27 VolumeZone.
    """
    return _looking_once(check_1_27, explain_zones_1_27)


def _looking_once(check: Callable[[PodInfo, Snapshot], Verdict], explain: Explain) -> ColumnPlugin:
    rule = FitPredicate(
        VOLUME_ZONE,
        check,
        Footprint(VOLUME_ZONE_READS, pod_key=spec_alone, storage=bound_storage, pre_reads=Reads.STORAGE),
        has_claims,
        pre_filter=volume_zone_pre_filter,
        unresolvable=always,
        evidence=filter_evidence(VOLUME_ZONE, explain),
    )
    return ColumnPlugin(VOLUME_ZONE, VOLUME_ZONE_POINTS_1_36, rule, sign=sign_volumes)


def _reasons(claims_at: str) -> tuple[PluginReason, ...]:
    """claims_at: the point at which the release looks at the pod's claims."""
    texts = (
        "PersistentVolumeClaim had no name",
        "PersistentVolumeClaim had no pv name and storageClass name",
        "PersistentVolume had no name",
        'VolumeBindingMode not set for StorageClass "<NAME>"',
        'persistentvolumeclaim "<NAME>" not found',
        'persistentvolume "<NAME>" not found',
        'storageclass.storage.k8s.io "<NAME>" not found',
    )
    here = PluginReason("node(s) had no available volume zone", UNRESOLVABLE)
    return (here, *(PluginReason(text, UNRESOLVABLE, claims_at) for text in texts))


VOLUME_ZONE_EVENTS = (
    Registered(STORAGE_CLASS, Action.ADD),
    NEW_OR_LABELLED,
    Registered(PVC, Action.ADD | Action.UPDATE, may_be_claimed),
    Registered(PV, Action.ADD | Action.UPDATE),
)

VOLUME_ZONE_1_18 = InTreePlugin(VOLUME_ZONE, VOLUME_ZONE_POINTS_1_20, volume_zone_1_18, reasons=_reasons("Filter")[:1])
VOLUME_ZONE_1_20 = InTreePlugin(VOLUME_ZONE, VOLUME_ZONE_POINTS_1_20, volume_zone_1_20, reasons=_reasons("Filter"))
VOLUME_ZONE_1_36 = InTreePlugin(
    VOLUME_ZONE, VOLUME_ZONE_POINTS_1_36, volume_zone_1_36, reasons=_reasons("PreFilter"), events=VOLUME_ZONE_EVENTS
)
VOLUME_ZONE_1_27 = msgspec.structs.replace(VOLUME_ZONE_1_36, make=volume_zone_1_27)
