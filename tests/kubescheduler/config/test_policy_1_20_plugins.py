"""The plugins that policies and providers of release 1.20 become, and where it takes its algorithm from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.config.policy_1_20_plugins import (
    PREDICATES,
    PRIORITIES,
    AlgorithmSource,
    algorithm_source_1_20,
    refuse_policy_beside,
)
from kubescheduler.framework.contract.profile import Point, Profile
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.plugins.resource_scores import RequestedToCapacityRatioArgs
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.releases import v1_20
from kubescheduler.releases.lookup import RELEASES
from tests.support.configuring.policies_1_20 import policy_config, profile_for_provider

POLICY: dict[str, Any] = {"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}
SYSTEM, LIST = PodTopologySpreadArgs(), PodTopologySpreadArgs(defaulting_type="List")
NO_SPREAD = {"DefaultPodTopologySpread": False}


def profile(gates: dict[str, bool] | None = None, **policy: Any) -> Profile:
    return policy_config({**POLICY, **policy}, RELEASES["1.20"].gates.resolve(gates or {})).profiles[0]


def names(found: Profile, point: Point) -> list[str]:
    return [plugin.name for plugin in found.plugins.get(point, ())]


def scores(found: Profile) -> list[tuple[str, int]]:
    return [(plugin.name, plugin.weight) for plugin in found.plugins.get(Point.SCORE, ())]


def predicates(*entries: str | tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": e} if isinstance(e, str) else {"name": e[0], "argument": e[1]} for e in entries]


def priority(name: str, weight: int = 1, **argument: Any) -> dict[str, Any]:
    return {"name": name, "weight": weight, **({"argument": argument} if argument else {})}


# --- predicates ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicate", "filters", "pre_filters"),
    [
        (
            "GeneralPredicates",
            ["NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"],
            ["NodeResourcesFit", "NodePorts"],
        ),
        ("PodFitsResources", ["NodeResourcesFit"], ["NodeResourcesFit"]),
        ("HostName", ["NodeName"], []),
        ("PodFitsHostPorts", ["NodePorts"], ["NodePorts"]),
        ("PodFitsPorts", ["NodePorts"], ["NodePorts"]),
        ("MatchNodeSelector", ["NodeAffinity"], []),
        ("PodToleratesNodeTaints", [], []),
        ("CheckNodeUnschedulable", [], []),
        ("CheckVolumeBinding", ["VolumeBinding"], ["VolumeBinding"]),
        ("NoDiskConflict", ["VolumeRestrictions"], []),
        ("NoVolumeZoneConflict", ["VolumeZone"], []),
        ("MaxCSIVolumeCountPred", ["NodeVolumeLimits"], []),
        ("MaxEBSVolumeCount", ["EBSLimits"], []),
        ("MaxGCEPDVolumeCount", ["GCEPDLimits"], []),
        ("MaxAzureDiskVolumeCount", ["AzureDiskLimits"], []),
        ("MaxCinderVolumeCount", ["CinderLimits"], []),
        ("MatchInterPodAffinity", ["InterPodAffinity"], ["InterPodAffinity"]),
        ("EvenPodsSpread", ["PodTopologySpread"], ["PodTopologySpread"]),
        ("CheckNodeLabelPresence", ["NodeLabel"], []),
        ("CheckServiceAffinity", ["ServiceAffinity"], ["ServiceAffinity"]),
    ],
)
def test_predicates(predicate: str, filters: list[str], pre_filters: list[str]) -> None:
    """Each means its plugins, beside the two that are always there."""
    found = profile(predicates=predicates(predicate))
    always = ["NodeUnschedulable", "TaintToleration"]
    assert [name for name in names(found, Point.FILTER) if name not in always] == filters
    assert set(always) <= set(names(found, Point.FILTER))
    assert names(found, Point.PRE_FILTER) == pre_filters
    binding = ["VolumeBinding"] if predicate == "CheckVolumeBinding" else []
    assert names(found, Point.RESERVE) == names(found, Point.PRE_BIND) == binding
    assert found.plugin_config == ()


def test_order_of_predicates() -> None:
    """It is the release's, whatever the policy's; a plugin is listed once."""
    order = [
        *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
        *("TaintToleration", "NodeLabel", "ServiceAffinity", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits"),
        *("AzureDiskLimits", "CinderLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread"),
        "InterPodAffinity",
    ]
    found = profile(predicates=predicates(*reversed(PREDICATES)))
    assert names(found, Point.FILTER) == order
    assert names(found, Point.PRE_FILTER) == [
        *("NodeResourcesFit", "NodePorts", "ServiceAffinity", "VolumeBinding", "PodTopologySpread"),
        "InterPodAffinity",
    ]
    single = profile(predicates=predicates("PodFitsResources", "MatchNodeSelector", "PodFitsHostPorts", "HostName"))
    assert names(single, Point.FILTER) == [
        *("NodeUnschedulable", "NodeName", "NodePorts", "NodeAffinity", "NodeResourcesFit", "TaintToleration"),
    ]


def test_predicates_with_an_argument() -> None:
    """They add up to the args of one plugin; a name the release knows has its argument passed over."""
    found = profile(
        predicates=predicates(
            ("A", {"labelsPresence": {"labels": ["a", "b"], "presence": True}}),
            ("B", {"labelsPresence": {"labels": ["c"]}}),
            ("C", {"serviceAffinity": {"labels": ["x"]}}),
            ("D", {"labelsPresence": {"labels": ["d"], "presence": True}}),
            ("E", {"serviceAffinity": {"labels": ["y"]}}),
            ("CheckServiceAffinity", {"serviceAffinity": {"labels": ["z"]}}),
            ("HostName", {"labelsPresence": {"labels": ["e"], "presence": True}}),
        )
    )
    assert names(found, Point.FILTER) == [
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeLabel", "ServiceAffinity"),
    ]
    assert found.plugin_config == (
        ("NodeLabel", NodeLabelArgs(("a", "b", "d"), ("c",))),
        ("ServiceAffinity", ServiceAffinityArgs(("x", "y"))),
    )


# --- priorities ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "plugin", "prepared", "config"),
    [
        ("SelectorSpreadPriority", "PodTopologySpread", True, [("PodTopologySpread", SYSTEM)]),
        ("ServiceSpreadingPriority", "PodTopologySpread", True, [("PodTopologySpread", SYSTEM)]),
        ("EvenPodsSpreadPriority", "PodTopologySpread", True, [("PodTopologySpread", LIST)]),
        ("InterPodAffinityPriority", "InterPodAffinity", True, []),
        ("LeastRequestedPriority", "NodeResourcesLeastAllocated", False, []),
        ("MostRequestedPriority", "NodeResourcesMostAllocated", False, []),
        ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation", False, []),
        ("NodePreferAvoidPodsPriority", "NodePreferAvoidPods", False, []),
        ("NodeAffinityPriority", "NodeAffinity", False, []),
        ("TaintTolerationPriority", "TaintToleration", True, []),
        ("ImageLocalityPriority", "ImageLocality", False, []),
        ("RequestedToCapacityRatio", "RequestedToCapacityRatio", False, []),
    ],
)
def test_priorities(name: str, plugin: str, prepared: bool, config: list[Any]) -> None:
    """Each means a Score plugin, and some of them PreScore too."""
    found = profile(priorities=[priority(name, 7)])
    assert scores(found) == [(plugin, 7)]
    assert names(found, Point.PRE_SCORE) == ([plugin] if prepared else [])
    assert list(found.plugin_config) == config


def test_equal_priority_is_passed_over() -> None:
    """With whatever argument."""
    found = profile(priorities=[priority("EqualPriority", labelPreference={"label": "x"})])
    assert (scores(found), found.plugin_config) == ([], ())


def test_spreading_without_the_gate() -> None:
    """SelectorSpreadPriority is a plugin of its own then."""
    both = [priority("SelectorSpreadPriority", 3), priority("EvenPodsSpreadPriority", 5)]
    found = profile(NO_SPREAD, priorities=both)
    assert scores(found) == [("PodTopologySpread", 5), ("SelectorSpread", 3)]
    assert names(found, Point.PRE_SCORE) == ["PodTopologySpread", "SelectorSpread"]
    assert found.plugin_config == (("PodTopologySpread", LIST),)
    assert scores(profile(priorities=both)) == [("PodTopologySpread", 5)]


def test_priorities_with_an_argument() -> None:
    """They go by their plugins' names; weights are multiplied by the number of labels."""
    found = profile(
        predicates=predicates(("P", {"labelsPresence": {"labels": ["p"]}})),
        priorities=[
            priority("Z", 3, serviceAntiAffinity={"label": "x"}),
            priority("A", 3, serviceAntiAffinity={"label": "y"}),
            priority("B", 4, labelPreference={"label": "a", "presence": True}),
            priority("C", 4, labelPreference={"label": "b"}),
            priority("D", 4, labelPreference={"label": "c", "presence": True}),
            priority(
                "R",
                5,
                requestedToCapacityRatioArguments={
                    "shape": [{"utilization": 0, "score": 10}, {"utilization": 100}],
                    "resources": [{"name": "cpu"}, {"name": "memory", "weight": 2}],
                },
            ),
            priority("TaintTolerationPriority", 6),
        ],
    )
    assert scores(found) == [
        ("NodeLabel", 12),
        ("RequestedToCapacityRatio", 5),
        ("ServiceAffinity", 6),
        ("TaintToleration", 6),
    ]
    assert found.plugin_config == (
        ("NodeLabel", NodeLabelArgs((), ("p",), ("a", "c"), ("b",))),
        ("RequestedToCapacityRatio", RequestedToCapacityRatioArgs(((0, 10), (100, 0)), (("cpu", 0), ("memory", 2)))),
        ("ServiceAffinity", ServiceAffinityArgs((), ("x", "y"))),
    )


def test_ratio_without_resources() -> None:
    """There is no default: nothing is looked at."""
    ratio = {"shape": [{"utilization": 0, "score": 1}]}
    found = profile(priorities=[priority("R", requestedToCapacityRatioArguments=ratio)])
    assert found.plugin_config == (("RequestedToCapacityRatio", RequestedToCapacityRatioArgs(((0, 1),), ())),)


def test_weights() -> None:
    """The last entry of a name counts, also of an alias; weights are cut to 32 bits."""
    found = profile(
        priorities=[
            priority("SelectorSpreadPriority", 1),
            priority("ServiceSpreadingPriority", 2),
            priority("ImageLocalityPriority", 2**32 + 3),
            priority("NodeAffinityPriority", 2**31),
            priority("A", 2**30, labelPreference={"label": "a"}),
            priority("B", 2**30, labelPreference={"label": "b"}),
        ]
    )
    assert scores(found) == [
        ("ImageLocality", 3),
        ("NodeAffinity", -(2**31)),
        ("NodeLabel", -(2**31)),
        ("PodTopologySpread", 2),
    ]


def test_a_plugins_name_as_a_priority() -> None:
    """Its argument is passed over; the last weight counts for all."""
    found = profile(
        priorities=[
            priority("A", 2, labelPreference={"label": "a"}),
            priority("NodeLabel", 2, labelPreference={"label": "b"}),
            priority("NodeLabel", 5),
        ]
    )
    assert scores(found) == [("NodeLabel", 5)]
    assert found.plugin_config == (("NodeLabel", NodeLabelArgs(absent_labels_preference=("a",))),)


# --- other fields --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "listed", "config"),
    [(0, True, ()), (9, True, (("InterPodAffinity", InterPodAffinityArgs(9)),)), (9, False, ())],
    ids=["unset", "set", "without-the-priority"],
)
def test_hard_weight(weight: int, listed: bool, config: Any) -> None:
    """It goes with InterPodAffinityPriority."""
    entries = [priority("InterPodAffinityPriority")] if listed else []
    assert profile(hardPodAffinitySymmetricWeight=weight, priorities=entries).plugin_config == config


def test_all_predicates() -> None:
    """alwaysCheckAllPredicates runs all filters."""
    assert profile(alwaysCheckAllPredicates=True).run_all_filters


def test_extenders() -> None:
    """Ignorable ones are asked last; resources that the scheduler ignores are one more entry of args."""
    extenders = [
        {"urlPrefix": "a", "ignorable": True, "managedResources": [{"name": "x.io/a", "ignoredByScheduler": True}]},
        {"urlPrefix": "b", "managedResources": [{"name": "x.io/b"}]},
        {"urlPrefix": "c", "managedResources": [{"name": "x.io/c", "ignoredByScheduler": True}]},
    ]
    config = policy_config({**POLICY, "extenders": extenders}, RELEASES["1.20"].gates.resolve({}))
    assert [extender.url_prefix for extender in config.extenders] == ["b", "c", "a"]
    assert config.profiles[0].plugin_config == (
        ("NodeResourcesFit", NodeResourcesFitArgs(ignored_resources=("x.io/a", "x.io/c"))),
    )


# --- laws ----------------------------------------------------------------------------------


@given(
    st.none() | st.lists(st.sampled_from(list(PREDICATES))),
    st.none() | st.lists(st.sampled_from([n for n in PRIORITIES if n not in ("NodeLabel", "ServiceAffinity")])),
    st.booleans(),
)
def test_profiles_can_be_built(predicate: list[str] | None, listed: list[str] | None, gate: bool) -> None:
    """Every plugin is listed once a point, at points it takes part in; order and repetition say nothing."""

    def of(these: list[str] | None, those: list[str] | None) -> Profile:
        entries = None if those is None else [priority(name, 3) for name in those]
        chosen = None if these is None else predicates(*these)
        return profile({"DefaultPodTopologySpread": gate}, predicates=chosen, priorities=entries)

    found = of(predicate, listed)
    for point, plugins in found.plugins.items():
        assert len({plugin.name for plugin in plugins}) == len(plugins)
        assert all(point in v1_20.FRAMEWORK.points_by_plugin[plugin.name] for plugin in plugins)
    again = of(predicate and [*reversed(predicate), *predicate], listed and sorted(listed))
    assert again.plugins == found.plugins
    assert again.plugin_config == found.plugin_config


GATES = RELEASES["1.20"].gates.resolve({})


@pytest.mark.parametrize(
    ("flags", "source"),
    [
        ({}, AlgorithmSource(provider="DefaultProvider")),
        ({"provider": ""}, AlgorithmSource(provider="DefaultProvider")),
        ({"provider": "X"}, AlgorithmSource(provider="X")),
        ({"provider": "X", "policy_file": "f"}, AlgorithmSource(policy_file="f")),
        ({"policy_file": "f", "policy_configmap": "c"}, AlgorithmSource(policy_configmap="c")),
        (
            {"policy_file": "f", "policy_configmap": "c", "use_legacy_policy_config": True},
            AlgorithmSource(policy_file="f"),
        ),
    ],
    ids=["default", "empty", "provider", "file", "configmap", "legacy"],
)
def test_source(flags: dict[str, Any], source: AlgorithmSource) -> None:
    """The first that is given counts."""
    assert algorithm_source_1_20(**flags) == source


def test_legacy_flag_without_a_file() -> None:
    """It needs one."""
    with pytest.raises(ConfigError) as raised:
        algorithm_source_1_20(use_legacy_policy_config=True, policy_configmap="c")
    assert str(raised.value) == "policyConfigFile: Required value: required when --use-legacy-policy-config is true"


@pytest.mark.parametrize(
    ("configuration", "refused"),
    [
        ({}, False),
        ({"profiles": [{"schedulerName": "x", "pluginConfig": []}]}, False),
        ({"profiles": [{}, {}]}, True),
        ({"profiles": [{"plugins": {}}]}, True),
        ({"profiles": [{"pluginConfig": [{"name": "A"}]}]}, True),
    ],
    ids=["none", "name-alone", "two", "plugins", "args"],
)
def test_policy_beside_a_configuration(configuration: dict[str, Any], refused: bool) -> None:
    """A policy cannot be set with a profile that says something itself."""
    if not refused:
        refuse_policy_beside(configuration)
        return
    with pytest.raises(ConfigError, match=r"^cannot set a Plugin config and Policy config$"):
        refuse_policy_beside(configuration)


def test_provider_without_the_gate() -> None:
    """SelectorSpread is appended."""
    found = profile_for_provider("DefaultProvider", RELEASES["1.20"].gates.resolve({"DefaultPodTopologySpread": False}))
    assert found.plugins[Point.PRE_SCORE][-1].name == "SelectorSpread"
    assert (found.plugins[Point.SCORE][-1].name, found.plugins[Point.SCORE][-1].weight) == ("SelectorSpread", 1)


def test_provider_with_a_hard_weight() -> None:
    """The flag's weight becomes args."""
    found = profile_for_provider("DefaultProvider", GATES, hard_weight=7)
    assert found.plugin_config == (("InterPodAffinity", InterPodAffinityArgs(7)),)
    assert profile_for_provider("DefaultProvider", GATES).plugin_config == ()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DefaultProvide", "; did you mean DefaultProvider?"),
        ("x", "; there are DefaultProvider and ClusterAutoscalerProvider"),
    ],
)
def test_unknown_provider(name: str, hint: str) -> None:
    """The release's text, and for a person what to give instead."""
    text = f'couldn\'t create scheduler using provider "{name}": algorithm provider "{name}" is not registered'
    with pytest.raises(ConfigError) as raised:
        profile_for_provider(name, GATES)
    assert str(raised.value) == text + hint
