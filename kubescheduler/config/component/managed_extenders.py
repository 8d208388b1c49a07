"""Extenders in the order they are asked, and what the scheduler leaves to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig
    from kubescheduler.framework.contract.profile import Profile

FIT = "NodeResourcesFit"


def ordered(extenders: Sequence[ExtenderConfig]) -> tuple[ExtenderConfig, ...]:
    """Ignorable extenders behind the others, else in the order they are configured."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))


def ignored_resources(extenders: Sequence[ExtenderConfig]) -> tuple[str, ...]:
    """The resources that the extenders look after and the scheduler does not."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def with_ignored_1_20(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    """The profile with args for NodeResourcesFit; if it has some already, the framework refuses the second ones."""
    if not ignored:
        return profile
    entry: tuple[str, Any] = (FIT, NodeResourcesFitArgs(ignored_resources=ignored))
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, entry))


def with_ignored_1_36(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    """The profile whose args of NodeResourcesFit ignore exactly these. Raises ConfigError when it has none."""
    if not ignored:
        return profile
    at = next((at for at, (name, _) in enumerate(profile.plugin_config) if name == FIT), None)
    if at is None:
        raise ConfigError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
    entries = list(profile.plugin_config)
    entries[at] = (FIT, msgspec.structs.replace(entries[at][1], ignored_resources=ignored))
    return msgspec.structs.replace(profile, plugin_config=tuple(entries))
