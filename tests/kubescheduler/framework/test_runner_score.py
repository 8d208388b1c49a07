"""PreScore and Score: reactions, ranges and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import make_node, make_pod
from tests.support.deciders import answers, frame, plugin, services_of

POD = make_pod()
BOTH = ["1.20", "1.36"]


def framed(release: str, *plugins: Any, **more: Any) -> Any:
    """A framework over two nodes, and their snapshot."""
    services = services_of(release, [make_node("n1"), make_node("n2")])
    framework = frame(release, *plugins, services=services, **more)
    return framework, framework.handle.snapshot()


@pytest.mark.parametrize("release", BOTH)
def test_scores_are_normalised_and_weighed(release: str) -> None:
    """Per node or over all nodes, raw scores go through the plugin's own normalising."""
    per_node = plugin(
        "PerNode",
        score=lambda state, pod, info: int(info.name[1:]),
        normalize_scores=lambda state, pod, scores: scores * 10,
    )
    columns = plugin("Columns", score_nodes=lambda state, pod, snapshot: [5] * len(snapshot))
    framework, nodes = framed(release, per_node, columns, weights={"PerNode": 3})
    outcome = framework.run_score(CycleState(), POD, nodes)
    assert outcome.status is None
    assert outcome.scores["PerNode"].raw.tolist() == [1, 2]
    assert outcome.scores["PerNode"].normalized.tolist() == [10, 20]
    assert outcome.scores["PerNode"].weight == 3
    assert outcome.totals.tolist() == [35, 65]


def scorer(**fields: Any) -> ColumnPlugin:
    config = PriorityConfig(
        "Column",
        lambda pod, snapshot: np.arange(len(snapshot)),
        lambda pod, snapshot, raw: raw * 50,
        settle=lambda pod, snapshot, raw: raw + 1,
        **fields,
    )
    return ColumnPlugin("Column", frozenset({Point.PRE_SCORE, Point.SCORE}), scoring=config, score_alone="no state")


@pytest.mark.parametrize("release", BOTH)
def test_column_rules_settle_and_reduce(release: str) -> None:
    """Raw scores are the settled ones."""
    framework, nodes = framed(release, scorer())
    state = CycleState()
    assert framework.run_pre_score(state, POD, nodes) is None
    outcome = framework.run_score(state, POD, nodes)
    assert outcome.scores["Column"].raw.tolist() == [1, 2]
    assert outcome.totals.tolist() == [50, 100]


@pytest.mark.parametrize(
    ("release", "text", "skipped"), [("1.20", 'running PreScore plugin "A": ', set()), ("1.36", None, {"A"})]
)
def test_skip(release: str, text: str | None, skipped: set[str]) -> None:
    """In 1.36 a plugin may give no score at all."""
    made = plugin("A", **answers(pre_score=Status(Code.Skip), score=7))
    framework, nodes = framed(release, made)
    state = CycleState()
    status = framework.run_pre_score(state, POD, nodes)
    assert (status.message if status else None) == text
    assert state.skip_score == skipped
    if skipped:
        assert framework.run_score(state, POD, nodes).scores == {}


def test_a_column_rule_skips() -> None:
    """Its PreScore has nothing to score."""
    framework, nodes = framed("1.36", scorer(pre_score=lambda pod, snapshot: False))
    state = CycleState()
    assert framework.run_pre_score(state, POD, nodes) is None
    assert state.skip_score == {"Column"}


def erring(*_: Any) -> Any:
    raise PriorityError("broken")


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    "made",
    [plugin("A", **answers(score=1, pre_score=SchedulingError("broken"))), scorer(pre_score=erring)],
    ids=["own", "column"],
)
def test_a_failing_pre_score(release: str, made: Any) -> None:
    """Both kinds are told alike."""
    framework, nodes = framed(release, made)
    status = framework.run_pre_score(CycleState(), POD, nodes)
    assert status == Status.failure(f'running PreScore plugin "{made.name}": broken').by(made.name)


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            plugin("A", **answers(score=SchedulingError("broken"))),
            'running Score plugins: plugin "A" failed with: broken',
        ),
        (
            plugin("A", **answers(score=1, normalize_scores=SchedulingError("broken"))),
            'running Normalize on Score plugins: plugin "A" failed with: broken',
        ),
        (
            ColumnPlugin(
                "A",
                frozenset({Point.SCORE}),
                scoring=PriorityConfig("A", lambda pod, snapshot: np.zeros(2, np.int64)),
                score_alone="no state",
            ),
            'running Score plugins: plugin "A" failed with: no state',
        ),
    ],
    ids=["score", "normalize", "alone"],
)
def test_faults(release: str, made: Any, text: str) -> None:
    """Scores that fail or leave their range end the attempt."""
    framework, nodes = framed(release, made)
    status = framework.run_score(CycleState(), POD, nodes).status
    assert status is not None
    assert (status.code, status.message) == (Code.Error, text)


OUT_OF_RANGE = (
    'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, '
    "it should in the range of [0, 100] after normalizing"
)


@pytest.mark.parametrize("release", BOTH)
def test_scores_out_of_range(release: str) -> None:
    """A custom plugin's are its fault, one over columns that is not a user's ends the attempt."""
    framework, nodes = framed(release, plugin("A", **answers(score=101)))
    with pytest.raises(CustomCodeError, match="plugin A, score, pod default/p, node n1: applying score") as raised:
        framework.run_score(CycleState(), POD, nodes)
    assert str(raised.value).endswith(OUT_OF_RANGE)
    config = PriorityConfig("A", lambda pod, snapshot: np.full(2, 101))
    framework, nodes = framed(release, ColumnPlugin("A", frozenset({Point.SCORE}), scoring=config))
    assert framework.run_score(CycleState(), POD, nodes).status == Status.failure(OUT_OF_RANGE).by("A")


@pytest.mark.parametrize("release", BOTH)
def test_a_subset_of_nodes_scores_the_same(release: str) -> None:
    """Without normalising, a node's score is its own."""
    made = plugin("A", score=lambda state, pod, info: int(info.name[1:]))
    framework, nodes = framed(release, made)
    one = framework.run_score(CycleState(), POD, nodes.take(np.array([1])))
    assert one.totals.tolist() == framework.run_score(CycleState(), POD, nodes).totals.tolist()[1:]
