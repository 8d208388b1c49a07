"""Upstream's way to stop looking for nodes to preempt on once there are enough candidates."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.preemption_choice import NOWHERE, Candidates


class CandidateSampling(msgspec.Struct, frozen=True, eq=False):
    """How many candidates are enough, and where the search for them begins."""

    percentage: int
    """Of the nodes where preemption may help."""
    absolute: int
    """Nodes; the larger of the two counts."""
    start: Callable[[int], int]
    """Of n nodes the place of the first that is tried, such as ``random.Random.randrange``."""

    def sample(self, found: Candidates, rows: IntArray) -> Candidates:
        """The candidates among ``rows`` that are met before there are enough; those without violations come first.

        rows: (n,) where preemption may help, in the order of the node list. The search ends once one candidate violates
        no budget and there are enough of both sorts. Upstream: 1.20 and 1.36 dryRunPreemption.
        """
        if not len(rows):
            return found
        wanted = min(len(rows), max(len(rows) * self.percentage // 100, self.absolute))
        met = np.roll(rows, -self.start(len(rows)))
        met = met[found.kinds[met] != NOWHERE]
        violates: Mask = found.of_kinds.violations[found.kinds[met]] > 0
        enough = np.flatnonzero((np.cumsum(~violates) > 0) & (np.arange(1, len(met) + 1) >= wanted))
        if len(enough):
            end = int(enough[0]) + 1
            met, violates = met[:end], violates[:end]
        return found.only(np.concatenate([met[~violates][:wanted], met[violates][:wanted]]))
