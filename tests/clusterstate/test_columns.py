"""Amounts by row: remembered until something is counted on the row or it gets another node."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusterstate.columns import RowAmounts
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
