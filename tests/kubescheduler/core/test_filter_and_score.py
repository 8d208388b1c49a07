"""The scores of a decision."""

from __future__ import annotations

import numpy as np
import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.core.filter_and_score import ScoreTable
from tests.support.releases_tried import RELEASES_TRIED


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_scores_by_node(release: str) -> None:
    """As dicts they are what is said of each priority; products with the weights add up to the totals."""
    cluster = ks.Cluster(release=release).node("a", cpu=4).node("b", cpu=8).node("full", cpu="10m")
    decision = ks.Scheduler(cluster).decide(ks.pod("web", cpu=1))
    by_node = decision.scores.to_dict()
    assert by_node == {priority: decision.score(priority) for priority in decision.scores}
    assert all({*scores} == {"a", "b"} for scores in by_node.values())
    summed = {node: sum(decision.weights[p] * by_node[p][node] for p in by_node) for node in ("a", "b")}
    assert summed == decision.total()


def test_one_score_for_all_nodes() -> None:
    """An int stands for every feasible row; arrays stay what they are."""
    array = np.array([7, 0], np.int64)
    table = ScoreTable({"A": 3, "B": array}, ("x", "y", "z"), np.array([2, 0], np.int64))
    assert table.to_dict() == {"A": {"z": 3, "x": 3}, "B": {"z": 7, "x": 0}}
    assert table["B"] is array
    assert list(table) == ["A", "B"]
    assert len(table) == 2


def test_nothing_scored() -> None:
    """Where a single node fits, 1.16 scores nothing."""
    assert ks.Scheduler(ks.Cluster().node("a")).decide(ks.pod("p")).scores.to_dict() == {}


@pytest.mark.parametrize(
    ("release", "name", "hint"),
    [
        ("1.36", "LeastRequestedPriority", "; did you mean NodeResourcesFit?"),
        ("1.36", "TaintTolerationPriority", "; did you mean TaintToleration?"),
        ("1.16", "NodeResourcesFit", "; did you mean LeastRequestedPriority?"),
        ("1.16", "leastRequestedPriority", "; did you mean LeastRequestedPriority?"),
        ("1.16", "Zebra", "; there are "),
    ],
)
def test_scores_by_another_releases_name(release: str, name: str, hint: str) -> None:
    """The error names the rule that takes its place in this release."""
    decision = ks.Scheduler(ks.Cluster(release=release).node("a").node("b")).decide(ks.pod("web"))
    for said in (decision.score, decision.raw):
        with pytest.raises(InputError) as caught:
            said(name)
        assert str(caught.value).startswith(f"{name} has no scores in this decision{hint}")


def test_scores_of_a_decision_without_any() -> None:
    """Where one node fits or none, that is why."""
    one = ks.Scheduler(ks.Cluster(release="1.36").node("a")).decide(ks.pod("web"))
    with pytest.raises(InputError, match="NodeResourcesFit has no scores in this decision: only one node fits"):
        one.score("NodeResourcesFit")
