"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits of 1.20: nodes attach only so many disks of a type."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterstate.changes import LOCAL, Reads
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import AZURE_DISK, CINDER, EBS, GCE_PD, DiskType
from clusterstate.volumes.csi_migration import plugins_1_20
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import UNSCHEDULABLE, InTreePlugin, PluginReason
from predicates.refusal_evidence import filter_evidence
from predicates.types import FitPredicate, Verdict
from predicates.volume_counts import explain_count_1_20, in_tree_limits, may_use

POINTS = frozenset({Point.FILTER})
REASONS = (PluginReason("node(s) exceed max volume count", UNSCHEDULABLE),)
DESCRIPTION = """
Counts the {0} disks of the pods on the node together with the pod's own, each once, inline or behind a claim. Fails
where there would be more than the node's limit: allocatable `{1}`, otherwise {2}."""


def _limits(name: str, disk: DiskType, kind: str, allocatable: str, otherwise: str) -> InTreePlugin:
    """The plugin of one type of disk; kind, allocatable, otherwise: what ``DESCRIPTION`` says of it."""

    def make(_: Any, handle: Handle) -> ColumnPlugin:
        plugins = plugins_1_20(gate for gate, on in handle.feature_gates.items() if on)

        def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
            return in_tree_limits(pod, snapshot, disk, handle.max_pd_volumes, plugins)

        evidence = filter_evidence(name, explain_count_1_20(disk, handle.max_pd_volumes, plugins))
        rule = FitPredicate(name, check, LOCAL | Reads.STORAGE, partial(may_use, disk), evidence=evidence)
        return ColumnPlugin(name, POINTS, rule)

    return InTreePlugin(name, POINTS, make, DESCRIPTION.format(kind, allocatable, otherwise), reasons=REASONS)


EBS_LIMITS_1_20 = _limits("EBSLimits", EBS, "EBS", "attachable-volumes-aws-ebs", "39, or 25 on Nitro instance types")
GCE_PD_LIMITS_1_20 = _limits("GCEPDLimits", GCE_PD, "GCE", "attachable-volumes-gce-pd", "16")
AZURE_DISK_LIMITS_1_20 = _limits("AzureDiskLimits", AZURE_DISK, "Azure", "attachable-volumes-azure-disk", "16")
CINDER_LIMITS_1_20 = _limits("CinderLimits", CINDER, "Cinder", "attachable-volumes-cinder", "256")
