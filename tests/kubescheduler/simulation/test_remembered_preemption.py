"""Whole runs in which pods preempt: what is remembered of preemption and of nominated pods changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.objects import LabelSelector, ObjectMeta, PodDisruptionBudget
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.build import labels
from tests.support.preemption_worlds import APPS, PREEMPTING, node, one_by_one, pod
from tests.support.simulation_facts import facts

moments = st.integers(0, 120).map(lambda n: n / 2)
lengths = st.none() | moments


@st.composite
def workloads(draw: Any) -> Workload:
    arrivals = []
    for index in range(draw(st.integers(6, 14))):
        cpu, priority, app = (
            draw(st.sampled_from([500, 1500, 3000])),
            draw(st.integers(0, 3)),
            draw(st.sampled_from(APPS)),
        )
        deleted = draw(lengths)
        at = draw(moments)
        arrivals.append(Arrival(pod(f"p{index}", cpu, priority, app), at, None if deleted is None else at + deleted))
    late = [NodeArrival(node(2), draw(moments), None)] if draw(st.booleans()) else []
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

    @settings(max_examples=15)
    @given(workload=workloads(), allowed=st.integers(0, 1), grace=st.sampled_from([0.0, 20.0]))
    def law(workload: Workload, allowed: int, grace: float) -> None:
        nonlocal preemptions
        with one_by_one():
            expected = story(release, workload, allowed, grace)
        assert story(release, workload, allowed, grace) == expected
        preemptions += len(expected[1])

    law()
    assert preemptions
