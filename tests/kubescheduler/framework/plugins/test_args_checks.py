"""What is wrong with the args of plugins, in the words of each release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm, TopologySpreadConstraint
from kubescheduler.config.load_config import default_config
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.document_schema import refuse
from kubescheduler.framework.plugins.default_preemption import DefaultPreemptionArgs
from kubescheduler.framework.plugins.dynamic_resources import DynamicResourcesArgs
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs, inter_pod_affinity_1_21
from kubescheduler.framework.plugins.node_affinity import NodeAffinityArgs
from kubescheduler.framework.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from kubescheduler.framework.plugins.node_resources_fit import (
    NodeResourcesFitArgs,
    ScoringStrategy,
    node_resources_fit_1_22,
)
from kubescheduler.framework.plugins.nodes import NodeLabelArgs, node_label_1_21, node_label_1_22
from kubescheduler.framework.plugins.plugin_record import args_errors, args_types
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs, pod_topology_spread_1_21
from kubescheduler.framework.plugins.resource_scores import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
    node_resources_least_allocated_1_21,
    node_resources_most_allocated_1_21,
    requested_to_capacity_ratio_1_21,
    requested_to_capacity_ratio_1_22,
    shape_error_1_20,
)
from kubescheduler.framework.plugins.services import ServiceAffinityArgs, service_affinity_1_22
from kubescheduler.framework.plugins.volume_binding import VolumeBindingArgs, volume_binding_1_21
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import cache_of
from tests.support.configuring.component_build import (
    BAD_FIELD,
    NAME_RULE,
    NO_REQUIREMENTS,
    NO_VALUES,
    ONLY_LISTS,
    PREFERRED,
    REQUIRED,
    TERM_LITERAL,
    constraint,
    fit,
    format_of,
    preferred,
    required,
    spread,
)
from tests.support.custom.extender_asking import HANDLE

OF_BOTH: dict[str, Any] = {
    "system-with-constraints": (
        spread(constraint(), kind="System"),
        'defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
    ),
    "no-key": (spread(constraint(key="")), "defaultConstraints[0].topologyKey: Required value: can not be empty"),
    "no-action": (
        spread(constraint(action="")),
        "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
    ),
    "key": (spread(constraint(key="a b")), f'defaultConstraints[0].topologyKey: Invalid value: "a b": {NAME_RULE}'),
    "action": (
        spread(constraint(action="X")),
        (
            'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "X": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"'
        ),
    ),
    "selector": (
        spread(constraint(label_selector=LabelSelector())),
        (
            "defaultConstraints[0].labelSelector: Forbidden: "
            "constraint must not define a selector, as they deduced for each pod"
        ),
    ),
    "repeated": (
        spread(constraint(), constraint(action="ScheduleAnyway"), constraint(2)),
        'defaultConstraints[2]: Duplicate value: "{zone, DoNotSchedule}"',
    ),
    "fine": (spread(constraint(), constraint(key="host")), None),
    "resource": (NodeResourcesFitArgs(("a.b/c", "a b")), f'ignoredResources[1]: Invalid value: "a b": {NAME_RULE}'),
    "group": (
        NodeResourcesFitArgs((), ("a.b/c",)),
        "ignoredResourceGroups[0]: Invalid value: \"a.b/c\": resource group name can't contain '/'",
    ),
    "group-name": (NodeResourcesFitArgs((), ("a b",)), f'ignoredResourceGroups[0]: Invalid value: "a b": {NAME_RULE}'),
    "ignored-fine": (NodeResourcesFitArgs(("a.b/c",), ("a.b",)), None),
}


def plugin_of(args: Any) -> str:
    """The plugin whose args these are."""
    return type(args).__name__.removesuffix("Args")


def faults(release: str, args: Any) -> list[Any]:
    return args_errors(format_of(release).plugins, plugin_of(args), args)


def refused_by_1_20(args: Any) -> str | None:
    """What is said when the plugin is made."""
    try:
        v1_20.PLUGINS[plugin_of(args)].make(args, HANDLE)
    except ConfigError as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize(("args", "text"), OF_BOTH.values(), ids=OF_BOTH)
def test_of_both(args: Any, text: str | None) -> None:
    """Default constraints and names of ignored resources are checked alike."""
    for release in ("1.20", "1.36"):
        assert [str(error) for error in faults(release, args)] == ([] if text is None else [text])
    assert refused_by_1_20(args) == text


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_defaults_are_fine(release: str) -> None:
    """Default args have no fault, nor those of plugins of one's own, nor none."""
    for name, args in (
        *default_config(format_of(release)).profiles[0].plugin_config,
        ("Mine", {"a": 1}),
        ("NodeAffinity", None),
    ):
        assert args_errors(format_of(release).plugins, name, args) == [], name


ROWS_1_20: dict[str, Any] = {
    **{
        f"percentage-{percentage}": (
            DefaultPreemptionArgs(percentage, -1),
            "minCandidateNodesPercentage is not in the range [0, 100]",
        )
        for percentage in (-1, 101)
    },
    "absolute": (DefaultPreemptionArgs(100, -1), "minCandidateNodesAbsolute is not in the range [0, inf)"),
    "both-zero": (
        DefaultPreemptionArgs(0, 0),
        "both minCandidateNodesPercentage and minCandidateNodesAbsolute cannot be zero",
    ),
    **{
        f"hard-weight-{weight}": (
            InterPodAffinityArgs(weight),
            f"hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0-100]",
        )
        for weight in (-1, 101)
    },
    **{
        f"{kind}-{weight}": (record((("cpu", weight),)), text)
        for kind, record in (("Least", NodeResourcesLeastAllocatedArgs), ("Most", NodeResourcesMostAllocatedArgs))
        for weight, text in (
            (0, "resource Weight of cpu should be a positive value, got 0"),
            (101, "resource Weight of cpu should be less than 100, got 101"),
            (100, None),
        )
    },
    "no-shape": (RequestedToCapacityRatioArgs(), "at least one point must be specified"),
    "ratio-weight": (
        RequestedToCapacityRatioArgs(((0, 0),), (("a.b/c", 1), ("cpu", 0))),
        "resource cpu weight 0 must not be less than 1",
    ),
    "ratio-fine": (RequestedToCapacityRatioArgs(((0, 0),)), None),
    "defaulting-type": (spread(kind="X"), 'defaultingType: Invalid value: "X": must be one of {"System", "List"}'),
    "skew": (spread(constraint(0)), "defaultConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"),
    "skew-and-key": (
        spread(constraint(0, "")),
        "[defaultConstraints[0].maxSkew: Invalid value: 0: must be greater than zero, "
        "defaultConstraints[0].topologyKey: Required value: can not be empty]",
    ),
    "required": (
        required(NO_VALUES),
        f"{REQUIRED}: Invalid value: v1.NodeSelector{{NodeSelectorTerms:[]v1.NodeSelectorTerm{{{TERM_LITERAL}}}}}: "
        f"{ONLY_LISTS}",
    ),
    "preferred": (
        preferred(PreferredSchedulingTerm(0, NO_VALUES), PreferredSchedulingTerm(2, BAD_FIELD)),
        f"{PREFERRED}: Invalid value: []v1.PreferredSchedulingTerm{{"
        f"v1.PreferredSchedulingTerm{{Weight:0, Preference:{TERM_LITERAL}}}, "
        "v1.PreferredSchedulingTerm{Weight:2, Preference:v1.NodeSelectorTerm{MatchExpressions:"
        f"{NO_REQUIREMENTS}, MatchFields:[]v1.NodeSelectorRequirement{{v1.NodeSelectorRequirement{{"
        'Key:"metadata.name", Operator:"Exists", Values:[]string(nil)}}}}}: '
        '"Exists" is not a valid node field selector operator',
    ),
    "affinity-none": (NodeAffinityArgs(), None),
    **{
        f"timeout-{seconds}": (
            VolumeBindingArgs(seconds),
            f"invalid BindTimeoutSeconds: {seconds}, must be positive integer",
        )
        for seconds in (0, -1)
    },
    **{
        name: (
            record,
            'detecting at least one label (e.g., "b") that exist in both '
            "the present([a b]) and absent([c b]) label list",
        )
        for name, record in (
            ("labels", NodeLabelArgs(("a", "b"), ("c", "b"))),
            ("label-preferences", NodeLabelArgs(("b",), (), ("a", "b"), ("c", "b"))),
        )
    },
    "labels-fine": (NodeLabelArgs(("a",), ("b",), ("b",), ("a",)), None),
    "service": (ServiceAffinityArgs(("a",), ("a",)), None),
}


@pytest.mark.parametrize(("args", "text"), ROWS_1_20.values(), ids=ROWS_1_20)
def test_1_20(args: Any, text: str | None) -> None:
    """1.20 refuses to build a plugin with such args."""
    errors = faults("1.20", args)
    if text is None:
        assert errors == []
        return
    if not isinstance(args, DefaultPreemptionArgs):  # Only the configuration is checked.
        assert refused_by_1_20(args) == text
    with pytest.raises(ConfigError) as caught:
        refuse(errors)
    assert str(caught.value) == text


SHAPES: dict[str, Any] = {
    "none": ([], "at least one point must be specified"),
    "unsorted": ([(0, 0), (5, 1), (5, 2)], "utilization values must be sorted. Utilization[1]==5 >= Utilization[2]==5"),
    "below": ([(-1, 0)], "utilization values must not be less than 0. Utilization[0]==-1"),
    "first-point-first": ([(0, 11), (101, 0)], "score values must not be greater than 10. Score[0]==11"),
    "above": ([(101, 0)], "utilization values must not be greater than 100. Utilization[0]==101"),
    "score": ([(0, 0), (1, -1)], "score values must not be less than 0. Score[1]==-1"),
    "fine": ([(0, 0), (100, 10)], None),
}


@pytest.mark.parametrize(("shape", "text"), SHAPES.values(), ids=SHAPES)
def test_shapes_1_20(shape: list[tuple[int, int]], text: str | None) -> None:
    """The first fault of a curve."""
    assert shape_error_1_20(shape) == text


@pytest.mark.parametrize(
    ("make", "args", "text"),
    [
        pytest.param(
            inter_pod_affinity_1_21,
            InterPodAffinityArgs(101),
            "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            id="hard-weight",
        ),
        pytest.param(
            node_label_1_21,
            NodeLabelArgs(("a", "b"), ("b", "a")),
            '[presentLabels[0]: Invalid value: "a": conflict with absentLabels[1], '
            'presentLabels[1]: Invalid value: "b": conflict with absentLabels[0]]',
            id="labels",
        ),
        pytest.param(
            node_resources_least_allocated_1_21,
            NodeResourcesLeastAllocatedArgs((("cpu", 101),)),
            "resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
            id="least",
        ),
        pytest.param(
            node_resources_most_allocated_1_21,
            NodeResourcesMostAllocatedArgs((("cpu", -1),)),
            "resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range (0, 100]",
            id="most",
        ),
        pytest.param(
            requested_to_capacity_ratio_1_21,
            RequestedToCapacityRatioArgs(((10, 1), (5, 11)), (("cpu", -1),)),
            "[shape[1].utilization: Invalid value: 5: utilization values must be sorted in increasing order, "
            "shape[1].score: Invalid value: 11: not in valid range [0, 10], "
            "resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range [1, inf)]",
            id="ratio",
        ),
        pytest.param(
            requested_to_capacity_ratio_1_21,
            RequestedToCapacityRatioArgs(),
            "shape: Required value: at least one point must be specified",
            id="no-shape",
        ),
        pytest.param(
            pod_topology_spread_1_21,
            PodTopologySpreadArgs((TopologySpreadConstraint(0, "zone", "ScheduleAnyway"),), "Some"),
            '[defaultingType: Unsupported value: "Some": supported values: "System", "List", '
            "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)]",
            id="spread",
        ),
        pytest.param(
            volume_binding_1_21,
            VolumeBindingArgs(-1),
            "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            id="timeout",
        ),
        pytest.param(node_label_1_22, None, "want args to be of type NodeLabelArgs, got <nil>", id="label"),
        pytest.param(
            service_affinity_1_22, None, "want args to be of type ServiceAffinityArgs, got <nil>", id="service"
        ),
        pytest.param(
            requested_to_capacity_ratio_1_22,
            None,
            "want args to be of type RequestedToCapacityRatioArgs, got <nil>",
            id="ratio",
        ),
        pytest.param(
            node_resources_fit_1_22,
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("Best")),
            "scoring strategy Best is not supported",
            id="strategy",
        ),
        pytest.param(
            node_resources_fit_1_22,
            NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(resources=(("cpu", 101),))),
            "resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
            id="weight",
        ),
    ],
)
def test_all_faults_are_told_with_their_fields(make: Callable[..., Any], args: Any, text: str) -> None:
    """At once, when 1.21 and 1.22 make the plugin."""
    with pytest.raises(ConfigError) as refusal:
        make(args, HANDLE)
    assert str(refusal.value) == text


SHAPE = "scoringStrategy.requestedToCapacityRatio.shape"
RATIO = "RequestedToCapacityRatio"
BOTH_ZERO = "cannot be zero at the same time as"
ROWS_1_36: dict[str, Any] = {
    **{
        f"percentage-{percentage}": (
            DefaultPreemptionArgs(percentage, -1),
            [
                f"minCandidateNodesPercentage: Invalid value: {percentage}: not in valid range [0, 100]",
                "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
        )
        for percentage in (-1, 101)
    },
    "both-zero": (
        DefaultPreemptionArgs(0, 0),
        [
            f"minCandidateNodesPercentage: Invalid value: 0: {BOTH_ZERO} minCandidateNodesAbsolute",
            f"minCandidateNodesAbsolute: Invalid value: 0: {BOTH_ZERO} minCandidateNodesPercentage",
        ],
    ),
    **{
        f"hard-weight-{weight}": (
            InterPodAffinityArgs(weight),
            [f"hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0, 100]"],
        )
        for weight in (-1, 101)
    },
    "balanced": (
        NodeResourcesBalancedAllocationArgs((("cpu", 1), ("memory", 2), ("cpu", 1))),
        ["resources[1].weight: Invalid value: 2: must be 1", 'resources[2].name: Duplicate value: "cpu"'],
    ),
    "defaulting-type": (
        spread(kind="X"),
        ['defaultingType: Unsupported value: "X": supported values: "System", "List"'],
    ),
    "skew": (spread(constraint(0)), ["defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"]),
    "required": (
        required(NodeSelectorTerm(), NO_VALUES),
        [f"{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0].values: Invalid value: null: {ONLY_LISTS}"],
    ),
    "preferred": (
        preferred(PreferredSchedulingTerm(0, NO_VALUES), PreferredSchedulingTerm(2, BAD_FIELD)),
        [f'{PREFERRED}[1].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"'],
    ),
    "affinity-none": (NodeAffinityArgs(), []),
    "timeout-zero": (VolumeBindingArgs(0), []),
    "binding": (
        VolumeBindingArgs(-1, ((0, 1),)),
        [
            "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            'shape: Invalid value: [{"Utilization":0,"Score":1}]: '
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ],
    ),
    "binding-default-shape": (VolumeBindingArgs(1, scores_capacity=True), []),
    "binding-empty-shape": (
        VolumeBindingArgs(1, (), scores_capacity=True),
        ["shape: Required value: at least one point must be specified"],
    ),
    "binding-empty-shape-off": (
        VolumeBindingArgs(1, ()),
        [
            "shape: Invalid value: []: unexpected field `shape`, "
            "remove it or turn on the feature gate StorageCapacityScoring"
        ],
    ),
    "binding-shape": (
        VolumeBindingArgs(1, ((50, 11), (40, 0)), scores_capacity=True),
        [
            "shape[1].utilization: Invalid value: 40: values must be sorted in increasing order",
            "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
        ],
    ),
    "dynamic": (
        DynamicResourcesArgs(-1, 999_000_000),
        [
            'filterTimeout: Invalid value: "-1ns": must be zero or positive',
            'bindingTimeout: Invalid value: "999ms": must be at least 1 second',
        ],
    ),
    "dynamic-least": (DynamicResourcesArgs(0, 10**9), []),
    "no-strategy": (
        NodeResourcesFitArgs(scoring_strategy=None),
        ["scoringStrategy: Required value: ScoringStrategy field is required"],
    ),
    "strategy": (
        fit("Least"),
        [
            'scoringStrategy.type: Unsupported value: "Least": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
        ],
    ),
    "weights": (
        fit("MostAllocated", ("cpu", 100), ("memory", 101), ("a.b/c", -1)),
        [
            "scoringStrategy.resources[1].weight: Invalid value: 101: "
            "resource weight of memory not in valid range (0, 100]",
            "scoringStrategy.resources[2].weight: Invalid value: -1: "
            "resource weight of a.b/c not in valid range (0, 100]",
        ],
    ),
    "no-ratio": (
        fit(RATIO),
        [f"scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is {RATIO}"],
    ),
    "ratio-of-another": (
        fit(shape=((0, 0),)),
        [f"scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not {RATIO}"],
    ),
    "no-points": (fit(RATIO, shape=()), [f"{SHAPE}: Required value: at least one point must be specified"]),
    "points": (
        fit(RATIO, shape=((5, 11), (5, 0), (4, 0), (101, -1))),
        [
            f"{SHAPE}[1].utilization: Invalid value: 5: values must be sorted in increasing order",
            f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10]",
            f"{SHAPE}[3].utilization: Invalid value: 101: not in valid range [0, 100]",
            f"{SHAPE}[3].score: Invalid value: -1: not in valid range [0, 10]",
        ],
    ),
    "ratio-fine": (fit(RATIO, shape=((0, 0), (100, 10))), []),
}


@pytest.mark.parametrize(("args", "expected"), ROWS_1_36.values(), ids=ROWS_1_36)
def test_1_36(args: Any, expected: list[str]) -> None:
    """1.36 tells every fault with its path."""
    assert [str(error) for error in faults("1.36", args)] == expected


def test_ratios_up_to_1_35() -> None:
    """A ratio may stand beside any type, and is not in the path of its shape."""
    assert faults("1.35", fit(shape=((0, 0),))) == []
    (found,) = faults("1.25", fit(RATIO, shape=()))
    assert str(found) == "scoringStrategy.shape: Required value: at least one point must be specified"


def test_timeouts_need_their_gates() -> None:
    """One that is given with its feature gate off is refused when the plugin is made; none is there by default."""
    gates = {"DRASchedulerFilterTimeout": False, "DRADeviceBindingConditions": False}
    handle = Handle(Services("1.36", cache_of(), feature_gates=gates), "default-scheduler")
    make = v1_36.PLUGINS["DynamicResources"].make
    make(None, handle)
    with pytest.raises(ConfigError) as caught:
        make(DynamicResourcesArgs(0, 10**9), handle)
    assert str(caught.value) == (
        "[filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled, bindingTimeout: Forbidden: "
        "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled]"
    )


def test_when_1_36_builds_plugins() -> None:
    """1.36 refuses to build NodeResourcesFit with such args; those of others it has checked before."""
    handle = Handle(Services("1.36", cache_of()), "default-scheduler")
    with pytest.raises(ConfigError) as caught:
        v1_36.PLUGINS["NodeResourcesFit"].make(fit("Least", ("cpu", 0)), handle)
    assert str(caught.value).startswith('[scoringStrategy.type: Unsupported value: "Least": ')
    v1_36.PLUGINS["NodeResourcesFit"].make(fit(), handle)
    v1_36.PLUGINS["VolumeBinding"].make(VolumeBindingArgs(-1), handle)
    assert [name for name, kind in args_types(format_of("1.36").plugins).items() if not kind.checked_with_config] == [
        "NodeResourcesFit"
    ]
