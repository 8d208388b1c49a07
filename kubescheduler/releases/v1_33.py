"""Release 1.33: what pods are granted counts, pods that request nothing have no balance score."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterstate.manifests.api_checks import DIFFERS_1_33
from kubescheduler.config.gates import ALPHA, BETA, LOCKED
from kubescheduler.framework.plugins import node_resources_balanced_allocation, pod_topology_spread, volume_binding
from kubescheduler.releases import edits, v1_25, v1_32
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind


def early() -> dict[str, Any]:
    """Ends of back-offs, and who need not wait for them."""
    from kubescheduler.queue import queue_policy

    return {
        "backoffs": queue_policy.WholeSecondBackoffs,
        "is_over": queue_policy.second_is_past,
        "found_over": queue_policy.second_after,
        "retry_period": lambda longest: int(longest) + 1,
        "tries_early": True,
        "rests_in_backoff": False,
    }


CHANGES = (
    change(
        "no-balance-for-pods-without-requests",
        "NodeResourcesBalancedAllocation gives no score for pods that ask for none of the scored resources.",
        ChangeKind.SCORE,
        edits.plugins(node_resources_balanced_allocation.PLUGIN_1_33),
        source="kubernetes #129138",
    ),
    change(
        "spread-constraints-count-apart",
        "Two topology spread constraints with one key no longer share their counts.",
        ChangeKind.SCORE,
        edits.plugins(pod_topology_spread.PLUGIN_1_36),
    ),
    change(
        "granted-resources-count",
        "Of a container counts the most of what it asks for, is granted and has allocated; "
        "InPlacePodVerticalScaling is on.",
        ChangeKind.GATE,
        edits.gates({"InPlacePodVerticalScaling": BETA}),
        source="KEP-1287",
    ),
    change(
        "storage-capacity-scoring",
        "The gate StorageCapacityScoring stands in place of VolumeCapacityPriority: nodes with more room left score "
        "higher, and volumes that are still to be provisioned count.",
        ChangeKind.SCORE,
        edits.plugins(volume_binding.PLUGIN_1_33),
        edits.gates({"StorageCapacityScoring": ALPHA}, gone=("VolumeCapacityPriority",)),
        source="KEP-4049",
    ),
    change(
        "back-off-in-whole-seconds",
        "Back-offs end at whole seconds, and a pod in back-off that did not err is tried when there is nothing else to "
        "do: SchedulerPopFromBackoffQ is on.",
        ChangeKind.QUEUE,
        edits.queueing(early),
        edits.gates({"SchedulerPopFromBackoffQ": BETA}, idle=("SchedulerPopFromBackoffQ",)),
        source="KEP-5142",
    ),
    change(
        "gates-of-1-33",
        "Sidecars, inclusion policies and label keys of pod affinity can no longer be turned off; preemption is "
        "asynchronous.",
        ChangeKind.GATE,
        edits.gates(
            {
                **dict.fromkeys(
                    (
                        "CSIMigrationPortworx",
                        "MatchLabelKeysInPodAffinity",
                        "NodeInclusionPolicyInPodTopologySpread",
                        "SidecarContainers",
                    ),
                    LOCKED,
                ),
                "SchedulerAsyncPreemption": BETA,
                **dict.fromkeys(("DRADeviceTaints", "DRAPartitionableDevices", "DRAPrioritizedList"), ALPHA),
            },
        ),
    ),
)

RELEASE = after(
    v1_32.RELEASE,
    "1.33",
    CHANGES,
    version="1.33.0",
    accepted=partial(v1_25.accepted, differs=DIFFERS_1_33),
    summary="pods that request nothing have no balance score, resized pods count",
)
