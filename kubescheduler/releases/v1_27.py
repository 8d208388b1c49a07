"""Release 1.27: claims for one pod only, matchLabelKeys, one way to add up requests."""

from __future__ import annotations

from msgspec.structs import replace

from clusterstate.usage import account_1_27
from kubescheduler.config.gates import ALPHA, BETA
from kubescheduler.core.status import Code
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_affinity,
    node_resources_balanced_allocation,
    node_resources_fit,
    pod_topology_spread,
    queue_and_bind,
    volume_binding,
    volume_filters,
    volume_limits,
)
from kubescheduler.releases import edits, v1_26
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind

PRE_FILTERS_V1BETA2 = (
    "NodeResourcesFit",
    "NodePorts",
    "VolumeRestrictions",
    "PodTopologySpread",
    "InterPodAffinity",
    "VolumeBinding",
    "VolumeZone",
    "NodeAffinity",
)

CHANGES = (
    change(
        "claims-for-one-pod-only",
        "A ReadWriteOncePod claim that another pod uses refuses nodes, and preemption may help: the gate is on.",
        ChangeKind.FILTER,
        edits.plugins(volume_filters.VOLUME_RESTRICTIONS_1_27),
        edits.gates({"ReadWriteOncePod": BETA}, idle=("ReadWriteOncePod",)),
        source="KEP-2485",
    ),
    change(
        "overhead-scores-in-full",
        "A pod's overhead of cpu counts in thousandths where scores add up requests; it counted in whole cores.",
        ChangeKind.SCORE,
        edits.viewing(accounting=account_1_27),
        edits.plugins(node_resources_balanced_allocation.PLUGIN_1_27),
        edits.plugin("NodeResourcesFit", points=node_resources_fit.POINTS_1_27),
    ),
    change(
        "resources-listed-twice-count-twice",
        "Of a resource that its scoringStrategy lists twice NodeResourcesFit counts both weights; before, the last.",
        ChangeKind.SCORE,
        edits.plugin("NodeResourcesFit", make=node_resources_fit.node_resources_fit_1_27),
    ),
    change(
        "match-label-keys-and-min-domains",
        "matchLabelKeys and minDomains of spread constraints count, and an empty selector counts no pods.",
        ChangeKind.FILTER,
        edits.plugins(pod_topology_spread.PLUGIN_1_27),
        edits.gates({"MatchLabelKeysInPodTopologySpread": BETA, "MinDomainsInPodTopologySpread": BETA}),
        source="KEP-3243",
    ),
    change(
        "local-volumes-name-their-nodes",
        "Bound local volumes leave all nodes out but their hosts before Filter.",
        ChangeKind.REASON,
        edits.plugins(volume_binding.PLUGIN_1_27),
    ),
    change(
        "zones-looked-up-before-filter",
        "VolumeZone looks claims up before any node, so a missing one refuses the pod as a whole.",
        ChangeKind.FILTER,
        edits.plugins(volume_filters.VOLUME_ZONE_1_27),
        edits.providers_run(Point.PRE_FILTER, *PRE_FILTERS_V1BETA2),
    ),
    change(
        "contradicting-terms-are-left-out",
        "A node affinity term whose names contradict each other no longer refuses the pod if another one names nodes.",
        ChangeKind.FILTER,
        edits.plugins(node_affinity.PLUGIN_1_27),
    ),
    change(
        "ignore-preferred-terms-of-existing-pods",
        "InterPodAffinity can be told to ignore preferred terms of running pods.",
        ChangeKind.CONFIGURATION,
        edits.plugins(inter_pod_affinity.PLUGIN_1_27),
    ),
    change(
        "in-tree-disks-are-csi-volumes",
        "EBS and Azure disks are always those of their CSI drivers, whatever a CSINode says.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_27, *volume_limits.NON_CSI_LIMITS_1_27),
        edits.gates(gone=("CSIMigrationAWS", "CSIMigrationAzureDisk")),
    ),
    change(
        "victims-of-others-do-not-wait",
        "Only pods that the scheduler itself preempted keep a nominated pod from preempting again.",
        ChangeKind.PREEMPTION,
        edits.plugins(default_preemption.PLUGIN_1_27),
    ),
    change(
        "scores-can-be-skipped",
        "PreScore may say that a plugin has no score for a pod.",
        ChangeKind.SCORE,
        edits.deciding(pre_score_skips=frozenset({Code.Skip})),
    ),
    change(
        "scheduling-gates-by-default",
        "Pods with scheduling gates wait: PodSchedulingReadiness is on.",
        ChangeKind.QUEUE,
        edits.plugins(replace(queue_and_bind.SCHEDULING_GATES_1_36, gate="PodSchedulingReadiness")),
        edits.gates({"PodSchedulingReadiness": BETA}),
        source="KEP-3521",
    ),
    change(
        "leader-elected-by-lease-alone",
        "The resource lock of the leader election has to be a Lease.",
        ChangeKind.CONFIGURATION,
        edits.component(locks=("leases",)),
    ),
    change(
        "gates-of-1-27",
        "Resizing pods in place can be turned on.",
        ChangeKind.GATE,
        edits.gates({"InPlacePodVerticalScaling": ALPHA}),
    ),
)

RELEASE = after(
    v1_26.RELEASE,
    "1.27",
    CHANGES,
    version="1.27.1",
    summary="ReadWriteOncePod, matchLabelKeys, overhead scores in full",
)
MULTI_POINT = RELEASE.framework_rules.component.multi_point
