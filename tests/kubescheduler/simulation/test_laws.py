"""Laws of whole simulations, over random workloads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.objects import LabelSelector, ObjectMeta, PodDisruptionBudget
from kubescheduler.engine.spec import EngineSpec, cache_for
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import OUTCOMES, PREEMPTED, RUNNING, WAITING, WITHDRAWN, Report
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.laws import costly
from tests.support.preemption_worlds import APPS, PREEMPTING, node, one_by_one, pod

RELEASES = ("1.4", "1.16", "1.20", "1.36")

moments = st.integers(0, 1200).map(lambda n: n / 4)
releases = st.sampled_from(RELEASES)
lengths = st.none() | st.integers(0, 800).map(lambda n: n / 4)


def facts(report: Report) -> tuple[Any, ...]:
    """Everything: what became of the pods, preemptions, and how much of the nodes was used when."""
    pods = [(r.pod, r.arrived, r.outcome, r.node, r.placed, r.left, r.attempts, r.message) for r in report.pods]
    used = [(node.name, node.changes) for node in report.nodes]
    return pods, report.preemptions, report.samples, used, report.end


@st.composite
def workloads(draw: Any) -> Workload:
    arrivals = []
    for index in range(draw(st.integers(1, 8))):
        cpu, priority, at = draw(st.integers(1, 4)), draw(st.integers(0, 3)), draw(moments)
        stays, deleted = draw(lengths), draw(lengths)
        pod = make_pod(f"p{index}", requests=resources(cpu=1000 * cpu), priority=priority)
        arrivals.append(Arrival(pod, at, None if deleted is None else at + deleted, stays))
    amounts = resources(cpu=3000, memory=8 << 30, pods=10)
    nodes = [
        NodeArrival(make_node(f"late{index}", allocatable=amounts), at, None if stays is None else at + stays)
        for index, (at, stays) in enumerate(draw(st.lists(st.tuples(moments, lengths), max_size=2)))
    ]
    return Workload(tuple(arrivals), tuple(nodes))


def run(
    workload: Workload, *, release: str = "1.16", rests: bool = True, reuses: bool = True, **options: Any
) -> Report:
    amounts = resources(cpu=4000, memory=8 << 30, pods=10)
    cache = ClusterCache.of([make_node("n", allocatable=amounts)], release_named(release).default_view)
    scheduler = EngineSpec(release).engine(print).scheduler(cache)
    simulation = Simulation(scheduler, workload, **options)
    simulation._known.reuses &= reuses
    if not rests:
        step_every_tick(simulation)
    return simulation.run()


def step_every_tick(simulation: Simulation) -> None:
    """Makes every tick count until the last event is over; then nothing waits for ever either."""
    resting = simulation._queue.resting

    def never() -> Any:
        return resting() if simulation._events.next is None else None

    simulation._queue.resting = never  # type: ignore[method-assign]


options = st.fixed_dictionaries({"preempt": st.booleans(), "grace": st.sampled_from([0.0, 2.5, 45.0])})


LONGER_WAYS = {
    "a second run": {},
    "attempts that must fail are made, with the same number of attempts": {"rests": False},
    "every pod is decided on anew, nominations and victims included": {"reuses": False},
}


@costly
@given(workloads(), options, releases)
def test_shorter_ways_change_nothing(workload: Workload, options: Any, release: str) -> None:
    """To the last number."""
    expected = facts(run(workload, release=release, **options))
    for name, way in LONGER_WAYS.items():
        assert facts(run(workload, release=release, **way, **options)) == expected, name


@costly
@given(workloads(), options, releases)
def test_no_pod_is_lost_and_no_node_is_overfull(workload: Workload, options: Any, release: str) -> None:
    """Every pod has one outcome that goes with its times; what nodes hold is what pods say of themselves."""
    report = run(workload, release=release, **options)
    assert Counter(r.pod.metadata.name for r in report.pods) == Counter(p.metadata.name for p in workload.pods())
    for record in report.pods:
        assert record.outcome in OUTCOMES
        assert (record.placed is None) == (record.outcome in (WAITING, WITHDRAWN)) == (record.node == "")
        assert (record.left is None) == (record.outcome in (WAITING, RUNNING))
        assert record.arrived <= (record.placed or record.arrived) <= (record.left or report.end)
    for use in report.nodes:
        assert all(amount <= most for _, used in use.changes for amount, most in zip(used, use.capacity, strict=True))
    victims = {name for preemption in report.preemptions for name in preemption.victims}
    assert {r.pod.key for r in report.pods if r.outcome == PREEMPTED} <= victims
    still = sum(record.outcome == RUNNING for record in report.pods)
    assert report.samples[-1].used[-1] == still
    assert report.samples[-1].pending == len(report.pending)


@costly
@given(workloads(), releases)
def test_arrivals_alone_are_decided_and_bound_in_queue_order(workload: Workload, release: str) -> None:
    """Pods that all come at once and stay go where deciding and binding them one after the other puts them."""
    pods = workload.pods()
    report = run(Workload(tuple(Arrival(pod) for pod in pods)), release=release)
    amounts = resources(cpu=4000, memory=8 << 30, pods=10)
    cache = ClusterCache.of([make_node("n", allocatable=amounts)], release_named(release).default_view)
    scheduler = EngineSpec(release).engine(print).scheduler(cache)
    hosts: dict[str, str] = {}
    for one in pods if release == "1.4" else sorted(pods, key=lambda one: -one.priority):
        hosts[one.key] = scheduler.decide(one).host or ""
        if hosts[one.key]:
            cache.assume_pod(one, hosts[one.key])
    assert {record.pod.key: record.node for record in report.pods} == hosts


@pytest.mark.parametrize("release", RELEASES)
def test_an_empty_workload_ends_at_once(release: str) -> None:
    """Nothing happens."""
    report = run(Workload(), release=release)
    assert (report.end, report.pods, report.every_pod_had_a_node) == (0.0, (), True)


preempting_moments = st.integers(0, 120).map(lambda n: n / 2)
preempting_lengths = st.none() | preempting_moments


@st.composite
def preempting_workloads(draw: Any) -> Workload:
    arrivals = []
    for index in range(draw(st.integers(6, 14))):
        cpu, priority, app = (
            draw(st.sampled_from([500, 1500, 3000])),
            draw(st.integers(0, 3)),
            draw(st.sampled_from(APPS)),
        )
        deleted = draw(preempting_lengths)
        at = draw(preempting_moments)
        arrivals.append(Arrival(pod(f"p{index}", cpu, priority, app), at, None if deleted is None else at + deleted))
    late = [NodeArrival(node(2), draw(preempting_moments), None)] if draw(st.booleans()) else []
    return Workload(tuple(arrivals), tuple(late))


def story(release: str, workload: Workload, allowed: int, grace: float) -> Any:
    """All that happened in a run on two nodes, with a budget that allows so many disruptions."""
    engine = EngineSpec.parse(f"release={release}").engine(lambda _: None)
    budget = PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(labels({"app": APPS[0]})), allowed)
    scheduler = engine.scheduler(cache_for(engine, [node(0), node(1), budget]))
    report = Simulation(scheduler, workload, preempt=True, grace=grace).run()
    return facts(report)


@pytest.mark.parametrize("release", PREEMPTING)
def test_law_runs_with_preemption_are_those_that_remember_nothing(release: str) -> None:
    """Who preempts whom and when, where everybody ends up, how often they were tried and what they were told.

    The law says something only where pods preempt, which has to happen again and again.
    """
    preemptions = 0

    @costly
    @given(workload=preempting_workloads(), allowed=st.integers(0, 1), grace=st.sampled_from([0.0, 20.0]))
    def law(workload: Workload, allowed: int, grace: float) -> None:
        nonlocal preemptions
        with one_by_one():
            expected = story(release, workload, allowed, grace)
        assert story(release, workload, allowed, grace) == expected
        preemptions += len(expected[1])

    law()
    assert preemptions
