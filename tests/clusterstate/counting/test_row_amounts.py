"""Amounts by row: remembered until something is counted on the row or it gets another node."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from clusterstate.counting import row_amounts
from clusterstate.counting.row_amounts import RowAmounts
from clusterstate.podinfo import PodInfo
from tests.support.build import cache_of, make_pod, resources

ROWS = 6
rows = st.integers(0, ROWS - 1)
steps = st.one_of(
    st.tuples(st.just("add"), rows, st.sampled_from([1, 2, -1])),
    st.tuples(st.just("many"), st.lists(rows, min_size=1, unique=True), st.sampled_from([1, -1])),
    st.tuples(st.just("node"), rows, st.integers(0, 3)),
    st.tuples(st.just("resource"), st.just(0), st.just(0)),
    st.tuples(st.just("row"), st.just(0), st.just(0)),
)


def read(amounts: RowAmounts, row: int) -> tuple[Any, ...]:
    """What the tables say of a row."""
    tables = (amounts.requested, amounts.nonzero, amounts.pod_count, amounts.allowed_pods, amounts.allocatable)
    return tuple(table.view[..., row].tolist() for table in (*tables, amounts.allocatable_set))


def step(amounts: RowAmounts, info: PodInfo, what: str, where: Any, number: int) -> None:
    """Makes one of ``steps``."""
    count, size = amounts.requested.shape
    match what:
        case "add":
            amounts.add(where, info, number)
        case "many":
            amounts.add_many(dict.fromkeys(where, 1), info, number)
        case "node":
            amounts.put_node(where, [(0, number), (1, number)], number)
        case "resource":
            amounts.resize(count + 1, size)
        case _:
            amounts.resize(count, size + 1)


@given(st.lists(steps, min_size=1, max_size=12))
def test_what_is_remembered_of_rows_is_what_the_tables_say(found: list[Any]) -> None:
    """Rows have equal amounts exactly if the tables say the same of them, after every change."""
    amounts, info = RowAmounts(3), cache_of().info(make_pod("p", requests=resources(cpu=250)))
    amounts.resize(3, ROWS)
    for one in found:
        for row in range(ROWS):
            amounts.of(row)
        step(amounts, info, *one)
        for first in range(ROWS):
            for second in range(ROWS):
                assert (amounts.of(first) == amounts.of(second)) is (read(amounts, first) == read(amounts, second))
                assert amounts.of(first) is amounts.of(first)


class CodeReader:
    """Knows what it has been told to read of the codes since it began, or began anew."""

    def __init__(self, amounts: RowAmounts) -> None:
        self.amounts = amounts
        self.begin()

    def begin(self) -> None:
        """As of now."""
        codes = self.amounts.codes
        self.position, self.generation = codes.position, codes.generation
        self.known = [self.amounts.of(row) for row in range(len(codes.codes))]
        self.meaning: dict[int, Any] = {}

    def read(self) -> None:
        """Brings what is known up to date; every code has one meaning, and every row that has changed is named."""
        codes = self.amounts.codes
        rows = codes.since(self.position)
        if rows is None or codes.generation != self.generation or len(codes.codes) != len(self.known):
            self.begin()
            return
        self.position = codes.position
        for row in rows.tolist():
            self.known[row] = self.amounts.of(row)
            code = codes.codes.item(row)
            assert 0 <= code < codes.count
            assert self.meaning.setdefault(code, self.known[row]) == self.known[row]
        assert len(set(self.meaning.values())) == len(self.meaning)
        assert self.known == [self.amounts.of(row) for row in range(len(self.known))]


@example([("add", 0, 1), ("add", 1, 1), ("add", 0, -1), ("add", 2, 2), ("add", 3, 1), ("add", 0, 1)], 2, 64, 64)
@example([("add", 0, 1), ("add", 0, 1), ("add", 0, 1), ("add", 0, 1), ("add", 0, 1)], 2, 64, 2)
@example([("add", 0, 1), ("resource", 0, 0), ("add", 0, -1)], 2, 64, 64)
@example([("many", [0, 1, 2, 3], 1), ("add", 0, 1), ("add", 4, 1)], 2, 64, 64)
@given(
    st.lists(steps, min_size=1, max_size=12),
    st.sampled_from([2, 64]),
    st.sampled_from([3, 64]),
    st.sampled_from([2, 64]),
)
def test_codes_name_every_row_that_has_changed(found: list[Any], at_once: int, codes: int, longest: int) -> None:
    """For readers that read after each change, after every second, and at the end. at_once, codes, longest: see the
    module's limits."""
    amounts, info = RowAmounts(3), cache_of().info(make_pod("p", requests=resources(cpu=250)))
    amounts.resize(3, ROWS)
    with (
        patch.object(row_amounts, "MOST_AT_ONCE", at_once),
        patch.object(row_amounts, "MOST_CODES", codes),
        patch.object(row_amounts, "LONGEST", longest),
    ):
        readers = [CodeReader(amounts) for _ in range(3)]
        for number, one in enumerate(found):
            step(amounts, info, *one)
            readers[0].read()
            if number % 2:
                readers[1].read()
        readers[2].read()


def test_readers_need_not_begin_anew_for_a_few_changes() -> None:
    """Rows are named once each for what has changed since a reader asked, and a row that is as before not at all."""
    amounts, info = RowAmounts(3), cache_of().info(make_pod("p", requests=resources(cpu=250)))
    amounts.resize(3, ROWS)
    before = amounts.codes.position
    for row in range(ROWS):
        amounts.add(row, info, 1)
    assert amounts.codes.since(before) is not None
    position = amounts.codes.position
    amounts.add(4, info, 1)
    amounts.add(2, info, 1)
    amounts.add(2, info, -1)
    rows = amounts.codes.since(position)
    assert rows is not None
    assert rows.tolist() == [4]
