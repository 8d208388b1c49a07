"""The plugins there are: custom ones beside those that come with the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from clusterstate.errors import RegistryError
from kubescheduler.framework.contract.plugin import PluginFactory


class PluginRegistry(Mapping[str, PluginFactory]):
    """Plugin name → factory. Upstream: runtime.Registry."""

    def __init__(self, factories: Mapping[str, PluginFactory] | None = None) -> None:
        self._factories = dict(factories or {})

    def __getitem__(self, name: str) -> PluginFactory:
        return self._factories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)

    def register(self, name: str, factory: PluginFactory) -> None:
        """Raises RegistryError when there is a plugin of that name."""
        if name in self._factories:
            raise RegistryError(f"a plugin named {name} already exists")
        self._factories[name] = factory

    def unregister(self, name: str) -> None:
        """Raises RegistryError when there is no plugin of that name."""
        if name not in self._factories:
            raise RegistryError(f"no plugin named {name} exists")
        del self._factories[name]

    def merge(self, others: Mapping[str, PluginFactory]) -> None:
        """Registers all of them, or none. Raises RegistryError with every name that there is already."""
        clashes = [f"a plugin named {name} already exists" for name in others if name in self._factories]
        if clashes:
            raise RegistryError(clashes)
        self._factories.update(others)


class PluginOption(msgspec.Struct, frozen=True):
    """A custom plugin, to be registered when a scheduler is made."""

    name: str
    factory: PluginFactory

    def apply(self, registry: PluginRegistry) -> None:
        """Raises RegistryError when there is a plugin of that name."""
        registry.register(self.name, self.factory)


def with_plugin(name: str, factory: PluginFactory) -> PluginOption:
    """Brings a plugin along: a factory of (args, handle), or a class made with these two."""
    return PluginOption(name, factory)


def registry_with(in_tree: Mapping[str, PluginFactory], options: Iterable[PluginOption]) -> PluginRegistry:
    """The scheduler's plugins and custom ones. Raises RegistryError with every name that is taken."""
    registry = PluginRegistry(in_tree)
    problems: list[str] = []
    for option in options:
        try:
            option.apply(registry)
        except RegistryError as error:
            problems += error.problems
    if problems:
        raise RegistryError(problems)
    return registry
