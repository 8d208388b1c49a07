"""Pods placed in bulk go where they would go one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    ContainerImage,
    ContainerPort,
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    Requirement,
)
from kubescheduler.core.algorithm import WeightedPriority
from kubescheduler.core.equal_runs import FEWEST, can_run
from predicates.types import FitPredicate
from priorities.types import PriorityConfig
from tests.support.laws import costly
from tests.support.rich_worlds import HOST, DrawnCluster
from tests.support.runs_of_pods import (
    ENGINES,
    TIES,
    Runs,
    in_bulk,
    line,
    one,
    one_by_one,
    runs,
    sized_in_millicores,
    small,
    state_of,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_bulk_is_one_by_one(engine: str) -> None:
    """Hosts, totals, ties, notes and messages are the same, and so is the cluster afterwards, also for pods to come.

    The law says something only where pods are placed in bulk; how often is left to chance.
    """
    runs_in_bulk = 0

    @costly
    @given(given_runs=runs(), tie=st.sampled_from(list(TIES)))
    def law(given_runs: Runs, tie: str) -> None:
        nonlocal runs_in_bulk
        plain, bulk = given_runs.scheduler(engine, tie), given_runs.scheduler(engine, tie)
        expected = one_by_one(plain, given_runs.pods)
        found, placed = in_bulk(bulk, given_runs.pods)
        runs_in_bulk += placed >= FEWEST
        assert found == expected
        assert state_of(bulk) == state_of(plain)
        for name in ("later-1", "later-2"):
            assert line(one(bulk, small(name))) == line(one(plain, small(name)))

    law()
    assert runs_in_bulk


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_are_taken_in_bulk(engine: str, tie: str) -> None:
    """Where nothing but the nodes' own pods has a say, all but a few go in bulk."""
    nodes = [sized_in_millicores(f"n{at}", 1000 + 300 * at, pods=9 + at) for at in range(6)]
    world = Runs(DrawnCluster(tuple(nodes), (), ()), tuple(small(f"p{at}") for at in range(50)))
    scheduler = world.scheduler(engine, tie)
    found, bulk = in_bulk(scheduler, world.pods)
    assert found == one_by_one(world.scheduler(engine, tie), world.pods)
    alone = engine.endswith("rankings kept") and tie == "heap"
    assert bulk == (0 if alone else 50)


@pytest.mark.parametrize("engine", ENGINES)
def test_host_ports(engine: str) -> None:
    """Each node takes one of the pods, which is counted with the pods there; they go in bulk all the same."""
    nodes = tuple(sized_in_millicores(f"n{at}", 4000 + 100 * at) for at in range(20))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}", ports=(ContainerPort(80),)) for at in range(25)))
    found, bulk = in_bulk(world.scheduler(engine, "by name"), world.pods)
    assert found == one_by_one(world.scheduler(engine, "by name"), world.pods)
    assert bulk > FEWEST


@pytest.mark.parametrize("engine", ENGINES)
def test_the_most_preferred_node_fills_up(engine: str) -> None:
    """The scores of the nodes that are left follow the preference that is the highest among them from then on."""
    preferred = tuple(
        PreferredSchedulingTerm(weight, NodeSelectorTerm((Requirement(HOST, "In", (name,)),)))
        for name, weight in (("n0", 10), ("n1", 5))
    )
    affinity = Affinity(NodeAffinity(preferred=preferred))
    nodes = (sized_in_millicores("n0", 9000, pods=3), sized_in_millicores("n1", 4000), sized_in_millicores("n2", 16000))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}", affinity=affinity) for at in range(60)))
    found, bulk = in_bulk(world.scheduler(engine, "by name"), world.pods)
    assert found == one_by_one(world.scheduler(engine, "by name"), world.pods)
    assert bulk > 30


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("priority", [0, 10], ids=["as important", "more important"])
def test_room_is_left_for_nominated_pods(engine: str, priority: int) -> None:
    """A pod that waits for a node keeps its room there from pods that are not more important than it."""
    nodes = (sized_in_millicores("n0", 4000), sized_in_millicores("n1", 1000))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}") for at in range(30)))
    plain, bulk = world.scheduler(engine, "by name"), world.scheduler(engine, "by name")
    for scheduler in (plain, bulk):
        scheduler.cache.nominate(small("waiting", cpu=3000, priority=priority), "n0")
    expected = one_by_one(plain, world.pods)
    found, _ = in_bulk(bulk, world.pods)
    assert found == expected
    assert state_of(bulk) == state_of(plain)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_images_that_are_not_settled(engine: str) -> None:
    """A node that was there before others had its image says so only once a pod has come to it."""
    image = ContainerImage(("app:latest",), 700 << 20)
    nodes = tuple(sized_in_millicores(f"n{at}", 4000, images=(image,) if at % 3 else ()) for at in range(6))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}") for at in range(40)))
    plain, bulk = world.scheduler(engine, "by name"), world.scheduler(engine, "by name")
    for scheduler in (plain, bulk):
        scheduler.decide(small("first"))
        for name in ("n6", "n7"):
            scheduler.cache.add_node(sized_in_millicores(name, 4000, images=(image,)))
    assert in_bulk(bulk, world.pods)[0] == one_by_one(plain, world.pods)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_images_that_change_after_a_run(engine: str) -> None:
    """Every node that pods of a run came to, but the last one's, knows how many nodes had its images then."""
    image = ContainerImage(("app:latest",), 700 << 20)
    nodes = tuple(sized_in_millicores(f"n{at}", 4000, images=(image,)) for at in range(6))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}") for at in range(40)))
    plain, bulk = world.scheduler(engine, "by name"), world.scheduler(engine, "by name")
    one_by_one(plain, world.pods)
    in_bulk(bulk, world.pods)
    for scheduler in (plain, bulk):
        for name in ("n0", "n1", "n2"):
            scheduler.cache.add_node(sized_in_millicores(name, 4000))
    after = tuple(small(f"after{at}") for at in range(8))
    assert one_by_one(bulk, after) == one_by_one(plain, after)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tie", ["by name", "random"])
def test_fewer_pods_than_nodes(engine: str, tie: str) -> None:
    """Each pod may take another node, the last one included, and the ties count nodes that no pod takes."""
    nodes = tuple(sized_in_millicores(f"n{at:02}", 4000 + 2000 * (at % 2)) for at in range(40))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}", cpu=700) for at in range(12)))
    plain, bulk = world.scheduler(engine, tie), world.scheduler(engine, tie)
    found, count = in_bulk(bulk, world.pods)
    assert found == one_by_one(plain, world.pods)
    assert count == 12
    assert state_of(bulk) == state_of(plain)


def in_spec(**fields: Any) -> Callable[[Pod], Pod]:
    """The same pod with other fields in its spec."""
    return lambda pod: msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))


SET_APART: dict[str, Callable[[Pod], Pod]] = {
    "names its node": lambda pod: msgspec.structs.replace(pod, node_name="n1"),
    "is nominated": lambda pod: msgspec.structs.replace(pod, nominated_node_name="n1"),
    "is held back by a gate": in_spec(scheduling_gates=("later",)),
    "is another scheduler's": in_spec(scheduler_name="another"),
}


@pytest.mark.parametrize("change", SET_APART.values(), ids=SET_APART)
@pytest.mark.parametrize("engine", ["1.4", "1.16", "1.20", "1.36"])
def test_pods_set_apart_by_more_than_their_class(engine: str, change: Callable[[Pod], Pod]) -> None:
    """They are decided by themselves, amid pods that go in bulk."""
    nodes = tuple(sized_in_millicores(f"n{at}", 16000 - 4000 * at) for at in range(3))
    pods = [small(f"p{at}", cpu=500) for at in range(40)]
    pods[20:22] = map(change, pods[20:22])
    world = Runs(DrawnCluster(nodes, (), ()), tuple(pods))
    plain, bulk = world.scheduler(engine, "by name"), world.scheduler(engine, "by name")
    expected = one_by_one(plain, world.pods)
    found, count = in_bulk(bulk, world.pods)
    assert found == expected
    assert state_of(bulk) == state_of(plain)
    assert count >= FEWEST


ONE_BY_ONE: dict[str, dict[str, Any]] = {
    "extenders": {"extenders": (object(),)},
    "sampled nodes": {"percentage_of_nodes_to_score": 50},
    "a custom predicate": {"predicates": (FitPredicate("Own", lambda *_: {}),)},
    "a custom priority": {"priorities": (WeightedPriority(PriorityConfig("Own", lambda _, s: s.pod_count), 1),)},
}


@pytest.mark.parametrize("changes", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_algorithms_that_place_nothing_in_bulk(changes: dict[str, Any]) -> None:
    """What extenders and custom rules read is unknown, and a sample begins where the last one ended."""
    algorithm = Runs(DrawnCluster((), (), ()), ()).scheduler("1.16", "by name").algorithm
    assert can_run(algorithm)
    assert not can_run(msgspec.structs.replace(algorithm, **changes))
