"""What 1.22 scores of resources, and what its plugins want to be given."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.framework.plugins.node_resources_fit import (
    NodeResourcesFitArgs,
    ScoringStrategy,
    node_resources_fit_1_22,
)
from kubescheduler.framework.plugins.nodes import node_label_1_22
from kubescheduler.framework.plugins.resource_scores import requested_to_capacity_ratio_1_22
from kubescheduler.framework.plugins.services import service_affinity_1_22

HANDLE: Any = SimpleNamespace(feature_gates={}, sleep=None)


@pytest.mark.parametrize(
    ("make", "args", "text"),
    [
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
def test_plugins_refuse_what_they_cannot_be_made_of(make: Callable[..., Any], args: Any, text: str) -> None:
    """With the release's texts."""
    with pytest.raises(ConfigError) as refusal:
        make(args, HANDLE)
    assert str(refusal.value) == text
