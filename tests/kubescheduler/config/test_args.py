from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import (
    FrozenMap,
    LabelSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    TopologySpreadConstraint,
)
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.plugins.default_preemption import DefaultPreemptionArgs
from kubescheduler.framework.plugins.dynamic_resources import DynamicResourcesArgs
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.node_affinity import AddedAffinity, NodeAffinityArgs
from kubescheduler.framework.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs, ScoringStrategy
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.plugins.resource_scores import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.framework.plugins.volume_binding import VolumeBindingArgs
from kubescheduler.releases.lookup import release_named
from tests.support.configuring.component_build import args_of, document, entry, format_of, read

TWO = (("cpu", 1), ("memory", 1))
ZONE = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
ZONE_CONSTRAINT = TopologySpreadConstraint(2, "zone", "DoNotSchedule")
SHAPE = {"shape": [{"utilization": 0, "score": 10}, {"utilization": 100}]}
POINTS = ((0, 10), (100, 0))
SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
SSD_TERM = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
CASES: list[Any] = [
    pytest.param("1.20", "DefaultPreemption", {}, DefaultPreemptionArgs(10, 100), id="preemption"),
    pytest.param("1.36", "DefaultPreemption", {"minCandidateNodesPercentage": 0}, DefaultPreemptionArgs(0, 100),
                 id="preemption-zero"),
    pytest.param("1.20", "InterPodAffinity", {}, InterPodAffinityArgs(1, False), id="interpod"),
    pytest.param("1.36", "InterPodAffinity", {"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": True},
                 InterPodAffinityArgs(0, True), id="interpod-zero"),
    pytest.param("1.20", "NodeResourcesFit", {}, NodeResourcesFitArgs(), id="fit-1.20"),
    pytest.param("1.20", "NodeResourcesFit", {"ignoredResources": ["a.b/c"], "ignoredResourceGroups": ["d.e"]},
                 NodeResourcesFitArgs(("a.b/c",), ("d.e",)), id="fit-ignored"),
    pytest.param("1.36", "NodeResourcesFit", {},
                 NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("LeastAllocated", TWO)), id="fit-1.36"),
    pytest.param("1.36", "NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": []}},
                 NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("MostAllocated", TWO)), id="fit-empty-list"),
    pytest.param("1.36", "NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio",
                 "resources": [{"name": "a.b/c"}, {"name": "cpu", "weight": 3}], "requestedToCapacityRatio": SHAPE}},
                 NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("RequestedToCapacityRatio",
                 (("a.b/c", 1), ("cpu", 3)), POINTS)), id="fit-ratio"),
    pytest.param("1.36", "NodeResourcesBalancedAllocation", {}, NodeResourcesBalancedAllocationArgs(TWO),
                 id="balanced"),
    pytest.param("1.36", "NodeResourcesBalancedAllocation", {"resources": [{"name": "a.b/c"}]},
                 NodeResourcesBalancedAllocationArgs((("a.b/c", 1),)), id="balanced-weight"),
    pytest.param("1.20", "NodeResourcesLeastAllocated", {}, NodeResourcesLeastAllocatedArgs(TWO), id="least"),
    pytest.param("1.20", "NodeResourcesMostAllocated", {"resources": [{"name": "cpu"},
                 {"name": "memory", "weight": 100}]}, NodeResourcesMostAllocatedArgs((("cpu", 0), ("memory", 100))),
                 id="most"),
    pytest.param("1.20", "RequestedToCapacityRatio", SHAPE, RequestedToCapacityRatioArgs(POINTS, TWO), id="ratio"),
    pytest.param("1.20", "PodTopologySpread", {}, PodTopologySpreadArgs((), "System"), id="spread-1.20"),
    pytest.param("1.20", "PodTopologySpread", {"defaultConstraints": [ZONE]},
                 PodTopologySpreadArgs((ZONE_CONSTRAINT,), "List"), id="spread-list"),
    pytest.param("1.36", "PodTopologySpread", {}, PodTopologySpreadArgs((), "System"), id="spread-1.36"),
    pytest.param("1.36", "PodTopologySpread", {"defaultConstraints": [{**ZONE, "minDomains": 2,
                 "matchLabelKeys": ["a"]}], "defaultingType": "List"},
                 PodTopologySpreadArgs((TopologySpreadConstraint(2, "zone", "DoNotSchedule", min_domains=2,
                 match_label_keys=("a",)),), "List"), id="spread-more"),
    pytest.param("1.20", "NodeAffinity", {}, NodeAffinityArgs(), id="affinity"),
    pytest.param(
        "1.36",
        "NodeAffinity",
        {
            "addedAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [SSD]}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 3, "preference": {"matchExpressions": [SSD]}}
                ],
            }
        },
        NodeAffinityArgs(AddedAffinity((SSD_TERM,), (PreferredSchedulingTerm(3, SSD_TERM),))),
        id="affinity-added",
    ),
    pytest.param("1.20", "NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
                 NodeAffinityArgs(AddedAffinity(())), id="affinity-no-terms"),
    pytest.param("1.20", "VolumeBinding", {}, VolumeBindingArgs(600), id="binding"),
    pytest.param("1.36", "VolumeBinding", {"bindTimeoutSeconds": 0}, VolumeBindingArgs(0), id="binding-zero"),
    pytest.param("1.20", "NodeLabel", {"presentLabels": ["a"], "absentLabelsPreference": ["b"]},
                 NodeLabelArgs(("a",), (), (), ("b",)), id="label"),
    pytest.param("1.20", "ServiceAffinity", {"affinityLabels": ["a"], "antiAffinityLabelsPreference": ["b"]},
                 ServiceAffinityArgs(("a",), ("b",)), id="service"),
    pytest.param("1.36", "DynamicResources", {}, DynamicResourcesArgs(10 * 10**9, 600 * 10**9), id="dynamic"),
    pytest.param("1.36", "DynamicResources", {"filterTimeout": "0s", "bindingTimeout": "1m30s"},
                 DynamicResourcesArgs(0, 90 * 10**9), id="dynamic-given"),
]  # fmt: skip


@pytest.mark.parametrize(("release", "name", "given", "args"), CASES)
def test_args(release: str, name: str, given: dict[str, Any], args: object) -> None:
    """Args are decoded into their record, what is not said filled in."""
    version = f"kubescheduler.config.k8s.io/{'v1' if release == '1.36' else 'v1beta1'}"
    for found in (given, {"apiVersion": version, "kind": f"{name}Args", **given}):
        assert args_of(read(release, profiles=[{"pluginConfig": [entry(name, **found)]}]), name) == args


POSITIVE = "resource Weight of cpu should be a positive value, got 0"
TO_100 = "resources[0].weight: Invalid value: 0: resource weight of cpu not in valid range (0, 100]"
NOT_LESS = "resource cpu weight 0 must not be less than 1"
FROM_1 = "resources[0].weight: Invalid value: 0: resource weight of cpu not in valid range [1, inf)"
WITHOUT_WEIGHT: dict[str, dict[str, str | None]] = {
    "NodeResourcesLeastAllocated": {"1.19": POSITIVE, "1.20": POSITIVE, "1.21": TO_100, "1.22": TO_100},
    "NodeResourcesMostAllocated": {"1.19": POSITIVE, "1.20": POSITIVE, "1.21": TO_100, "1.22": TO_100},
    "RequestedToCapacityRatio": {"1.18": None, "1.19": NOT_LESS, "1.20": NOT_LESS, "1.21": FROM_1, "1.22": None},
    "NodeResourcesBalancedAllocation": {"1.22": None, "1.36": None},
}
"""Plugin → release → what it says of a resource without a weight; None: it counts once."""


@pytest.mark.parametrize(
    ("name", "release", "fault"), [(name, *each) for name, of in WITHOUT_WEIGHT.items() for each in of.items()]
)
@pytest.mark.parametrize("given", [{}, {"weight": 0}], ids=["none", "zero"])
def test_resources_without_a_weight(name: str, release: str, fault: str | None, given: dict[str, int]) -> None:
    """Defaulting knows a weight for them in some releases only."""
    keys = {"resources": [{"name": "cpu", **given}], **(SHAPE if name == "RequestedToCapacityRatio" else {})}
    version = {"1.18": "v1alpha2", "1.36": "v1"}.get(release, "v1beta1")
    plugins: dict[str, Any] = (
        {} if name == "NodeResourcesBalancedAllocation" else {"score": {"enabled": [{"name": name}]}}
    )
    if name == "NodeResourcesLeastAllocated":
        plugins["score"]["disabled"] = [{"name": name}]
    asked = document(release, version, profiles=[{"plugins": plugins, "pluginConfig": [entry(name, **keys)]}])
    form = release_named(release).framework_rules.component
    if fault is None:
        assert args_of(component_config_from(asked, form, all_problems=True), name).resources == (("cpu", 1),)
        return
    with pytest.raises(ConfigError) as caught:
        component_config_from(asked, form, all_problems=True)
    assert [problem.split("args", 1)[1].strip(".: ") for problem in caught.value.problems] == [fault]


def test_selectors_in_constraints_are_read() -> None:
    """A selector is decoded, to be refused later in the release's words."""
    given = {**ZONE, "labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [SSD]}}
    keys = {"defaultConstraints": [given]}
    found = args_of(
        read("1.20", profiles=[{"pluginConfig": [entry("PodTopologySpread", **keys)]}]), "PodTopologySpread"
    )
    selector = LabelSelector(FrozenMap({"a": "b"}), (Requirement("disk", "In", ("ssd",)),))
    assert found.default_constraints[0].label_selector == selector


@pytest.mark.parametrize(
    ("given", "kind"), [({}, "List"), ({"defaultingType": "System"}, "System")], ids=["default", "given"]
)
def test_spreading_without_its_gate(given: dict[str, Any], kind: str) -> None:
    """1.20 with DefaultPodTopologySpread off has List for its default."""
    found = document("1.20", profiles=[{"pluginConfig": [entry("PodTopologySpread", **given)]}])
    config = component_config_from(
        found, format_of("1.20"), all_problems=False, feature_gates={"DefaultPodTopologySpread": False}
    )
    assert args_of(config, "PodTopologySpread").defaulting_type == kind


def test_user_entries_first() -> None:
    """Default args come behind the given ones, in the order of the plugins' names, for plugins that run."""
    config = read("1.36", profiles=[{"pluginConfig": [entry("VolumeBinding"), entry("Mine")]}])
    assert [name for name, _ in config.profiles[0].plugin_config] == [
        *("VolumeBinding", "Mine", "DefaultPreemption", "DynamicResources", "InterPodAffinity", "NodeAffinity"),
        *("NodeResourcesBalancedAllocation", "NodeResourcesFit", "PodTopologySpread"),
    ]
