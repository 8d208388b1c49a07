"""Which of the plugins that come with the scheduler run by default, in which order.

A release's own file names them: the plugins of each provider at each point, or those of ``multiPoint``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.profile import Enabled, Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin

PluginPoints = Mapping[str, Collection[Point]]
"""Plugin name → the points it takes part in."""

DEFAULT_PROVIDER = "DefaultProvider"
AUTOSCALER_PROVIDER = "ClusterAutoscalerProvider"

Providers = Mapping[str, Mapping[Point, tuple[str, ...]]]
"""Algorithm provider → the names of its plugins at each point, with feature gate DefaultPodTopologySpread on."""

InTree = Mapping[str, InTreePlugin]
"""Plugin → its record, of every plugin that comes with a release."""


STORAGE_SCORES = "VolumeCapacityPriority"
"""The feature gate with which VolumeBinding scores, where providers say what runs."""


def provider_plugins(
    lists: Mapping[Point, Iterable[str]],
    plugins: InTree,
    feature_gates: Mapping[str, bool] = {},
    *,
    selector_spread: bool = False,
) -> dict[Point, tuple[Enabled, ...]]:
    """A provider's plugins with the release's weights, without those whose gates are off, where they take part. Gates
    that are not named have the release's default. selector_spread: the gate DefaultPodTopologySpread is off.
    """

    def enabled(point: Point, names: Iterable[str]) -> tuple[Enabled, ...]:
        return tuple(
            Enabled(plugin.name, plugin.default_weight if point is Point.SCORE else 0)
            for plugin in _records(names, plugins)
            if _is_on(plugin, feature_gates) and point in plugin.points
        )

    more = ("SelectorSpread",) if selector_spread else ()
    storage = ("VolumeBinding",) if feature_gates.get(STORAGE_SCORES, False) else ()
    beside = {Point.PRE_SCORE: more, Point.SCORE: (*more, *storage)}
    return {point: enabled(point, (*names, *beside.get(point, ()))) for point, names in lists.items()}


def enabled_everywhere(
    names: Iterable[str], plugins: InTree, feature_gates: Mapping[str, bool] = {}
) -> tuple[Enabled, ...]:
    """A ``multiPoint`` list with the release's weights, without the plugins whose gates are off.

    Gates that are not named have the release's default.
    """
    records = _records(names, plugins)
    return tuple(Enabled(plugin.name, plugin.default_weight) for plugin in records if _is_on(plugin, feature_gates))


def _records(names: Iterable[str], plugins: InTree) -> list[InTreePlugin]:
    """Raises ConfigError for one that is not there, as in a release without a change of its that others build on."""
    listed = list(names)
    if missing := [name for name in listed if name not in plugins]:
        raise ConfigError(f'plugin "{missing[0]}" does not exist')
    return [plugins[name] for name in listed]


def _is_on(plugin: InTreePlugin, feature_gates: Mapping[str, bool]) -> bool:
    return not plugin.gate or feature_gates.get(plugin.gate, plugin.gate_default)
