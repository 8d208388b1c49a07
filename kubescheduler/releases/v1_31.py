"""Release 1.31: limits of in-tree disks are no longer in the default plugins."""

from __future__ import annotations

from kubescheduler.config.component.config_schema import V1
from kubescheduler.config.component.format_1_36 import GONE_IN_V1
from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF
from kubescheduler.framework.deciding.find_nodes import nothing_outside
from kubescheduler.releases import v1_30
from kubescheduler.releases.release import Change, ChangeKind, after, component, deciding, gates

CHANGES = (
    Change(
        "no-limits-of-in-tree-disks",
        "EBSLimits, GCEPDLimits and AzureDiskLimits are gone from the default plugins: in-tree disks count as those of "
        "their CSI drivers, and a configuration that names them, or CinderLimits, is refused.",
        ChangeKind.PLUGIN,
        component(
            multi_point=tuple(name for name in v1_30.MULTI_POINT if name not in GONE_IN_V1),
            refused={V1: GONE_IN_V1},
        ),
    ),
    Change(
        "nodes-left-out-have-no-status",
        "Nodes that are not among those named by PreFilter plugins have no status, and preemption leaves them out.",
        ChangeKind.REASON,
        deciding(outside=nothing_outside),
    ),
    Change(
        "gates-of-1-31",
        "Migration of Portworx volumes is on; PodDisruptionConditions can no longer be turned off.",
        ChangeKind.GATE,
        gates(
            {"CSIMigrationPortworx": BETA, "DRAControlPlaneController": ALPHA, "VolumeAttributesClass": BETA_OFF},
            gone=("CSIMigrationRBD", "PodDisruptionConditions"),
            idle=("DRAControlPlaneController",),
        ),
    ),
)

RELEASE = after(
    v1_30.RELEASE,
    "1.31",
    CHANGES,
    version="1.31.1",
    summary="no EBSLimits, GCEPDLimits and AzureDiskLimits",
)
