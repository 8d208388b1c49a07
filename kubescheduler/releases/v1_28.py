"""Release 1.28: requests of 0 are not compared, plugins pass over pods that do not concern them."""

from __future__ import annotations

from clusterstate.usage import account_1_28
from kubescheduler.config.component.config_schema import V1, V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2, V1BETA3
from kubescheduler.config.gate_records import ALPHA, BETA, Gate
from kubescheduler.framework.plugins import (
    inter_pod_affinity,
    node_resources_fit,
    node_volume_limits,
    non_csi_limits,
    pod_topology_spread,
)
from kubescheduler.releases import v1_27
from kubescheduler.releases.changes import after, component, deciding, gates, plugins, together, viewing, without_later
from kubescheduler.releases.release import Change, ChangeKind

CHANGES = (
    Change(
        "requests-of-zero-are-not-compared",
        "NodeResourcesFit compares cpu, memory and ephemeral storage only where a pod asks for more than 0 of them.",
        ChangeKind.FILTER,
        plugins(node_resources_fit.PLUGIN_1_28),
    ),
    Change(
        "sidecars-can-be-turned-on",
        "Requests of sidecars are added up with those of containers; with the gate off such pods fit nowhere.",
        ChangeKind.GATE,
        together(viewing(accounting=account_1_28), gates({"SidecarContainers": ALPHA})),
        source="KEP-753",
    ),
    Change(
        "spread-and-affinity-skip",
        "PodTopologySpread and InterPodAffinity give no score for pods that they do not concern.",
        ChangeKind.SCORE,
        plugins(pod_topology_spread.PLUGIN_1_28, inter_pod_affinity.PLUGIN_1_24),
    ),
    Change(
        "gce-disks-are-csi-volumes",
        "GCE persistent disks are always those of their CSI driver.",
        ChangeKind.FILTER,
        together(
            plugins(node_volume_limits.PLUGIN_1_28, *non_csi_limits.LIMITS_1_28),
            gates({"CSIMigrationRBD": Gate(default=False, stage="deprecated")}, gone=("CSIMigrationGCE",)),
        ),
    ),
    Change(
        "pre-filter-refusals-are-statuses",
        "A pod that PreFilter refuses gives every node that status; preemption leaves those out that it cannot help.",
        ChangeKind.PREEMPTION,
        deciding(refusal_is_status=True),
    ),
    Change(
        "no-v1beta2",
        "Configurations of v1beta2 are not read any more; those of v1 have delayCacheUntilActive.",
        ChangeKind.CONFIGURATION,
        together(
            component(
                versions=(V1, V1BETA3),
                elsewhere=dict.fromkeys(
                    (V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2), "{} reads v1; kubescheduler migrate makes it from this"
                ),
            ),
            without_later("delayCacheUntilActive"),
        ),
    ),
    Change(
        "queueing-hints",
        "Plugins can say which events help a pod: SchedulerQueueingHints is on.",
        ChangeKind.QUEUE,
        gates({"SchedulerQueueingHints": BETA}),
        source="KEP-4247",
    ),
)

RELEASE = after(
    v1_27.RELEASE,
    "1.28",
    CHANGES,
    version="1.28.3",
    summary="v1beta2 is gone, requests of 0 are not compared",
)
