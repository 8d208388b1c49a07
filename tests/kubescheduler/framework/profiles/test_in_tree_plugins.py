"""The plugins that come with the releases."""

from __future__ import annotations

import pytest

from algorithmprovider.rule_catalogue import rule_text
from kubescheduler.framework.contract.plugin import ColumnPlugin, points_of
from kubescheduler.framework.contract.profile import METHODS, Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.releases.lookup import release_named
from tests.support.rich_worlds import GATED, IN_TREE, RELEASES, in_tree

TABLES = {"1.20": v1_20.FRAMEWORK.points_by_plugin, "1.36": v1_36.FRAMEWORK.points_by_plugin}
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
    """It has columns or a method for each of its points."""
    for name, plugin in in_tree(release).items():
        for point in () if name in GATED else points_of(plugin):
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
    assert release in (plugin.make.__doc__ or "").partition("Upstream:")[2]


@pytest.mark.parametrize("release", RELEASES)
def test_plugins_that_refuse_pods_say_why(release: str) -> None:
    """A plugin without reasons has no Filter, or one that refuses nobody here."""
    silent = {name for name, plugin in IN_TREE[release].items() if not plugin.reasons and Point.FILTER in plugin.points}
    assert silent == set()
