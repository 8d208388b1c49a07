"""What a release makes of a failed attempt."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import ExtenderTrace
from kubescheduler.core.filter_results import row_values
from kubescheduler.core.preemption_choice import Preemption
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.cycle_rules import (
    FailedPodFate,
    fate_1_20,
    fate_1_36,
    in_memory_1_20,
    in_memory_1_36,
    passes_over_1_20,
)
from kubescheduler.cycle.failures import (
    FailureCause,
    FailureRecord,
    Stage,
    chosen_1_20,
    chosen_1_36,
    cut,
    nominated_1_20,
    nominated_1_36,
    rejectors_of,
    status_patch,
    undecided_1_20,
    undecided_1_36,
)
from kubescheduler.releases import v1_36
from tests.support.build import make_pod

POD = make_pod()
REJECTED = Status.unschedulable("b", "a").by("P")
FAILED = Status.failure("broken").by("P")


@pytest.mark.parametrize(
    ("stage", "status", "told"),
    [
        (Stage.ASSUME, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.RESERVE, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.PERMIT, REJECTED, ("Unschedulable", "b, a", "unschedulable")),
        (Stage.PERMIT, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.PRE_BIND, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.BIND, FAILED, ("SchedulerError", "binding rejected: broken", "error")),
        (Stage.BIND, Status(Code.Skip), ("SchedulerError", "binding rejected: bind status: Skip, ", "error")),
    ],
)
def test_a_chosen_node_in_1_20(stage: Stage, status: Status, told: tuple[str, str, str]) -> None:
    """Only Permit can call a pod Unschedulable."""
    record = chosen_1_20(stage, POD, "n1", status)
    assert (record.cause.reason, record.message, record.cause.result) == told
    assert (record.cause.code, record.cause.plugin, record.cause.node_name) == (status.code, status.plugin, "n1")


@pytest.mark.parametrize(
    ("stage", "status", "told"),
    [
        (Stage.RESERVE, REJECTED, ("Unschedulable", "0/1 nodes are available: 1 a, 1 b.", "unschedulable")),
        (Stage.PERMIT, REJECTED, ("Unschedulable", "0/1 nodes are available: 1 a, 1 b.", "unschedulable")),
        (Stage.PERMIT, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.PRE_BIND, REJECTED, ("Unschedulable", "b, a", "unschedulable")),
        (Stage.PRE_BIND, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.BIND, FAILED, ("SchedulerError", "broken", "error")),
        (Stage.BIND, REJECTED, ("Unschedulable", "b, a", "unschedulable")),
    ],
)
def test_a_chosen_node_in_1_36(stage: Stage, status: Status, told: tuple[str, str, str]) -> None:
    """Every rejection makes a pod Unschedulable, and its plugin a rejector."""
    record = chosen_1_36(stage, POD, "n1", status)
    assert (record.cause.reason, record.message, record.cause.result) == told
    assert record.rejectors == ({"P"} if status is REJECTED else frozenset())
    assert not record.cause.silent


def decision(**fields: Any) -> Decision:
    return Decision(POD, "1.36", ("n1", "n2"), np.ones(2, np.bool_), 2, **fields)


@pytest.mark.parametrize(
    ("undecided", "error", "told"),
    [
        (undecided_1_20, None, ("Unschedulable", "unschedulable")),
        (undecided_1_20, "no nodes available to schedule pods", ("Unschedulable", "unschedulable")),
        (undecided_1_20, "broken", ("Unschedulable", "error")),
        (undecided_1_36, None, ("Unschedulable", "unschedulable")),
        (undecided_1_36, "no nodes available to schedule pods", ("Unschedulable", "unschedulable")),
        (undecided_1_36, "broken", ("SchedulerError", "error")),
    ],
)
def test_no_node_was_chosen(undecided: Any, error: str | None, told: tuple[str, str]) -> None:
    """1.20 writes Unschedulable whatever happened, but counts errors."""
    found = decision(error=error)
    cause = undecided(found, post_filters=True)
    assert (cause.reason, cause.result) == told
    assert FailureRecord(POD, cause, found).message == found.message


@pytest.mark.parametrize(
    ("preemption", "post_filters", "error", "old", "new"),
    [
        (Preemption(chosen=("n1",)), True, None, "n1", "n1"),
        (Preemption(), True, None, "", ""),
        (None, True, None, "", None),
        (None, False, None, "", ""),
        (None, True, "broken", "", ""),
    ],
    ids=["chosen", "no candidate", "no result", "no plugins", "error"],
)
def test_nominations(
    preemption: Preemption | None, post_filters: bool, error: str | None, old: str, new: str | None
) -> None:
    """1.36 tells a cleared nomination from one that nothing is said about."""
    failed = decision(preemption=preemption, error=error)
    assert undecided_1_20(failed, post_filters=post_filters).nominated == old
    assert undecided_1_36(failed, post_filters=post_filters).nominated == new


def test_rejectors() -> None:
    """The plugins that refused nodes, each where it was the first to; extenders together."""
    one, two = np.array([True, False]), np.array([True, True])
    verdicts = (("A", {"a": one}), ("B", {"b": one}), ("C", {"c": two}))
    assert rejectors_of(decision(verdicts=verdicts)) == {"A", "C"}
    assert rejectors_of(decision(verdicts=verdicts, error="broken")) == frozenset()
    traces = (ExtenderTrace("x", failed={}),)
    assert rejectors_of(decision(verdicts=verdicts[:1], extenders=traces)) == {"A", "Extender"}
    beside = decision(with_nominated=row_values({0: (("N", ("n",)),)}), verdicts=verdicts[:1])
    assert rejectors_of(beside) == {"N"}
    absent = decision(judged=np.zeros(2, np.bool_), absent=REJECTED, verdicts=verdicts)
    assert rejectors_of(absent) == {"P"}
    assert rejectors_of(Decision(POD, "1.20", ("n1", "n2"), two, 2, verdicts=verdicts)) == {"A", "C"}


def record(**fields: Any) -> FailureRecord:
    pod = fields.pop("pod", POD)
    return FailureRecord(pod, FailureCause(**{"stage": Stage.BIND, "reason": "R", "text": "m", **fields}))


CONDITION = {"type": "PodScheduled", "status": "False", "reason": "R", "message": "m"}


@pytest.mark.parametrize(
    ("conditions", "nominated", "had", "patch_1_20", "patch_1_36"),
    [
        ([], None, "", {"conditions": [CONDITION]}, {"conditions": [CONDITION]}),
        ([CONDITION | {"message": "old"}], "", "", {"conditions": [CONDITION]}, {"conditions": [CONDITION]}),
        ([CONDITION], "", "", {}, {}),
        ([CONDITION], "n1", "", {"nominatedNodeName": "n1"}, {"nominatedNodeName": "n1"}),
        ([CONDITION], "n1", "n1", {}, {}),
        ([CONDITION], "", "n1", {}, {"nominatedNodeName": ""}),
        ([CONDITION], None, "n1", {}, {}),
    ],
    ids=["new", "changed", "same", "nominated", "still nominated", "cleared", "kept"],
)
def test_what_is_written(
    conditions: list[Any], nominated: str | None, had: str, patch_1_20: dict[str, Any], patch_1_36: dict[str, Any]
) -> None:
    """Only what changes is written, and 1.20 never clears a nomination."""
    pod = msgspec.structs.replace(make_pod(nominated=had), manifest={"status": {"conditions": conditions}})
    failed = record(pod=pod, nominated=nominated)
    assert status_patch(failed, nominated_1_20) == patch_1_20
    assert status_patch(failed, nominated_1_36) == patch_1_36


def test_long_notes_are_cut() -> None:
    """Bytes count, not characters."""
    assert cut("x" * 1024) == "x" * 1024
    assert cut("x" * 1025) == "x" * 1020 + " ..."
    assert cut("é" * 513).encode() == b"\xc3\xa9" * 510 + b" ..."


@pytest.mark.parametrize(
    ("name", "own", "old", "new"),
    [("n2", "n1", "n2", "n2"), ("", "n1", "n1", ""), (None, "n1", "n1", "n1")],
    ids=["named", "cleared", "nothing said"],
)
def test_the_nominators_memory(name: str | None, own: str, old: str, new: str) -> None:
    """In 1.20 an empty name falls back on the pod's own."""
    pod = make_pod(nominated=own)
    assert in_memory_1_20(record(nominated=name), pod) == old
    assert in_memory_1_36(record(nominated=name), pod) == new


@pytest.mark.parametrize(
    ("now", "old", "new"),
    [
        (None, FailedPodFate.LEFT_OUT, FailedPodFate.LEFT_OUT),
        (POD, FailedPodFate.PUT_BACK, FailedPodFate.PUT_BACK),
        (POD.on("n1"), FailedPodFate.LEFT_OUT, FailedPodFate.LEFT_OUT),
        (make_pod(namespace="other"), FailedPodFate.PUT_BACK, FailedPodFate.ANOTHER_ONE),
    ],
    ids=["gone", "same", "bound", "another uid"],
)
def test_fates(now: Any, old: FailedPodFate, new: FailedPodFate) -> None:
    """A pod that is gone or bound is not tried again; 1.36 also looks whether it is the same one."""
    assert fate_1_20(POD, now) is old
    assert fate_1_36(POD, now) is new


def test_which_assumed_pods_are_passed_over() -> None:
    """1.20 tries one again that changed in more than annotations."""
    assert passes_over_1_20(make_pod(annotations={"a": "b"}), POD.on("n1"))
    assert not passes_over_1_20(make_pod(label={"a": "b"}), POD.on("n1"))
    assert v1_36.cycle().passes_over(make_pod(label={"a": "b"}), POD.on("n1"))
