from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config import format_1_20, format_1_36
from kubescheduler.config.load_config import component_config_from, default_config
from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig
from kubescheduler.framework.contract.profile import Enabled, PluginSet, Point, Profile
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.plugin_record import enabled_everywhere
from kubescheduler.releases import v1_36
from kubescheduler.releases.lookup import release_named
from tests.support.configuring.component_build import (
    args_of,
    comparable,
    document,
    entry,
    error,
    format_of,
    names,
    plugin_set,
    plugins,
    problems,
    read,
    weights,
)

ABC = (Enabled("A", 1), Enabled("B", 2), Enabled("C"))


def profile(release: str, **sets: PluginSet) -> Profile:
    return read(release, profiles=[{"plugins": plugins(**sets)}]).profiles[0]


# --- 1.20 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("custom", "merged"),
    [
        pytest.param(plugin_set(), ABC, id="nothing"),
        pytest.param(plugin_set(disabled=("B",)), (ABC[0], ABC[2]), id="disabled"),
        pytest.param(plugin_set(disabled=("X",)), ABC, id="unknown"),
        pytest.param(plugin_set(disabled=("*",)), (), id="all"),
        pytest.param(plugin_set("X", disabled=("A", "*")), (Enabled("X"),), id="all-but-own"),
        pytest.param(plugin_set("X", "Y"), (*ABC, Enabled("X"), Enabled("Y")), id="behind"),
        pytest.param(plugin_set(("B", 5), disabled=("B",)), (ABC[0], ABC[2], Enabled("B", 5)), id="again"),
        pytest.param(plugin_set(("B", 5)), (*ABC, Enabled("B", 5)), id="twice"),
        pytest.param(plugin_set("X", disabled=("X",)), (*ABC, Enabled("X")), id="own-disabled"),
    ],
)
def test_merging_1_20(custom: PluginSet, merged: tuple[Enabled, ...]) -> None:
    """1.20 takes the disabled ones out of the defaults and puts the enabled ones behind."""
    assert format_1_20.merged(ABC, custom) == merged


def test_unknown_provider() -> None:
    """An unknown provider has the release's text."""
    text = 'couldn\'t create scheduler using provider "Autoscaler": algorithm provider "Autoscaler" is not registered'
    with pytest.raises(ConfigError) as caught:
        component_config_from(document("1.20"), format_of("1.20"), provider="Autoscaler", all_problems=False)
    assert caught.value.problems == (text,)
    with pytest.raises(ConfigError) as caught:
        component_config_from(
            document("1.20", parallelism=-1), format_of("1.20"), provider="DefaultProvder", all_problems=True
        )
    assert caught.value.problems[0].endswith("; did you mean DefaultProvider?")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("release", ["1.20", "1.22"])
def test_listed_twice_in_v1beta1(release: str) -> None:
    """A default that is enabled without being disabled is told with a hint."""
    score = plugins(score=plugin_set(("NodeAffinity", 5)))
    with pytest.raises(ConfigError) as caught:
        component_config_from(
            document("1.20", profiles=[{"plugins": score}]),
            release_named(release).framework_rules.component,
            all_problems=True,
        )
    assert caught.value.problems == (
        "profiles[0].plugins.score: plugin NodeAffinity is listed 2 times, defaults included; "
        "disable it there before you enable it, or take one of them out",
    )


# --- 1.36: merging -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("custom", "enabled"),
    [
        pytest.param(plugin_set(), ABC, id="nothing"),
        pytest.param(plugin_set(disabled=("B",)), (ABC[0], ABC[2]), id="disabled"),
        pytest.param(plugin_set(disabled=("*",)), (), id="all"),
        pytest.param(plugin_set(("B", 5)), (ABC[0], Enabled("B", 5), ABC[2]), id="replaced-in-place"),
        pytest.param(plugin_set("X", "A"), (Enabled("A"), *ABC[1:], Enabled("X")), id="weight-goes-too"),
        pytest.param(
            plugin_set(("B", 5), ("B", 6)), (ABC[0], Enabled("B", 6), ABC[2], Enabled("B", 5)), id="last-one-replaces"
        ),
        pytest.param(plugin_set(("B", 5), disabled=("B",)), (ABC[0], ABC[2], Enabled("B", 5)), id="disabled-first"),
        pytest.param(plugin_set("X", "A", disabled=("*",)), (Enabled("X"), Enabled("A")), id="all-but-own"),
        pytest.param(plugin_set("X", "X"), (*ABC, Enabled("X"), Enabled("X")), id="own-twice"),
    ],
)
def test_merging_1_36(custom: PluginSet, enabled: tuple[Enabled, ...]) -> None:
    """1.36 replaces defaults in place, and keeps what is disabled."""
    assert format_1_36.merged(ABC, custom) == PluginSet(enabled, custom.disabled)


# --- 1.36: multiPoint ----------------------------------------------------------------------

BOTH = frozenset({Point.FILTER, Point.SCORE})
POINTS = {"A": BOTH, "B": BOTH, "C": {Point.FILTER}, "X": BOTH, "Y": {Point.SCORE}}
EXPANSIONS: list[Any] = [
    pytest.param({"multiPoint": plugin_set("A", "B", "C")}, ["A", "B", "C"], ["A", "B"], id="by-what-they-do"),
    pytest.param({"multiPoint": plugin_set("A", "B", "C"), "filter": plugin_set(disabled=("*",))}, [], ["A", "B"],
                 id="all-off"),
    pytest.param({"multiPoint": plugin_set("A", "B", "C"), "filter": plugin_set("X", "A", disabled=("*",))},
                 ["X", "A"], ["A", "B"], id="own-alone"),
    pytest.param({"multiPoint": plugin_set("A", "B", "C"), "filter": plugin_set(disabled=("B",))}, ["A", "C"],
                 ["A", "B"], id="one-off"),
    pytest.param({"multiPoint": plugin_set("A", "B", "C"), "filter": plugin_set("X", "C", "A")}, ["C", "A", "B", "X"],
                 ["A", "B"], id="overriding-first"),
    pytest.param({"multiPoint": plugin_set("A", "B"), "filter": plugin_set("A", disabled=("A",))}, ["B", "A"],
                 ["A", "B"], id="disabled-and-enabled"),
    pytest.param({"multiPoint": plugin_set("A", "A")}, ["A", "A"], ["A", "A"], id="repeated"),
    pytest.param({"multiPoint": plugin_set("A", "Z")}, ["A"], ["A"], id="unknown"),
    pytest.param({"score": plugin_set("Y")}, [], ["Y"], id="no-multi-point"),
    pytest.param({"multiPoint": plugin_set("A"), "score": plugin_set("C")}, ["A"], ["A", "C"], id="not-of-the-point"),
]  # fmt: skip


@pytest.mark.parametrize(("sets", "filters", "scores"), EXPANSIONS)
def test_expansion(sets: dict[str, PluginSet], filters: list[str], scores: list[str]) -> None:
    """multiPoint fills every point its plugins take part in, around what the point itself says."""
    found = format_1_36.expanded(sets, POINTS, Point, format_1_36.overriding_first)
    assert [plugin.name for plugin in found.get(Point.FILTER, ())] == filters
    assert [plugin.name for plugin in found.get(Point.SCORE, ())] == scores


def test_weights_of_multi_point() -> None:
    """The weight is that of the score point's entry where there is one, else of multiPoint's."""
    sets = {"multiPoint": plugin_set(("A", 4), ("B", 5)), "score": plugin_set("B", ("X", 6))}
    found = format_1_36.expanded(sets, POINTS, Point, format_1_36.overriding_first)[Point.SCORE]
    assert [(plugin.name, plugin.weight) for plugin in found] == [("B", 0), ("A", 4), ("X", 6)]


# --- 1.36: default profile -----------------------------------------------------------------

DEFAULT_1_36 = {
    Point.PRE_ENQUEUE: "SchedulingGates DynamicResources DefaultPreemption",
    Point.QUEUE_SORT: "PrioritySort",
    Point.PRE_FILTER: "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding "
    "VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
    Point.FILTER: "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
    "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity "
    "DynamicResources NodeDeclaredFeatures",
    Point.POST_FILTER: "DynamicResources DefaultPreemption",
    Point.PRE_SCORE: "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "NodeResourcesBalancedAllocation",
    Point.SCORE: "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeResourcesBalancedAllocation ImageLocality",
    Point.RESERVE: "VolumeBinding DynamicResources",
    Point.PRE_BIND: "VolumeBinding DynamicResources",
    Point.BIND: "DefaultBinder",
    Point.PLACEMENT_SCORE: "NodeResourcesFit",
}


def test_default_profile_1_36() -> None:
    """Without any configuration every point has the release's plugins in its order."""
    found = default_config(format_of("1.36")).profiles[0]
    assert {point: " ".join(names(found, point)) for point in found.plugins} == DEFAULT_1_36
    assert found.multi_point == enabled_everywhere(v1_36.MULTI_POINT, v1_36.PLUGINS)
    assert [weight or 1 for weight in weights(found).values()] == [3, 2, 1, 1, 2, 2, 2, 1, 1]


def test_plugins_of_ones_own() -> None:
    """Where a custom plugin takes part is said by the caller."""
    own = {**v1_36.FRAMEWORK.points_by_plugin, "Mine": frozenset({Point.FILTER, Point.POST_BIND})}
    found = document("1.36", profiles=[{"plugins": plugins(multiPoint=plugin_set("Mine"))}])
    config = component_config_from(found, format_of("1.36"), all_problems=True, points=own)
    assert names(config.profiles[0], Point.POST_BIND) == ["Mine"]
    assert names(config.profiles[0], Point.FILTER)[-1] == "Mine"
    with pytest.raises(ConfigError, match="there is no plugin Mine; one of your own comes by --plugin"):
        component_config_from(found, format_of("1.36"), all_problems=True)


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        pytest.param({"multiPoint": plugin_set(disabled=("*",))},
                     ("profiles[0].plugins.queueSort: exactly one queue sort plugin is needed, found 0",
                     "profiles[0].plugins.bind: at least one bind plugin is needed; enable DefaultBinder"),
                     id="nothing-left"),
        pytest.param({"score": plugin_set("ImageLocality", "ImageLocality")},
                     ("profiles[0].plugins.score: plugin ImageLocality is listed 2 times, defaults included; "
                     "disable it there before you enable it, or take one of them out",), id="twice"),
        pytest.param({"multiPoint": plugin_set("SelectorSpread")},
                     ("profiles[0].plugins.multiPoint.enabled[0].name: there is no plugin SelectorSpread; "
                     "PodTopologySpread with defaultingType System spreads like it",), id="gone"),
    ],
)  # fmt: skip
def test_faults_of_construction(sets: dict[str, PluginSet], told: tuple[str, ...]) -> None:
    """What the release finds only when it builds the plugins is told with all problems."""
    assert problems("1.36", profiles=[{"plugins": plugins(**sets)}]) == told
    assert profile("1.36", **sets).scheduler_name == "default-scheduler"


def test_args_without_their_plugin() -> None:
    """Args of a plugin that does not run are noted."""
    config = read("1.36", profiles=[{"pluginConfig": [{"name": "NodeAfinity", "args": {}}]}])
    assert config.notes == (
        "profiles[0].pluginConfig[0]: NodeAfinity is not enabled; its args have no effect; did you mean NodeAffinity?",
    )


RELEASES = pytest.mark.parametrize("release", ["1.20", "1.36"])


def managing(prefix: str, *names: str, ignored: bool = True, **keys: Any) -> dict[str, Any]:
    resources = [{"name": name, "ignoredByScheduler": ignored} for name in names]
    return {"urlPrefix": prefix, "managedResources": resources, **keys}


@RELEASES
def test_members(release: str) -> None:
    """Every member of an extender is read."""
    given = {
        "urlPrefix": "https://x",
        "filterVerb": "f",
        "preemptVerb": "v",
        "prioritizeVerb": "p",
        "weight": 5,
        "bindVerb": "b",
        "enableHTTPS": True,
        "tlsConfig": {"insecure": True, "serverName": "s", "certFile": "c", "keyFile": "k", "caData": "YQ=="},
        "httpTimeout": "1m30s",
        "nodeCacheCapable": True,
        "managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}, {"name": "a.b/d"}],
        "ignorable": True,
    }
    expected = ExtenderConfig(
        url_prefix="https://x",
        filter_verb="f",
        prioritize_verb="p",
        preempt_verb="v",
        bind_verb="b",
        weight=5,
        enable_https=True,
        tls=TLSConfig(insecure=True, server_name="s", cert_file="c", key_file="k", ca_data=b"a"),
        http_timeout_ns=90 * 10**9,
        node_cache_capable=True,
        managed_resources=(ManagedResource("a.b/c", True), ManagedResource("a.b/d")),
        ignorable=True,
    )
    config = read(release, extenders=[given])
    assert config.extenders == (expected,)
    again = component_config_from(config.document, format_of(release), all_problems=True)
    assert comparable(again) == comparable(config)


@pytest.mark.parametrize("key", ["enableHttps", "URLPrefix", "httptimeout"])
def test_exact_keys(key: str) -> None:
    """Keys of extenders count in their exact case, unlike in policies."""
    assert "unknown field" in error("1.36", extenders=[{"urlPrefix": "x", key: None}])


@RELEASES
def test_ignorable_extenders_last(release: str) -> None:
    """Ignorable extenders are asked behind the others, in their order."""
    given = [{"urlPrefix": prefix, "ignorable": prefix.islower()} for prefix in ("a", "B", "c", "D")]
    assert [extender.url_prefix for extender in read(release, extenders=given).extenders] == ["B", "D", "a", "c"]


@RELEASES
def test_ignored_resources(release: str) -> None:
    """Resources that the scheduler is to ignore become args of NodeResourcesFit in every profile."""
    config = read(
        release,
        profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}],
        extenders=[managing("x", "a.b/c"), managing("y", "a.b/d", ignored=False), managing("z", "a.b/e", "a.b/f")],
    )
    expected = NodeResourcesFitArgs(ignored_resources=("a.b/c", "a.b/e", "a.b/f"))
    for profile in config.profiles:
        assert [args for name, args in profile.plugin_config if name == "NodeResourcesFit"] == [expected]


def test_args_of_ones_own_1_20() -> None:
    """1.20 then has two entries, which the framework refuses."""
    keys: dict[str, Any] = {
        "profiles": [{"pluginConfig": [entry("NodeResourcesFit", ignoredResources=["a.b/x"])]}],
        "extenders": [managing("x", "a.b/c")],
    }
    entries = [args for name, args in read("1.20", **keys).profiles[0].plugin_config if name == "NodeResourcesFit"]
    assert entries == [NodeResourcesFitArgs(("a.b/x",)), NodeResourcesFitArgs(("a.b/c",))]
    assert problems("1.20", **keys) == (
        "profiles[0].pluginConfig[0]: repeated config for plugin NodeResourcesFit; "
        "the resources that extenders have ignoredByScheduler are another one; take this one out",
    )


def test_args_of_ones_own_1_36() -> None:
    """1.36 replaces the list in the args there are."""
    fit = entry(
        "NodeResourcesFit",
        ignoredResources=["a.b/x"],
        ignoredResourceGroups=["d.e"],
        scoringStrategy={"type": "MostAllocated"},
    )
    config = read("1.36", profiles=[{"pluginConfig": [fit]}], extenders=[managing("x", "a.b/c")])
    args = args_of(config, "NodeResourcesFit")
    assert (args.ignored_resources, args.ignored_resource_groups) == (("a.b/c",), ("d.e",))
    assert args.scoring_strategy.type == "MostAllocated"


def test_no_args_to_replace_1_36() -> None:
    """Without NodeResourcesFit there are no args to put the list in."""
    keys: dict[str, Any] = {
        "profiles": [{"plugins": plugins(multiPoint=plugin_set(disabled=("NodeResourcesFit",)))}],
        "extenders": [managing("x", "a.b/c")],
    }
    text = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    assert error("1.36", **keys) == text
    assert problems("1.36", **keys) == (text,)
