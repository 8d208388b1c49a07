"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits of 1.20: nodes attach only so many disks of a type."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterstate.changes import BY_ROW, Reads
from clusterstate.footprint import Footprint
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_keys import spec_alone
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import AZURE_DISK, CINDER, EBS, GCE_PD, DiskType
from clusterstate.volumes.storage_keys import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNSCHEDULABLE, InTreePlugin, PluginReason
from predicates.refusal_evidence import filter_evidence
from predicates.types import FitPredicate, Verdict
from predicates.volume_counts import COUNTING_1_20, attached_volumes, explain_count, max_volume_count, may_use

POINTS = frozenset({Point.FILTER})
REASONS = (PluginReason("node(s) exceed max volume count", UNSCHEDULABLE),)


def _plugin(name: str, disk: DiskType, handle: Handle) -> ColumnPlugin:
    counting = COUNTING_1_20.under(handle.feature_gates)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_volume_count(pod, snapshot, disk, handle.max_pd_volumes, counting)

    rule = FitPredicate(
        name,
        check,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        partial(may_use, disk),
        evidence=filter_evidence(name, explain_count(disk, handle.max_pd_volumes, counting)),
        attached=partial(attached_volumes, disk, handle.max_pd_volumes, counting),
    )
    return ColumnPlugin(name, POINTS, rule)


def ebs_limits_1_20(_: Any, handle: Handle) -> ColumnPlugin:
    """Counts the EBS disks of the pods on the node together with the pod's own, each once, inline or behind a claim.
    Fails where there would be more than the node's limit: allocatable `attachable-volumes-aws-ebs`, otherwise 39, or 25
    on Nitro instance types.

    Upstream: 1.20 EBSLimits.
    """
    return _plugin("EBSLimits", EBS, handle)


def gce_pd_limits_1_20(_: Any, handle: Handle) -> ColumnPlugin:
    """Counts the GCE disks of the pods on the node together with the pod's own, each once, inline or behind a claim.
    Fails where there would be more than the node's limit: allocatable `attachable-volumes-gce-pd`, otherwise 16.

    Upstream: 1.20 GCEPDLimits.
    """
    return _plugin("GCEPDLimits", GCE_PD, handle)


def azure_disk_limits_1_20(_: Any, handle: Handle) -> ColumnPlugin:
    """Counts the Azure disks of the pods on the node together with the pod's own, each once, inline or behind a claim.
    Fails where there would be more than the node's limit: allocatable `attachable-volumes-azure-disk`, otherwise 16.

    Upstream: 1.20 AzureDiskLimits.
    """
    return _plugin("AzureDiskLimits", AZURE_DISK, handle)


def cinder_limits_1_20(_: Any, handle: Handle) -> ColumnPlugin:
    """Counts the Cinder disks of the pods on the node together with the pod's own, each once, inline or behind a claim.
    Fails where there would be more than the node's limit: allocatable `attachable-volumes-cinder`, otherwise 256.

    Upstream: 1.20 CinderLimits.
    """
    return _plugin("CinderLimits", CINDER, handle)


# --- what it is in each release ---------------------------------------------------------------

EBS_LIMITS_1_20 = InTreePlugin("EBSLimits", POINTS, ebs_limits_1_20, reasons=REASONS)
GCE_PD_LIMITS_1_20 = InTreePlugin("GCEPDLimits", POINTS, gce_pd_limits_1_20, reasons=REASONS)
AZURE_DISK_LIMITS_1_20 = InTreePlugin("AzureDiskLimits", POINTS, azure_disk_limits_1_20, reasons=REASONS)
CINDER_LIMITS_1_20 = InTreePlugin("CinderLimits", POINTS, cinder_limits_1_20, reasons=REASONS)
