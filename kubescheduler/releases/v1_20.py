"""Release 1.20: PodTopologySpread spreads the pods of services too, and filters run in another order."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from clusterstate.podinfo import ReleaseView
from clusterstate.usage import gated_accounting_1_20
from kubescheduler.config.gates import BETA
from kubescheduler.config.policy_1_20_plugins import ALWAYS, spreads_by_gate
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_affinity,
    pod_topology_spread,
    resource_scores,
    volume_binding,
    volume_filters,
)
from kubescheduler.releases import edits, v1_19
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind

FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "EBSLimits",
    "GCEPDLimits",
    "NodeVolumeLimits",
    "AzureDiskLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""Of the providers, in the order they run."""

VIEW = v1_19.VIEW


def view(gates: Mapping[str, bool]) -> ReleaseView:
    """How it reads objects under these feature gates."""
    local_storage = gates.get("LocalStorageCapacityIsolation", True)
    accounting = gated_accounting_1_20(overhead=gates.get("PodOverhead", True), local_storage=local_storage)
    return replace(v1_19.view(gates), accounting=accounting)


CHANGES = (
    change(
        "filters-in-another-order",
        "NodeName, TaintToleration, NodeAffinity and NodePorts filter before NodeResourcesFit: the first plugin that "
        "refuses a node says why, and whether preemption may help there.",
        ChangeKind.ORDER,
        edits.provider_lists(lambda point, names: FILTERS if point is Point.FILTER else names),
    ),
    change(
        "pod-topology-spread-stands-in-for-selector-spread",
        "Pods without constraints are spread by PodTopologySpread, at most 3 apart over hosts and 5 over zones, among "
        "the pods of their services and controllers; SelectorSpread does not run any more.",
        ChangeKind.PLUGIN,
        edits.gates({"DefaultPodTopologySpread": BETA}),
        edits.component(selector_spread=False),
        edits.plugins(pod_topology_spread.PLUGIN_1_20),
        source="KEP-1258",
    ),
    change(
        "policies-get-preemption-and-merged-plugins",
        "A Policy has DefaultPreemption again, a plugin that several of its entries lead to is there once instead of "
        "being refused, and SelectorSpreadPriority is the plugin PodTopologySpread.",
        ChangeKind.POLICY,
        edits.policies(always=ALWAYS, merges=True, spreads=spreads_by_gate),
    ),
    change(
        "node-affinity-of-a-profile",
        "NodeAffinity has args with added affinity, says that a node did not match the pod's node affinity, and "
        "prefers by matchFields too.",
        ChangeKind.FILTER,
        edits.plugins(node_affinity.PLUGIN_1_20),
    ),
    change(
        "missing-claims-refuse-nodes",
        "A claim that is missing or being deleted refuses every node; before, it was an error of the attempt.",
        ChangeKind.FILTER,
        edits.plugins(volume_binding.PLUGIN_1_20, volume_filters.VOLUME_ZONE_1_20),
        edits.deciding(waits=None),
    ),
    change(
        "unreadable-pod-affinity-refuses-the-pod",
        "A pod whose affinity has an invalid selector is refused; before, those terms did not count.",
        ChangeKind.FILTER,
        edits.plugins(inter_pod_affinity.PLUGIN_1_20),
    ),
    change(
        "preemption-candidates-are-sampled",
        "DefaultPreemption has args that say how many candidates are enough.",
        ChangeKind.PREEMPTION,
        edits.plugins(default_preemption.PLUGIN_1_20),
    ),
    change(
        "most-allocated-scores-full-nodes",
        "NodeResourcesMostAllocated gives a node 100 for a resource of which too much would be asked for; before, 0.",
        ChangeKind.SCORE,
        edits.plugins(resource_scores.NODE_RESOURCES_MOST_ALLOCATED_1_20),
    ),
    change(
        "local-storage-gate-counts-no-init-containers",
        "With the feature gate LocalStorageCapacityIsolation off nobody asks for ephemeral storage; before, init "
        "containers still did.",
        ChangeKind.GATE,
        edits.release_fields(view=view),
    ),
    change(
        "parallelism-is-configured",
        "Configurations have the key parallelism.",
        ChangeKind.CONFIGURATION,
        edits.without_later("parallelism"),
    ),
    change(
        "leader-elected-by-lease",
        "The resource lock of the leader election is a Lease by default.",
        ChangeKind.CONFIGURATION,
        edits.release_fields(process_defaults={}),
        edits.component(locks=("leases", "endpoints", "configmaps", "endpointsleases", "configmapsleases")),
    ),
)

RELEASE = after(
    v1_19.RELEASE,
    "1.20",
    CHANGES,
    version="1.20.15",
    summary="PodTopologySpread stands in place of SelectorSpread",
)

queue, cycle, POINTS = v1_19.queue, v1_19.cycle, v1_19.POINTS
FRAMEWORK, GATES = RELEASE.framework_rules, RELEASE.gates
FORMAT, DECIDING, POLICIES = FRAMEWORK.component, FRAMEWORK.deciding, FRAMEWORK.policy_rules
PLUGINS, PROVIDERS = FORMAT.plugins, FORMAT.providers
