"""Decides on pods by runs, where pods that no rule can tell apart follow each other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from kubescheduler.core.equal_runs import FEWEST
from kubescheduler.core.placing_in_order import LONGEST_WAIT, MOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterstate.objects import Pod
    from clusterstate.objects.pod import PodSpec
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.equal_runs import RunAhead
    from kubescheduler.core.run_choice import Choice
    from kubescheduler.cycle.schedule_one import Decide, LoopParts
    from kubescheduler.framework.contract.cycle_state import CycleState

FIRST_COUNT = 64
"""For how many pods the first of several runs is made ready."""


@attrs.define(eq=False)
class DecidingAhead:
    """Decides on pods one after the other, each placed before the next. A run is begun after a few pods with one spec
    that found a node; where runs come to nothing they are tried more and more seldom."""

    run_ahead: Callable[[Pod, int], RunAhead | None]
    """Begins a run; see ``GenericScheduler.run_ahead``."""
    _run: RunAhead | None = None
    _placed: int = 0
    """Pods of the run."""
    _count: int = FIRST_COUNT
    """For how many the next run is made ready."""
    _wait: int = FEWEST
    """After how many pods the next run is begun."""
    _plain: int = 0
    """How many of one spec have been decided one by one since the last run."""
    _spec: PodSpec | None = None

    def decide(self, pod: Pod, one: Callable[[], Decision]) -> Decision:
        """Where a pod goes. one: decides on it by itself."""
        if self._run is None and self._plain >= self._wait and pod.spec == self._spec:
            self._run, self._placed = self.run_ahead(pod, self._count), 0
            if self._run is None:
                self._ended()
        if self._run is not None:
            decision = self._run.decide(pod)
            if decision is not None:
                self._placed += 1
                return decision
            self._ended()
        return self._one(pod, one)

    @property
    def choice(self) -> Choice | None:
        """Among which nodes the last pod was given its own; None: it was decided on by itself."""
        return None if self._run is None else self._run.choice

    def _one(self, pod: Pod, one: Callable[[], Decision]) -> Decision:
        decision = one()
        if decision.host is None or (self._plain and pod.spec != self._spec):
            self._plain = 0
        self._plain += decision.host is not None
        self._spec = pod.spec
        return decision

    def _ended(self) -> None:
        """The run is over: the next one is longer, or tried later."""
        whole = self._placed >= self._count
        self._count = min(4 * self._count, MOST) if whole else FIRST_COUNT
        self._wait = 0 if whole else FEWEST if self._placed > FEWEST else min(2 * self._wait + FEWEST, LONGEST_WAIT)
        self._run, self._plain = None, 0


def deciding_ahead(parts: LoopParts) -> Decide:
    """Decides as a loop's parts do, by runs where it can."""
    ahead = DecidingAhead(parts.run_ahead)

    def decide(plugins: Any, pod: Pod, state: CycleState) -> Decision:
        return ahead.decide(pod, partial(parts.decide, plugins, pod, state))

    return decide
