"""Which algorithms there are: maps from names to factories and providers, and how users add to them.

What users register joins every release's registry, in front of a built-in of the same name. A user's predicate also
joins the order in which predicates run, at its end. A parameterised one is built by the rules of the release whose
registry it joins.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from algorithmprovider.pernode import (
    checked_predicate,
    checked_priority,
    checked_reduce,
    column_predicate,
    column_priority,
    per_node_predicate,
    per_node_priority,
)
from clusterstate.changes import Reads
from clusterstate.errors import RegistryError, nearest
from predicates.node_identity import label_presence_factory
from predicates.service_affinity import service_affinity_factory
from predicates.types import FitPredicate, FitPredicateFactory, PredicateArgs
from priorities.capacity_ratio import capacity_ratio_factory
from priorities.node_labels import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory
from priorities.types import PriorityArgs, PriorityConfig, PriorityConfigFactory, PriorityFactory, Reduce

CapacityRatioFactory = Callable[[str, Sequence[tuple[int, int]], Iterable[tuple[str, int]]], PriorityFactory]
"""Of (utilization, score) points and (resource, weight) pairs."""

NAME = re.compile("^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$")


class Provider(msgspec.Struct, frozen=True):
    """A named bundle of keys into the maps."""

    predicates: frozenset[str]
    priorities: frozenset[str]


class Arguments(msgspec.Struct, frozen=True):
    """What a policy entry's argument is made into: functions of the entry's name and the argument's members."""

    label_presence: Callable[[str, tuple[str, ...], bool], FitPredicateFactory] = label_presence_factory
    service_affinity: Callable[[str, tuple[str, ...]], FitPredicateFactory] = service_affinity_factory
    label_preference: Callable[[str, str, bool], PriorityFactory] = node_label_factory
    service_anti_affinity: Callable[[str, str], PriorityFactory] = service_anti_affinity_factory
    capacity_ratio: CapacityRatioFactory | None = capacity_ratio_factory
    """What becomes of requestedToCapacityRatioArguments; None where the release does not know it."""


class Registry(msgspec.Struct):
    """Everything one release can be configured with."""

    fit_predicates: dict[str, FitPredicateFactory]
    """Name → factory of a FitPredicate."""
    priorities: dict[str, PriorityConfigFactory]
    """Name → factory of a PriorityConfig, and its default weight."""
    providers: dict[str, Provider]
    """Name → the keys it bundles."""
    ordering: list[str]
    """The order in which predicates run on a node; a name that is not in it never runs."""
    mandatory: frozenset[str] = frozenset()
    """Predicates that join whatever was selected."""
    unresolvable: frozenset[str] = frozenset()
    """Reasons that taking pods away cannot mend."""
    runs_any_name: bool = False
    """A policy's own predicates run under any name, behind those of the ordering."""
    arguments: Arguments = Arguments()
    """What becomes of policy entries with an argument."""

    def add_predicate(self, name: str, factory: FitPredicateFactory) -> None:
        """Registers or replaces; a name new to the ordering goes to its end, so that it runs."""
        self.fit_predicates[valid_name(name)] = factory
        if name not in self.ordering:
            self.ordering.append(name)

    def provider(self, name: str) -> Provider:
        """A provider by name. Upstream: 1.16 GetAlgorithmProvider."""
        provider = self.providers.get(name)
        if provider is None:
            raise RegistryError(f'plugin "{name}" has not been registered{nearest(name, self.providers, 0.6)}')
        return provider


class Additions(msgspec.Struct, frozen=True):
    """What is registered besides, and is in every provider."""

    predicates: Mapping[str, FitPredicateFactory] = {}
    """Name → factory; in place of one that is there."""
    priorities: Mapping[str, PriorityConfigFactory] = {}
    """Name → factory with its default weight, likewise."""
    mandatory: frozenset[str] = frozenset()
    """Predicates that join whatever was selected."""


NOTHING = Additions()


class Gated(msgspec.Struct, frozen=True):
    """What a feature gate changes of what is registered."""

    default: bool
    """What it is when nobody sets it."""
    on: Additions = NOTHING
    off: Additions = NOTHING


class Algorithms(msgspec.Struct, frozen=True):
    """What one release has to be configured with, before users register theirs."""

    predicates: Mapping[str, FitPredicateFactory]
    """Name → factory, of every predicate that is registered whatever the gates are."""
    priorities: Mapping[str, PriorityConfigFactory]
    """Name → factory with its default weight, likewise."""
    default_predicates: frozenset[str]
    """Those of both providers."""
    default_priorities: frozenset[str]
    """Those of DefaultProvider."""
    ordering: tuple[str, ...]
    """The order in which predicates run on a node; a name that is not in it never runs."""
    unresolvable: frozenset[str] = frozenset()
    """Reasons that taking pods away cannot mend."""
    runs_any_name: bool = False
    """A policy's own predicates run under any name, behind those of the ordering."""
    arguments: Arguments = Arguments()
    """What becomes of policy entries with an argument."""
    gated: Mapping[str, Gated] = {}
    """Feature gate → what it changes."""

    def names(self) -> frozenset[str]:
        """Every predicate and priority that some feature gates register."""
        added = [each for gate in self.gated.values() for each in (gate.on, gate.off)]
        return frozenset(self.predicates).union(
            self.priorities, *(each.predicates for each in added), *(each.priorities for each in added)
        )

    def registry(self, gates: Mapping[str, bool]) -> Registry:
        """What is registered under these feature gates. Upstream: 1.16 defaults.ApplyFeatureGates."""
        settings = ((gate, gates.get(name, gate.default)) for name, gate in self.gated.items())
        added = [gate.on if on else gate.off for gate, on in settings]
        predicates, priorities = dict(self.predicates), dict(self.priorities)
        for each in added:
            predicates |= each.predicates
            priorities |= each.priorities
        mandatory = frozenset[str]().union(*(each.mandatory for each in added))
        provided = self.default_predicates.union(mandatory, *(each.predicates for each in added))
        scored = self.default_priorities.union(*(each.priorities for each in added))
        autoscaler = scored - {"LeastRequestedPriority"} | {"MostRequestedPriority"}
        return Registry(
            fit_predicates=predicates,
            priorities=priorities,
            providers={
                "DefaultProvider": Provider(provided, scored),
                "ClusterAutoscalerProvider": Provider(provided, autoscaler),
            },
            ordering=list(self.ordering),
            mandatory=mandatory,
            unresolvable=self.unresolvable,
            runs_any_name=self.runs_any_name,
            arguments=self.arguments,
        )


def valid_name(name: str) -> str:
    """The name itself, if upstream would register it."""
    if not NAME.match(name):
        raise RegistryError(f'Algorithm name {name} does not match the name validation regexp "{NAME.pattern}".')
    return name


FIT_PREDICATES: dict[str, Callable[[Arguments], FitPredicateFactory]] = {}
"""Name → the factory of a FitPredicate as users registered it, given what a release makes of arguments."""

PRIORITY_CONFIGS: dict[str, Callable[[Arguments], PriorityConfigFactory | None]] = {}
"""Name → the factory of a PriorityConfig with its default weight, likewise; None where a release has no such rule."""

PROVIDERS: dict[str, Provider] = {}
"""Name → the keys a user's provider bundles."""


@contextmanager
def registered_until_the_end() -> Iterator[None]:
    """What is registered meanwhile is forgotten at the end; schedulers that were made of it keep it."""
    maps: tuple[dict[str, Any], ...] = (FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS)
    before = [dict(one) for one in maps]
    try:
        yield
    finally:
        for one, entries in zip(maps, before, strict=True):
            one.clear()
            one.update(entries)


ANYTHING = Reads(sum(Reads))
"""What an algorithm over columns is taken to read when nothing else is said."""


def register_fit_predicate(name: str, predicate: FitPredicate | Callable[..., Any], reads: Reads = ANYTHING) -> str:
    """Registers a predicate and returns its name.

    predicate: a FitPredicate; or per node ``(pod, meta, node_info) -> (fit, reasons)``; or over columns
    ``(pod, snapshot) -> {reason: failing mask}``, which may say in ``reads`` what it depends on.
    """
    ready = _fit_predicate(name, predicate, reads)

    def make(_: PredicateArgs) -> FitPredicate:
        return ready

    return register_fit_predicate_factory(name, make)


def register_fit_predicate_factory(
    name: str, factory: Callable[[PredicateArgs], FitPredicate | Callable[..., Any]], reads: Reads = ANYTHING
) -> str:
    """Registers what makes the predicate once a scheduler is configured, and returns its name.

    factory: gives what ``register_fit_predicate`` takes, by what the scheduler's Policy, flags and environment say.
    """

    def made(args: PredicateArgs) -> FitPredicate:
        return _fit_predicate(name, factory(args), reads)

    def in_every_release(_: Arguments) -> FitPredicateFactory:
        return made

    FIT_PREDICATES[valid_name(name)] = in_every_release
    return name


def register_custom_fit_predicate(
    name: str,
    *,
    service_affinity: Sequence[str] | None = None,
    labels_presence: tuple[Sequence[str], bool] | None = None,
) -> str:
    """Registers a parameterised predicate: service_affinity=labels, or labels_presence=(labels, presence).

    Each release builds its own rule from them, as from a Policy's argument. Raises RegistryError unless exactly one is
    given.
    """
    given = [argument for argument in (service_affinity, labels_presence) if argument is not None]
    if len(given) != 1:
        raise RegistryError(f"Exactly 1 predicate argument is required, numArgs: {len(given)}, Predicate: {name}")

    def of_release(arguments: Arguments) -> FitPredicateFactory:
        if service_affinity is not None:
            return arguments.service_affinity(name, tuple(service_affinity))
        assert labels_presence is not None
        labels, presence = labels_presence
        return arguments.label_presence(name, tuple(labels), presence)

    FIT_PREDICATES[valid_name(name)] = of_release
    return name


def register_priority_function(
    name: str,
    map_function: PriorityConfig | Callable[..., Any],
    reduce_function: Reduce | None = None,
    weight: int = 1,
    reads: Reads = ANYTHING,
) -> str:
    """Registers a priority and returns its name.

    map_function: a PriorityConfig; or per node ``(pod, meta, node_info) -> score``; or over columns
    ``(pod, snapshot) -> scores``. reduce_function: ``(pod, snapshot of the feasible nodes, scores) -> scores``.
    """
    ready = _priority_config(name, map_function, checked_reduce(name, reduce_function), reads)

    def make(_: PriorityArgs) -> PriorityConfig:
        return ready

    return register_priority_config_factory(name, make, weight)


def register_priority_config_factory(
    name: str,
    factory: Callable[[PriorityArgs], PriorityConfig | Callable[..., Any]],
    weight: int = 1,
    reads: Reads = ANYTHING,
) -> str:
    """Registers what makes the priority once a scheduler is configured, with its default weight; returns its name.

    factory: gives what ``register_priority_function`` takes, by what the scheduler's Policy and flags say.
    """

    def made(args: PriorityArgs) -> PriorityConfig:
        return _priority_config(name, factory(args), None, reads)

    ready = PriorityConfigFactory(made, weight)

    def in_every_release(_: Arguments) -> PriorityConfigFactory:
        return ready

    PRIORITY_CONFIGS[valid_name(name)] = in_every_release
    return name


def register_custom_priority_function(
    name: str,
    weight: int = 1,
    *,
    service_anti_affinity: str | None = None,
    label_preference: tuple[str, bool] | None = None,
    requested_to_capacity_ratio: tuple[Sequence[tuple[int, int]], Sequence[tuple[str, int]]] | None = None,
) -> str:
    """Registers a parameterised priority.

    service_anti_affinity=label; label_preference=(label, presence); requested_to_capacity_ratio=(points of
    (utilization, score), (resource, weight) pairs), which 1.4 does not have and does not register. Each release builds
    its own rule from them, as from a Policy's argument. Raises RegistryError unless exactly one is given.
    """
    given = [one for one in (service_anti_affinity, label_preference, requested_to_capacity_ratio) if one is not None]
    if len(given) != 1:
        raise RegistryError(f"Exactly 1 priority argument is required, numArgs: {len(given)}, Priority: {name}")

    def factory(arguments: Arguments) -> PriorityFactory | None:
        if service_anti_affinity is not None:
            return arguments.service_anti_affinity(name, service_anti_affinity)
        if label_preference is not None:
            return arguments.label_preference(name, *label_preference)
        assert requested_to_capacity_ratio is not None
        shape, resources = requested_to_capacity_ratio
        make = arguments.capacity_ratio
        return None if make is None else make(name, tuple(shape), tuple(resources))

    def of_release(arguments: Arguments) -> PriorityConfigFactory | None:
        made = factory(arguments)
        return None if made is None else PriorityConfigFactory(made, weight)

    PRIORITY_CONFIGS[valid_name(name)] = of_release
    return name


def register_algorithm_provider(name: str, predicate_keys: Iterable[str], priority_keys: Iterable[str]) -> str:
    """Registers a provider; its keys are looked up when it is used."""
    PROVIDERS[valid_name(name)] = Provider(frozenset(predicate_keys), frozenset(priority_keys))
    return name


def _fit_predicate(name: str, predicate: FitPredicate | Callable[..., Any], reads: Reads) -> FitPredicate:
    if isinstance(predicate, FitPredicate):
        return checked_predicate(name, predicate)
    if _parameters(name, predicate) == 3:
        return per_node_predicate(name, predicate)
    return column_predicate(name, predicate, reads)


def _priority_config(
    name: str, function: PriorityConfig | Callable[..., Any], reduce: Reduce | None, reads: Reads
) -> PriorityConfig:
    if isinstance(function, PriorityConfig):
        return checked_priority(name, function)
    if _parameters(name, function) == 3:
        return per_node_priority(name, function, reduce)
    return column_priority(name, function, reduce, reads)


def _parameters(name: str, function: Callable[..., Any]) -> int:
    """2 (over columns) or 3 (per node)."""
    count = len(inspect.signature(function).parameters)
    if count not in (2, 3):
        raise RegistryError(
            f"{name}: a function takes (pod, snapshot) or (pod, meta, node_info), this one takes {count} arguments"
        )
    return count
