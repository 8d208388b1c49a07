"""What the args of plugins of 1.20 and 1.36 mean, in a few sentences for people who configure a scheduler."""

from __future__ import annotations

ARGS: dict[str, str] = {
    "DefaultPreemption": """
How many candidates are enough: the larger of the two numbers. kubescheduler tries every node; see
[deviations](../explanation/deviations.md).""",
    "DynamicResources": "How long one node may take to find devices, 0: as long as it takes; how long PreBind waits.",
    "InterPodAffinity": """
What a running pod's required affinity to the new pod counts, 0–100. With `ignorePreferredTermsOfExistingPods` nothing
is scored for pods without preferred terms of their own.""",
    "NodeAffinity": """
Node affinity that every pod of the profile has besides its own. Keys are those of `spec.affinity.nodeAffinity`.""",
    "NodeLabel": "Labels that must be there, that must not, and the same as preferences. None may be on both sides.",
    "NodeResourcesBalancedAllocation": "The resources to balance. Weights must be 1.",
    "NodeResourcesFit": """
Extended resources that are not tested, by name or by what stands before the `/`. In 1.36 `scoringStrategy` says what
is best: type LeastAllocated, MostAllocated or RequestedToCapacityRatio. Only the last has, and needs, a `shape`; its
points rise in utilisation, within 0–100, with scores 0–10. Weights are 1–100.""",
    "NodeResourcesLeastAllocated": "Weights are 1–100.",
    "NodeResourcesMostAllocated": "Weights are 1–100.",
    "PodTopologySpread": """
With defaultingType System pods without constraints get the built-in ones and `defaultConstraints` must be empty; with
List they get `defaultConstraints`, which have no selector. In 1.20 the type is List as soon as constraints are
given.""",
    "RequestedToCapacityRatio": """
Needs a `shape`. Points rise in utilisation, within 0–100, with scores 0–10; weights are at least 1.""",
    "ServiceAffinity": "Labels that pods of a service share, and labels over whose values they spread.",
    "VolumeBinding": """
How long PreBind waits for claims to be bound. `shape` needs feature gate StorageCapacityScoring. 1.20 refuses 0
seconds, too.""",
}
