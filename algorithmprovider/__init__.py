"""Which ones: registry maps, registration functions, and named providers of the releases that have them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pkgutil import iter_modules

from algorithmprovider.pernode import NodeInfo
from algorithmprovider.registration import (
    FIT_PREDICATES,
    PRIORITY_CONFIGS,
    PROVIDERS,
    register_algorithm_provider,
    register_custom_fit_predicate,
    register_custom_priority_function,
    register_fit_predicate,
    register_fit_predicate_factory,
    register_priority_config_factory,
    register_priority_function,
)
from algorithmprovider.registry import Provider, Registry, ReleaseRegistry
from clusterstate.errors import RegistryError, nearest
from clusterstate.versions import DEFAULT_RELEASE, number

__all__ = [
    "DEFAULT_PROVIDER",
    "DEFAULT_RELEASE",
    "FIT_PREDICATES",
    "PRIORITY_CONFIGS",
    "PROVIDERS",
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

_FILE = "release_"
LEGACY_RELEASES = tuple(
    sorted(
        (name.removeprefix(_FILE).replace("_", ".") for _, name, _ in iter_modules(__path__) if name.startswith(_FILE)),
        key=number,
    )
)
"""Those that decide by predicates and priorities, each in a module here; oldest first."""


def registry(release: str = DEFAULT_RELEASE, feature_gates: Mapping[str, bool] | None = None) -> Registry:
    """A release's registry, with what users registered on top. ``feature_gates`` override the defaults."""
    rules = _rules_of(release)
    built = rules.build({**rules.feature_gates, **(feature_gates or {})})
    for name, predicate in FIT_PREDICATES.items():
        built.add_predicate(name, predicate(built.arguments))
    for name, priority in PRIORITY_CONFIGS.items():
        if (made := priority(built.arguments)) is not None:
            built.priorities[name] = made
    built.providers.update(PROVIDERS)
    return built


def _rules_of(release: str) -> ReleaseRegistry:
    """What the module of a release that decides by predicates and priorities registers."""
    if release not in LEGACY_RELEASES:
        known = ", ".join(LEGACY_RELEASES)
        raise RegistryError(f"release {release} is not known; known are {known}{nearest(release, LEGACY_RELEASES)}")
    module = importlib.import_module(f"algorithmprovider.release_{release.replace('.', '_')}")
    rules: ReleaseRegistry = module.REGISTRY
    return rules


def get_algorithm_provider(name: str, release: str = DEFAULT_RELEASE) -> Provider:
    """A provider's keys. Raises RegistryError with upstream's text for an unknown name."""
    return registry(release).provider(name)


def list_fit_predicates(release: str = DEFAULT_RELEASE) -> list[str]:
    """The registered predicates, sorted. Upstream: 1.16 ListRegisteredFitPredicates."""
    return sorted(registry(release).fit_predicates)


def list_priorities(release: str = DEFAULT_RELEASE) -> list[str]:
    """The registered priorities, sorted."""
    return sorted(registry(release).priorities)


def list_algorithm_providers(release: str = DEFAULT_RELEASE) -> list[str]:
    """The registered providers, sorted. Upstream: 1.16 ListAlgorithmProviders."""
    return sorted(registry(release).providers)
