"""Totals of which single rows change: the same as adding them all up anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from clusterstate.growable import IntArray, Mask
from clusterstate.usage import wrap
from kubescheduler.core.filter_and_score import Scored
from kubescheduler.core.selection import FirstByName
from kubescheduler.core.totals import LazyScores, TotalTable
from priorities.types import PriorityConfig

ROWS = 7
HUGE = (1 << 60, 1 << 61, 1 << 62)

Row = tuple[int, int, bool]
"""(what the plain rule gives, what the other one gives before it is normalised, whether the row fits)."""
amounts = st.one_of(st.integers(0, 4), st.sampled_from([sign * number for number in HUGE for sign in (1, -1)]))
small = st.integers(0, 3)
rows = st.tuples(amounts, small, st.sampled_from([True, True, True, False]))
plain_rows = st.tuples(small, small, st.sampled_from([True, True, True, False]))
weights = st.one_of(st.integers(1, 3), st.sampled_from([1 << 40, *HUGE]))


def short_of_most(_: Any, __: Any, numbers: IntArray) -> IntArray:
    """By how much each number is below the highest: all but the first move when that moves."""
    out: IntArray = numbers.max() - numbers
    return out


def in_tenths(_: Any, __: Any, numbers: IntArray) -> IntArray:
    """Of the highest number."""
    return 10 * numbers // max(int(numbers.max()), 1)


def short_of_sum(_: Any, __: Any, numbers: IntArray) -> IntArray:
    """Of all rows, so that how many have a number counts too."""
    out: IntArray = numbers.sum() - numbers
    return out


SUM = "short of sum"
RULES: dict[str, Any] = {"short of most": short_of_most, "in tenths": in_tenths, SUM: short_of_sum}


class Lowest:
    """The last of the tied rows."""

    def choose(self, tied: IntArray, _: IntArray) -> int:
        return int(tied[-1])


class Changing:
    """A table of a plain rule and one that is normalised, beside what it has to say."""

    def __init__(self, first: list[Row], reduce: str, plain: int, weight: int) -> None:
        self.rows = list(first)
        self.config = PriorityConfig("far", lambda *_: np.zeros(ROWS, np.int64), RULES[reduce], valuewise=reduce != SUM)
        self.weights = {"near": plain, "far": weight}
        self.ranks = np.array([3, 1, 0, 6, 5, 2, 4])
        self.held: list[tuple[LazyScores, Any]] = []
        self.begin()

    @property
    def fits(self) -> Mask:
        return np.array([fits for *_, fits in self.rows])

    def totalled(self) -> Scored:
        """Added up anew."""
        feasible = self.fits.nonzero()[0]
        near = np.array([self.rows[row][0] for row in feasible], np.int64)
        raw = np.array([self.rows[row][1] for row in feasible], np.int64)
        far = self.reduce("far", raw)
        both = zip(near.tolist(), far.tolist(), strict=True)
        totals = [wrap(self.weights["near"] * one + self.weights["far"] * other) for one, other in both]
        return Scored(np.array(totals, np.int64), {"near": near, "far": far}, {"near": near, "far": raw})

    def reduce(self, _: str, numbers: IntArray) -> IntArray:
        found: IntArray = self.config.reduce(None, None, numbers)  # type: ignore[arg-type, misc]
        return found

    def begin(self) -> None:
        """Makes the table."""
        near = PriorityConfig("near", lambda *_: np.zeros(ROWS, np.int64))
        whole = {name: np.array([row[at] for row in self.rows], np.int64) for at, name in enumerate(("near", "far"))}
        fitted = self.fits.nonzero()[0]
        rules = {"near": near, "far": self.config}
        self.table = TotalTable(self.totalled(), rules, whole, ("near", "far"), self.weights, fitted, self.ranks)
        self.stands = self.table.put(np.zeros(0, np.int64), {}, self.fits)

    def change(self, changes: dict[int, Row]) -> bool:
        """Whether the table went along."""
        for row, now in changes.items():
            self.rows[row] = now
        given = list(changes.values())
        numbers = {name: np.array([row[at] for row in given], np.int64) for at, name in enumerate(("near", "far"))}
        self.stands = self.table.put(np.array(list(changes), np.int64), numbers, self.fits)
        return self.stands

    def compare(self) -> None:
        """All that the table says, unless it gave up; what it has given away is compared once more at the end."""
        if not self.stands:
            return
        expected, feasible = self.totalled(), self.fits.nonzero()[0]
        assert self.table.totals(feasible).tolist() == expected.totals.tolist()
        best = feasible[expected.totals == expected.totals.max()]
        assert self.table.choose(FirstByName()) == best[self.ranks[best].argmin()]
        assert self.table.choose(Lowest()) == best[-1]
        given = self.table.held(feasible)
        self.held.append((given, listed(expected)))
        if len(self.held) % 2:
            assert listed(given) == listed(expected)


def listed(given: Any) -> Any:
    """Totals and scores as lists."""
    scores, raws = ({name: found.tolist() for name, found in by.items()} for by in (given.scores, given.raws))
    return given.totals.tolist(), scores, raws


FALLS = [(0, 3, True), (1, 1, True), (1, 1, True), (2, 1, True), (0, 1, True), (1, 0, True), (0, 0, True)]
"""Row 0 has the most, so that all others move as much as it does."""
FAR = [(0, 3, True), *[(-(1 << 62), 0, True)] * 6]
"""All total 0, and all but row 0 less than 64 bits hold once it is gone."""
LOW = {0: (-(1 << 62), 3, True)}
"""With a weight of 2 the lowest total that there is."""
OUT = (0, 0, False)
LAST_IS_LOWEST = [(0, 0, True), (0, 0, True), OUT, (0, 0, True), OUT, (1 << 62, 0, True), (0, 0, True)]
"""With a weight of 2 row 5 has the lowest total that there is; it is the last to fit."""
STEPS = [{0: (0, 2, True)}, {0: (0, 2, False)}, {1: (2, 0, True)}, {0: (0, 3, True)}, {3: (0, 1, False)}]


@example(first=FALLS, steps=STEPS, reduce="short of most", plain=1, weight=2)
@example(first=FALLS, steps=STEPS, reduce="short of most", plain=1, weight=1 << 60)
@example(first=FALLS, steps=STEPS, reduce="in tenths", plain=1, weight=1)
@example(first=FALLS, steps=[*STEPS] * 8, reduce="short of most", plain=1, weight=1)
@example(first=FALLS, steps=STEPS, reduce=SUM, plain=1, weight=1)
@example(first=FALLS, steps=[LOW, {0: (0, 1, True)}], reduce="short of most", plain=2, weight=1)
@example(first=FAR, steps=[{0: (0, 3, False)}], reduce="short of most", plain=3, weight=1 << 62)
@example(
    first=LAST_IS_LOWEST,
    steps=[{0: OUT}, {1: OUT}, {3: OUT, 6: OUT}],
    reduce="short of most",
    plain=2,
    weight=1,
)
@given(
    first=st.one_of(*[st.lists(kind, min_size=ROWS, max_size=ROWS) for kind in (rows, plain_rows)]),
    steps=st.lists(st.dictionaries(st.integers(0, ROWS - 1), rows, min_size=1, max_size=2), max_size=8),
    reduce=st.sampled_from(list(RULES)),
    plain=weights,
    weight=weights,
)
def test_a_table_says_what_adding_up_says(
    first: list[Row], steps: list[dict[int, Row]], reduce: str, plain: int, weight: int
) -> None:
    """The totals, the best of them, the scores, and what was said before; or it gives up, and is made anew. Totals come
    near the end of 64 bits, and beyond."""
    if not any(fits for *_, fits in first):
        return
    changing = Changing(first, reduce, plain, weight)
    changing.compare()
    for step in steps:
        stands = changing.change(step)
        if not changing.fits.any():
            return
        if not stands:
            changing.begin()
        changing.compare()
    for given_before, expected in changing.held:
        assert listed(given_before) == expected
