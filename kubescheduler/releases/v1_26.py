"""Release 1.26: a node has the reasons of one plugin, inclusion policies of spread constraints count."""

from __future__ import annotations

from msgspec.structs import replace

from kubescheduler.config.component.format_1_36 import finish_1_36
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
from kubescheduler.releases import v1_23, v1_25
from kubescheduler.releases.release import (
    Change,
    ChangeKind,
    after,
    at_every_point,
    component,
    deciding,
    gates,
    plugins,
    providers_run,
    queueing,
    together,
    without_later,
)
from kubescheduler.releases.v1_22 import looking_first
from predicates.resources import node_resources_fit_1_26

MULTI_POINT = (*v1_23.MULTI_POINT[:-4], "DynamicResources", *v1_23.MULTI_POINT[-4:])

CHANGES = (
    Change(
        "first-failing-filter-alone",
        "On a node the first filter that fails ends the run, and its reasons and code are the node's; all ran in 1.25.",
        ChangeKind.FILTER,
        component(finish=finish_1_36),
    ),
    Change(
        "pre-filter-refusals-are-no-statuses",
        "A pod that PreFilter refuses leaves nodes without a status, so preemption tries every node.",
        ChangeKind.PREEMPTION,
        deciding(refusal_is_status=False),
    ),
    Change(
        "victims-get-a-condition",
        "Victims get the condition DisruptionTarget before they are deleted, and their event does not name the pod: "
        "PodDisruptionConditions is on.",
        ChangeKind.PREEMPTION,
        together(
            plugins(default_preemption.PLUGIN_1_26),
            gates({"PodDisruptionConditions": BETA}, idle=("PodDisruptionConditions",)),
        ),
        source="KEP-3329",
    ),
    Change(
        "extended-resources-of-zero",
        "NodeResourcesFit does not compare extended resources of which a pod asks for 0.",
        ChangeKind.FILTER,
        together(plugins(node_resources_fit.PLUGIN_1_26), queueing(looking_first(node_resources_fit_1_26))),
    ),
    Change(
        "spread-inclusion-policies",
        "nodeAffinityPolicy and nodeTaintsPolicy of spread constraints say which nodes count, and taints of effect "
        "PreferNoSchedule do not leave nodes out any more: the gate is on.",
        ChangeKind.FILTER,
        together(plugins(pod_topology_spread.PLUGIN_1_24), gates({"NodeInclusionPolicyInPodTopologySpread": BETA})),
        source="KEP-3094",
    ),
    Change(
        "cinder-disks-are-csi-volumes",
        "Cinder volumes are always those of their CSI driver.",
        ChangeKind.FILTER,
        plugins(volume_limits.NODE_VOLUME_LIMITS_1_26, *volume_limits.NON_CSI_LIMITS_1_26),
    ),
    Change(
        "dynamic-resources-can-be-turned-on",
        "The plugin DynamicResources is registered; its gate is off.",
        ChangeKind.PLUGIN,
        together(
            plugins(dynamic_resources.PLUGIN_1_26),
            component(multi_point=MULTI_POINT),
            gates({"DynamicResourceAllocation": ALPHA}),
        ),
        source="KEP-3063",
    ),
    Change(
        "messages-say-what-pre-filter-refused",
        "The message of a pod that PreFilter refused says so once, and none of its parts that is empty.",
        ChangeKind.REASON,
        deciding(fit_error=fit_error_1_36),
    ),
    Change(
        "percentage-of-nodes-by-profile",
        "Profiles of v1 have a percentageOfNodesToScore of their own, and an extension point preEnqueue.",
        ChangeKind.CONFIGURATION,
        without_later("profiles.percentageOfNodesToScore", "profiles.plugins.preEnqueue"),
    ),
    Change(
        "gates-of-1-26",
        "The plugin SchedulingGates holds pods back that have scheduling gates; its gate is off.",
        ChangeKind.GATE,
        together(
            at_every_point(
                replace(queue_and_bind.SCHEDULING_GATES_1_36, gate="PodSchedulingReadiness", gate_default=False)
            ),
            providers_run(Point.PRE_ENQUEUE, "SchedulingGates"),
            gates({"PodSchedulingReadiness": ALPHA}),
        ),
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
