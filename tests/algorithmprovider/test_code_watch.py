"""A process that has had no turn yet, on a busy machine, is not ended before it told its lines."""

from __future__ import annotations

import os
import signal
import time

import pytest

from algorithmprovider import code_watch
from algorithmprovider.code_watch import GRACE, LINES, SIGNAL, CodeWatch

FRAME = b'Current thread 0x1 (most recent call first):\n  File "mine.py", line %d in cheap\n'


class Clock:
    """Stands where it is put."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that were sent."""
    signals: list[int] = []
    monkeypatch.setattr(code_watch, "_send", lambda _, number: signals.append(number))
    return signals


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the watch reads."""
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


@pytest.mark.parametrize(("lines", "grace"), [(FRAME % 5, GRACE), (b"", LINES)], ids=["lines", "no lines"])
def test_a_look_that_comes_late_gives_the_call_its_time(
    lines: bytes, grace: float, sent: list[int], clock: Clock
) -> None:
    """The time counts from when the process was told, and is longer while it has not written its lines."""
    watch = CodeWatch()
    watch.note(clock.now - 60, 30.0)
    watch.look(0)
    os.write(watch.dump, lines)
    clock.now += grace
    watch.look(0)
    assert sent == [SIGNAL]
    assert not watch.has_ended
    clock.now += 0.1
    watch.look(0)
    assert sent == [SIGNAL, signal.SIGKILL]
    said = "it has run for 30 s and cannot be ended"
    assert watch.problem("") == (f"mine.py, line 5: {said}" if lines else f"code of your own: {said}")
    watch.close()


def test_a_crash_is_told_with_its_own_line(sent: list[int], clock: Clock) -> None:
    """Not with that of a call before, which had ended when it was told to."""
    watch = CodeWatch()
    watch.note(clock.now - 1, 0.5)
    watch.look(0)
    os.write(watch.dump, FRAME % 5)
    watch.look(0)
    watch.note(0, 0)
    os.write(watch.dump, b"Fatal Python error: Aborted\n\n" + FRAME % 9)
    assert sent == [SIGNAL]
    assert watch.problem("the process ended") == "mine.py, line 9: the process ended"
    watch.close()
