"""CheckNodeCondition and the pressure checks."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Container, Node, NodeCondition
from predicates.taints import CONDITIONS
from predicates.types import PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, resources


def node_with(*conditions: str, **fields: Any) -> Node:
    """Conditions as ``Type=Status``."""
    return make_node("n", conditions=tuple(NodeCondition(*c.split("=")) for c in conditions), **fields)


def reasons(name: str, node: Node, **pod: Any) -> list[str]:
    cluster = Cluster([node])
    verdict = CONDITIONS[name](PredicateArgs()).check(cluster.info(make_pod(**pod)), cluster.snapshot)
    return [reason for reason, mask in verdict.items() if mask.all()]


PRESSURES = {
    "MemoryPressure": "node(s) had memory pressure",
    "DiskPressure": "node(s) had disk pressure",
    "PIDPressure": "node(s) had pid pressure",
}


@pytest.mark.parametrize(
    ("statuses", "fails"),
    [
        pytest.param([], False, id="absent"),
        pytest.param(["True"], True, id="true"),
        pytest.param(["False"], False, id="false"),
        pytest.param(["Unknown"], False, id="unknown"),
        pytest.param(["True", "False"], False, id="last-is-false"),
        pytest.param(["False", "True"], True, id="last-is-true"),
    ],
)
@pytest.mark.parametrize("kind", PRESSURES)
def test_pressure_is_a_last_status_of_true(kind: str, statuses: list[str], fails: bool) -> None:
    """Of several conditions of a type the last one counts."""
    node = node_with(*(f"{kind}={status}" for status in statuses), "Ready=True")
    assert reasons(f"CheckNode{kind}", node) == [PRESSURES[kind]] * fails


@pytest.mark.parametrize(
    ("containers", "init", "fails"),
    [
        pytest.param([{}], [], True, id="best-effort"),
        pytest.param([{"requests": resources(cpu=1)}], [], False, id="request"),
        pytest.param([{"limits": resources(memory=1)}], [], False, id="limit"),
        pytest.param([{"requests": resources(cpu=0)}], [], True, id="zero-request"),
        pytest.param([{"requests": resources(ephemeral_storage=1)}], [], True, id="other-resource"),
        pytest.param([{}], [{"requests": resources(cpu=1)}], False, id="init-container"),
    ],
)
def test_memory_pressure_concerns_best_effort_pods(
    containers: list[dict[str, Any]], init: list[dict[str, Any]], fails: bool
) -> None:
    """A pod with any cpu or memory request or limit, also of an init container, passes."""
    spec = {
        "containers": tuple(Container(**c) for c in containers),
        "init_containers": tuple(Container(**c) for c in init),
    }
    node = node_with("MemoryPressure=True")
    assert reasons("CheckNodeMemoryPressure", node, **spec) == ["node(s) had memory pressure"] * fails
    rule = CONDITIONS["CheckNodeMemoryPressure"](PredicateArgs())
    assert rule.applies(Cluster().info(make_pod(**spec))) is fails  # type: ignore[arg-type]


READY, NETWORK, CORDONED = (
    "node(s) were not ready",
    "node(s) had unavailable network",
    "node(s) were unschedulable",
)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(node_with(), [], id="no-conditions"),
        pytest.param(node_with("Ready=True", "NetworkUnavailable=False"), [], id="fine"),
        pytest.param(node_with("Ready=False"), [READY], id="not-ready"),
        pytest.param(node_with("Ready=Unknown"), [READY], id="ready-unknown"),
        pytest.param(node_with("Ready=True", "NetworkUnavailable=True"), [NETWORK], id="no-network"),
        pytest.param(node_with("NetworkUnavailable=Unknown"), [NETWORK], id="network-unknown"),
        pytest.param(node_with("Ready=True", "MemoryPressure=True"), [], id="pressure-is-not-asked"),
        pytest.param(node_with(unschedulable=True), [CORDONED], id="cordoned"),
        pytest.param(
            node_with("Ready=False", "NetworkUnavailable=True", unschedulable=True),
            [READY, NETWORK, CORDONED],
            id="all",
        ),
    ],
)
def test_node_condition_collects_every_reason(node: Node, expected: list[str]) -> None:
    """Ready, network, cordon, in this order."""
    assert reasons("CheckNodeCondition", node) == expected
