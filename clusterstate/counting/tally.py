"""Running counts of pods per topology domain, kept as pods come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from clusterstate.growable import IntArray, constant_row
from clusterstate.nodecolumn import ABSENT, NodeColumn
from clusterstate.podinfo import Mark, PodInfo, Reach

Weight = Callable[[PodInfo], int]
"""What one running pod of a class adds to its domain; 0 for a class that does not take part."""


FEW_ROWS = 4
"""Rows that are added up one by one sooner than as an array."""
LONGEST = 1 << 10


class DomainLog:
    """The domains of which something has changed, in order; a position in it is what a reader remembers."""

    __slots__ = ("_codes", "_start", "position")

    def __init__(self) -> None:
        self._codes: list[int] = []
        self._start = 0
        self.position = 0
        """The position after the newest entry."""

    def note(self, code: int) -> None:
        """A domain has changed."""
        if len(self._codes) >= LONGEST:
            del self._codes[: LONGEST // 2]
            self._start += LONGEST // 2
        self._codes.append(code)
        self.position += 1

    def forget(self) -> None:
        """All domains may have changed."""
        self._codes.clear()
        self._start = self.position = self.position + 1

    def since(self, position: int) -> list[int] | None:
        """The codes of the domains that changed after a position; None: it is too long ago."""
        return None if position < self._start else self._codes[position - self._start :]


class Tally:
    """Σ weight of the running pods in each domain of a topology.

    column: the topology, a label column; None when every row is its own domain.
    sums: (D,) int64, by domain code. Code 0 (the key is absent) gathers pods that count nowhere.
    follows_claims: whether the weight follows from what claims lead to, besides the class.
    kept: whether pods that come and go are still counted; if not, it has to be asked for anew.
    moved: the domains whose sum changed. turned: those of them where its sign did.
    """

    __slots__ = (
        "_built",
        "_occupied",
        "_occupied_at",
        "column",
        "follows_claims",
        "kept",
        "moved",
        "reach",
        "sums",
        "turned",
        "weight",
    )

    def __init__(self, column: NodeColumn | None, weight: Weight, reach: Reach = None) -> None:
        """reach: of which classes the weight may be other than 0."""
        self.column = column
        self.weight = weight
        self.reach = reach
        self.follows_claims = False
        self.kept = True
        self.sums: IntArray = np.zeros(0, np.int64)
        self.moved, self.turned = DomainLog(), DomainLog()
        self._built = -1
        self._occupied: dict[int, None] = {}
        self._occupied_at = -1

    def build(self, infos: Iterable[PodInfo], size: int) -> list[tuple[PodInfo, int]]:
        """Counts from scratch over the placed pod classes; those that count, with their weights."""
        found: list[tuple[PodInfo, int]] = []
        self.sums = np.zeros(self._room(size), np.int64)
        self.moved.forget()
        self.turned.forget()
        self._built = self.column.version if self.column else 0
        codes = self.column.codes if self.column else None
        for info in infos:
            weight = self.weight(info)
            if weight:
                found.append((info, weight))
                self._add_all(info.rows, codes, weight)
        return found

    def _add_all(self, placed: Mapping[int, int], codes: IntArray | None, weight: int) -> None:
        """placed: row → pods there."""
        if len(placed) <= FEW_ROWS:
            for row, count in placed.items():
                self.sums[row if codes is None else codes[row]] += count * weight
            return
        rows = np.fromiter(placed.keys(), np.int64, len(placed))
        counts = np.fromiter(placed.values(), np.int64, len(placed))
        np.add.at(self.sums, rows if codes is None else codes[rows], counts * weight)

    def _room(self, size: int) -> int:
        return size if self.column is None else len(self.column.values)

    def is_current(self, size: int) -> bool:
        """Whether the topology is still the one it was built over; appended domains are made room for."""
        if self.column is not None and self._built != self.column.version:
            return False
        room = self._room(size)
        if len(self.sums) < room:
            self.sums = np.concatenate([self.sums, np.zeros(room - len(self.sums), np.int64)])
        return True

    def add(self, row: int, amount: int) -> None:
        """Counts ``amount`` more pods on a row, or fewer where it is negative."""
        if self.column is None:
            if row >= len(self.sums):
                self.sums = np.concatenate([self.sums, np.zeros(row + 1 - len(self.sums), np.int64)])
            code = row
        elif self._built == self.column.version:
            code = self.column.codes.item(row)
        else:
            return
        before = self.sums.item(code)
        now = self.sums[code] = before + amount
        self.moved.note(code)
        if (before > 0) is not (now > 0) or (before < 0) is not (now < 0):
            self.turned.note(code)

    def occupied(self) -> IntArray:
        """(m,) the codes of the domains whose sum is not 0, in no order."""
        changed = self.turned.since(self._occupied_at)
        if changed is None:
            self._occupied = dict.fromkeys(self.sums.nonzero()[0].tolist())
        else:
            for code in changed:
                if self.sums.item(code):
                    self._occupied[code] = None
                else:
                    self._occupied.pop(code, None)
        self._occupied_at = self.turned.position
        return np.fromiter(self._occupied, np.int64, len(self._occupied))

    def domain_of(self, row: int) -> int:
        """The index in ``sums`` that a row counts to: its domain's code, or the row itself without a column."""
        return row if self.column is None else int(self.column.codes[row])

    def counts(self, sums: IntArray, rows: IntArray | None) -> IntArray:
        """``sums`` laid over the rows: (n,) int64, 0 where the topology key is absent."""
        if self.column is None:
            return sums if rows is None else sums[rows]
        if rows is None and (code := self.column.everywhere) is not None:
            return constant_row(sums.item(code) if code != ABSENT else 0, len(self.column.codes))
        codes = self.column.codes if rows is None else self.column.codes[rows]
        out: IntArray = sums[codes]
        if sums[ABSENT]:
            out[codes == ABSENT] = 0
        return out


class Reached:
    """Which placed pod classes and running counts may concern one another, found by marks and not one by one."""

    __slots__ = ("_classes", "_everywhere", "_new", "_tallies")

    def __init__(self) -> None:
        self._classes: dict[Mark, dict[PodInfo, None]] = {}
        self._new: dict[PodInfo, None] = {}
        self._tallies: dict[Mark, dict[Tally, None]] = {}
        self._everywhere: dict[Tally, None] = {}

    def add_class(self, info: PodInfo) -> None:
        """A class of which the first pod was placed; it is filed when classes are next looked for."""
        self._new[info] = None

    def drop_class(self, info: PodInfo) -> None:
        """A class of which the last pod has left."""
        if info in self._new:
            del self._new[info]
            return
        for mark in info.marks:
            found = self._classes[mark]
            del found[info]
            if not found:
                del self._classes[mark]

    def classes(self, reach: frozenset[Mark]) -> Iterable[PodInfo]:
        """The placed classes that have one of the marks, each once."""
        for info in self._new:
            for mark in info.marks:
                self._classes.setdefault(mark, {})[info] = None
        self._new.clear()
        if len(reach) == 1:
            return self._classes.get(next(iter(reach)), ())
        return {info: None for mark in reach for info in self._classes.get(mark, ())}

    @property
    def wide_tallies(self) -> int:
        """How many kept counts may concern any class."""
        return len(self._everywhere)

    def add_tally(self, tally: Tally) -> None:
        """A count that is kept from now on."""
        if tally.reach is None:
            self._everywhere[tally] = None
            return
        for mark in tally.reach:
            self._tallies.setdefault(mark, {})[tally] = None

    def drop_tally(self, tally: Tally) -> None:
        """A count that is kept no longer."""
        if tally.reach is None:
            del self._everywhere[tally]
            return
        for mark in tally.reach:
            found = self._tallies[mark]
            del found[tally]
            if not found:
                del self._tallies[mark]

    def tallies(self, info: PodInfo) -> Iterable[Tally]:
        """The kept counts whose weight for a class may be other than 0, each once."""
        if not self._tallies:
            return tuple(self._everywhere)
        near = {tally: None for mark in info.marks for tally in self._tallies.get(mark, ())}
        return (*self._everywhere, *near)
