"""Release 1.21: InterPodAffinity scores from the lowest sum to the highest."""

from __future__ import annotations

from typing import Any

from kubescheduler.config.gates import ALPHA, BETA, LOCKED
from kubescheduler.core.status import filter_failed_1_36
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.find_nodes import alone_if_preferred
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_affinity,
    nodes,
    pod_topology_spread,
    resource_scores,
    volume_binding,
)
from kubescheduler.releases import edits, v1_20
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind


def prepared(point: Point, names: tuple[str, ...]) -> tuple[str, ...]:
    """NodeAffinity is asked before Filter and before Score, too."""
    return (*names, "NodeAffinity") if point in (Point.PRE_FILTER, Point.PRE_SCORE) else names


def by_events() -> dict[str, Any]:
    """Pods are moved by what plugins registered."""
    from clusterstate.objects import Service
    from kubescheduler.queue import queue_policy, queueing_hints
    from kubescheduler.queue.queueing_hints import EVENTS_1_21

    return {
        "resources": {**queueing_hints.RESOURCES, Service: "Service"},
        "node_actions": queueing_hints.node_actions,
        "counts": queue_policy.every_event_counts,
        "helps": queue_policy.by_registered_events,
        "label": queue_policy.label_when_asked,
        "events": EVENTS_1_21,
        "updates_in_place": True,
    }


CHANGES = (
    change(
        "node-affinity-names-selector",
        "NodeAffinity says that a node did not match the pod's node affinity/selector.",
        ChangeKind.REASON,
        edits.plugins(node_affinity.PLUGIN_1_21),
    ),
    change(
        "node-affinity-reads-preferences-in-pre-score",
        "NodeAffinity takes part in PreFilter and PreScore by default; preferences that cannot be parsed fail there.",
        ChangeKind.PLUGIN,
        edits.provider_lists(prepared),
    ),
    change(
        "node-name-names-the-node",
        "NodeName says that a node did not match the requested node name; before, hostname.",
        ChangeKind.REASON,
        edits.plugins(nodes.NODE_NAME_1_21),
    ),
    change(
        "inter-pod-affinity-scores-from-lowest-to-highest",
        "InterPodAffinity scores between the lowest and the highest sum of the nodes that fit, where 0 was always "
        "between the two, and its general reason speaks of rules.",
        ChangeKind.SCORE,
        edits.plugins(inter_pod_affinity.PLUGIN_1_21),
    ),
    change(
        "pod-affinity-namespace-selector",
        "With the feature gate PodAffinityNamespaceSelector terms of pod affinity may select namespaces by labels.",
        ChangeKind.GATE,
        edits.gates({"PodAffinityNamespaceSelector": ALPHA}),
        edits.reads(affinity__namespaceSelector="PodAffinityNamespaceSelector"),
        source="KEP-2249",
    ),
    change(
        "volume-capacity-priority",
        "With the feature gate VolumeCapacityPriority VolumeBinding scores nodes by how full the volumes would be that "
        "are found for the pod's claims.",
        ChangeKind.GATE,
        edits.plugins(volume_binding.PLUGIN_1_21),
        edits.gates({"VolumeCapacityPriority": ALPHA}),
        source="KEP-1845",
    ),
    change(
        "prefer-nominated-node",
        "With the feature gate PreferNominatedNode the node that a pod is nominated to is tried alone first.",
        ChangeKind.GATE,
        edits.gates({"PreferNominatedNode": ALPHA}),
        edits.deciding(nominated_first=alone_if_preferred),
        source="KEP-1923",
    ),
    change(
        "storage-capacity-counts",
        "The feature gates CSIStorageCapacity, GenericEphemeralVolume and CSIMigrationOpenStack are on by default, and "
        "PodDisruptionBudget cannot be turned off.",
        ChangeKind.GATE,
        edits.gates(
            {
                "CSIStorageCapacity": BETA,
                "GenericEphemeralVolume": BETA,
                "CSIMigrationOpenStack": BETA,
                "PodDisruptionBudget": LOCKED,
            },
            gone=("CSINodeInfo", "EvenPodsSpread"),
        ),
    ),
    change(
        "args-errors-are-field-errors",
        "What is wrong with the args of plugins is said all at once, each fault with the path of its field.",
        ChangeKind.CONFIGURATION,
        edits.plugins(
            nodes.NODE_LABEL_1_21,
            resource_scores.NODE_RESOURCES_LEAST_ALLOCATED_1_21,
            resource_scores.NODE_RESOURCES_MOST_ALLOCATED_1_21,
            pod_topology_spread.PLUGIN_1_21,
            resource_scores.REQUESTED_TO_CAPACITY_RATIO_1_21,
        ),
        edits.plugin("DefaultPreemption", args=default_preemption.ARGS_1_21),
    ),
    change(
        "policy-errors-are-returned",
        "Names that a Policy has and the release does not, and wrong numbers of arguments, are errors like others; "
        "before, they ended the process.",
        ChangeKind.POLICY,
        edits.policies(ends_process=False),
    ),
    change(
        "extenders-say-what-preemption-cannot-help",
        "An extender's filter may say of nodes that preemption does not help there.",
        ChangeKind.PREEMPTION,
        edits.wire(knows_unresolvable=True),
    ),
    change(
        "events-that-plugins-registered-move-pods",
        "An event moves a pod that fitted nowhere only if a plugin that rejected it registered such events, as "
        "NodeResourcesFit alone does, and a pod that changes goes on backing off.",
        ChangeKind.QUEUE,
        edits.queueing(by_events),
    ),
    change(
        "filter-errors-without-the-pod",
        "The text of a Filter plugin's error does not name the pod any more.",
        ChangeKind.REASON,
        edits.deciding(filter_error=filter_failed_1_36),
    ),
)

RELEASE = after(
    v1_20.RELEASE,
    "1.21",
    CHANGES,
    version="1.21.9",
    summary="InterPodAffinity scores from the lowest sum to the highest",
)
