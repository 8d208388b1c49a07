"""Many nodes at once, each as it would be with other pods: without the less important of its own, which preemption asks
about, or with further pods of one class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import datetime
from typing import NoReturn, TypeVar, overload

import numpy as np

from clusterstate.changes import PODS, PODS_ANYWHERE, Reads
from clusterstate.columns import Columns
from clusterstate.errors import ClusterStateError, DecodeError
from clusterstate.growable import Growable, IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo, Use
from clusterstate.snapshot import Snapshot

NOW = float("inf")
"""The start of a pod that does not say: later than any other."""
NOBODY = 0
"""The class code of an empty place."""

SPARE = 1024
"""Numbers of classes that are given, beyond those that may be in use, before all are given anew."""
CHUNK = 128
"""Rows whose pods are copied together when one of them changes."""


def started(pod: Pod) -> float:
    """status.startTime in seconds since the epoch; NOW when it is absent. Raises DecodeError for what is no time."""
    if pod.start_time is None:
        return NOW
    try:
        return datetime.fromisoformat(pod.start_time).timestamp()
    except (ValueError, OverflowError) as error:
        text = f'Pod {pod.key}: status.startTime: must be a time as 2020-01-31T12:00:00Z, not "{pod.start_time}"'
        raise DecodeError(text) from error


def by_importance(pods: Sequence[Pod]) -> list[Pod]:
    """Higher priority first, then earlier start. Pods that do not say when they started come last, latest first.

    Upstream: 1.16 MoreImportantPod; for pods without a start the order that sorting a few of them has.
    """
    order = [(-pod.priority, started(pod), -at if pod.start_time is None else at) for at, pod in enumerate(pods)]
    return [pods[at] for at in sorted(range(len(pods)), key=order.__getitem__)]


def by_priority(pods: Sequence[Pod]) -> list[Pod]:
    """Higher priority first, as they came within one. Upstream: 1.13 HigherPriorityPod, of a few pods."""
    return sorted(pods, key=lambda pod: -pod.priority)


PodOrder = Callable[[Sequence[Pod]], list[Pod]]
"""Which pods are kept before others."""


class PodLists(Sequence[Sequence[Pod]]):
    """Row → its pods. Copies share what neither of the two changes, and cost next to nothing."""

    __slots__ = ("_chunks", "_owned", "_size")

    def __init__(self) -> None:
        self._chunks: list[list[Sequence[Pod]]] = []
        self._owned: set[int] = set()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, row: int) -> Sequence[Pod]: ...
    @overload
    def __getitem__(self, row: slice) -> list[Sequence[Pod]]: ...
    def __getitem__(self, row: int | slice) -> Sequence[Pod] | list[Sequence[Pod]]:
        if isinstance(row, slice):
            return [self[at] for at in range(self._size)[row]]
        if not -self._size <= row < self._size:
            raise IndexError(row)
        chunk, at = divmod(row % self._size, CHUNK)
        return self._chunks[chunk][at]

    def grow(self, size: int) -> None:
        """Makes room for rows without pods."""
        while self._size < size:
            if self._size % CHUNK == 0:
                self._chunks.append([()] * CHUNK)
            self._size = min(size, len(self._chunks) * CHUNK)

    def put(self, row: int, pods: Sequence[Pod]) -> None:
        """Replaces the pods of a row; copies made before keep what they had."""
        chunk, at = divmod(row, CHUNK)
        if chunk not in self._owned:
            self._chunks[chunk] = self._chunks[chunk].copy()
            self._owned.add(chunk)
        self._chunks[chunk][at] = pods

    def copy(self) -> PodLists:
        """The same rows and pods, which later changes leave alone."""
        out = PodLists()
        out._chunks, out._size = self._chunks.copy(), self._size
        self._owned.clear()
        return out


class PodsByImportance:
    """The pods of each row by importance: (K, N) arrays, place k of a row being its k-th most important pod."""

    def __init__(self, columns: Columns, order: PodOrder = by_importance) -> None:
        self._columns = columns
        self._order = order
        self._codes = Growable((0, 0))
        self._priorities = Growable((0, 0))
        self._starts = Growable((0, 0), np.float64)
        self._row_classes = Growable((0,))
        self._row_class_of: dict[Hashable, int] = {}
        self._position = -1
        self._code_of: dict[PodInfo, int] = {}
        self._used = Growable((3, 1))
        self.infos: list[PodInfo | None] = [None]
        self.pods = PodLists()
        """Row → its pods in that order; a row's pods are replaced when the row changes, never written to."""
        self.generation = 0
        """Grows when the numbers in ``codes`` and ``row_classes`` have come to mean something else."""

    @property
    def codes(self) -> IntArray:
        """(K, N) int64: the class of the pod as an index into ``infos``, NOBODY where a row has fewer pods."""
        return self._codes.view

    @property
    def priorities(self) -> IntArray:
        """(K, N) int64: the priority of the pod."""
        return self._priorities.view

    @property
    def starts(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """(K, N) float64: when the pod started, in seconds since the epoch."""
        view: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = self._starts.view
        return view

    @property
    def row_classes(self) -> IntArray:
        """(N,) int64: equal for rows with pods of the same classes in the same order, and equal amounts."""
        return self._row_classes.view

    def used(self, resources: int) -> IntArray:
        """(R, C) int64: what a pod of each class takes of the first ``resources`` resources; zero for NOBODY."""
        self._used.resize(max(resources, self._used.shape[0]), len(self.infos))
        out: IntArray = self._used.view[:resources]
        return out

    def select(self, rows: IntArray, test: Callable[[PodInfo], bool]) -> Mask:
        """(K, n) bool: the pods of some rows whose class passes a test, which is asked of each class there once."""
        codes = self.codes[:, rows]
        passing = np.zeros(len(self.infos), np.bool_)
        passing[codes] = True
        for code in np.flatnonzero(passing).tolist():
            info = self.infos[code]
            passing[code] = info is not None and test(info)
        out: Mask = passing[codes]
        return out

    def refresh(self) -> PodsByImportance:
        """Brings the rows that changed since the last time up to date. Raises DecodeError for a pod that started at
        what is no time, each time until it has left."""
        log, size = self._columns.log, len(self._columns)
        changed = log.since(self._position)
        self._position = -1
        worn = len(self.infos) > 2 * len(self._columns.infos) + SPARE or len(self._row_class_of) > 4 * size + SPARE
        renewed = changed is None or worn
        if changed is None or worn:
            self._code_of, self.infos, self._row_class_of = {}, [None], {}
            self.generation += 1
            rows, moved = range(size), range(size)
        else:
            rows = dict.fromkeys(row for row, _ in changed)  # type: ignore[assignment]
            moved = dict.fromkeys(row for row, what in changed if what & PODS)  # type: ignore[assignment]
        self.pods.grow(size)
        self._resize(self._codes.shape[0], size)
        self._row_classes.resize(size)
        for row in moved:
            pods = self._order(list(self._columns.pods[row].values()))
            self._put(row, pods, () if renewed else self.pods[row])
        for row in rows:
            self._classify(row)
        self._position = log.position
        return self

    def _resize(self, places: int, size: int) -> None:
        for table in (self._codes, self._priorities, self._starts):
            table.resize(places, size)

    def _put(self, row: int, pods: list[Pod], before: Sequence[Pod]) -> None:
        """before: the pods of the row whose codes are still good."""
        codes = dict(zip(map(id, before), self._codes.data[: len(before), row].tolist(), strict=True))
        if len(pods) > self._codes.shape[0]:
            self._resize(len(pods), len(self._columns))
        self.pods.put(row, pods)
        self._codes.data[:, row] = NOBODY
        for place, pod in enumerate(pods):
            code = codes.get(id(pod))
            self._codes.data[place, row] = self._code(self._columns.info(pod)) if code is None else code
            self._priorities.data[place, row] = pod.priority
            self._starts.data[place, row] = started(pod)

    def _classify(self, row: int) -> None:
        columns = self._columns
        codes = self._codes.data[: len(self.pods[row]), row]
        amounts = columns.allocatable.view[:, row]
        key = (codes.tobytes(), amounts.tobytes(), int(columns.allowed_pods.view[row]))
        self._row_classes.data[row] = self._row_class_of.setdefault(key, len(self._row_class_of) + 1)

    def _code(self, info: PodInfo) -> int:
        code = self._code_of.get(info)
        if code is None:
            code = self._code_of[info] = len(self.infos)
            self.infos.append(info)
            self._used.resize(max(len(self._columns.resources), self._used.shape[0]), len(self.infos))
            self._used.data[:, code] = 0
            for index, value in info.used:
                self._used.data[index, code] = value
        return code


class RowOverlay(Snapshot):
    """A snapshot over rows in which some places of the roster are empty.

    Every row is a what-if of its own: amounts, the number of pods and counts by node are those of the pods that are
    left. All else is as of the cluster with all its pods, and for predicates whose ``by_row`` says that this is enough.
    empty: (K, n) bool, the places whose pods are hypothetically removed; changed by ``take_away`` and ``put_back``.
    """

    __slots__ = ("_away", "_codes", "_count", "_infos", "_there", "_used", "empty")

    def __init__(self, base: Snapshot, rows: IntArray, roster: PodsByImportance) -> None:
        super().__init__(base._columns, base.objects, rows)
        self._codes = roster.codes[:, rows]
        self._infos = roster.infos
        self._used = roster.used(len(base.resources))
        self._there = super().requested, super().pod_count
        self._away: IntArray = np.zeros((len(self._used), len(rows)), np.int64)
        self._count: IntArray = np.zeros(len(rows), np.int64)
        self.empty: Mask = np.zeros(self._codes.shape, np.bool_)

    def take_away(self, place: int, where: Mask) -> None:
        """Empties a place on the rows where the mask is True."""
        self.empty[place] |= where
        self._move(place, where, 1)

    def put_back(self, place: int, where: Mask) -> None:
        """Fills a place again on the rows where the mask is True."""
        self.empty[place] &= ~where
        self._move(place, where, -1)

    def _move(self, place: int, where: Mask, sign: int) -> None:
        codes = self._codes[place]
        if not where.all():
            codes = codes * where
        moved = self._used[:, codes]
        if sign > 0:
            self._away, self._count = self._away + moved, self._count + (codes != NOBODY)
        else:
            self._away, self._count = self._away - moved, self._count - (codes != NOBODY)

    @property
    def requested(self) -> IntArray:
        """(R, n) what the pods that are left take."""
        out: IntArray = self._there[0] - self._away
        return out

    @property
    def nonzero(self) -> IntArray:
        """(2, n) millicores and bytes that the pods that are left request, defaults filled in."""
        amounts = np.zeros((2, len(self._infos)), np.int64)
        for code in np.unique(self._codes[self.empty]).tolist():
            info = self._infos[code]
            amounts[:, code] = 0 if info is None else info.usage.nonzero
        away = np.where(self.empty, amounts[:, self._codes], 0).sum(axis=1)
        out: IntArray = super().nonzero - away
        return out

    @property
    def pod_count(self) -> IntArray:
        """(n,) pods that are left."""
        out: IntArray = self._there[1] - self._count
        return out

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:
        """(n,) a tally by node, of the pods that are left. A tally over a topology is refused."""
        if tally.column is not None:
            raise ClusterStateError("an overlay knows each row by itself: a topology cannot be counted over it")
        weights = np.zeros(len(self._infos), np.int64)
        weights[self._codes] = 1
        for code in np.flatnonzero(weights).tolist():
            info = self._infos[code]
            weights[code] = 0 if info is None else tally.weight(info)
        away = np.where(self.empty, weights[self._codes], 0).sum(axis=0)
        out: IntArray = super().counts(tally, nominated=nominated) - away
        return out


T = TypeVar("T")

OF_PODS = Reads.PODS | PODS_ANYWHERE
"""What changes when pods are added."""


class BeyondRowsError(ClusterStateError):
    """A rule asked for something that such a snapshot does not know."""


class ClassesOfRun:
    """The classes of pods that differ in labels and owners only, as far as what was counted does not distinguish them.

    first: stands for all where they do not matter. may_have_affinity: whether any of the pods may matter to the
    affinity of others.
    """

    __slots__ = ("_infos", "_weights", "first", "may_have_affinity")

    def __init__(self, infos: Sequence[PodInfo]) -> None:
        """infos: some of them, one at least."""
        self.first = infos[0]
        self.may_have_affinity = any(info.may_have_affinity for info in infos)
        self._infos = dict.fromkeys(infos)
        self._weights: dict[Tally, int] = {}

    def weight(self, tally: Tally) -> int:
        """What each of the pods adds to a tally. Raises BeyondRowsError where they do not add the same."""
        found = self._weights.get(tally)
        if found is None:
            weights = {tally.weight(info) for info in self._infos}
            if len(weights) > 1:
                raise BeyondRowsError("the added pods do not count alike")
            found = self._weights[tally] = weights.pop()
        return found

    def admits(self, info: PodInfo) -> bool:
        """Whether a further class adds the same to everything that was counted; then it is one of them."""
        if info in self._infos:
            return True
        if info.may_have_affinity or any(tally.weight(info) != weight for tally, weight in self._weights.items()):
            return False
        self._infos[info] = None
        return True


_NO_TOPOLOGY = "a topology cannot be counted row by row"


def _refused(why: str) -> Callable[..., NoReturn]:
    """What such a snapshot does not know."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise BeyondRowsError(why)

    return refuse


class AddedPods(Snapshot):
    """A snapshot over rows, a row as often as wanted, each time with another number of further pods of one class.

    Every entry is a what-if of its own: amounts, the number of pods and counts by node can be read. Everything else
    about pods is refused with BeyondRowsError, so that no rule takes for true what does not hold with the added pods.
    """

    __slots__ = ("_extra", "_likes")

    def __init__(self, base: Snapshot, rows: IntArray, extra: IntArray, likes: ClassesOfRun) -> None:
        """rows: (n,) of the cluster, also more than once. extra: (n,) how many pods are added to the row there. likes:
        the classes that the added pods have."""
        super().__init__(base._columns, base.objects, rows)
        self._extra = extra
        self._likes = likes

    @property
    def requested(self) -> IntArray:
        """(R, n) what the pods there and the added ones take."""
        out: IntArray = self._pick(self._columns.requested).copy()
        with np.errstate(over="ignore"):
            for index, value in self._likes.first.used:
                out[index] += value * self._extra
        return out

    @property
    def nonzero(self) -> IntArray:
        amounts = np.array(self._likes.first.usage.nonzero, np.int64)
        with np.errstate(over="ignore"):
            out: IntArray = self._pick(self._columns.nonzero) + amounts[:, None] * self._extra
        return out

    @property
    def pod_count(self) -> IntArray:
        """(n,) pods there, the added ones included."""
        out: IntArray = self._pick(self._columns.pod_count) + self._extra
        return out

    amounts = _refused("a row is there more than once, each time with other amounts")
    domain_sums = _refused(_NO_TOPOLOGY)
    union_sizes = _refused("what pods share is not known row by row")
    running = pods_on = _refused("the pods themselves are not known row by row")
    take = only = whole = _refused("the rows are what they are")
    what_if = _refused("no further pods can be added")
    until = _refused("there are no changes")

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:  # noqa: ARG002
        """(n,) a tally by node with the added pods. One over a topology, or one in which they differ, is refused."""
        if tally.column is not None:
            raise BeyondRowsError(_NO_TOPOLOGY)
        return tally.counts(tally.sums, self.rows) + self._likes.weight(tally) * self._extra

    def derived(self, key: Hashable, reads: Reads, build: Callable[[], T]) -> T:
        """As of any snapshot; what depends on pods is refused."""
        if reads & OF_PODS:
            raise BeyondRowsError("what follows from pods is not known row by row")
        return super().derived(key, reads, build)

    @property
    def affinity_uses(self) -> Collection[Use]:
        """As of any snapshot, unless the added pods use some."""
        self._refuse_affinity()
        return super().affinity_uses

    @property
    def term_keys(self) -> frozenset[str]:
        """As of any snapshot, unless the added pods have some."""
        self._refuse_affinity()
        return super().term_keys

    def _refuse_affinity(self) -> None:
        if self._likes.may_have_affinity:
            raise BeyondRowsError("the added pods may matter to the affinity of others")
