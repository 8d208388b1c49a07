"""A policy or provider as a configuration of a release that reads it: the profile it makes of it itself, written out.

So it is for releases whose configurations can name every plugin that a policy may lead to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import gcd
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component_format import FIT, ComponentFormat
from kubescheduler.config.config_schema import MEMBERS
from kubescheduler.config.load_config import written_args
from kubescheduler.config.policy_1_20_plugins import (
    ALWAYS,
    EQUAL,
    EVEN_SPREAD,
    LABEL_PLUGIN,
    LABEL_PREDICATE,
    PREDICATES,
    PRIORITIES,
    RATIO_PLUGIN,
    SELECTOR_SPREAD,
    SERVICE_PLUGIN,
    SERVICE_PREDICATE,
    PolicyRules,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy_model import (
    Policy,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ResourceWeight,
    UtilizationPoint,
)
from kubescheduler.framework.contract.profile import Enabled, Point, Profile
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import LEGACY_RELEASES
from kubescheduler.releases.release import Release
from kubescheduler.translate.emphasis import KEPT, SPREAD, Suggestion, judge, kept_note
from kubescheduler.translate.policy_entries import (
    FALLING,
    GATE,
    GATE_OFF,
    LIST,
    RATIO,
    SELECTOR_ADVICE,
    SELECTOR_PLUGIN,
    SELECTOR_SPREADS,
    SELECTOR_TEXT,
    SYSTEM,
    entry_path,
    weighted_origin,
)
from kubescheduler.translate.policy_source import (
    Source,
    emphasis_before,
    extender_notes,
    profile_document,
    profile_emphasis,
    profile_of,
)
from kubescheduler.translate.translation_model import (
    ALWAYS_ADDED,
    RESOURCE_LIMITS,
    RETIRED_PREDICATES,
    SCALE,
    UNKNOWN,
    Note,
    NoteKind,
    Translation,
    WithOrigin,
    all_checks,
    details,
    formula_notes,
    grouped,
    note,
    origin,
)

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


def mended(policy: Policy, record: Release, to: str) -> Mended:
    """The policy as release ``to`` takes it; ``record`` is of the release that it was read by."""
    notes: list[Note] = []
    predicates = None if policy.predicates is None else _predicates(policy.predicates, notes)
    priorities = None if policy.priorities is None else _priorities(policy.priorities, record, to, notes)
    if record.legacy is not None and predicates is not None:
        notes += _waking(predicates, to)
    changed = attrs.evolve(
        policy,
        predicates=None if predicates is None else tuple(entry for _, entry in predicates),
        priorities=None if priorities is None else tuple(entry for _, entry in priorities),
        extenders=tuple(
            extender if extender.weight else msgspec.structs.replace(extender, prioritize_verb="")
            for extender in policy.extenders
        ),
    )
    return Mended(changed, predicates, priorities, tuple(notes))


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


def _waking(predicates: Predicates, to: str) -> Iterator[Note]:
    """Arguments that the release passes over."""
    for path, entry in predicates:
        if entry.argument is not None and predicate_name(entry.name) in PREDICATES:
            text = f"{to} knows the name {entry.name} and passes over the argument, so it refuses no node any more"
            yield Note(NoteKind.LOST, path, text, _rename(entry.name))


# --- priorities ----------------------------------------------------------------------------


def _priorities(entries: Sequence[PriorityPolicy], record: Release, to: str, notes: list[Note]) -> Priorities:
    kept = [(entry_path("priorities", at, entry.name), entry) for at, entry in enumerate(entries)]
    if record.legacy is not None:
        kept = [(path, mine) for path, entry in kept if (mine := _named(path, entry, to, notes)) is not None]
        kept = _one_ratio(kept, to, notes)
        for member in ("label_preference", "service_anti_affinity"):
            kept = _even_weights(kept, member, to, notes)
    return [(path, _with_resources(path, entry, record, to, notes)) for path, entry in kept]


def _named(path: str, entry: PriorityPolicy, to: str, notes: list[Note]) -> PriorityPolicy | None:
    """The entry under a name and with an argument that the release takes; None for one that it has nothing for."""
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
        text = f"{to} knows the name {entry.name} and passes over the argument: it scores as without one"
        notes.append(Note(NoteKind.LOST, path, text, _rename(entry.name)))
    return entry


def _own(entry: PriorityPolicy, member: str) -> bool:
    """Whether the entry's argument counts as plugins are made of it, and is of this kind."""
    known = priority_name(entry.name) in PRIORITIES or entry.name == EQUAL
    return not known and entry.argument is not None and getattr(entry.argument, member) is not None


def _one_ratio(entries: Priorities, to: str, notes: list[Note]) -> Priorities:
    """Releases take one priority with requestedToCapacityRatioArguments: the heaviest, the last of these."""
    ratios = [(path, entry) for path, entry in entries if _own(entry, "requested_to_capacity_ratio")]
    if len(ratios) < 2:
        return entries
    kept_path, kept = max(reversed(ratios), key=lambda found: found[1].weight)
    for path, entry in ratios:
        if entry is not kept:
            text = f"{to} takes one requestedToCapacityRatioArguments only, and keeps that of {kept_path}"
            notes.append(Note(NoteKind.LOST, path, text, "choose the one that matters more"))
    return [(path, entry) for path, entry in entries if entry is kept or (path, entry) not in ratios]


def _even_weights(entries: Priorities, member: str, to: str, notes: list[Note]) -> Priorities:
    """Releases want one weight for all preferences of a kind: an entry is repeated as often as it weighs more."""
    found = [(path, entry) for path, entry in entries if _own(entry, member)]
    weights = [entry.weight for _, entry in found]
    if len(set(weights)) < 2:
        return entries
    common = reduce(gcd, weights)
    paths = ", ".join(path for path, _ in found)
    if sum(weights) // common > MOST_COPIES:
        mean = max(1, round(sum(weights) / len(weights)))
        text = f"{to} has one weight for all of them: {mean} for each, instead of {', '.join(map(str, weights))}"
        notes.append(Note(NoteKind.APPROXIMATE, paths, text, "choose weights with a larger common factor"))
        return [(p, msgspec.structs.replace(e, weight=mean) if (p, e) in found else e) for p, e in entries]
    text = f"{to} has one weight for all of them, so a label is listed as often as it weighs more"
    notes.append(Note(NoteKind.EXACT, paths, text))
    repeated: Priorities = []
    for path, entry in entries:
        copies = entry.weight // common if (path, entry) in found else 1
        repeated += [
            (path, msgspec.structs.replace(entry, weight=common) if (path, entry) in found else entry)
        ] * copies
    return repeated


def _with_resources(path: str, entry: PriorityPolicy, record: Release, to: str, notes: list[Note]) -> PriorityPolicy:
    """requestedToCapacityRatioArguments with the resources that count spelled out."""
    if not _own(entry, "requested_to_capacity_ratio"):
        return entry
    assert entry.argument is not None
    ratio = entry.argument.requested_to_capacity_ratio
    assert ratio is not None
    resources = tuple(resource for resource in ratio.resource_weights() if resource.weight > 0)
    if len(resources) < len(ratio.resource_weights()):
        notes.append(Note(NoteKind.LOST, path, f"resources with a negative weight are left out: {to} takes none"))
    if not ratio.resources:
        text = f"it names no resources. With a policy, {to} then scores nothing by it; the configuration counts cpu "
        kind, by = (
            (NoteKind.APPROXIMATE, LEGACY_RELEASES[-1]) if record.legacy is None else (NoteKind.EXACT, record.name)
        )
        notes.append(Note(kind, path, f"{text}and memory, as {by} did"))
    argument = PriorityArgument(
        requested_to_capacity_ratio=msgspec.structs.replace(ratio, resources=resources or CPU_AND_MEMORY)
    )
    return msgspec.structs.replace(entry, argument=argument)


SCORING = (Point.PRE_SCORE, Point.SCORE)


class Origins(msgspec.Struct, frozen=True):
    """Plugin → the entries it comes from. default: where a plugin without entries comes from."""

    filters: dict[str, list[str]]
    scores: dict[str, list[str]]
    default_filter: str
    default_score: str

    def of(self, plugin: str, point: Point) -> str:
        """As a comment says it."""
        found = self.scores if point in SCORING else self.filters
        if plugin in found:
            return origin(found[plugin])
        if plugin in ALWAYS.values():
            return ALWAYS_ADDED
        return self.default_score if point in SCORING else self.default_filter

    def of_args(self, plugin: str) -> str:
        """Of what is configured for a plugin by its entries."""
        return origin((*self.filters.get(plugin, ()), *self.scores.get(plugin, ()))) or self.default_score


def origins(found: Mended, default: str, *, selector_spread: str = "") -> Origins:
    """Of a policy's plugins; ``default`` says where those of lists come from that it does not have.

    selector_spread: the plugin that SelectorSpreadPriority is, where it is not PodTopologySpread.
    """
    out = Origins(
        {},
        {},
        default if found.predicates is None else ALWAYS_ADDED,
        default if found.priorities is None else ALWAYS_ADDED,
    )
    for path, predicate in found.predicates or ():
        for plugin in _filters(predicate):
            out.filters.setdefault(plugin, []).append(f"from {path}")
    for path, priority in found.priorities or ():
        own = selector_spread and priority_name(priority.name) == SELECTOR_SPREAD
        for plugin in (selector_spread,) if own else _scores(priority):
            out.scores.setdefault(plugin, []).append(weighted_origin(path, priority.weight))
    return out


def _filters(entry: PredicatePolicy) -> tuple[str, ...]:
    name = predicate_name(entry.name)
    if name not in PREDICATES and entry.argument is not None:
        name = SERVICE_PREDICATE if entry.argument.service_affinity is not None else LABEL_PREDICATE
    return PREDICATES.get(name, ())


def _scores(entry: PriorityPolicy) -> Iterator[str]:
    name = priority_name(entry.name)
    if name in PRIORITIES:
        yield PRIORITIES[name]
    elif entry.argument is not None and name != EQUAL:
        if entry.argument.service_anti_affinity is not None:
            yield SERVICE_PLUGIN
        elif entry.argument.label_preference is not None:
            yield LABEL_PLUGIN
        else:
            yield RATIO_PLUGIN


class _Written(msgspec.Struct, frozen=True):
    """What is to be written."""

    profile: Profile
    origins: Origins
    kept: dict[str, str] = msgspec.field(default_factory=dict)
    """Plugin → why it differs from what the release makes of the policy."""


def own_profile(source: Source, to: str, *, keep_emphasis: bool = False, with_new_filters: bool = False) -> Translation:
    """The configuration for release ``to``.

    keep_emphasis: with the weights that keep packing on top.

    Raises ConfigError for a policy that cannot be mended so that the release takes it, and for ``with_new_filters``:
    they are what later releases may lack.
    """
    if with_new_filters:
        raise ConfigError(f"--with-new-filters: it is for releases that read no policies, and {to} does")
    record = release_named(to)
    rules = record.framework_rules.policy_rules
    found = mended(source.policy, source.record, to)
    own = _selector_plugin(source, record)
    default = f"{to}'s {source.name}" if source.provider is not None else f"default of {to}"
    named = origins(found, default, selector_spread=own)
    written = _Written(profile_of(source, found.policy, record), named)
    before, extenders = emphasis_before(source), source.policy.extenders
    verdict = judge(before, profile_emphasis(written.profile, extenders))
    notes = [*source.notes, *found.notes]
    if source.record.legacy is not None:
        notes += (*_legacy_notes(source, record, spreads=not own), details(source.record, record))
    else:
        notes += _plugin_notes(source, rules, record)
        notes.append(details(source.record, record))
    if source.selector_spread and source.spreads_by_default:
        notes += _gate_notes(written.profile)
    if source.policy.always_check_all_predicates:
        notes.append(all_checks(record))
    notes += [*extender_notes(extenders, source.record, record), *verdict.notes]
    if keep_emphasis:
        notes.append(kept_note(verdict.suggestion))
        written = _kept(written, verdict.suggestion) if verdict.suggestion else written
    config = list(_config(source, written, record.framework_rules.component))
    return Translation(
        source=source.name,
        from_release=source.release,
        release=to,
        document=profile_document(source, record, _plugins(written, record), config),
        notes=grouped(notes),
        before=before,
        after=profile_emphasis(written.profile, extenders),
    )


def _selector_plugin(source: Source, record: Release) -> str:
    """The plugin that SelectorSpreadPriority is in a release; empty where it is PodTopologySpread."""
    rules = record.framework_rules.policy_rules
    turned_off = source.selector_spread and GATE in record.gates.gates
    if rules.spreads(record.gates.resolve({GATE: False} if turned_off else {})):
        return ""
    plugin = rules.score[SELECTOR_SPREAD]
    return plugin if plugin != SPREAD else SELECTOR_PLUGIN


# --- notes ---------------------------------------------------------------------------------


def _legacy_notes(source: Source, record: Release, *, spreads: bool) -> Iterator[Note]:
    """What the release does differently from one that decides by predicates and priorities."""
    to, lists = record.name, record.framework_rules.policy_rules.defaults
    if source.priorities:
        yield SCALE
    yield from _plugin_notes(source, record.framework_rules.policy_rules, record)
    for item in source.priorities:
        if item.priority is None and item.name in SELECTOR_SPREADS and spreads:
            yield Note(NoteKind.APPROXIMATE, item.path, SELECTOR_TEXT, SELECTOR_ADVICE)
    yield from _merged_notes(source, to)
    for item in source.predicates:
        if item.idle and (item.predicate is not None or predicate_name(item.name) in PREDICATES):
            text = f"release {source.release} never runs a predicate of this name, {to} does"
            yield Note(NoteKind.APPROXIMATE, item.path, text, "take it out to keep what pods are used to")
    if source.policy.predicates is None:
        text = f"the default list of {to} stands in place of that of {source.release}; EvenPodsSpread is new in it"
        yield Note(NoteKind.CHECK, "predicates", text)
    if source.policy.priorities is None:
        weight = lists.priorities[EVEN_SPREAD]
        text = (
            f"the default list of {to} stands in place of that of {source.release}: {SPREAD} has weight {weight} in it"
        )
        yield Note(NoteKind.APPROXIMATE, "priorities", text, "name the priorities in a policy to keep their weights")


def _plugin_notes(source: Source, rules: PolicyRules, record: Release) -> Iterator[Note]:
    """Of priorities whose plugins score otherwise."""
    for item in source.priorities:
        if item.priority is None and (plugin := rules.score.get(priority_name(item.name))):
            yield from formula_notes(plugin, item.path, source.release, record.name)


def _gate_notes(profile: Profile) -> Iterator[Note]:
    """How the document says what the feature gate said."""
    scores = {plugin.name for plugin in profile.plugins.get(Point.SCORE, ())}
    said = []
    if SELECTOR_PLUGIN in scores:
        said.append(f"{SELECTOR_PLUGIN} is enabled by name")
    if SPREAD in scores:
        said.append(f"{SPREAD} has defaultingType {LIST}")
    if said:
        yield Note(NoteKind.EXACT, GATE_OFF, f"{' and '.join(said)}, so it is the same whatever the gate is")


def _merged_notes(source: Source, to: str) -> Iterator[Note]:
    """Names that are one for the release."""
    by_name: dict[str, list[str]] = {}
    for item in source.priorities:
        if item.priority is None:
            by_name.setdefault(priority_name(item.name), []).append(item.path)
    for paths in by_name.values():
        if len(paths) > 1:
            yield Note(NoteKind.APPROXIMATE, ", ".join(paths), f"they are one for {to}, with the last weight")


# --- emphasis ------------------------------------------------------------------------------


def _kept(written: _Written, suggestion: Suggestion) -> _Written:
    """The profile with the suggestion in it."""
    profile, kept = written.profile, {}
    scores = []
    for plugin in profile.plugins.get(Point.SCORE, ()):
        weight = suggestion.weights.get(plugin.name, plugin.weight)
        if weight != plugin.weight:
            kept[plugin.name] = KEPT.format(weight, plugin.weight)
        scores.append(Enabled(plugin.name, weight))
    config = profile.plugin_config
    if suggestion.no_defaults:
        kept[SPREAD] = KEPT.format(LIST, SYSTEM)
        others = (entry for entry in config if entry[0] != SPREAD)
        config = (*others, (SPREAD, PodTopologySpreadArgs(defaulting_type=LIST)))
    plugins = {**profile.plugins, Point.SCORE: tuple(scores)}
    profile = msgspec.structs.replace(profile, plugins=plugins, plugin_config=config)
    return msgspec.structs.replace(written, profile=profile, kept=kept)


# --- document ------------------------------------------------------------------------------


def _plugins(written: _Written, to: Release) -> dict[str, Any]:
    form = to.framework_rules.component
    points = (point for point in form.points if point.value in MEMBERS[form.native])
    return {point.value: members for point in points if (members := _set(written, point, to))}


def _set(written: _Written, point: Point, to: Release) -> dict[str, Any]:
    """All defaults disabled, then what the profile has."""
    members: dict[str, Any] = {}
    if enabled := written.profile.plugins.get(point):
        members["enabled"] = [_plugin(written, plugin, point) for plugin in enabled]
    if point in to.framework_rules.component.providers[DEFAULT_PROVIDER]:
        members["disabled"] = WithOrigin([{"name": "*"}], f"no default of {to.name} but what is enabled here")
    return members


def _plugin(written: _Written, plugin: Enabled, point: Point) -> WithOrigin:
    source = written.origins.of(plugin.name, point)
    if point is not Point.SCORE:
        return WithOrigin({"name": plugin.name}, source)
    kept = written.kept.get(plugin.name)
    weight = WithOrigin(plugin.weight, f"{source}, {kept}") if kept and plugin.name != SPREAD else plugin.weight
    return WithOrigin({"name": plugin.name, "weight": weight}, source)


def _config(source: Source, written: _Written, form: ComponentFormat) -> Iterator[WithOrigin]:
    """The args. What NodeResourcesFit ignores comes with the extenders."""
    for name, args in written.profile.plugin_config:
        if name == FIT:
            continue
        said = source.hard_origin if name == "InterPodAffinity" else ""
        comment = said or written.origins.of_args(name)
        if name in written.kept:
            comment = f"{comment}, {written.kept[name]}"
        members = written_args(args, form.plugins, form.native)
        members = {key: value for key, value in members.items() if key not in ("apiVersion", "kind")}
        if members:
            yield WithOrigin({"name": name, "args": members}, comment)
