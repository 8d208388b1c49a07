from __future__ import annotations

import pytest

from kubescheduler.framework.contract.profile import Enabled, Point
from kubescheduler.framework.profiles.default_plugins import (
    DEFAULTS_V1BETA2,
    enabled_everywhere,
    provider_plugins,
)
from kubescheduler.releases import v1_20, v1_36


def provided(name: str, *, selector_spread: bool = False) -> dict[Point, tuple[Enabled, ...]]:
    return provider_plugins(v1_20.PROVIDERS[name], v1_20.PLUGINS, selector_spread=selector_spread)


def test_number_of_plugins() -> None:
    """1.20 registers 28 plugins."""
    assert len(v1_20.FRAMEWORK.points_by_plugin) == 28


@pytest.mark.parametrize(
    ("table", "points"),
    [(v1_20.FRAMEWORK.points_by_plugin, v1_20.POINTS), (v1_36.FRAMEWORK.points_by_plugin, v1_36.FORMAT.points)],
    ids=["1.20", "1.36"],
)
def test_points_of_the_release(table: dict[str, frozenset[Point]], points: tuple[Point, ...]) -> None:
    """Every plugin takes part somewhere, at points of its release."""
    for there in table.values():
        assert there
        assert there <= set(points)


@pytest.mark.parametrize("provider", v1_20.PROVIDERS)
@pytest.mark.parametrize("selector_spread", [True, False])
def test_providers_enable_what_takes_part(provider: str, selector_spread: bool) -> None:
    """A provider lists plugins where they take part, each once."""
    for point, enabled in provider_plugins(
        v1_20.PROVIDERS[provider], v1_20.PLUGINS, selector_spread=selector_spread
    ).items():
        names = [plugin.name for plugin in enabled]
        assert len(set(names)) == len(names)
        assert all(point in v1_20.FRAMEWORK.points_by_plugin[name] for name in names)


def test_autoscaler_provider() -> None:
    """It differs from the default in one plugin, at the same place and of the same weight."""
    default, autoscaler = (
        provider_plugins(v1_20.PROVIDERS[name], v1_20.PLUGINS)
        for name in ("DefaultProvider", "ClusterAutoscalerProvider")
    )
    assert {point for point in default if default[point] != autoscaler[point]} == {Point.SCORE}
    differing = [pair for pair in zip(default[Point.SCORE], autoscaler[Point.SCORE], strict=True) if len(set(pair)) > 1]
    assert [(before.name, after.name, before.weight == after.weight) for before, after in differing] == [
        ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", True)
    ]


def test_gates_of_plugins() -> None:
    """A plugin whose gate is off is left out of the list; it has its place there where the gate is on."""
    gates = {"GangScheduling": True, "TopologyAwareWorkloadScheduling": True}
    default = [plugin.name for plugin in enabled_everywhere(v1_36.MULTI_POINT, v1_36.PLUGINS)]
    gated = [plugin.name for plugin in enabled_everywhere(v1_36.MULTI_POINT, v1_36.PLUGINS, gates)]
    assert gated == [*v1_36.MULTI_POINT]
    assert {*gated} - {*default} == {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"}


def test_providers_are_not_changed() -> None:
    """Asking for SelectorSpread leaves the table alone."""
    before = len(v1_20.PROVIDERS["DefaultProvider"][Point.SCORE])
    assert len(provided("DefaultProvider", selector_spread=True)[Point.SCORE]) == before + 1
    assert len(v1_20.PROVIDERS["DefaultProvider"][Point.SCORE]) == before


@pytest.mark.parametrize(
    "names",
    [
        [*v1_36.MULTI_POINT],
        [plugin.name for plugins in DEFAULTS_V1BETA2.values() for plugin in plugins],
    ],
    ids=["v1", "v1beta2"],
)
def test_defaults_exist(names: list[str]) -> None:
    """1.36 has every plugin that any version enables by default."""
    assert set(names) <= v1_36.FRAMEWORK.points_by_plugin.keys()
