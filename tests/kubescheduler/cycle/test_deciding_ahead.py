"""A loop that decides by runs does what one does that decides on each pod by itself."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.cycle.deciding_ahead import DecidingAhead
from kubescheduler.cycle.schedule_one import Decide, LoopParts
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.timeline import RunEvent
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.rich_worlds import DrawnCluster
from tests.support.runs_of_pods import ENGINES, RANKED, TIES, Runs, nodes, runs, sized_in_millicores, small, state_of
from tests.support.simulation_facts import facts


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Runs, Workload]:
    """Runs whose pods come at a few moments and stay for a while, and nodes that come meanwhile."""
    given = draw(runs())
    moments = st.sampled_from([0.0, 0.0, 1.0, 2.5])
    lengths = st.sampled_from([None, None, 0.0, 1.0, 40.0])
    arrivals = [Arrival(pod, draw(moments), None, draw(lengths)) for pod in given.pods]
    late = [NodeArrival(node, draw(moments), None) for node in draw(nodes())[:1]]
    return given, Workload(tuple(arrivals), tuple(late))


class Simulated:
    """A simulation that was run, by runs or not."""

    def __init__(self, given: Runs, workload: Workload, engine: str, tie: str, *, ahead: bool, **options: Any) -> None:
        self.events: list[RunEvent] = []
        self.by_runs = 0
        self.scheduler = given.scheduler(engine, tie)
        with patch("kubescheduler.simulation.simulation.deciding_ahead", self.by_runs_early if ahead else self.alone):
            simulation = Simulation(self.scheduler, workload, listen=self.events.append, **options)
        self.report: Report = simulation.run()

    def alone(self, parts: LoopParts) -> Decide:
        """Decides on each pod by itself."""
        return parts.decide

    def by_runs_early(self, parts: LoopParts) -> Decide:
        """Begins runs early, and counts the pods that are decided so."""
        ahead = DecidingAhead(parts.run_ahead)
        ahead._wait = 1

        def decide(plugins: Any, pod: Pod, state: CycleState) -> Decision:
            found = ahead.decide(pod, partial(parts.decide, plugins, pod, state))
            self.by_runs += ahead.choice is not None
            return found

        return decide

    def facts(self) -> Any:
        """Everything that the simulation says, and the cluster afterwards."""
        return self.events, facts(self.report), state_of(self.scheduler)


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine not in RANKED])
def test_by_runs_is_one_by_one(engine: str) -> None:
    """Every event, every record and the cluster afterwards are the same.

    The law says something only where pods are decided by runs; how often is left to chance.
    """
    by_runs = 0

    @settings(max_examples=20)
    @given(world=workloads(), tie=st.sampled_from(list(TIES)), preempt=st.booleans())
    def law(world: tuple[Runs, Workload], tie: str, preempt: bool) -> None:
        nonlocal by_runs
        one, ahead = (Simulated(*world, engine, tie, ahead=ahead, preempt=preempt) for ahead in (False, True))
        assert ahead.facts() == one.facts()
        by_runs += ahead.by_runs

    law()
    assert by_runs


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_are_decided_ahead(engine: str, tie: str) -> None:
    """All but the first pods of a backlog are decided by a run, whatever labels they have of their own."""
    there = [sized_in_millicores(f"n{at}", 1000 + 300 * at, pods=9 + at) for at in range(6)]
    pods = tuple(small(f"p{at:02}", label={"job": str(at)}) for at in range(50))
    given, workload = Runs(DrawnCluster(tuple(there), (), ()), pods), Workload(tuple(map(Arrival, pods)))
    one, ahead = (Simulated(given, workload, engine, tie, ahead=ahead) for ahead in (False, True))
    assert ahead.facts() == one.facts()
    assert ahead.by_runs == 0 if engine in RANKED else ahead.by_runs > 45
