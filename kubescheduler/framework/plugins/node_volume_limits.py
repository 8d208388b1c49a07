"""NodeVolumeLimits: a node attaches no more volumes of a CSI driver than it can."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import LOCAL, Reads
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import has_claims
from clusterstate.volumes.csi_migration import plugins_1_20
from clusterstate.volumes.csi_usage import may_use_csi
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.csi_volumes import CSINodeLimits, csi_limits_1_20
from predicates.csi_volumes_1_36 import csi_limits_1_36, csi_limits_with_scaling, is_unresolvable
from predicates.types import FitPredicate, Verdict

NAME = "NodeVolumeLimits"
READS = LOCAL | Reads.STORAGE
SCALING = "VolumeLimitScaling"


def node_volume_limits_1_20(_: Any, handle: Handle) -> ColumnPlugin:
    csi_nodes = CSINodeLimits()
    plugins = plugins_1_20(gate for gate, on in handle.feature_gates.items() if on)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return csi_limits_1_20(pod, snapshot, csi_nodes, plugins)

    return ColumnPlugin(NAME, frozenset({Point.FILTER}), FitPredicate(NAME, check, READS, has_claims))


def node_volume_limits_1_36(_: Any, handle: Handle) -> ColumnPlugin:
    """PreFilter skips pods without volumes that could count."""
    check = csi_limits_with_scaling if handle.feature_gates.get(SCALING, False) else csi_limits_1_36
    rule = FitPredicate(NAME, check, READS, may_use_csi, unresolvable=is_unresolvable)
    return ColumnPlugin(NAME, frozenset({Point.PRE_FILTER, Point.FILTER}), rule)
