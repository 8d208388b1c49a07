"""The predicates and priorities that release 1.20 knows, and the plugins they stand for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from kubescheduler.framework.profiles.default_plugins import AUTOSCALER_PROVIDER

PREDICATE_ALIASES: dict[str, str] = {"PodFitsPorts": "PodFitsHostPorts"}
PRIORITY_ALIASES: dict[str, str] = {"ServiceSpreadingPriority": "SelectorSpreadPriority"}

LABEL_PREDICATE = "CheckNodeLabelPresence"
SERVICE_PREDICATE = "CheckServiceAffinity"

PREDICATES: dict[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    LABEL_PREDICATE: ("NodeLabel",),
    SERVICE_PREDICATE: ("ServiceAffinity",),
    "MaxEBSVolumeCount": ("EBSLimits",),
    "MaxGCEPDVolumeCount": ("GCEPDLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("AzureDiskLimits",),
    "MaxCinderVolumeCount": ("CinderLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
"""Predicate → its Filter plugins; in the order in which they are put in the profile, whatever the policy's order."""

MANDATORY_PREDICATES: tuple[str, ...] = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")

DEFAULT_PREDICATES: tuple[str, ...] = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
"""Those of a policy without a list."""

EQUAL = "EqualPriority"
"""Passed over, with whatever it says."""
SELECTOR_SPREAD = "SelectorSpreadPriority"
EVEN_SPREAD = "EvenPodsSpreadPriority"
INTER_POD_AFFINITY = "InterPodAffinityPriority"

RATIO_PLUGIN = "RequestedToCapacityRatio"
LABEL_PLUGIN = "NodeLabel"
SERVICE_PLUGIN = "ServiceAffinity"

PRIORITIES: dict[str, str] = {
    SELECTOR_SPREAD: "PodTopologySpread",
    EVEN_SPREAD: "PodTopologySpread",
    INTER_POD_AFFINITY: "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
    RATIO_PLUGIN: RATIO_PLUGIN,
    LABEL_PLUGIN: LABEL_PLUGIN,
    SERVICE_PLUGIN: SERVICE_PLUGIN,
}
"""Priority → its Score plugin. A priority with an argument is named as its plugin, which is a key here too."""

DEFAULT_PRIORITIES: dict[str, int] = {
    SELECTOR_SPREAD: 1,
    INTER_POD_AFFINITY: 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    EVEN_SPREAD: 2,
}
"""Those of a policy without a list, with their weights."""


class DefaultLists(msgspec.Struct, frozen=True, eq=False):
    """What a release with plugins selects where a policy has no list, as predicates and priorities."""

    predicates: tuple[str, ...]
    priorities: Mapping[str, int]
    """Priority → its weight."""
    exchanged: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Provider → priority → the one that it has instead."""


DEFAULT_LISTS_1_20 = DefaultLists(
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    {AUTOSCALER_PROVIDER: {"LeastRequestedPriority": "MostRequestedPriority"}},
)


def policy_name_hint(plugin: str, known: Collection[str]) -> str:
    """What a policy calls that which a plugin of this name does, if it is known; empty for other names."""
    does = [
        *((name, plugins) for name, plugins in PREDICATES.items()),
        *((name, (one,)) for name, one in PRIORITIES.items()),
    ]
    found = [name for name, plugins in does if plugins == (plugin,) and name != plugin and name in known]
    return f"; in a policy it is called {found[-1]}" if found else ""


def plugin_name_hint(rule: str, known: Collection[str], gone: Mapping[str, str]) -> str:
    """Which plugins do what a predicate or priority of this name does; where they are gone, what to do instead."""
    plugins = dict.fromkeys((*PREDICATES.get(rule, ()), PRIORITIES.get(rule, "")))
    if there := [name for name in plugins if name in known]:
        return f"; in a profile it is {' and '.join(there)}"
    return next((f"; {gone[name]}" for name in plugins if name in gone), "")


def predicate_name(name: str) -> str:
    """The name that an alias stands for."""
    return PREDICATE_ALIASES.get(name, name)


def priority_name(name: str) -> str:
    """The name that an alias stands for."""
    return PRIORITY_ALIASES.get(name, name)
