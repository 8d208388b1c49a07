"""The order of names is that of sorting them all, and costs little when one comes or goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate import name_order
from clusterstate.cache import ClusterCache
from clusterstate.name_order import NAMELESS, NameOrder
from kubescheduler.releases import v1_36
from tests.support.build import make_node

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=3)


@given(st.lists(st.tuples(st.integers(0, 5), NAMES, st.booleans()), max_size=40), st.sampled_from((0, 3, 64)))
def test_as_sorted_anew(steps: list[tuple[int, str, bool]], most: int) -> None:
    """However often it is read in between, each name's place is its place among the sorted encoded names."""
    names: dict[int, str] = {}
    order, size = NameOrder(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_order, "MOST_MOVES", most)
        for row, name, read in steps:
            if row in names:
                order.drop(row, names.pop(row))
            elif name not in names.values():
                order.put(row, name)
                names[row], size = name, max(size, row + 1)
            if read:
                ordered = sorted(names.values(), key=str.encode)
                expected = [ordered.index(names[row]) if row in names else NAMELESS for row in range(size)]
                assert order.ranks(size).tolist() == expected
                assert [names[row] for row in order.rows(size).tolist()] == ordered


def test_one_node_more_sorts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that comes is put in its place among the others; they are not sorted again."""
    cache = ClusterCache.of([make_node(f"node-{at:03d}") for at in range(200)], v1_36.VIEW)
    before = cache.columns.ranks
    monkeypatch.setattr("builtins.sorted", None)
    cache.add_node(make_node("node-100-and-more"))
    after = cache.columns.ranks
    assert after.tolist() == [*range(101), *range(102, 201), 101]
    assert before.tolist() == list(range(200))


def test_a_changed_node_keeps_the_names() -> None:
    """The names of all rows are listed anew when one comes, and not when a node changes."""
    cache = ClusterCache.of([make_node("a"), make_node("b")], v1_36.VIEW)
    names = cache.columns.published[0]
    cache.update_node(make_node("a", label={"changed": "yes"}))
    assert cache.columns.published[0] is names
    cache.add_node(make_node("c"))
    assert cache.columns.published[0] == ("a", "b", "c")
