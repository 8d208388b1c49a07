"""What is remembered of preemption: the same as trying every node anew, and never another's later."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from tests.support.preemption_worlds import ASKED, PREEMPTING, ChangingCluster, one_by_one, pod, said, steps

RELEASES = pytest.mark.parametrize("release", PREEMPTING)


class Watched:
    """A scheduler that goes through all the steps, beside one that remembers nothing."""

    def __init__(self, release: str) -> None:
        self.cluster = ChangingCluster.of(release)
        self._running = self.cluster.engine.scheduler(self.cluster.cache)
        self.late: list[tuple[Decision, dict[str, Any]]] = []

    def ask(self, asking: Pod) -> Decision:
        """What the first decides, once it is compared with the second."""
        with one_by_one():
            anew = self.cluster.engine.scheduler(self.cluster.cache).decide(asking, preempt=True)
            expected, picked = said(anew), anew.preemption and anew.preemption.pick()
        self.late.append((self._running.decide(asking, preempt=True), expected))
        decision = self._running.decide(asking, preempt=True)
        assert said(decision) == expected
        assert (decision.preemption and decision.preemption.pick()) == picked
        return decision


@RELEASES
@settings(max_examples=30)
@given(given_steps=steps)
def test_a_scheduler_preempts_as_one_that_tries_every_node_by_itself(release: str, given_steps: list[Any]) -> None:
    """Candidates, victims, choice, texts and how it was picked; and a decision that is read late still says it."""
    watched = Watched(release)
    for at, (what, *parts) in enumerate(given_steps):
        if what == "preempt":
            asking = pod(f"in{at}", *parts[0])
            watched.cluster.carry_out(asking, watched.ask(asking))
            watched.ask(asking)
        else:
            watched.cluster.run(what, *parts)
        for asked in ASKED:
            watched.ask(pod("in", *asked))
    for decision, expected in watched.late:
        assert said(decision) == expected
