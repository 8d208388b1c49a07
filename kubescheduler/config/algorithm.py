"""From a provider's name or a Policy to an Algorithm: which keys are selected, and what they are made into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from algorithmprovider import DEFAULT_PROVIDER, registry
from algorithmprovider.registry import Registry, nearest
from clusterstate.errors import ConfigError, RegistryError
from kubescheduler.config.custom import with_custom_entries
from kubescheduler.config.documents import read_policy_configmap, read_policy_file
from kubescheduler.config.policy import parse_policy
from kubescheduler.config.policy_model import Policy
from kubescheduler.config.validation import check_policy, hard_weight_error, policy_problems, total_weight_error
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.extender import HTTPExtender, NodeEncoder
from predicates.types import PredicateArgs
from priorities.types import PriorityArgs


@attrs.frozen
class AlgorithmOptions:
    """What flags say besides the provider or policy.

    max_pd_volumes: the environment's KUBE_MAX_PD_VOLS, None when it is not a positive integer.
    """

    release: str = "1.16"
    feature_gates: Mapping[str, bool] = attrs.field(factory=dict)
    hard_pod_affinity_symmetric_weight: int = 1
    percentage_of_nodes_to_score: int = 100
    max_pd_volumes: int | None = None


def max_pd_volumes(environment: Mapping[str, str]) -> int | None:
    """KUBE_MAX_PD_VOLS if it is a positive integer."""
    text = environment.get("KUBE_MAX_PD_VOLS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def algorithm_for(options: AlgorithmOptions, provider: str | None, policy: Mapping[str, Any] | None) -> Algorithm:
    """An algorithm by a provider's name or a policy document; neither is the default provider.

    Raises ConfigError with the text at which the release gives up.
    """
    if policy is not None:
        return algorithm_from_policy(options, parse_policy(policy, strict=False))
    return algorithm_from_provider(options, provider or DEFAULT_PROVIDER)


def algorithm_from_provider(options: AlgorithmOptions, name: str) -> Algorithm:
    """Upstream: 1.16 CreateFromProvider."""
    known = registry(options.release, options.feature_gates)
    prefix = f'couldn\'t create scheduler using provider "{name}": '
    try:
        provider = known.provider(name)
    except RegistryError as error:
        raise ConfigError(prefix + str(error)) from error
    missing = [
        *(
            f'invalid predicate name "{key}" specified - no corresponding function found'
            + nearest(key, known.fit_predicates)
            for key in sorted(provider.predicates - known.fit_predicates.keys())
        ),
        *(
            f"invalid priority name {key} specified - no corresponding function found" + nearest(key, known.priorities)
            for key in sorted(provider.priorities - known.priorities.keys())
        ),
    ]
    weights = {key: known.priorities[key].weight for key in sorted(provider.priorities & known.priorities.keys())}
    hard = hard_weight_error(options.hard_pod_affinity_symmetric_weight)
    problems = [*missing, *(text for text in (hard, total_weight_error(weights)) if text)]
    if problems:
        raise ConfigError(prefix + problem for problem in problems)
    return _assemble(options, known, provider.predicates, weights, Policy())


def algorithm_from_policy(options: AlgorithmOptions, policy: Policy, *, every_problem: bool = False) -> Algorithm:
    """Upstream: 1.16 CreateFromConfig. Raises ConfigError with the release's own text, or with every problem."""
    known = registry(options.release, options.feature_gates)
    default = known.provider(DEFAULT_PROVIDER)
    defaults = {name: known.priorities[name].weight for name in sorted(default.priorities)}
    settings: dict[str, Any] = {"hard_weight": options.hard_pod_affinity_symmetric_weight, "defaults": defaults}
    if every_problem:
        if problems := policy_problems(policy, known.fit_predicates, known.priorities, **settings):
            raise ConfigError(problems)
    else:
        check_policy(policy, known.fit_predicates, known.priorities, **settings)
    known = with_custom_entries(known, policy)
    predicates = default.predicates if policy.predicates is None else {entry.name for entry in policy.predicates}
    weights = defaults if policy.priorities is None else {entry.name: entry.weight for entry in policy.priorities}
    return _assemble(options, known, predicates, weights, policy)


def algorithm_from_files(
    options: AlgorithmOptions,
    provider: str | None,
    policy_file: str | None,
    policy_configmap: str | None,
    notice: Callable[[str], None],
) -> Algorithm:
    """The algorithm that the flags of kube-scheduler select: the ConfigMap before the file before the provider.

    Raises ConfigError that lists every problem; ``notice`` is told what a reader would not expect.
    """
    if policy_configmap is not None:
        source, document = policy_configmap, read_policy_configmap(Path(policy_configmap))
    elif policy_file is not None:
        source, document = policy_file, read_policy_file(Path(policy_file))
    else:
        return algorithm_from_provider(options, provider or DEFAULT_PROVIDER)
    unused = {"--policy-config-file": policy_file if policy_configmap else None, "--algorithm-provider": provider}
    for flag in (flag for flag, value in unused.items() if value is not None):
        notice(f"{flag} has no effect beside the policy in {source}")
    try:
        policy = parse_policy(document, strict=True)
        for note in policy.notes:
            notice(f"{source}: {note}")
        return algorithm_from_policy(options, policy, every_problem=True)
    except ConfigError as error:
        raise ConfigError(f"{source}: {problem}" for problem in error.problems) from error


def _assemble(
    options: AlgorithmOptions,
    known: Registry,
    predicates: Iterable[str],
    weights: Mapping[str, int],
    policy: Policy,
) -> Algorithm:
    selected = known.mandatory.union(predicates)
    predicate_args = PredicateArgs(policy.ignored_resources(), options.max_pd_volumes, options.feature_gates)
    hard_weight = policy.hard_weight(options.hard_pod_affinity_symmetric_weight)
    priority_args = PriorityArgs(hard_weight, options.feature_gates)
    encoder = NodeEncoder()
    return Algorithm(
        release=options.release,
        predicates=tuple(known.fit_predicates[name](predicate_args) for name in known.ordering if name in selected),
        priorities=tuple(
            WeightedPriority(known.priorities[name].make(priority_args), weight) for name, weight in weights.items()
        ),
        idle=tuple(known.fit_predicates[name](predicate_args) for name in sorted(selected.difference(known.ordering))),
        unresolvable=known.unresolvable,
        extenders=tuple(HTTPExtender(config, encoder=encoder) for config in policy.ordered_extenders()),
        honours_preemption_policy=options.feature_gates.get("NonPreemptingPriority", False),
        always_check_all_predicates=policy.always_check_all_predicates,
        percentage_of_nodes_to_score=options.percentage_of_nodes_to_score,
    )
