from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import PreferredSchedulingTerm
from kubescheduler.framework.args.field_errors import refuse
from kubescheduler.framework.plugins.default_preemption import DefaultPreemptionArgs
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.node_affinity import NodeAffinityArgs
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.plugin_record import args_errors
from kubescheduler.framework.plugins.resource_scores import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
    shape_error_1_20,
)
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.framework.plugins.volume_binding import VolumeBindingArgs
from tests.support.configuring.component_build import (
    BAD_FIELD,
    NO_REQUIREMENTS,
    NO_VALUES,
    ONLY_LISTS,
    PREFERRED,
    REQUIRED,
    TERM_LITERAL,
    constraint,
    format_of,
    preferred,
    required,
    spread,
)

ROWS_1_20: list[Any] = [
    *(
        pytest.param(
            "DefaultPreemption",
            DefaultPreemptionArgs(percentage, -1),
            "minCandidateNodesPercentage is not in the range [0, 100]",
            id=f"percentage-{percentage}",
        )
        for percentage in (-1, 101)
    ),
    pytest.param(
        "DefaultPreemption",
        DefaultPreemptionArgs(100, -1),
        "minCandidateNodesAbsolute is not in the range [0, inf)",
        id="absolute",
    ),
    pytest.param(
        "DefaultPreemption",
        DefaultPreemptionArgs(0, 0),
        "both minCandidateNodesPercentage and minCandidateNodesAbsolute cannot be zero",
        id="both-zero",
    ),
    *(
        pytest.param(
            "InterPodAffinity",
            InterPodAffinityArgs(weight),
            f"hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0-100]",
            id=f"hard-weight-{weight}",
        )
        for weight in (-1, 101)
    ),
    *(
        pytest.param(f"NodeResources{kind}Allocated", record((("cpu", weight),)), text, id=f"{kind}-{weight}")
        for kind, record in (
            ("Least", NodeResourcesLeastAllocatedArgs),
            ("Most", NodeResourcesMostAllocatedArgs),
        )
        for weight, text in (
            (0, "resource Weight of cpu should be a positive value, got 0"),
            (101, "resource Weight of cpu should be less than 100, got 101"),
            (100, None),
        )
    ),
    pytest.param(
        "RequestedToCapacityRatio",
        RequestedToCapacityRatioArgs(),
        "at least one point must be specified",
        id="no-shape",
    ),
    pytest.param(
        "RequestedToCapacityRatio",
        RequestedToCapacityRatioArgs(((0, 0),), (("a.b/c", 1), ("cpu", 0))),
        "resource cpu weight 0 must not be less than 1",
        id="ratio-weight",
    ),
    pytest.param("RequestedToCapacityRatio", RequestedToCapacityRatioArgs(((0, 0),)), None, id="ratio-fine"),
    pytest.param(
        "PodTopologySpread",
        spread(kind="X"),
        'defaultingType: Invalid value: "X": must be one of {"System", "List"}',
        id="defaulting-type",
    ),
    pytest.param(
        "PodTopologySpread",
        spread(constraint(0)),
        "defaultConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        id="skew",
    ),
    pytest.param(
        "PodTopologySpread",
        spread(constraint(0, "")),
        "[defaultConstraints[0].maxSkew: Invalid value: 0: must be greater than zero, "
        "defaultConstraints[0].topologyKey: Required value: can not be empty]",
        id="skew-and-key",
    ),
    pytest.param(
        "NodeAffinity",
        required(NO_VALUES),
        f"{REQUIRED}: Invalid value: v1.NodeSelector{{NodeSelectorTerms:[]v1.NodeSelectorTerm{{{TERM_LITERAL}}}}}: "
        f"{ONLY_LISTS}",
        id="required",
    ),
    pytest.param(
        "NodeAffinity",
        preferred(PreferredSchedulingTerm(0, NO_VALUES), PreferredSchedulingTerm(2, BAD_FIELD)),
        f"{PREFERRED}: Invalid value: []v1.PreferredSchedulingTerm{{"
        f"v1.PreferredSchedulingTerm{{Weight:0, Preference:{TERM_LITERAL}}}, "
        "v1.PreferredSchedulingTerm{Weight:2, Preference:v1.NodeSelectorTerm{MatchExpressions:"
        f"{NO_REQUIREMENTS}, MatchFields:[]v1.NodeSelectorRequirement{{v1.NodeSelectorRequirement{{"
        'Key:"metadata.name", Operator:"Exists", Values:[]string(nil)}}}}}: '
        '"Exists" is not a valid node field selector operator',
        id="preferred",
    ),
    pytest.param("NodeAffinity", NodeAffinityArgs(), None, id="affinity-none"),
    *(
        pytest.param(
            "VolumeBinding",
            VolumeBindingArgs(seconds),
            f"invalid BindTimeoutSeconds: {seconds}, must be positive integer",
            id=f"timeout-{seconds}",
        )
        for seconds in (0, -1)
    ),
    *(
        pytest.param(
            "NodeLabel",
            record,
            'detecting at least one label (e.g., "b") that exist in both '
            "the present([a b]) and absent([c b]) label list",
            id=name,
        )
        for name, record in (
            ("labels", NodeLabelArgs(("a", "b"), ("c", "b"))),
            ("label-preferences", NodeLabelArgs(("b",), (), ("a", "b"), ("c", "b"))),
        )
    ),
    pytest.param("NodeLabel", NodeLabelArgs(("a",), ("b",), ("b",), ("a",)), None, id="labels-fine"),
    pytest.param("ServiceAffinity", ServiceAffinityArgs(("a",), ("a",)), None, id="service"),
    pytest.param("Mine", {"a": 1}, None, id="own"),
    pytest.param("NodeLabel", None, None, id="no-args"),
]


@pytest.mark.parametrize(("name", "args", "text"), ROWS_1_20)
def test_1_20(name: str, args: Any, text: str | None) -> None:
    """1.20 refuses to build a plugin with such args."""
    if text is None:
        refuse(args_errors(format_of("1.20").plugins, name, args))
        return
    with pytest.raises(ConfigError) as caught:
        refuse(args_errors(format_of("1.20").plugins, name, args))
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        pytest.param([], "at least one point must be specified", id="none"),
        pytest.param(
            [(0, 0), (5, 1), (5, 2)],
            "utilization values must be sorted. Utilization[1]==5 >= Utilization[2]==5",
            id="unsorted",
        ),
        pytest.param([(-1, 0)], "utilization values must not be less than 0. Utilization[0]==-1", id="below"),
        pytest.param(
            [(0, 11), (101, 0)], "score values must not be greater than 10. Score[0]==11", id="first-point-first"
        ),
        pytest.param([(101, 0)], "utilization values must not be greater than 100. Utilization[0]==101", id="above"),
        pytest.param([(0, 0), (1, -1)], "score values must not be less than 0. Score[1]==-1", id="score"),
        pytest.param([(0, 0), (100, 10)], None, id="fine"),
    ],
)
def test_shapes_1_20(shape: list[tuple[int, int]], text: str | None) -> None:
    """The first fault of a curve."""
    assert shape_error_1_20(shape) == text
