"""Verdicts and scores remembered per pod class, and brought up to date row by row.

What a rule found for all rows stays valid for rows that have not changed, if the rule is local; a rule that
looks further is run again when something it reads has changed. Arrays are never written to once they were
handed out: bringing them up to date makes new ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from clusterstate.changes import LOCAL, ChangeLog, Reads, flags_of
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from predicates.types import FitPredicate, NodeError, Verdict
from priorities.types import PriorityConfig

PATCH_SHARE = 8
"""Rows are patched while fewer than 1/8 of all of them changed."""
MEMORY = 1 << 27
"""Bytes that remembered rows may take, about."""

Part = tuple[IntArray, Snapshot]
"""Rows, and the snapshot over just them."""


class Refresh:
    """The rows that changed since a group of results was last brought up to date, by what changed on them."""

    __slots__ = ("_parts", "log", "position", "snapshot")

    def __init__(self, snapshot: Snapshot, log: ChangeLog, position: int) -> None:
        self.snapshot = snapshot
        self.log = log
        self.position = position
        self._parts: dict[int, Part | None] = {}

    def part(self, local: int) -> Part | None:
        """The changed rows for a rule that reads ``local`` (NODE, PODS or both) of them; None: all rows."""
        if local in self._parts:
            return self._parts[local]
        rows = self.log.rows_since(self.position, local)
        part = None
        if rows is not None and len(rows) * PATCH_SHARE <= len(self.snapshot):
            at = np.array(rows, np.int64)
            part = at, self.snapshot.take(at)
        self._parts[local] = part
        return part


class Remembered:
    """One rule's results. ``stale`` is the part to look at again; an empty one when nothing changed."""

    __slots__ = ("_far", "_local", "_size", "_version")

    def __init__(self, reads: Reads) -> None:
        self._far = flags_of(reads & ~LOCAL)
        self._local = (reads & LOCAL).value
        self._version = -1
        self._size = -1

    def stale(self, refresh: Refresh) -> Part | None:
        """None: every row."""
        version = refresh.log.version_of(self._far) if self._far else 0
        size = len(refresh.snapshot)
        if self._size != size or self._version != version:
            self._version, self._size = version, size
            return None
        return refresh.part(self._local)


class CheckState(Remembered):
    """One predicate's verdict on all rows for one pod class.

    failing: (N,) bool, any reason or error; None when no row fails. erring: some row has an error.
    """

    __slots__ = ("erring", "failing", "predicate", "verdict")

    def __init__(self, predicate: FitPredicate) -> None:
        super().__init__(predicate.reads)
        self.predicate = predicate
        self.verdict: Verdict = {}
        self.failing: Mask | None = None
        self.erring = False

    def refresh(self, pod: PodInfo, refresh: Refresh) -> None:
        part = self.stale(refresh)
        if part is None:
            self.verdict = self.predicate.check(pod, refresh.snapshot)
        elif not len(part[0]):
            return
        else:
            patched = _patched(self.verdict, self.predicate.check(pod, part[1]), part[0], len(refresh.snapshot))
            if patched is self.verdict:
                return
            self.verdict = patched
        self.failing = failing(self.verdict)
        self.erring = any(isinstance(reason, NodeError) and mask.any() for reason, mask in self.verdict.items())


def failing(verdict: Verdict) -> Mask | None:
    """(n,) bool, the rows that fail for any reason; None when none does."""
    out: Mask | None = None
    for mask in verdict.values():
        if mask.any():
            out = mask if out is None else out | mask
    return out


def _patched(old: Verdict, new: Verdict, rows: IntArray, size: int) -> Verdict:
    """``old`` with what ``new`` says of some rows; ``old`` itself when that is the same."""
    out = old
    for reason in old.keys() | new.keys():
        before, now = old.get(reason), new.get(reason)
        if before is None and now is not None and now.any():
            before = np.zeros(size, np.bool_)
        if before is None:
            continue
        there = before[rows]
        if (there != now).any() if now is not None else there.any():
            mask = before.copy()
            mask[rows] = False if now is None else now
            out = {**out, reason: mask}
    return out if out is old else {r: out[r] for r in dict.fromkeys((*new, *out)) if r in out}


class ScoreState(Remembered):
    """One priority's mapped numbers on all rows for one pod class.

    raw: (N,) int64. uniform: the one number that every row has, None when they differ or nobody asked.
    """

    __slots__ = ("config", "raw", "reduced", "uniform")

    def __init__(self, config: PriorityConfig) -> None:
        super().__init__(config.reads)
        self.config = config
        self.raw: IntArray = np.zeros(0, np.int64)
        self.uniform: int | None = None
        self.reduced: dict[int, int] = {}

    def refresh(self, pod: PodInfo, refresh: Refresh) -> None:
        part = self.stale(refresh)
        if part is None:
            self.raw = self.config.map(pod, refresh.snapshot)
        elif not len(part[0]):
            return
        else:
            rows, over = part
            now = self.config.map(pod, over)
            if (self.raw[rows] == now).all():
                return
            self.raw = self.raw.copy()
            self.raw[rows] = now
        self.uniform = None
        if self.config.valuewise and len(self.raw) and _same_everywhere(self.raw):
            self.uniform = int(self.raw[0])


def _same_everywhere(numbers: IntArray) -> bool:
    return numbers.strides[0] == 0 or bool((numbers == numbers[0]).all())


class ClassState:
    """Everything remembered for one pod class under one algorithm."""

    __slots__ = ("_checked", "_scored", "checks", "constants", "info", "scores")

    def __init__(self, info: PodInfo, algorithm: Algorithm) -> None:
        self.info = info
        self.checks = [CheckState(p) for p in algorithm.predicates if p.applies(info)]
        self.constants: dict[str, int] = {}
        self.scores: dict[str, ScoreState] = {}
        self._checked = self._scored = -1
        for priority in algorithm.priorities:
            constant = priority.config.constant(info)
            if constant is None:
                self.scores[priority.config.name] = ScoreState(priority.config)
            else:
                self.constants[priority.config.name] = constant

    def check(self, snapshot: Snapshot, log: ChangeLog) -> None:
        """Brings every verdict up to date."""
        refresh = Refresh(snapshot, log, self._checked)
        self._checked = log.position
        for state in self.checks:
            state.refresh(self.info, refresh)

    def score(self, snapshot: Snapshot, log: ChangeLog) -> None:
        """Brings every priority's numbers up to date."""
        refresh = Refresh(snapshot, log, self._scored)
        self._scored = log.position
        for state in self.scores.values():
            state.refresh(self.info, refresh)


class Memory:
    """The remembered pod classes, the least recently used forgotten first."""

    def __init__(self) -> None:
        self._states: OrderedDict[PodInfo, ClassState] = OrderedDict()

    def state(self, info: PodInfo, make: Callable[[PodInfo], ClassState], rows: int) -> ClassState:
        state = self._states.get(info)
        if state is None:
            state = self._states[info] = make(info)
            most = max(16, MEMORY // (160 * max(rows, 1)))
            while len(self._states) > most:
                self._states.popitem(last=False)
        else:
            self._states.move_to_end(info)
        return state
