"""Release 1.34: dynamic resource allocation and pod-level resources are on, sidecars have host ports."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterstate.manifests.api_checks import DIFFERS_1_34
from kubescheduler.config.format_1_36 import errors_1_34
from kubescheduler.config.gates import ALPHA, BETA, GA, LOCKED
from kubescheduler.framework.plugins import (
    dynamic_resources,
    inter_pod_affinity,
    node_affinity,
    node_resources_fit,
    nodes,
    volume_binding,
    volume_filters,
)
from kubescheduler.releases import edits, v1_25, v1_33
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind
from kubescheduler.releases.v1_30 import SAME_QUEUE_SORT


def counting_apart() -> dict[str, Any]:
    """By what back-offs grow."""
    from kubescheduler.queue.queue_policy import BackoffsOfErrors

    return {"backoffs": BackoffsOfErrors}


def announcing() -> dict[str, Any]:
    """PreBind plugins are asked beforehand."""
    from kubescheduler.cycle.cycle_rules import pre_flight_1_36

    return {"pre_flight": pre_flight_1_36}


CHANGES = (
    change(
        "nodes-too-small-are-unresolvable",
        "Where a pod asks for more than a node has at all, NodeResourcesFit answers UnschedulableAndUnresolvable, so "
        "preemption leaves the node out.",
        ChangeKind.FILTER,
        edits.plugins(node_resources_fit.PLUGIN_1_34),
    ),
    change(
        "host-ports-of-sidecars",
        "Host ports of init containers that are always restarted count.",
        ChangeKind.FILTER,
        edits.plugins(nodes.NODE_PORTS_1_36),
    ),
    change(
        "own-namespace-selectors-match-no-labels",
        "A namespaceSelector of a pod's own affinity term that fits the empty set of labels picks pods of every "
        "namespace.",
        ChangeKind.FILTER,
        edits.plugins(inter_pod_affinity.PLUGIN_1_36),
    ),
    change(
        "dynamic-resources-ga",
        "DynamicResources is in the default plugins: pods wait for devices that their ResourceClaims ask for.",
        ChangeKind.PLUGIN,
        edits.plugins(dynamic_resources.PLUGIN_1_34),
        edits.gates(
            {
                "DRAAdminAccess": BETA,
                "DRAPrioritizedList": BETA,
                "DRAResourceClaimDeviceStatus": BETA,
                "DRASchedulerFilterTimeout": BETA,
                "DynamicResourceAllocation": GA,
                **dict.fromkeys(("DRAConsumableCapacity", "DRADeviceBindingConditions", "DRAExtendedResource"), ALPHA),
            }
        ),
        source="KEP-4381",
    ),
    change(
        "pod-level-resources",
        "Requests of a pod as a whole stand in place of the sums of its containers: PodLevelResources is on.",
        ChangeKind.GATE,
        edits.gates({"PodLevelResources": BETA}),
        source="KEP-2837",
    ),
    change(
        "claims-in-use-text",
        "The reason for a ReadWriteOncePod claim that is in use is worded otherwise.",
        ChangeKind.REASON,
        edits.plugins(volume_filters.VOLUME_RESTRICTIONS_1_36),
    ),
    change(
        "back-off-counts-rejections-and-errors-apart",
        "Back-offs grow with the attempts that found no node, or with the errors in a row; before, with all attempts.",
        ChangeKind.QUEUE,
        edits.queueing(counting_apart),
    ),
    change(
        "nominated-before-binding",
        "With the feature gate NominatedNodeNameForExpectation a pod whose binding takes its time is nominated to its "
        "node before.",
        ChangeKind.GATE,
        edits.cycling(announcing),
        edits.gates({"NominatedNodeNameForExpectation": ALPHA}),
        source="KEP-5278",
    ),
    change(
        "configuration-texts",
        "Faults of leader election, of shapes that do not rise and of profiles that sort the queue otherwise than the "
        "first are told in shorter texts, and lists and durations are shown as JSON.",
        ChangeKind.CONFIGURATION,
        edits.component(same_queue_sort=("must be the same for all profiles", SAME_QUEUE_SORT), errors=errors_1_34),
        edits.plugin("NodeAffinity", args=node_affinity.ARGS_1_36),
        edits.plugin("VolumeBinding", args=volume_binding.ARGS_1_36),
    ),
    change(
        "gates-of-1-34",
        "Queueing hints can no longer be turned off; VolumeAttributesClass is on, API calls are asynchronous.",
        ChangeKind.GATE,
        edits.gates(
            {
                "ContainerRestartRules": ALPHA,
                "SchedulerAsyncAPICalls": BETA,
                "SchedulerQueueingHints": LOCKED,
                "VolumeAttributesClass": GA,
            },
            idle=("SchedulerAsyncAPICalls",),
        ),
    ),
)

RELEASE = after(
    v1_33.RELEASE,
    "1.34",
    CHANGES,
    version="1.34.1",
    accepted=partial(v1_25.accepted, differs=DIFFERS_1_34),
    summary="dynamic resource allocation, host ports of sidecars",
)
