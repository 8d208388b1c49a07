"""An older KubeSchedulerConfiguration as a later release takes it, and whether profiles that pack pods still do so."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, faults_at
from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.config.config_schema import CONFIGURATION, KIND, V1, V1ALPHA2, Written
from kubescheduler.config.format_1_36 import GONE
from kubescheduler.config.go_decoding import GoDecoder, behind_notes, show_path, twice_problems, unknown_problem
from kubescheduler.config.load_config import component_config_from, default_config, read_written
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, SchedulerConfig
from kubescheduler.framework.plugins.plugin_record import args_keys, points_by_plugin
from kubescheduler.releases.lookup import release_named, steps_between
from kubescheduler.releases.names import number
from kubescheduler.releases.release import Release
from kubescheduler.translate.emphasis import KEPT, SPREAD, Suggestion, judge, kept_note
from kubescheduler.translate.nearest_profile import IN_TREE_LIMITS
from kubescheduler.translate.policy_entries import LIST, SYSTEM
from kubescheduler.translate.policy_source import profile_emphasis
from kubescheduler.translate.process_upgrade import settings_for, target_process, with_settings
from kubescheduler.translate.profile_upgrade import FULLNESS, LEAST_PLUGIN, SELECTOR, OldProfile, upgraded_profile
from kubescheduler.translate.translation_model import (
    FORMULAS,
    Emphasis,
    Note,
    NoteKind,
    ProfileShares,
    Translation,
    WithOrigin,
    default_weights,
    format_of,
    formula_notes,
    gone_since,
    grouped,
    later,
    readers,
    since,
    without_origin,
)


def emphases(config: SchedulerConfig) -> list[Emphasis]:
    """Of each profile."""
    return [profile_emphasis(profile, config.extenders, 1) for profile in config.profiles]


# --- into a translation --------------------------------------------------------------------


def with_shares(translation: Translation, before: Sequence[Emphasis], after: SchedulerConfig) -> Translation:
    """The translation with the shares of the first profile as its own, and those of the others behind."""
    shares = [
        ProfileShares(profile.scheduler_name, old, new)
        for profile, old, new in zip(after.profiles, before, emphases(after), strict=False)
    ]
    if not shares:
        return translation
    first, *others = shares
    return msgspec.structs.replace(translation, before=first.before, after=first.after, others=tuple(others))


def emphasis_kept(translation: Translation) -> Translation:
    """The translation with the weights, in every profile, with which packing stays on top, and a note on each."""
    profiles = list(translation.document.value["profiles"])
    notes: list[Note] = []
    for at, shares in enumerate(translation.shares):
        suggestion = judge(shares.before, shares.after).suggestion
        notes.append(kept_note(suggestion, f"--keep-emphasis: profiles[{at}]"))
        if suggestion is not None:
            profiles[at] = _changed(without_origin(profiles[at]), suggestion, format_of(translation.release))
    document = msgspec.structs.replace(translation.document, value={**translation.document.value, "profiles": profiles})
    return msgspec.structs.replace(translation, document=document, notes=(*translation.notes, *notes))


def emphasis_notes(translation: Translation) -> list[Note]:
    """Where what spreads pods weighs as much as what packs them, or packing weighs less than before."""
    found: list[Note] = []
    for at, shares in enumerate(translation.shares):
        verdict = judge(shares.before, shares.after)
        found += (msgspec.structs.replace(note, path=f"profiles[{at}] {note.path}") for note in verdict.notes)
    return found


def _changed(profile: Mapping[str, Any], suggestion: Suggestion, form: ComponentFormat) -> dict[str, Any]:
    changed = dict(profile)
    if suggestion.weights:
        plugins = dict(without_origin(changed.get("plugins", {})))
        plugins["score"] = _weighted(without_origin(plugins.get("score", {})), suggestion.weights, form)
        changed["plugins"] = plugins
    if suggestion.no_defaults:
        changed["pluginConfig"] = _without_constraints(without_origin(changed.get("pluginConfig", [])))
    return changed


def _weighted(score: Mapping[str, Any], weights: Mapping[str, int], form: ComponentFormat) -> dict[str, Any]:
    """The entries of ``score`` with these weights; a default that gets another one is listed."""
    left, enabled = dict(weights), []
    for entry in without_origin(score.get("enabled", [])):
        said = {key: without_origin(value) for key, value in without_origin(entry).items()}
        weight = left.pop(str(said.get("name")), None)
        if weight is None:
            enabled.append(entry)
        else:
            origin = entry.origin if isinstance(entry, WithOrigin) else ""
            kept = KEPT.format(weight, said.get("weight") or 1)
            enabled.append(WithOrigin({**said, "weight": weight}, f"{origin}, {kept}".removeprefix(", ")))
    defaults, disabled = default_weights(form), list(without_origin(score.get("disabled", [])))
    for name, weight in left.items():
        kept = KEPT.format(weight, defaults.get(name, 1))
        enabled.append(WithOrigin({"name": name, "weight": weight}, kept))
        if LEAST_PLUGIN in defaults:  # such a release refuses a default that is enabled again
            disabled.append(WithOrigin({"name": name}, kept))
    return {**score, "enabled": enabled, **({"disabled": disabled} if disabled else {})}


def _without_constraints(config: Sequence[Any]) -> list[Any]:
    """The args with no constraints by default."""
    kept = [item for item in config if without_origin(without_origin(item)["name"]) != SPREAD]
    args = {"defaultingType": LIST, "defaultConstraints": []}
    return [*kept, WithOrigin({"name": SPREAD, "args": args}, KEPT.format(LIST, SYSTEM))]


ANYWHERE = frozenset(Point) - {Point.QUEUE_SORT}
"""Where a plugin that is not known may take part when multiPoint enables it."""
VERSIONS = tuple(CONFIGURATION)
"""Every apiVersion with profiles, oldest first."""


def reader(version: str, to: str, release: str | None = None) -> str:
    """The release that is taken to have run by a document: ``release`` if it reads the version, else the last that
    does and is not newer than ``to``; of v1, which goes on, the first.
    """
    found = readers(version)
    if release in found:
        return str(release)
    before = [name for name in found if number(name) <= number(to)] or found
    return before[0] if version == V1 else before[-1]


def upgraded(
    document: Mapping[str, Any], name: str, release: str, to: str, *, keep_emphasis: bool = False
) -> Translation:
    """The document as release ``to`` takes it, and what to know about it; its own origin stands behind every line.

    Plugins that kube-scheduler does not come with are kept. release: that has run by it. keep_emphasis: with the
    weights that keep packing on top.

    Raises ConfigError with every fault of the document for which that release refuses it, and for a document that
    cannot be said in the target's version.
    """
    later(release, to)
    version, before, target = str(document.get("apiVersion")), release_named(release), release_named(to)
    form = target.framework_rules.component
    notes = [Note(NoteKind.CHECK, name, text) for text in behind_notes(document)]
    notes += _version_notes(version, release, to)
    if version == V1ALPHA2:
        document = _without_unknown(document, notes)
    with faults_at(name):
        written = _read(document, before)
    weights = default_weights(before.framework_rules.component, version)
    profiles: list[dict[str, Any]] = []
    for at, profile in enumerate(document.get("profiles") or [{}]):
        typed = written.profiles[at].plugin_config if written.profiles else ()
        old = OldProfile(profile or {}, f"profiles[{at}]", tuple(typed), before, target, weights, default_weights(form))
        said, more = upgraded_profile(old)
        profiles.append({"schedulerName": _name(profile, at), **said})
        notes += more
    ran = _config_before(document, before)
    notes += _formula_notes(ran, release, to)
    head = f"as {version.rpartition('/')[2]} has it"
    top: dict[str, Any] = {
        "apiVersion": WithOrigin(form.native, f"the version that {to} reads"),
        "kind": WithOrigin(KIND, f"the version that {to} reads"),
        "profiles": profiles,
    }
    if extenders := document.get("extenders"):
        top["extenders"] = WithOrigin(extenders, "extenders")
    translation = Translation(
        source=name,
        from_release=release,
        release=to,
        document=WithOrigin(top, head),
        notes=tuple(notes),
        before=Emphasis(()),
        after=Emphasis(()),
    )
    settings = settings_for(target_process(to), settings_said(document, before), lambda key: key)
    result = with_settings(translation, settings)
    result = with_shares(result, emphases(ran), _checked(result, name))
    result = msgspec.structs.replace(result, notes=grouped((*result.notes, *emphasis_notes(result))))
    if keep_emphasis:
        old_shares = [shares.before for shares in result.shares]
        result = emphasis_kept(result)
        result = with_shares(result, old_shares, _checked(result, name))
    return result


def settings_said(document: Mapping[str, Any], before: Release) -> dict[str, Any]:
    """What a document says, and what the release that reads it has another default for."""
    said = {**before.process_defaults, **document}
    if election := before.process_defaults.get("leaderElection"):
        said["leaderElection"] = {**election, **(document.get("leaderElection") or {})}
    return said


def _config_before(document: Mapping[str, Any], before: Release) -> SchedulerConfig:
    """What the release that reads the document makes of it."""
    form = before.framework_rules.component
    return component_config_from(document, form, all_problems=False, points=_points(document, form))


def _formula_notes(ran: SchedulerConfig, release: str, to: str) -> Iterator[Note]:
    """How the plugins that score in some profile do so otherwise in the target."""
    for profile in ran.profiles:
        scores = {plugin.name for plugin in profile.plugins.get(Point.SCORE, ())} - {*FULLNESS}
        for name in (name for name in FORMULAS if name in scores):
            yield from formula_notes(name, name, release, to, system=SELECTOR not in scores)


def _name(profile: Any, at: int) -> WithOrigin:
    given = (profile or {}).get("schedulerName")
    if given is None:
        return WithOrigin(DEFAULT_SCHEDULER_NAME, "default")
    return WithOrigin(given, f"profiles[{at}].schedulerName")


# --- checks --------------------------------------------------------------------------------


def _points(document: Mapping[str, Any], form: ComponentFormat) -> dict[str, Collection[Point]]:
    """Plugin → its points; of those that kube-scheduler does not come with, the points at which profiles list them."""
    known = points_by_plugin(form.plugins)
    found: dict[str, Collection[Point]] = dict(known)
    for profile in document.get("profiles") or ():
        plugins = profile.get("plugins") if isinstance(profile, Mapping) else None
        for member, given in plugins.items() if isinstance(plugins, Mapping) else ():
            points = ANYWHERE if member == "multiPoint" else frozenset(p for p in Point if p.value == member)
            enabled = (given.get("enabled") or ()) if isinstance(given, Mapping) else ()
            for name in (str(entry.get("name")) for entry in enabled if isinstance(entry, Mapping)):
                if name not in known and name not in GONE:
                    found[name] = {*found.get(name, ()), *points}
    return found


def _read(document: Mapping[str, Any], before: Release) -> Written:
    """The document decoded; raises ConfigError with the faults for which the release refuses it."""
    form, version = before.framework_rules.component, str(document["apiVersion"])
    decoded = read_written(document, form, version, args_keys(form.plugins, {}))
    if problems := [*decoded.problems, *twice_problems(document)]:
        raise ConfigError(problems)
    component_config_from(document, form, all_problems=True, points=_points(document, form))
    return decoded.written


def _without_unknown(document: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    """A v1alpha2 document without the keys that it does not have, each with a note."""
    kept: dict[str, Any] = copy.deepcopy(dict(document))
    decoder = GoDecoder(outer=0)
    decoder.decode(CONFIGURATION[V1ALPHA2], kept)
    for key in decoder.unknown:
        if key.path not in (("kind",), ("apiVersion",)):
            place: Any = kept
            for step in key.path[:-1]:
                place = place[step]
            del place[key.path[-1]]
            notes.append(Note(NoteKind.LOST, show_path(key.path), unknown_problem(key).partition(": ")[2]))
    return kept


def _checked(translation: Translation, name: str) -> SchedulerConfig:
    """What the target makes of the result. Raises ConfigError when it would not take it."""
    document, form = translation.plain(), format_of(translation.release)
    with faults_at(f"{name}: release {translation.release} does not take what this becomes"):
        return component_config_from(document, form, all_problems=True, points=_points(document, form))


def _version_notes(version: str, release: str, to: str) -> Iterator[Note]:
    """Since when the version is not read any more, and what changes whatever the configuration."""
    short = version.rpartition("/")[2]
    if gone := since(release, to, lambda record: version not in record.framework_rules.component.versions):
        yield Note(NoteKind.CHECK, short, f"{gone} no longer reads it", "go on with this configuration before")
    if steps := steps_between(release, to):
        text = f"what releases after {release} decide otherwise, whatever the configuration: {steps}"
        yield Note(NoteKind.CHECK, short, text, "see which pods choose otherwise with kubescheduler compare")
    if lost := sorted(_limits(release) - _limits(to)):
        first = gone_since(lost[0], release, to)
        text = (
            f"by default it enabled {_listed(lost)}; {first} has none of them, and NodeVolumeLimits counts such volumes"
        )
        yield Note(NoteKind.CHECK, short, text, "see that the CSI drivers report allocatable.count")
    form, older = format_of(to), format_of(release)
    if new := sorted({*_default_filters(form)} - {*_default_filters(older)} - {*older.plugins}):
        text = f"{to} enables {_listed(new)} by default: they look at what older pods do not have"
        yield Note(NoteKind.EXACT, short, text)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _default_filters(form: ComponentFormat) -> list[str]:
    profile = default_config(form).profiles[0]
    return [plugin.name for plugin in profile.plugins.get(Point.FILTER, ())]


def _limits(release: str) -> set[str]:
    """The plugins that limit the volumes of one cloud and run by default."""
    return {name for name in _default_filters(format_of(release)) if name in IN_TREE_LIMITS}
