"""Many nodes at once, each as it would be with further pods of one class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeVar

import numpy as np

from clusterstate.changes import PODS_ANYWHERE, Reads
from clusterstate.counting.pod_counts import Ids
from clusterstate.counting.row_amounts import Amounts
from clusterstate.counting.tally import Tally
from clusterstate.errors import ClusterStateError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo, Reach
from clusterstate.release_view import Use
from clusterstate.snapshot import PodChange, Snapshot

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
        """(2, n) millicores and bytes requested, defaults filled in."""
        amounts = np.array(self._likes.first.usage.nonzero, np.int64)
        with np.errstate(over="ignore"):
            out: IntArray = self._pick(self._columns.nonzero) + amounts[:, None] * self._extra
        return out

    @property
    def pod_count(self) -> IntArray:
        """(n,) pods there, the added ones included."""
        out: IntArray = self._pick(self._columns.pod_count) + self._extra
        return out

    def amounts(self, row: int) -> Amounts:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("a row is there more than once, each time with other amounts")

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:  # noqa: ARG002
        """(n,) a tally by node with the added pods. One over a topology, or one in which they differ, is refused."""
        if tally.column is not None:
            raise BeyondRowsError("a topology cannot be counted row by row")
        return tally.counts(tally.sums, self.rows) + self._likes.weight(tally) * self._extra

    def domain_sums(self, tally: Tally, *, nominated: bool = True) -> IntArray:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("a topology cannot be counted row by row")

    def union_sizes(self, key: Hashable, ids: Ids, new: frozenset[str], version: int) -> IntArray:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("what pods share is not known row by row")

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

    def running(self, reach: Reach = None) -> list[PodInfo]:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("the pods themselves are not known row by row")

    def pods_on(self, row: int) -> list[Pod]:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("the pods themselves are not known row by row")

    def take(self, rows: IntArray) -> Snapshot:  # noqa: ARG002
        """Refused: a row is there more than once."""
        raise BeyondRowsError("the rows are what they are")

    only = take

    def whole(self) -> Snapshot:
        """Refused: it would be without the added pods."""
        raise BeyondRowsError("the rows are what they are")

    def what_if(self, changes: Sequence[PodChange]) -> Snapshot:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("no further pods can be added")

    def until(self, count: int) -> Snapshot:  # noqa: ARG002
        """Refused."""
        raise BeyondRowsError("there are no changes")
