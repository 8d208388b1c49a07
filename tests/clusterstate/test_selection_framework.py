"""What the framework releases read in selectors differently from 1.16."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import (
    Affinity,
    NodeAffinity,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
)
from clusterstate.selectors.matching import SelectorError
from clusterstate.selectors.node_selection import labelled_mask, pod_matches_nodes_1_20, preferred_term_weights
from tests.support.build import Cluster, labels, make_node, make_pod, names_where

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
