"""Work that can be told to stop."""

from __future__ import annotations

import pytest

from kubescheduler.framework.contract.cycle_state import Cancellation, CancelledError


def test_the_first_cause_counts() -> None:
    """A second cancellation changes nothing."""
    work = Cancellation()
    assert work.cancel("one")
    assert not work.cancel("two")
    with pytest.raises(CancelledError, match=r"^one$"):
        work.check()
    assert work.wait(0)


def test_finished_work_cannot_be_cancelled() -> None:
    """Once closed, it is too late."""
    work = Cancellation()
    assert work.close()
    assert not work.cancel("late")
    work.check()


def test_closing_tells_of_an_earlier_cancellation() -> None:
    """Work that was cancelled while it ran is not done."""
    work = Cancellation()
    work.cancel("why")
    assert not work.close()


def test_parts_stop_with_the_whole_but_not_the_other_way_round() -> None:
    """A child can be cancelled alone; one of a cancelled parent is cancelled from the start."""
    whole = Cancellation()
    part, other = whole.child(), whole.child()
    part.cancel("part")
    assert (whole.cause, other.cause) == (None, None)
    whole.cancel("whole")
    assert (part.cause, other.cause, whole.child().cause) == ("part", "whole", "whole")
