"""What a translation consists of: a document in which every line has an origin, notes, and shares of the total.

First what a target release takes, and since when: read off the releases' records.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.config.config_schema import KIND
from kubescheduler.config.load_config import component_config_from, default_config
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.score_plugins import HeapTie
from kubescheduler.releases.lookup import RELEASES, changes_between, steps_between
from kubescheduler.releases.names import FRAMEWORK_RELEASES, LEGACY_RELEASES, number
from kubescheduler.releases.release import Release


def format_of(release: str) -> ComponentFormat:
    """How a release with profiles reads and writes configurations. Raises ConfigError for any other."""
    return RELEASES[release].framework_rules.component


def later(before: str, to: str) -> None:
    """Raises ConfigError for a release that is not newer, or the same: nothing is migrated to an older one."""
    if number(to) < number(before):
        raise ConfigError(f"release {to} is older than {before}: configurations are migrated to later releases only")


def default_weights(form: ComponentFormat, version: str = "") -> dict[str, int]:
    """Score plugin → its weight, of those that run by default in a version that is read, by default the newest."""
    document = {"apiVersion": version or form.native, "kind": KIND}
    profile = component_config_from(document, form, all_problems=False).profiles[0]
    everywhere = {plugin.name: plugin.weight for plugin in profile.multi_point}
    scores = profile.plugins.get(Point.SCORE, ())
    return {plugin.name: plugin.weight or everywhere.get(plugin.name, 0) or 1 for plugin in scores}


def between(before: str, to: str) -> Iterator[Release]:
    """Every release there is after ``before`` up to ``to``, oldest first."""
    return (record for name, record in RELEASES.items() if number(before) < number(name) <= number(to))


def since(before: str, to: str, holds: Callable[[Release], bool]) -> str:
    """The first release after ``before`` up to ``to`` for which something holds; empty where there is none."""
    return next((record.name for record in between(before, to) if holds(record)), "")


def gone_since(plugin: str, before: str, to: str) -> str:
    """The first of these releases that reads no configuration which can name a plugin; ``to`` where none is."""

    def lacks(record: Release) -> bool:
        return record.framework is not None and not record.framework.component.can_name(plugin)

    return since(before, to, lacks) or to


def has_provider(record: Release, name: str) -> bool:
    """Whether a release knows algorithm providers, and one of this name; the last lists are those of a version."""
    if record.framework is None:
        return True
    providers = record.framework.component.providers
    return record.reads_policies and len(providers) > 1 and name in providers


@cache
def made_by(before: str, to: str) -> Mapping[str, str]:
    """Name of a change → the release that made it, of all after ``before`` up to ``to``."""
    return {change.name: release.name for release, change in changes_between(before, to)}


def readers(version: str) -> list[str]:
    """The releases that read an apiVersion of profiles, oldest first."""
    return [name for name in FRAMEWORK_RELEASES if version in format_of(name).versions]


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


def without_origin(value: Any) -> Any:
    """A value without its own origin; what is in it keeps its."""
    return value.value if isinstance(value, WithOrigin) else value


def profile_without_origin(document: WithOrigin) -> Mapping[str, Any]:
    """The first profile of a document, without its own origin."""
    profile: Mapping[str, Any] = without_origin(without_origin(document.value["profiles"])[0])
    return profile


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
        name = plain(profile_without_origin(self.document).get("schedulerName", ""))
        return (ProfileShares(str(name), self.before, self.after), *self.others)

    @property
    def exact(self) -> bool:
        """Whether everything is carried over exactly."""
        return not any(note.kind.inexact for note in self.notes)

    def plain(self) -> dict[str, Any]:
        """The document as plain data."""
        document: dict[str, Any] = plain(self.document)
        return document


def with_places(translation: Translation, own: Callable[[str], str]) -> Translation:
    """With the places that origins and notes name as ``own`` calls them."""
    notes = (msgspec.structs.replace(note, path=own(note.path), text=own(note.text)) for note in translation.notes)
    document = _renamed(translation.document, own)
    return msgspec.structs.replace(translation, document=document, notes=tuple(notes))


def _renamed(value: Any, own: Callable[[str], str]) -> Any:
    if isinstance(value, WithOrigin):
        return WithOrigin(_renamed(value.value, own), own(value.origin))
    if isinstance(value, Mapping):
        return {key: _renamed(item, own) for key, item in value.items()}
    return [_renamed(item, own) for item in value] if isinstance(value, list | tuple) else value


NoteText = tuple[NoteKind, str, str]
"""(kind, text, advice)."""

LIFECYCLE = (
    f"no release after {LEGACY_RELEASES[-1]} has it: the node lifecycle controller taints such nodes "
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
"""Predicate that no release with profiles has → what to say."""

RESOURCE_LIMITS: NoteText = (
    NoteKind.LOST,
    "no later release scores by limits by default",
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

IN_TREE = (
    "{} sees such volumes as CSI volumes, which NodeVolumeLimits counts by the limits in the nodes' CSINode objects"
)
IN_TREE_ADVICE = "see that the CSI driver reports allocatable.count; KUBE_MAX_PD_VOLS has no effect any more"
"""Of predicates and plugins that limit the volumes of one cloud; ``{}``: the release that has none of them."""

AVOID_PODS = (
    "{} does not read the annotation scheduler.alpha.kubernetes.io/preferAvoidPods; its weight is left out of shares"
)
AVOID_PODS_ADVICE = "taint the nodes with effect PreferNoSchedule, or cordon them"

ROUNDED = (
    "{} rounds the score by the pods in a zone or on a node to a whole number, where {before} cuts the fraction off"
)
SELECTORS = (
    "in {}, of controllers only the one that owns a pod says which pods are its like, where all did that select it"
)


class FormulaChange(NamedTuple):
    """A change of a release by which a Score plugin scores otherwise, in words for a migration."""

    change: str
    """Its name among the changes of its release."""
    text: str
    """``{}``: the release that made it, ``{before}``: the one that is migrated from."""
    advice: str = ""
    system: bool = False
    """Whether it is one of PodTopologySpread's default constraints alone."""


FORMULAS: Mapping[str, tuple[FormulaChange, ...]] = {
    "NodeResourcesBalancedAllocation": (
        FormulaChange(
            "balanced-allocation-of-real-requests",
            "{} goes by what pods really ask for, where pods that ask for nothing counted 100m and 200Mi",
        ),
        FormulaChange(
            "balanced-allocation-compares-with-and-without-the-pod",
            "{} scores how much the pod would change the balance, from 50 to 100: half the range it had, so it counts "
            "half",
            "double its weight if balance matters",
        ),
    ),
    "ImageLocality": (
        FormulaChange(
            "image-locality-by-container",
            "from {} on the size for the highest score grows with the number of containers",
        ),
        FormulaChange("image-locality-counts-init-containers", "{} counts init containers too"),
        FormulaChange("image-locality-counts-image-volumes", "{} counts image volumes too"),
    ),
    "InterPodAffinity": (
        FormulaChange(
            "inter-pod-affinity-scores-from-lowest-to-highest",
            "{} spreads the scores from the lowest sum to the highest; before, 0 was always between the ends",
        ),
    ),
    "NodeResourcesMostAllocated": (
        FormulaChange(
            "most-allocated-scores-full-nodes",
            "a node whose requests exceed what it has scores highest from {} on, where it scored 0",
        ),
    ),
    "PodTopologySpread": (
        FormulaChange("pod-topology-spread-counts-eligible-nodes", ROUNDED),
        FormulaChange("spreading-by-the-controller-that-owns-the-pod", SELECTORS, system=True),
    ),
}
"""Score plugin → what changed in how it scores, oldest first. Whatever the configuration, it is so."""


def formula_notes(plugin: str, path: str, before: str, to: str, *, system: bool = True) -> Iterator[Note]:
    """One note with all by which a plugin scores otherwise in a later release.

    system: whether PodTopologySpread spreads by constraints that pods do not have themselves.
    """
    releases = made_by(before, to)
    found = [each for each in FORMULAS.get(plugin, ()) if each.change in releases and (system or not each.system)]
    if found:
        texts = (each.text.format(releases[each.change], before=before) for each in found)
        yield Note(
            NoteKind.APPROXIMATE, path, "; ".join(texts), "; ".join(each.advice for each in found if each.advice)
        )


SCALE = Note(
    NoteKind.APPROXIMATE,
    "priorities",
    "scores run from 0 to 100 instead of 0 to 10: the weights, and with them their ratios, are kept, but less is "
    "rounded away, so nodes that were equal may differ",
    "see which pods choose otherwise with kubescheduler compare",
)
ALWAYS_ADDED = "always added"
"""Where plugins come from that every policy of a release with plugins gets."""
EXTENDER_SCALE = Note(
    NoteKind.EXACT,
    "extenders",
    "an extender still answers 0 to 10, and the scheduler multiplies that by 10: weights are carried over one to one",
)


def all_checks(to: Release) -> Note:
    """What becomes of ``alwaysCheckAllPredicates``."""
    path = "alwaysCheckAllPredicates"
    if any(profile.run_all_filters for profile in default_config(to.framework_rules.component).profiles):
        return Note(NoteKind.EXACT, path, f"{to.name} asks all filters of every node, whatever the configuration")
    text = "a configuration cannot say it: of a node only the first failing check is reported; what fits is the same"
    return Note(NoteKind.LOST, path, text)


RUNNING_INIT = "init containers of running pods count against their nodes"
DETAILS: Mapping[str, str] = {
    "pod-overhead-by-default": "pods ask for their overhead too",
    "init-containers-count-in-scores-and-on-nodes": RUNNING_INIT,
    "preemption-candidates-are-sampled": "preemption looks for victims on a share of the nodes",
    "node-affinity-of-a-profile": "preferred node affinity goes by matchFields too",
    "nominated-node-first": "a nominated node is tried alone first",
    "scheduling-gates-by-default": "pods with scheduling gates wait",
    "overhead-scores-in-full": "a pod's overhead of cpu scores in full",
    "requests-of-zero-are-not-compared": "a request of 0 is not compared with a node that has too little",
    "victims-by-importance": "other victims are chosen where disruption budgets are hurt",
    "opportunistic-batching": "a pod like the one before may take the next node of its ranking",
}
"""Change of a release → what no configuration brings back."""


def details(before: Release, to: Release) -> Note:
    """What a later release does otherwise than one before, whatever the configuration, and since which release."""
    releases = made_by(before.name, to.name)
    said = [f"{text} ({releases[change]})" for change, text in DETAILS.items() if change in releases]
    if before.legacy is not None:
        last = LEGACY_RELEASES[-1]
        said = [text for text in (steps_between(before.name, last),) if text] + said
        said.append("constraints of a pod's own switch default spreading off for it")
    if to.framework_rules.upstream_tie is HeapTie and (
        before.framework is None or before.framework.upstream_tie is not HeapTie
    ):
        said.append("nodes with equal totals are not drawn by lot")
    text = f"no configuration changes these: {', '.join([*said, 'reasons are worded differently'])}"
    return Note(NoteKind.CHECK, f"releases after {before.name}", text)


def note(note_text: NoteText, path: str) -> Note:
    """A note on one entry."""
    kind, text, advice = note_text
    return Note(kind, path, text, advice)
