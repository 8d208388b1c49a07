"""Statuses, their texts and how 1.20 merges several of them."""

from __future__ import annotations

import pytest

from kubescheduler.core.status import Code, Status, merge


def test_an_error_is_told_before_the_reasons() -> None:
    """In 1.36 the error text of a status counts as its first reason."""
    status = Status(Code.Error, ("b", "c"), "a")
    assert status.message == "a, b, c"
    assert status.error_text == "a"


def test_without_an_error_the_message_is_the_error() -> None:
    """The error of a rejection is made of its message."""
    assert Status.unschedulable("x", "y").error_text == "x, y"


@pytest.mark.parametrize(
    ("codes", "merged"),
    [
        ((Code.Unschedulable, Code.UnschedulableAndUnresolvable), Code.UnschedulableAndUnresolvable),
        ((Code.Error, Code.UnschedulableAndUnresolvable), Code.Error),
        ((Code.Unschedulable, Code.Unschedulable), Code.Unschedulable),
        ((Code.Success, Code.Success), Code.Success),
    ],
    ids=str,
)
def test_the_worst_code_wins(codes: tuple[Code, ...], merged: Code) -> None:
    """Error goes before unresolvable, unresolvable before Unschedulable; reasons are joined."""
    status = merge(Status(code, (str(at),)) for at, code in enumerate(codes))
    assert status == Status(merged, tuple(str(at) for at in range(len(codes))))


def test_nothing_merges_to_success() -> None:
    """No status at all means Success."""
    assert merge([]) is None
