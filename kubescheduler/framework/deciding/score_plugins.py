"""Score: what every plugin gives the nodes that pass, before and after it is normalised, and the weighted sums."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.pod_counts import Tally
from clusterstate.snapshot import Snapshot
from kubescheduler.core.filter_and_score import Scored, Scores, normalised, raw_and_reduced, weighted_sum
from kubescheduler.core.pod_classes import ClassState, PreAnswer
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.framework.contract.custom_plugins import refuse_score
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.runs import Laps, failed, out_of_range, score_failed
from kubescheduler.framework.deciding.adapters import ask_pre_score, normalize_rows, score_rows
from kubescheduler.framework.deciding.compiled_profile import Compiled
from priorities.types import MAX_NODE_SCORE, PriorityError

EVERY_NODE = 1
"""What a node scores when nothing scores at all."""


class Scoring(msgspec.Struct, frozen=True, eq=False):
    """One attempt's PreScore and Score plugins over the nodes that pass."""

    pod: Pod
    state: ClassState
    compiled: Compiled
    cycle: CycleState
    snapshot: Snapshot
    view: Snapshot
    """Over exactly the nodes that pass."""
    feasible: IntArray | None
    """The rows of the nodes that pass; None: all rows there are."""
    skips: frozenset[Code] = frozenset({Code.Skip})
    """The codes by which PreScore says that the plugin gives no score."""
    laps: Laps | None = None
    """What times the points; None where nothing is measured."""

    def run(self, log: ChangeLog) -> Scored:
        """Raises SchedulingError with the release's text when a plugin fails."""
        compiled = self.compiled
        if not compiled.scores and not compiled.algorithm.extenders:
            return Scored(np.full(len(self.view), EVERY_NODE, np.int64))
        if self.laps is not None:
            self.laps.end(then="PreScore")
        skipped = self._pre_score(log)
        if self.laps is not None:
            self.laps.end(then="Score")
        emptied = isinstance(self.view, EmptiedNodes)
        if not emptied:
            self._score(log)
        scored = Scored()
        given = []
        for name in compiled.scores:
            if name in skipped:
                continue
            scored.raws[name], scored.scores[name] = self._one(name, emptied=emptied)
            given.append((scored.scores[name], compiled.weights[name]))
        scored.totals = weighted_sum(given, len(self.view))
        if self.laps is not None:
            self.laps.end()
        return scored

    def _score(self, log: ChangeLog) -> None:
        """Brings what is remembered of plugins over columns up to date."""
        try:
            self.state.score(self.snapshot, log)
        except PriorityError as error:
            name = next(name for name, score in self.state.scores.items() if score.failed)
            raise SchedulingError(score_failed(name, error)) from error

    def _pre_score(self, log: ChangeLog) -> set[str]:
        """The plugins that have nothing to score."""
        skipped: set[str] = set()
        for plugin in self.compiled.pre_scores:
            name = plugin.name
            if name not in self.compiled.own_pre_scores:
                asked = self.state.pre_scores.get(name)
                if asked is not None and not self._goes_on(asked, log):
                    skipped.add(name)
                continue
            status, _ = ask_pre_score(plugin, self.cycle, self.pod, self.view)
            if status is None or is_success(status):
                continue
            if status.code not in self.skips:
                raise SchedulingError(failed("PreScore", name, status).message)
            skipped.add(name)
        self.cycle.skip_score |= skipped
        return skipped

    def _goes_on(self, asked: PreAnswer[bool], log: ChangeLog) -> bool:
        try:
            return asked.ask(self.state.info, self.snapshot, log)
        except PriorityError as error:
            raise SchedulingError(failed("PreScore", asked.name, Status.failure(str(error))).message) from error

    def _one(self, name: str, *, emptied: bool) -> tuple[Scores, Scores]:
        """(raw, final): of a plugin over columns from what is remembered, or anew over nodes that look empty."""
        if name in self.compiled.own_scores:
            return self._own(name)
        constant = self.state.constants.get(name)
        if constant is not None:
            return constant, constant
        score = self.state.scores[name]
        try:
            if emptied:
                return normalised(
                    score.config, self.state.info, self.view, score.config.map(self.state.info, self.view)
                )
            return raw_and_reduced(self.state.info, score, self.view, self.feasible)
        except PriorityError as error:
            raise SchedulingError(score_failed(name, error)) from error

    def _own(self, name: str) -> tuple[IntArray, IntArray]:
        plugin = self.compiled.own_scores[name]
        raw = score_rows(plugin, self.cycle, self.pod, self.view)
        final = normalize_rows(plugin, self.cycle, self.pod, raw)
        for at, score in enumerate(final.tolist()):
            if not 0 <= score <= MAX_NODE_SCORE:
                refuse_score(plugin, self.pod.key, self.view.names[at], out_of_range(name, score))
                raise SchedulingError(out_of_range(name, score))
        return raw, final


class EmptiedNodes(Snapshot):
    """A snapshot whose rows have lost what is not in the node object itself.

    Counts over a topology are those of the whole cluster all the same. Upstream: 1.36 builds new NodeInfos from the
    nodes that an extender's filter answers as objects.
    """

    __slots__ = ()

    @classmethod
    def of(cls, snapshot: Snapshot) -> EmptiedNodes:
        """The rows of a snapshot, emptied."""
        return cls(snapshot._columns, snapshot.objects, snapshot.rows, snapshot.changes)

    def take(self, rows: IntArray) -> EmptiedNodes:
        """Only these rows."""
        return EmptiedNodes(self._columns, self.objects, rows, self.changes)

    @property
    def requested(self) -> IntArray:
        """(R, n) int64: zeros."""
        return np.zeros_like(super().requested)

    @property
    def nonzero(self) -> IntArray:
        """(2, n) int64: zeros."""
        return np.zeros_like(super().nonzero)

    @property
    def pod_count(self) -> IntArray:
        """(n,) int64: zeros."""
        return np.zeros_like(super().pod_count)

    def image(self, name: str) -> tuple[IntArray, IntArray]:
        """((n,) size, (n,) number of nodes) of an image: zeros, no node has it."""
        sizes, counts = super().image(name)
        return np.zeros_like(sizes), np.zeros_like(counts)

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:
        """(n,) int64: counts by node are zeros, those by topology stay."""
        counts = super().counts(tally, nominated=nominated)
        return counts if tally.column is not None else np.zeros_like(counts)


class HeapTie:
    """Stands for the release's own choice: the root of a heap over all scored nodes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def choose(self, tied: IntArray, ranks: IntArray) -> int:  # noqa: ARG002
        """The first of the rows with the highest total, where no heap decides."""
        return int(tied[0])


Order = list[int]
"""Positions of nodes, laid out as a binary max-heap of their totals."""


def heap_of(totals: Sequence[Any]) -> Order:
    """The positions of totals as a binary max-heap, built in place from their order. Upstream: Go's heap.Init."""
    heap = list(range(len(totals)))
    for at in reversed(range(len(heap) // 2)):
        _sift(heap, totals, at, len(heap))
    return heap


def pop_root(heap: Order, totals: Sequence[Any]) -> int:
    """Takes the root out of a heap and returns its position in ``totals``. Upstream: Go's heap.Pop."""
    last = len(heap) - 1
    heap[0], heap[last] = heap[last], heap[0]
    _sift(heap, totals, 0, last)
    return heap.pop()


def _sift(heap: Order, totals: Sequence[Any], at: int, end: int) -> None:
    """Moves a node down until no child is greater; of two equal children the left one goes up."""
    while (child := 2 * at + 1) < end:
        if child + 1 < end and totals[heap[child + 1]] > totals[heap[child]]:
            child += 1
        if totals[heap[child]] <= totals[heap[at]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


def heap_root(totals: IntArray, ranks: IntArray | None = None) -> int:
    """The position that a binary max-heap of (total, rank), built from the list as it is, has at its root.

    totals: (n,) in list order, n ≥ 1. ranks: (n,), None: all equal. Upstream: 1.36 selectHost, newNodeScoreHeap.
    """
    if ranks is not None:
        return heap_of(list(zip(totals.tolist(), ranks.tolist(), strict=True)))[0]
    # Of the greatest, the first by node, left subtree, right subtree.
    at = np.flatnonzero(totals == totals.max())
    if len(at) == 1 or at[0] == 0:
        return int(at[0])
    levels = np.frexp(at + 1)[1]
    paths = (at + 1) << (levels[-1] - levels)
    return int(at[np.lexsort((levels, paths))[0]])


def random_ranks(size: int, scored: IntArray, rng: random.Random) -> IntArray:
    """(n,) 0, or a random number for the positions that an extender scored."""
    ranks = np.zeros(size, np.int64)
    ranks[scored] = [rng.getrandbits(62) for _ in range(len(scored))]
    return ranks
