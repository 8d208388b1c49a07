"""A comparison in a sequence that decides by runs says what one says that decides on each pod by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.objects import Pod
from kubescheduler.comparison.tracks import Run
from kubescheduler.core.decision import Decision
from kubescheduler.cycle.deciding_ahead import DecidingAhead
from tests.support.rich_worlds import DrawnCluster
from tests.support.runs_of_pods import ENGINES, RANKED, Runs, runs, sized_in_millicores, small

DECIDING = "kubescheduler.comparison.tracks.DecidingAhead"


class Alone:
    """Decides on each pod by itself."""

    choice = None

    def __init__(self, _: Any) -> None: ...

    def decide(self, _: Pod, one: Callable[[], Decision]) -> Decision:
        """Where the pod goes."""
        return one()


class Early(DecidingAhead):
    """Begins runs early, and counts the pods that are decided so."""

    by_runs = 0

    def decide(self, pod: Pod, one: Callable[[], Decision]) -> Decision:
        """Where the pod goes."""
        self._wait = min(self._wait, 1)
        found = super().decide(pod, one)
        Early.by_runs += self.choice is not None
        return found


def compared(given: Runs, engines: tuple[str, ...], deciding: Any, **options: Any) -> tuple[Any, ...]:
    """Everything that a comparison finds."""
    world = given.world
    objects = [*world.others, *world.nodes, *world.pods]
    with patch(DECIDING, deciding):
        run = Run(objects, [ENGINES[engine] for engine in engines], sequence=True, **options)
        found = run.pods(given.pods, lambda: None)
    return found, run.hosts, run.evicted


def test_by_runs_is_one_by_one() -> None:
    """Outcomes, causes, steps and what scores were made of are the same in every column.

    The law says something only where pods are decided by runs, which has to happen again and again.
    """
    Early.by_runs = 0

    @settings(max_examples=60)
    @given(
        given_runs=runs(),
        engines=st.lists(st.sampled_from(list(ENGINES)), min_size=2, max_size=3).map(tuple),
        preempts=st.booleans(),
        evidence=st.booleans(),
    )
    def law(given_runs: Runs, engines: tuple[str, ...], preempts: bool, evidence: bool) -> None:
        options: dict[str, Any] = {"preempts": preempts, "evidence": evidence}
        assert compared(given_runs, engines, Early, **options) == compared(given_runs, engines, Alone, **options)

    law()
    assert Early.by_runs


@pytest.mark.parametrize("engine", ENGINES)
def test_pods_that_are_alike_are_decided_by_runs(engine: str) -> None:
    """Also those that go elsewhere."""
    nodes = tuple(sized_in_millicores(f"n{at}", 1000 + 300 * (at // 3), pods=5 + at) for at in range(8))
    given = Runs(DrawnCluster(nodes, (), ()), tuple(small(f"p{at:02}") for at in range(50)))
    Early.by_runs = 0
    found = compared(given, ("1.16", engine), Early, preempts=False)
    assert found == compared(given, ("1.16", engine), Alone, preempts=False)
    assert Early.by_runs > (40 if engine in RANKED else 90)
