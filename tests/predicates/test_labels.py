"""CheckNodeLabelPresence."""

from __future__ import annotations

import pytest

from predicates.node_identity import LABEL_PRESENCE, label_presence_factory
from predicates.types import PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, names_where

NODES = [
    make_node("none"),
    make_node("one", {"zone": "a"}),
    make_node("empty", {"zone": ""}),
    make_node("both", {"zone": "a", "retiring": "soon"}),
]


@pytest.mark.parametrize(
    ("labels", "presence", "failing"),
    [
        pytest.param(["zone"], True, ["none"], id="must-have"),
        pytest.param(["zone"], False, ["one", "empty", "both"], id="must-lack"),
        pytest.param(["zone", "retiring"], True, ["none", "one", "empty"], id="must-have-all"),
        pytest.param(["zone", "retiring"], False, ["one", "empty", "both"], id="must-lack-all"),
        pytest.param(["nope"], True, ["none", "one", "empty", "both"], id="nobody-has"),
        pytest.param(["nope"], False, [], id="nobody-has-lack"),
    ],
)
def test_labels_must_be_there_or_not(labels: list[str], presence: bool, failing: list[str]) -> None:
    """Each listed label on its own; an empty value is there."""
    cluster = Cluster(NODES)
    rule = label_presence_factory("Custom", tuple(labels), presence)(PredicateArgs())
    assert rule.name == "Custom"
    verdict = rule.check(cluster.info(make_pod()), cluster.snapshot)
    assert list(verdict) == [LABEL_PRESENCE]
    assert names_where(cluster.snapshot, verdict[LABEL_PRESENCE]) == failing


@pytest.mark.parametrize("presence", [True, False])
def test_no_labels_pass(presence: bool) -> None:
    """And need not be checked."""
    cluster = Cluster(NODES)
    rule = label_presence_factory("CheckNodeLabelPresence", (), presence)(PredicateArgs())
    pod = cluster.info(make_pod())
    assert not rule.applies(pod)
    assert not rule.check(pod, cluster.snapshot)[LABEL_PRESENCE].any()
