"""Score: PreScore and custom plugins, nodes that look empty, and 1.36's choice among equal totals by a heap."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.pod_counts import Tally
from clusterstate.snapshot import Snapshot
from kubescheduler.core.filter_and_score import Scored, Scoring
from kubescheduler.core.pod_classes import PreAnswer, Scores
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.framework.contract.custom_plugins import refuse_score
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.runs import Laps, failed, out_of_range
from kubescheduler.framework.deciding.adapters import ask_pre_score, normalize_rows, score_rows
from kubescheduler.framework.deciding.compiled_profile import Compiled
from priorities.types import MAX_NODE_SCORE, PriorityError


class PluginScoring(Scoring, frozen=True, eq=False, kw_only=True):
    """One attempt's PreScore and Score plugins over the nodes that pass."""

    pod: Pod
    compiled: Compiled
    cycle: CycleState
    skips: frozenset[Code]
    """The codes by which PreScore says that the plugin gives no score."""
    laps: Laps | None
    """What times the points; None where nothing is measured."""

    def run(self, log: ChangeLog) -> Scored:
        """See Scoring."""
        scored = super().run(log)
        if self.laps is not None:
            self.laps.end()
        return scored

    def asked(self, log: ChangeLog) -> Iterable[str]:
        """The plugins that PreScore leaves."""
        if self.laps is not None:
            self.laps.end(then="PreScore")
        skipped = self._pre_score(log)
        if self.laps is not None:
            self.laps.end(then="Score")
        return [name for name in self.weights if name not in skipped]

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

    def one(self, name: str) -> tuple[Scores, Scores]:
        """See Scoring; custom plugins are called."""
        return self._own(name) if name in self.compiled.own_scores else super().one(name)

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
