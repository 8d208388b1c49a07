"""clusterstate.selectors.node_selection: selectors as masks over rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Affinity, NodeAffinity, NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.selectors.matching import SelectorError, compile_requirement, term_error
from clusterstate.selectors.node_selection import (
    labelled_mask,
    node_affinity_mask,
    node_selector_mask,
    pod_matches_nodes_1_20,
    preferred_term_weights,
    term_mask,
    volume_affinity_mask,
)
from clusterstate.snapshot import Snapshot
from tests.support.build import Cluster, labels, make_node, make_pod, names_where

NODES: dict[str, dict[str, str]] = {
    "ssd-3": {"disk": "ssd", "gen": "3"},
    "ssd-12": {"disk": "ssd", "gen": "12"},
    "hdd": {"disk": "hdd", "gen": "odd"},
    "empty": {"disk": ""},
    "bare": {},
}


@pytest.fixture
def snapshot() -> Snapshot:
    return Cluster([make_node(name, pairs) for name, pairs in NODES.items()]).snapshot


def requirement(text: str) -> Requirement:
    """``key operator value,value``; a lone ``-`` is the empty value."""
    key, operator, *values = text.split(" ")
    return Requirement(key, operator, tuple("" if v == "-" else v for v in values[0].split(",")) if values else ())


def term(*texts: str, fields: tuple[str, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(map(requirement, texts)), tuple(map(requirement, fields)))


@pytest.mark.parametrize(
    ("selector", "picked"),
    [
        pytest.param({}, [*NODES], id="empty"),
        pytest.param({"disk": "ssd"}, ["ssd-3", "ssd-12"], id="one"),
        pytest.param({"disk": "ssd", "gen": "3"}, ["ssd-3"], id="two"),
        pytest.param({"disk": ""}, ["empty"], id="empty-value"),
        pytest.param({"rack": "r1"}, [], id="unknown-key"),
        pytest.param({"disk": "ssd", "rack": "-bad-"}, [*NODES], id="invalid-value"),
        pytest.param({"disk": "ssd", "a/b/c": "x"}, [*NODES], id="invalid-key"),
    ],
)
def test_a_plain_map_matches_everything_once_a_pair_is_invalid(
    snapshot: Snapshot, selector: Mapping[str, str], picked: list[str]
) -> None:
    """Equalities joined by AND; one bad pair switches the whole map off."""
    assert names_where(snapshot, node_selector_mask(snapshot, selector)) == picked


# --- terms ---------------------------------------------------------------------------------

TERMS = {
    "empty": (term(), []),
    "one": (term("disk In ssd"), ["ssd-3", "ssd-12"]),
    "and": (term("disk In ssd", "gen Lt 10"), ["ssd-3"]),
    "name": (term(fields=("metadata.name In hdd",)), ["hdd"]),
    "not-name": (term(fields=("metadata.name NotIn hdd",)), ["ssd-3", "ssd-12", "empty", "bare"]),
    "unknown-name": (term(fields=("metadata.name In nobody",)), []),
    "not-unknown-name": (term(fields=("metadata.name NotIn nobody",)), [*NODES]),
    "label-and-name": (term("disk In ssd", fields=("metadata.name In ssd-12",)), ["ssd-12"]),
    "label-and-other-name": (term("disk In ssd", fields=("metadata.name In hdd",)), []),
    "other-field": (term(fields=("spec.x In y",)), []),
    "other-field-not": (term(fields=("spec.x NotIn y",)), [*NODES]),
    "other-field-empty": (term(fields=("spec.x In -",)), [*NODES]),
}


@pytest.mark.parametrize(("given_term", "picked"), TERMS.values(), ids=TERMS)
def test_a_term_is_the_and_of_labels_and_fields(
    snapshot: Snapshot, given_term: NodeSelectorTerm, picked: list[str]
) -> None:
    """A term without requirements picks nothing; only metadata.name is a field."""
    assert names_where(snapshot, term_mask(snapshot, given_term)) == picked


INVALID_TERMS = {
    "operator": term("disk Near ssd"),
    "gt-not-a-number": term("gen Gt many"),
    "key": term("a/b/c Exists"),
    "second-expression": term("disk In ssd", "disk Near ssd"),
    "field-operator": term(fields=("metadata.name Exists",)),
    "field-two-values": term(fields=("metadata.name In hdd,bare",)),
}


@pytest.mark.parametrize("invalid", INVALID_TERMS.values(), ids=INVALID_TERMS)
def test_an_invalid_term_is_an_error_and_is_skipped_in_a_list(snapshot: Snapshot, invalid: NodeSelectorTerm) -> None:
    """On its own it raises; among other terms it has no say."""
    error = term_error(invalid)
    assert error
    with pytest.raises(SelectorError) as caught:
        term_mask(snapshot, invalid)
    assert str(caught.value) == error
    assert not node_affinity_mask(snapshot, [invalid]).any()
    assert names_where(snapshot, node_affinity_mask(snapshot, [invalid, term("disk In hdd")])) == ["hdd"]


def test_terms_are_joined_by_or(snapshot: Snapshot) -> None:
    """One term that matches is enough; no term at all picks nothing."""
    terms = [term("disk In hdd"), term(), term("gen Gt 3")]
    assert names_where(snapshot, node_affinity_mask(snapshot, terms)) == ["ssd-12", "hdd"]
    assert not node_affinity_mask(snapshot, []).any()


# --- pods and volumes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "picked"),
    [
        pytest.param(None, [*NODES], id="absent"),
        pytest.param((), [], id="no-terms"),
        pytest.param((term("disk In hdd"),), ["hdd"], id="label"),
        pytest.param((term(fields=("metadata.name In hdd",)),), [], id="name-never-matches"),
        pytest.param((term(fields=("metadata.name NotIn hdd",)),), [*NODES], id="not-name-always-matches"),
    ],
)
def test_volumes_see_no_fields(
    snapshot: Snapshot, terms: tuple[NodeSelectorTerm, ...] | None, picked: list[str]
) -> None:
    """A volume's node affinity reads labels only."""
    assert names_where(snapshot, volume_affinity_mask(snapshot, terms)) == picked


# --- laws ----------------------------------------------------------------------------------

VALUES = ["", "a", "b", "1", "2", "10"]
LABELS = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(VALUES))
VALID = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from(["k", "l"]),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(VALUES), min_size=1).map(tuple),
    ),
    st.builds(Requirement, st.sampled_from(["k", "l"]), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(
        Requirement,
        st.sampled_from(["k", "l"]),
        st.sampled_from(["Gt", "Lt"]),
        st.sampled_from(["0", "1", "5"]).map(lambda v: (v,)),
    ),
)


@given(nodes=st.lists(LABELS, max_size=12), wanted=st.lists(VALID, min_size=1, max_size=3), data=st.data())
def test_a_mask_says_of_each_row_what_its_labels_say(
    nodes: list[dict[str, str]], wanted: list[Requirement], data: st.DataObject
) -> None:
    """Columns and one set of labels at a time agree, over all rows and over some."""
    snapshot = Cluster([make_node(f"n{i}", pairs) for i, pairs in enumerate(nodes)]).snapshot
    each = [all(compile_requirement(r)(pairs.get(r.key)) for r in wanted) for pairs in nodes]
    given_term = NodeSelectorTerm(tuple(wanted))
    assert term_mask(snapshot, given_term).tolist() == each
    rows = np.array(data.draw(st.lists(st.integers(0, len(nodes) - 1), unique=True)) if nodes else [], np.int64)
    assert term_mask(snapshot.take(rows), given_term).tolist() == [each[row] for row in rows]


def test_a_row_without_a_node_has_no_labels() -> None:
    """Pods may sit on a row whose node object is gone."""
    cluster = Cluster([make_node("a", {"disk": "ssd"})], [make_pod("p", node="ghost")])
    snapshot = cluster.snapshot
    assert names_where(snapshot, term_mask(snapshot, term("disk In ssd"))) == ["a"]
    assert names_where(snapshot, term_mask(snapshot, term("disk DoesNotExist"))) == ["ghost"]


CLUSTER = Cluster([make_node("a", {"disk": "ssd", "n": "3"}), make_node("b", {"disk": "-"}), make_node("c")])
SSD = Requirement("disk", "In", ("ssd",))
ON_C = Requirement("metadata.name", "In", ("c",))
BAD = Requirement("n", "Gt", ("-1",))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param({}, ["a", "b", "c"], id="none"),
        pytest.param({"disk": "ssd"}, ["a"], id="one"),
        pytest.param({"disk": "ssd", "n": "4"}, [], id="both-must-hold"),
        pytest.param({"disk": "-"}, ["b"], id="invalid-values-compare-too"),
        pytest.param({"/": "x"}, [], id="invalid-keys-compare-too"),
    ],
)
def test_pairs_compare_as_they_are_written(pairs: dict[str, str], expected: list[str]) -> None:
    """Nothing is validated."""
    assert names_where(CLUSTER.snapshot, labelled_mask(CLUSTER.snapshot, pairs)) == expected


REQUIRED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["a", "b", "c"]),
    "selector": ({"node_selector": labels({"disk": "ssd"})}, ["a"]),
    "no-terms": ({"affinity": Affinity(NodeAffinity(required=()))}, []),
    "empty-term": ({"affinity": Affinity(NodeAffinity(required=(NodeSelectorTerm(),)))}, []),
    "either-term": (
        {"affinity": Affinity(NodeAffinity(required=(NodeSelectorTerm((SSD,)), NodeSelectorTerm((), (ON_C,)))))},
        ["a", "c"],
    ),
    "invalid-term-beside-a-valid-one": (
        {"affinity": Affinity(NodeAffinity(required=(NodeSelectorTerm((BAD,)), NodeSelectorTerm((SSD,)))))},
        ["a"],
    ),
    "both": (
        {
            "node_selector": labels({"n": "3"}),
            "affinity": Affinity(NodeAffinity(required=(NodeSelectorTerm((), (ON_C,)), NodeSelectorTerm((SSD,))))),
        },
        ["a"],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), REQUIRED.values(), ids=REQUIRED)
def test_the_selector_and_some_required_term_pick_nodes(fields: dict[str, Any], expected: list[str]) -> None:
    """Terms that cannot be parsed pick none."""
    info = CLUSTER.info(make_pod(**fields))
    assert names_where(CLUSTER.snapshot, pod_matches_nodes_1_20(info, CLUSTER.snapshot)) == expected


def test_preferred_terms_read_fields_and_pass_over_empty_ones() -> None:
    """Weights add up; a weight of 0 hides even a term that cannot be parsed."""
    terms = [
        PreferredSchedulingTerm(10, NodeSelectorTerm((SSD,))),
        PreferredSchedulingTerm(5, NodeSelectorTerm((), (ON_C,))),
        PreferredSchedulingTerm(3, NodeSelectorTerm((SSD,), (ON_C,))),
        PreferredSchedulingTerm(100, NodeSelectorTerm()),
        PreferredSchedulingTerm(0, NodeSelectorTerm((BAD,))),
        PreferredSchedulingTerm(1, NodeSelectorTerm((Requirement("disk", "Exists"),))),
    ]
    assert preferred_term_weights(CLUSTER.snapshot, terms).tolist() == [11, 1, 5]
    with pytest.raises(SelectorError, match="invalid label value"):
        preferred_term_weights(CLUSTER.snapshot, [PreferredSchedulingTerm(1, NodeSelectorTerm((BAD,)))])
