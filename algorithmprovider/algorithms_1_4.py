"""The algorithms of release 1.4. It has no feature gates that matter, and runs a predicate of any name."""

from __future__ import annotations

from algorithmprovider.registry import Algorithms, Arguments
from predicates.disks import DISKS_1_4
from predicates.interpod import INTERPOD_1_4
from predicates.node_identity import NODE_IDENTITY_1_4, label_presence_factory_1_4
from predicates.ports import PORTS_1_4
from predicates.resources import GENERAL_1_4, RESOURCES_1_4
from predicates.service_affinity import service_affinity_factory_1_4
from predicates.taints import CONDITIONS_1_4, TAINTS_1_4
from predicates.types import FitPredicateFactory
from predicates.volume_counts import VOLUME_COUNTS_1_4
from predicates.volume_zone import VOLUME_ZONE_1_4
from priorities.avoided_nodes import PREFER_AVOID, TAINT_TOLERATION_1_4
from priorities.image_locality import IMAGE_LOCALITY_1_4
from priorities.interpod import INTERPOD_1_4 as INTERPOD_PRIORITIES_1_4
from priorities.node_labels import NODE_AFFINITY_1_4, NODE_LABEL, node_label_factory
from priorities.requested import REQUESTED_1_4
from priorities.selector_spread import SELECTOR_SPREAD_1_4
from priorities.service_anti_affinity import service_anti_affinity_factory_1_4
from priorities.types import PriorityConfigFactory

FIT_PREDICATES: dict[str, FitPredicateFactory] = {
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

PRIORITIES: dict[str, PriorityConfigFactory] = {
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

DEFAULT_PREDICATES: frozenset[str] = frozenset(
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

DEFAULT_PRIORITIES: frozenset[str] = frozenset(
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

ARGUMENTS = Arguments(
    label_presence=label_presence_factory_1_4,
    service_affinity=service_affinity_factory_1_4,
    label_preference=node_label_factory,
    service_anti_affinity=service_anti_affinity_factory_1_4,
    capacity_ratio=None,
)

ALGORITHMS = Algorithms(
    predicates=FIT_PREDICATES,
    priorities=PRIORITIES,
    default_predicates=DEFAULT_PREDICATES,
    default_priorities=DEFAULT_PRIORITIES,
    # Upstream leaves the order to chance; all run on every node.
    ordering=tuple(FIT_PREDICATES),
    runs_any_name=True,
    arguments=ARGUMENTS,
)
"""What 1.4 registers. Upstream: 1.4 algorithmprovider/defaults."""
