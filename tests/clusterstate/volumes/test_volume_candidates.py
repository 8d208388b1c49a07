"""The first free volume of each node: as if volumes were tried one after another on each node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import NodeSelectorTerm, PersistentVolume, Requirement
from clusterstate.selectors.node_selection import volume_affinity_mask
from clusterstate.volumes.volume_candidates import NONE, Terms, VolumeCandidates, label_picked
from tests.support.build import Cluster, make_node
from tests.support.storage import make_volume, on_nodes

HOST_A = Requirement("host", "In", ("a",))
ANY_HOST = Requirement("host", "Exists")
INVALID = Requirement("host", "In", ())
NAMED = Requirement("metadata.name", "In", ("a",))


def term(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions, fields)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(None, None, id="anywhere"),
        pytest.param((), None, id="nowhere"),
        pytest.param(on_nodes("a", "b"), ("host", ("a", "b")), id="one-label"),
        pytest.param((*on_nodes("a"), *on_nodes("b")), ("host", ("a", "b")), id="either-of-two-terms"),
        pytest.param((term(INVALID), term(HOST_A)), ("host", ("a",)), id="an-invalid-term-is-passed-over"),
        pytest.param((term(INVALID),), None, id="only-an-invalid-term"),
        pytest.param((term(HOST_A, ANY_HOST),), None, id="two-requirements"),
        pytest.param((term(ANY_HOST),), None, id="another-operator"),
        pytest.param((term(HOST_A, fields=(NAMED,)),), None, id="a-field"),
        pytest.param((term(HOST_A), term(Requirement("zone", "In", ("z",)))), None, id="two-labels"),
    ],
)
def test_terms_that_pick_nodes_by_one_label(terms: Terms, expected: Any) -> None:
    """Anything else is worked out as a mask."""
    assert label_picked(terms) == expected


AFFINITIES = st.sampled_from(
    [
        None,
        (),
        on_nodes("a"),
        on_nodes("b", "c"),
        on_nodes("nobody"),
        (term(HOST_A, ANY_HOST),),
        (term(ANY_HOST),),
        (term(Requirement("zone", "In", ("z",))),),
        (term(INVALID), term(HOST_A)),
    ]
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 3), AFFINITIES),
        st.tuples(st.just("drop"), st.integers(0, 5), st.none()),
        st.tuples(st.just("ask"), st.integers(0, 2), st.none()),
        st.tuples(st.just("node"), st.sampled_from("abcd"), st.sampled_from(["a", "b", "d"])),
    ),
    max_size=25,
)


def one_by_one(cluster: Cluster, volumes: dict[int, PersistentVolume], taken: list[Any]) -> list[int]:
    """The same by trying the volumes of each row in turn. volumes: by number, in order of arrival."""
    snapshot = cluster.snapshot
    ordered = sorted(volumes, key=lambda number: volumes[number].storage)
    out = []
    for at in range(len(snapshot)):
        usable = [n for n in ordered if volume_affinity_mask(snapshot, volumes[n].node_affinity)[at]]
        left = [n for n in usable if all(numbers[at] != n for numbers in taken)]
        out.append(left[0] if left else NONE)
    return out


@given(events=EVENTS, some=st.booleans())
def test_the_first_volume_of_each_row_is_found_after_any_events(events: list[Any], some: bool) -> None:
    """Volumes come and go, nodes change their labels; what earlier claims took is left out."""
    cluster = Cluster([make_node(name, {"host": name, "zone": "z"}) for name in "abc"])
    candidates, volumes = VolumeCandidates(lambda _: True), dict[int, PersistentVolume]()
    for count, (event, number, detail) in enumerate([*events, ("ask", 2, None)]):
        if event == "add":
            volumes[count] = make_volume(f"v{count}", storage=number, node_affinity=detail)
            candidates.add([(count, count, volumes[count])])
        elif event == "drop" and number < len(volumes):
            gone = list(volumes)[number]
            candidates.drop((gone, gone, volumes.pop(gone)))
        elif event == "node":
            columns = cluster.columns
            columns.put_node(columns.row(number), make_node(number, {"host": detail}))
        elif event == "ask":
            taken: list[Any] = []
            for _ in range(number + 1):
                expected = one_by_one(cluster, volumes, taken)
                taken.append(candidates.first(cluster.snapshot, taken))
                assert taken[-1].tolist() == expected
            if some:
                part = cluster.snapshot.take(np.array([1]))
                assert candidates.first(part, []).tolist() == one_by_one(cluster, volumes, [])[1:2]


def test_volumes_that_will_not_do_are_left_out() -> None:
    """They are no candidates, and dropping them changes nothing."""
    candidates = VolumeCandidates(lambda volume: volume.storage > 1)
    small, large = (make_volume(f"v{size}", storage=size) for size in (1, 2))
    candidates.add([(0, 0, small), (1, 1, large)])
    candidates.drop((0, 0, small))
    snapshot = Cluster([make_node("a")]).snapshot
    assert candidates.first(snapshot, []).tolist() == [1]
    assert candidates.first(snapshot, [np.array([1])]).tolist() == [NONE]
