"""How releases 1.22 to 1.24 read and check configurations: the defaults are part of what they check.

1.22 reads v1beta2 and v1beta1, 1.23 and 1.24 read v1beta3 and v1beta2, with multiPoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from kubecel.api_names import go_quote
from kubescheduler.config.component_format import (
    DEFAULT_ADDRESS,
    FIT,
    ComponentFormat,
    DocumentRules,
    config_errors,
    expanded_profiles,
    with_merged_sets,
)
from kubescheduler.config.config_schema import MULTI_POINT, V1BETA1, V1BETA2, Written
from kubescheduler.config.format_1_20 import (
    SYSTEM_SPREAD,
    address_errors_1_20,
    election_errors_1_20,
    merged,
    set_literal,
)
from kubescheduler.config.format_1_36 import (
    GONE,
    address_errors,
    expanded_config,
    merged_sets,
    plugin_errors,
    queue_sort_errors,
)
from kubescheduler.config.format_1_36 import merged as merged_in_place
from kubescheduler.config.policy_model import extender_errors_1_20
from kubescheduler.framework.contract.profile import ALL, Enabled, PluginSet, Point, Profile, SchedulerConfig
from kubescheduler.framework.document_schema import FieldError, invalid
from kubescheduler.framework.plugins.plugin_record import (
    DEFAULT_PROVIDER,
    STORAGE_SCORES,
    PluginPoints,
    enabled_everywhere,
    provider_plugins,
)

REMOVED = frozenset(
    {
        "NodeLabel",
        "NodePreferAvoidPods",
        "NodeResourcesLeastAllocated",
        "NodeResourcesMostAllocated",
        "RequestedToCapacityRatio",
        "ServiceAffinity",
    }
)
"""Plugins that v1beta2 does not have any more."""

SCORED_BY_FIT = ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio")
"""Plugins beside which NodeResourcesFit may not score in v1beta1."""

SCORE_V1BETA1 = (
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "InterPodAffinity",
    "NodeResourcesLeastAllocated",
    "NodeAffinity",
    "NodePreferAvoidPods",
    "PodTopologySpread",
    "TaintToleration",
)
"""The Score plugins of v1beta1, in order."""


def merge_1_22(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Puts the defaults of the apiVersion in, and args for every plugin that can have some.

    A default that is enabled again stands in its place in v1beta2, and is there twice in v1beta1, which the framework
    refuses.
    """
    defaults = default_lists(rules.form, rules.version, rules.gates)

    def merged_sets(sets: Mapping[str, PluginSet]) -> dict[str, PluginSet]:
        return {p.value: _joined(defaults.get(p, ()), sets, p, rules.version) for p in rules.form.points}

    return with_merged_sets(rules, config, merged_sets)


def _joined(defaults: tuple[Enabled, ...], sets: Mapping[str, PluginSet], point: Point, version: str) -> PluginSet:
    custom = sets.get(point.value, PluginSet())
    if version == V1BETA1:
        return PluginSet(merged(defaults, custom), custom.disabled)
    return merged_in_place(defaults, custom)


def default_lists(
    form: ComponentFormat, version: str, feature_gates: Mapping[str, bool]
) -> dict[Point, tuple[Enabled, ...]]:
    """The plugins that an apiVersion enables by default. Upstream: 1.22 getDefaultPlugins."""
    lists = form.providers[DEFAULT_PROVIDER]
    if version == V1BETA1:
        lists = {**lists, Point.SCORE: SCORE_V1BETA1}
    spreads = feature_gates.get(SYSTEM_SPREAD, True)
    return provider_plugins(lists, form.plugins, feature_gates, selector_spread=not spreads)


def finish_1_22(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Profiles name every point; merging has seen to the gates."""

    def expand(profile: Profile) -> Profile:
        lists = {point: profile.sets[point.value].enabled for point in rules.form.points}
        plugins = {point: enabled for point, enabled in lists.items() if enabled}
        return msgspec.structs.replace(profile, plugins=plugins, sets={})

    return expanded_profiles(config, expand)


def errors_1_22(form: ComponentFormat, _: Written, config: SchedulerConfig, version: str) -> list[FieldError]:
    """What validation finds. Upstream: 1.22 ``ValidateKubeSchedulerConfiguration``."""
    shown = go_quote(V1BETA2)
    removed = f"was removed in version {shown} (KubeSchedulerConfiguration is version {shown})"

    def check(profile: Profile) -> Iterator[FieldError]:
        if version == V1BETA2:
            yield from plugin_errors(profile, form.plugins, form.refused[V1BETA2], removed)
        else:
            yield from _conflicts(profile)
            yield from plugin_errors(profile, form.plugins, (), "")

    return config_errors(
        config,
        election_errors_1_20(config.leader_election),
        check,
        (*queue_sort_errors(form, config.profiles, set_literal), *address_errors_1_20(config)),
        extender_errors_1_20(config.extenders),
    )


def _conflicts(profile: Profile) -> Iterator[FieldError]:
    scoring = [plugin.name for plugin in profile.sets[Point.SCORE.value].enabled]
    others = " ".join(go_quote(name) for name in scoring if name in SCORED_BY_FIT)
    if FIT in scoring and others:
        shown = go_quote(V1BETA1)
        text = f"was conflict with [{others}] in version {shown} (KubeSchedulerConfiguration is version {shown})"
        yield invalid(f"plugins.score.enabled[{scoring.index(FIT)}]", FIT, text)


WEIGHTS_V1BETA2 = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
"""The weights that v1beta3 has raised."""

GONE_1_23 = {
    name: text
    for name, text in GONE.items()
    if name not in ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits", "SelectorSpread")
}
"""Plugin that is gone → what to do instead."""


def merge_1_23(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Puts the defaults of the apiVersion in, and args for every plugin that can have some; no address is one."""
    defaults = default_sets(rules.form, rules.version, rules.gates)

    def merged(given: Mapping[str, PluginSet]) -> dict[str, PluginSet]:
        sets = merged_sets(defaults, given)
        if rules.version == V1BETA2:  # such that the native version reads them as meant
            sets[MULTI_POINT] = PluginSet(sets.get(MULTI_POINT, PluginSet()).enabled, (ALL,))
        return sets

    return msgspec.structs.replace(
        with_merged_sets(rules, config, merged),
        healthz_bind_address=config.healthz_bind_address.removesuffix(DEFAULT_ADDRESS),
        metrics_bind_address=config.metrics_bind_address.removesuffix(DEFAULT_ADDRESS),
    )


def default_sets(
    form: ComponentFormat, version: str, feature_gates: Mapping[str, bool]
) -> dict[str, tuple[Enabled, ...]]:
    """Member of ``plugins`` → the defaults there. Upstream: 1.23 getDefaultPlugins."""
    spreads = feature_gates.get(SYSTEM_SPREAD, True)
    if version == V1BETA2:
        lists = provider_plugins(
            form.providers[DEFAULT_PROVIDER], form.plugins, feature_gates, selector_spread=not spreads
        )
        return {point.value: tuple(map(_as_in_v1beta2, plugins)) for point, plugins in lists.items()}
    sets = {MULTI_POINT: enabled_everywhere(form.multi_point, form.plugins, feature_gates)}
    score = (Enabled("VolumeBinding", 1),) if feature_gates.get(STORAGE_SCORES, False) else ()
    if not spreads:
        sets[Point.PRE_SCORE.value] = (Enabled("SelectorSpread"),)
        score = (*score, Enabled("SelectorSpread", 1))
    return {**sets, Point.SCORE.value: score}


def _as_in_v1beta2(plugin: Enabled) -> Enabled:
    weight = WEIGHTS_V1BETA2.get(plugin.name, plugin.weight) if plugin.weight else 0
    return Enabled(plugin.name, weight)


def finish_1_23(rules: DocumentRules, config: SchedulerConfig) -> SchedulerConfig:
    """Expands multiPoint: first a point's own plugins, then those of multiPoint."""
    return expanded_config(rules, config, own_first)


def own_first(point: Point, own: PluginSet, everywhere: Iterable[Enabled], points: PluginPoints) -> tuple[Enabled, ...]:
    """The point's own plugins, then those of multiPoint that are not among them.

    One that is twice in multiPoint is there twice, which the framework refuses. Upstream: 1.23 expandMultiPointPlugins.
    """
    if ALL in own.disabled:
        return own.enabled
    left_out = {*own.disabled, *(plugin.name for plugin in own.enabled)}
    more = (plugin for plugin in everywhere if plugin.name not in left_out and point in points.get(plugin.name, ()))
    return (*own.enabled, *more)


def errors_1_23(form: ComponentFormat, written: Written, config: SchedulerConfig, _: str) -> list[FieldError]:
    """What validation finds. Upstream: 1.23 ``ValidateKubeSchedulerConfiguration``."""
    return config_errors(
        config,
        election_errors_1_20(config.leader_election),
        lambda profile: plugin_errors(profile, form.plugins, (), ""),
        (*queue_sort_errors(form, config.profiles, set_literal), *address_errors(written)),
        extender_errors_1_20(config.extenders),
    )
