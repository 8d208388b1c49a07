"""Release 1.4: its registry and providers. It has no feature gates that matter, and runs a predicate of any name."""

from __future__ import annotations

from collections.abc import Mapping

from algorithmprovider.registry import Arguments, Provider, Registry, ReleaseRegistry
from predicates import FIT_PREDICATES_1_4
from predicates.labels import label_presence_factory_1_4
from predicates.service_affinity import service_affinity_factory_1_4
from priorities import PRIORITIES_1_4
from priorities.node_label import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory_1_4

FEATURE_GATES: dict[str, bool] = {}

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


def registry(_: Mapping[str, bool]) -> Registry:
    """What 1.4 registers. Upstream: 1.4 algorithmprovider/defaults.

    Predicates run in the order of their map, which upstream leaves to chance; all run on every node.
    """
    autoscaler = DEFAULT_PRIORITIES - {"LeastRequestedPriority"} | {"MostRequestedPriority"}
    return Registry(
        fit_predicates=dict(FIT_PREDICATES_1_4),
        priorities=dict(PRIORITIES_1_4),
        providers={
            "DefaultProvider": Provider(DEFAULT_PREDICATES, DEFAULT_PRIORITIES),
            "ClusterAutoscalerProvider": Provider(DEFAULT_PREDICATES, autoscaler),
        },
        ordering=list(FIT_PREDICATES_1_4),
        runs_any_name=True,
        arguments=ARGUMENTS,
    )


REGISTRY = ReleaseRegistry(registry, FEATURE_GATES)
