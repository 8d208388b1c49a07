"""The plugins that come with the scheduler: where each takes part, and which of them run by default."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import Enabled

PluginPoints = Mapping[str, Collection[Point]]
"""Plugin name → the points it takes part in."""

DEFAULT_PROVIDER = "DefaultProvider"
AUTOSCALER_PROVIDER = "ClusterAutoscalerProvider"

_FILTER = frozenset({Point.FILTER})
_SCORE = frozenset({Point.SCORE})
_FILTERS = frozenset({Point.PRE_FILTER, Point.FILTER})
_SCORES = frozenset({Point.PRE_SCORE, Point.SCORE})

POINTS_BY_PLUGIN_1_20: dict[str, frozenset[Point]] = {
    "PrioritySort": frozenset({Point.QUEUE_SORT}),
    "NodeUnschedulable": _FILTER,
    "NodeName": _FILTER,
    "TaintToleration": _FILTER | _SCORES,
    "NodeAffinity": _FILTER | _SCORE,
    "NodePorts": _FILTERS,
    "NodeResourcesFit": _FILTERS,
    "NodeResourcesBalancedAllocation": _SCORE,
    "NodeResourcesLeastAllocated": _SCORE,
    "NodeResourcesMostAllocated": _SCORE,
    "RequestedToCapacityRatio": _SCORE,
    "VolumeRestrictions": _FILTER,
    "NodeVolumeLimits": _FILTER,
    "EBSLimits": _FILTER,
    "GCEPDLimits": _FILTER,
    "AzureDiskLimits": _FILTER,
    "CinderLimits": _FILTER,
    "VolumeBinding": _FILTERS | {Point.RESERVE, Point.PRE_BIND},
    "VolumeZone": _FILTER,
    "PodTopologySpread": _FILTERS | _SCORES,
    "InterPodAffinity": _FILTERS | _SCORES,
    "SelectorSpread": _SCORES,
    "NodePreferAvoidPods": _SCORE,
    "NodeLabel": _FILTER | _SCORE,
    "ServiceAffinity": _FILTERS | _SCORE,
    "ImageLocality": _SCORE,
    "DefaultPreemption": frozenset({Point.POST_FILTER}),
    "DefaultBinder": frozenset({Point.BIND}),
}
"""Release 1.20."""

POINTS_BY_PLUGIN_1_36: dict[str, frozenset[Point]] = {
    "SchedulingGates": frozenset({Point.PRE_ENQUEUE}),
    "PrioritySort": frozenset({Point.QUEUE_SORT}),
    "NodeUnschedulable": _FILTER,
    "NodeName": _FILTER,
    "TaintToleration": _FILTER | _SCORES,
    "NodeAffinity": _FILTERS | _SCORES,
    "NodePorts": _FILTERS,
    "NodeResourcesFit": _FILTERS | _SCORES,
    "NodeResourcesBalancedAllocation": _SCORES,
    "VolumeRestrictions": _FILTERS,
    "NodeVolumeLimits": _FILTERS,
    "VolumeBinding": _FILTERS | _SCORES | {Point.RESERVE, Point.PRE_BIND},
    "VolumeZone": _FILTERS,
    "PodTopologySpread": _FILTERS | _SCORES,
    "InterPodAffinity": _FILTERS | _SCORES,
    "ImageLocality": _SCORE,
    "DefaultPreemption": frozenset({Point.PRE_ENQUEUE, Point.POST_FILTER}),
    "DefaultBinder": frozenset({Point.BIND}),
    "DynamicResources": _FILTERS | _SCORE | {Point.PRE_ENQUEUE, Point.POST_FILTER, Point.RESERVE, Point.PRE_BIND},
    "NodeDeclaredFeatures": _FILTERS,
    "GangScheduling": frozenset({Point.PRE_ENQUEUE, Point.PERMIT}),
    "TopologyPlacementGenerator": frozenset({Point.PLACEMENT_GENERATE}),
    "PodGroupPodsCount": frozenset({Point.PLACEMENT_SCORE}),
}
"""Release 1.36."""


def _plugins(*names: str) -> tuple[Enabled, ...]:
    return tuple(map(Enabled, names))


def _weighted(**weights: int) -> tuple[Enabled, ...]:
    return tuple(Enabled(name, weight) for name, weight in weights.items())


# --- release 1.20 ----------------------------------------------------------------------------


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
        Point.SCORE: (
            *_weighted(NodeResourcesBalancedAllocation=1, ImageLocality=1, InterPodAffinity=1),
            Enabled(least_or_most, 1),
            *_weighted(NodeAffinity=1, NodePreferAvoidPods=10_000, PodTopologySpread=2, TaintToleration=1),
        ),
        Point.RESERVE: _plugins("VolumeBinding"),
        Point.PRE_BIND: _plugins("VolumeBinding"),
        Point.BIND: _plugins("DefaultBinder"),
    }


PROVIDERS_1_20: dict[str, dict[Point, tuple[Enabled, ...]]] = {
    DEFAULT_PROVIDER: _provider("NodeResourcesLeastAllocated"),
    AUTOSCALER_PROVIDER: _provider("NodeResourcesMostAllocated"),
}
"""Algorithm provider → its plugins at each point, with feature gate DefaultPodTopologySpread on."""


def provider_plugins_1_20(provider: str, *, selector_spread: bool = False) -> dict[Point, tuple[Enabled, ...]]:
    """A registered provider's plugins. selector_spread: the gate DefaultPodTopologySpread is off."""
    lists = dict(PROVIDERS_1_20[provider])
    if selector_spread:
        lists[Point.PRE_SCORE] += _plugins("SelectorSpread")
        lists[Point.SCORE] += _weighted(SelectorSpread=1)
    return lists


# --- release 1.36 ----------------------------------------------------------------------------

DEFAULT_MULTIPOINT_1_36: tuple[Enabled, ...] = (
    *_plugins("SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName"),
    *_weighted(TaintToleration=3, NodeAffinity=2),
    *_plugins("NodePorts"),
    *_weighted(NodeResourcesFit=1),
    *_plugins("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    *_weighted(PodTopologySpread=2, InterPodAffinity=2, DynamicResources=2),
    *_plugins("DefaultPreemption"),
    *_weighted(NodeResourcesBalancedAllocation=1, ImageLocality=1),
    *_plugins("DefaultBinder", "NodeDeclaredFeatures"),
)
"""The multiPoint list of apiVersion v1, all feature gates at their defaults."""

_NEEDED_GATES = {"DynamicResources": "DynamicResourceAllocation", "NodeDeclaredFeatures": "NodeDeclaredFeatures"}
_GATED: dict[str, tuple[Enabled, ...]] = {
    "GangScheduling": _plugins("GangScheduling"),
    "TopologyAwareWorkloadScheduling": (*_plugins("TopologyPlacementGenerator"), *_weighted(PodGroupPodsCount=1)),
}


def default_multipoint_1_36(feature_gates: Mapping[str, bool]) -> tuple[Enabled, ...]:
    """The multiPoint list of apiVersion v1; gates that are not named have the release's default."""
    kept = (plugin for plugin in DEFAULT_MULTIPOINT_1_36 if feature_gates.get(_NEEDED_GATES.get(plugin.name, ""), True))
    added = (plugin for gate, plugins in _GATED.items() if feature_gates.get(gate, False) for plugin in plugins)
    return (*kept, *added)


DEFAULT_MULTIPOINT_V1BETA3: tuple[Enabled, ...] = (
    *_plugins("PrioritySort", "NodeUnschedulable", "NodeName"),
    *_weighted(TaintToleration=3, NodeAffinity=2),
    *_plugins("NodePorts"),
    *_weighted(NodeResourcesFit=1),
    *_plugins("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    *_weighted(PodTopologySpread=2, InterPodAffinity=2),
    *_plugins("DefaultPreemption"),
    *_weighted(NodeResourcesBalancedAllocation=1, ImageLocality=1),
    *_plugins("DefaultBinder", "SchedulingGates"),
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
