"""From a provider's name or a Policy to an Algorithm: which keys are selected, and what they are made into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorithmprovider import DEFAULT_PROVIDER
from clusterstate.errors import ConfigError, RegistryError, nearest
from kubescheduler.config.config_text import read_policy_configmap
from kubescheduler.config.policy.policy_model import Policy
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.legacy_behaviour import DEFAULT_SCHEDULER
from kubescheduler.engine.custom_entries import with_custom_entries
from kubescheduler.extender.encoding import NodeEncoder
from predicates.types import PredicateArgs
from predicates.volume_counts import COUNTED_DISKS, attached_volumes
from priorities.types import PriorityArgs

if TYPE_CHECKING:
    from algorithmprovider.registry import Registry
    from kubescheduler.engine.engine_flags import EngineFlags


def algorithm_for(flags: EngineFlags, provider: str | None, policy: Mapping[str, Any] | None) -> Algorithm:
    """An algorithm by a provider's name or a policy document; neither is the default provider.

    Raises ConfigError with the text at which the release gives up.
    """
    if policy is not None:
        return algorithm_from_policy(flags, flags.record.legacy_rules.parse(policy, strict=False))
    return algorithm_from_provider(flags, provider or DEFAULT_PROVIDER)


def algorithm_from_provider(flags: EngineFlags, name: str) -> Algorithm:
    """Upstream: CreateFromProvider."""
    rules = flags.record.legacy_rules
    known = rules.registry(flags.gates)
    prefix = rules.from_provider(name)
    try:
        provider = known.provider(name)
    except RegistryError as error:
        raise ConfigError(prefix + str(error)) from error
    missing = [
        *(
            rules.unknown_predicate.format(key) + nearest(key, known.fit_predicates)
            for key in sorted(provider.predicates - known.fit_predicates.keys())
        ),
        *(
            rules.unknown_priority.format(key) + nearest(key, known.priorities)
            for key in sorted(provider.priorities - known.priorities.keys())
        ),
    ]
    weights = {key: known.priorities[key].weight for key in sorted(provider.priorities & known.priorities.keys())}
    later = (
        rules.hard_weight_error(flags.hard_weight),
        rules.total_weight_error(weights),
        rules.failure_domains_error(flags.failure_domains),
    )
    problems = [*missing, *(text for text in later if text)]
    if problems:
        raise ConfigError(prefix + problem for problem in problems)
    return _assemble(flags, known, provider.predicates, weights, Policy())


def policy_problems_of(flags: EngineFlags, policy: Policy) -> list[str]:
    """Every problem of a decoded policy as ``path: message``."""
    rules = flags.record.legacy_rules
    known = rules.registry(flags.gates)
    return rules.problems(
        policy,
        known.fit_predicates,
        known.priorities,
        hard_weight=flags.hard_weight,
        defaults=_default_weights(known),
    )


def _default_weights(known: Registry) -> dict[str, int]:
    """The priorities of the default provider with their weights, by name."""
    return {name: known.priorities[name].weight for name in sorted(known.provider(DEFAULT_PROVIDER).priorities)}


def algorithm_from_policy(flags: EngineFlags, policy: Policy, *, every_problem: bool = False) -> Algorithm:
    """Upstream: CreateFromConfig. Raises ConfigError with the release's own text, or with every problem."""
    rules = flags.record.legacy_rules
    known = rules.registry(flags.gates)
    default, defaults = known.provider(DEFAULT_PROVIDER), _default_weights(known)
    settings: dict[str, Any] = {"hard_weight": flags.hard_weight, "defaults": defaults}
    if not every_problem:
        rules.check(policy, known.fit_predicates, known.priorities, **settings)
    elif problems := policy_problems_of(flags, policy):
        raise ConfigError(problems)
    if error := rules.failure_domains_error(flags.failure_domains):
        raise ConfigError(rules.from_policy + error)
    known = with_custom_entries(known, policy)
    predicates: Iterable[str] = {entry.name for entry in policy.predicates or ()}
    weights = {entry.name: entry.weight for entry in policy.priorities or ()}
    if rules.absent_means_default:
        predicates = default.predicates if policy.predicates is None else predicates
        weights = defaults if policy.priorities is None else weights
    return _assemble(flags, known, predicates, weights, policy)


def algorithm_from_files(
    flags: EngineFlags,
    provider: str | None,
    policy_file: str | None,
    policy_configmap: str | None,
    notice: Callable[[str], None],
) -> Algorithm:
    """The algorithm that the flags of kube-scheduler select: the ConfigMap before the file before the provider.

    Raises ConfigError that lists every problem; ``notice`` is called with what a reader would not expect.
    """
    rules = flags.record.legacy_rules
    document: Mapping[str, Any] | None
    if policy_configmap is not None:
        if not rules.config_maps:
            raise ConfigError(
                f"--policy-configmap: release {flags.release} reads no ConfigMap; give a --policy-config-file"
            )
        source, document = policy_configmap, read_policy_configmap(Path(policy_configmap))
    elif policy_file is not None:
        source, document = policy_file, rules.read_file(Path(policy_file))
        if document is None:
            notice(f"{policy_file} is not there, and release {flags.release} then goes by the provider")
    else:
        source, document = "", None
    if document is None:
        return algorithm_from_provider(flags, provider or DEFAULT_PROVIDER)
    unused = {"--policy-config-file": policy_file if policy_configmap else None, "--algorithm-provider": provider}
    for flag in (flag for flag, value in unused.items() if value is not None):
        notice(f"{flag} has no effect beside the policy in {source}")
    return algorithm_from_document(flags, document, source, notice)


def algorithm_from_document(
    flags: EngineFlags, document: Mapping[str, Any], source: str, notice: Callable[[str], None]
) -> Algorithm:
    """The algorithm of a policy's document. Raises ConfigError with every problem; ``source`` names it there."""
    try:
        policy = policy_of_document(flags, document)
        for note in policy.notes:
            notice(f"{source}: {note}")
        algorithm = algorithm_from_policy(flags, policy, every_problem=True)
    except ConfigError as error:
        raise ConfigError(f"{source}: {problem}" for problem in error.problems) from error
    for predicate in algorithm.idle:
        notice(f"{source}: predicate {predicate.name} never runs: release {flags.release} has no place for that name")
    return algorithm


def policy_of_document(flags: EngineFlags, document: Mapping[str, Any]) -> Policy:
    """The policy of a document, checked. Raises ConfigError with every problem, of decoding and of what is decoded."""
    from kubescheduler.config.policy.unread_keys import checked_policy

    rules = flags.record.legacy_rules

    def read() -> Policy:
        return rules.parse(document, strict=flags.strict, every_problem=True)

    return checked_policy(read, lambda policy: policy_problems_of(flags, policy))


def _assemble(
    flags: EngineFlags,
    known: Registry,
    predicates: Iterable[str],
    weights: Mapping[str, int],
    policy: Policy,
) -> Algorithm:
    selected = known.mandatory.union(predicates)
    rules, gates, domains = flags.record.legacy_rules, flags.gates, tuple(sorted(set(flags.failure_domains)))
    predicate_args = PredicateArgs(policy.ignored_resources(), flags.max_pd_volumes, gates, domains)
    hard_weight = policy.hard_weight(flags.hard_weight)
    counted = tuple(COUNTED_DISKS[name] for name in known.ordering if name in selected & COUNTED_DISKS.keys())
    attached = partial(attached_volumes, counted, flags.max_pd_volumes)
    priority_args = PriorityArgs(hard_weight, gates, domains, attached)
    encoder = NodeEncoder()
    return Algorithm(
        release=flags.release,
        predicates=tuple(known.fit_predicates[name](predicate_args) for name in known.ordering if name in selected),
        priorities=tuple(
            WeightedPriority(known.priorities[name].make(priority_args), weight) for name, weight in weights.items()
        ),
        idle=tuple(known.fit_predicates[name](predicate_args) for name in sorted(selected.difference(known.ordering))),
        mandatory=known.mandatory,
        unresolvable=known.unresolvable,
        extenders=flags.extender_access.extenders(tuple(policy.ordered_extenders()), flags.record.wire, encoder),
        honours_preemption_policy=gates.get("NonPreemptingPriority", False),
        always_check_all_predicates=rules.every_check or policy.always_check_all_predicates,
        behaviour=rules.behaviour,
        scheduler_name=flags.scheduler_name or DEFAULT_SCHEDULER,
        percentage_of_nodes_to_score=flags.percentage_of_nodes_to_score if rules.samples else 100,
    )
