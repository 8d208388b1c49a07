"""A KubeSchedulerConfiguration of an older version as one of v1, and whether profiles that pack pods still do so."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from
from kubescheduler.config.component.component_format import ComponentFormat
from kubescheduler.config.component.config_schema import (
    CONFIGURATION,
    KIND,
    V1,
    V1ALPHA2,
    V1BETA1,
    V1BETA2,
    V1BETA3,
    Written,
)
from kubescheduler.config.component.decode_config import read_written
from kubescheduler.config.go_decoding import GoDecoder, show_path
from kubescheduler.config.unread_keys import behind_notes, twice_problems, unknown_problem
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.framework.args.field_errors import FieldError
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, Profile, SchedulerConfig
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.plugin_record import args_keys, points_by_plugin
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.profiles.default_plugins import enabled_everywhere
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.releases.lookup import steps_between
from kubescheduler.translate.emphasis import NOT_SCORES, SPREAD, Suggestion, extender_parts, judge
from kubescheduler.translate.policy_entries import LIST, SYSTEM, strategy_role
from kubescheduler.translate.policy_source import ROLES, profile_emphasis
from kubescheduler.translate.process_upgrade import PROCESSES, settings_for, with_settings, without_origin
from kubescheduler.translate.profile_upgrade import FIT, OldProfile, upgraded_profile
from kubescheduler.translate.translation_model import (
    Emphasis,
    Note,
    NoteKind,
    ProfileShares,
    Role,
    Translation,
    WeightedScore,
    WithOrigin,
    grouped,
)

KEPT = "--keep-emphasis: {} instead of {}"


def profile_emphasis_1_36(profile: Profile, extenders: Sequence[ExtenderConfig]) -> Emphasis:
    """Of a completed profile's Score plugins in 1.36, and the extenders that score."""
    args = dict(profile.plugin_config)
    scores = [plugin for plugin in profile.plugins.get(Point.SCORE, ()) if plugin.name not in NOT_SCORES]
    parts = [
        WeightedScore(plugin.name, plugin.weight or 1, *_role(plugin.name, args.get(plugin.name))) for plugin in scores
    ]
    return Emphasis((*parts, *extender_parts(extenders)))


def _role(name: str, args: Any) -> tuple[Role, str]:
    if name == FIT:
        strategy = args.scoring_strategy if isinstance(args, NodeResourcesFitArgs) else None
        return (Role.SPREADS, "LeastAllocated") if strategy is None else (strategy_role(strategy), strategy.type)
    if name == SPREAD:
        given = args if isinstance(args, PodTopologySpreadArgs) else PodTopologySpreadArgs()
        listed = given.defaulting_type == LIST
        return Role.SPREADS if not listed or given.default_constraints else Role.OTHER, LIST if listed else SYSTEM
    return ROLES.get(name, Role.OTHER), ""


def emphases_1_36(config: SchedulerConfig) -> list[Emphasis]:
    """Of each profile."""
    return [profile_emphasis_1_36(profile, config.extenders) for profile in config.profiles]


# --- into a translation --------------------------------------------------------------------


def with_shares(translation: Translation, before: Sequence[Emphasis], after: SchedulerConfig) -> Translation:
    """The translation with the shares of the first profile as its own, and those of the others behind."""
    shares = [
        ProfileShares(profile.scheduler_name, old, new)
        for profile, old, new in zip(after.profiles, before, emphases_1_36(after), strict=False)
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
        path = f"--keep-emphasis: profiles[{at}]"
        if suggestion is None:
            notes.append(Note(NoteKind.EXACT, path, "nothing has to change to keep packing on top"))
            continue
        profiles[at] = _changed(without_origin(profiles[at]), suggestion)
        notes.append(Note(NoteKind.APPROXIMATE, path, f"written: {suggestion.text}"))
    document = msgspec.structs.replace(translation.document, value={**translation.document.value, "profiles": profiles})
    return msgspec.structs.replace(translation, document=document, notes=(*translation.notes, *notes))


def emphasis_notes(translation: Translation) -> list[Note]:
    """Where what spreads pods weighs as much as what packs them, or packing weighs less than before."""
    found: list[Note] = []
    for at, shares in enumerate(translation.shares):
        verdict = judge(shares.before, shares.after)
        found += (msgspec.structs.replace(note, path=f"profiles[{at}] {note.path}") for note in verdict.notes)
    return found


def _changed(profile: Mapping[str, Any], suggestion: Suggestion) -> dict[str, Any]:
    changed = dict(profile)
    if suggestion.weights:
        plugins = dict(without_origin(changed.get("plugins", {})))
        plugins["score"] = _weighted(without_origin(plugins.get("score", {})), suggestion.weights)
        changed["plugins"] = plugins
    if suggestion.no_defaults:
        changed["pluginConfig"] = _without_constraints(without_origin(changed.get("pluginConfig", [])))
    return changed


def _weighted(score: Mapping[str, Any], weights: Mapping[str, int]) -> dict[str, Any]:
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
    for name, weight in left.items():
        default = next((p.weight for p in enabled_everywhere(v1_36.MULTI_POINT, v1_36.PLUGINS) if p.name == name), 1)
        enabled.append(WithOrigin({"name": name, "weight": weight}, KEPT.format(weight, default or 1)))
    return {**score, "enabled": enabled}


def _without_constraints(config: Sequence[Any]) -> list[Any]:
    """The args with no constraints by default."""
    kept = [item for item in config if without_origin(without_origin(item)["name"]) != SPREAD]
    args = {"defaultingType": LIST, "defaultConstraints": []}
    return [*kept, WithOrigin({"name": SPREAD, "args": args}, KEPT.format(LIST, SYSTEM))]


FIRST_WITH_V1 = "1.25"
"""The first release that reads v1, and runs by its defaults without any configuration."""
RELEASES = {V1ALPHA2: "1.19", V1BETA1: "1.20", V1BETA2: "1.27", V1BETA3: "1.28", V1: FIRST_WITH_V1}
"""apiVersion → a release that reads it: the last one, but for v1beta1 and v1."""
ONE_LIST_A_POINT = (V1ALPHA2, V1BETA1, V1BETA2)
"""Versions whose defaults are lists at each point."""
ANYWHERE = frozenset(Point) - {Point.QUEUE_SORT}
"""Where a plugin that is not known may take part when multiPoint enables it."""
V1ALPHA2_KEYS = ("disablePreemption", "bindTimeoutSeconds")
"""What v1alpha2 has and v1beta1 has not."""


def upgraded(document: Mapping[str, Any], name: str, release: str, *, keep_emphasis: bool = False) -> Translation:
    """The document as 1.36 takes v1, and what to know about it; its own origin stands behind every line.

    Plugins that kube-scheduler does not come with are kept. release: that has run by it. keep_emphasis: with the
    weights that keep packing on top.

    Raises ConfigError with every fault of the document for
    which the releases of its version refuse it, and for a document that cannot be said in v1.
    """
    version = str(document.get("apiVersion"))
    notes = [Note(NoteKind.CHECK, name, text) for text in behind_notes(document)]
    if version == V1ALPHA2:
        document = _without_unknown(document, notes)
    try:
        written = _read(document, version, notes)
    except ConfigError as error:
        raise ConfigError(f"{name}: {problem}" for problem in error.problems) from error
    profiles: list[dict[str, Any]] = []
    for at, profile in enumerate(document.get("profiles") or [{}]):
        typed = written.profiles[at].plugin_config if written.profiles else ()
        old = OldProfile(
            written=profile or {},
            path=f"profiles[{at}]",
            args=tuple(typed),
            lists=version in ONE_LIST_A_POINT,
            least=version in (V1ALPHA2, V1BETA1),
        )
        said, more = upgraded_profile(old)
        profiles.append({"schedulerName": _name(profile, at), **said})
        notes += more
    head = f"as {version.rpartition('/')[2]} has it"
    top: dict[str, Any] = {
        "apiVersion": WithOrigin(V1, "the version that 1.36 reads"),
        "kind": WithOrigin(KIND, "the version that 1.36 reads"),
        "profiles": profiles,
    }
    if extenders := document.get("extenders"):
        top["extenders"] = WithOrigin(extenders, "extenders")
    translation = Translation(
        source=name,
        from_release=release,
        release="1.36",
        document=WithOrigin(top, head),
        notes=(*notes, *_version_notes(version, release)),
        before=Emphasis(()),
        after=Emphasis(()),
    )
    result = with_settings(translation, settings_for(PROCESSES[V1], document, lambda key: key))
    result = with_shares(result, _emphases_before(document, version), _checked(result, name))
    result = msgspec.structs.replace(result, notes=grouped((*result.notes, *emphasis_notes(result))))
    if keep_emphasis:
        before = [shares.before for shares in result.shares]
        result = emphasis_kept(result)
        result = with_shares(result, before, _checked(result, name))
    return result


def _no_errors(_: ComponentFormat, __: Written, ___: SchedulerConfig, ____: str) -> list[FieldError]:
    """Whatever is written counts, plugins that 1.36 no longer has too."""
    return []


def _emphases_before(document: Mapping[str, Any], version: str) -> list[Emphasis]:
    """Of each profile, in a release that reads the document."""
    old = version in (V1ALPHA2, V1BETA1)
    form = msgspec.structs.replace(v1_20.FORMAT if old else _form(version), errors=_no_errors)
    known = points_by_plugin(form.plugins)
    points = {**known, **foreign_points(_plugins(document), known)}
    own = {key: value for key, value in document.items() if key not in V1ALPHA2_KEYS}
    own["apiVersion"] = V1BETA1 if old else version
    config = component_config_from(own, form, all_problems=False, points=points)
    if not old:
        return emphases_1_36(config)
    return [profile_emphasis(_with_weights(profile), config.extenders) for profile in config.profiles]


def _with_weights(profile: Profile) -> Profile:
    """A score without a weight has weight 1."""
    scores = tuple(
        msgspec.structs.replace(plugin, weight=plugin.weight or 1) for plugin in profile.plugins.get(Point.SCORE, ())
    )
    return msgspec.structs.replace(profile, plugins={**profile.plugins, Point.SCORE: scores})


def _name(profile: Any, at: int) -> WithOrigin:
    given = (profile or {}).get("schedulerName")
    if given is None:
        return WithOrigin(DEFAULT_SCHEDULER_NAME, "default")
    return WithOrigin(given, f"profiles[{at}].schedulerName")


# --- checks --------------------------------------------------------------------------------


def foreign_points(plugins_of: Iterator[Mapping[str, Any]], known: Mapping[str, Any]) -> dict[str, frozenset[Point]]:
    """Plugins that kube-scheduler does not come with → the points at which profiles list them."""
    found: dict[str, frozenset[Point]] = {}
    for plugins in plugins_of:
        for member, plugin_set in plugins.items():
            points = ANYWHERE if member == "multiPoint" else frozenset(p for p in Point if p.value == member)
            for entry in (plugin_set or {}).get("enabled") or ():
                if isinstance(entry, Mapping) and entry.get("name") not in known:
                    name = str(entry.get("name"))
                    found[name] = found.get(name, frozenset()) | points
    return found


def _plugins(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for profile in document.get("profiles") or ():
        plugins = profile.get("plugins") if isinstance(profile, Mapping) else None
        if isinstance(plugins, Mapping):
            yield {member: each for member, each in plugins.items() if isinstance(each, Mapping)}


def _form(version: str) -> ComponentFormat:
    """How the document is decoded."""
    return {V1: v1_36.FORMAT, V1BETA2: v1_36.FORMAT_V1BETA, V1BETA3: v1_36.FORMAT_V1BETA}.get(version, v1_20.FORMAT)


def _read(document: Mapping[str, Any], version: str, notes: list[Note]) -> Written:
    """The document decoded; raises ConfigError with the faults for which releases of its version refuse it."""
    form = _form(version)
    if version == V1ALPHA2:
        own = {key: value for key, value in document.items() if key not in V1ALPHA2_KEYS}
        return _read({**own, "apiVersion": V1BETA1}, V1BETA1, notes)
    decoded = read_written(document, form, version, args_keys(form.plugins, {}))
    if problems := [*decoded.problems, *twice_problems(document)]:
        raise ConfigError(problems)
    if version == V1BETA1:
        known = points_by_plugin(form.plugins)
        points = {**known, **foreign_points(_plugins(document), known)}
        component_config_from(document, form, all_problems=True, points=points)
    return decoded.written


def _without_unknown(document: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    """A v1alpha2 document without the keys that it does not have, each with a note."""
    kept: dict[str, Any] = copy.deepcopy(dict(document))
    decoder = GoDecoder(outer=0)
    decoder.decode(CONFIGURATION[V1BETA1], {key: kept[key] for key in kept if key not in V1ALPHA2_KEYS})
    for key in decoder.unknown:
        if key.path not in (("kind",), ("apiVersion",)):
            place: Any = kept
            for step in key.path[:-1]:
                place = place[step]
            del place[key.path[-1]]
            notes.append(Note(NoteKind.LOST, show_path(key.path), unknown_problem(key).partition(": ")[2]))
    return kept


def _checked(translation: Translation, name: str) -> SchedulerConfig:
    """What 1.36 makes of the result. Raises ConfigError when it would not take it."""
    document = translation.plain()
    known = points_by_plugin(v1_36.FORMAT.plugins)
    points = {**known, **foreign_points(_plugins(document), known)}
    try:
        return component_config_from(document, v1_36.FORMAT, all_problems=True, points=points)
    except ConfigError as error:
        text = f"{name}: release 1.36 does not take what this becomes"
        raise ConfigError(f"{text}: {problem}" for problem in error.problems) from error


def _version_notes(version: str, release: str) -> Iterator[Note]:
    short = version.rpartition("/")[2]
    if version in (V1BETA2, V1BETA3, V1) and (steps := steps_between(release, "1.36")):
        text = f"what releases after {release} decide otherwise, whatever the configuration: {steps}"
        yield Note(NoteKind.CHECK, short, text, "see which pods choose otherwise with kubescheduler compare")
    if version == V1:
        return
    if version == V1BETA3:
        text = (
            "v1 enables DynamicResources and NodeDeclaredFeatures by default: they look at what older pods do not have"
        )
        yield Note(NoteKind.EXACT, short, text)
    limits = (
        "by default it enabled EBSLimits, GCEPDLimits and AzureDiskLimits; NodeVolumeLimits counts such volumes now"
    )
    yield Note(NoteKind.CHECK, short, limits, "see that the CSI drivers report allocatable.count")
