"""The order of the node list: zones in turn."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate import node_order
from clusterstate.node_order import (
    NAMELESS,
    REGION,
    STABLE_REGION,
    STABLE_ZONE,
    ZONE,
    NameOrder,
    NodeTree,
    zone_key,
    zone_key_stable,
)
from tests.support.build import make_node


def key(region: str, zone: str) -> str:
    return f"{region}:\x00:{zone}"


@pytest.mark.parametrize(
    ("labels", "old", "stable"),
    [
        ({}, None, None),
        ({ZONE: "a"}, key("", "a"), key("", "a")),
        ({REGION: "r"}, key("r", ""), key("r", "")),
        ({REGION: "r", ZONE: "a"}, key("r", "a"), key("r", "a")),
        ({STABLE_ZONE: "a"}, None, key("", "a")),
        ({STABLE_REGION: "r", STABLE_ZONE: "a"}, None, key("r", "a")),
        ({ZONE: "old", STABLE_ZONE: "new"}, key("", "old"), key("", "old")),
        ({ZONE: "", STABLE_ZONE: "new"}, None, key("", "new")),
        ({REGION: "r", STABLE_ZONE: "a"}, key("r", ""), key("r", "a")),
        ({ZONE: "", STABLE_ZONE: ""}, None, None),
    ],
)
def test_zone_keys(labels: Mapping[str, str], old: str | None, stable: str | None) -> None:
    """Since 1.20 the stable labels count where a beta one is absent or empty."""
    node = make_node("n", labels)
    assert (zone_key(node), zone_key_stable(node)) == (old, stable)


def tree(*names: str) -> NodeTree:
    """Nodes ``a1``, ``b1`` … of zones ``a``, ``b`` …, of no zone if the name is one letter."""
    made = NodeTree(zone_key_stable)
    for name in names:
        made.put(make_node(name, {STABLE_ZONE: name[0]} if len(name) > 1 else {}))
    return made


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ((), ""),
        (("a1", "a2", "a3", "b1", "c1", "c2"), "a1 b1 c1 a2 c2 a3"),
        (("b1", "a1", "b2"), "b1 a1 b2"),
        (("x", "a1", "y"), "x a1 y"),
    ],
    ids=["none", "worked example", "by first appearance", "without a zone"],
)
def test_zones_take_turns(names: tuple[str, ...], listed: str) -> None:
    """In order of first appearance, nodes of a zone in order of addition; exhausted zones are skipped."""
    assert " ".join(tree(*names).listed()) == listed


def test_what_becomes_of_the_order() -> None:
    """An update in place keeps it, a zone that is gone and comes back is the last."""
    made = tree("a1", "b1", "a2", "b2")
    made.put(make_node("a1", {STABLE_ZONE: "a", "new": "label"}))
    assert made.listed() == ["a1", "b1", "a2", "b2"]
    made.put(make_node("a1", {STABLE_ZONE: "b"}))
    assert made.listed() == ["a2", "b1", "b2", "a1"]
    made.remove("a2")
    made.put(make_node("a3", {STABLE_ZONE: "a"}))
    assert made.listed() == ["b1", "a3", "b2", "a1"]
    made.remove("ghost")
    assert len(made) == 4


def test_listing_does_not_move_the_iterator() -> None:
    """They belong to different releases."""
    made = tree("a1", "b1", "a2")
    assert [made.next() for _ in range(2)] == ["a1", "b1"]
    assert made.listed() == ["a1", "b1", "a2"]
    assert made.next() == "a2"


NAMES = st.text("aab\x00z\x7fé\uffff\U0001f600", min_size=1, max_size=3)
"""Of one to four bytes a character."""


@given(st.lists(st.tuples(st.integers(0, 5), NAMES, st.booleans()), max_size=40), st.sampled_from((0, 3, 64)))
def test_as_sorted_anew(steps: list[tuple[int, str, bool]], most: int) -> None:
    """However often it is read in between, each name's place is its place among the sorted encoded names."""
    names: dict[int, str] = {}
    order, size = NameOrder(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_order, "MOST_MOVES", most)
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
