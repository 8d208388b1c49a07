"""Args in short."""

from __future__ import annotations

from typing import Any

from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement, TopologySpreadConstraint
from kubescheduler.framework.args.args_type import CPU_AND_MEMORY
from kubescheduler.framework.plugins.node_affinity import AddedAffinity, NodeAffinityArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs, ScoringStrategy
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs

REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
NO_VALUES = NodeSelectorTerm((Requirement("a", "In"),))
BAD_FIELD = NodeSelectorTerm((), (Requirement("metadata.name", "Exists"),))
ONLY_LISTS = "for 'in', 'notin' operators, values set can't be empty"
NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
NO_REQUIREMENTS = "[]v1.NodeSelectorRequirement(nil)"
TERM_LITERAL = (
    'v1.NodeSelectorTerm{MatchExpressions:[]v1.NodeSelectorRequirement{v1.NodeSelectorRequirement{Key:"a", '
    f'Operator:"In", Values:[]string(nil)}}}}, MatchFields:{NO_REQUIREMENTS}}}'
)


def required(*terms: NodeSelectorTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(AddedAffinity(terms))


def preferred(*terms: PreferredSchedulingTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(AddedAffinity(None, terms))


def constraint(skew: int = 1, key: str = "zone", action: str = "DoNotSchedule", **keys: Any) -> Any:
    return TopologySpreadConstraint(skew, key, action, **keys)


def spread(*constraints: TopologySpreadConstraint, kind: str = "List") -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(constraints, kind)


def fit(kind: str = "LeastAllocated", *resources: tuple[str, int], **keys: Any) -> NodeResourcesFitArgs:
    return NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(kind, resources or CPU_AND_MEMORY, **keys))
