"""Release 1.24: every node is asked by all filters, and NodeAffinity narrows the nodes before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kubescheduler.config.component.format_1_36 import finish_1_24
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
from kubescheduler.releases import v1_23
from kubescheduler.releases.release import (
    Change,
    ChangeKind,
    after,
    component,
    deciding,
    framework,
    gates,
    plugins,
    queueing,
    together,
    wire,
)

if TYPE_CHECKING:
    from kubescheduler.queue.queue_policy import QueuePolicy


def for_five_minutes(older: QueuePolicy) -> QueuePolicy:
    """How long pods lie without an event, and which events move them."""
    from kubescheduler.queue.queueing_hints import EVENTS_1_24

    return replace(older, lies_for=300.0, events=EVENTS_1_24)


CHANGES = (
    Change(
        "all-filters-run",
        "Every node is asked by all Filter plugins, whose reasons it gives together, where the first that refused it "
        "ended that; of a point's own plugins those run first that stand in for one of multiPoint.",
        ChangeKind.FILTER,
        component(finish=finish_1_24),
    ),
    Change(
        "errors-of-keys-are-nested",
        "The text about unknown keys of args begins with strict decoding error at every level; of profiles that cannot "
        "be made it does not say any more that the scheduler could not be created.",
        ChangeKind.CONFIGURATION,
        together(component(nests_strict_errors=True), framework(cannot_make="")),
    ),
    Change(
        "taints-are-untolerated",
        "TaintToleration says that a node had an untolerated taint.",
        ChangeKind.REASON,
        plugins(nodes.TAINT_TOLERATION_1_24),
    ),
    Change(
        "node-affinity-narrows-nodes",
        "NodeAffinity names the only nodes that a pod may go to where its terms do, and no other is looked at.",
        ChangeKind.FILTER,
        together(plugins(node_affinity.PLUGIN_1_24), deciding(narrow=narrow_1_24)),
    ),
    Change(
        "pod-topology-spread-counts-eligible-nodes",
        "PodTopologySpread counts pods on nodes that the pod could go to alone, and rounds its score; constraints have "
        "minDomains with the feature gate MinDomainsInPodTopologySpread.",
        ChangeKind.FILTER,
        together(plugins(pod_topology_spread.PLUGIN_1_24), gates({"MinDomainsInPodTopologySpread": ALPHA})),
        source="KEP-3022",
    ),
    Change(
        "node-resources-fit-scores-overhead",
        "NodeResourcesFit counts the overhead of the pod while it scores.",
        ChangeKind.SCORE,
        plugins(replace(node_resources_fit.PLUGIN_1_24, args=node_resources_fit.ARGS_1_22)),
    ),
    Change(
        "messages-end-in-preemption",
        "The message of a pod that fits nowhere ends in why preemption does not help, and extenders are told, and say, "
        "how many budgets are violated.",
        ChangeKind.REASON,
        together(
            plugins(default_preemption.PLUGIN_1_24),
            deciding(fit_error=fit_error_1_24, reports_post_filter=True),
            wire(preemption=counted_preemption, counts_violations=True),
        ),
    ),
    Change(
        "unschedulable-for-five-minutes",
        "A pod that no event moves is tried again after 5 minutes instead of 1, and any update of a node moves pods "
        "that NodeAffinity, NodeName, NodePorts, NodeResourcesFit or TaintToleration rejected.",
        ChangeKind.QUEUE,
        queueing(for_five_minutes),
    ),
    Change(
        "features-that-are-always-there",
        "Overhead, storage capacity, namespace selectors, default spreading and trying the nominated node alone first "
        "cannot be turned off; leader election does not lock on endpoints or config maps alone.",
        ChangeKind.GATE,
        together(
            gates(
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
            deciding(nominated_first=always_alone),
            component(locks=("leases", "endpointsleases", "configmapsleases")),
        ),
    ),
)

RELEASE = after(
    v1_23.RELEASE,
    "1.24",
    CHANGES,
    version="1.24.4",
    summary="all filters run, NodeAffinity narrows the nodes before",
)
