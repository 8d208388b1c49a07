"""Predicates as Filter plugins of 1.36."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kubescheduler.config.policy.policy_1_20_names import MANDATORY_PREDICATES, PREDICATES, predicate_name
from kubescheduler.translate.added_affinity import required_expressions
from kubescheduler.translate.notes import PREDICATES_1_36, RETIRED_PREDICATES, UNKNOWN, note
from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.policy_source import Source
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin

IN_TREE_LIMITS = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
VOLUME_LIMITS = "NodeVolumeLimits"
NODE_AFFINITY = "NodeAffinity"
SPREAD = "PodTopologySpread"
NEW_FILTERS = (VOLUME_LIMITS, "VolumeBinding", SPREAD)
"""What pods of today rely on, whatever the policy: bound claims, limits of CSI drivers, their own constraints."""
MISSING: dict[str, str] = {
    "NodeResourcesFit": "what pods request and nodes have",
    "NodeName": "spec.nodeName",
    "NodePorts": "host ports",
    NODE_AFFINITY: "nodeSelector and required node affinity",
    "VolumeRestrictions": "volumes that only one node can use",
    VOLUME_LIMITS: "how many volumes a node takes",
    "VolumeBinding": "persistent volumes; claims that wait for their first consumer are never bound",
    "VolumeZone": "the zones of volumes",
    SPREAD: "DoNotSchedule topology spread constraints",
    "InterPodAffinity": "required pod affinity and anti-affinity",
}
"""Filter plugin → what nobody looks at without it."""


class Filters(msgspec.Struct, frozen=True):
    """The predicates as filters."""

    plugins: Mapping[str, tuple[str, ...]]
    """Filter plugin → the entries that it comes from."""
    required: tuple[WithOrigin, ...]
    """Expressions that every node has to match."""
    notes: tuple[Note, ...]


def filters_1_36(source: Source, *, with_new_filters: bool = False) -> Filters:
    """The Filter plugins for what a policy or provider selects, mandatory ones included; new ones when asked for."""
    plugins: dict[str, tuple[str, ...]] = {}
    notes: list[Note] = []
    for item in (item for item in source.predicates if not item.idle):
        for plugin in _plugins(item):
            plugins[plugin] = (*plugins.get(plugin, ()), item.origin)
        notes += _notes(item)
    notes += _idle(source.predicates)
    if source.policy.predicates is None and SPREAD not in plugins:
        plugins[SPREAD] = (f"default of 1.36, as release {source.release} uses its defaults",)
        notes.append(_spread_note(source))
    required = required_expressions([item for item in source.predicates if not item.idle])
    if required and NODE_AFFINITY not in plugins:
        notes.append(_affinity_note(required[0].origin))
    if required:
        plugins[NODE_AFFINITY] = (*plugins.get(NODE_AFFINITY, ()), *(said.origin for said in required))
    if with_new_filters:
        for name in (name for name in NEW_FILTERS if name not in plugins):
            plugins[name] = ("--with-new-filters",)
            text = f"no predicate of the policy looks at {MISSING[name]}; it is enabled all the same"
            notes.append(Note(NoteKind.APPROXIMATE, f"--with-new-filters {name}", text))
    notes += _missing(plugins)
    for name in MANDATORY_PREDICATES:
        plugins.setdefault(PREDICATES[name][0], ("always added",))
    return Filters(plugins, required, tuple(notes))


def _plugins(item: PolicyEntry) -> Iterator[str]:
    if item.predicate is not None or item.name in RETIRED_PREDICATES:
        return
    for plugin in PREDICATES.get(predicate_name(item.name), ()):
        if plugin not in ("NodeLabel", "ServiceAffinity"):
            yield VOLUME_LIMITS if plugin in IN_TREE_LIMITS else plugin


def own_predicates(items: Iterable[PolicyEntry]) -> Iterator[PolicyEntry]:
    """Those that no release comes with, and that run."""
    for item in items:
        known = item.name in RETIRED_PREDICATES or item.name in PREDICATES_1_36
        if item.predicate is None and not item.idle and not known and not PREDICATES.get(predicate_name(item.name)):
            yield item


# --- notes ---------------------------------------------------------------------------------


def _notes(item: PolicyEntry) -> Iterator[Note]:
    if item.predicate is not None:
        yield _argument_note(item)
    elif item.name in RETIRED_PREDICATES:
        yield note(RETIRED_PREDICATES[item.name], item.path)
    elif item.name in PREDICATES_1_36:
        yield note(PREDICATES_1_36[item.name], item.path)
    elif not PREDICATES.get(predicate_name(item.name)):
        yield note(UNKNOWN, item.path)
    elif not any(_plugins(item)):
        text = "its release knows the name already and passes over the argument: it never refused a node"
        yield Note(NoteKind.EXACT, item.path, text)


def _argument_note(item: PolicyEntry) -> Note:
    argument = item.predicate
    if argument is not None and argument.service_affinity is not None:
        return service_affinity_note(argument.service_affinity.labels, item.path)
    text = "it becomes addedAffinity of NodeAffinity; its reason speaks of scheduler-enforced node affinity"
    return Note(NoteKind.EXACT, item.path, text)


def service_affinity_note(labels: Sequence[str], path: str) -> Note:
    """What is to be said of labels that kept the pods of a service together."""
    text = (
        f"1.36 has no ServiceAffinity: nothing keeps the pods of a service on nodes with the same {', '.join(labels)}"
    )
    advice = (
        "give the pods a required podAffinity to their own labels, with the label as topologyKey, or a nodeSelector"
    )
    return Note(NoteKind.LOST, path, text, advice)


def _affinity_note(path: str) -> Note:
    text = "NodeAffinity, which it needs, also heeds nodeSelector and required node affinity of pods"
    return Note(NoteKind.APPROXIMATE, path.removeprefix("from "), text)


def _idle(items: Iterable[PolicyEntry]) -> Iterator[Note]:
    for item in items:
        if item.idle:
            yield Note(NoteKind.EXACT, item.path, "release 1.16 never runs a predicate of this name, so it is left out")


def _spread_note(source: Source) -> Note:
    text = f"not among the defaults of {source.release}: pods are held to their own DoNotSchedule constraints"
    return Note(NoteKind.CHECK, SPREAD, text)


def _missing(plugins: Mapping[str, tuple[str, ...]]) -> Iterator[Note]:
    found = [f"{plugin} ({what})" for plugin, what in MISSING.items() if plugin not in plugins]
    if found:
        text = f"no filter where the policy has no predicate: {', '.join(found)}"
        advice = f"--with-new-filters enables what pods of today rely on: {', '.join(NEW_FILTERS)}"
        yield Note(NoteKind.CHECK, "predicates", text, advice)
