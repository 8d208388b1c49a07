"""Release 1.20: a profile's plugins are those of the algorithm provider, less and more what the profile says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kubescheduler.config.component.written_config import ALL
from kubescheduler.framework.contract.profile import PluginSet

if TYPE_CHECKING:
    from kubescheduler.framework.contract.profile import Enabled, Point


def merged(defaults: Sequence[Enabled], custom: PluginSet) -> tuple[Enabled, ...]:
    """The defaults that are not disabled, then what is enabled.

    A default that is enabled without being disabled is there twice, which the framework refuses.
    """
    kept = () if ALL in custom.disabled else (plugin for plugin in defaults if plugin.name not in custom.disabled)
    return (*kept, *custom.enabled)


def merged_plugins(
    points: Iterable[Point], defaults: Mapping[Point, Sequence[Enabled]], sets: Mapping[str, PluginSet]
) -> dict[Point, tuple[Enabled, ...]]:
    """Point → plugins, for the points that have any."""
    lists = {point: merged(defaults.get(point, ()), sets.get(point.value, PluginSet())) for point in points}
    return {point: plugins for point, plugins in lists.items() if plugins}
