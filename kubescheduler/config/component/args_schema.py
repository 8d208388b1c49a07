"""The keys of the args that have a type of their own."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from clusterstate.objects import NodeSelectorTerm
from kubescheduler.config.component import args_building as built
from kubescheduler.framework.args.document_schema import (
    BOOL,
    GO_DURATION,
    INT32,
    INT64,
    TEXT,
    Field,
    Kind,
    ListOf,
    MapOf,
    Struct,
)
from kubescheduler.framework.args.plugin_args import (
    AddedAffinity,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeLabelArgs,
    NodeResourcesFitArgs,
    ServiceAffinityArgs,
    VolumeBindingArgs,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_RESOURCES = Field(
    "resources",
    "resources",
    ListOf(Struct("ResourceSpec", built.resource, (Field("name", "name", TEXT), Field("weight", "weight", INT64)))),
)
_SHAPE = Field(
    "shape",
    "shape",
    ListOf(
        Struct(
            "UtilizationShapePoint",
            built.point,
            (Field("utilization", "utilization", INT32), Field("score", "score", INT32)),
        )
    ),
)
_STRATEGY = Struct(
    "ScoringStrategy",
    built.strategy,
    (
        Field("type", "type", TEXT),
        _RESOURCES,
        Field("requestedToCapacityRatio", "shape", Struct("RequestedToCapacityRatioParam", built.shape_of, (_SHAPE,))),
    ),
)


def _requirements(name: str) -> Kind:
    return ListOf(
        Struct(
            name,
            built.requirement,
            (Field("key", "key", TEXT), Field("operator", "operator", TEXT), Field("values", "values", ListOf(TEXT))),
        )
    )


_TERM = Struct(
    "NodeSelectorTerm",
    NodeSelectorTerm,
    (
        Field("matchExpressions", "match_expressions", _requirements("NodeSelectorRequirement")),
        Field("matchFields", "match_fields", _requirements("NodeSelectorRequirement")),
    ),
)
_AFFINITY = Struct(
    "NodeAffinity",
    AddedAffinity,
    (
        Field(
            REQUIRED,
            "required",
            Struct("NodeSelector", built.terms_of, (Field("nodeSelectorTerms", "terms", ListOf(_TERM)),)),
        ),
        Field(
            PREFERRED,
            "preferred",
            ListOf(
                Struct(
                    "PreferredSchedulingTerm",
                    built.preferred,
                    (Field("weight", "weight", INT32), Field("preference", "preference", _TERM)),
                )
            ),
        ),
    ),
)
_CONSTRAINT_1_20 = (
    Field("maxSkew", "max_skew", INT32),
    Field("topologyKey", "topology_key", TEXT),
    Field("whenUnsatisfiable", "when_unsatisfiable", TEXT),
    Field(
        "labelSelector",
        "label_selector",
        Struct(
            "LabelSelector",
            built.selector,
            (
                Field("matchLabels", "match_labels", MapOf(TEXT)),
                Field("matchExpressions", "expressions", _requirements("LabelSelectorRequirement")),
            ),
        ),
    ),
)
_CONSTRAINT_1_36 = (
    *_CONSTRAINT_1_20,
    Field("minDomains", "min_domains", INT32),
    Field("nodeAffinityPolicy", "node_affinity_policy", TEXT),
    Field("nodeTaintsPolicy", "node_taints_policy", TEXT),
    Field("matchLabelKeys", "match_label_keys", ListOf(TEXT)),
)


def _spread_fields(constraint: tuple[Field, ...]) -> tuple[Field, ...]:
    constraints = ListOf(Struct("TopologySpreadConstraint", built.constraint, constraint))
    return (
        Field("defaultConstraints", "default_constraints", constraints),
        Field("defaultingType", "defaulting_type", TEXT),
    )


_IGNORED = (
    Field("ignoredResources", "ignored_resources", ListOf(TEXT)),
    Field("ignoredResourceGroups", "ignored_resource_groups", ListOf(TEXT)),
)
_HARD_WEIGHT = Field("hardPodAffinityWeight", "hard_pod_affinity_weight", INT32)
_TIMEOUT = Field("bindTimeoutSeconds", "bind_timeout_seconds", INT64)
_LABEL_LISTS = {
    "presentLabels": "present_labels",
    "absentLabels": "absent_labels",
    "presentLabelsPreference": "present_labels_preference",
    "absentLabelsPreference": "absent_labels_preference",
}
_SERVICE_LISTS = {
    "affinityLabels": "affinity_labels",
    "antiAffinityLabelsPreference": "anti_affinity_labels_preference",
}


def _text_lists(lists: Mapping[str, str]) -> tuple[Field, ...]:
    return tuple(Field(key, attribute, ListOf(TEXT)) for key, attribute in lists.items())


_BOTH = (
    Struct(
        "DefaultPreemptionArgs",
        DefaultPreemptionArgs,
        (
            Field("minCandidateNodesPercentage", "min_candidate_nodes_percentage", INT32),
            Field("minCandidateNodesAbsolute", "min_candidate_nodes_absolute", INT32),
        ),
    ),
    Struct("NodeAffinityArgs", NodeAffinityArgs, (Field("addedAffinity", "added_affinity", _AFFINITY),)),
)

ARGS_KEYS_1_20: dict[str, Struct] = {
    struct.name.removesuffix("Args"): struct
    for struct in (
        *_BOTH,
        Struct("InterPodAffinityArgs", InterPodAffinityArgs, (_HARD_WEIGHT,)),
        Struct("NodeLabelArgs", NodeLabelArgs, _text_lists(_LABEL_LISTS)),
        Struct("NodeResourcesFitArgs", NodeResourcesFitArgs, _IGNORED),
        Struct("NodeResourcesLeastAllocatedArgs", built.least, (_RESOURCES,)),
        Struct("NodeResourcesMostAllocatedArgs", built.most, (_RESOURCES,)),
        Struct("PodTopologySpreadArgs", built.spread_1_20, _spread_fields(_CONSTRAINT_1_20)),
        Struct("RequestedToCapacityRatioArgs", built.ratio, (_SHAPE, _RESOURCES)),
        Struct("ServiceAffinityArgs", ServiceAffinityArgs, _text_lists(_SERVICE_LISTS)),
        Struct("VolumeBindingArgs", VolumeBindingArgs, (_TIMEOUT,)),
    )
}
"""Plugin → the keys of its args, release 1.20."""

ARGS_KEYS_WITHOUT_SYSTEM: dict[str, Struct] = {
    **ARGS_KEYS_1_20,
    "PodTopologySpread": attrs.evolve(ARGS_KEYS_1_20["PodTopologySpread"], build=built.spread_without_system),
}
"""The same with feature gate DefaultPodTopologySpread off."""

ARGS_KEYS_1_36: dict[str, Struct] = {
    struct.name.removesuffix("Args"): struct
    for struct in (
        *_BOTH,
        Struct(
            "DynamicResourcesArgs",
            DynamicResourcesArgs,
            (
                Field("filterTimeout", "filter_timeout", GO_DURATION),
                Field("bindingTimeout", "binding_timeout", GO_DURATION),
            ),
        ),
        Struct(
            "InterPodAffinityArgs",
            InterPodAffinityArgs,
            (
                _HARD_WEIGHT,
                Field("ignorePreferredTermsOfExistingPods", "ignore_preferred_terms_of_existing_pods", BOOL),
            ),
        ),
        Struct("NodeResourcesBalancedAllocationArgs", built.balanced, (_RESOURCES,)),
        Struct(
            "NodeResourcesFitArgs",
            NodeResourcesFitArgs,
            (*_IGNORED, Field("scoringStrategy", "scoring_strategy", _STRATEGY)),
        ),
        Struct("PodTopologySpreadArgs", built.spread_1_36, _spread_fields(_CONSTRAINT_1_36)),
        Struct("VolumeBindingArgs", VolumeBindingArgs, (_TIMEOUT, _SHAPE)),
    )
}
"""Plugin → the keys of its args, release 1.36."""
