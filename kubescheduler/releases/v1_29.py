"""Release 1.29: sidecars are on, all nodes see the same number of nodes that have an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clusterstate.images import SnapshotImageStates
from kubescheduler.config.component.config_schema import V1
from kubescheduler.config.component.format_1_36 import merge_1_36
from kubescheduler.config.gates import BETA, BETA_OFF
from kubescheduler.framework.plugins import (
    default_preemption,
    volume_filters,
)
from kubescheduler.releases import v1_28
from kubescheduler.releases.release import (
    Change,
    ChangeKind,
    after,
    component,
    gates,
    plugins,
    queueing,
    together,
    viewing,
    without_plugins,
)

if TYPE_CHECKING:
    from kubescheduler.queue.queue_policy import QueuePolicy


def keeping_no_events(older: QueuePolicy) -> QueuePolicy:
    """As before 1.28."""
    from kubescheduler.queue import queue_policy

    return replace(older, pod_actions=queue_policy.one_update, retry_period=None, keeps_events=False)


CHANGES = (
    Change(
        "sidecars",
        "Init containers that are always restarted are sidecars: SidecarContainers is on.",
        ChangeKind.GATE,
        gates({"SidecarContainers": BETA}),
        source="KEP-753",
    ),
    Change(
        "images-counted-when-pods-are-decided",
        "ImageLocality counts the nodes that have an image when a pod is decided, not when the node came.",
        ChangeKind.SCORE,
        viewing(images=SnapshotImageStates),
    ),
    Change(
        "zones-by-either-label",
        "A volume with a beta zone label also fits nodes that have the label without beta.",
        ChangeKind.FILTER,
        plugins(volume_filters.VOLUME_ZONE_1_36),
    ),
    Change(
        "events-of-victims-name-the-uid",
        "The event of a preempted pod says the uid of the pod that took its place.",
        ChangeKind.REASON,
        plugins(default_preemption.PLUGIN_1_29),
    ),
    Change(
        "no-v1beta3",
        "Configurations of v1beta3 are not read any more, and the plugin SelectorSpread is gone.",
        ChangeKind.CONFIGURATION,
        together(
            component(
                versions=(V1,),
                providers={},
                merge=merge_1_36,
                refused={},
            ),
            without_plugins("SelectorSpread"),
        ),
    ),
    Change(
        "gates-of-1-29",
        "ReadWriteOncePod can no longer be turned off; queueing hints are off.",
        ChangeKind.GATE,
        together(gates({"SchedulerQueueingHints": BETA_OFF}, gone=("ReadWriteOncePod",)), queueing(keeping_no_events)),
    ),
)

RELEASE = after(
    v1_28.RELEASE,
    "1.29",
    CHANGES,
    version="1.29.1",
    summary="v1beta3 is gone, sidecars count",
)
