"""Policies and providers translated into a KubeSchedulerConfiguration of a later release.

::

    source = policy_source(read_policy_text(text, "policy.json"), "1.16", {}, "policy.json")
    print(translation_yaml(translate(source, "1.36")))
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from
from kubescheduler.config.component.config_schema import V1, V1BETA1
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import points_by_plugin
from kubescheduler.framework.profiles.default_plugins import PluginPoints
from kubescheduler.releases.lookup import release_named
from kubescheduler.translate.commented_yaml import commented_yaml, note_lines, translation_yaml
from kubescheduler.translate.filters import own_predicates
from kubescheduler.translate.notes import BROUGHT, UNKNOWN, note
from kubescheduler.translate.policy_source import (
    Source,
    policy_source,
    provider_source,
    read_policy_text,
)
from kubescheduler.translate.scores import own_priorities
from kubescheduler.translate.to_1_20 import translate_1_20
from kubescheduler.translate.to_1_36 import translate_1_36
from kubescheduler.translate.translation_model import (
    Note,
    NoteKind,
    Translation,
    WithOrigin,
    grouped,
    profile_without_origin,
)

__all__ = [
    "TARGETS",
    "Note",
    "NoteKind",
    "Source",
    "Translation",
    "commented_yaml",
    "note_lines",
    "policy_source",
    "provider_source",
    "read_policy_text",
    "translate",
    "translation_document",
    "translation_yaml",
]


class _Translate(Protocol):
    def __call__(
        self, source: Source, to: str, *, keep_emphasis: bool = False, with_new_filters: bool = False
    ) -> Translation: ...


TARGETS: dict[str, _Translate] = {V1BETA1: translate_1_20, V1: translate_1_36}
"""The apiVersion that a release writes → what translates for it."""


def translate(
    source: Source,
    to: str,
    *,
    keep_emphasis: bool = False,
    with_new_filters: bool = False,
    plugins: PluginPoints | None = None,
) -> Translation:
    """The configuration for release ``to``, one with profiles, and what to know about it.

    A predicate or priority of the team's own becomes a plugin of its name. plugins: the points of those there are.

    keep_emphasis: where packing of nodes would be outweighed, with the weights that keep it on top. with_new_filters:
    1.36: with VolumeBinding, NodeVolumeLimits and PodTopologySpread also where the source has no predicate for them.
    Raises ConfigError for a policy that the target cannot take in any form; a document that is returned is one that
    the target accepts.
    """
    form = release_named(to).framework_rules.component
    translation = TARGETS[form.native](source, to, keep_emphasis=keep_emphasis, with_new_filters=with_new_filters)
    translation, points = _with_own(translation, source, plugins or {})
    try:
        component_config_from(
            translation.plain(), form, all_problems=True, points={**points_by_plugin(form.plugins), **points}
        )
    except ConfigError as error:
        text = f"{source.name}: release {to} does not take what this becomes"
        raise ConfigError(f"{text}: {problem}" for problem in error.problems) from error
    return translation


def _with_own(
    translation: Translation, source: Source, brought: PluginPoints
) -> tuple[Translation, dict[str, Collection[Point]]]:
    """(the translation with a plugin in place of each rule of the team's own, the points of these)."""
    own = [(Point.FILTER, item) for item in own_predicates(source.predicates)]
    own += [(Point.SCORE, item) for item in own_priorities(source.priorities)]
    points: dict[str, Collection[Point]] = {}
    if not own:
        return translation, points
    profile = dict(profile_without_origin(translation.document, 0))
    plugins = dict(profile["plugins"])
    for point, item in own:
        weight = {"weight": item.weight} if point is Point.SCORE else {}
        member = plugins.get(point.value, {})
        enabled = [*member.get("enabled", ()), WithOrigin({"name": item.name, **weight}, item.origin)]
        plugins[point.value] = {**member, "enabled": enabled}
        points[item.name] = brought.get(item.name) or {*points.get(item.name, ()), point}
    there = [item.path for _, item in own if item.name in brought]
    notes = [each for each in translation.notes if each.text != UNKNOWN[1]]
    notes += (note(BROUGHT if item.path in there else UNKNOWN, item.path) for _, item in own)
    document = {**translation.document.value, "profiles": [{**profile, "plugins": plugins}]}
    document_with_origin = msgspec.structs.replace(translation.document, value=document)
    return msgspec.structs.replace(translation, document=document_with_origin, notes=grouped(notes)), points


def translation_document(translation: Translation) -> dict[str, Any]:
    """All of a translation as plain data."""
    return {
        "source": translation.source,
        "from": translation.from_release,
        "to": translation.release,
        "exact": translation.exact,
        "document": translation.plain(),
        "notes": [note.document() for note in translation.notes],
        "scores": {"before": translation.before.document(), "after": translation.after.document()},
        **({"otherProfiles": _others(translation)} if translation.others else {}),
    }


def _others(translation: Translation) -> list[dict[str, Any]]:
    """The shares of the scores of the profiles after the first."""
    return [
        {"name": shares.name, "before": shares.before.document(), "after": shares.after.document()}
        for shares in translation.others
    ]
