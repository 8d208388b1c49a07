"""What extenders' filters do to the nodes and to their statuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.deciding.find_nodes import LeftByExtenders, ask_filters, note_1_20, note_1_36
from tests.support.build import Cluster, make_node, make_pod
from tests.support.deciders import Answered, FakeExtender

CLUSTER = Cluster([make_node(f"n{at}") for at in range(3)])
NOTES = {"1.20": note_1_20, "1.36": note_1_36}
U, UAU = Status.unschedulable, Status.unresolvable


def asked(release: str, *answers: Answered | FakeExtender) -> LeftByExtenders:
    extenders: list[Any] = [FakeExtender(a) if isinstance(a, Answered) else a for a in answers]
    return ask_filters(make_pod(), extenders, CLUSTER.snapshot, np.arange(3), NOTES[release])


@pytest.mark.parametrize(
    ("release", "answers", "refused"),
    [
        ("1.20", [Answered(("n1",), {"n0": "a"})], {"n0": U("a")}),
        ("1.20", [Answered(("n1", "n2"), {"n0": "a"}), Answered((), {"n0": "b"})], {"n0": U("a", "b")}),
        ("1.20", [Answered((), {"n0": "a"}, {"n1": "c"})], {"n0": U("a")}),
        ("1.36", [Answered(("n1", "n2"), {"n0": "a"}), Answered((), {"n0": "b"})], {"n0": U("b")}),
        ("1.36", [Answered((), {"n0": "a"}, {"n0": "c", "n1": "d"})], {"n0": UAU("c"), "n1": UAU("d")}),
        ("1.36", [Answered(("n1",), {}, {"n0": "c"}), Answered((), {"n0": "b"})], {"n0": U("b")}),
    ],
    ids=["once", "appended", "1.20 knows one code", "replaced", "beyond help goes first", "the last word"],
)
def test_statuses(release: str, answers: list[Answered], refused: dict[str, Status]) -> None:
    """1.20 adds to what was said, 1.36 replaces it."""
    assert asked(release, *answers).refused == refused


def test_rows_come_in_the_order_of_the_answer() -> None:
    """What is left is what the next extender gets, and where nothing is left nobody is asked."""
    last = FakeExtender()
    found = asked("1.36", Answered(("n2", "n0")), Answered(("n2", "n0")), Answered(()), last)
    assert found.feasible.tolist() == []
    assert last.asked == []
    assert asked("1.36", Answered(("n2", "n0"))).feasible.tolist() == [2, 0]


def test_who_answers_with_objects_empties_the_nodes() -> None:
    """Whoever comes after, even one that is not interested or fails and can be ignored."""
    after: list[Answered | FakeExtender] = [
        Answered(("n0",)),
        FakeExtender(interested=False),
        FakeExtender("down", ignorable=True),
    ]
    assert asked("1.36", Answered(("n0",), as_objects=True), *after).emptied
    assert not asked("1.36", *after).emptied


def test_traces() -> None:
    """One for each extender, with what it said; of one that was not asked nothing."""
    found = asked(
        "1.36",
        Answered(("n0",), {"n1": "a"}, {"n2": "b"}),
        FakeExtender("down", ignorable=True, weight=3),
        FakeExtender(interested=False),
    )
    first, second, third = found.traces
    assert (first.failed, first.unresolvable, first.filter_error) == ({"n1": "a"}, {"n2": "b"}, None)
    assert (second.failed, second.filter_error, second.weight) == (None, "down", 3)
    assert (third.name, third.failed, third.filter_error) == ("http://x", None, None)


@pytest.mark.parametrize(
    ("extender", "text"),
    [
        (FakeExtender("down"), "down"),
        (FakeExtender(Answered(("ghost",))), 'nodeinfo not found for node name "ghost"'),
    ],
    ids=["fails", "an unknown node"],
)
def test_failures_give_the_attempt_up(extender: FakeExtender, text: str) -> None:
    """With the extender's text, or the release's."""
    with pytest.raises(SchedulingError, match=f"^{text}$"):
        asked("1.36", extender)


def test_codes() -> None:
    """Nothing an extender says is an error."""
    refused = asked("1.36", Answered((), {"n0": "a"}, {"n1": "b"})).refused
    assert {status.code for status in refused.values()} == {Code.Unschedulable, Code.UnschedulableAndUnresolvable}
