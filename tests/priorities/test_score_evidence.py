"""Evidence of every priority: what it says comes to the very scores, over random clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms import PRIORITIES, PRIORITIES_1_4
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.capacity_ratio import capacity_ratio_factory
from priorities.node_labels import node_label_factory
from priorities.score_evidence import Calculation, RuleEvidence
from priorities.service_anti_affinity import service_anti_affinity_factory, service_anti_affinity_factory_1_4
from priorities.types import PriorityArgs, PriorityConfig, PriorityFactory
from tests.priorities.test_laws import some_rows
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.references.formulas import explained, is_heading
from tests.support.rich_worlds import ZONE, DrawnCluster, incoming, worlds

CURVE = ((0, 3), (40, 10), (75, 2))
FROM_ARGUMENTS: dict[str, PriorityFactory] = {
    "labelPreference": node_label_factory("labelled", "disk", True),
    "labelPreference-absent": node_label_factory("unlabelled", "disk", False),
    "requestedToCapacityRatioArguments": capacity_ratio_factory("ratio", CURVE, (("cpu", 2), ("memory", 3))),
}
FACTORIES: dict[str, dict[str, PriorityFactory]] = {
    "1.16": {
        **{name: factory.make for name, factory in PRIORITIES.items()},
        **FROM_ARGUMENTS,
        "serviceAntiAffinity": service_anti_affinity_factory("apart", ZONE),
    },
    "1.4": {
        **{name: factory.make for name, factory in PRIORITIES_1_4.items()},
        **FROM_ARGUMENTS,
        "serviceAntiAffinity": service_anti_affinity_factory_1_4("apart", ZONE),
    },
}
ARGS = PriorityArgs(hard_pod_affinity_symmetric_weight=2)
CONFIGS = {release: [make(ARGS) for make in factories.values()] for release, factories in FACTORIES.items()}


@pytest.mark.parametrize("release", CONFIGS)
@given(world=worlds(), pod=incoming, data=st.data())
def test_formulas_come_to_the_scores(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """Of every node that fits, whichever those are, before and after normalising."""
    cache = world.cache(release)
    info, rows = cache.info(pod), some_rows(data, cache.snapshot())
    for config in CONFIGS[release]:
        explained(config, release, info, cache.snapshot().take(rows))


@pytest.mark.parametrize("release", CONFIGS)
def test_every_priority_has_evidence(release: str) -> None:
    """A priority that is registered without evidence fails here."""
    for config in CONFIGS[release]:
        assert config.evidence is not None, f"{config.name} of {release} says nothing of its scores"
        assert config.evidence.upstream, config.name
        assert is_heading(config.evidence.page), config.name
        assert (config.evidence.normalise is None) == (config.reduce is None), config.name


# --- what it says --------------------------------------------------------------------------

HALF: list[Node] = [
    make_node("a", {"zone": "x", "disk": "ssd"}, allocatable=resources(cpu=4000, memory=8192)),
    make_node("b", {"zone": "y"}, allocatable=resources(cpu=1000, memory=4096)),
]
ASKING = make_pod(requests=resources(cpu=1500, memory=2048))


@pytest.mark.parametrize(
    ("name", "formulas"),
    [
        (
            "LeastRequestedPriority",
            ["((4000 - 1500) * 10 // 4000 + (8192 - 2048) * 10 // 8192) // 2", "(0 + (4096 - 2048) * 10 // 4096) // 2"],
        ),
        ("MostRequestedPriority", ["(1500 * 10 // 4000 + 2048 * 10 // 8192) // 2", "(0 + 2048 * 10 // 4096) // 2"]),
        ("BalancedResourceAllocation", ["trunc((1 - abs(1500 / 4000 - 2048 / 8192)) * 10)", "0"]),
        (
            "requestedToCapacityRatioArguments",
            [
                "round((curve(100 - (4000 - 1500) * 100 // 4000, (0, 3), (40, 10), (75, 2)) * 2 + "
                "curve(100 - (8192 - 2048) * 100 // 8192, (0, 3), (40, 10), (75, 2)) * 3) / (2 + 3))",
                "round((curve(100, (0, 3), (40, 10), (75, 2)) * 2 + "
                "curve(100 - (4096 - 2048) * 100 // 4096, (0, 3), (40, 10), (75, 2)) * 3) / (2 + 3))",
            ],
        ),
        ("labelPreference", ["10 * 1", "10 * 0"]),
        ("EqualPriority", ["1", "1"]),
    ],
)
def test_the_numbers_are_filled_in(name: str, formulas: list[str]) -> None:
    """The formula is the rule's, with this node's and this pod's numbers."""
    cluster = Cluster(HALF)
    found = explained(FACTORIES["1.16"][name](ARGS), "1.16", cluster.info(ASKING), cluster.snapshot)
    assert [one.formula for one in found] == formulas


def test_a_whole_record() -> None:
    """Who scored, by whose rule, where that is described, of what, and what it weighs."""
    cluster = Cluster(HALF)
    found = explained(FACTORIES["1.16"]["LeastRequestedPriority"](ARGS), "1.16", cluster.info(ASKING), cluster.snapshot)
    assert found[0].to_dict() == {
        "rule": "LeastRequestedPriority",
        "upstream": "1.16 LeastRequestedPriority",
        "page": "docs/reference/priorities.md#leastrequestedpriority",
        "inputs": {
            "cpu": {"requested": "1500m", "allocatable": "4000m"},
            "memory": {"requested": "2Ki", "allocatable": "8Ki"},
        },
        "formula": "((4000 - 1500) * 10 // 4000 + (8192 - 2048) * 10 // 8192) // 2",
        "raw": 6,
        "normalisation": None,
        "normalised": 6,
        "weight": 3,
        "product": 18,
    }
    assert found[0].sentence.startswith("LeastRequestedPriority: ((4000 - 1500)")
    assert found[0].sentence.endswith("// 2 = 6; times 3: 18")


def test_formulas_that_lie_are_found_out() -> None:
    """The laws above do look at the formula: a wrong number in it fails."""

    def ones(_: PodInfo, snapshot: Snapshot) -> Any:
        return np.ones(len(snapshot), np.int64)

    lying = PriorityConfig("x", ones, evidence=RuleEvidence("x", "", lambda _, __, ___: Calculation("1 + 1")))
    cluster = Cluster(HALF)
    with pytest.raises(AssertionError):
        explained(lying, "1.16", cluster.info(ASKING), cluster.snapshot)
