"""Release 1.36: merging with the defaults, and what multiPoint means at each point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kubescheduler.config.component.written_config import ALL, MULTI_POINT
from kubescheduler.framework.contract.profile import PluginSet, Point

if TYPE_CHECKING:
    from kubescheduler.framework.contract.profile import Enabled
    from kubescheduler.framework.profiles.default_plugins import PluginPoints


def merged(defaults: Sequence[Enabled], custom: PluginSet) -> PluginSet:
    """The defaults without disabled ones, those that are enabled again in their old place, then the others enabled."""
    replacing = {plugin.name: at for at, plugin in enumerate(custom.enabled)}
    enabled: list[Enabled] = []
    placed: set[int] = set()
    if ALL not in custom.disabled:
        for default in defaults:
            if default.name in custom.disabled:
                continue
            at = replacing.get(default.name)
            if at is None:
                enabled.append(default)
            else:
                enabled.append(custom.enabled[at])
                placed.add(at)
    added = (plugin for at, plugin in enumerate(custom.enabled) if at not in placed)
    return PluginSet((*enabled, *added), custom.disabled)


def merged_sets(defaults: Mapping[str, Sequence[Enabled]], sets: Mapping[str, PluginSet]) -> dict[str, PluginSet]:
    """``merged`` of every member of ``plugins`` that has defaults or is given."""
    members = (*(point.value for point in Point), MULTI_POINT)
    given = [member for member in members if member in sets or member in defaults]
    return {member: merged(defaults.get(member, ()), sets.get(member, PluginSet())) for member in given}


def expanded(sets: Mapping[str, PluginSet], points: PluginPoints) -> dict[Point, tuple[Enabled, ...]]:
    """Point → the plugins that run there, for the points that have any.

    A plugin that is twice in multiPoint is there twice, which the framework refuses.
    """
    everywhere = sets.get(MULTI_POINT, PluginSet()).enabled
    lists = {point: _at(point, sets.get(point.value, PluginSet()), everywhere, points) for point in Point}
    return {point: plugins for point, plugins in lists.items() if plugins}


def _at(point: Point, own: PluginSet, everywhere: Iterable[Enabled], points: PluginPoints) -> tuple[Enabled, ...]:
    """First those that take the place of one of multiPoint, then the rest of multiPoint, then the others."""
    if ALL in own.disabled:
        return own.enabled
    here = [plugin for plugin in everywhere if point in points.get(plugin.name, ()) and plugin.name not in own.disabled]
    own_names = {plugin.name for plugin in own.enabled}
    overriding = {plugin.name for plugin in here if plugin.name in own_names}
    return (
        *(plugin for plugin in own.enabled if plugin.name in overriding),
        *(plugin for plugin in here if plugin.name not in own_names),
        *(plugin for plugin in own.enabled if plugin.name not in overriding),
    )
