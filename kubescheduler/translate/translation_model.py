"""What a translation consists of: a document in which every line has an origin, notes, and shares of the total."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubescheduler.releases.lookup import steps_between
from kubescheduler.releases.names import LEGACY_RELEASES

_LEAD = re.compile(r"from |[^:]+: ")
"""What the origins of several entries have in common."""


class NoteKind(enum.Enum):
    """How well something came across. Approximate and lost make a translation inexact."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    LOST = "lost"
    CHECK = "check"
    """Carried over; whether that is what is wanted depends on the cluster."""

    @property
    def inexact(self) -> bool:
        """Whether something is not carried over exactly."""
        return self in (NoteKind.APPROXIMATE, NoteKind.LOST)


class Note(msgspec.Struct, frozen=True):
    """A note on a translation."""

    kind: NoteKind
    path: str
    """What it is about."""
    text: str
    advice: str = ""
    """What to do, if anything."""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.path}: {self.text}{f'; {self.advice}' if self.advice else ''}"

    def document(self) -> dict[str, str]:
        """As plain data."""
        return {"kind": self.kind.value, "path": self.path, "text": self.text, "advice": self.advice}


def grouped(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes, those that say the same as one."""
    paths: dict[tuple[NoteKind, str, str], list[str]] = {}
    for note in notes:
        paths.setdefault((note.kind, note.text, note.advice), []).append(note.path)
    return tuple(
        Note(kind, ", ".join(dict.fromkeys(about)), text, advice) for (kind, text, advice), about in paths.items()
    )


# --- documents -----------------------------------------------------------------------------


class WithOrigin(msgspec.Struct, frozen=True):
    """A value of a document and where it comes from."""

    value: Any
    """A scalar, a list or a mapping, in which every item may be ``WithOrigin`` again; one that is not has the origin of
    what it is in.
    """
    origin: str


def profile_without_origin(document: WithOrigin, at: int) -> Mapping[str, Any]:
    """A profile of a document, without its own origin."""
    profiles = document.value["profiles"]
    profile = (profiles.value if isinstance(profiles, WithOrigin) else profiles)[at]
    found: Mapping[str, Any] = profile.value if isinstance(profile, WithOrigin) else profile
    return found


def plain(value: Any) -> Any:
    """The document without its origins."""
    match value:
        case WithOrigin():
            return plain(value.value)
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return value


def origin(names: Iterable[str]) -> str:
    """The origin of what several entries say, each named once: ``from A and B``."""
    said: list[str] = []
    for name in dict.fromkeys(names):
        lead = _LEAD.match(name)
        alike = lead is not None and any(before.startswith(lead[0]) for before in said)
        said.append(name.removeprefix(lead[0]) if alike and lead is not None else name)
    return " and ".join(said)


# --- shares of the total -------------------------------------------------------------------


class Role(enum.Enum):
    """What a score does to pods: draws them together on full nodes, apart, or neither."""

    PACKS = "packs"
    SPREADS = "spreads"
    OTHER = ""


class WeightedScore(msgspec.Struct, frozen=True):
    """A score and its weight in a scheduler."""

    name: str
    weight: int
    role: Role = Role.OTHER
    detail: str = ""
    """Which form of the plugin it is, if it has several."""

    @property
    def title(self) -> str:
        """The name, with the detail in parentheses if there is one."""
        return f"{self.name} ({self.detail})" if self.detail else self.name


class Emphasis(msgspec.Struct, frozen=True):
    """What share of the highest possible total every score has; each reaches the same highest score.

    NodePreferAvoidPods is left out: whatever its weight, it is the same for all nodes but those that are annotated.
    """

    parts: tuple[WeightedScore, ...]

    @property
    def sum(self) -> int:
        """The sum of all weights."""
        return sum(part.weight for part in self.parts)

    def of(self, role: Role) -> tuple[WeightedScore, ...]:
        """The scores with this role."""
        return tuple(part for part in self.parts if part.role is role)

    def weight(self, role: Role) -> int:
        """The sum of the weights of the scores with this role."""
        return sum(part.weight for part in self.of(role))

    def percent(self, weight: int) -> float:
        """The share of a weight, 0 to 100."""
        return 100 * weight / self.sum if self.sum else 0.0

    def document(self) -> list[dict[str, Any]]:
        """As plain data; share in percent."""
        return [
            {"name": p.title, "weight": p.weight, "share": round(self.percent(p.weight), 1), "role": p.role.value}
            for p in self.parts
        ]


class ProfileShares(msgspec.Struct, frozen=True):
    """The shares of the scores of one profile."""

    name: str
    """The profile's schedulerName."""
    before: Emphasis
    """In the source."""
    after: Emphasis
    """In the document."""


class Translation(msgspec.Struct, frozen=True):
    """A configuration for another release."""

    source: str
    from_release: str
    release: str
    document: WithOrigin
    """The KubeSchedulerConfiguration."""
    notes: tuple[Note, ...]
    before: Emphasis
    """The shares of the scores in the source."""
    after: Emphasis
    """The shares of the scores in the document."""
    others: tuple[ProfileShares, ...] = ()
    """Those of further profiles; the two before are of the first."""

    @property
    def shares(self) -> tuple[ProfileShares, ...]:
        """Of every profile."""
        name = plain(profile_without_origin(self.document, 0).get("schedulerName", ""))
        return (ProfileShares(str(name), self.before, self.after), *self.others)

    @property
    def exact(self) -> bool:
        """Whether everything is carried over exactly."""
        return not any(note.kind.inexact for note in self.notes)

    def plain(self) -> dict[str, Any]:
        """The document as plain data."""
        document: dict[str, Any] = plain(self.document)
        return document


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
