"""VolumeZone: the volumes behind a pod's claims are in the node's zone and region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import has_claims
from clusterstate.volumes.volume_decision import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_volumes
from kubescheduler.queue.queueing_hints import (
    NEW_OR_LABELLED,
    PV,
    PVC,
    STORAGE_CLASS,
    Action,
    Registered,
    may_be_claimed,
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

NAME = "VolumeZone"
POINTS_1_20 = frozenset({Point.FILTER})
POINTS_1_36 = frozenset({Point.PRE_FILTER, Point.FILTER})
READS = Reads.NODE | Reads.STORAGE


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
    footprint = Footprint(READS, pod_key=spec_alone, storage=bound_storage)
    evidence = filter_evidence(NAME, rule.explain)
    check = FitPredicate(NAME, rule.check, footprint, has_claims, unresolvable=always, evidence=evidence)
    return ColumnPlugin(NAME, POINTS_1_20, check)


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
        NAME,
        check,
        Footprint(READS, pod_key=spec_alone, storage=bound_storage, pre_reads=Reads.STORAGE),
        has_claims,
        pre_filter=volume_zone_pre_filter,
        unresolvable=always,
        evidence=filter_evidence(NAME, explain),
    )
    return ColumnPlugin(NAME, POINTS_1_36, rule, sign=sign_volumes)


# --- what it is in each release ---------------------------------------------------------------


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


EVENTS = (
    Registered(STORAGE_CLASS, Action.ADD),
    NEW_OR_LABELLED,
    Registered(PVC, Action.ADD | Action.UPDATE, may_be_claimed),
    Registered(PV, Action.ADD | Action.UPDATE),
)

PLUGIN_1_18 = InTreePlugin(NAME, POINTS_1_20, volume_zone_1_18, reasons=_reasons("Filter")[:1])
PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, volume_zone_1_20, reasons=_reasons("Filter"))
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, volume_zone_1_36, reasons=_reasons("PreFilter"), events=EVENTS)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_36, make=volume_zone_1_27)
