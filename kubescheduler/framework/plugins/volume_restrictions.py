"""VolumeRestrictions: disks, and since 1.36 claims for one pod only, are not used twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_volumes
from kubescheduler.queue.queueing_hints import NODE, POD, PVC, Action, ClusterEvent, Registered, may_be_claimed
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
from predicates.refusal_evidence import filter_evidence
from predicates.types import FitPredicate, Verdict

NAME = "VolumeRestrictions"
POINTS_1_20 = frozenset({Point.FILTER})
POINTS_1_36 = frozenset({Point.PRE_FILTER, Point.FILTER})
UNPREPARED = 'cannot read "PreFilterVolumeRestrictions" from cycleState'


def is_missing_claim(reason: str) -> bool:
    """Taking pods away frees disks and claims, but brings no claim."""
    return reason.endswith(" not found")


ONCE_GATE = "ReadWriteOncePod"
EVIDENCE = filter_evidence(NAME, explain_disks(exclusive_disks))


def volume_restrictions_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """There is no access mode ReadWriteOncePod.

    Upstream: 1.20 VolumeRestrictions.
    """
    rule = FitPredicate(
        NAME, no_disk_conflict, Footprint(Reads.PODS, pod_key=spec_alone), uses_exclusive_disks, evidence=EVIDENCE
    )
    return ColumnPlugin(NAME, POINTS_1_20, rule)


def volume_restrictions_1_22(_: Any, handle: Handle) -> ColumnPlugin:
    """With feature gate ReadWriteOncePod a claim with that access mode that another pod uses refuses the whole pod.

    Upstream: 1.22 VolumeRestrictions.
    """
    rule = FitPredicate(
        NAME,
        no_disk_conflict,
        Footprint(Reads.PODS, pod_key=spec_alone, pre_reads=CLAIMS_IN_USE),
        uses_exclusive_disks,
        pre_filter=disks.claim_in_use_1_22 if handle.feature_gates.get(ONCE_GATE, False) else None,
        unresolvable=is_refused_as_a_whole,
        evidence=EVIDENCE,
    )
    return ColumnPlugin(NAME, POINTS_1_36, rule)


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
        NAME,
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
    return ColumnPlugin(NAME, POINTS_1_36, rule, filter_alone=UNPREPARED, sign=sign_volumes)


# --- what it is in each release ---------------------------------------------------------------


def had_volumes_nearby(waiting: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that left used volumes in the waiting pod's namespace."""
    return bool(waiting.metadata.namespace == event.old.metadata.namespace and event.old.spec.volumes)


REASONS = (PluginReason("node(s) had no available disk", UNSCHEDULABLE),)
REASONS_1_36 = (
    PluginReason(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
        "another pod",
        UNSCHEDULABLE,
    ),
    PluginReason('persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE, "PreFilter"),
    *REASONS,
)
EVENTS = (
    Registered(POD, Action.DELETE, had_volumes_nearby),
    Registered(NODE, Action.ADD),
    Registered(PVC, Action.ADD, may_be_claimed),
)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, volume_restrictions_1_20, reasons=REASONS)
REASONS_1_22 = (
    PluginReason(CLAIM_IN_USE_1_22, UNRESOLVABLE, "PreFilter"),
    PluginReason('persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE, "PreFilter"),
    *REASONS,
)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS_1_36, volume_restrictions_1_22, reasons=REASONS_1_22)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, volume_restrictions_1_36, reasons=REASONS_1_36, events=EVENTS)
REASONS_1_27 = (PluginReason(CLAIM_IN_USE_1_22, UNSCHEDULABLE), *REASONS_1_36[1:])
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_36, make=volume_restrictions_1_27, reasons=REASONS_1_27)
