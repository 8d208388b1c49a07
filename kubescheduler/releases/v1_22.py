"""Release 1.22: v1beta2, NodeResourcesFit scores, and balance is of what pods really ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clusterstate.manifests.api_checks import CHECKS_1_20
from clusterstate.manifests.fields import Accepted
from clusterstate.pod_view_1_36 import naming_controllers
from clusterstate.podinfo import ReleaseView
from kubescheduler.config.config_schema import V1BETA1, V1BETA2
from kubescheduler.config.format_1_20 import needed_args_1_20
from kubescheduler.config.format_1_22 import REMOVED, errors_1_22, finish_1_22, merge_1_22
from kubescheduler.config.gates import ALPHA, BETA
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_resources_balanced_allocation,
    node_resources_fit,
    nodes,
    pod_topology_spread,
    resource_scores,
    services,
    volume_binding,
    volume_filters,
)
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER, InTreePlugin, Providers
from kubescheduler.releases import edits, v1_4, v1_21
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind, Release
from predicates.resources import admitted, node_resources_fit_1_20

if TYPE_CHECKING:
    pass

OLDER = v1_21.RELEASE.framework_rules.component.providers[DEFAULT_PROVIDER]

PROVIDERS: Providers = {
    DEFAULT_PROVIDER: {
        **OLDER,
        Point.PRE_FILTER: (
            "NodeResourcesFit",
            "NodePorts",
            "VolumeRestrictions",
            "PodTopologySpread",
            "InterPodAffinity",
            "VolumeBinding",
            "NodeAffinity",
        ),
        Point.SCORE: (
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
            "InterPodAffinity",
            "NodeResourcesFit",
            "NodeAffinity",
            "PodTopologySpread",
            "TaintToleration",
        ),
    }
}
"""The plugins of v1beta2, as those of the provider that is left."""


def by_named_controllers(older: Release) -> Release:
    """Pods are alike only if their controllers have the same name."""

    def view(gates: Mapping[str, bool]) -> ReleaseView:
        found = older.view(gates)
        return replace(found, pod_key=naming_controllers(found.pod_key))

    return replace(older, view=view)


def args_checked_early(older: Release) -> Release:
    """Args are checked with the whole configuration, but for those of plugins that upstream's table names wrongly."""

    def early(record: InTreePlugin) -> InTreePlugin:
        if record.args is None or record.name in CHECKED_WHEN_MADE:
            return record
        return replace(record, args=replace(record.args, checked_with_config=True))

    return edits.plugins(*map(early, older.framework_rules.plugins.values()))(older)


CHECKED_WHEN_MADE = frozenset({"NodeResourcesFit", "ServiceAffinity"})


def single_pod(gates: Mapping[str, bool]) -> Mapping[tuple[str, str], tuple[tuple[str, ...], str]]:
    """The access modes where the gate for the one of single pods is off; the releases without the gate have the mode.

    Upstream: 1.22 ValidationOptionsForPersistentVolume, ValidationOptionsForPersistentVolumeClaim.
    """
    if gates.get(volume_filters.ONCE_GATE, True):
        return {}
    taken = (v1_4.SHARED, f"ReadWriteOncePod takes the feature gate {volume_filters.ONCE_GATE}")
    return {v1_4.CLAIM: taken, v1_4.VOLUME: taken}


def accepted(gates: Mapping[str, bool]) -> Accepted:
    """Volumes are for single pods where the gate says so."""
    values = {v1_4.TOLERATION: v1_4.BEFORE_SINGLE_POD[v1_4.TOLERATION], **single_pod(gates)}
    return Accepted(values, CHECKS_1_20)


def created(_: str) -> str:
    """What stands before the texts of what it cannot make."""
    return "couldn't create scheduler: "


def by_registered() -> dict[str, Any]:
    """What plugins register."""
    from kubescheduler.queue.queueing_hints import EVENTS_1_22

    return {"events": EVENTS_1_22}


def activating() -> dict[str, Any]:
    """Plugins name pods in the cycle state that are to be tried."""
    from kubescheduler.cycle.cycle_rules import PODS_TO_ACTIVATE

    return {"activate_key": PODS_TO_ACTIVATE}


CHANGES = (
    change(
        "v1beta2",
        "Configurations are of v1beta2, or still of v1beta1; in v1beta2 a plugin that is enabled with another weight "
        "need not be disabled first, and plugins that scored resources one by one are gone.",
        ChangeKind.CONFIGURATION,
        edits.component(
            native=V1BETA2,
            versions=(V1BETA2, V1BETA1),
            later=frozenset({"profiles.plugins.multiPoint", "profiles.plugins.preEnqueue"}),
            same_queue_sort=("has to match for all profiles", "has to match for all profiles"),
            merge=merge_1_22,
            errors=errors_1_22,
            construction_problems=needed_args_1_20,
            finish=finish_1_22,
            refused={V1BETA2: REMOVED},
        ),
    ),
    change(
        "no-autoscaler-provider",
        "There are no algorithm providers any more; by default NodePreferAvoidPods does not score, NodeResourcesFit "
        "scores in place of NodeResourcesLeastAllocated, and VolumeRestrictions takes part in PreFilter.",
        ChangeKind.POLICY,
        edits.component(providers=PROVIDERS),
        edits.policies(
            from_provider=created, gone=("provider", "hard_pod_affinity_symmetric_weight", "scheduler_name")
        ),
    ),
    change(
        "node-resources-fit-scores",
        "NodeResourcesFit scores by its scoringStrategy, of resources that the node has; the overhead of the pod does "
        "not count.",
        ChangeKind.SCORE,
        edits.plugins(node_resources_fit.PLUGIN_1_22),
        source="KEP-2458",
    ),
    change(
        "scores-of-resources-that-nodes-have",
        "NodeResourcesLeastAllocated, NodeResourcesMostAllocated and RequestedToCapacityRatio leave out resources that "
        "a node does not have, and scalar ones that the pod does not ask for; before, they counted with 0.",
        ChangeKind.SCORE,
        edits.plugins(
            resource_scores.NODE_RESOURCES_LEAST_ALLOCATED_1_22,
            resource_scores.NODE_RESOURCES_MOST_ALLOCATED_1_22,
            resource_scores.REQUESTED_TO_CAPACITY_RATIO_1_22,
        ),
    ),
    change(
        "balanced-allocation-of-real-requests",
        "NodeResourcesBalancedAllocation goes by the standard deviation of what pods really ask for, without defaults, "
        "of any resources; the gate BalanceAttachedNodeVolumes is gone.",
        ChangeKind.SCORE,
        edits.plugins(node_resources_balanced_allocation.PLUGIN_1_22),
        edits.gates(gone=("BalanceAttachedNodeVolumes",)),
    ),
    change(
        "spreading-by-the-controller-that-owns-the-pod",
        "PodTopologySpread by default, and SelectorSpread, count the pods that services and the pod's own controller "
        "select; before, those of every controller whose selector matched the pod.",
        ChangeKind.SCORE,
        edits.plugins(pod_topology_spread.PLUGIN_1_22, services.SELECTOR_SPREAD_1_22),
        by_named_controllers,
    ),
    change(
        "inter-pod-affinity-gives-one-reason",
        "InterPodAffinity gives one reason, without a general one, and its terms may select namespaces by labels.",
        ChangeKind.REASON,
        edits.plugins(inter_pod_affinity.PLUGIN_1_22),
        edits.gates({"PodAffinityNamespaceSelector": BETA}),
        source="KEP-2249",
    ),
    change(
        "nominated-node-first",
        "The node that a pod is nominated to is tried alone first: PreferNominatedNode is on.",
        ChangeKind.GATE,
        edits.gates({"PreferNominatedNode": BETA}),
        source="KEP-1923",
    ),
    change(
        "read-write-once-pod",
        "With the feature gate ReadWriteOncePod a claim with that access mode is for one pod at a time.",
        ChangeKind.GATE,
        edits.plugins(volume_filters.VOLUME_RESTRICTIONS_1_22),
        edits.gates({"ReadWriteOncePod": ALPHA}),
        edits.release_fields(accepted=accepted),
        source="KEP-2485",
    ),
    change(
        "volume-binding-has-a-shape",
        "VolumeBinding's args have a shape, for the feature gate VolumeCapacityPriority.",
        ChangeKind.CONFIGURATION,
        edits.plugins(volume_binding.PLUGIN_1_22),
    ),
    change(
        "policies-need-args",
        "NodeLabel, ServiceAffinity and RequestedToCapacityRatio need args: a policy that names their algorithms "
        "without an argument is refused.",
        ChangeKind.POLICY,
        edits.plugins(nodes.NODE_LABEL_1_22, services.SERVICE_AFFINITY_1_22),
    ),
    change(
        "plugins-register-events",
        "Every plugin registers the events that may help a pod that it rejected, and plugins may have pods tried at "
        "once.",
        ChangeKind.QUEUE,
        edits.queueing(by_registered),
        edits.cycling(activating),
    ),
    change(
        "nodes-are-looked-at-first",
        "A node that comes or changes has a pod tried again only if it passes a first look there: resources, "
        "host ports, selector and required affinity, taints of effect NoSchedule.",
        ChangeKind.QUEUE,
        edits.queueing(admits=partial(admitted, node_resources_fit_1_20)),
    ),
    change(
        "preemption-needs-victims",
        "A node where preemption would need no victim is an error, and victims that wait for Permit plugins are "
        "rejected instead of being deleted.",
        ChangeKind.PREEMPTION,
        edits.plugins(default_preemption.PLUGIN_1_22),
    ),
    change(
        "args-checked-with-the-configuration",
        "The args of plugins are checked with the whole configuration, all faults at once; before, when a plugin was "
        "made.",
        ChangeKind.CONFIGURATION,
        args_checked_early,
    ),
)

RELEASE = after(
    v1_21.RELEASE,
    "1.22",
    CHANGES,
    version="1.22.6",
    summary="v1beta2, NodeResourcesFit scores, balance is of what pods really ask for",
)
