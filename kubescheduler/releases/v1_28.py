"""Release 1.28: requests of 0 are not compared, plugins pass over pods that do not concern them."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterstate.usage import account_1_28
from kubescheduler.config.config_schema import V1, V1BETA3
from kubescheduler.config.gates import ALPHA, BETA, DEPRECATED
from kubescheduler.framework.plugins import inter_pod_affinity, node_resources_fit, pod_topology_spread, volume_limits
from kubescheduler.releases import edits, v1_27
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind
from predicates.resources import admitted, node_resources_fit_1_36


def keeping_events() -> dict[str, Any]:
    """Events during an attempt are kept for its pod, and updates of a pod are such events."""
    from kubescheduler.queue import queueing_hints

    return {"pod_actions": queueing_hints.pod_actions, "retry_period": int, "keeps_events": True}


CHANGES = (
    change(
        "requests-of-zero-are-not-compared",
        "NodeResourcesFit compares cpu, memory and ephemeral storage only where a pod asks for more than 0 of them.",
        ChangeKind.FILTER,
        edits.plugins(node_resources_fit.PLUGIN_1_28),
        edits.queueing(admits=partial(admitted, node_resources_fit_1_36)),
    ),
    change(
        "sidecars-can-be-turned-on",
        "Requests of sidecars are added up with those of containers; with the gate off such pods fit nowhere.",
        ChangeKind.GATE,
        edits.viewing(accounting=account_1_28),
        edits.gates({"SidecarContainers": ALPHA}),
        edits.reads(initContainers__restartPolicy="SidecarContainers"),
        source="KEP-753",
    ),
    change(
        "spread-and-affinity-skip",
        "PodTopologySpread and InterPodAffinity give no score for pods that they do not concern.",
        ChangeKind.SCORE,
        edits.plugins(pod_topology_spread.PLUGIN_1_28, inter_pod_affinity.PLUGIN_1_24),
    ),
    change(
        "gce-disks-are-csi-volumes",
        "GCE persistent disks are always those of their CSI driver.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_28, *volume_limits.NON_CSI_LIMITS_1_28),
        edits.gates({"CSIMigrationRBD": DEPRECATED}, gone=("CSIMigrationGCE",)),
    ),
    change(
        "pre-filter-refusals-are-statuses",
        "A pod that PreFilter refuses gives every node that status; preemption leaves those out that it cannot help.",
        ChangeKind.PREEMPTION,
        edits.deciding(refusal_is_status=True),
    ),
    change(
        "no-v1beta2",
        "Configurations of v1beta2 are not read any more; those of v1 have delayCacheUntilActive.",
        ChangeKind.CONFIGURATION,
        edits.component(versions=(V1, V1BETA3)),
        edits.without_later("delayCacheUntilActive"),
    ),
    change(
        "queueing-hints",
        "Events during an attempt are kept for its pod, and plugins can say which help it: SchedulerQueueingHints is "
        "on.",
        ChangeKind.QUEUE,
        edits.gates({"SchedulerQueueingHints": BETA}),
        edits.queueing(keeping_events),
        source="KEP-4247",
    ),
)

RELEASE = after(
    v1_27.RELEASE,
    "1.28",
    CHANGES,
    version="1.28.3",
    summary="v1beta2 is gone, requests of 0 are not compared",
)
