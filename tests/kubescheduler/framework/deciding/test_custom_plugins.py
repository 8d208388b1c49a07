"""A plugin's own Filter as a rule over columns."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.snapshot import PodChange
from kubescheduler.core.status import REJECTED_1_20, Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.deciding.adapters import OwnFilter
from predicates.types import NodeError
from tests.support.build import Cluster, make_node, make_pod
from tests.support.deciders import answers, plugin

POD = make_pod()
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
