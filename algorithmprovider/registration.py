"""How users add their own algorithms: the module-level maps, and the functions that fill them.

What is registered here joins every release's registry, in front of a built-in of the same name. A user's
predicate also joins the order in which predicates run, at its end. A parameterised one is built by the rules of the
release whose registry it joins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from algorithmprovider.pernode import (
    checked_predicate,
    checked_priority,
    checked_reduce,
    column_predicate,
    column_priority,
    per_node_predicate,
    per_node_priority,
)
from algorithmprovider.registry import Arguments, Provider, valid_name
from clusterstate.changes import Reads
from clusterstate.errors import RegistryError
from predicates.types import FitPredicate, FitPredicateFactory, PredicateArgs
from priorities.types import PriorityArgs, PriorityConfig, PriorityConfigFactory, PriorityFactory, Reduce

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
