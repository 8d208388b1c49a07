"""Release 1.35: DynamicResources scores, pods that look alike share a ranking, one reason for all taints."""

from __future__ import annotations

from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF, LOCKED
from kubescheduler.framework.deciding.opportunistic_batch import opportunistic_batching
from kubescheduler.framework.plugins import dynamic_resources, nodes, queue_and_bind
from kubescheduler.releases import edits, v1_34
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.gate_history import NEEDS_1_35
from kubescheduler.releases.release import ChangeKind

CHANGES = (
    change(
        "untolerated-taints-one-reason",
        "The reason of TaintToleration no longer names the taint, so nodes with different taints count together.",
        ChangeKind.REASON,
        edits.plugins(nodes.TAINT_TOLERATION_1_36),
    ),
    change(
        "dynamic-resources-scores",
        "DynamicResources scores, with weight 2: of requests with alternatives the better ones score higher.",
        ChangeKind.SCORE,
        edits.plugins(dynamic_resources.PLUGIN_1_36),
        source="KEP-4816",
    ),
    change(
        "opportunistic-batching",
        "A pod that looks like the one before it takes the next node of the ranking kept from that: "
        "OpportunisticBatching is on.",
        ChangeKind.ORDER,
        edits.deciding(batching=opportunistic_batching),
        edits.gates({"OpportunisticBatching": BETA}),
        source="KEP-5598",
    ),
    change(
        "node-declared-features",
        "The plugin NodeDeclaredFeatures is registered; its gate is off.",
        ChangeKind.PLUGIN,
        edits.at_every_point(nodes.NODE_DECLARED_FEATURES_1_35),
        edits.gates({"NodeDeclaredFeatures": ALPHA}),
        source="KEP-5328",
    ),
    change(
        "gang-scheduling",
        "The plugin GangScheduling lets pods of a group wait for each other; its gate is off.",
        ChangeKind.PLUGIN,
        edits.at_every_point(queue_and_bind.GANG_SCHEDULING_1_36),
        edits.gates({"GangScheduling": ALPHA, "GenericWorkload": ALPHA}, idle=("GenericWorkload",)),
        source="KEP-4671",
    ),
    change(
        "gates-of-1-35",
        "Resizing pods in place and dynamic resource allocation can no longer be turned off; comparing tolerations, "
        "limits of volumes without a driver, device taint rules and resizing pod-level resources can be turned on.",
        ChangeKind.GATE,
        edits.gates(
            {
                "ContainerRestartRules": BETA,
                "DynamicResourceAllocation": LOCKED,
                "InPlacePodVerticalScaling": LOCKED,
                "NominatedNodeNameForExpectation": BETA,
                "SchedulerAsyncAPICalls": BETA_OFF,
                **dict.fromkeys(
                    (
                        "DRADeviceTaintRules",
                        "InPlacePodLevelResourcesVerticalScaling",
                        "TaintTolerationComparisonOperators",
                        "VolumeLimitScaling",
                    ),
                    ALPHA,
                ),
            },
            idle=("DRADeviceTaintRules",),
            needs=NEEDS_1_35,
        ),
    ),
)

RELEASE = after(
    v1_34.RELEASE,
    "1.35",
    CHANGES,
    version="1.35.6",
    summary="DynamicResources scores, one reason for all taints",
)
