"""Release 1.32: nodes left out by PreFilter have a reason, sidecars of running pods count in full."""

from __future__ import annotations

from typing import Any

from clusterstate.usage import account_1_36
from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF
from kubescheduler.framework.deciding.find_nodes import outside_1_32
from kubescheduler.framework.plugins import default_preemption, volume_binding, volume_limits
from kubescheduler.releases import edits, v1_31
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind


def by_hints() -> dict[str, Any]:
    """The plugins' own records say what they register, with their hints."""
    from kubescheduler.queue import queue_policy, queueing_hints

    return {
        "resources": queueing_hints.RESOURCES,
        "pod_actions": queueing_hints.pod_actions,
        "helps": queue_policy.by_hints,
        "retry_period": int,
        "events": None,
        "admits": None,
        "keeps_events": True,
    }


CHANGES = (
    change(
        "sidecars-of-running-pods-score",
        "Where scores fill in 100m and 200Mi, sidecars of running pods are added up with the containers.",
        ChangeKind.SCORE,
        edits.viewing(accounting=account_1_36),
    ),
    change(
        "nodes-left-out-have-a-reason",
        "Nodes that are not among those named by PreFilter plugins are UnschedulableAndUnresolvable, with the names of "
        "the plugins.",
        ChangeKind.REASON,
        edits.deciding(outside=outside_1_32),
    ),
    change(
        "local-volumes-leave-no-node-out",
        "VolumeBinding looks at every node for bound local volumes; it looked at their hosts alone.",
        ChangeKind.REASON,
        edits.plugins(volume_binding.PLUGIN_1_32),
    ),
    change(
        "csi-limits-of-csi-nodes-alone",
        "CSINodes alone limit CSI volumes, not the node's allocatable; attached volumes that no pod uses count.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_32),
    ),
    change(
        "victims-by-importance",
        "Of the victims on a node the one with the highest priority comes first, whether a budget protects it or not.",
        ChangeKind.PREEMPTION,
        edits.plugins(default_preemption.PLUGIN_1_36),
    ),
    change(
        "no-plugins-for-in-tree-disks",
        "EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits do not exist any more.",
        ChangeKind.PLUGIN,
        edits.without_plugins("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
    ),
    change(
        "queueing-hints-of-plugins",
        "Plugins say of each event whether it helps a pod that they rejected, and events during an attempt are kept "
        "for its pod: SchedulerQueueingHints is on.",
        ChangeKind.QUEUE,
        edits.gates({"SchedulerQueueingHints": BETA}),
        edits.queueing(by_hints),
        source="KEP-4247",
    ),
    change(
        "gates-of-1-32",
        "Pod-level resources and asynchronous preemption can be turned on.",
        ChangeKind.GATE,
        edits.gates(
            {
                "DynamicResourceAllocation": BETA_OFF,
                **dict.fromkeys(("DRAAdminAccess", "PodLevelResources", "SchedulerAsyncPreemption"), ALPHA),
            },
            gone=("DRAControlPlaneController",),
            idle=("DRAAdminAccess",),
        ),
        edits.reads(resources="PodLevelResources"),
    ),
)

RELEASE = after(
    v1_31.RELEASE,
    "1.32",
    CHANGES,
    version="1.32.2",
    summary="CSI limits come from CSINode alone",
)
