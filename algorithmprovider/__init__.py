"""Which ones: registry maps, registration functions, and named providers of the releases that have them."""

from __future__ import annotations

from collections.abc import Mapping

from algorithmprovider.pernode import NodeInfo
from algorithmprovider.registry import (
    FIT_PREDICATES,
    PRIORITY_CONFIGS,
    PROVIDERS,
    Algorithms,
    Provider,
    Registry,
    register_algorithm_provider,
    register_custom_fit_predicate,
    register_custom_priority_function,
    register_fit_predicate,
    register_fit_predicate_factory,
    register_priority_config_factory,
    register_priority_function,
)

__all__ = [
    "DEFAULT_PROVIDER",
    "FIT_PREDICATES",
    "PRIORITY_CONFIGS",
    "PROVIDERS",
    "Algorithms",
    "NodeInfo",
    "Provider",
    "Registry",
    "get_algorithm_provider",
    "list_algorithm_providers",
    "list_fit_predicates",
    "list_priorities",
    "register_algorithm_provider",
    "register_custom_fit_predicate",
    "register_custom_priority_function",
    "register_fit_predicate",
    "register_fit_predicate_factory",
    "register_priority_config_factory",
    "register_priority_function",
    "registry",
]

DEFAULT_PROVIDER = "DefaultProvider"


def registry(algorithms: Algorithms | None = None, feature_gates: Mapping[str, bool] | None = None) -> Registry:
    """The registry of a release, with what users registered on top.

    algorithms: the release's, None: those of 1.16, the last that decides by them. feature_gates: those that are not at
    their defaults.
    """
    if algorithms is None:
        from algorithmprovider.algorithms import ALGORITHMS

        algorithms = ALGORITHMS
    built = algorithms.registry(feature_gates or {})
    for name, predicate in FIT_PREDICATES.items():
        built.add_predicate(name, predicate(built.arguments))
    for name, priority in PRIORITY_CONFIGS.items():
        if (made := priority(built.arguments)) is not None:
            built.priorities[name] = made
    built.providers.update(PROVIDERS)
    return built


def get_algorithm_provider(name: str, algorithms: Algorithms | None = None) -> Provider:
    """A provider's keys. Raises RegistryError with upstream's text for an unknown name."""
    return registry(algorithms).provider(name)


def list_fit_predicates(algorithms: Algorithms | None = None) -> list[str]:
    """The registered predicates, sorted. Upstream: 1.16 ListRegisteredFitPredicates."""
    return sorted(registry(algorithms).fit_predicates)


def list_priorities(algorithms: Algorithms | None = None) -> list[str]:
    """The registered priorities, sorted."""
    return sorted(registry(algorithms).priorities)


def list_algorithm_providers(algorithms: Algorithms | None = None) -> list[str]:
    """The registered providers, sorted. Upstream: 1.16 ListAlgorithmProviders."""
    return sorted(registry(algorithms).providers)
