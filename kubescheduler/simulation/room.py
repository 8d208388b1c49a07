"""How many more of a pod fit, one after another, and what stops the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import compress

import attrs

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engines import PodScheduler
from kubescheduler.simulation.workload import renamed

Progress = Callable[[int], None]
"""Told how many have been placed."""


@attrs.frozen(eq=False)
class Room:
    """How many more of ``pod`` fit."""

    pod: Pod
    placed: Mapping[str, int]
    """Node → how many of the pods went there."""
    stopped: Decision | None
    """The decision that found no room; None: ``limit`` was reached before."""

    @property
    def count(self) -> int:
        """How many pods were placed."""
        return sum(self.placed.values())

    def by_node(self) -> dict[str, tuple[int, list[str]]]:
        """Node → (how many went there, why the next one does not), by name."""
        reasons = {} if self.stopped is None else self.stopped.reasons()
        names = [] if self.stopped is None else compress(self.stopped.names, self.stopped.listed)
        return {name: (self.placed.get(name, 0), reasons.get(name, [])) for name in sorted({*names, *self.placed})}


def room_for(pod: Pod, scheduler: PodScheduler, *, limit: int | None = None, progress: Progress | None = None) -> Room:
    """Places copies of a pod until none fits, or ``limit`` are placed; the cluster is as before afterwards."""
    cache = scheduler.cache
    placed: Counter[str] = Counter()
    copies: list[Pod] = []
    stopped = None
    try:
        while limit is None or len(copies) < limit:
            copy = renamed(pod, f"{pod.metadata.name}-{len(copies) + 1}")
            decision = scheduler.decide(copy)
            if decision.host is None:
                stopped = decision
                break
            cache.assume_pod(copy, decision.host)
            copies.append(copy)
            placed[decision.host] += 1
            if progress is not None:
                progress(len(copies))
    finally:
        for copy in reversed(copies):
            cache.forget_pod(copy)
    return Room(pod, dict(placed), stopped)
