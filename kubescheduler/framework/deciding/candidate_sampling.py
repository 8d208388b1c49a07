"""Upstream's way to stop looking for nodes to preempt on once there are enough candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.preemption_candidates import Candidates


@attrs.frozen(eq=False)
class CandidateSampling:
    """How many candidates are enough, and where the search for them begins."""

    percentage: int
    """Of the nodes where preemption may help."""
    absolute: int
    """Nodes; the larger of the two counts."""
    start: Callable[[int], int]
    """Of n nodes the place of the first that is tried, such as ``random.Random.randrange``."""

    def sample(self, found: Candidates, rows: Sequence[int]) -> Candidates:
        """The candidates among ``rows`` that are met before there are enough; those without violations come first.

        rows: where preemption may help, in the order of the node list. The search ends once one candidate violates no
        budget and there are enough of both sorts. Upstream: 1.20 and 1.36 dryRunPreemption.
        """
        if not rows:
            return found
        wanted = min(len(rows), max(len(rows) * self.percentage // 100, self.absolute))
        first = self.start(len(rows))
        position = {row: at for at, row in enumerate(found.rows.tolist())}
        of_kinds: Mask = np.asarray((found.victims & found.protected).any(axis=0))
        violates = of_kinds[found.kinds]
        free: list[int] = []
        violating: list[int] = []
        for row in (*rows[first:], *rows[:first]):
            at = position.get(row)
            if at is None:
                continue
            (violating if violates[at] else free).append(at)
            if free and len(free) + len(violating) >= wanted:
                break
        kept: IntArray = np.array([*free[:wanted], *violating[:wanted]], np.int64)
        return attrs.evolve(found, rows=found.rows[kept], kinds=found.kinds[kept])
