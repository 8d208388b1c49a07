"""A policy or provider as a configuration of release 1.36: its nearest equivalent.

All defaults are disabled and what the source has is enabled in multiPoint; a plugin that only filters is disabled where
it would score, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kubescheduler.config.component.config_schema import KIND, V1
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point
from kubescheduler.framework.profiles.default_plugins import enabled_everywhere
from kubescheduler.releases import v1_36
from kubescheduler.releases.lookup import release_named
from kubescheduler.translate.added_affinity import added_affinity
from kubescheduler.translate.emphasis import (
    NOT_SCORES,
    Suggestion,
    defaults_notes,
    extender_parts,
    judge,
)
from kubescheduler.translate.filters import Filters, filters_1_36
from kubescheduler.translate.notes import ALL_CHECKS, DETAILS_1_36, legacy_details
from kubescheduler.translate.policy_extenders import extender_notes, written_extenders
from kubescheduler.translate.policy_source import Source
from kubescheduler.translate.profile_of_1_20 import emphasis_before
from kubescheduler.translate.scores import FIT, SPREAD, Scores, own_priorities, scores_1_36
from kubescheduler.translate.scoring_strategy import strategy_role
from kubescheduler.translate.spreading import LIST, SYSTEM, Spread
from kubescheduler.translate.translation_model import (
    Emphasis,
    Note,
    NoteKind,
    Role,
    Translation,
    WeightedScore,
    WithOrigin,
    grouped,
    origin,
)

ALWAYS = "always added"
NEEDED = ("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")
NEW = {
    "DynamicResources": "default of 1.36: pods with resource claims need it",
    "NodeDeclaredFeatures": "default of 1.36: pods that need features of the kubelet",
}
KEPT = "--keep-emphasis: {} instead of {}"


def translate_1_36(
    source: Source, to: str, *, keep_emphasis: bool = False, with_new_filters: bool = False
) -> Translation:
    """The configuration for release ``to``.

    keep_emphasis: with the weights that keep packing on top. with_new_filters: with the filters that pods of today
    rely on.
    """
    filters, scores = filters_1_36(source, with_new_filters=with_new_filters), scores_1_36(source)
    before = emphasis_before(source)
    after = _emphasis(scores, source)
    verdict = judge(before, after)
    notes = [*source.notes, *filters.notes, *scores.notes]
    if source.policy.always_check_all_predicates:
        notes.append(ALL_CHECKS)
    notes += [
        *extender_notes(source.policy.extenders, source.record, release_named(to)),
        *(legacy_details(source.release) if source.record.legacy is not None else ()),
        DETAILS_1_36,
        *defaults_notes(before, after),
        *verdict.notes,
    ]
    if keep_emphasis:
        scores, note = _kept(scores, verdict.suggestion)
        notes.append(note)
    return Translation(
        source=source.name,
        from_release=source.release,
        release=to,
        document=_document(source, to, filters, scores),
        notes=grouped(notes),
        before=before,
        after=_emphasis(scores, source),
    )


# --- emphasis ------------------------------------------------------------------------------


def _emphasis(scores: Scores, source: Source) -> Emphasis:
    parts = [WeightedScore(name, scored.weight, *_role(name, scores)) for name, scored in scores.plugins.items()]
    own = (WeightedScore(item.name, item.weight) for item in own_priorities(source.priorities))
    return Emphasis((*parts, *own, *extender_parts(source.policy.extenders)))


def _role(name: str, scores: Scores) -> tuple[Role, str]:
    if name == FIT and scores.scoring is not None:
        return strategy_role(scores.scoring), scores.scoring.type
    if name == SPREAD and scores.spread.defaulting == SYSTEM:
        return Role.SPREADS, SYSTEM
    if name == SPREAD:
        return Role.SPREADS if scores.spread.constraints else Role.OTHER, LIST
    return Role.SPREADS if name == "NodeResourcesBalancedAllocation" else Role.OTHER, ""


def _kept(scores: Scores, suggestion: Suggestion | None) -> tuple[Scores, Note]:
    """The scores with the suggestion in them."""
    if suggestion is None:
        return scores, Note(NoteKind.EXACT, "--keep-emphasis", "nothing has to change to keep packing on top")
    plugins = dict(scores.plugins)
    for name, weight in suggestion.weights.items():
        scored = plugins[name]
        kept = KEPT.format(weight, scored.weight)
        plugins[name] = msgspec.structs.replace(scored, weight=weight, origin=f"{scored.origin}, {kept}")
    spreading = scores.spread
    if suggestion.no_defaults:
        kept = KEPT.format(LIST, spreading.defaulting)
        spreading = Spread(spreading.weight, f"{spreading.origin}, {kept}", LIST)
    note = Note(NoteKind.APPROXIMATE, "--keep-emphasis", f"written: {suggestion.text}")
    return msgspec.structs.replace(scores, plugins=plugins, spread=spreading), note


# --- document ------------------------------------------------------------------------------


def _document(source: Source, to: str, filters: Filters, scores: Scores) -> WithOrigin:
    profile: dict[str, Any] = {
        "schedulerName": WithOrigin(DEFAULT_SCHEDULER_NAME, f"default of {to}"),
        "plugins": _plugins(filters, scores),
    }
    if config := list(_plugin_config(source, filters, scores)):
        profile["pluginConfig"] = config
    document: dict[str, Any] = {
        "apiVersion": WithOrigin(V1, f"the version that {to} reads"),
        "kind": WithOrigin(KIND, f"the version that {to} reads"),
        "profiles": [profile],
    }
    if source.policy.extenders:
        document["extenders"] = written_extenders(source.policy.extenders)
    return WithOrigin(document, f"for {source.name}")


def _plugins(filters: Filters, scores: Scores) -> dict[str, Any]:
    enabled = list(_enabled(filters, scores))
    none = WithOrigin([{"name": "*"}], "no default of 1.36 but what is enabled here")
    members: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": none}}
    names = [said.value["name"] for said in enabled]
    checked = {Point.PRE_FILTER: filters.plugins, Point.FILTER: filters.plugins}
    scored = {Point.PRE_SCORE: scores.plugins, Point.SCORE: scores.plugins}
    for point, wanted in {**checked, **scored}.items():
        what = "predicate" if point in checked else "priority"
        disabled = [
            WithOrigin({"name": name}, f"no {what} of the policy")
            for name in names
            if name not in wanted and name not in NEW and point in v1_36.PLUGINS[name].points
        ]
        if disabled := [said for said in disabled if point in checked or said.value["name"] not in NOT_SCORES]:
            members[point.value] = {"disabled": disabled}
    return members


def _enabled(filters: Filters, scores: Scores) -> Iterator[WithOrigin]:
    """In the order of 1.36; a weight where the plugin scores."""
    for default in enabled_everywhere(v1_36.MULTI_POINT, v1_36.PLUGINS):
        name, scored = default.name, scores.plugins.get(default.name)
        if name in NEEDED:
            yield WithOrigin({"name": name}, ALWAYS)
        elif name in NEW:
            yield WithOrigin({"name": name, **({"weight": default.weight} if default.weight else {})}, NEW[name])
        elif scored is not None:
            source = origin(filters.plugins.get(name, (scored.origin,)))
            yield WithOrigin({"name": name, "weight": WithOrigin(scored.weight, scored.origin)}, source)
        elif name in filters.plugins:
            yield WithOrigin({"name": name}, origin(filters.plugins[name]))


def _plugin_config(source: Source, filters: Filters, scores: Scores) -> Iterator[WithOrigin]:
    """The args, by plugin. NodeResourcesFit is there also when extenders ignore resources, as 1.36 asks for it."""
    if "InterPodAffinity" in scores.plugins:
        said = source.hard_origin or f"default of {source.release}"
        yield _args("InterPodAffinity", WithOrigin({"hardPodAffinityWeight": source.hard_weight}, said))
    added = added_affinity(filters.required, scores.affinity.preferred)
    if added is not None:
        yield _args("NodeAffinity", added)
    if scores.strategy is not None:
        yield _args(FIT, WithOrigin({"scoringStrategy": scores.strategy}, scores.strategy.origin))
    elif source.policy.ignored_resources():
        yield _args(FIT, WithOrigin({"ignoredResources": []}, "extenders look after resources, which 1.36 writes here"))
    if SPREAD in scores.plugins:
        yield _args(SPREAD, scores.spread.args)


def _args(plugin: str, args: WithOrigin) -> WithOrigin:
    return WithOrigin({"name": plugin, "args": args}, args.origin)
