"""A loop that decides by runs does what one does that decides on each pod by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubescheduler.cycle.deciding_ahead import DecidingAhead
from kubescheduler.simulation.run_events import RunEvent
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload
from tests.support.rich_worlds import World
from tests.support.runs_of_pods import ENGINES, RANKED, TIES, Runs, nodes, runs, sized, small, state_of


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
        simulation = Simulation(self.scheduler, workload, listen=self.events.append, **options)
        decide = cast(Any, simulation._known.ask).__self__
        assert isinstance(decide, DecidingAhead)
        simulation._known.ask = self.counted(decide) if ahead else decide.parts.decide
        self.report: Report = simulation.run()

    def counted(self, deciding: DecidingAhead) -> Callable[..., Any]:
        """Counts the pods that were decided by runs, which are begun early."""
        deciding._wait = 1

        def decide(*asked: Any) -> Any:
            found = deciding.decide(*asked)
            self.by_runs += deciding._run is not None
            return found

        return decide

    def told(self) -> Any:
        """Everything that the simulation says, and the cluster afterwards."""
        report = self.report
        pods = [(r.pod, r.arrived, r.outcome, r.node, r.placed, r.left, r.attempts, r.message) for r in report.pods]
        used = [(node.name, node.changes) for node in report.nodes]
        return self.events, pods, report.preemptions, report.samples, used, report.end, state_of(self.scheduler)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=20)
@given(world=workloads(), tie=st.sampled_from(list(TIES)), preempt=st.booleans())
def test_by_runs_is_one_by_one(engine: str, world: tuple[Runs, Workload], tie: str, preempt: bool) -> None:
    """Every event, every record and the cluster afterwards are the same."""
    one, ahead = (Simulated(*world, engine, tie, ahead=ahead, preempt=preempt) for ahead in (False, True))
    assert ahead.told() == one.told()


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_runs_are_decided_ahead(engine: str, tie: str) -> None:
    """All but the first pods of a backlog are decided by a run, whatever labels they have of their own."""
    there = [sized(f"n{at}", 1000 + 300 * at, pods=9 + at) for at in range(6)]
    pods = tuple(small(f"p{at:02}", label={"job": str(at)}) for at in range(50))
    given, workload = Runs(World(tuple(there), (), ()), pods), Workload(tuple(map(Arrival, pods)))
    one, ahead = (Simulated(given, workload, engine, tie, ahead=ahead) for ahead in (False, True))
    assert ahead.told() == one.told()
    assert ahead.by_runs == 0 if engine in RANKED else ahead.by_runs > 45
