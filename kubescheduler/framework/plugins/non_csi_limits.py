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
from kubescheduler.framework.contract.plugin import ColumnPlugin, PluginFactory
from kubescheduler.framework.contract.points import Point
from predicates.types import FitPredicate, Verdict
from predicates.volume_counts import in_tree_limits, may_use


def _of(name: str, disk: DiskType) -> PluginFactory:
    def make(_: Any, handle: Handle) -> ColumnPlugin:
        plugins = plugins_1_20(gate for gate, on in handle.feature_gates.items() if on)

        def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
            return in_tree_limits(pod, snapshot, disk, handle.max_pd_volumes, plugins)

        rule = FitPredicate(name, check, LOCAL | Reads.STORAGE, partial(may_use, disk))
        return ColumnPlugin(name, frozenset({Point.FILTER}), rule)

    return make


ebs_limits_1_20 = _of("EBSLimits", EBS)
gce_pd_limits_1_20 = _of("GCEPDLimits", GCE_PD)
azure_disk_limits_1_20 = _of("AzureDiskLimits", AZURE_DISK)
cinder_limits_1_20 = _of("CinderLimits", CINDER)
