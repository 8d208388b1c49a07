"""The free volumes that would do for a claim, from small to large, and the first of them that each node can use.

Volumes that name the nodes they can be used from by one label, as local and zonal ones do, are filed under that
label: the first volume of each row is then looked up for all rows at once, however many volumes there are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.objects import NodeSelectorTerm, PersistentVolume
from clusterstate.selectors.node_selection import term_error, volume_affinity_mask
from clusterstate.snapshot import Snapshot

NONE = -1
"""Stands for no volume."""

Terms = tuple[NodeSelectorTerm, ...] | None
Entry = tuple[int, int, PersistentVolume]
"""(number of a volume, a number that grows in the order in which volumes came, the volume)."""


@lru_cache(maxsize=1 << 14)
def label_picked(terms: Terms) -> tuple[str, tuple[str, ...]] | None:
    """(label, its values) where the terms pick the nodes that have one of them; None where they say anything else.

    Invalid terms are passed over, as ``node_affinity_mask`` does.
    """
    found: dict[tuple[str, str], None] = {}
    for term in terms or ():
        if term_error(term) is None:
            if term.match_fields or len(term.match_expressions) != 1 or term.match_expressions[0].operator != "In":
                return None
            one = term.match_expressions[0]
            found.update(((one.key, value), None) for value in one.values)
    keys = {key for key, _ in found}
    return (keys.pop(), tuple(value for _, value in found)) if len(keys) == 1 else None


class VolumeCandidates:
    """Free volumes by number, in the order in which they are taken: from small to large, the older first."""

    __slots__ = ("_by_label", "_by_terms", "_holds", "_numbers", "_order", "_ranks")

    def __init__(self, holds: Callable[[PersistentVolume], bool]) -> None:
        """holds: whether a volume would do."""
        self._holds = holds
        self._order: list[tuple[int, int]] = []
        self._numbers: IntArray = np.zeros(0, np.int64)
        self._ranks: IntArray | None = None
        self._by_label: dict[str, _Labelled] = {}
        self._by_terms: dict[Terms, list[int]] = {}

    def add(self, found: Sequence[Entry]) -> None:
        """Volumes became free."""
        entries = sorted((volume.storage, arrival, number) for number, arrival, volume in found if self._holds(volume))
        if not entries:
            return
        places = [bisect_left(self._order, (storage, arrival)) for storage, arrival, _ in entries]
        self._numbers = np.insert(self._numbers, places, [number for _, _, number in entries])
        self._order = sorted([*self._order, *((storage, arrival) for storage, arrival, _ in entries)])
        self._moved()
        for number, _, volume in found:
            if self._holds(volume):
                self._file(number, volume.node_affinity)

    def _file(self, number: int, terms: Terms) -> None:
        label = label_picked(terms)
        if label is None:
            self._by_terms.setdefault(terms, []).append(number)
        else:
            self._by_label.setdefault(label[0], _Labelled()).add(number, label[1])

    def drop(self, entry: Entry) -> None:
        """A volume is free no longer; as it was added."""
        number, arrival, volume = entry
        key = (volume.storage, arrival)
        place = bisect_left(self._order, key)
        if place == len(self._order) or self._order[place] != key:
            return
        del self._order[place]
        self._numbers = np.delete(self._numbers, place)
        self._moved()
        label = label_picked(volume.node_affinity)
        if label is not None:
            self._by_label[label[0]].drop(number)
            return
        numbers = self._by_terms[volume.node_affinity]
        numbers.remove(number)
        if not numbers:
            del self._by_terms[volume.node_affinity]

    def _moved(self) -> None:
        self._ranks = None
        for labelled in self._by_label.values():
            labelled.moved()

    def first(self, snapshot: Snapshot, taken: Sequence[IntArray]) -> IntArray:
        """(n,) int64 the number of the first volume that each row can use, NONE where there is none.

        taken: (n,) each, the volumes that a row does not have any more.
        """
        if self._ranks is None:
            self._ranks = np.full(int(self._numbers.max(initial=-1)) + 2, len(self._order), np.int64)
            self._ranks[self._numbers] = np.arange(len(self._order))
        best: IntArray = np.full(len(snapshot), len(self._order), np.int64)
        for key, labelled in self._by_label.items():
            np.minimum(best, self._ranks[labelled.first(key, snapshot, self._ranks, taken)], out=best)
        for terms, numbers in self._by_terms.items():
            usable = volume_affinity_mask(snapshot, terms)
            ordered = np.array(sorted(numbers, key=self._ranks.__getitem__), np.int64)
            starts = np.where(usable, 0, len(ordered))
            found = _first_left(ordered, starts, np.full(len(starts), len(ordered)), taken)
            np.minimum(best, self._ranks[found], out=best)
        return np.append(self._numbers, NONE)[best]


class _Labelled:
    """Volumes that can be used from the nodes where one label has one of some values.

    Two parallel arrays have a (volume, value) pair each; values are numbered in the order they were met.
    """

    __slots__ = ("_bounds", "_codes", "_ids", "_new", "_numbers", "_ordered", "_values", "_width")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._new: list[tuple[int, int]] = []
        self._numbers: IntArray = np.zeros(0, np.int64)
        self._values: IntArray = np.zeros(0, np.int64)
        self._codes: IntArray = np.zeros(0, np.int64)
        self._ordered: IntArray = np.zeros(0, np.int64)
        self._bounds: IntArray | None = None
        self._width = -1

    def add(self, number: int, values: Iterable[str]) -> None:
        self._new += ((number, self._ids.setdefault(value, len(self._ids))) for value in values)

    def _take_in(self) -> None:
        if self._new:
            new = np.array(self._new, np.int64)
            self._numbers, self._values = np.append(self._numbers, new[:, 0]), np.append(self._values, new[:, 1])
            self._new = []

    def drop(self, number: int) -> None:
        self._take_in()
        kept = self._numbers != number
        self._numbers, self._values = self._numbers[kept], self._values[kept]

    def moved(self) -> None:
        """The order of the volumes, or which there are, changed."""
        self._bounds = None

    def first(self, key: str, snapshot: Snapshot, ranks: IntArray, taken: Sequence[IntArray]) -> IntArray:
        """(n,) the first volume left for each row, NONE where there is none. ranks: number → place in the order."""
        codes, index = snapshot.label_codes(key)
        if self._bounds is None or self._width != len(index):
            self._arrange(index, ranks)
        assert self._bounds is not None
        return _first_left(self._ordered, self._bounds[codes], self._bounds[codes + 1], taken)

    def _arrange(self, index: Mapping[str, int], ranks: IntArray) -> None:
        """Sorts the pairs by the code that nodes have for the value, and the volumes of a code by rank."""
        self._take_in()
        if self._width != len(index):
            self._codes = np.zeros(0, np.int64)
        if len(self._codes) < len(self._ids):
            new = list(self._ids)[len(self._codes) :]
            self._codes = np.append(self._codes, [index.get(value, NONE) for value in new])
        self._width = len(index)
        codes = self._codes[self._values]
        there = codes != NONE
        codes, numbers = codes[there], self._numbers[there]
        order = np.lexsort((ranks[numbers], codes))
        self._ordered = numbers[order]
        self._bounds = np.searchsorted(codes[order], np.arange(len(index) + 2))


def _first_left(ordered: IntArray, starts: IntArray, ends: IntArray, taken: Sequence[IntArray]) -> IntArray:
    """(n,) the first of ``ordered[start:end]`` that is not among what the row has taken, NONE where there is none."""
    if not len(ordered):
        return np.full(len(starts), NONE, np.int64)
    while True:
        found: IntArray = np.where(starts < ends, ordered[np.minimum(starts, len(ordered) - 1)], NONE)
        again = np.zeros(len(starts), np.bool_)
        for numbers in taken:
            again |= (found == numbers) & (found != NONE)
        if not again.any():
            return found
        starts = starts + again
