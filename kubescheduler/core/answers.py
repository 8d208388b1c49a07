"""What rules say of rows for pods of one class, remembered and brought up to date for dirty rows.

``Answers`` remembers what is said of a row that looks like this. ``CheckState`` and ``ScoreState`` have one rule's
verdict or number on all rows; its footprint says which of them are dirty. Arrays are never written to once they were
handed out: bringing them up to date makes new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, PODS_ANYWHERE, ChangeLog, Reads, flags_of
from clusterstate.footprint import Footprint, ScopeReading
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.types import FitPredicate, NodeError, Verdict, failing, unresolvable
from priorities.types import PriorityConfig

SINGLE_ROWS = 16
"""Rows of which verdicts are looked up by what the rule sees of them."""
MOST_ANSWERS = 1 << 14
"""So many are remembered; then it is begun anew."""

RowVerdict = tuple[tuple[str, ...], bool]
"""(the reasons for which a row fails, whether taking pods away cannot mend it)."""
PASSES: RowVerdict = (), False

A = TypeVar("A")


class Answers(Generic[A]):
    """What rules say of single rows, by a key of the row: what they see of it, such as the amounts there.

    It holds for pods that are alike to the rules, as long as nothing changes that they see besides.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Hashable, A] = {}

    def forget(self) -> None:
        """Something else has changed that the rules see."""
        self._known.clear()

    def new(self, keys: Sequence[Hashable], rows: Sequence[int]) -> dict[Hashable, int]:
        """Key → a row that has it, of those of which nothing is known."""
        known = self._known
        new = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
        if len(known) + len(new) > MOST_ANSWERS:
            known.clear()
            new = dict(zip(keys, rows, strict=True))
        return new

    def learn(self, new: Iterable[Hashable], said: Iterable[A]) -> None:
        """What is said of rows that have these keys."""
        self._known.update(zip(new, said, strict=True))

    def known(self, keys: Sequence[Hashable]) -> list[A]:
        """(k,) what is said of rows that have these keys; the same object for equal keys."""
        return [self._known[key] for key in keys]

    def of(
        self, keys: Sequence[Hashable], rows: Sequence[int], ask: Callable[[tuple[int, ...]], Iterable[A]]
    ) -> list[A]:
        """The same, with what is new asked for: of rows, each one that has a key."""
        if new := self.new(keys, rows):
            self.learn(new, ask(tuple(new.values())))
        return self.known(keys)


def row_verdicts(predicate: FitPredicate, pod: PodInfo, there: Snapshot) -> list[RowVerdict]:
    """What a predicate says of each row of a snapshot, (n,)."""
    verdict = predicate.check(pod, there)
    refused = failing(verdict)
    if refused is None:
        return [PASSES] * len(there)
    beyond = unresolvable(predicate, pod, there, verdict, refused)
    hopeless = [False] * len(there) if beyond is None else beyond.tolist()
    fails = [(reason, mask.tolist()) for reason, mask in verdict.items()]
    return [(tuple([reason for reason, here in fails if here[at]]), hopeless[at]) for at in range(len(there))]


def with_rows(mask: Mask | None, rows: Sequence[int], values: Sequence[bool], size: int) -> Mask | None:
    """The mask, (size,) bool, with the values of single rows; itself where they had these already. None: no row is
    set."""
    out = mask
    for row, now in zip(rows, values, strict=True):
        if (out is not None and out.item(row)) is not now:
            if out is None:
                out = np.zeros(size, np.bool_)
            elif out is mask:
                out = out.copy()
            out[row] = now
    return out


NODE = Reads.NODE.value
CLAIMS = Reads.CLAIMS.value

PATCH_SHARE = 8
"""Rows are patched while there are fewer changes than 1/8 of all rows, or just one."""


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
        refresh = self._by_position.get(position)
        if refresh is None:
            refresh = self._by_position[position] = Refresh(self.snapshot, self.log, position)
        return refresh


class _Reading(msgspec.Struct, frozen=True):
    """What a rule reads, as flags of Reads."""

    far: tuple[int, ...]
    """Besides the row."""
    besides: tuple[int, ...]
    """Of these, what is not pods."""
    local: int
    """Of the row, added up."""
    of_pods_anywhere: bool
    """It follows from more pods than those on the row itself."""
    of_own_pods: bool
    """It follows from the pods on the row itself."""


@lru_cache
def _reading(reads: Reads) -> _Reading:
    """Found once for each combination."""
    far = reads & ~BY_ROW
    return _Reading(
        flags_of(far),
        flags_of(far & ~PODS_ANYWHERE),
        (reads & BY_ROW).value,
        bool(reads & PODS_ANYWHERE),
        bool(reads & (Reads.PODS | Reads.PODS_VOLUMES)),
    )


class Remembered:
    """When one rule's results were worked out.

    position: that of the log then. of_pods_anywhere, of_own_pods: see what it reads.
    """

    def __init__(self, footprint: Footprint, info: PodInfo) -> None:
        """footprint: the rule's."""
        reads, scope = footprint.reads_for(info), footprint.scope
        self._of_usage = footprint.follows_from_usage(info)
        self._storage = footprint.storage if reads & Reads.CLAIMS else None
        reading = _reading(reads if self._storage is None else reads & ~Reads.CLAIMS)
        self._far, self._local = reading.far, reading.local
        self.of_pods_anywhere, self.of_own_pods = reading.of_pods_anywhere, reading.of_own_pods
        self._scoped = None if scope is None or not reading.of_pods_anywhere else ScopeReading(scope, reading.besides)
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
            rows = self._within(pod, refresh)
            self._version, self._size = version, size
            return rows
        return refresh.rows(self._local) if self._local else ()

    def _seen(self, rows: Sequence[int], snapshot: Snapshot) -> list[Hashable] | None:
        """(k,) all that the rule sees of rows that are to be looked at again; None: more than can be told."""
        if self._of_usage:
            return [snapshot.amounts(row) for row in rows]
        if self._scoped is not None and not self._local:
            return [self._scoped.seen_by(row) for row in rows]
        return None

    def _within(self, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        """The rows to look at again as pods have come and gone; None: every row."""
        scoped, size = self._scoped, len(refresh.snapshot)
        if scoped is None:
            return None
        if self._size != size:
            scoped.forget()
        near = scoped.changed_rows(pod, refresh.snapshot, refresh.log, size // PATCH_SHARE)
        rows = refresh.rows(self._local) if self._local else ()
        return None if near is None or rows is None else tuple(dict.fromkeys((*rows, *near)))


class CheckState(Remembered):
    """One predicate's verdict on all rows for pods that are alike to it.

    failing: (N,) bool, any reason or error; None when no row fails. erring: some row has an error.
    unresolvable: (N,) bool, the failing rows that taking pods away cannot mend, None when there is none; kept for
    framework releases, whose rules say so. skipped: the rule has nothing to say this time.
    """

    def __init__(self, predicate: FitPredicate, info: PodInfo) -> None:
        super().__init__(predicate.footprint, info)
        self.predicate = predicate
        self._of_usage = self._of_usage and not self.far
        self._answers: Answers[RowVerdict] = Answers()
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
        try:
            rows = self._refresh(pod, refresh)
        except BaseException:
            self.forget()
            raise
        self.position = refreshes.log.position
        return rows

    def _refresh(self, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        footprint = self.predicate.footprint
        if footprint.moment is not None:
            moment = footprint.moment(pod, refresh.snapshot)
            if moment != self._moment:
                self._moment = moment
                self.forget()
        rows = self.stale(pod, refresh)
        if rows and not self._patch(rows, self._row_verdicts(pod, rows, refresh)):
            rows = None
        if rows is None:
            self._answers.forget()
            self.verdict = self.predicate.check(pod, refresh.snapshot)
            self.failing = failing(self.verdict)
            self.unresolvable = unresolvable(self.predicate, pod, refresh.snapshot, self.verdict, self.failing)
            self.erring = any(isinstance(reason, NodeError) and mask.any() for reason, mask in self.verdict.items())
        return rows

    def _row_verdicts(self, pod: PodInfo, rows: tuple[int, ...], refresh: Refresh) -> list[RowVerdict]:
        """What it says of some rows now; of a few, what it said before of rows that are alike to it."""

        def ask(new: tuple[int, ...]) -> list[RowVerdict]:
            return row_verdicts(self.predicate, pod, refresh.part(new)[1])

        seen = self._seen(rows, refresh.snapshot) if len(rows) <= SINGLE_ROWS else None
        return ask(rows) if seen is None else self._answers.of(seen, rows, ask)

    def _patch(self, rows: tuple[int, ...], said: list[RowVerdict]) -> bool:
        """Puts in what is said of some rows, unless one of them fails for a reason that no row failed for; whether it
        did."""
        given = {reason for reasons, _ in said for reason in reasons}
        if self.erring or not given <= self.verdict.keys() or any(isinstance(reason, NodeError) for reason in given):
            return False
        verdict = self.verdict
        for reason, mask in verdict.items():
            patched = with_rows(mask, rows, [reason in reasons for reasons, _ in said], self._size)
            if patched is not None and patched is not mask:
                self.verdict = {**self.verdict, reason: patched}
        if verdict is not self.verdict:
            refused = with_rows(self.failing, rows, [bool(reasons) for reasons, _ in said], self._size)
            self.failing = refused if given or (refused is not None and refused.any()) else None
        self.unresolvable = with_rows(self.unresolvable, rows, [beyond for _, beyond in said], self._size)
        return True


class ScoreState(Remembered):
    """One priority's mapped numbers on all rows for pods that are alike to it.

    raw: (N,) int64. uniform: the one number that every row has, None when they differ or it does not help.
    failed: the last time ended in an error.
    """

    def __init__(self, config: PriorityConfig, info: PodInfo) -> None:
        super().__init__(config.footprint, info)
        self.config = config
        self.raw: IntArray = np.zeros(0, np.int64)
        self.uniform: int | None = None
        self.reduced: dict[int, int] = {}
        self.failed = False

    def refresh(self, pod: PodInfo, refreshes: Refreshes) -> None:
        """Brings the scores up to date for the rows that changed."""
        refresh = refreshes.since(self.position)
        try:
            rows = self.stale(pod, refresh)
            self.position = refreshes.log.position
            if rows == ():
                return
            self.failed = False
            if not self._map(pod, refresh, rows):
                return
            self.uniform = None
            if (self.config.valuewise or self.config.reduce is None) and len(self.raw) and same_everywhere(self.raw):
                self.uniform = int(self.raw[0])
        except BaseException:
            self.failed = True
            self.forget()
            raise

    def _map(self, pod: PodInfo, refresh: Refresh, rows: tuple[int, ...] | None) -> bool:
        """Brings ``raw`` up to date; whether it changed."""
        if rows is None:
            self.raw = self.config.map(pod, refresh.snapshot)
            return True
        at, part = refresh.part(rows)
        now = self.config.map(pod, part)
        if (self.raw[at] == now).all():
            return False
        self.raw = self.raw.copy()
        self.raw[at] = now
        return True


def same_everywhere(numbers: IntArray) -> bool:
    """Whether one or more numbers are all equal; mostly told from a few of them."""
    if numbers.strides[0] == 0:
        return True
    first = numbers[0]
    return bool(numbers[-1] == first and numbers[len(numbers) // 2] == first and (numbers == first).all())
