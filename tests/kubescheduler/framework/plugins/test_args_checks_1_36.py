from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.plugins.default_preemption import DefaultPreemptionArgs
from kubescheduler.framework.plugins.dynamic_resources import DynamicResourcesArgs
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.node_affinity import NodeAffinityArgs
from kubescheduler.framework.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.plugin_record import args_errors, args_types
from kubescheduler.framework.plugins.volume_binding import VolumeBindingArgs
from kubescheduler.releases import v1_36
from tests.support.build import cache_of
from tests.support.configuring.component_build import (
    BAD_FIELD,
    NO_VALUES,
    ONLY_LISTS,
    PREFERRED,
    REQUIRED,
    constraint,
    fit,
    format_of,
    preferred,
    required,
    spread,
)

SHAPE = "scoringStrategy.shape"
RATIO = "RequestedToCapacityRatio"
BOTH_ZERO = "cannot be zero at the same time as"
ROWS_1_36: list[Any] = [
    *(
        pytest.param(
            "DefaultPreemption",
            DefaultPreemptionArgs(percentage, -1),
            [
                f"minCandidateNodesPercentage: Invalid value: {percentage}: not in valid range [0, 100]",
                "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
            id=f"percentage-{percentage}",
        )
        for percentage in (-1, 101)
    ),
    pytest.param(
        "DefaultPreemption",
        DefaultPreemptionArgs(0, 0),
        [
            f"minCandidateNodesPercentage: Invalid value: 0: {BOTH_ZERO} minCandidateNodesAbsolute",
            f"minCandidateNodesAbsolute: Invalid value: 0: {BOTH_ZERO} minCandidateNodesPercentage",
        ],
        id="both-zero",
    ),
    *(
        pytest.param(
            "InterPodAffinity",
            InterPodAffinityArgs(weight),
            [f"hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0, 100]"],
            id=f"hard-weight-{weight}",
        )
        for weight in (-1, 101)
    ),
    pytest.param(
        "NodeResourcesBalancedAllocation",
        NodeResourcesBalancedAllocationArgs((("cpu", 1), ("memory", 2), ("cpu", 1))),
        ["resources[1].weight: Invalid value: 2: must be 1", 'resources[2].name: Duplicate value: "cpu"'],
        id="balanced",
    ),
    pytest.param(
        "PodTopologySpread",
        spread(kind="X"),
        ['defaultingType: Unsupported value: "X": supported values: "System", "List"'],
        id="defaulting-type",
    ),
    pytest.param(
        "PodTopologySpread",
        spread(constraint(0)),
        ["defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"],
        id="skew",
    ),
    pytest.param(
        "NodeAffinity",
        required(NodeSelectorTerm(), NO_VALUES),
        [f"{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0].values: Invalid value: null: {ONLY_LISTS}"],
        id="required",
    ),
    pytest.param(
        "NodeAffinity",
        preferred(PreferredSchedulingTerm(0, NO_VALUES), PreferredSchedulingTerm(2, BAD_FIELD)),
        [f'{PREFERRED}[1].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"'],
        id="preferred",
    ),
    pytest.param("NodeAffinity", NodeAffinityArgs(), [], id="affinity-none"),
    pytest.param("VolumeBinding", VolumeBindingArgs(0), [], id="timeout-zero"),
    pytest.param(
        "VolumeBinding",
        VolumeBindingArgs(-1, ((0, 1),)),
        [
            "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            'shape: Invalid value: [{"Utilization":0,"Score":1}]: '
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        ],
        id="binding",
    ),
    pytest.param("VolumeBinding", VolumeBindingArgs(1, (), scores_capacity=True), [], id="binding-default-shape"),
    pytest.param(
        "VolumeBinding",
        VolumeBindingArgs(1, ((50, 11), (40, 0)), scores_capacity=True),
        [
            "shape[1].utilization: Invalid value: 40: values must be sorted in increasing order",
            "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
        ],
        id="binding-shape",
    ),
    pytest.param(
        "DynamicResources",
        DynamicResourcesArgs(-1, 999_000_000),
        [
            'filterTimeout: Invalid value: "-1ns": must be zero or positive',
            'bindingTimeout: Invalid value: "999ms": must be at least 1 second',
        ],
        id="dynamic",
    ),
    pytest.param("DynamicResources", DynamicResourcesArgs(0, 10**9), [], id="dynamic-least"),
    pytest.param(
        "NodeResourcesFit",
        NodeResourcesFitArgs(scoring_strategy=None),
        ["scoringStrategy: Required value: ScoringStrategy field is required"],
        id="no-strategy",
    ),
    pytest.param(
        "NodeResourcesFit",
        fit("Least"),
        [
            'scoringStrategy.type: Unsupported value: "Least": supported values: '
            '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
        ],
        id="strategy",
    ),
    pytest.param(
        "NodeResourcesFit",
        fit("MostAllocated", ("cpu", 100), ("memory", 101), ("a.b/c", -1)),
        [
            "scoringStrategy.resources[1].weight: Invalid value: 101: "
            "resource weight of memory not in valid range (0, 100]",
            "scoringStrategy.resources[2].weight: Invalid value: -1: "
            "resource weight of a.b/c not in valid range (0, 100]",
        ],
        id="weights",
    ),
    pytest.param(
        "NodeResourcesFit",
        fit(RATIO),
        [f"scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is {RATIO}"],
        id="no-ratio",
    ),
    pytest.param(
        "NodeResourcesFit",
        fit(shape=((0, 0),)),
        [f"scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not {RATIO}"],
        id="ratio-of-another",
    ),
    pytest.param(
        "NodeResourcesFit",
        fit(RATIO, shape=()),
        [f"{SHAPE}: Required value: at least one point must be specified"],
        id="no-points",
    ),
    pytest.param(
        "NodeResourcesFit",
        fit(RATIO, shape=((5, 11), (5, 0), (4, 0), (101, -1))),
        [
            f"{SHAPE}[1].utilization: Invalid value: 5: values must be sorted in increasing order",
            f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10]",
            f"{SHAPE}[3].utilization: Invalid value: 101: not in valid range [0, 100]",
            f"{SHAPE}[3].score: Invalid value: -1: not in valid range [0, 10]",
        ],
        id="points",
    ),
    pytest.param("NodeResourcesFit", fit(RATIO, shape=((0, 0), (100, 10))), [], id="ratio-fine"),
    pytest.param("Mine", {"a": 1}, [], id="own"),
    pytest.param("NodeAffinity", None, [], id="no-args"),
]


@pytest.mark.parametrize(("name", "args", "expected"), ROWS_1_36)
def test_1_36(name: str, args: Any, expected: list[str]) -> None:
    """1.36 tells every fault with its path."""
    assert [str(error) for error in args_errors(format_of("1.36").plugins, name, args)] == expected


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
