"""Release 1.16: its registry, providers, order of predicates and feature gates."""

from __future__ import annotations

from collections.abc import Mapping

from algorithmprovider.registry import Provider, Registry, ReleaseRegistry
from predicates import conditions, interpod, labels, node_identity, taints, volume_binding, volume_zone
from predicates.conditions import CONDITIONS
from predicates.csi_volumes import CSI_VOLUMES
from predicates.disks import DISKS
from predicates.general import GENERAL
from predicates.interpod import INTERPOD
from predicates.node_identity import NODE_IDENTITY
from predicates.ports import PORTS
from predicates.resources import RESOURCES
from predicates.spread import SPREAD
from predicates.taints import TAINTS
from predicates.types import FitPredicateFactory
from predicates.volume_binding import VOLUME_BINDING
from predicates.volume_counts import VOLUME_COUNTS
from predicates.volume_zone import VOLUME_ZONE
from priorities.capacity_ratio import CAPACITY_RATIO
from priorities.image_locality import IMAGE_LOCALITY
from priorities.interpod import INTERPOD as INTERPOD_PRIORITIES
from priorities.node_affinity import NODE_AFFINITY
from priorities.node_label import NODE_LABEL
from priorities.prefer_avoid import PREFER_AVOID
from priorities.requested import BALANCED_WITH_VOLUMES, REQUESTED
from priorities.resource_limits import RESOURCE_LIMITS
from priorities.selector_spread import SELECTOR_SPREAD
from priorities.spread import SPREAD as SPREAD_PRIORITIES
from priorities.taint_toleration import TAINT_TOLERATION
from priorities.types import PriorityConfigFactory

FIT_PREDICATES: dict[str, FitPredicateFactory] = {
    **GENERAL,
    **RESOURCES,
    **NODE_IDENTITY,
    **PORTS,
    **TAINTS,
    **CONDITIONS,
    **DISKS,
    **VOLUME_COUNTS,
    **CSI_VOLUMES,
    **VOLUME_BINDING,
    **VOLUME_ZONE,
    **SPREAD,
    **INTERPOD,
}
"""Name → factory, of every predicate of 1.16 that needs no argument."""

PRIORITIES: dict[str, PriorityConfigFactory] = {
    **SELECTOR_SPREAD,
    **INTERPOD_PRIORITIES,
    **REQUESTED,
    **NODE_AFFINITY,
    **NODE_LABEL,
    **TAINT_TOLERATION,
    **PREFER_AVOID,
    **IMAGE_LOCALITY,
    **CAPACITY_RATIO,
    **RESOURCE_LIMITS,
    **SPREAD_PRIORITIES,
}
"""Name → factory with its default weight, of every priority of 1.16 that needs no argument."""

FEATURE_GATES: dict[str, bool] = {
    "TaintNodesByCondition": True,
    "EvenPodsSpread": False,
    "ResourceLimitsPriorityFunction": False,
    "PodOverhead": False,
    "BalanceAttachedNodeVolumes": False,
}
"""The gates that change what is registered or how pods are counted, and their defaults."""

ORDERING: tuple[str, ...] = (
    "CheckNodeCondition",
    "CheckNodeUnschedulable",
    "GeneralPredicates",
    "HostName",
    "PodFitsHostPorts",
    "MatchNodeSelector",
    "PodFitsResources",
    "NoDiskConflict",
    "PodToleratesNodeTaints",
    "PodToleratesNodeNoExecuteTaints",
    "CheckNodeLabelPresence",
    "CheckServiceAffinity",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "MaxCinderVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
    "CheckNodeDiskPressure",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
)

PREDICATES: frozenset[str] = frozenset(
    {
        "CheckNodeUnschedulable",
        "GeneralPredicates",
        "HostName",
        "PodFitsHostPorts",
        "PodFitsPorts",
        "MatchNodeSelector",
        "PodFitsResources",
        "NoDiskConflict",
        "PodToleratesNodeTaints",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxCSIVolumeCountPred",
        "MaxAzureDiskVolumeCount",
        "MaxCinderVolumeCount",
        "CheckVolumeBinding",
        "NoVolumeZoneConflict",
        "MatchInterPodAffinity",
    }
)
"""Registered whatever the gates are."""

CONDITION_PREDICATES = frozenset(
    {"CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodeDiskPressure", "CheckNodePIDPressure"}
)
"""Registered, and in the providers, only with TaintNodesByCondition off."""

DEFAULT_PREDICATES: frozenset[str] = frozenset(
    {
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
    }
)

DEFAULT_PRIORITIES: frozenset[str] = frozenset(
    {
        "SelectorSpreadPriority",
        "InterPodAffinityPriority",
        "LeastRequestedPriority",
        "BalancedResourceAllocation",
        "NodePreferAvoidPodsPriority",
        "NodeAffinityPriority",
        "TaintTolerationPriority",
        "ImageLocalityPriority",
    }
)

PRIORITY_NAMES: frozenset[str] = DEFAULT_PRIORITIES | {
    "MostRequestedPriority",
    "EqualPriority",
    "ServiceSpreadingPriority",
    "RequestedToCapacityRatioPriority",
}


UNRESOLVABLE: frozenset[str] = frozenset(
    {
        node_identity.NOT_SELECTED,
        node_identity.WRONG_HOST,
        interpod.AFFINITY_RULES,
        taints.NOT_TOLERATED,
        labels.LABEL_PRESENCE,
        conditions.NOT_READY,
        conditions.NETWORK_UNAVAILABLE,
        conditions.DISK_PRESSURE,
        conditions.PID_PRESSURE,
        conditions.MEMORY_PRESSURE,
        conditions.UNSCHEDULABLE,
        volume_zone.ZONE_CONFLICT,
        volume_binding.NODE_CONFLICT,
        volume_binding.BIND_CONFLICT,
    }
)
"""Reasons that taking pods away cannot mend. Upstream: 1.16 unresolvablePredicateFailureErrors."""


def registry(gates: Mapping[str, bool]) -> Registry:
    """What 1.16 registers under these feature gates. Upstream: 1.16 defaults.ApplyFeatureGates."""
    predicates, in_providers = set(PREDICATES), set(DEFAULT_PREDICATES)
    priorities, scored = set(PRIORITY_NAMES), set(DEFAULT_PRIORITIES)
    if gates["TaintNodesByCondition"]:
        mandatory = frozenset({"PodToleratesNodeTaints", "CheckNodeUnschedulable"})
        in_providers |= mandatory
    else:
        predicates = predicates - {"CheckNodeUnschedulable"} | CONDITION_PREDICATES
        mandatory = frozenset({"CheckNodeCondition"})
        in_providers |= CONDITION_PREDICATES
    if gates["EvenPodsSpread"]:
        predicates.add("EvenPodsSpread")
        in_providers.add("EvenPodsSpread")
        priorities.add("EvenPodsSpreadPriority")
        scored.add("EvenPodsSpreadPriority")
    if gates["ResourceLimitsPriorityFunction"]:
        priorities.add("ResourceLimitsPriority")
        scored.add("ResourceLimitsPriority")
    autoscaler = scored - {"LeastRequestedPriority"} | {"MostRequestedPriority"}
    known = {**PRIORITIES, **BALANCED_WITH_VOLUMES} if gates["BalanceAttachedNodeVolumes"] else PRIORITIES
    return Registry(
        fit_predicates={name: FIT_PREDICATES[name] for name in sorted(predicates)},
        priorities={name: known[name] for name in sorted(priorities)},
        providers={
            "DefaultProvider": Provider(frozenset(in_providers), frozenset(scored)),
            "ClusterAutoscalerProvider": Provider(frozenset(in_providers), frozenset(autoscaler)),
        },
        ordering=list(ORDERING),
        mandatory=mandatory,
        unresolvable=UNRESOLVABLE,
    )


REGISTRY = ReleaseRegistry(registry, FEATURE_GATES)
