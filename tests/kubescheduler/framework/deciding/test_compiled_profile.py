"""A profile's plugins sorted by how they are run."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.compiled_profile import Compiled
from predicates.types import NodeError, PreFiltered
from priorities.types import PriorityError
from tests.support.build import Cluster, make_node, make_pod
from tests.support.deciders import FakeExtender, answers, frame, plugin, pre_filtering, refusing, scoring


def compiled(*plugins: Any, **fields: Any) -> Compiled:
    return Compiled.of(frame("1.36", *plugins, **fields), (), 100)


def test_plugins_by_how_they_are_run() -> None:
    """Rules over columns apart from custom plugins, each in the order of the profile."""
    own = plugin("Own", **answers(pre_filter=None, filter=None, pre_score=None, score=0))
    column = pre_filtering("A", PreFiltered())
    found = compiled(scoring("S", 1, pre_score=lambda *_: True), own, column, refusing("B", n0="b"))
    assert found.order == ("Own", "A", "B")
    assert [p.name for p in found.algorithm.predicates] == ["A", "B"]
    assert set(found.own_filters) == {"Own"}
    assert [p.name for p in found.pre_filters] == ["Own", "A"]
    assert (set(found.algorithm.pre_filters), set(found.own_pre_filters)) == ({"A"}, {"Own"})
    assert found.scores == ("S", "Own")
    assert set(found.own_scores) == {"Own"}
    assert [p.name for p in found.pre_scores] == ["S", "Own"]


def test_weights_are_those_of_the_score_plugins() -> None:
    """A plugin over columns has its weight in the algorithm too."""
    found = compiled(scoring("S", 1), plugin("Own", **answers(score=0)), weights={"S": 3, "Own": 2})
    assert found.weights == {"S": 3, "Own": 2}
    assert [(p.config.name, p.weight) for p in found.algorithm.priorities] == [("S", 3)]


def test_what_a_profile_says_besides() -> None:
    """The algorithm has the extenders, the percentage, and whether all Filter plugins are run."""
    extender = FakeExtender()
    made = Compiled.of(frame("1.20", run_all_filters=True), (extender,), 30)
    assert made.algorithm.release == "1.20"
    assert made.algorithm.extenders == (extender,)
    assert made.algorithm.percentage_of_nodes_to_score == 30
    assert made.algorithm.always_check_all_predicates


@pytest.mark.parametrize("asked", [True, False])
def test_a_filter_that_needs_its_pre_filter(asked: bool) -> None:
    """Without it, it errs on every node."""
    column = msgspec.structs.replace(pre_filtering("A", PreFiltered()), filter_alone="no state")
    made = column if asked else msgspec.structs.replace(column, points=frozenset({Point.FILTER}))
    cluster = Cluster([make_node("n0"), make_node("n1")])
    verdict = compiled(made).algorithm.predicates[0].check(cluster.info(make_pod()), cluster.snapshot)
    if asked:
        assert verdict == {}
    else:
        ((reason, mask),) = verdict.items()
        assert isinstance(reason, NodeError)
        assert (reason, mask.tolist()) == ("no state", [True, True])


@pytest.mark.parametrize("prepared", [True, False])
def test_a_score_that_needs_its_pre_score(prepared: bool) -> None:
    """Without it, it fails."""
    column = msgspec.structs.replace(scoring("S", 7, pre_score=lambda *_: True), score_alone="no state")
    made = column if prepared else msgspec.structs.replace(column, points=frozenset({Point.SCORE}))
    cluster = Cluster([make_node("n0")])
    config = compiled(made).algorithm.priorities[0].config
    if prepared:
        assert config.map(cluster.info(make_pod()), cluster.snapshot).tolist() == [7]
    else:
        with pytest.raises(PriorityError, match=r"^no state$"):
            config.map(cluster.info(make_pod()), cluster.snapshot.take(np.array([0])))
