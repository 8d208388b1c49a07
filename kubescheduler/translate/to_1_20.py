"""A policy or provider as a configuration of release 1.20: the profile that 1.20 itself makes of it, written out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component.config_schema import KIND, V1BETA1
from kubescheduler.config.component.write_config import written_args
from kubescheduler.config.policy.policy_1_20_names import PREDICATES, predicate_name, priority_name
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Enabled, Point, Profile
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.profiles.default_plugins import DEFAULT_PROVIDER
from kubescheduler.releases import v1_20
from kubescheduler.releases.lookup import release_named
from kubescheduler.translate.emphasis import SPREAD, Suggestion, judge
from kubescheduler.translate.notes import ALL_CHECKS, PRIORITIES_1_20, SCALE, legacy_details, note
from kubescheduler.translate.origins import Origins, origins
from kubescheduler.translate.policy_extenders import extender_notes, written_extenders
from kubescheduler.translate.policy_mending import mended
from kubescheduler.translate.policy_source import Source
from kubescheduler.translate.profile_of_1_20 import emphasis_before, profile_1_20, profile_emphasis
from kubescheduler.translate.spreading import (
    GATE_OFF,
    LIST,
    SELECTOR_ADVICE,
    SELECTOR_PLUGIN,
    SELECTOR_SPREAD,
    SELECTOR_TEXT,
    SYSTEM,
)
from kubescheduler.translate.translation_model import Note, NoteKind, Translation, WithOrigin, grouped

FIT = "NodeResourcesFit"
KEPT = "--keep-emphasis: {} instead of {}"


class _Written(msgspec.Struct, frozen=True):
    """What is to be written."""

    profile: Profile
    origins: Origins
    kept: dict[str, str] = msgspec.field(default_factory=dict)
    """Plugin → why it differs from what 1.20 makes of the policy."""


def translate_1_20(
    source: Source, to: str, *, keep_emphasis: bool = False, with_new_filters: bool = False
) -> Translation:
    """The configuration for 1.20, or for a release ``to`` that reads the same version.

    keep_emphasis: with the weights that keep packing on top.

    Raises ConfigError for a policy that cannot be mended so that 1.20 takes it, and for ``with_new_filters``: they are
    new in 1.36.
    """
    if with_new_filters:
        raise ConfigError("--with-new-filters: it is for release 1.36")
    record = release_named(to)
    found = mended(source.policy, source.record)
    named = origins(found, _default(source), selector_spread=source.selector_spread)
    written = _Written(profile_1_20(source, found.policy, record), named)
    before, extenders = emphasis_before(source), source.policy.extenders
    verdict = judge(before, profile_emphasis(written.profile, extenders))
    notes = [*source.notes, *found.notes]
    if source.record.legacy is not None:
        notes += (*_legacy_notes(source), *legacy_details(source.release))
    if source.selector_spread:
        notes += _gate_notes(written.profile)
    if source.policy.always_check_all_predicates:
        notes.append(ALL_CHECKS)
    notes += [*extender_notes(extenders, source.record, record), *verdict.notes]
    if keep_emphasis:
        written, kept_note = _kept(written, verdict.suggestion)
        notes.append(kept_note)
    return Translation(
        source=source.name,
        from_release=source.release,
        release=to,
        document=_document(source, to, written),
        notes=grouped(notes),
        before=before,
        after=profile_emphasis(written.profile, extenders),
    )


def _default(source: Source) -> str:
    return f"1.20's {source.name}" if source.provider is not None else "default of 1.20"


# --- notes ---------------------------------------------------------------------------------


def _legacy_notes(source: Source) -> Iterator[Note]:
    """What 1.20 does differently from 1.4 and 1.16."""
    if source.priorities:
        yield SCALE
    for item in source.priorities:
        if item.priority is None and item.name in PRIORITIES_1_20:
            yield note(PRIORITIES_1_20[item.name], item.path)
        elif item.priority is None and item.name in SELECTOR_SPREAD:
            yield Note(NoteKind.APPROXIMATE, item.path, SELECTOR_TEXT, SELECTOR_ADVICE)
    yield from _merged_notes(source)
    for item in source.predicates:
        if item.idle and (item.predicate is not None or predicate_name(item.name) in PREDICATES):
            text = f"release {source.release} never runs a predicate of this name, 1.20 does"
            yield Note(NoteKind.APPROXIMATE, item.path, text, "take it out to keep what pods are used to")
    if source.policy.predicates is None:
        text = f"the default list of 1.20 stands in place of that of {source.release}; EvenPodsSpread is new in it"
        yield Note(NoteKind.CHECK, "predicates", text)
    if source.policy.priorities is None:
        text = f"the default list of 1.20 stands in place of that of {source.release}: {SPREAD} has weight 2 in it"
        yield Note(NoteKind.APPROXIMATE, "priorities", text, "name the priorities in a policy to keep their weights")


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


def _merged_notes(source: Source) -> Iterator[Note]:
    """Names that are one for 1.20."""
    by_name: dict[str, list[str]] = {}
    for item in source.priorities:
        if item.priority is None:
            by_name.setdefault(priority_name(item.name), []).append(item.path)
    for paths in by_name.values():
        if len(paths) > 1:
            yield Note(NoteKind.APPROXIMATE, ", ".join(paths), "they are one for 1.20, with the last weight")


# --- emphasis ------------------------------------------------------------------------------


def _kept(written: _Written, suggestion: Suggestion | None) -> tuple[_Written, Note]:
    """The profile with the suggestion in it."""
    if suggestion is None:
        return written, Note(NoteKind.EXACT, "--keep-emphasis", "nothing has to change to keep packing on top")
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
    note = Note(NoteKind.APPROXIMATE, "--keep-emphasis", f"written: {suggestion.text}")
    profile = msgspec.structs.replace(profile, plugins=plugins, plugin_config=config)
    return msgspec.structs.replace(written, profile=profile, kept=kept), note


# --- document ------------------------------------------------------------------------------


def _document(source: Source, to: str, written: _Written) -> WithOrigin:
    profile: dict[str, Any] = {
        "schedulerName": WithOrigin(DEFAULT_SCHEDULER_NAME, f"default of {to}"),
        "plugins": {point.value: members for point in v1_20.FORMAT.points if (members := _set(written, point))},
    }
    if config := list(_config(source, written)):
        profile["pluginConfig"] = config
    document: dict[str, Any] = {
        "apiVersion": WithOrigin(V1BETA1, f"the version that {to} reads"),
        "kind": WithOrigin(KIND, f"the version that {to} reads"),
        "profiles": [profile],
    }
    if source.policy.extenders:
        document["extenders"] = written_extenders(source.policy.extenders)
    return WithOrigin(document, f"for {source.name}")


def _set(written: _Written, point: Point) -> dict[str, Any]:
    """All defaults disabled, then what the profile has."""
    members: dict[str, Any] = {}
    if enabled := written.profile.plugins.get(point):
        members["enabled"] = [_plugin(written, plugin, point) for plugin in enabled]
    if point in v1_20.FORMAT.providers[DEFAULT_PROVIDER]:
        members["disabled"] = WithOrigin([{"name": "*"}], "no default of 1.20 but what is enabled here")
    return members


def _plugin(written: _Written, plugin: Enabled, point: Point) -> WithOrigin:
    source = written.origins.of(plugin.name, point)
    if point is not Point.SCORE:
        return WithOrigin({"name": plugin.name}, source)
    kept = written.kept.get(plugin.name)
    weight = WithOrigin(plugin.weight, f"{source}, {kept}") if kept and plugin.name != SPREAD else plugin.weight
    return WithOrigin({"name": plugin.name, "weight": weight}, source)


def _config(source: Source, written: _Written) -> Iterator[WithOrigin]:
    """The args. What NodeResourcesFit ignores comes with the extenders."""
    for name, args in written.profile.plugin_config:
        if name == FIT:
            continue
        said = source.hard_origin if name == "InterPodAffinity" else ""
        comment = said or written.origins.of_args(name)
        if name in written.kept:
            comment = f"{comment}, {written.kept[name]}"
        members = written_args(args, v1_20.PLUGINS, V1BETA1)
        members = {key: value for key, value in members.items() if key not in ("apiVersion", "kind")}
        yield WithOrigin({"name": name, "args": members}, comment)
