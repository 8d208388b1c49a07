"""A policy of another release, mended where release 1.20 refuses it: the nearest policy that 1.20 takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import gcd

import attrs
import msgspec

from kubescheduler.config.policy.policy_1_20_names import (
    EQUAL,
    LABEL_PLUGIN,
    PREDICATES,
    PRIORITIES,
    RATIO_PLUGIN,
    SERVICE_PLUGIN,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy.policy_model import (
    Policy,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ResourceWeight,
    UtilizationPoint,
)
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.releases.release import Release
from kubescheduler.translate.notes import RESOURCE_LIMITS, RETIRED_PREDICATES, UNKNOWN, note
from kubescheduler.translate.policy_entries import entry_path
from kubescheduler.translate.scoring_strategy import FALLING, RATIO
from kubescheduler.translate.translation_model import Note, NoteKind

MOST_COPIES = 100
"""Entries that one kind of preference may become so that its weights are kept."""
CPU_AND_MEMORY = (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))

Predicates = list[tuple[str, PredicatePolicy]]
Priorities = list[tuple[str, PriorityPolicy]]
"""Entries with the paths they have in the policy as it is written."""


class Mended(msgspec.Struct, frozen=True):
    """A policy with the entries that its release adds."""

    policy: Policy
    """The policy with the entries that are listed."""
    predicates: Predicates | None
    priorities: Priorities | None
    """None where the policy has no list."""
    notes: tuple[Note, ...]


def mended(policy: Policy, record: Release) -> Mended:
    """The policy as 1.20 takes it; ``record`` is of the release that it was read by."""
    notes: list[Note] = []
    predicates = None if policy.predicates is None else _predicates(policy.predicates, notes)
    priorities = None if policy.priorities is None else _priorities(policy.priorities, record, notes)
    if record.legacy is not None and predicates is not None:
        notes += _waking(predicates)
    changed = attrs.evolve(
        policy,
        predicates=None if predicates is None else tuple(entry for _, entry in predicates),
        priorities=None if priorities is None else tuple(entry for _, entry in priorities),
        extenders=tuple(map(_extender, policy.extenders)),
    )
    return Mended(changed, predicates, priorities, tuple(notes))


def _extender(extender: ExtenderConfig) -> ExtenderConfig:
    return extender if extender.weight else msgspec.structs.replace(extender, prioritize_verb="")


def _rename(name: str) -> str:
    return f"name the entry otherwise, My{name} for example, and translate again"


# --- predicates ----------------------------------------------------------------------------


def _predicates(entries: Sequence[PredicatePolicy], notes: list[Note]) -> Predicates:
    kept: Predicates = []
    for at, entry in enumerate(entries):
        path = entry_path("predicates", at, entry.name)
        if entry.argument is not None or predicate_name(entry.name) in PREDICATES:
            kept.append((path, entry))
        else:
            notes.append(note(RETIRED_PREDICATES.get(entry.name, UNKNOWN), path))
    return kept


def _waking(predicates: Predicates) -> Iterator[Note]:
    """Arguments that 1.20 passes over."""
    for path, entry in predicates:
        if entry.argument is not None and predicate_name(entry.name) in PREDICATES:
            text = f"1.20 knows the name {entry.name} and passes over the argument, so it refuses no node any more"
            yield Note(NoteKind.LOST, path, text, _rename(entry.name))


# --- priorities ----------------------------------------------------------------------------


def _priorities(entries: Sequence[PriorityPolicy], record: Release, notes: list[Note]) -> Priorities:
    kept = [(entry_path("priorities", at, entry.name), entry) for at, entry in enumerate(entries)]
    if record.legacy is not None:
        kept = [(path, mine) for path, entry in kept if (mine := _named(path, entry, notes)) is not None]
        kept = _one_ratio(kept, notes)
        for member in ("label_preference", "service_anti_affinity"):
            kept = _even_weights(kept, member, notes)
    return [(path, _with_resources(path, entry, record, notes)) for path, entry in kept]


def _named(path: str, entry: PriorityPolicy, notes: list[Note]) -> PriorityPolicy | None:
    """The entry under a name and with an argument that 1.20 takes; None for one that it has nothing for."""
    known = priority_name(entry.name) in PRIORITIES or entry.name == EQUAL
    if entry.argument is None and entry.name == RATIO:
        ratio = RequestedToCapacityRatio(tuple(UtilizationPoint(*point) for point in FALLING), CPU_AND_MEMORY)
        return msgspec.structs.replace(entry, argument=PriorityArgument(requested_to_capacity_ratio=ratio))
    if entry.argument is None and not known:
        notes.append(note(RESOURCE_LIMITS if entry.name == "ResourceLimitsPriority" else UNKNOWN, path))
        return None
    if entry.argument is not None and entry.name in (LABEL_PLUGIN, SERVICE_PLUGIN, RATIO_PLUGIN):
        return msgspec.structs.replace(entry, name=f"{entry.name}Priority")
    if entry.argument is not None and known:
        text = f"1.20 knows the name {entry.name} and passes over the argument: it scores as without one"
        notes.append(Note(NoteKind.LOST, path, text, _rename(entry.name)))
    return entry


def _own(entry: PriorityPolicy, member: str) -> bool:
    """Whether the entry's argument counts in 1.20 and is of this kind."""
    known = priority_name(entry.name) in PRIORITIES or entry.name == EQUAL
    return not known and entry.argument is not None and getattr(entry.argument, member) is not None


def _one_ratio(entries: Priorities, notes: list[Note]) -> Priorities:
    """1.20 takes one priority with requestedToCapacityRatioArguments: the heaviest, the last of these."""
    ratios = [(path, entry) for path, entry in entries if _own(entry, "requested_to_capacity_ratio")]
    if len(ratios) < 2:
        return entries
    kept_path, kept = max(reversed(ratios), key=lambda found: found[1].weight)
    for path, entry in ratios:
        if entry is not kept:
            text = f"1.20 takes one requestedToCapacityRatioArguments only, and keeps that of {kept_path}"
            notes.append(Note(NoteKind.LOST, path, text, "choose the one that matters more"))
    return [(path, entry) for path, entry in entries if entry is kept or (path, entry) not in ratios]


def _even_weights(entries: Priorities, member: str, notes: list[Note]) -> Priorities:
    """1.20 wants one weight for all preferences of a kind: an entry is repeated as often as it weighs more."""
    found = [(path, entry) for path, entry in entries if _own(entry, member)]
    weights = [entry.weight for _, entry in found]
    if len(set(weights)) < 2:
        return entries
    common = reduce(gcd, weights)
    paths = ", ".join(path for path, _ in found)
    if sum(weights) // common > MOST_COPIES:
        mean = max(1, round(sum(weights) / len(weights)))
        text = f"1.20 has one weight for all of them: {mean} for each, instead of {', '.join(map(str, weights))}"
        notes.append(Note(NoteKind.APPROXIMATE, paths, text, "choose weights with a larger common factor"))
        return [(p, msgspec.structs.replace(e, weight=mean) if (p, e) in found else e) for p, e in entries]
    text = "1.20 has one weight for all of them, so a label is listed as often as it weighs more"
    notes.append(Note(NoteKind.EXACT, paths, text))
    repeated: Priorities = []
    for path, entry in entries:
        copies = entry.weight // common if (path, entry) in found else 1
        repeated += [
            (path, msgspec.structs.replace(entry, weight=common) if (path, entry) in found else entry)
        ] * copies
    return repeated


def _with_resources(path: str, entry: PriorityPolicy, record: Release, notes: list[Note]) -> PriorityPolicy:
    """requestedToCapacityRatioArguments with the resources that count spelled out."""
    if not _own(entry, "requested_to_capacity_ratio"):
        return entry
    assert entry.argument is not None
    ratio = entry.argument.requested_to_capacity_ratio
    assert ratio is not None
    resources = tuple(resource for resource in ratio.resource_weights() if resource.weight > 0)
    if len(resources) < len(ratio.resource_weights()):
        notes.append(Note(NoteKind.LOST, path, "resources with a negative weight are left out: 1.20 takes none"))
    if not ratio.resources:
        text = "it names no resources. With a policy, 1.20 then scores nothing by it; the configuration counts cpu "
        kind = NoteKind.APPROXIMATE if record.legacy is None else NoteKind.EXACT
        notes.append(Note(kind, path, f"{text}and memory, as 1.16 did"))
    argument = PriorityArgument(
        requested_to_capacity_ratio=msgspec.structs.replace(ratio, resources=resources or CPU_AND_MEMORY)
    )
    return msgspec.structs.replace(entry, argument=argument)
