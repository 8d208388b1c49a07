"""What priorities and Score plugins of all releases are about, by their names: which one stands for which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

RULES: Mapping[str, str] = {
    "LeastRequestedPriority": "least",
    "NodeResourcesLeastAllocated": "least",
    "MostRequestedPriority": "most",
    "NodeResourcesMostAllocated": "most",
    "RequestedToCapacityRatioPriority": "ratio",
    "RequestedToCapacityRatio": "ratio",
    "NodeResourcesFit": "fit",
    "BalancedResourceAllocation": "balance",
    "NodeResourcesBalancedAllocation": "balance",
    "SelectorSpreadPriority": "selector spread",
    "ServiceSpreadingPriority": "selector spread",
    "SelectorSpread": "selector spread",
    "EvenPodsSpreadPriority": "topology spread",
    "PodTopologySpread": "topology spread",
    "InterPodAffinityPriority": "pod affinity",
    "InterPodAffinity": "pod affinity",
    "NodeAffinityPriority": "node affinity",
    "NodeAffinity": "node affinity",
    "TaintTolerationPriority": "taints",
    "TaintToleration": "taints",
    "ImageLocalityPriority": "images",
    "ImageLocality": "images",
    "NodePreferAvoidPodsPriority": "avoidance",
    "NodePreferAvoidPods": "avoidance",
    "NodeLabel": "labels",
    "ServiceAffinity": "service labels",
}
"""Priority or plugin → the rule it stands for, whatever the release."""

SUBJECTS: Mapping[str, str] = {
    "least": "resources",
    "most": "resources",
    "ratio": "resources",
    "fit": "resources",
    "selector spread": "spread",
    "topology spread": "spread",
}
"""Rules with the same aim; what has no exact counterpart is paired with the rest of these."""


def counterparts(name: str, known: Iterable[str]) -> list[str]:
    """Of these names the ones of the same rule, else the ones with the same aim."""
    rule = RULES.get(name, name)
    names = list(known)
    same = [other for other in names if RULES.get(other) == rule]
    return same or [other for other in names if SUBJECTS.get(RULES.get(other, ""), other) == SUBJECTS.get(rule, rule)]
