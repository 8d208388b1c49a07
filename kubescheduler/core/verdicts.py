"""Verdicts and scores of one rule remembered for pods that are alike to it, and brought up to date row by row.

What a rule found for all rows stays valid for rows that have not changed, if the rule is local; a rule that
looks further is run again when something it reads has changed. Arrays are never written to once they were
handed out: bringing them up to date makes new ones.
"""

from __future__ import annotations

import numpy as np

from clusterstate.changes import BY_ROW, PODS_ANYWHERE, ChangeLog, Reads, flags_of
from clusterstate.counting.row_amounts import Amounts
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_traits import StorageTraits
from clusterstate.snapshot import Snapshot
from clusterstate.topology.topology_scope import Scope, TopologyScope
from kubescheduler.core.holding.usage_answers import PASSES, SINGLE_ROWS, RowVerdict, UsageAnswers, with_rows
from predicates.types import FitPredicate, NodeError, Verdict, never
from predicates.verdict_masks import failing, unresolvable
from priorities.types import PriorityConfig, PriorityError

NODE = Reads.NODE.value
CLAIMS = Reads.CLAIMS.value

PATCH_SHARE = 8
"""Rows are patched while there are fewer changes than 1/8 of all rows, or just one."""

FEW_ROWS, MOST_AMOUNTS = 8, 4096
"""Rows whose scores are looked up by their amounts, and amounts of which the score is remembered."""

Part = tuple[IntArray, Snapshot]
"""Rows, and the snapshot over just them."""


class Refresh:
    """The rows that changed since a group of results was last brought up to date, by what changed on them."""

    __slots__ = ("_parts", "_recent", "log", "since", "snapshot")

    def __init__(self, snapshot: Snapshot, log: ChangeLog, position: int) -> None:
        self.snapshot = snapshot
        self.log = log
        self.since = position
        self._recent = log.since(position)
        self._parts: dict[tuple[int, ...], Part] = {}

    @property
    def nodes_changed(self) -> bool:
        """Whether some node object changed."""
        return self.log.nodes_until > self.since

    def rows(self, local: int) -> tuple[int, ...] | None:
        """The distinct rows of which something in ``local`` changed, flags of BY_ROW; None: all, or too many."""
        recent = self._recent
        if recent is None or (len(recent) > 1 and len(recent) * PATCH_SHARE > len(self.snapshot)):
            return None
        if len(recent) == 1:
            row, what = recent[0]
            return (row,) if what & local else ()
        return tuple(dict.fromkeys([row for row, what in recent if what & local]))

    def part(self, rows: tuple[int, ...]) -> Part:
        """The snapshot over some rows; rules that ask for the same rows share it."""
        part = self._parts.get(rows)
        if part is None:
            at = np.array(rows, np.int64)
            part = self._parts[rows] = at, self.snapshot.take(at)
        return part


class Refreshes:
    """What changed since any of some positions of the log, looked up once for each."""

    __slots__ = ("_by_position", "log", "snapshot")

    def __init__(self, snapshot: Snapshot, log: ChangeLog) -> None:
        self.snapshot = snapshot
        self.log = log
        self._by_position: dict[int, Refresh] = {}

    def since(self, position: int) -> Refresh:
        """The rows that changed after a position."""
        found = self._by_position.get(position)
        if found is None:
            found = self._by_position[position] = Refresh(self.snapshot, self.log, position)
        return found


class Remembered:
    """When one rule's results were worked out.

    position: that of the log then.
    """

    __slots__ = (
        "__weakref__",
        "_claims",
        "_far",
        "_led_to",
        "_local",
        "_scope",
        "_scoped",
        "_size",
        "_steady",
        "_steady_version",
        "_storage",
        "_version",
        "of_own_pods",
        "of_pods_anywhere",
        "position",
    )

    def __init__(self, reads: Reads, storage: StorageTraits | None = None, scope: Scope | None = None) -> None:
        """storage: what is read of claims and volumes for the pod; None: all of them where ``reads`` has them. scope:
        how far pods on a row matter to others; None: pods on any row may matter to all."""
        self._storage = storage if reads & Reads.CLAIMS else None
        self._far = flags_of(reads & ~BY_ROW & (~Reads.CLAIMS if self._storage else ~Reads(0)))
        self._local = (reads & BY_ROW).value
        self.of_pods_anywhere = bool(reads & PODS_ANYWHERE)
        """It follows from more pods than those on the row itself."""
        self.of_own_pods = bool(reads & (Reads.PODS | Reads.PODS_VOLUMES))
        """It follows from the pods on the row itself."""
        self._scope = scope if self.of_pods_anywhere else None
        self._scoped: TopologyScope | None = None
        self._steady = flags_of(Reads(sum(self._far)) & ~PODS_ANYWHERE)
        self._steady_version = -1
        self._claims = -1
        self._led_to: object = None
        self._version = -1
        self._size = -1
        self.position = -1

    @property
    def of_nodes(self) -> bool:
        """It follows from the row's node object alone."""
        return not self._far and self._local == NODE and self._storage is None

    @property
    def far(self) -> tuple[int, ...]:
        """What it reads besides the row, as flags."""
        return self._far if self._storage is None else (*self._far, CLAIMS)

    def may_have_changed(self, log: ChangeLog) -> bool:
        """Whether something besides rows has changed that it reads, claims apart, or it reads the pods of rows too."""
        return self.of_own_pods or self._version != (log.version_of(self._far) if self._far else 0)

    def forget(self) -> None:
        """The next time every row is looked at."""
        self._size = -1

    def stale(self, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        """The rows to look at again, none when nothing changed; None: every row."""
        if self._storage is not None and self._claims != refresh.log.versions[CLAIMS]:
            self._claims = refresh.log.versions[CLAIMS]
            led_to = self._storage(pod, refresh.snapshot)
            if led_to != self._led_to:
                self._led_to = led_to
                self.forget()
        version = refresh.log.version_of(self._far) if self._far else 0
        size = len(refresh.snapshot)
        if self._size != size or self._version != version:
            rows = None if self._scope is None else self._within(self._scope, pod, refresh)
            self._version, self._size = version, size
            return rows
        return refresh.rows(self._local) if self._local else ()

    def _within(self, scope: Scope, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        """The rows to look at again as pods have come and gone; None: every row."""
        snapshot, known = refresh.snapshot, self._scoped
        steady, self._steady_version = self._steady_version, refresh.log.version_of(self._steady)
        if known is None or self._size != len(snapshot) or self._steady_version != steady:
            self._scoped = scope(pod, snapshot)
            return None
        if not known.stands(snapshot):
            before, known = known, scope(pod, snapshot)
            self._scoped = known
            if known is None or not known.follows(before):
                return None
        near = known.changed_rows(snapshot, len(snapshot) // PATCH_SHARE)
        if near is None or not self._local:
            return near
        rows = refresh.rows(self._local)
        return None if rows is None else tuple(dict.fromkeys((*rows, *near)))


class CheckState(Remembered):
    """One predicate's verdict on all rows for pods that are alike to it.

    failing: (N,) bool, any reason or error; None when no row fails. erring: some row has an error.
    unresolvable: (N,) bool, the failing rows that taking pods away cannot mend, None when there is none; kept for
    framework releases, whose rules say so. skipped: the rule has nothing to say this time.
    """

    __slots__ = ("_moment", "by_usage", "erring", "failing", "predicate", "skipped", "unresolvable", "verdict")

    def __init__(self, predicate: FitPredicate, info: PodInfo) -> None:
        super().__init__(predicate.reads_for(info), predicate.storage, predicate.scope)
        self.predicate = predicate
        self.by_usage = UsageAnswers(predicate) if not self.far and predicate.by_usage(info) else None
        """What it says of single rows, where that follows from the amounts there."""
        self.verdict: Verdict = {}
        self.failing: Mask | None = None
        self.unresolvable: Mask | None = None
        self.erring = False
        self.skipped = False
        self._moment = 0

    def refresh(self, pod: PodInfo, refreshes: Refreshes) -> tuple[int, ...] | None:
        """Brings the verdict up to date for the rows that changed, or for all when time has changed it; the rows that
        were looked at, None: every row."""
        refresh = refreshes.since(self.position)
        rows = self._refresh(pod, refresh)
        self.position = refreshes.log.position
        return rows

    def _refresh(self, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        if self.predicate.moment is not None:
            moment = self.predicate.moment(pod, refresh.snapshot)
            if moment != self._moment:
                self._moment = moment
                self.forget()
        rows = self.stale(pod, refresh)
        if rows is None:
            self.verdict = self.predicate.check(pod, refresh.snapshot)
            self.failing = failing(self.verdict)
            self.unresolvable = unresolvable(self.predicate, pod, refresh.snapshot, self.verdict, self.failing)
            self.erring = any(isinstance(reason, NodeError) and mask.any() for reason, mask in self.verdict.items())
        elif rows and not self._patch_by_usage(pod, rows, refresh.snapshot):
            at, part = refresh.part(rows)
            size = len(refresh.snapshot)
            patched = _patched(self.verdict, self.predicate.check(pod, part), rows, size)
            if patched is not self.verdict:
                self.verdict = patched
                self.failing = _patched_failing(self.failing, patched, rows, size)
                self.erring = any(isinstance(reason, NodeError) and mask.any() for reason, mask in patched.items())
            self._patch_unresolvable(pod, at, part)
        return rows

    def row_verdict(self, row: int) -> RowVerdict:
        """What it says of a row, as of the last time."""
        if self.failing is None or not self.failing[row]:
            return PASSES
        reasons = tuple([reason for reason, mask in self.verdict.items() if mask[row]])
        return reasons, self.unresolvable is not None and bool(self.unresolvable[row])

    def _patch_by_usage(self, pod: PodInfo, rows: tuple[int, ...], snapshot: Snapshot) -> bool:
        """Brings a few rows up to date by what is said of rows with equal amounts; False: nothing was done."""
        if self.by_usage is None or self.erring or len(rows) > SINGLE_ROWS:
            return False
        said = [(row, *self.by_usage.of(row, pod, snapshot)) for row in rows]
        given = {reason for _, reasons, _ in said for reason in reasons}
        if not given <= self.verdict.keys() or any(isinstance(reason, NodeError) for reason in given):
            return False
        verdict = self.verdict
        for reason, mask in self.verdict.items():
            patched = with_rows(mask, [(row, reason in reasons) for row, reasons, _ in said], self._size)
            if patched is not None and patched is not mask:
                verdict = {**verdict, reason: patched}
        if verdict is not self.verdict:
            self.verdict = verdict
            refused = with_rows(self.failing, [(row, bool(reasons)) for row, reasons, _ in said], self._size)
            self.failing = None if refused is None or not refused.any() else refused
        self.unresolvable = with_rows(self.unresolvable, [(row, beyond) for row, _, beyond in said], self._size)
        return True

    def _patch_unresolvable(self, pod: PodInfo, rows: IntArray, part: Snapshot) -> None:
        """Some rows may be beyond help now, or no longer."""
        if not self._may_be_beyond():
            return
        if self.failing is None:
            self.unresolvable = None
            return
        here = {reason: mask[rows] for reason, mask in self.verdict.items()}
        now = unresolvable(self.predicate, pod, part, here, self.failing[rows])
        before = np.zeros(len(self.failing), np.bool_) if self.unresolvable is None else self.unresolvable
        if (before[rows] != (False if now is None else now)).any():
            self.unresolvable = before.copy()
            self.unresolvable[rows] = False if now is None else now

    def _may_be_beyond(self) -> bool:
        """Whether taking pods away may not mend a row that fails, or failed."""
        if self.unresolvable is not None or (self.predicate.beyond is not None and self.failing is not None):
            return True
        beyond = self.predicate.unresolvable
        return beyond is not never and any(not isinstance(r, NodeError) and beyond(r) for r in self.verdict)


def _patched(old: Verdict, new: Verdict, rows: tuple[int, ...], size: int) -> Verdict:
    """``old`` with what ``new`` says of some rows; ``old`` itself when that is the same."""
    out = old
    for reason in old.keys() | new.keys():
        before, now = old.get(reason), new.get(reason)
        said = [False] * len(rows) if now is None else now.tolist()
        if before is None:
            if not any(said):
                continue
            before = np.zeros(size, np.bool_)
        moved = [(row, fails) for row, fails in zip(rows, said, strict=True) if before[row] != fails]
        if moved:
            mask = before.copy()
            for row, fails in moved:
                mask[row] = fails
            out = {**out, reason: mask}
    return out if out is old else {r: out[r] for r in dict.fromkeys((*new, *out)) if r in out}


def _patched_failing(old: Mask | None, verdict: Verdict, rows: tuple[int, ...], size: int) -> Mask | None:
    """(n,) bool, the rows that fail now, of which some may be others than before; None when none does."""
    out = np.zeros(size, np.bool_) if old is None else old.copy()
    for row in rows:
        out[row] = any([mask[row] for mask in verdict.values()])  # noqa: C419
    return out if np.count_nonzero(out) else None


class ScoreState(Remembered):
    """One priority's mapped numbers on all rows for pods that are alike to it.

    raw: (N,) int64. uniform: the one number that every row has, None when they differ or it does not help.
    failed: the last time ended in an error.
    """

    __slots__ = ("_by_amounts", "config", "failed", "raw", "reduced", "uniform")

    def __init__(self, config: PriorityConfig, info: PodInfo) -> None:
        super().__init__(config.reads_for(info), config.storage, config.scope)
        self.config = config
        self.raw: IntArray = np.zeros(0, np.int64)
        self.uniform: int | None = None
        self.reduced: dict[int, int] = {}
        self.failed = False
        self._by_amounts: dict[Amounts, int] = {}

    def refresh(self, pod: PodInfo, refreshes: Refreshes) -> None:
        """Brings the scores up to date for the rows that changed."""
        refresh = refreshes.since(self.position)
        self.position = refreshes.log.position
        rows = self.stale(pod, refresh)
        if rows == ():
            return
        self.failed = False
        try:
            if not self._map(pod, refresh, rows):
                return
        except PriorityError:
            self.failed = True
            self.forget()
            raise
        self.uniform = None
        if (self.config.valuewise or self.config.reduce is None) and len(self.raw) and same_everywhere(self.raw):
            self.uniform = int(self.raw[0])

    def _map(self, pod: PodInfo, refresh: Refresh, rows: tuple[int, ...] | None) -> bool:
        """Brings ``raw`` up to date; whether it changed."""
        if rows is None:
            self._by_amounts.clear()
            self.raw = self.config.map(pod, refresh.snapshot)
            return True
        if len(rows) <= FEW_ROWS and self.config.by_usage(pod):
            return self._put(rows, self._numbers(pod, refresh, rows))
        at, part = refresh.part(rows)
        now = self.config.map(pod, part)
        if (self.raw[at] == now).all():
            return False
        self.raw = self.raw.copy()
        self.raw[at] = now
        return True

    def _numbers(self, pod: PodInfo, refresh: Refresh, rows: tuple[int, ...]) -> list[int]:
        """The numbers of a few rows, which are worked out once for equal amounts."""
        known = self._by_amounts
        amounts = [refresh.snapshot.amounts(row) for row in rows]
        if not all(one in known for one in amounts):
            if len(known) >= MOST_AMOUNTS:
                known.clear()
            known.update(zip(amounts, self.config.map(pod, refresh.part(rows)[1]).tolist(), strict=True))
        return [known[one] for one in amounts]

    def _put(self, rows: tuple[int, ...], numbers: list[int]) -> bool:
        """Sets the numbers of a few rows; whether one changed."""
        moved = [(row, number) for row, number in zip(rows, numbers, strict=True) if self.raw[row] != number]
        if moved:
            self.raw = self.raw.copy()
            for row, number in moved:
                self.raw[row] = number
        return bool(moved)


def same_everywhere(numbers: IntArray) -> bool:
    """Whether one or more numbers are all equal; mostly told from a few of them."""
    if numbers.strides[0] == 0:
        return True
    first = numbers[0]
    return bool(numbers[-1] == first and numbers[len(numbers) // 2] == first and (numbers == first).all())
