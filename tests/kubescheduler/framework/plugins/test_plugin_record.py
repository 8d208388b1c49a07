from __future__ import annotations

import pytest

from kubescheduler.framework.contract.plugin import ColumnPlugin, points_of
from kubescheduler.framework.contract.profile import METHODS, Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin, enabled_everywhere, provider_plugins
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import FRAMEWORK_RELEASES
from kubescheduler.report.rule_pages import rule_text
from tests.support.releases_tried import FRAMEWORKS_TRIED
from tests.support.rich_worlds import GATED, IN_TREE, RELEASES, in_tree


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
    default = v1_20.PROVIDERS["DefaultProvider"]
    before = len(default[Point.SCORE])
    assert len(provider_plugins(default, v1_20.PLUGINS, selector_spread=True)[Point.SCORE]) == before + 1
    assert len(default[Point.SCORE]) == before


def test_defaults_exist() -> None:
    """Every release has every plugin that it enables by default, in any version."""
    for name in FRAMEWORK_RELEASES:
        rules = release_named(name).framework_rules
        lists = rules.component.providers.get("DefaultProvider", {}).values()
        named = {*rules.component.multi_point, *(plugin for names in lists for plugin in names)}
        assert named <= rules.points_by_plugin.keys()


TABLES = {release: release_named(release).framework_rules.points_by_plugin for release in RELEASES}
COLUMNS = {
    Point.PRE_FILTER: "check",
    Point.FILTER: "check",
    Point.PRE_SCORE: "scoring",
    Point.SCORE: "scoring",
    Point.POST_FILTER: "search",
}
"""Point → what plugins over columns have there instead of a method."""


@pytest.mark.parametrize("release", RELEASES)
def test_every_plugin_of_the_table_is_made(release: str) -> None:
    """Names and points are those by which profiles are completed."""
    made = in_tree(release)
    assert set(made) == set(IN_TREE[release]) == set(TABLES[release])
    assert {name: plugin.name for name, plugin in made.items()} == {name: name for name in made}
    assert {name: set(points_of(plugin)) for name, plugin in made.items()} == {
        name: set(points) for name, points in TABLES[release].items()
    }


@pytest.mark.parametrize("release", RELEASES)
def test_every_plugin_can_be_run_where_it_takes_part(release: str) -> None:
    """It has columns or a method for each of its points, but where groups would be placed as one, which nobody does."""
    for name, plugin in in_tree(release).items():
        for point in () if name in GATED else set(points_of(plugin)) - {Point.PLACEMENT_SCORE}:
            ways = [getattr(plugin, way, None) for way in (*METHODS[point], COLUMNS.get(point, "")) if way]
            assert any(way is not None for way in ways), (name, point)


@pytest.mark.parametrize("release", RELEASES)
def test_rules_bear_the_name_of_their_plugin(release: str) -> None:
    """Reasons and scores are told by plugin."""
    for name, plugin in in_tree(release).items():
        rules = [getattr(plugin, part, None) for part in ("check", "scoring")]
        assert {rule.name for rule in rules if rule is not None} <= {name}
        if isinstance(plugin, ColumnPlugin):
            assert (plugin.check is not None) == bool(plugin.points & {Point.PRE_FILTER, Point.FILTER})
            assert (plugin.scoring is not None) == bool(plugin.points & {Point.PRE_SCORE, Point.SCORE})


RECORDS = [
    pytest.param(release, plugin, id=f"{name}-{release}")
    for release in RELEASES
    for name, plugin in IN_TREE[release].items()
]


@pytest.mark.parametrize(("release", "plugin"), RECORDS)
def test_records_agree_with_themselves(release: str, plugin: InTreePlugin) -> None:
    """Reasons are given where the plugin takes part, weights are those of scores, and gates are the release's."""
    kinds = {point.kind.removesuffix("Plugin") for point in plugin.points}
    for reason in plugin.reasons:
        assert {*reason.point.split(", ")} <= kinds, reason
    assert plugin.default_weight == 0 or plugin.points & {Point.SCORE, Point.PLACEMENT_SCORE}
    assert not plugin.gate or release_named(release).gates.gates[plugin.gate].default is plugin.gate_default
    assert release != "1.20" or (plugin.events is None and not plugin.gate)
    assert rule_text(plugin.make).endswith(".")
    assert release not in FRAMEWORKS_TRIED or release in (plugin.make.__doc__ or "").partition("Upstream:")[2]


@pytest.mark.parametrize("release", RELEASES)
def test_plugins_that_refuse_pods_say_why(release: str) -> None:
    """A plugin without reasons has no Filter, or one that refuses nobody here."""
    silent = {name for name, plugin in IN_TREE[release].items() if not plugin.reasons and Point.FILTER in plugin.points}
    assert silent == set()
