"""Release 1.29: sidecars are on, all nodes see the same number of nodes that have an image."""

from __future__ import annotations

from typing import Any

from clusterstate.images import SnapshotImageStates
from kubescheduler.config.config_schema import V1
from kubescheduler.config.format_1_36 import merge_1_36
from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF
from kubescheduler.framework.plugins import default_preemption, volume_filters
from kubescheduler.releases import edits, v1_28
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind


def keeping_no_events() -> dict[str, Any]:
    """As before 1.28."""
    from kubescheduler.queue import queue_policy

    return {"pod_actions": queue_policy.one_update, "retry_period": None, "keeps_events": False}


CHANGES = (
    change(
        "sidecars",
        "Init containers that are always restarted are sidecars: SidecarContainers is on.",
        ChangeKind.GATE,
        edits.gates({"SidecarContainers": BETA}),
        source="KEP-753",
    ),
    change(
        "images-counted-when-pods-are-decided",
        "ImageLocality counts the nodes that have an image when a pod is decided, not when the node came.",
        ChangeKind.SCORE,
        edits.viewing(images=SnapshotImageStates),
    ),
    change(
        "zones-by-either-label",
        "A volume with a beta zone label also fits nodes that have the label without beta.",
        ChangeKind.FILTER,
        edits.plugins(volume_filters.VOLUME_ZONE_1_36),
    ),
    change(
        "events-of-victims-name-the-uid",
        "The event of a preempted pod says the uid of the pod that took its place.",
        ChangeKind.REASON,
        edits.plugins(default_preemption.PLUGIN_1_29),
    ),
    change(
        "no-v1beta3",
        "Configurations of v1beta3 are not read any more, and the plugin SelectorSpread is gone.",
        ChangeKind.CONFIGURATION,
        edits.component(
            versions=(V1,),
            providers={},
            merge=merge_1_36,
            refused={},
        ),
        edits.without_plugins("SelectorSpread"),
    ),
    change(
        "gates-of-1-29",
        "ReadWriteOncePod can no longer be turned off; queueing hints are off; matchLabelKeys and mismatchLabelKeys of "
        "pod affinity can be turned on.",
        ChangeKind.GATE,
        edits.gates(
            {"SchedulerQueueingHints": BETA_OFF, "MatchLabelKeysInPodAffinity": ALPHA}, gone=("ReadWriteOncePod",)
        ),
        edits.reads(affinity__matchLabelKeys="MatchLabelKeysInPodAffinity"),
        edits.queueing(keeping_no_events),
    ),
)

RELEASE = after(
    v1_28.RELEASE,
    "1.29",
    CHANGES,
    version="1.29.1",
    summary="v1beta3 is gone, sidecars count",
)
