"""Release 1.24: every node is asked by all filters, and NodeAffinity narrows the nodes before them."""

from __future__ import annotations

from typing import Any

from kubescheduler.config.format_1_36 import finish_1_24
from kubescheduler.config.gates import ALPHA, GA, LOCKED
from kubescheduler.core.filter_results import fit_error_1_24
from kubescheduler.extender.wire import counted_preemption
from kubescheduler.framework.deciding.find_nodes import always_alone, narrow_1_24
from kubescheduler.framework.plugins import (
    default_preemption,
    node_affinity,
    node_resources_fit,
    nodes,
    pod_topology_spread,
)
from kubescheduler.releases import edits, v1_23
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind


def for_five_minutes() -> dict[str, Any]:
    """How long pods lie without an event, and which events move them."""
    from kubescheduler.queue.queueing_hints import EVENTS_1_24

    return {"lies_for": 300.0, "events": EVENTS_1_24}


CHANGES = (
    change(
        "all-filters-run",
        "Every node is asked by all Filter plugins, whose reasons it gives together, where the first that refused it "
        "ended that; of a point's own plugins those run first that stand in for one of multiPoint.",
        ChangeKind.FILTER,
        edits.component(finish=finish_1_24),
    ),
    change(
        "errors-of-keys-are-nested",
        "The text about unknown keys of args begins with strict decoding error at every level; of profiles that cannot "
        "be made it does not say any more that the scheduler could not be created.",
        ChangeKind.CONFIGURATION,
        edits.component(nests_strict_errors=True),
        edits.framework(cannot_make=""),
    ),
    change(
        "taints-are-untolerated",
        "TaintToleration says that a node had an untolerated taint.",
        ChangeKind.REASON,
        edits.plugins(nodes.TAINT_TOLERATION_1_24),
    ),
    change(
        "node-affinity-narrows-nodes",
        "NodeAffinity names the only nodes that a pod may go to where its terms do, and no other is looked at; a name "
        "that no node has is an error of the attempt.",
        ChangeKind.FILTER,
        edits.plugins(node_affinity.PLUGIN_1_24),
        edits.deciding(narrow=narrow_1_24, names_are_nodes=True),
    ),
    change(
        "pod-topology-spread-counts-eligible-nodes",
        "PodTopologySpread counts pods on nodes that the pod could go to alone, and rounds its score; constraints have "
        "minDomains with the feature gate MinDomainsInPodTopologySpread.",
        ChangeKind.FILTER,
        edits.plugins(pod_topology_spread.PLUGIN_1_24),
        edits.gates({"MinDomainsInPodTopologySpread": ALPHA}),
        edits.reads(topologySpreadConstraints__minDomains="MinDomainsInPodTopologySpread"),
        source="KEP-3022",
    ),
    change(
        "node-resources-fit-scores-overhead",
        "NodeResourcesFit counts the overhead of the pod while it scores.",
        ChangeKind.SCORE,
        edits.plugins(node_resources_fit.PLUGIN_1_24),
    ),
    change(
        "messages-end-in-preemption",
        "The message of a pod that fits nowhere ends in why preemption does not help, and extenders are told, and say, "
        "how many budgets are violated.",
        ChangeKind.REASON,
        edits.plugins(default_preemption.PLUGIN_1_24),
        edits.deciding(fit_error=fit_error_1_24, reports_post_filter=True),
        edits.wire(preemption=counted_preemption, counts_violations=True),
    ),
    change(
        "unschedulable-for-five-minutes",
        "A pod that no event moves is tried again after 5 minutes instead of 1, and any update of a node moves pods "
        "that NodeAffinity, NodeName, NodePorts, NodeResourcesFit or TaintToleration rejected.",
        ChangeKind.QUEUE,
        edits.queueing(for_five_minutes),
    ),
    change(
        "features-that-are-always-there",
        "Overhead, storage capacity, namespace selectors, default spreading and trying the nominated node alone first "
        "cannot be turned off; leader election does not lock on endpoints or config maps alone.",
        ChangeKind.GATE,
        edits.gates(
            {"CSIMigrationAzureDisk": GA, "CSIMigrationOpenStack": LOCKED, "CSIMigrationRBD": ALPHA},
            gone=(
                "PodAffinityNamespaceSelector",
                "PodOverhead",
                "PreferNominatedNode",
                "CSIStorageCapacity",
                "DefaultPodTopologySpread",
                "csiMigrationRBD",
            ),
            idle=("CSIMigrationRBD",),
        ),
        edits.deciding(nominated_first=always_alone),
        edits.component(locks=("leases", "endpointsleases", "configmapsleases")),
    ),
)

RELEASE = after(
    v1_23.RELEASE,
    "1.24",
    CHANGES,
    version="1.24.4",
    summary="all filters run, NodeAffinity narrows the nodes before",
)
