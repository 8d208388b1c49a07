"""Policy entries with an argument: the predicates and priorities they build."""

from __future__ import annotations

import attrs

from algorithmprovider.registry import Registry
from kubescheduler.config.policy_model import Policy, PredicateArgument, PriorityArgument
from predicates.labels import label_presence_factory
from predicates.service_affinity import service_affinity_factory
from predicates.types import FitPredicateFactory
from priorities.capacity_ratio import capacity_ratio_factory
from priorities.node_label import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory
from priorities.types import PriorityConfigFactory, PriorityFactory


def with_custom_entries(registry: Registry, policy: Policy) -> Registry:
    """The registry with the policy's own entries in place of whatever has their names.

    The order of predicates stays as it is: in 1.16 a custom predicate runs only under a name that is in it.
    """
    fit_predicates, priorities = dict(registry.fit_predicates), dict(registry.priorities)
    for predicate in policy.predicates or ():
        if predicate.argument is not None:
            fit_predicates[predicate.name] = _predicate(predicate.name, predicate.argument)
    for priority in policy.priorities or ():
        if priority.argument is not None:
            priorities[priority.name] = PriorityConfigFactory(_priority(priority.name, priority.argument))
    return attrs.evolve(registry, fit_predicates=fit_predicates, priorities=priorities)


def _predicate(name: str, argument: PredicateArgument) -> FitPredicateFactory:
    if argument.service_affinity is not None:
        return service_affinity_factory(name, argument.service_affinity.labels)
    assert argument.labels_presence is not None
    return label_presence_factory(name, argument.labels_presence.labels, argument.labels_presence.presence)


def _priority(name: str, argument: PriorityArgument) -> PriorityFactory:
    if argument.service_anti_affinity is not None:
        return service_anti_affinity_factory(name, argument.service_anti_affinity.label)
    if argument.label_preference is not None:
        return node_label_factory(name, argument.label_preference.label, argument.label_preference.presence)
    ratio = argument.requested_to_capacity_ratio
    assert ratio is not None
    return capacity_ratio_factory(name, ratio.shape, ratio.resource_weights())
