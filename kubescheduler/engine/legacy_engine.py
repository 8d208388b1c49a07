"""Engines of releases that decide by predicates and priorities: of flags, a provider's name or a Policy."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from algorithmprovider import DEFAULT_PROVIDER
from clusterstate.errors import ConfigError, RegistryError, faults_at, nearest
from clusterstate.objects import Pod
from kubescheduler.config.config_text import read_policy_configmap
from kubescheduler.config.policy_model import (
    Policy,
    PolicyFault,
    PredicateArgument,
    PriorityArgument,
    checked_policy,
    give_up,
    ignored_resources,
    ordered,
)
from kubescheduler.core.algorithm import DEFAULT_SCHEDULER, Algorithm, LegacyBehaviour, WeightedPriority
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.engine.engine_flags import ALL_NODES, EngineFlags, Notice, check_view
from kubescheduler.extender.wire import NodeEncoder
from predicates.types import FitPredicateFactory, PredicateArgs, attached_last
from priorities.types import PriorityArgs, PriorityConfigFactory, PriorityFactory

if TYPE_CHECKING:
    from algorithmprovider.registry import Arguments, Registry
    from clusterstate.cache import ClusterCache
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.core.extender_calls import Extender
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.releases.release import LegacyRules


class LegacyEngine(msgspec.Struct, frozen=True, eq=False):
    """Predicates and priorities."""

    algorithm: Algorithm
    view: ReleaseView
    """How the release sees objects under its feature gates."""

    @property
    def release(self) -> str:
        """The release whose rules it has."""
        return self.algorithm.release

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """The extenders of the policy."""
        return self.algorithm.extenders

    @property
    def document(self) -> Mapping[str, Any]:
        """No component configuration."""
        return {}

    def foreign(self, pod: Pod) -> str:
        """See Algorithm."""
        return self.algorithm.foreign(pod)

    def upstream_tie(self, rng: random.Random) -> TieBreak:
        """The release's own choice among equal totals."""
        return self.algorithm.behaviour.upstream_tie(rng)

    def scheduler(self, cache: ClusterCache, tie_break: TieBreak | None = None) -> GenericScheduler:
        """A scheduler over a cluster. Raises ConfigError for a cache of another release's view."""
        check_view(cache, self.view, self.release)
        return GenericScheduler(self.algorithm, cache, tie_break)


def engine_of_algorithm(flags: EngineFlags, notice: Notice) -> LegacyEngine:
    """The engine of a provider, a policy or a component configuration. Raises ConfigError with every problem."""
    if flags.config_file is not None or flags.component is not None:
        return _engine_of_component(flags, notice)
    return LegacyEngine(_algorithm(flags, notice), flags.release_view())


def _engine_of_component(flags: EngineFlags, notice: Notice) -> LegacyEngine:
    from kubescheduler.engine.v1alpha1_engine import configured, flags_of, read_component

    config = read_component(flags)
    assert config is not None
    algorithm = _algorithm(flags_of(flags, config, notice), notice)
    return LegacyEngine(configured(algorithm, config), flags.release_view())


def legacy_engine_for(flags: EngineFlags) -> LegacyEngine:
    """As ``engine_for``, of a release that decides by predicates and priorities."""
    if flags.component is None:
        return LegacyEngine(algorithm_for(flags, flags.provider, flags.policy), flags.release_view())
    from kubescheduler.engine.v1alpha1_engine import NO_POLICY, component_alone, configured

    config = component_alone(flags, flags.component)
    flags = msgspec.structs.replace(flags, hard_pod_affinity_symmetric_weight=config.hard_pod_affinity_symmetric_weight)
    algorithm = configured(algorithm_for(flags, config.provider, None if config.provider else NO_POLICY), config)
    return LegacyEngine(algorithm, flags.release_view())


# --- an algorithm of flags --------------------------------------------------------------------


def _algorithm(flags: EngineFlags, notice: Notice) -> Algorithm:
    if flags.percentage_of_nodes_to_score != ALL_NODES and not flags.record.legacy_rules.samples:
        notice(f"--percentage-of-nodes-to-score has no effect: release {flags.release} always looks at every node")
    policy_file, policy_configmap = flags.policy_file, flags.policy_configmap
    if flags.use_legacy_policy_config:
        if not flags.record.legacy_rules.legacy_policy_flag:
            raise ConfigError(
                f"unknown flag: --use-legacy-policy-config: release {flags.release} has none; leave it out"
            )
        from kubescheduler.config.policy_1_20_plugins import algorithm_source_1_20

        source = algorithm_source_1_20(policy_file=policy_file, use_legacy_policy_config=True)  # 1.16 does the same
        policy_file, policy_configmap = source.policy_file, None
    if flags.policy is not None:
        return algorithm_from_document(flags, flags.policy, "policy", notice)
    return algorithm_from_files(flags, flags.provider, policy_file, policy_configmap, notice)


def algorithm_from_files(
    flags: EngineFlags,
    provider: str | None,
    policy_file: str | None,
    policy_configmap: str | None,
    notice: Notice,
) -> Algorithm:
    """The algorithm that the flags of kube-scheduler select: the ConfigMap before the file before the provider.

    Raises ConfigError that lists every problem; ``notice`` is called with what a reader would not expect.
    """
    source, document = policy_document(flags, policy_file, policy_configmap, notice)
    if document is None:
        return algorithm_from_provider(flags, provider or DEFAULT_PROVIDER)
    unused = {"--policy-config-file": policy_file if policy_configmap else None, "--algorithm-provider": provider}
    for flag in (flag for flag, value in unused.items() if value is not None):
        notice(f"{flag} has no effect beside the policy in {source}")
    return algorithm_from_document(flags, document, source, notice)


def policy_document(
    flags: EngineFlags, policy_file: str | None, policy_configmap: str | None, notice: Notice
) -> tuple[str, Mapping[str, Any] | None]:
    """(its file, the document of the policy that counts; None where the provider does). Raises ConfigError."""
    rules = flags.record.legacy_rules
    if policy_configmap is not None:
        if not rules.config_maps:
            raise ConfigError(
                f"--policy-configmap: release {flags.release} reads no ConfigMap; give a --policy-config-file"
            )
        return policy_configmap, read_policy_configmap(Path(policy_configmap))
    if policy_file is None:
        return "", None
    document = rules.read_file(Path(policy_file))
    if document is None:
        notice(f"{policy_file} is not there, and release {flags.release} then goes by the provider")
    return policy_file, document


def algorithm_from_document(flags: EngineFlags, document: Mapping[str, Any], source: str, notice: Notice) -> Algorithm:
    """The algorithm of a policy's document. Raises ConfigError with every problem; ``source`` names it there."""
    with faults_at(source):
        policy = policy_of_document(flags, document)
        for note in policy.notes:
            notice(f"{source}: {note}")
        algorithm = _of_checked(flags, policy)
    for predicate in algorithm.idle:
        notice(f"{source}: predicate {predicate.name} never runs: release {flags.release} has no place for that name")
    return algorithm


def policy_of_document(flags: EngineFlags, document: Mapping[str, Any]) -> Policy:
    """The policy of a document, checked. Raises ConfigError with every problem, of decoding and of what is decoded."""
    rules = flags.record.legacy_rules

    def read() -> Policy:
        return rules.parse(document, release=flags.release, strict=flags.strict, every_problem=True)

    return checked_policy(read, lambda policy: _faults_of(flags, policy))


def _faults_of(flags: EngineFlags, policy: Policy) -> Iterator[PolicyFault]:
    """The faults of a decoded policy, in the release's order."""
    rules = flags.record.legacy_rules
    known = rules.registry(flags.registering_gates)
    defaults = _default_weights(known)
    return rules.faults(
        policy, known.fit_predicates, known.priorities, hard_weight=flags.hard_weight, defaults=defaults
    )


# --- an algorithm of a provider or a policy ---------------------------------------------------


def algorithm_for(flags: EngineFlags, provider: str | None, policy: Mapping[str, Any] | None) -> Algorithm:
    """An algorithm by a provider's name or a policy document; neither is the default provider.

    Raises ConfigError with the text at which the release gives up.
    """
    if policy is not None:
        read = flags.record.legacy_rules.parse(policy, release=flags.release, strict=False)
        return algorithm_from_policy(flags, read)
    return algorithm_from_provider(flags, provider or DEFAULT_PROVIDER)


def algorithm_from_provider(flags: EngineFlags, name: str) -> Algorithm:
    """Upstream: CreateFromProvider."""
    rules = flags.record.legacy_rules
    known = rules.registry(flags.registering_gates)
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


def algorithm_from_policy(flags: EngineFlags, policy: Policy, *, every_problem: bool = False) -> Algorithm:
    """Upstream: CreateFromConfig. Raises ConfigError with the release's own text, or with every problem."""
    faults = _faults_of(flags, policy)
    if not every_problem:
        give_up(faults)
    elif all_faults := list(faults):
        raise ConfigError(fault.problem for fault in all_faults)
    return _of_checked(flags, policy)


def _of_checked(flags: EngineFlags, policy: Policy) -> Algorithm:
    """Of a policy without faults. Raises ConfigError for failure domains that are none."""
    rules = flags.record.legacy_rules
    known = rules.registry(flags.registering_gates)
    default, defaults = known.provider(DEFAULT_PROVIDER), _default_weights(known)
    if error := rules.failure_domains_error(flags.failure_domains):
        raise ConfigError(rules.from_policy + error)
    known = with_custom_entries(known, policy)
    predicates: Iterable[str] = {entry.name for entry in policy.predicates or ()}
    weights = {entry.name: entry.weight for entry in policy.priorities or ()}
    if rules.absent_means_default:
        predicates = default.predicates if policy.predicates is None else predicates
        weights = defaults if policy.priorities is None else weights
    return _assemble(flags, known, predicates, weights, policy)


def _default_weights(known: Registry) -> dict[str, int]:
    """The priorities of the default provider with their weights, by name."""
    return {name: known.priorities[name].weight for name in sorted(known.provider(DEFAULT_PROVIDER).priorities)}


def _assemble(
    flags: EngineFlags,
    known: Registry,
    predicates: Iterable[str],
    weights: Mapping[str, int],
    policy: Policy,
) -> Algorithm:
    selected = known.mandatory.union(predicates)
    rules, gates, domains = flags.record.legacy_rules, flags.gates, tuple(sorted(set(flags.failure_domains)))
    predicate_args = PredicateArgs(frozenset(ignored_resources(policy.extenders)), flags.max_pd_volumes, gates, domains)
    hard_weight = policy.hard_weight(flags.hard_weight)
    unresolvable = known.unresolvable.__contains__
    checks = tuple(
        msgspec.structs.replace(known.fit_predicates[name](predicate_args), unresolvable=unresolvable, beyond=None)
        for name in known.ordering
        if name in selected
    )
    priority_args = PriorityArgs(hard_weight, gates, domains, partial(attached_last, checks))
    encoder = NodeEncoder()
    return Algorithm(
        release=flags.release,
        predicates=checks,
        priorities=tuple(
            WeightedPriority(known.priorities[name].make(priority_args), weight) for name, weight in weights.items()
        ),
        idle=tuple(known.fit_predicates[name](predicate_args) for name in sorted(selected.difference(known.ordering))),
        mandatory=known.mandatory,
        extenders=flags.extender_access.extenders(ordered(policy.extenders), flags.record.wire, encoder),
        always_check_all_predicates=rules.every_check or policy.always_check_all_predicates,
        behaviour=_behaviour(rules, gates),
        scheduler_name=flags.scheduler_name or DEFAULT_SCHEDULER,
        feature_gates=gates,
        percentage_of_nodes_to_score=flags.percentage_of_nodes_to_score if rules.samples else 100,
    )


def _behaviour(rules: LegacyRules, gates: Mapping[str, bool]) -> LegacyBehaviour:
    """Before priorities of pods are always there, a gate may take them away, and preemption with them; whether
    preemptionPolicy counts is another's say."""
    behaviour = rules.behaviour
    honours = gates.get("NonPreemptingPriority", False)
    return msgspec.structs.replace(
        behaviour,
        preempts=behaviour.preempts and gates.get("PodPriority", True),
        preemption=msgspec.structs.replace(behaviour.preemption, honours_policy=honours),
    )


def with_custom_entries(registry: Registry, policy: Policy) -> Registry:
    """The registry with the policy's own entries in place of whatever has their names.

    In 1.16 the order of predicates stays as it is: a custom one runs only under a name that is in it.
    """
    arguments = registry.arguments
    fit_predicates, priorities = dict(registry.fit_predicates), dict(registry.priorities)
    for predicate in policy.predicates or ():
        if predicate.argument is not None:
            fit_predicates[predicate.name] = _predicate(arguments, predicate.name, predicate.argument)
    for priority in policy.priorities or ():
        if priority.argument is not None:
            priorities[priority.name] = PriorityConfigFactory(_priority(arguments, priority.name, priority.argument))
    ordering = registry.ordering
    if registry.runs_any_name:
        ordering = list(dict.fromkeys((*ordering, *fit_predicates)))
    return msgspec.structs.replace(registry, fit_predicates=fit_predicates, priorities=priorities, ordering=ordering)


def _predicate(arguments: Arguments, name: str, argument: PredicateArgument) -> FitPredicateFactory:
    if argument.service_affinity is not None:
        return arguments.service_affinity(name, argument.service_affinity.labels)
    assert argument.labels_presence is not None
    return arguments.label_presence(name, argument.labels_presence.labels, argument.labels_presence.presence)


def _priority(arguments: Arguments, name: str, argument: PriorityArgument) -> PriorityFactory:
    if argument.service_anti_affinity is not None:
        return arguments.service_anti_affinity(name, argument.service_anti_affinity.label)
    if argument.label_preference is not None:
        return arguments.label_preference(name, argument.label_preference.label, argument.label_preference.presence)
    ratio = argument.requested_to_capacity_ratio
    assert ratio is not None
    assert arguments.capacity_ratio is not None
    return arguments.capacity_ratio(name, ratio.shape, ratio.resource_weights())
