"""Pods placed in bulk go where they would go one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import StaleDecisionError
from clusterstate.objects import (
    Affinity,
    ContainerImage,
    ContainerPort,
    NodeAffinity,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PreferredSchedulingTerm,
    Requirement,
    Service,
)
from kubescheduler.core.algorithm import WeightedPriority
from kubescheduler.core.decision import Decision, LazyDecision
from kubescheduler.core.equal_runs import FEWEST, RunAhead, can_run
from kubescheduler.engine.engine_contract import PodScheduler
from predicates.types import FitPredicate
from priorities.types import PriorityConfig
from tests.support.build import labels
from tests.support.rich_worlds import HOST, DrawnCluster
from tests.support.runs_of_pods import (
    ENGINES,
    RANKED,
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
    whole,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_bulk_is_one_by_one(engine: str) -> None:
    """Hosts, totals, ties, notes and messages are the same, and so is the cluster afterwards, also for pods to come.

    The law says something only where pods are placed in bulk; how often is left to chance.
    """
    runs_in_bulk = 0

    @settings(max_examples=40)
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


@attrs.define
class Ahead:
    """Decides by runs where it can."""

    scheduler: PodScheduler
    longest: int = 20
    run: RunAhead | None = None
    by_runs: int = 0

    def decide(self, pod: Pod) -> Decision:
        """By the run under way, else by a new one, else by itself."""
        decision = None if self.run is None else self.run.decide(pod)
        if decision is None:
            self.run = self.scheduler.run_ahead(pod, self.longest)
            decision = None if self.run is None else self.run.decide(pod)
        self.by_runs += decision is not None
        return self.scheduler.decide(pod, in_sequence=True) if decision is None else decision


READ_OF_RUNS = st.sets(st.one_of(st.integers(1, 4), st.integers(1, 24)), min_size=1, max_size=5)
"""Which of the decisions made by runs are read; some of the first, as many runs are short."""


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine not in RANKED])
def test_each_decision_is_that_of_deciding_it_alone(engine: str) -> None:
    """All that is asked of a decision before its pod is placed, its node, and the cluster afterwards are the same.

    The law says something only where decisions of runs are asked about; how often is left to chance.
    """
    asked_of_runs = 0

    @settings(max_examples=20)
    @given(given_runs=runs(), tie=st.sampled_from([tie for tie in TIES if tie != "heap"]), read=st.data())
    def law(given_runs: Runs, tie: str, read: st.DataObject) -> None:
        nonlocal asked_of_runs
        plain, ahead = given_runs.scheduler(engine, tie), Ahead(given_runs.scheduler(engine, tie))
        asked = read.draw(st.sets(st.integers(0, len(given_runs.pods)), max_size=2), "asked about")
        asked_of_run = read.draw(READ_OF_RUNS, "asked about, of those decided by runs")
        for at, pod in enumerate(given_runs.pods):
            expected, found = plain.decide(pod, in_sequence=True), ahead.decide(pod)
            assert found.host == expected.host
            by_run = isinstance(found, LazyDecision)
            if at in asked or (by_run and ahead.by_runs in asked_of_run):
                assert whole(found) == whole(expected)
                asked_of_runs += by_run
            for scheduler in (plain, ahead.scheduler):
                if expected.host is not None:
                    scheduler.cache.assume_pod(pod, expected.host)
        assert state_of(ahead.scheduler) == state_of(plain)

    law()
    assert asked_of_runs


def three(**fields: Any) -> Runs:
    """Three nodes, and pods that are alike."""
    nodes = (
        sized_in_millicores("n0", 4000),
        sized_in_millicores("n1", 4000, pods=9),
        sized_in_millicores("n2", 9000, pods=25),
    )
    return Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at:02}", **fields) for at in range(48)))


def there(cache: ClusterCache) -> Pod:
    """The pod that ran before the others came."""
    return next(pod for pod in cache.pods() if pod.metadata.name == "there")


def another_on(cache: ClusterCache, last: Pod) -> None:
    """A pod leaves the node of the last one, a larger one comes, and the last one is the newest there again."""
    cache.remove_pod(next(pod for pod in cache.pods() if pod.node_name == last.node_name))
    cache.add_pod(small("new", cpu=2000).on(last.node_name))
    cache.update_pod(last)


CHANGES: dict[str, Callable[[ClusterCache, Pod], Any]] = {
    "a pod comes": lambda cache, _: cache.add_pod(small("new", cpu=2000).on("n0")),
    "a pod of the same kind comes": lambda cache, _: cache.add_pod(small("new").on("n0")),
    "a pod leaves": lambda cache, _: cache.remove_pod(there(cache)),
    "a pod takes the place of another": another_on,
    "the last pod changes": lambda cache, last: cache.update_pod(
        small(last.metadata.name, cpu=3000).on(last.node_name)
    ),
    "a node changes": lambda cache, _: cache.add_node(sized_in_millicores("n0", 500)),
    "a node comes": lambda cache, _: cache.add_node(sized_in_millicores("n3", 16000)),
    "a pod is nominated": lambda cache, _: cache.nominate(small("waiting", cpu=3000), "n2"),
    "a service comes": lambda cache, _: cache.add(Service(ObjectMeta("s", "default"), labels({"app": "a"}))),
    "the last pod is confirmed": lambda *_: None,
}


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_happens_between_pods(release: str, change: str) -> None:
    """A change between two pods counts for the second, also one on the node of the first; a confirmation changes
    nothing."""
    given = three(label={"app": "a"})
    plain, ahead = given.scheduler(release, "by name"), Ahead(given.scheduler(release, "by name"), longest=64)
    for scheduler in (plain, ahead.scheduler):
        scheduler.cache.add_pod(small("there", cpu=300).on("n2"))
    for at, pod in enumerate(given.pods):
        hosts = []
        for scheduler, decision in ((plain, one(plain, pod)), (ahead.scheduler, ahead.decide(pod))):
            hosts.append(decision.host)
            if decision.host is not None and pod not in scheduler.cache:
                scheduler.cache.assume_pod(pod, decision.host)
            if decision.host is not None:
                scheduler.cache.add_pod(pod.on(decision.host))
            if at == 12:
                CHANGES[change](scheduler.cache, pod.on(decision.host or ""))
        assert hosts[0] == hosts[1]
    assert state_of(ahead.scheduler) == state_of(plain)
    assert ahead.by_runs >= 13


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_numbers_of_images_that_change_while_pods_are_decided(release: str) -> None:
    """Every node that pods of a run came to, but the last one's, knows how many nodes had its images then."""
    image = ContainerImage(("app:latest",), 700 << 20)
    nodes = tuple(sized_in_millicores(f"n{at}", 4000, images=(image,)) for at in range(6))
    world = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at}") for at in range(40)))
    plain, ahead = world.scheduler(release, "by name"), Ahead(world.scheduler(release, "by name"), longest=64)
    for at, pod in enumerate(world.pods):
        found = []
        for scheduler, decide in ((plain, partial(one, plain)), (ahead.scheduler, ahead.decide)):
            decision = decide(pod)
            found.append(decision.host if at < 32 else line(decision))
            if pod not in scheduler.cache:
                scheduler.cache.assume_pod(pod, decision.host or "")
            for name in ("n0", "n1", "n2") if at == 31 else ():
                scheduler.cache.add_node(sized_in_millicores(name, 4000))
        assert found[0] == found[1]
    assert ahead.by_runs >= 31


def test_pods_that_are_held_back_are_not_decided() -> None:
    """Also where the first of them has a gate."""
    given = three(scheduling_gates=("later",))
    ahead = Ahead(given.scheduler("1.36", "by name"))
    assert {(ahead.decide(pod).host, ahead.decide(pod).tried) for pod in given.pods} == {(None, False)}
    assert ahead.by_runs == 0


def test_a_pod_that_was_not_placed_ends_the_run() -> None:
    """Whoever asks for the next pod without having placed the last one decides anew."""
    given = three()
    ahead = Ahead(given.scheduler("1.16", "by name"))
    first = ahead.decide(given.pods[0])
    assert [ahead.decide(pod).host for pod in given.pods[1:4]] == [first.host] * 3


def test_what_was_not_asked_in_time_is_not_known() -> None:
    """A decision knows its node for ever, and its scores until the cluster changes."""
    given = three()
    ahead = Ahead(given.scheduler("1.16", "by name"))
    asked, late = ahead.decide(given.pods[0]), None
    assert isinstance(asked, LazyDecision)
    assert attrs.evolve(asked, pod=given.pods[1]).total() == asked.total() != {}
    ahead.scheduler.cache.assume_pod(given.pods[0], asked.host or "")
    late = ahead.decide(given.pods[1])
    ahead.scheduler.cache.assume_pod(given.pods[1], late.host or "")
    assert (late.host, late.message, late.error, late.extenders) == (late.host, "", None, ())
    with pytest.raises(StaleDecisionError, match="placed with others like it"):
        late.total()
    with pytest.raises(AttributeError, match="no attribute 'weather'"):
        cast("Any", late).weather  # noqa: B018
    assert asked.total() != {}
