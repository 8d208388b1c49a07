"""The args of plugins as a document, in the form they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clusterstate.manifests.encode_parts import encode_term, encode_terms, present
from clusterstate.manifests.encode_pod import encode_spread_constraint
from clusterstate.objects import PreferredSchedulingTerm
from kubescheduler.config.component.args_schema import PREFERRED, REQUIRED
from kubescheduler.framework.args.plugin_args import (
    AddedAffinity,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeLabelArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ScoringStrategy,
    ServiceAffinityArgs,
    VolumeBindingArgs,
)
from kubescheduler.framework.contract.go_durations import format_duration

OLD = "1.20"


def written_args(args: Any, release: str, version: str) -> Any:
    """Args with their kind and apiVersion; args of a plugin without a type of its own as they are."""
    write = _WRITERS.get(type(args))
    if write is None:
        return args
    return {"apiVersion": version, "kind": type(args).__name__, **present(write(args, release))}


def _preemption(args: DefaultPreemptionArgs, _: str) -> dict[str, Any]:
    return {
        "minCandidateNodesPercentage": args.min_candidate_nodes_percentage,
        "minCandidateNodesAbsolute": args.min_candidate_nodes_absolute,
    }


def _interpod(args: InterPodAffinityArgs, release: str) -> dict[str, Any]:
    ignore = None if release == OLD else args.ignore_preferred_terms_of_existing_pods
    return {"hardPodAffinityWeight": args.hard_pod_affinity_weight, "ignorePreferredTermsOfExistingPods": ignore}


def _fit(args: NodeResourcesFitArgs, release: str) -> dict[str, Any]:
    strategy = args.scoring_strategy
    return {
        "ignoredResources": list(args.ignored_resources) or None,
        "ignoredResourceGroups": list(args.ignored_resource_groups) or None,
        "scoringStrategy": None if release == OLD or strategy is None else _strategy(strategy),
    }


def _strategy(strategy: ScoringStrategy) -> dict[str, Any]:
    ratio = None if strategy.shape is None else {"shape": _shape(strategy.shape)}
    fields = {
        "type": strategy.type,
        "resources": _resources(strategy.resources),
        "requestedToCapacityRatio": ratio,
    }
    return present(fields)


def _allocated(
    args: NodeResourcesBalancedAllocationArgs | NodeResourcesLeastAllocatedArgs | NodeResourcesMostAllocatedArgs, _: str
) -> dict[str, Any]:
    return {"resources": _resources(args.resources)}


def _ratio(args: RequestedToCapacityRatioArgs, _: str) -> dict[str, Any]:
    return {"shape": _shape(args.shape), "resources": _resources(args.resources)}


def _resources(resources: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in resources]


def _shape(shape: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"utilization": utilization, "score": score} for utilization, score in shape]


def _spread(args: PodTopologySpreadArgs, _: str) -> dict[str, Any]:
    return {
        "defaultConstraints": [encode_spread_constraint(constraint) for constraint in args.default_constraints] or None,
        "defaultingType": args.defaulting_type,
    }


def _affinity(args: NodeAffinityArgs, _: str) -> dict[str, Any]:
    return {"addedAffinity": None if args.added_affinity is None else _added(args.added_affinity)}


def _added(affinity: AddedAffinity) -> dict[str, Any]:
    fields = {
        REQUIRED: None if affinity.required is None else encode_terms(affinity.required),
        PREFERRED: [_preferred(term) for term in affinity.preferred] or None,
    }
    return present(fields)


def _preferred(term: PreferredSchedulingTerm) -> dict[str, Any]:
    return {"weight": term.weight, "preference": encode_term(term.preference)}


def _binding(args: VolumeBindingArgs, _: str) -> dict[str, Any]:
    return {"bindTimeoutSeconds": args.bind_timeout_seconds, "shape": _shape(args.shape) or None}


def _labels(args: NodeLabelArgs, _: str) -> dict[str, Any]:
    return {
        "presentLabels": list(args.present_labels) or None,
        "absentLabels": list(args.absent_labels) or None,
        "presentLabelsPreference": list(args.present_labels_preference) or None,
        "absentLabelsPreference": list(args.absent_labels_preference) or None,
    }


def _service(args: ServiceAffinityArgs, _: str) -> dict[str, Any]:
    return {
        "affinityLabels": list(args.affinity_labels) or None,
        "antiAffinityLabelsPreference": list(args.anti_affinity_labels_preference) or None,
    }


def _dynamic(args: DynamicResourcesArgs, _: str) -> dict[str, Any]:
    return {
        "filterTimeout": format_duration(args.filter_timeout),
        "bindingTimeout": format_duration(args.binding_timeout),
    }


_WRITERS: Mapping[type[Any], Callable[[Any, str], dict[str, Any]]] = {
    DefaultPreemptionArgs: _preemption,
    DynamicResourcesArgs: _dynamic,
    InterPodAffinityArgs: _interpod,
    NodeAffinityArgs: _affinity,
    NodeLabelArgs: _labels,
    NodeResourcesBalancedAllocationArgs: _allocated,
    NodeResourcesFitArgs: _fit,
    NodeResourcesLeastAllocatedArgs: _allocated,
    NodeResourcesMostAllocatedArgs: _allocated,
    PodTopologySpreadArgs: _spread,
    RequestedToCapacityRatioArgs: _ratio,
    ServiceAffinityArgs: _service,
    VolumeBindingArgs: _binding,
}
"""Type of args → (args, release) → its keys; None where a key is left out."""
