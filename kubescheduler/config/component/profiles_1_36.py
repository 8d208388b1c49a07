"""The profiles of release 1.36: merged with the defaults, then expanded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from kubescheduler.config.component.config_defaults import with_default_args
from kubescheduler.config.component.config_versions import merged_with_defaults
from kubescheduler.config.component.managed_extenders import ignored_resources, ordered, with_ignored_1_36
from kubescheduler.config.component.multipoint import expanded
from kubescheduler.config.component.written_config import MULTI_POINT
from kubescheduler.framework.contract.profile import PluginSet
from kubescheduler.framework.profiles.in_tree_plugins import args_keys

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat
    from kubescheduler.framework.contract.profile import Profile, SchedulerConfig
    from kubescheduler.framework.profiles.default_plugins import PluginPoints


def merge_1_36(
    form: ComponentFormat, config: SchedulerConfig, version: str, feature_gates: Mapping[str, bool]
) -> SchedulerConfig:
    """Merges the sets and fills in args: what the release then validates."""

    keys = args_keys(form.plugins, feature_gates)

    def merge(profile: Profile) -> Profile:
        sets = merged_with_defaults(form, profile.sets, version, feature_gates)
        names = sorted({plugin.name for plugins in sets.values() for plugin in plugins.enabled})
        return with_default_args(msgspec.structs.replace(profile, sets=sets), names, keys)

    return msgspec.structs.replace(config, profiles=tuple(map(merge, config.profiles)))


def finish_1_36(
    form: ComponentFormat,  # noqa: ARG001  the profiles have their plugins
    config: SchedulerConfig,
    *,
    provider: str,  # noqa: ARG001  there are none
    points: PluginPoints,
    feature_gates: Mapping[str, bool],  # noqa: ARG001  merging has seen to them
) -> SchedulerConfig:
    """Orders the extenders and expands multiPoint. Raises ConfigError as the release does when it builds extenders."""
    extenders = ordered(config.extenders)
    ignored = ignored_resources(extenders)

    def finish(profile: Profile) -> Profile:
        everywhere = profile.sets.get(MULTI_POINT, PluginSet()).enabled
        expansion = msgspec.structs.replace(profile, plugins=expanded(profile.sets, points), multi_point=everywhere)
        return with_ignored_1_36(expansion, ignored)

    return msgspec.structs.replace(config, profiles=tuple(map(finish, config.profiles)), extenders=extenders)
