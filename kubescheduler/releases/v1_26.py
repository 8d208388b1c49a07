"""Release 1.26: a node has the reasons of one plugin, inclusion policies of spread constraints count."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from kubescheduler.config.format_1_36 import errors_1_26, finish_1_36
from kubescheduler.config.gates import ALPHA, BETA
from kubescheduler.core.filter_results import fit_error_1_36
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import (
    default_preemption,
    dynamic_resources,
    node_resources_fit,
    pod_topology_spread,
    queue_and_bind,
    volume_limits,
)
from kubescheduler.releases import edits, v1_23, v1_25
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind
from predicates.resources import admitted, node_resources_fit_1_26

MULTI_POINT = (*v1_23.MULTI_POINT[:-4], "DynamicResources", *v1_23.MULTI_POINT[-4:])

CHANGES = (
    change(
        "first-failing-filter-alone",
        "On a node the first filter that fails ends the run, and its reasons and code are the node's; all ran in 1.25.",
        ChangeKind.FILTER,
        edits.component(finish=finish_1_36),
    ),
    change(
        "pre-filter-refusals-are-no-statuses",
        "A pod that PreFilter refuses leaves nodes without a status, so preemption tries every node.",
        ChangeKind.PREEMPTION,
        edits.deciding(refusal_is_status=False),
    ),
    change(
        "victims-get-a-condition",
        "Victims get the condition DisruptionTarget before they are deleted, and their event does not name the pod: "
        "PodDisruptionConditions is on.",
        ChangeKind.PREEMPTION,
        edits.plugins(default_preemption.PLUGIN_1_26),
        edits.gates({"PodDisruptionConditions": BETA}, idle=("PodDisruptionConditions",)),
        source="KEP-3329",
    ),
    change(
        "extended-resources-of-zero",
        "NodeResourcesFit does not compare extended resources of which a pod asks for 0.",
        ChangeKind.FILTER,
        edits.plugins(node_resources_fit.PLUGIN_1_26),
        edits.queueing(admits=partial(admitted, node_resources_fit_1_26)),
    ),
    change(
        "spread-inclusion-policies",
        "nodeAffinityPolicy and nodeTaintsPolicy of spread constraints say which nodes count, and taints of effect "
        "PreferNoSchedule do not leave nodes out any more: the gate is on.",
        ChangeKind.FILTER,
        edits.plugins(pod_topology_spread.PLUGIN_1_24),
        edits.gates({"NodeInclusionPolicyInPodTopologySpread": BETA}),
        source="KEP-3094",
    ),
    change(
        "cinder-disks-are-csi-volumes",
        "Cinder volumes are always those of their CSI driver.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_26, *volume_limits.NON_CSI_LIMITS_1_26),
    ),
    change(
        "dynamic-resources-can-be-turned-on",
        "The plugin DynamicResources is registered; its gate is off.",
        ChangeKind.PLUGIN,
        edits.plugins(dynamic_resources.PLUGIN_1_26),
        edits.component(multi_point=MULTI_POINT),
        edits.gates({"DynamicResourceAllocation": ALPHA}),
        edits.reads(resourceClaims="DynamicResourceAllocation"),
        source="KEP-3063",
    ),
    change(
        "messages-say-what-pre-filter-refused",
        "The message of a pod that PreFilter refused says so once, and none of its parts that is empty.",
        ChangeKind.REASON,
        edits.deciding(fit_error=fit_error_1_36),
    ),
    change(
        "percentage-of-nodes-by-profile",
        "Profiles of v1 have a percentageOfNodesToScore of their own, and an extension point preEnqueue.",
        ChangeKind.CONFIGURATION,
        edits.without_later("profiles.percentageOfNodesToScore", "profiles.plugins.preEnqueue"),
    ),
    change(
        "leases-longer-than-their-deadlines",
        "A leaseDuration of leader election has to be longer than the renewDeadline; before, they could be equal.",
        ChangeKind.CONFIGURATION,
        edits.component(errors=errors_1_26),
        source="kubernetes #111758",
    ),
    change(
        "gates-of-1-26",
        "The plugin SchedulingGates holds pods back that have scheduling gates; its gate is off.",
        ChangeKind.GATE,
        edits.at_every_point(
            replace(queue_and_bind.SCHEDULING_GATES_1_36, gate="PodSchedulingReadiness", gate_default=False)
        ),
        edits.providers_run(Point.PRE_ENQUEUE, "SchedulingGates"),
        edits.gates({"PodSchedulingReadiness": ALPHA}),
        edits.reads(schedulingGates="PodSchedulingReadiness"),
        source="KEP-3521",
    ),
)

RELEASE = after(
    v1_25.RELEASE,
    "1.26",
    CHANGES,
    version="1.26.4",
    summary="scheduling gates, one reason a node",
)
