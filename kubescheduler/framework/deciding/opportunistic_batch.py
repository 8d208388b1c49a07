"""Opportunistic batching (1.36): a pod like the one before, which filled its node, takes the next node of its ranking.

Pods are alike that have the same signature: what every PreFilter, Filter, PreScore and Score plugin of the profile
reads of a pod. No pod has one where a plugin cannot sign, and none in a scheduler with extenders. Where the last chosen
node does not refuse the pod, the ranking is of no use, as nobody knows how that node would score now.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Any

import msgspec
import numpy as np

from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from kubescheduler.core.selection import TieBreak
from kubescheduler.framework.contract.custom_plugins import custom_fragments
from kubescheduler.framework.contract.frame import Frame
from kubescheduler.framework.contract.plugin import Fragments, Plugin, Sign, SignedPod, never_signed
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runs import Observer
from kubescheduler.framework.deciding.adapters import column_check, column_score
from kubescheduler.framework.deciding.score_plugins import HeapTie, Order, heap_of, pop_root

Signature = Fragments
"""Of a pod; compared by value."""


class KeptRanking(msgspec.Struct, eq=False):
    """Feasible nodes, best first; nothing is ordered before the first node is asked for."""

    names: tuple[str, ...]
    """By row."""
    feasible: IntArray
    """(n,) rows in the order in which they were scored."""
    totals: IntArray
    """(n,) what they scored."""
    ranks: IntArray
    """(N,) every row's place in the order of names."""
    tie_break: TieBreak
    chosen: int
    """The row that was taken at once."""
    signature: Signature
    """Of the pod that was scored."""
    since: float
    """When that was, in seconds."""
    left: int = 0
    """How many nodes it still has: at first all but the chosen one."""
    _heap: Order | None = None
    _there: Mask | None = None

    def __post_init__(self) -> None:
        self.left = len(self.feasible) - 1

    def pop(self) -> str:
        """The name of the best node that is left, which is no longer left then. Upstream: sortedNodeScores.Pop."""
        self.left -= 1
        row = self._next_of_heap() if isinstance(self.tie_break, HeapTie) else self._next_by_tie_break()
        return self.names[row]

    def take(self, rows: IntArray) -> None:
        """Takes rows away that were found to be the next ones, one after the other, without asking the tie rule."""
        self.left -= len(rows)
        self._there = (self.feasible != self.chosen) & ~np.isin(self.feasible, rows)

    def _next_of_heap(self) -> int:
        totals = self.totals.tolist()
        if self._heap is None:
            self._heap = heap_of(totals)
            pop_root(self._heap, totals)
        return int(self.feasible[pop_root(self._heap, totals)])

    def _next_by_tie_break(self) -> int:
        if self._there is None:
            self._there = self.feasible != self.chosen
        there = np.flatnonzero(self._there)
        totals = self.totals[there]
        tied = there[totals == totals.max()]
        row = self.tie_break.choose(self.feasible[tied], self.ranks)
        self._there &= self.feasible != row
        return row


MAX_AGE = 0.5
"""Seconds for which a ranking is kept."""

SIGNED_POINTS = (Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE)
SCHEDULER_NAME = "schedulerName"


class Turn(msgspec.Struct, frozen=True):
    """Where an attempt stands in the row of all attempts of a scheduler."""

    number: int
    """Of the scheduling cycle: one more with every pod that leaves the queue."""
    now: float
    """Seconds."""


class TurnNumbers(msgspec.Struct):
    """Numbers the attempts of a scheduler that places one pod after the other."""

    last: int = 0
    """The number of the last attempt; 0: there was none."""

    def take(self, count: int = 1) -> int:
        """The number of the last of the next attempts."""
        self.last += count
        return self.last


def signs_of(frame: Frame) -> tuple[Sign, ...] | None:
    """How the plugins of a profile sign pods; None: none can have a signature. Upstream: computeBatchablePlugins."""
    plugins = {plugin.name: plugin for point in SIGNED_POINTS for plugin in frame.at(point)}
    signs = list(dict.fromkeys(map(sign_of, plugins.values())))
    known = tuple(sign for sign in signs if sign is not None and sign is not never_signed)
    return known if len(known) == len(signs) else None


def sign_of(plugin: Plugin) -> Sign | None:
    """How a plugin signs pods; None: it does not."""
    if column_check(plugin) is not None or column_score(plugin) is not None:
        sign: Sign | None = getattr(plugin, "sign", None)
        return sign
    if not callable(getattr(plugin, "sign_pod", None)):
        return None

    def sign_pod(given: SignedPod) -> Fragments | None:
        try:
            return custom_fragments(plugin, given.pod)
        except SchedulingError:
            return None

    return sign_pod


class OpportunisticBatch(msgspec.Struct, eq=False):
    """What a profile keeps from one attempt for the next. Upstream: 1.36 OpportunisticBatch.

    What could not be used is not thrown away at once: it is replaced, or dropped, by the next pod that gets a node.
    """

    signs: tuple[Sign, ...] | None
    """How plugins sign pods; None: no pod has a signature."""
    observer: Observer
    profile: str
    _kept: KeptRanking | None = None
    _last: tuple[int, str] = (0, "")
    """The number and the node of the last attempt that found one."""

    def signature(self, given: SignedPod) -> Signature | None:
        """The signature of a pod; None: it has none. Upstream: frameworkImpl.SignPod."""
        if self.signs is None:
            return None
        signature: dict[str, Any] = {SCHEDULER_NAME: given.info.spec.scheduler_name}
        for sign in self.signs:
            fragments = sign(given)
            if fragments is None:
                return None
            signature.update(fragments)
        return signature

    def hint(self, turn: Turn, signature: Signature | None, is_full: Callable[[str], bool | None]) -> str:
        """The node to try first, which is no longer in the ranking then; empty when there is none.

        is_full: whether the last chosen node refuses the pod; None: it is gone. Upstream: GetNodeHint.
        """
        kept = self._usable(turn, signature, is_full)
        if kept is None:
            self.observer.batch_attempt("no_hint", self.profile)
            return ""
        return kept.pop()

    def _usable(
        self, turn: Turn, signature: Signature | None, is_full: Callable[[str], bool | None]
    ) -> KeptRanking | None:
        """What is kept, if the pod may take a node of it."""
        kept = self._kept
        if kept is None or not kept.left:
            return None
        reason = next(self._obstacles(kept, turn, signature, is_full), "")
        if not reason:
            return kept
        self.observer.batch_flushed(reason, self.profile)
        return None

    def _obstacles(
        self, kept: KeptRanking, turn: Turn, signature: Signature | None, is_full: Callable[[str], bool | None]
    ) -> Iterator[str]:
        """Why it may not, in upstream's order. An attempt that failed makes the next number skip it."""
        number, node = self._last
        if turn.number != number + 1:
            yield "pod_skipped"
        if signature is None or signature != kept.signature:
            yield "pod_incompatible"
        if turn.now > kept.since + MAX_AGE:
            yield "expired"
        full = is_full(node)
        if full is None:
            yield "node_missing"
        if not full:
            yield "node_not_full"

    def store(
        self,
        turn: Turn,
        hint: str,
        chosen: str,
        ranking: KeptRanking | None,
        *,
        others: int,
    ) -> None:
        """An attempt found a node. ranking: of the nodes that were scored; None: none were, or the pod is not signed.
        others: how many were scored beside the chosen one.

        Upstream: StoreScheduleResults.
        """
        self._last = turn.number, chosen
        if hint == chosen:
            self.observer.batch_attempt("hint_used", self.profile)
            return
        if hint:
            self.observer.batch_attempt("hint_not_used", self.profile)
        if ranking is not None and others:
            self._kept = ranking
            return
        self.observer.batch_flushed("pod_not_batchable" if others else "empty_list", self.profile)
        self._kept = None

    def may_hint(self, number: int, fitting: Container[str]) -> bool:
        """Whether the attempt of a number may get a node of what is kept. fitting: the nodes that fit its pod."""
        last, node = self._last
        return self._kept is not None and bool(self._kept.left) and number == last + 1 and node not in fitting

    def resume(self, turn: Turn, host: str, kept: KeptRanking | None) -> None:
        """As it is after attempts that were made in bulk. turn, host: of the last of them. kept: what it left."""
        self._last = turn.number, host
        self._kept = kept


def no_batching(_: Frame, __: bool) -> None:
    """Releases before 1.35 score the nodes for every pod."""


def opportunistic_batching(frame: Frame, extenders: bool) -> OpportunisticBatch | None:
    """What a profile keeps, None with the gate off. extenders: whether the scheduler has any; then no pod is signed."""
    if not frame.feature_gates.get("OpportunisticBatching", True):
        return None
    return OpportunisticBatch(None if extenders else signs_of(frame), frame.observer, frame.profile_name)
