"""What a plugin that comes with the scheduler says of itself, release by release, and which of them run by default.

Everything that lists plugins derives from these records: which there are, where they take part, which args they read,
which events let a pod be tried again, and their pages of the documentation. Which run by default, in which order, a
release's own file names: the plugins of each provider at each point, or those of ``multiPoint``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.plugin import PluginFactory
from kubescheduler.framework.contract.profile import Enabled, Point
from kubescheduler.framework.document_schema import NO_GATES, ArgsType, Struct
from kubescheduler.framework.field_errors import FieldError
from kubescheduler.queue.queueing_hints import Registered

UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"
BY_NODE = f"{UNSCHEDULABLE} or {UNRESOLVABLE}"
"""The code of a reason differs from node to node."""


class PluginReason(msgspec.Struct, frozen=True):
    """A reason for which a plugin refuses a pod or a node."""

    text: str
    """With ``<NAME>`` for what varies."""
    code: str
    """The name of its status' code, ``BY_NODE`` where it depends on the node."""
    point: str = "Filter"
    """Where it is given; several points are separated by commas."""


class InTreePlugin(msgspec.Struct, frozen=True, eq=False):
    """A plugin of one release, as the plugin's own file states it."""

    name: str
    """As configurations name it."""
    points: frozenset[Point]
    """Where it takes part."""
    make: PluginFactory
    """Makes the plugin of its args and a Handle.

    Its docstring says what the plugin does (``algorithmprovider.rule_catalogue``): that of the newest release in full,
    that of an older one what differs there.
    """
    args: ArgsType | None = None
    """The args that it reads; None: it has none of a type of its own, and gets what the configuration says as it is."""
    reasons: tuple[PluginReason, ...] = ()
    """Why it refuses pods and nodes."""
    default_weight: int = 0
    """The weight of its score in the default lists of the release; 0: it is listed without a weight."""
    gate: str = ""
    """The feature gate without which the default lists leave it out; empty: they have it always, or never."""
    gate_default: bool = True
    """Whether that gate is on when nothing is said of it."""
    events: tuple[Registered, ...] | None = None
    """1.36: the events, with the gates' defaults, after which a pod that it refused may fit.

    None: it registers nothing, so every event counts.
    """


def by_name(*plugins: InTreePlugin) -> dict[str, InTreePlugin]:
    """Plugin → its record."""
    return {plugin.name: plugin for plugin in plugins}


def factories(plugins: Mapping[str, InTreePlugin]) -> dict[str, PluginFactory]:
    """Plugin → what makes it of its args and a Handle."""
    return {name: plugin.make for name, plugin in plugins.items()}


def points_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, frozenset[Point]]:
    """Plugin → where it takes part."""
    return {name: plugin.points for name, plugin in plugins.items()}


def events_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, tuple[Registered, ...]]:
    """Plugin → the events that it registers; those that register nothing are left out."""
    return {name: plugin.events for name, plugin in plugins.items() if plugin.events is not None}


# --- args --------------------------------------------------------------------------------------


def args_types(plugins: Mapping[str, InTreePlugin]) -> dict[str, ArgsType]:
    """Plugin → its args; plugins without args of a type of their own are left out."""
    return {name: plugin.args for name, plugin in plugins.items() if plugin.args is not None}


def args_keys(plugins: Mapping[str, InTreePlugin], feature_gates: Mapping[str, bool] = NO_GATES) -> dict[str, Struct]:
    """Plugin → the object that a configuration gives as its args; gates not named have the release's default."""
    return {name: kind.keys(feature_gates) for name, kind in args_types(plugins).items()}


def args_errors(plugins: Mapping[str, InTreePlugin], name: str, args: Any) -> list[FieldError]:
    """What the release finds wrong with the args of a plugin, paths beginning at the args; None has no fault."""
    kind = args_types(plugins).get(name)
    return [] if kind is None or args is None else list(kind.errors(args))


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
