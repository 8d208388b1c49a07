from __future__ import annotations

import pytest

from kubescheduler.framework.contract.points import POINTS_1_20, POINTS_1_36, Point
from kubescheduler.framework.profiles.default_plugins import (
    DEFAULT_MULTIPOINT_1_36,
    DEFAULT_MULTIPOINT_V1BETA3,
    DEFAULTS_V1BETA2,
    POINTS_BY_PLUGIN_1_20,
    POINTS_BY_PLUGIN_1_36,
    PROVIDERS_1_20,
    default_multipoint_1_36,
    provider_plugins_1_20,
)


def test_number_of_plugins() -> None:
    """1.20 registers 28 plugins."""
    assert len(POINTS_BY_PLUGIN_1_20) == 28


@pytest.mark.parametrize(
    ("table", "points"),
    [(POINTS_BY_PLUGIN_1_20, POINTS_1_20), (POINTS_BY_PLUGIN_1_36, POINTS_1_36)],
    ids=["1.20", "1.36"],
)
def test_points_of_the_release(table: dict[str, frozenset[Point]], points: tuple[Point, ...]) -> None:
    """Every plugin takes part somewhere, at points of its release."""
    for there in table.values():
        assert there
        assert there <= set(points)


@pytest.mark.parametrize("provider", PROVIDERS_1_20)
@pytest.mark.parametrize("selector_spread", [True, False])
def test_providers_enable_what_takes_part(provider: str, selector_spread: bool) -> None:
    """A provider lists plugins where they take part, each once."""
    for point, enabled in provider_plugins_1_20(provider, selector_spread=selector_spread).items():
        names = [plugin.name for plugin in enabled]
        assert len(set(names)) == len(names)
        assert all(point in POINTS_BY_PLUGIN_1_20[name] for name in names)


def test_autoscaler_provider() -> None:
    """It differs from the default in one plugin, at the same place and of the same weight."""
    default, autoscaler = (PROVIDERS_1_20[name] for name in ("DefaultProvider", "ClusterAutoscalerProvider"))
    assert {point for point in default if default[point] != autoscaler[point]} == {Point.SCORE}
    differing = [pair for pair in zip(default[Point.SCORE], autoscaler[Point.SCORE], strict=True) if len(set(pair)) > 1]
    assert [(before.name, after.name, before.weight == after.weight) for before, after in differing] == [
        ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", True)
    ]


def test_providers_are_not_changed() -> None:
    """Asking for SelectorSpread leaves the table alone."""
    before = len(PROVIDERS_1_20["DefaultProvider"][Point.SCORE])
    assert len(provider_plugins_1_20("DefaultProvider", selector_spread=True)[Point.SCORE]) == before + 1
    assert len(PROVIDERS_1_20["DefaultProvider"][Point.SCORE]) == before


@pytest.mark.parametrize(
    "names",
    [
        [plugin.name for plugin in DEFAULT_MULTIPOINT_1_36],
        [plugin.name for plugin in DEFAULT_MULTIPOINT_V1BETA3],
        [plugin.name for plugins in DEFAULTS_V1BETA2.values() for plugin in plugins],
        [
            plugin.name
            for plugin in default_multipoint_1_36({"GangScheduling": True, "TopologyAwareWorkloadScheduling": True})
        ],
    ],
    ids=["v1", "v1beta3", "v1beta2", "gates"],
)
def test_defaults_exist(names: list[str]) -> None:
    """1.36 has every plugin that any version enables by default."""
    assert set(names) <= POINTS_BY_PLUGIN_1_36.keys()
