"""Registering custom plugins beside the scheduler's."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import RegistryError
from kubescheduler.framework.profiles.plugin_loading import PluginRegistry, registry_with, with_plugin
from tests.support.deciders import plugin


def make(args: Any, handle: Any) -> Any:
    return plugin("A")


def test_names_are_unique() -> None:
    """A name can be registered once, and again when it was taken out."""
    registry = PluginRegistry({"A": make})
    with pytest.raises(RegistryError, match=r"^a plugin named A already exists$"):
        registry.register("A", make)
    registry.unregister("A")
    with pytest.raises(RegistryError, match=r"^no plugin named A exists$"):
        registry.unregister("A")
    registry.register("A", make)
    assert dict(registry) == {"A": make}
    assert len(registry) == 1


def test_merging_is_all_or_nothing() -> None:
    """Every clash is told, and nothing is added then."""
    registry = PluginRegistry({"A": make, "B": make})
    with pytest.raises(RegistryError) as raised:
        registry.merge({"C": make, "A": make, "B": make})
    assert raised.value.problems == ("a plugin named A already exists", "a plugin named B already exists")
    assert "C" not in registry
    registry.merge({"C": make})
    assert list(registry) == ["A", "B", "C"]


def test_options() -> None:
    """Plugins are brought along without changing the scheduler's own map."""
    in_tree = {"A": make}
    registry = registry_with(in_tree, [with_plugin("B", make), with_plugin("C", make)])
    assert list(registry) == ["A", "B", "C"]
    assert list(in_tree) == ["A"]
    with pytest.raises(RegistryError) as raised:
        registry_with(in_tree, [with_plugin("A", make), with_plugin("D", make), with_plugin("D", make)])
    assert raised.value.problems == ("a plugin named A already exists", "a plugin named D already exists")
