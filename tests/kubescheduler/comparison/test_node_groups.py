"""Which groups of nodes a page tells apart."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubescheduler.comparison.release_steps import FEW, NO_LABEL, groupings
from tests.support.build import make_node

POOL, TYPE, OLD_TYPE = (
    "eks.amazonaws.com/nodegroup",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)
ZONE = "topology.kubernetes.io/zone"


def names(count: int, *labels: Mapping[str, str]) -> list[str]:
    """Of the groupings of so many nodes, whose labels go by turns."""
    return [
        each.name
        for each in groupings(make_node(f"n{at}", label=dict(labels[at % len(labels)])) for at in range(count))
    ]


@pytest.mark.parametrize(
    ("count", "labels", "expected"),
    [
        pytest.param(2, [{}], ["node"], id="no labels"),
        pytest.param(2, [{ZONE: "a"}, {ZONE: "b"}], ["node", ZONE], id="few nodes"),
        pytest.param(9, [{ZONE: "a"}, {ZONE: "b"}], [ZONE, "node"], id="many nodes"),
        pytest.param(
            9, [{ZONE: "a", POOL: "x"}, {ZONE: "b", POOL: "y"}], [POOL, ZONE, "node"], id="pools before zones"
        ),
        pytest.param(9, [{ZONE: "a", POOL: "x"}, {ZONE: "b", POOL: "x"}], [ZONE, "node"], id="one pool"),
        pytest.param(
            9, [{TYPE: "x", OLD_TYPE: "x"}, {TYPE: "y", OLD_TYPE: "y"}], [TYPE, "node"], id="of two names the newer"
        ),
        pytest.param(9, [{OLD_TYPE: "x"}, {}], [OLD_TYPE, "node"], id="some without the label"),
        pytest.param(
            FEW + 3,
            [{POOL: f"p{at}", ZONE: "ab"[at % 2]} for at in range(FEW + 3)],
            [ZONE, POOL, "node"],
            id="too many pools",
        ),
    ],
)
def test_what_is_offered(count: int, labels: list[dict[str, str]], expected: list[str]) -> None:
    """The first one is what a page begins with."""
    assert names(count, *labels) == expected


def test_nodes_without_the_label() -> None:
    """They are a group of their own."""
    [found, _] = groupings([make_node(f"n{at}", label={POOL: "x"} if at else {}) for at in range(FEW + 1)])
    assert (found.group_of["n0"], found.group_of["n1"], found.groups) == (NO_LABEL, "x", 2)
