"""Release 1.15: predicates and priorities; InterPodAffinityPriority may crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clusterstate.hypothetical import by_importance
from kubescheduler.config.gates import ALPHA, LOCKED
from kubescheduler.core.preemption_rules import PREEMPTION_1_15
from kubescheduler.core.selection import nodes_to_find
from kubescheduler.releases import edits, v1_13
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind
from predicates.csi_volumes import CSI_VOLUMES_1_15
from predicates.volume_counts import VOLUME_COUNTS_1_15
from predicates.volume_zone import VOLUME_ZONE
from priorities.interpod import INTERPOD_1_15
from priorities.selector_spread import SELECTOR_SPREAD

if TYPE_CHECKING:
    from algorithmprovider.registry import Algorithms


def with_cinder(older: Algorithms) -> Algorithms:
    """The place of MaxCinderVolumeCount in the order."""
    at = older.ordering.index("MaxAzureDiskVolumeCount") + 1
    return replace(older, ordering=(*older.ordering[:at], "MaxCinderVolumeCount", *older.ordering[at:]))


def without_out_of_disk(older: Algorithms) -> Algorithms:
    """CheckNodeCondition without the condition OutOfDisk."""
    from algorithmprovider.algorithms import BY_CONDITIONS
    from predicates.taints import OUT_OF_DISK

    gate = "TaintNodesByCondition"
    gated = {**older.gated, gate: replace(older.gated[gate], off=BY_CONDITIONS)}
    return replace(older, gated=gated, unresolvable=older.unresolvable - {OUT_OF_DISK})


CHANGES = (
    change(
        "max-cinder-volume-count",
        "Policies may name the predicate MaxCinderVolumeCount, which counts Cinder disks.",
        ChangeKind.FILTER,
        edits.predicates({"MaxCinderVolumeCount": VOLUME_COUNTS_1_15["MaxCinderVolumeCount"]}),
        edits.algorithms(with_cinder),
    ),
    change(
        "selector-spread-counts-pods-of-all-selectors",
        "SelectorSpreadPriority counts the pods that all selectors of the pod's services and controllers match; "
        "before, one was enough.",
        ChangeKind.SCORE,
        edits.priorities(SELECTOR_SPREAD),
        source="kubernetes #72801",
    ),
    change(
        "inter-pod-affinity-priority-sums-made-late",
        "For a pod without pod affinity, InterPodAffinityPriority keeps sums only for nodes with pods that have some: "
        "the others score 0, and kube-scheduler crashes where a term reaches one of them.",
        ChangeKind.SCORE,
        edits.priorities(INTERPOD_1_15),
    ),
    change(
        "unbound-csi-claims-count",
        "MaxCSIVolumeCount counts a claim without a known volume as one of its StorageClass's provisioner.",
        ChangeKind.FILTER,
        edits.predicates(CSI_VOLUMES_1_15),
    ),
    change(
        "volume-zone-claim-was-not-found",
        "NoVolumeZoneConflict says of a claim that is not bound that it was not found.",
        ChangeKind.REASON,
        edits.predicates(VOLUME_ZONE),
    ),
    change(
        "out-of-disk-no-longer-counts",
        "With the feature gate TaintNodesByCondition off, the node condition OutOfDisk does not keep pods away any "
        "more.",
        ChangeKind.FILTER,
        edits.algorithms(without_out_of_disk),
    ),
    change(
        "percentage-of-nodes-to-score-adapts",
        "A percentage of nodes to score of 0 follows from the number of nodes; before, it meant all of them.",
        ChangeKind.CONFIGURATION,
        edits.behaviour(wanted=nodes_to_find),
    ),
    change(
        "preemption-prefers-the-latest-start",
        "Among nodes with equally few victims preemption takes the one whose most important victims started last.",
        ChangeKind.PREEMPTION,
        edits.behaviour(preemption=PREEMPTION_1_15),
    ),
    change(
        "preemption-spares-pods-that-started-first",
        "Of pods with one priority preemption spares those that started first; before, those that came to the node "
        "first.",
        ChangeKind.PREEMPTION,
        edits.behaviour(order=by_importance),
    ),
    change(
        "pod-priority-is-locked",
        "The feature gate PodPriority cannot be turned off any more, which took preemption away.",
        ChangeKind.GATE,
        edits.gates({"PodPriority": LOCKED}, gone=("VolumeScheduling",)),
    ),
    change(
        "preemption-policy-behind-a-gate",
        "With the feature gate NonPreemptingPriority a pod with preemptionPolicy Never preempts nothing.",
        ChangeKind.GATE,
        edits.gates({"NonPreemptingPriority": ALPHA}),
        edits.reads(preemptionPolicy="NonPreemptingPriority"),
        source="KEP-902",
    ),
)

RELEASE = after(
    v1_13.RELEASE,
    "1.15",
    CHANGES,
    version="1.15.3",
    summary="SelectorSpreadPriority counts pods that all selectors match",
)
