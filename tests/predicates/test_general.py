"""GeneralPredicates, and the map of all predicates."""

from __future__ import annotations

import pytest

from algorithmprovider.algorithms_1_16 import FIT_PREDICATES
from clusterstate.objects import Container, ContainerPort, FrozenMap
from predicates.resources import general_predicates
from predicates.types import PredicateArgs
from tests.support.build import Cluster, labels, make_node, make_pod, resources

PART_NAMES = ["PodFitsResources", "HostName", "PodFitsHostPorts", "MatchNodeSelector"]


def _everything_wrong() -> Cluster:
    used = make_pod("old", node="n", containers=(Container(ports=(ContainerPort(80),)),))
    return Cluster([make_node("n", allocatable=resources(cpu=1, memory=1))], [used])


def _demanding() -> Container:
    return Container(requests=resources(cpu=2, memory=2), ports=(ContainerPort(80),))


def test_all_four_report_in_order() -> None:
    """Nothing is short-circuited inside it."""
    cluster = _everything_wrong()
    pod = cluster.info(make_pod(containers=(_demanding(),), node_selector=labels({"disk": "ssd"})))
    pod.node_name = "elsewhere"
    verdict = general_predicates(pod, cluster.snapshot)
    assert [reason for reason, mask in verdict.items() if mask.all()] == [
        "Insufficient pods",
        "Insufficient cpu",
        "Insufficient memory",
        "node(s) didn't match the requested hostname",
        "node(s) didn't have free ports for the requested pod ports",
        "node(s) didn't match node selector",
    ]


def test_it_is_its_parts_one_after_another() -> None:
    """The merged verdict holds what each part says on its own."""
    cluster = _everything_wrong()
    pod = cluster.info(make_pod(containers=(_demanding(),), node_selector=labels({"disk": "ssd"})))
    parts: dict[str, list[bool]] = {}
    for name in PART_NAMES:
        parts |= {r: m.tolist() for r, m in FIT_PREDICATES[name](PredicateArgs()).check(pod, cluster.snapshot).items()}
    merged = FIT_PREDICATES["GeneralPredicates"](PredicateArgs()).check(pod, cluster.snapshot)
    assert {reason: mask.tolist() for reason, mask in merged.items()} == parts


def test_a_plain_pod_asks_about_resources_only() -> None:
    """No port, no selector, no node name: nothing of theirs is worked out."""
    cluster = Cluster([make_node("n")])
    pod = cluster.info(make_pod(requests=resources(cpu=1)))
    assert all("nsufficient" in reason for reason in general_predicates(pod, cluster.snapshot))


def test_ignored_resources_are_passed_on() -> None:
    """An extended resource that an extender manages is not counted."""
    cluster = Cluster([make_node("n")])
    pod = cluster.info(make_pod(requests=FrozenMap({"example.com/widget": 1000})))
    make = FIT_PREDICATES["GeneralPredicates"]
    counted = make(PredicateArgs()).check(pod, cluster.snapshot)
    ignored = make(PredicateArgs(frozenset({"example.com/widget"}))).check(pod, cluster.snapshot)
    assert counted["Insufficient example.com/widget"].all()
    assert not any(mask.any() for mask in ignored.values())


@pytest.mark.parametrize("name", FIT_PREDICATES)
def test_every_predicate_carries_the_name_it_is_filed_under(name: str) -> None:
    """Reports and orderings go by that name."""
    assert FIT_PREDICATES[name](PredicateArgs()).name == name
