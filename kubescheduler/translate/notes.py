"""What is to be said of predicates and priorities whatever the policy, and of the releases themselves."""

from __future__ import annotations

from kubescheduler.releases.names import LEGACY_RELEASES, steps_between
from kubescheduler.translate.translation_model import Note, NoteKind

NoteText = tuple[NoteKind, str, str]
"""(kind, text, advice)."""

LIFECYCLE = (
    "no release after 1.16 has it: the node lifecycle controller taints such nodes "
    "(node.kubernetes.io/not-ready, memory-pressure, disk-pressure, pid-pressure), and TaintToleration heeds the taints"
)
LIFECYCLE_ADVICE = "see that kube-controller-manager runs the node lifecycle controller"
_TAINTED: NoteText = (NoteKind.APPROXIMATE, LIFECYCLE, LIFECYCLE_ADVICE)

RETIRED_PREDICATES: dict[str, NoteText] = {
    "CheckNodeCondition": _TAINTED,
    "CheckNodeMemoryPressure": _TAINTED,
    "CheckNodeDiskPressure": _TAINTED,
    "CheckNodePIDPressure": _TAINTED,
    "CheckNodeInodePressure": _TAINTED,
    "PodToleratesNodeNoExecuteTaints": (NoteKind.EXACT, "TaintToleration heeds NoExecute taints too", ""),
}
"""Predicate that neither 1.20 nor 1.36 has → what to say."""

RESOURCE_LIMITS: NoteText = (
    NoteKind.LOST,
    "no later release scores by limits",
    "give the pods requests: NodeResourcesFit scores by those",
)
EQUAL: NoteText = (NoteKind.EXACT, "it gives every node the same, so nothing changes without it", "")
UNKNOWN: NoteText = (
    NoteKind.LOST,
    "it is no rule of kube-scheduler: a plugin of this name stands in its place, which the target does not have",
    "write it as a plugin of this name and try it with --plugin NAME=MODULE:FACTORY, or take it out",
)
BROUGHT: NoteText = (NoteKind.CHECK, "the plugin of --plugin stands in its place", "see that it decides the same")
"""Of a rule of the team's own whose plugin is given."""

_IN_TREE: NoteText = (
    NoteKind.APPROXIMATE,
    "1.36 sees such volumes as CSI volumes, which NodeVolumeLimits counts by the limits in the nodes' CSINode objects",
    "see that the CSI driver reports allocatable.count; KUBE_MAX_PD_VOLS has no effect any more",
)
PREDICATES_1_36: dict[str, NoteText] = {
    "MaxEBSVolumeCount": _IN_TREE,
    "MaxGCEPDVolumeCount": _IN_TREE,
    "MaxAzureDiskVolumeCount": _IN_TREE,
    "MaxCinderVolumeCount": _IN_TREE,
}

AVOID_PODS: NoteText = (
    NoteKind.LOST,
    "1.36 does not read the annotation scheduler.alpha.kubernetes.io/preferAvoidPods; its weight is left out of shares",
    "taint the nodes with effect PreferNoSchedule, or cordon them",
)
BALANCED_1_36: NoteText = (
    NoteKind.APPROXIMATE,
    "1.36 scores how much the pod would change the balance, from 50 to 100: half the range it had, so it counts half",
    "double its weight if balance matters",
)
IMAGES_1_36: NoteText = (
    NoteKind.APPROXIMATE,
    "1.36 counts init containers and image volumes too, and the size for the highest score grows with their number",
    "",
)
INTER_POD_1_36: NoteText = (
    NoteKind.APPROXIMATE,
    "1.36 spreads the scores from the lowest sum to the highest; before, 0 was always between the ends",
    "",
)
PRIORITIES_1_36: dict[str, NoteText] = {
    "BalancedResourceAllocation": BALANCED_1_36,
    "ImageLocalityPriority": IMAGES_1_36,
    "InterPodAffinityPriority": INTER_POD_1_36,
    "NodePreferAvoidPodsPriority": AVOID_PODS,
    "ResourceLimitsPriority": RESOURCE_LIMITS,
    "EqualPriority": EQUAL,
}
"""Priority → what 1.36 makes of it; more is said where the plugin is chosen."""

PRIORITIES_1_20: dict[str, NoteText] = {
    "ImageLocalityPriority": (
        NoteKind.APPROXIMATE,
        "the size for the highest score grows with the number of containers",
        "",
    ),
    "MostRequestedPriority": (
        NoteKind.APPROXIMATE,
        "a node whose requests exceed what it has scores highest in 1.20, where it scored 0",
        "",
    ),
}
"""Priority of 1.4 or 1.16 → what 1.20 makes of it."""

SCALE = Note(
    NoteKind.APPROXIMATE,
    "priorities",
    "scores run from 0 to 100 instead of 0 to 10: the weights, and with them their ratios, are kept, but less is "
    "rounded away, so nodes that were equal may differ",
    "see which pods choose otherwise with kubescheduler compare",
)
EXTENDER_SCALE = Note(
    NoteKind.EXACT,
    "extenders",
    "an extender still answers 0 to 10, and the scheduler multiplies that by 10: weights are carried over one to one",
)
ALL_CHECKS = Note(
    NoteKind.LOST,
    "alwaysCheckAllPredicates",
    "a configuration cannot say it: of a node only the first failing check is reported; what fits is the same",
)
DETAILS_1_36 = Note(
    NoteKind.CHECK,
    "release 1.36",
    "no configuration changes these: a request of 0 is not compared with a node that has too little, nodes with equal "
    "totals are not drawn by lot, a nominated node is tried alone first, a pod like the one before may take the next "
    "node of its ranking, pods with scheduling gates wait, other victims are chosen where disruption budgets are hurt, "
    "reasons are worded differently",
)
RUNNING_INIT = "init containers of running pods count against their nodes"
DETAILS_LEGACY = Note(
    NoteKind.CHECK,
    "releases after 1.16",
    f"no configuration changes these: {RUNNING_INIT}, constraints of a pod's own switch default spreading off for it, "
    "preemption looks for victims on a share of the nodes, reasons are worded differently",
)
"""What 1.20 and 1.36 do and 1.4 and 1.16 do not."""


def legacy_details(release: str) -> list[Note]:
    """What every later release does otherwise than one that decides by predicates and priorities."""
    last = LEGACY_RELEASES[-1]
    steps = steps_between(release, last)
    text = f"no configuration changes what releases after {release} do otherwise: {steps}"
    return [*([Note(NoteKind.CHECK, f"releases up to {last}", text)] if steps else []), DETAILS_LEGACY]


def note(note_text: NoteText, path: str) -> Note:
    """A note on one entry."""
    kind, text, advice = note_text
    return Note(kind, path, text, advice)
