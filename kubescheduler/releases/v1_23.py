"""Release 1.23: v1beta3 with multiPoint and other weights, and no Policy any more."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kubescheduler.config.config_schema import V1BETA2, V1BETA3
from kubescheduler.config.format_1_22 import GONE_1_23, REMOVED, errors_1_23, finish_1_23, merge_1_23
from kubescheduler.config.format_1_36 import fault_text_1_36, written_args_1_36, written_sets_1_36
from kubescheduler.config.gates import ALPHA, BETA
from kubescheduler.framework.plugins import services, volume_binding, volume_limits
from kubescheduler.framework.profile_map import PROFILES_1_23
from kubescheduler.releases import edits, v1_22
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.recorded_processes import flags_1_36, live_1_36
from kubescheduler.releases.release import ChangeKind, Edit, Release
from kubescheduler.releases.v1_20 import FILTERS

MULTI_POINT = (
    "PrioritySort",
    *FILTERS,
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
)
"""The order in which they run by default."""


def settled(gates: dict[str, bool]) -> Edit:
    """Feature gates that objects are read by as if they still were there."""

    def edit(release: Release) -> Release:
        older = release.view
        return replace(release, view=lambda others: older({**others, **gates}))

    return edit


def nominating() -> dict[str, Any]:
    """What an attempt that failed says of the nomination."""
    from kubescheduler.cycle import cycle_rules, failures

    return {
        "undecided": failures.undecided_1_23,
        "nominated": failures.nominated_1_36,
        "in_memory": cycle_rules.in_memory_1_36,
        "expires": 900.0,
        "failed_binding_is_event": True,
    }


def by_registered() -> dict[str, Any]:
    """VolumeBinding looks at labels of nodes alone."""
    from kubescheduler.queue.queueing_hints import EVENTS_1_23

    return {"events": EVENTS_1_23}


CHANGES = (
    change(
        "v1beta3-with-multi-point",
        "Configurations are of v1beta3, or still of v1beta2, and have multiPoint, which enables plugins at every point "
        "that they have; VolumeBinding scores by default, 0 for every node.",
        ChangeKind.CONFIGURATION,
        edits.component(
            native=V1BETA3,
            versions=(V1BETA3, V1BETA2),
            multi_point=MULTI_POINT,
            merge=merge_1_23,
            errors=errors_1_23,
            finish=finish_1_23,
            written_sets=written_sets_1_36,
            written_args=written_args_1_36,
            later=frozenset({"profiles.plugins.preEnqueue"}),
            fault_text=fault_text_1_36,
            unknown_text=None,
            nests_strict_errors=False,
        ),
        edits.framework(profiles=PROFILES_1_23, cannot_make="couldn't create scheduler: "),
        source="KEP-2891",
    ),
    change(
        "taint-toleration-weighs-3",
        "TaintToleration weighs 3 by default, NodeAffinity and InterPodAffinity 2; before, and in configurations of "
        "v1beta2, 1.",
        ChangeKind.WEIGHT,
        edits.plugin("TaintToleration", default_weight=3),
        edits.plugin("NodeAffinity", default_weight=2),
        edits.plugin("InterPodAffinity", default_weight=2),
    ),
    change(
        "no-policy",
        "There are no policies any more, and the plugins are gone that came of them.",
        ChangeKind.POLICY,
        edits.framework(policies=None),
        edits.component(gone=GONE_1_23, refused={}, registered=frozenset()),
        edits.without_plugins(*sorted(REMOVED)),
    ),
    change(
        "in-tree-volumes-handed-over",
        "In-tree EBS, GCE and Azure volumes count as those of CSI drivers where a node has handed their plugin over: "
        "CSIMigrationAWS, CSIMigrationGCE and CSIMigrationAzureDisk are on.",
        ChangeKind.GATE,
        edits.gates(
            {
                **dict.fromkeys(("CSIMigrationAWS", "CSIMigrationAzureDisk", "CSIMigrationGCE"), BETA),
                **dict.fromkeys(("CSIMigrationPortworx", "csiMigrationRBD"), ALPHA),
            },
            idle=("CSIMigrationPortworx", "csiMigrationRBD"),
        ),
        source="KEP-625",
    ),
    change(
        "ephemeral-volumes-always",
        "Ephemeral volumes count always; the gate GenericEphemeralVolume is gone.",
        ChangeKind.GATE,
        edits.gates(gone=("GenericEphemeralVolume",)),
        settled({"GenericEphemeralVolume": True}),
        source="KEP-1698",
    ),
    change(
        "limits-refuse-missing-claims",
        "The plugins that limit volumes refuse a pod with a claim that is missing; before, it did not count.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_23, *volume_limits.NON_CSI_LIMITS_1_23),
    ),
    change(
        "lost-claims-refuse-the-pod",
        "VolumeBinding refuses a pod with a claim whose volume is lost, and says that the claim of an ephemeral volume "
        "is waited for.",
        ChangeKind.FILTER,
        edits.plugins(volume_binding.PLUGIN_1_23),
    ),
    change(
        "nominations-written-with-failures",
        "A failed attempt says whether the pod keeps its nomination, and errors take it away; assumed pods that nobody "
        "confirms are dropped after 15 minutes instead of 2, and a binding that fails lets other pods try again.",
        ChangeKind.QUEUE,
        edits.cycling(nominating),
        edits.queueing(by_registered),
    ),
    change(
        "selector-spread-error-text",
        "The error of SelectorSpread where PreScore has not run is worded otherwise.",
        ChangeKind.REASON,
        edits.plugins(services.SELECTOR_SPREAD_1_23),
    ),
)

RELEASE = after(
    v1_22.RELEASE,
    "1.23",
    CHANGES,
    version="1.23.5",
    summary="v1beta3 with multiPoint and other weights, no Policy any more",
    live=live_1_36,
    flags=flags_1_36,
)
