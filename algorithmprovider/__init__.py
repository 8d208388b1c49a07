"""Which ones: registry maps, registration functions, named providers and release tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import attrs

from algorithmprovider import release_1_4, release_1_16
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
from algorithmprovider.registry import Provider, Registry, nearest
from clusterstate.errors import RegistryError
from clusterstate.gated_view_1_36 import gated_pod_key_1_36
from clusterstate.release_names import DEFAULT_RELEASE
from clusterstate.release_view import ReleaseView
from clusterstate.view_records import VIEW_1_20, VIEW_1_36

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
    "release_view",
    "view_1_20",
    "view_1_36",
]

DEFAULT_PROVIDER = "DefaultProvider"

REGISTRIES: dict[str, tuple[Callable[[Mapping[str, bool]], Registry], Mapping[str, bool]]] = {
    "1.4": (release_1_4.registry, release_1_4.FEATURE_GATES),
    "1.16": (release_1_16.registry, release_1_16.FEATURE_GATES),
}
"""Release that decides by predicates and priorities → (its registry under given feature gates, their defaults)."""


def view_1_20(_: Mapping[str, bool]) -> ReleaseView:
    """How 1.20 reads objects, whatever the feature gates."""
    return VIEW_1_20


def view_1_36(gates: Mapping[str, bool]) -> ReleaseView:
    """How 1.36 reads objects under these feature gates."""
    return attrs.evolve(VIEW_1_36, pod_key=gated_pod_key_1_36(gates))


VIEWS: dict[str, Callable[[Mapping[str, bool]], ReleaseView]] = {
    "1.4": release_1_4.release_view,
    "1.16": release_1_16.release_view,
    "1.20": view_1_20,
    "1.36": view_1_36,
}
"""Release → how it reads objects under given feature gates."""


def release_view(release: str = DEFAULT_RELEASE, feature_gates: Mapping[str, bool] | None = None) -> ReleaseView:
    """How a release reads objects, for the cluster's cache. ``feature_gates`` override the defaults."""
    if release not in VIEWS:
        raise _unknown(release, VIEWS)
    gates = REGISTRIES[release][1] if release in REGISTRIES else {}
    return VIEWS[release]({**gates, **(feature_gates or {})})


def registry(release: str = DEFAULT_RELEASE, feature_gates: Mapping[str, bool] | None = None) -> Registry:
    """A release's registry, with what users registered on top. ``feature_gates`` override the defaults."""
    build, gates = _known(release)
    built = build({**gates, **(feature_gates or {})})
    for name, factory in FIT_PREDICATES.items():
        built.add_predicate(name, factory)
    built.priorities.update(PRIORITY_CONFIGS)
    built.providers.update(PROVIDERS)
    return built


def _known(release: str) -> tuple[Callable[[Mapping[str, bool]], Registry], Mapping[str, bool]]:
    if release not in REGISTRIES:
        raise _unknown(release, REGISTRIES)
    return REGISTRIES[release]


def _unknown(release: str, known: Collection[str]) -> RegistryError:
    return RegistryError(f"release {release} is not known; known are {', '.join(known)}{nearest(release, known)}")


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
