"""How release 1.22 reads and checks configurations of v1beta2 and v1beta1: the defaults are part of what it checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from kubecel.api_names import go_quote
from kubescheduler.config.component.config_checks import (
    client_errors,
    number_errors,
    parallelism_errors,
    profile_errors,
)
from kubescheduler.config.component.config_defaults import FIT, expanded_profiles, with_merged_sets
from kubescheduler.config.component.config_schema import V1BETA1, V1BETA2
from kubescheduler.config.component.format_1_20 import (
    SYSTEM_SPREAD,
    address_errors_1_20,
    election_errors_1_20,
    merged,
    set_literal,
)
from kubescheduler.config.component.format_1_36 import merged as merged_in_place
from kubescheduler.config.component.format_1_36 import plugin_errors, queue_sort_errors
from kubescheduler.config.policy.policy_checks import extender_errors_1_20
from kubescheduler.framework.args.field_errors import invalid
from kubescheduler.framework.contract.profile import Enabled, PluginSet, Point
from kubescheduler.framework.profiles.default_plugins import DEFAULT_PROVIDER, provider_plugins

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat, DocumentRules
    from kubescheduler.config.component.config_schema import Written
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig

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

    return [
        *client_errors(config),
        *election_errors_1_20(config.leader_election),
        *parallelism_errors(config),
        *profile_errors(config.profiles, check),
        *queue_sort_errors(form, config.profiles, set_literal),
        *address_errors_1_20("healthzBindAddress", config.healthz_bind_address),
        *address_errors_1_20("metricsBindAddress", config.metrics_bind_address),
        *number_errors(config),
        *extender_errors_1_20(config.extenders),
    ]


def _conflicts(profile: Profile) -> Iterator[FieldError]:
    scoring = [plugin.name for plugin in profile.sets[Point.SCORE.value].enabled]
    others = " ".join(go_quote(name) for name in scoring if name in SCORED_BY_FIT)
    if FIT in scoring and others:
        shown = go_quote(V1BETA1)
        text = f"was conflict with [{others}] in version {shown} (KubeSchedulerConfiguration is version {shown})"
        yield invalid(f"plugins.score.enabled[{scoring.index(FIT)}]", FIT, text)
