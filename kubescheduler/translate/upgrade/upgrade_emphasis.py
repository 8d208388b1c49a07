"""Whether profiles of an older KubeSchedulerConfiguration that pack pods still do so in v1, and with which weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.framework.contract.profile import Point, Profile, SchedulerConfig
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.profiles.default_plugins import enabled_everywhere
from kubescheduler.releases import v1_36
from kubescheduler.translate.emphasis import NOT_SCORES, SPREAD, Suggestion, extender_parts, judge
from kubescheduler.translate.profile_of_1_20 import ROLES
from kubescheduler.translate.scoring_strategy import strategy_role
from kubescheduler.translate.spreading import LIST, SYSTEM
from kubescheduler.translate.translation_model import (
    Emphasis,
    Note,
    NoteKind,
    ProfileShares,
    Role,
    Translation,
    WeightedScore,
    WithOrigin,
)
from kubescheduler.translate.upgrade.fullness_upgrade import FIT
from kubescheduler.translate.upgrade.process_settings import without_origin

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
