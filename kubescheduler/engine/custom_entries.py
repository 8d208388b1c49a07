"""Policy entries with an argument: the predicates and priorities they build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from priorities.types import PriorityConfigFactory

if TYPE_CHECKING:
    from algorithmprovider.registry import Arguments, Registry
    from kubescheduler.config.policy.policy_model import Policy, PredicateArgument, PriorityArgument
    from predicates.types import FitPredicateFactory
    from priorities.types import PriorityFactory


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
