"""Release 1.30: images of init containers count, PreFilter and PreScore pass over more."""

from __future__ import annotations

from kubescheduler.framework.deciding.find_nodes import narrow_1_36, outside_1_30
from kubescheduler.framework.plugins import (
    default_preemption,
    node_affinity,
    node_resources_fit,
    nodes,
    pod_topology_spread,
    queue_and_bind,
    volume_binding,
    volume_limits,
)
from kubescheduler.releases import edits, v1_27, v1_29
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind

SAME_QUEUE_SORT = "queueSort must be the same for all profiles"

CHANGES = (
    change(
        "image-locality-counts-init-containers",
        "ImageLocality adds the images of init containers, and its upper threshold rises with them.",
        ChangeKind.SCORE,
        edits.plugins(nodes.IMAGE_LOCALITY_1_30),
    ),
    change(
        "no-scores-without-preferences",
        "NodeAffinity and VolumeBinding give no score for pods that have nothing to score; they gave 0.",
        ChangeKind.SCORE,
        edits.plugins(node_affinity.PLUGIN_1_30, volume_binding.PLUGIN_1_30),
    ),
    change(
        "nodes-left-out-are-filtered-by-pre-filter",
        "Nodes that are not among those named by PreFilter plugins are UnschedulableAndUnresolvable with a reason, and "
        "preemption leaves them out.",
        ChangeKind.PREEMPTION,
        edits.deciding(outside=outside_1_30),
        edits.plugins(default_preemption.PLUGIN_1_31),
    ),
    change(
        "names-of-no-node-are-passed-over",
        "A name that PreFilter plugins give and no node has is passed over; before, it was an error of the attempt.",
        ChangeKind.FILTER,
        edits.deciding(names_are_nodes=False),
    ),
    change(
        "pre-filter-goes-on-when-unschedulable",
        "A PreFilter plugin that answers Unschedulable no longer ends the run; names that contradict each other are "
        "UnschedulableAndUnresolvable.",
        ChangeKind.FILTER,
        edits.deciding(narrow=narrow_1_36),
    ),
    change(
        "missing-claims-are-no-errors-of-limits",
        "A missing claim is a reason of the volume limits, no error.",
        ChangeKind.REASON,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_30, *volume_limits.NON_CSI_LIMITS_1_30),
    ),
    change(
        "sidecars-refused-before-filter",
        "With SidecarContainers off, pods with sidecars are refused before any node is looked at.",
        ChangeKind.FILTER,
        edits.plugins(node_resources_fit.PLUGIN_1_30),
    ),
    change(
        "spread-errors-name-the-constraints",
        "Errors of topology spread constraints say which constraints could not be read.",
        ChangeKind.REASON,
        edits.plugins(pod_topology_spread.PLUGIN_1_30),
    ),
    change(
        "one-node-is-enough-without-scores",
        "Where nothing scores, the search ends at the first node that fits.",
        ChangeKind.ORDER,
        edits.deciding(one_is_enough=True),
    ),
    change(
        "scheduling-gates-first",
        "SchedulingGates is first in the default plugins.",
        ChangeKind.ORDER,
        edits.component(multi_point=("SchedulingGates", *v1_27.MULTI_POINT[:-1])),
    ),
    change(
        "queue-sort-text",
        "Profiles that sort the queue otherwise than the first are refused with another text.",
        ChangeKind.CONFIGURATION,
        edits.component(same_queue_sort=(SAME_QUEUE_SORT, SAME_QUEUE_SORT)),
    ),
    change(
        "gates-of-1-30",
        "Scheduling gates and minDomains can no longer be turned off.",
        ChangeKind.GATE,
        edits.plugins(queue_and_bind.SCHEDULING_GATES_1_36),
        edits.gates(gone=("MinDomainsInPodTopologySpread", "PodSchedulingReadiness")),
    ),
)

RELEASE = after(
    v1_29.RELEASE,
    "1.30",
    CHANGES,
    version="1.30.1",
    summary="ImageLocality counts init containers",
)
MULTI_POINT = RELEASE.framework_rules.component.multi_point
