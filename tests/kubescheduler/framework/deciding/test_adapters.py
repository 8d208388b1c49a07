"""One plugin asked about many nodes, whichever way it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import SchedulingError
from clusterstate.snapshot import PodChange
from kubescheduler.core.status import REJECTED_1_20, Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import ColumnPlugin, Unresolvable
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.adapters import OwnFilter, ask_filter, filter_mask, normalize_rows, score_rows
from predicates.types import FitPredicate, NodeError
from priorities.types import PriorityConfig
from tests.support.build import Cluster, make_node, make_pod
from tests.support.deciders import answers, plugin

POD = make_pod()
STATE = CycleState()
NODES = Cluster([make_node(f"n{at}", {"rank": str(at)}) for at in range(6)]).snapshot


def rank(node_info: Any) -> int:
    return int(node_info.node.metadata.labels["rank"])


def odd(*_: Any) -> Status | None:
    return Status.unschedulable("odd") if rank(_[-1]) % 2 else None


def masks(*reasons: Any) -> Any:
    """filter_nodes that refuses the rows 0, 1 … for one reason each, and row 2 for all."""

    def filter_nodes(state: Any, pod: Any, snapshot: Any) -> dict[Any, Any]:
        rows = snapshot.row_numbers
        return {reason: (rows == at) | (rows == 2) for at, reason in enumerate(reasons)}

    return filter_nodes


def test_per_node() -> None:
    """Only nodes that are refused are told."""
    found = filter_mask(plugin("A", filter=odd), STATE, POD, NODES)
    assert found == dict.fromkeys((1, 3, 5), Status.unschedulable("odd"))


def test_per_node_errors() -> None:
    """What a plugin raises about one node is that node's status."""

    def fail(state: Any, pod: Any, node_info: Any) -> None:
        if rank(node_info) == 4:
            raise SchedulingError("broken")

    assert filter_mask(plugin("A", filter=fail), STATE, POD, NODES) == {4: Status.failure("broken")}


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("plain", Status.unschedulable("plain")),
        (Unresolvable("hopeless"), Status.unresolvable("hopeless")),
        (NodeError("no {pod}"), Status.failure("no default/p")),
        (Status(Code.Pending, ("later",)), Status(Code.Pending, ("later",))),
    ],
    ids=["text", "unresolvable", "error", "status"],
)
def test_over_columns(reason: Any, status: Status) -> None:
    """A reason may be a text, a marked text or a whole status."""
    found = filter_mask(plugin("A", filter_nodes=masks(reason)), STATE, POD, NODES)
    assert found == {0: status, 2: status}


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        (("a", "b"), Status.unschedulable("a", "b")),
        (("a", Unresolvable("b")), Status.unresolvable("a", "b")),
        ((NodeError("x"), "a"), Status.failure("x")),
        (("a", NodeError("x")), Status.failure("x")),
    ],
    ids=["reasons", "unresolvable", "error first", "error last"],
)
def test_several_reasons_on_a_node(reasons: tuple[Any, ...], status: Status) -> None:
    """Reasons are joined, unless one is an error."""
    found = filter_mask(plugin("A", filter_nodes=masks(*reasons)), STATE, POD, NODES)
    assert found[2] == status


def test_columns_that_fail() -> None:
    """An error of the whole is every node's."""

    def fail(*_: Any) -> Any:
        raise SchedulingError("broken")

    found = filter_mask(plugin("A", filter_nodes=fail), STATE, POD, NODES)
    assert found == dict.fromkeys(range(6), Status.failure("broken"))


def rules(**fields: Any) -> ColumnPlugin:
    def check(pod: Any, snapshot: Any) -> dict[str, Any]:
        return {"a": snapshot.row_numbers % 2 == 1, "b": snapshot.row_numbers == 3}

    return ColumnPlugin("A", frozenset({Point.FILTER}), FitPredicate("A", check, **fields))


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({}, (2, 2)),
        ({"unresolvable": lambda reason: reason == "b"}, (2, 3)),
        ({"beyond": lambda pod, snapshot: snapshot.row_numbers == 1}, (3, 2)),
    ],
    ids=["plain", "reason", "rows"],
)
def test_column_rules(fields: dict[str, Any], codes: tuple[int, int]) -> None:
    """A code follows from the reasons, or from the row."""
    found = filter_mask(rules(**fields), STATE, POD, NODES)
    assert {at: (status.code, status.reasons) for at, status in found.items()} == {
        1: (codes[0], ("a",)),
        3: (codes[1], ("a", "b")),
        5: (2, ("a",)),
    }


def test_a_column_rule_that_does_not_apply() -> None:
    """It refuses nothing."""
    assert filter_mask(rules(applies=lambda pod: False), STATE, POD, NODES) == {}


@given(st.sets(st.integers(0, 5), min_size=1))
def test_a_subset_of_rows_gives_the_same(rows: set[int]) -> None:
    """Whatever the plugin is, a node's status does not depend on which others are judged."""
    at = np.array(sorted(rows))
    for made in (plugin("A", filter=odd), plugin("A", filter_nodes=masks("a", Unresolvable("b"))), rules()):
        whole = filter_mask(made, STATE, POD, NODES)
        part = filter_mask(made, STATE, POD, NODES.take(at))
        assert {int(at[i]): status for i, status in part.items()} == {k: v for k, v in whole.items() if k in rows}
        for row in rows:
            assert ask_filter(made, STATE, POD, NODES.take(np.array([row]))) == (whole.get(row), None)


def test_changes_are_seen() -> None:
    """A custom plugin sees the pods that are hypothetically added to a node."""

    def crowded(state: Any, pod: Any, node_info: Any) -> Status | None:
        return Status.unschedulable("crowded") if node_info.pods else None

    other = make_pod("other")
    change = PodChange(1, NODES.info(other), 1, nominated=True, pod=other)
    assert list(filter_mask(plugin("A", filter=crowded), STATE, POD, NODES.what_if([change]))) == [1]


def test_scores() -> None:
    """Per node, over columns and column rules give (n,) int64."""
    config = PriorityConfig("C", lambda pod, snapshot: snapshot.row_numbers * 2)
    for made in (
        plugin("A", score=lambda state, pod, info: rank(info) * 2),
        plugin("B", score_nodes=lambda state, pod, snapshot: snapshot.row_numbers * 2),
        ColumnPlugin("C", frozenset({Point.SCORE}), scoring=config),
    ):
        scores = score_rows(made, STATE, POD, NODES.take(np.array([1, 4])))
        assert (scores.dtype, scores.tolist()) == (np.int64, [2, 8])
        assert normalize_rows(made, STATE, POD, scores) is scores


def test_scores_that_fail() -> None:
    """The text is the release's, with the plugin's name."""

    def fail(*_: Any) -> Any:
        raise SchedulingError("broken")

    made = plugin("A", score=fail, normalize_scores=fail)
    with pytest.raises(SchedulingError, match=r'^running Score plugins: plugin "A" failed with: broken$'):
        score_rows(made, STATE, POD, NODES)
    with pytest.raises(SchedulingError, match=r'^running Normalize on Score plugins: plugin "A" failed with: broken$'):
        normalize_rows(made, STATE, POD, np.zeros(6, np.int64))


THERE = make_pod("there", node="n1")
CLUSTER = Cluster([make_node("n0"), make_node("n1")], [THERE])
CLUSTER.columns.put_pod(CLUSTER.columns.row("ghost"), make_pod("lost", node="ghost"), "lost")
U, UAU = Status.unschedulable("u"), Status.unresolvable("uau")


def own(made: Any, **fields: Any) -> OwnFilter:
    return OwnFilter(made, CycleState(), POD, **fields)


def by_pods(*statuses: Status | None) -> Any:
    """Answers by how many pods a node has."""
    return lambda state, pod, node_info: statuses[len(node_info.pods)]


@pytest.mark.parametrize(
    ("status", "fields", "reason", "error"),
    [
        (U, {}, "u", False),
        (Status.unschedulable("u", "v"), {}, "u", False),
        (Status(Code.Unschedulable), {}, "", False),
        (Status(Code.Pending, ("later",)), {}, "later", False),
        (Status(Code.Pending, ("later",)), {"rejected": REJECTED_1_20}, "later", True),
        (Status.failure("broken"), {}, "broken", True),
        (Status(Code.Error, ("why",), "broken"), {}, "broken", True),
        (Status(Code.Wait), {}, "", True),
    ],
)
def test_statuses_become_reasons(status: Status, fields: Any, reason: str, error: bool) -> None:
    """A code that refuses no node is an error with the status' text; rows without a node object pass."""
    made = own(plugin("A", filter=by_pods(None, status)), **fields)
    verdict = made.check(CLUSTER.info(POD), CLUSTER.snapshot)
    first = next(iter(verdict))
    assert first == reason
    assert isinstance(first, NodeError) == error
    assert [mask.tolist() for mask in verdict.values()] == [[False, True, False]] * len(verdict)


def test_codes_are_those_of_the_last_answer() -> None:
    """Asked again about a row, the plugin may say something else."""
    given: list[Status | None] = [UAU, U, None, UAU]
    made, snapshot = own(plugin("A", filter=lambda *_: given.pop(0))), CLUSTER.snapshot
    info = CLUSTER.info(POD)
    made.check(info, snapshot)
    assert made.predicate.beyond is not None
    assert made.predicate.beyond(info, snapshot).tolist() == [True, False, False]
    assert made.refused_with(Code.Unschedulable, snapshot).tolist() == [False, True, False]
    made.check(info, snapshot)
    assert made.codes == {1: Code.UnschedulableAndUnresolvable}


def test_changes_are_told_one_after_the_other() -> None:
    """Each with the node as it is after it, and in a copy of the state."""
    seen: list[tuple[str, str, list[str]]] = []

    def note(sign: str) -> Any:
        def tell(state: CycleState, pod: Any, other: Any, node_info: Any) -> None:
            seen.append((sign, other.metadata.name, [p.metadata.name for p in node_info.pods]))
            state.write("told", True)

        return tell

    def told(state: CycleState, pod: Any, node_info: Any) -> Status | None:
        return U if state.get("told") else None

    made = own(plugin("A", filter=told, add_pod=note("+"), remove_pod=note("-")))
    info, new = CLUSTER.info(POD), make_pod("new")
    steps = [PodChange(1, CLUSTER.info(p), sign, pod=p) for p, sign in ((new, 1), (THERE, -1))]
    verdict = made.check(info, CLUSTER.snapshot.what_if(steps))
    assert seen == [("+", "new", ["there", "new"]), ("-", "there", ["new"])]
    assert verdict["u"].tolist() == [True, True, False]
    assert made.cycle.get("told") is None


def test_changes_are_not_told_to_who_did_not_prepare() -> None:
    """Neither a plugin without AddPod nor one whose PreFilter is not enabled."""
    info, new = CLUSTER.info(POD), make_pod("new")
    snapshot = CLUSTER.snapshot.what_if([PodChange(0, CLUSTER.info(new), 1, pod=new)])
    assert own(plugin("A", **answers(filter=None))).check(info, snapshot) == {}
    fails = plugin("A", **answers(filter=None, add_pod=U))
    assert own(fails, with_changes=False).check(info, snapshot) == {}
    with pytest.raises(SchedulingError, match=r'^running AddPod on PreFilter plugin "A": u$'):
        own(fails).check(info, snapshot)


@pytest.mark.parametrize("fault", [U, SchedulingError("u")], ids=["answered", "raised"])
def test_a_removal_that_fails(fault: Any) -> None:
    """The text tells the point and the plugin."""
    snapshot = CLUSTER.snapshot.what_if([PodChange(1, CLUSTER.info(THERE), -1, pod=THERE)])
    made = own(plugin("A", **answers(filter=None, add_pod=None, remove_pod=fault)))
    with pytest.raises(SchedulingError, match=r'^running RemovePod on PreFilter plugin "A": u$'):
        made.check(CLUSTER.info(POD), snapshot)
