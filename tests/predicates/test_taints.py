"""What keeps pods off a node: taints, cordons, conditions."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Container, Node, NodeCondition, Taint, Toleration
from predicates.taints import (
    CONDITIONS,
    TAINTS,
    check_node_unschedulable,
    pod_tolerates_node_no_execute_taints,
    pod_tolerates_node_taints,
    toleration_text,
)
from predicates.types import PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, names_where, resources

NODES = [
    make_node("clean"),
    make_node("soft", taints=(Taint("gpu", "yes", "PreferNoSchedule"),)),
    make_node("odd", taints=(Taint("gpu", "yes", "Whatever"),)),
    make_node("gpu", taints=(Taint("gpu", "yes", "NoSchedule"),)),
    make_node("evict", taints=(Taint("gpu", "yes", "NoExecute"),)),
    make_node("empty", taints=(Taint("spot", "", "NoSchedule"),)),
    make_node("both", taints=(Taint("gpu", "yes", "NoSchedule"), Taint("spot", "", "NoSchedule"))),
]
HARD = ["gpu", "evict", "empty", "both"]

TOLERATIONS = {
    "none": ((), HARD),
    "equal": ((Toleration("gpu", "Equal", "yes"),), ["empty", "both"]),
    "no-operator": ((Toleration("gpu", "", "yes"),), ["empty", "both"]),
    "other-value": ((Toleration("gpu", "Equal", "no"),), HARD),
    "exists": ((Toleration("gpu", "Exists"),), ["empty", "both"]),
    "one-effect": ((Toleration("gpu", "Exists", effect="NoSchedule"),), ["evict", "empty", "both"]),
    "two": ((Toleration("gpu", "Exists"), Toleration("spot", "Exists")), []),
    "empty-key-exists": ((Toleration("", "Exists"),), []),
    "blank-tolerates-empty-values": ((Toleration(),), ["gpu", "evict", "both"]),
    "unknown-operator": ((Toleration("gpu", "Near", "yes"),), HARD),
}


@pytest.mark.parametrize(("tolerations", "failing"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_every_hard_taint_needs_a_toleration(tolerations: tuple[Toleration, ...], failing: list[str]) -> None:
    """NoSchedule and NoExecute count, PreferNoSchedule and unknown effects do not."""
    cluster = Cluster(NODES)
    verdict = pod_tolerates_node_taints(cluster.info(make_pod(tolerations=tolerations)), cluster.snapshot)
    assert list(verdict) == ["node(s) had taints that the pod didn't tolerate"]
    assert names_where(cluster.snapshot, *verdict.values()) == failing


def test_the_no_execute_variant_minds_no_execute_only() -> None:
    """Other effects do not keep the pod off."""
    cluster = Cluster(NODES)
    verdict = pod_tolerates_node_no_execute_taints(cluster.info(make_pod()), cluster.snapshot)
    assert names_where(cluster.snapshot, *verdict.values()) == ["evict"]


CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("toleration", "failing"),
    [
        pytest.param(None, ["cordoned"], id="none"),
        pytest.param(Toleration(CORDON, "Exists"), [], id="exists"),
        pytest.param(Toleration(CORDON, "", "", "NoSchedule"), [], id="equal"),
        pytest.param(Toleration(CORDON, "Exists", effect="NoExecute"), ["cordoned"], id="other-effect"),
        pytest.param(Toleration(CORDON, "Equal", "x"), ["cordoned"], id="other-value"),
        pytest.param(Toleration("", "Exists"), [], id="everything"),
    ],
)
def test_cordoned_nodes_need_a_toleration_of_their_taint(toleration: Toleration | None, failing: list[str]) -> None:
    """spec.unschedulable counts as that taint whether or not the node carries it."""
    cluster = Cluster([make_node("open"), make_node("cordoned", unschedulable=True)])
    pod = cluster.info(make_pod(tolerations=(toleration,) if toleration else ()))
    verdict = check_node_unschedulable(pod, cluster.snapshot)
    assert set(verdict) <= {"node(s) were unschedulable"}
    assert [name for mask in verdict.values() for name in names_where(cluster.snapshot, mask)] == failing
    assert TAINTS["CheckNodeUnschedulable"](PredicateArgs()).applies(pod) is bool(failing)


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


READY, NETWORK, CORDONED = ("node(s) were not ready", "node(s) had unavailable network", "node(s) were unschedulable")


NODE_CONDITION: dict[str, Any] = {
    "no-conditions": (node_with(), []),
    "fine": (node_with("Ready=True", "NetworkUnavailable=False"), []),
    "not-ready": (node_with("Ready=False"), [READY]),
    "ready-unknown": (node_with("Ready=Unknown"), [READY]),
    "no-network": (node_with("Ready=True", "NetworkUnavailable=True"), [NETWORK]),
    "network-unknown": (node_with("NetworkUnavailable=Unknown"), [NETWORK]),
    "pressure-is-not-asked": (node_with("Ready=True", "MemoryPressure=True"), []),
    "cordoned": (node_with(unschedulable=True), [CORDONED]),
    "all": (node_with("Ready=False", "NetworkUnavailable=True", unschedulable=True), [READY, NETWORK, CORDONED]),
}


@pytest.mark.parametrize(("node", "expected"), NODE_CONDITION.values(), ids=NODE_CONDITION)
def test_node_condition_collects_every_reason(node: Node, expected: list[str]) -> None:
    """Ready, network, cordon, in this order."""
    assert reasons("CheckNodeCondition", node) == expected


@pytest.mark.parametrize(
    ("toleration", "text"),
    [
        (Toleration("level", "Gt", "10", "NoSchedule"), "level Gt 10:NoSchedule"),
        (Toleration("level", "Equal", "10", "NoSchedule"), "level=10:NoSchedule"),
        (Toleration("level", "Exists"), "level"),
        (Toleration(operator="Exists", effect="NoSchedule"), "any key:NoSchedule"),
    ],
)
def test_tolerations_as_reasons_name_them(toleration: Toleration, text: str) -> None:
    """An operator that compares is named."""
    assert toleration_text(toleration) == text
