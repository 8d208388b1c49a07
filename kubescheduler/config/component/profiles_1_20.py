"""The profiles of release 1.20: merged with an algorithm provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import ConfigError
from kubecel.api_names import go_quote
from kubescheduler.config.component.config_defaults import with_default_args
from kubescheduler.config.component.managed_extenders import ignored_resources, ordered, with_ignored_1_20
from kubescheduler.config.component.merge_1_20 import merged_plugins
from kubescheduler.framework.profiles.default_plugins import provider_plugins
from kubescheduler.framework.profiles.in_tree_plugins import args_keys

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig
    from kubescheduler.framework.profiles.default_plugins import PluginPoints

SYSTEM_SPREAD = "DefaultPodTopologySpread"
"""The feature gate of System defaulting; off, the providers have SelectorSpread."""


def provider_error(form: ComponentFormat, provider: str) -> str | None:
    """The release's text for a provider that there is none of."""
    if provider in form.providers:
        return None
    name = go_quote(provider)
    return f"couldn't create scheduler using provider {name}: algorithm provider {name} is not registered"


def finish_1_20(
    form: ComponentFormat,
    config: SchedulerConfig,
    *,
    provider: str,
    points: PluginPoints,  # noqa: ARG001  profiles name every point
    feature_gates: Mapping[str, bool],
) -> SchedulerConfig:
    """Merges, orders the extenders and fills in args. Raises ConfigError for an unknown provider."""
    if error := provider_error(form, provider):
        raise ConfigError(error)
    spreads = feature_gates.get(SYSTEM_SPREAD, True)
    defaults = provider_plugins(form.providers[provider], form.plugins, selector_spread=not spreads)
    extenders = ordered(config.extenders)
    ignored = ignored_resources(extenders)
    keys = args_keys(form.plugins, feature_gates)

    def finish(profile: Profile) -> Profile:
        plugins = merged_plugins(form.points, defaults, profile.sets)
        folded = with_ignored_1_20(msgspec.structs.replace(profile, plugins=plugins, sets={}), ignored)
        names = sorted({plugin.name for enabled in plugins.values() for plugin in enabled})
        return with_default_args(folded, names, keys)

    profiles = tuple(map(finish, config.profiles))
    return msgspec.structs.replace(config, profiles=profiles, extenders=extenders, provider=provider)
