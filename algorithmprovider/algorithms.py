"""The algorithms of release 1.4, and of 1.16, the last that decides by them: those that need no argument, and what
selects them.

1.4 has no feature gates that matter, and runs a predicate of any name.
"""

from __future__ import annotations

from algorithmprovider.registry import Additions, Algorithms, Arguments, Gated
from predicates import interpod, node_identity, taints, volume_binding, volume_zone
from predicates.csi_volumes import CSI_VOLUMES
from predicates.disks import DISKS, DISKS_1_4
from predicates.interpod import INTERPOD, INTERPOD_1_4
from predicates.node_identity import NODE_IDENTITY, NODE_IDENTITY_1_4, label_presence_factory_1_4
from predicates.ports import PORTS, PORTS_1_4
from predicates.resources import GENERAL, GENERAL_1_4, RESOURCES, RESOURCES_1_4
from predicates.service_affinity import service_affinity_factory_1_4
from predicates.spread import SPREAD
from predicates.taints import CONDITIONS, CONDITIONS_1_4, TAINTS, TAINTS_1_4
from predicates.types import FitPredicateFactory
from predicates.volume_binding import VOLUME_BINDING
from predicates.volume_counts import VOLUME_COUNTS, VOLUME_COUNTS_1_4
from predicates.volume_zone import VOLUME_ZONE, VOLUME_ZONE_1_4
from priorities.avoided_nodes import PREFER_AVOID, TAINT_TOLERATION, TAINT_TOLERATION_1_4
from priorities.capacity_ratio import CAPACITY_RATIO
from priorities.image_locality import IMAGE_LOCALITY, IMAGE_LOCALITY_1_4
from priorities.interpod import INTERPOD as INTERPOD_PRIORITIES
from priorities.interpod import INTERPOD_1_4 as INTERPOD_PRIORITIES_1_4
from priorities.node_labels import NODE_AFFINITY, NODE_AFFINITY_1_4, NODE_LABEL, node_label_factory
from priorities.requested import BALANCED_WITH_VOLUMES, REQUESTED, REQUESTED_1_4, RESOURCE_LIMITS
from priorities.selector_spread import SELECTOR_SPREAD, SELECTOR_SPREAD_1_4
from priorities.service_anti_affinity import service_anti_affinity_factory_1_4
from priorities.spread import SPREAD as SPREAD_PRIORITIES
from priorities.types import PriorityConfigFactory

FIT_PREDICATES_1_4: dict[str, FitPredicateFactory] = {
    **GENERAL_1_4,
    **RESOURCES_1_4,
    **NODE_IDENTITY_1_4,
    **PORTS_1_4,
    **DISKS_1_4,
    **TAINTS_1_4,
    **VOLUME_COUNTS_1_4,
    **VOLUME_ZONE_1_4,
    **CONDITIONS_1_4,
    **INTERPOD_1_4,
}
"""Name → factory, of every predicate of 1.4 that needs no argument."""

PRIORITIES_1_4: dict[str, PriorityConfigFactory] = {
    **SELECTOR_SPREAD_1_4,
    **INTERPOD_PRIORITIES_1_4,
    **REQUESTED_1_4,
    **NODE_AFFINITY_1_4,
    **NODE_LABEL,
    **TAINT_TOLERATION_1_4,
    **PREFER_AVOID,
    **IMAGE_LOCALITY_1_4,
}
"""Name → factory with its default weight, of every priority of 1.4 that needs no argument."""

DEFAULT_PREDICATES_1_4: frozenset[str] = frozenset(
    {
        "NoVolumeZoneConflict",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MatchInterPodAffinity",
        "NoDiskConflict",
        "GeneralPredicates",
        "PodToleratesNodeTaints",
        "CheckNodeMemoryPressure",
        "CheckNodeDiskPressure",
        "CheckNodeInodePressure",
    }
)

DEFAULT_PRIORITIES_1_4: frozenset[str] = frozenset(
    {
        "SelectorSpreadPriority",
        "InterPodAffinityPriority",
        "LeastRequestedPriority",
        "BalancedResourceAllocation",
        "NodePreferAvoidPodsPriority",
        "NodeAffinityPriority",
        "TaintTolerationPriority",
    }
)

ALGORITHMS_1_4 = Algorithms(
    predicates=FIT_PREDICATES_1_4,
    priorities=PRIORITIES_1_4,
    default_predicates=DEFAULT_PREDICATES_1_4,
    default_priorities=DEFAULT_PRIORITIES_1_4,
    # Upstream leaves the order to chance; all run on every node.
    ordering=tuple(FIT_PREDICATES_1_4),
    runs_any_name=True,
    arguments=Arguments(
        label_presence=label_presence_factory_1_4,
        service_affinity=service_affinity_factory_1_4,
        label_preference=node_label_factory,
        service_anti_affinity=service_anti_affinity_factory_1_4,
        capacity_ratio=None,
    ),
)
"""What 1.4 registers. Upstream: 1.4 algorithmprovider/defaults."""


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

DEFAULT_PRIORITIES: frozenset[str] = DEFAULT_PRIORITIES_1_4 | {"ImageLocalityPriority"}

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
        node_identity.LABEL_PRESENCE,
        taints.NOT_READY,
        taints.NETWORK_UNAVAILABLE,
        taints.DISK_PRESSURE,
        taints.PID_PRESSURE,
        taints.MEMORY_PRESSURE,
        taints.UNSCHEDULABLE,
        volume_zone.ZONE_CONFLICT,
        volume_binding.NODE_CONFLICT,
        volume_binding.BIND_CONFLICT,
    }
)
"""Reasons that taking pods away cannot mend. Upstream: 1.16 unresolvablePredicateFailureErrors."""


def _predicates(*names: str) -> dict[str, FitPredicateFactory]:
    return {name: FIT_PREDICATES[name] for name in names}


def _priorities(*names: str) -> dict[str, PriorityConfigFactory]:
    return {name: PRIORITIES[name] for name in names}


BY_TAINTS = Additions(
    _predicates("CheckNodeUnschedulable"), mandatory=frozenset({"PodToleratesNodeTaints", "CheckNodeUnschedulable"})
)
BY_CONDITIONS = Additions(
    _predicates("CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodeDiskPressure", "CheckNodePIDPressure"),
    mandatory=frozenset({"CheckNodeCondition"}),
)

ALGORITHMS = Algorithms(
    predicates=_predicates(*sorted(PREDICATES)),
    priorities=_priorities(*sorted(PRIORITY_NAMES)),
    default_predicates=DEFAULT_PREDICATES,
    default_priorities=DEFAULT_PRIORITIES,
    ordering=ORDERING,
    unresolvable=UNRESOLVABLE,
    gated={
        "TaintNodesByCondition": Gated(default=True, on=BY_TAINTS, off=BY_CONDITIONS),
        "EvenPodsSpread": Gated(
            default=False, on=Additions(_predicates("EvenPodsSpread"), _priorities("EvenPodsSpreadPriority"))
        ),
        "ResourceLimitsPriorityFunction": Gated(
            default=False, on=Additions(priorities=_priorities("ResourceLimitsPriority"))
        ),
        "BalanceAttachedNodeVolumes": Gated(default=False, on=Additions(priorities=BALANCED_WITH_VOLUMES)),
    },
)
"""What 1.16 registers. Upstream: 1.16 algorithmprovider/defaults."""
