"""Release 1.31: limits of in-tree disks are no longer in the default plugins."""

from __future__ import annotations

from kubescheduler.config.config_schema import V1
from kubescheduler.config.format_1_36 import GONE_IN_V1
from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF
from kubescheduler.framework.deciding.find_nodes import nothing_outside
from kubescheduler.releases import edits, v1_30
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind

CHANGES = (
    change(
        "no-limits-of-in-tree-disks",
        "EBSLimits, GCEPDLimits and AzureDiskLimits are gone from the default plugins: in-tree disks count as those of "
        "their CSI drivers, and a configuration that names them, or CinderLimits, is refused.",
        ChangeKind.PLUGIN,
        edits.component(
            multi_point=tuple(name for name in v1_30.MULTI_POINT if name not in GONE_IN_V1),
            refused={V1: GONE_IN_V1},
        ),
    ),
    change(
        "nodes-left-out-have-no-status",
        "Nodes that are not among those named by PreFilter plugins have no status, and preemption leaves them out.",
        ChangeKind.REASON,
        edits.deciding(outside=nothing_outside),
    ),
    change(
        "gates-of-1-31",
        "Migration of Portworx volumes is on, as are matchLabelKeys and mismatchLabelKeys of pod affinity; "
        "PodDisruptionConditions can no longer be turned off.",
        ChangeKind.GATE,
        edits.gates(
            {
                **dict.fromkeys(("CSIMigrationPortworx", "MatchLabelKeysInPodAffinity"), BETA),
                "DRAControlPlaneController": ALPHA,
                "VolumeAttributesClass": BETA_OFF,
            },
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
