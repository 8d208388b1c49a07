"""The thread of all I/O."""

from __future__ import annotations

from kubescheduler.live.transport.io_thread import IoThread


def test_calls_after_the_end() -> None:
    """What is asked of a thread that has ended is not done, and nobody is told: the process ends too."""
    done: list[int] = []
    with IoThread() as io:
        io.call(done.append, 1)
    io.call(done.append, 2)
    assert 2 not in done
