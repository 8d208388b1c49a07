"""Which of the plugins that come with the scheduler run by default, in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import Enabled
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_20, PLUGINS_1_36, points_by_plugin

PluginPoints = Mapping[str, Collection[Point]]
"""Plugin name → the points it takes part in."""

DEFAULT_PROVIDER = "DefaultProvider"
AUTOSCALER_PROVIDER = "ClusterAutoscalerProvider"

POINTS_BY_PLUGIN_1_20: dict[str, frozenset[Point]] = points_by_plugin(PLUGINS_1_20)

POINTS_BY_PLUGIN_1_36: dict[str, frozenset[Point]] = points_by_plugin(PLUGINS_1_36)


def _plugins(*names: str) -> tuple[Enabled, ...]:
    return tuple(map(Enabled, names))


def _weighted(**weights: int) -> tuple[Enabled, ...]:
    return tuple(Enabled(name, weight) for name, weight in weights.items())


# --- release 1.20 ----------------------------------------------------------------------------


def _scoring(*names: str) -> tuple[Enabled, ...]:
    return tuple(Enabled(name, PLUGINS_1_20[name].default_weight) for name in names)


def _provider(least_or_most: str) -> dict[Point, tuple[Enabled, ...]]:
    return {
        Point.QUEUE_SORT: _plugins("PrioritySort"),
        Point.PRE_FILTER: _plugins(
            "NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity", "VolumeBinding"
        ),
        Point.FILTER: _plugins(
            "NodeUnschedulable",
            "NodeName",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "EBSLimits",
            "GCEPDLimits",
            "NodeVolumeLimits",
            "AzureDiskLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
        ),
        Point.POST_FILTER: _plugins("DefaultPreemption"),
        Point.PRE_SCORE: _plugins("InterPodAffinity", "PodTopologySpread", "TaintToleration"),
        Point.SCORE: _scoring(
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
            "InterPodAffinity",
            least_or_most,
            "NodeAffinity",
            "NodePreferAvoidPods",
            "PodTopologySpread",
            "TaintToleration",
        ),
        Point.RESERVE: _plugins("VolumeBinding"),
        Point.PRE_BIND: _plugins("VolumeBinding"),
        Point.BIND: _plugins("DefaultBinder"),
    }


Providers = Mapping[str, Mapping[Point, tuple[Enabled, ...]]]
"""Algorithm provider → its plugins at each point, with feature gate DefaultPodTopologySpread on."""

PROVIDERS_1_20: Providers = {
    DEFAULT_PROVIDER: _provider("NodeResourcesLeastAllocated"),
    AUTOSCALER_PROVIDER: _provider("NodeResourcesMostAllocated"),
}
"""What 1.20 registers."""


def provider_plugins_1_20(
    provider: str, *, selector_spread: bool = False, providers: Providers = PROVIDERS_1_20
) -> dict[Point, tuple[Enabled, ...]]:
    """A registered provider's plugins. selector_spread: the gate DefaultPodTopologySpread is off."""
    lists = dict(providers[provider])
    if selector_spread:
        lists[Point.PRE_SCORE] += _plugins("SelectorSpread")
        lists[Point.SCORE] += _scoring("SelectorSpread")
    return lists


# --- release 1.36 ----------------------------------------------------------------------------

_V1 = (
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
    "GangScheduling",
    "TopologyPlacementGenerator",
    "PodGroupPodsCount",
)
_LATER_THAN_V1BETA3 = frozenset({"SchedulingGates", "DynamicResources", "NodeDeclaredFeatures"})


def _everywhere(names: Iterable[str], feature_gates: Mapping[str, bool]) -> tuple[Enabled, ...]:
    """Those of the plugins whose gates are on, with their weights."""
    plugins = (PLUGINS_1_36[name] for name in names)
    return tuple(
        Enabled(plugin.name, plugin.default_weight)
        for plugin in plugins
        if not plugin.gate or feature_gates.get(plugin.gate, plugin.gate_default)
    )


def default_multipoint_1_36(feature_gates: Mapping[str, bool]) -> tuple[Enabled, ...]:
    """The multiPoint list of apiVersion v1; gates that are not named have the release's default."""
    return _everywhere(_V1, feature_gates)


DEFAULT_MULTIPOINT_1_36 = default_multipoint_1_36({})
"""The multiPoint list of apiVersion v1, all feature gates at their defaults."""

DEFAULT_MULTIPOINT_V1BETA3 = _everywhere(
    (*(name for name in _V1 if name not in _LATER_THAN_V1BETA3), "SchedulingGates"), {}
)
"""The multiPoint list of apiVersion v1beta3, without the plugins that release 1.36 no longer has."""

DEFAULTS_V1BETA2: dict[Point, tuple[Enabled, ...]] = {
    Point.PRE_ENQUEUE: _plugins("SchedulingGates"),
    Point.QUEUE_SORT: _plugins("PrioritySort"),
    Point.PRE_FILTER: _plugins(
        "NodeResourcesFit",
        "NodePorts",
        "VolumeRestrictions",
        "PodTopologySpread",
        "InterPodAffinity",
        "VolumeBinding",
        "VolumeZone",
        "NodeAffinity",
    ),
    Point.FILTER: _plugins(
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ),
    Point.POST_FILTER: _plugins("DefaultPreemption"),
    Point.PRE_SCORE: _plugins("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity"),
    Point.SCORE: _weighted(
        NodeResourcesBalancedAllocation=1,
        ImageLocality=1,
        InterPodAffinity=1,
        NodeResourcesFit=1,
        NodeAffinity=1,
        PodTopologySpread=2,
        TaintToleration=1,
    ),
    Point.RESERVE: _plugins("VolumeBinding"),
    Point.PRE_BIND: _plugins("VolumeBinding"),
    Point.BIND: _plugins("DefaultBinder"),
}
"""The lists of apiVersion v1beta2, without the plugins that release 1.36 no longer has."""
