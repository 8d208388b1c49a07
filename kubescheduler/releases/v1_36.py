"""Release 1.36: balance is what the pod changes of it, image volumes count, nodes declare features."""

from __future__ import annotations

from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF, GA, LOCKED
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import (
    node_resources_balanced_allocation,
    node_resources_fit,
    nodes,
    queue_and_bind,
    volume_limits,
)
from kubescheduler.releases import edits, v1_35
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.gate_history import NEEDS_1_36
from kubescheduler.releases.release import ChangeKind

CHANGES = (
    change(
        "balanced-allocation-compares-with-and-without-the-pod",
        "NodeResourcesBalancedAllocation scores what the pod changes of a node's balance, not the balance with it.",
        ChangeKind.SCORE,
        edits.plugins(node_resources_balanced_allocation.PLUGIN_1_36),
    ),
    change(
        "image-locality-counts-image-volumes",
        "ImageLocality adds the images of image volumes to those of containers.",
        ChangeKind.SCORE,
        edits.plugins(nodes.IMAGE_LOCALITY_1_36),
    ),
    change(
        "node-declared-features-by-default",
        "NodeDeclaredFeatures refuses nodes that do not declare the features a pod needs; it was off.",
        ChangeKind.FILTER,
        edits.plugins(nodes.NODE_DECLARED_FEATURES_1_36),
        edits.gates({"NodeDeclaredFeatures": BETA}, needs=NEEDS_1_36),
        source="KEP-5328",
    ),
    change(
        "pod-level-resources-resized",
        "For pods with requests of their own, what is being resized counts: InPlacePodLevelResourcesVerticalScaling "
        "is on.",
        ChangeKind.GATE,
        edits.gates({"InPlacePodLevelResourcesVerticalScaling": BETA}),
        source="KEP-5419",
    ),
    change(
        "portworx-volumes-are-csi-volumes",
        "Portworx volumes are always those of their CSI driver, whatever a CSINode says.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_36),
    ),
    change(
        "dynamic-resources-by-default",
        "Extended resources of device classes, device taints, partitionable devices, binding conditions and consumable "
        "capacity are on.",
        ChangeKind.GATE,
        edits.gates(
            {
                **dict.fromkeys(
                    (
                        "DRAConsumableCapacity",
                        "DRADeviceBindingConditions",
                        "DRADeviceTaints",
                        "DRAExtendedResource",
                        "DRAPartitionableDevices",
                    ),
                    BETA,
                ),
                **dict.fromkeys(
                    ("DRAListTypeAttributes", "DRANodeAllocatableResources", "DRAWorkloadResourceClaims"), ALPHA
                ),
                "DRAAdminAccess": LOCKED,
                "DRADeviceTaintRules": BETA_OFF,
                "DRAPrioritizedList": GA,
                "VolumeAttributesClass": LOCKED,
            },
            gone=("CSIMigrationPortworx", "MatchLabelKeysInPodAffinity"),
            idle=("DRAListTypeAttributes", "DRANodeAllocatableResources", "DRAWorkloadResourceClaims"),
        ),
    ),
    change(
        "scoring-strategies-have-what-they-need",
        "NodeResourcesFit refuses a requestedToCapacityRatio beside another type of scoringStrategy, and faults of its "
        "shape have it in their paths.",
        ChangeKind.CONFIGURATION,
        edits.plugin(
            "NodeResourcesFit", make=node_resources_fit.node_resources_fit_1_36, args=node_resources_fit.ARGS_1_36
        ),
    ),
    change(
        "placements-of-pod-groups",
        "Plugins can place groups of pods (TopologyPlacementGenerator, PodGroupPodsCount), off by default; "
        "NodeResourcesFit is at placementScore.",
        ChangeKind.PLUGIN,
        edits.component(points=tuple(Point), later=frozenset()),
        edits.plugin("NodeResourcesFit", points=node_resources_fit.POINTS_1_36),
        edits.at_every_point(
            queue_and_bind.TOPOLOGY_PLACEMENT_GENERATOR_1_36, queue_and_bind.POD_GROUP_PODS_COUNT_1_36
        ),
        edits.gates(
            {"TopologyAwareWorkloadScheduling": ALPHA, "WorkloadAwarePreemption": ALPHA},
            idle=("TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"),
        ),
    ),
)

RELEASE = after(
    v1_35.RELEASE,
    "1.36",
    CHANGES,
    version="1.36.2",
    reads_gates_at_start=False,
    summary="NodeResourcesBalancedAllocation has another formula",
)

FRAMEWORK = RELEASE.framework_rules
FORMAT = FRAMEWORK.component
PLUGINS, MULTI_POINT = FORMAT.plugins, FORMAT.multi_point
GATES = RELEASE.gates
VIEW = RELEASE.default_view
queue, cycle = FRAMEWORK.queue, FRAMEWORK.cycle
