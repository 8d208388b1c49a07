"""The thread of all I/O."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.processes import SECONDS


def test_calls_after_the_end() -> None:
    """What is asked of a thread that has ended is not done, and nobody is told: the process ends too."""
    done: list[int] = []
    with IoThread() as io:
        io.call(done.append, 1)
    io.call(done.append, 2)
    assert 2 not in done


def test_order_and_results() -> None:
    """What is handed over is done in order; work answers with what it comes to, or raises."""
    done: list[int] = []

    async def work(number: int) -> int:
        if number < 0:
            raise ValueError(number)
        done.append(number)
        return 2 * number

    with IoThread() as io:
        futures = [io.submit(work(number)) for number in range(100)]
        assert [future.result(SECONDS) for future in futures] == [2 * number for number in range(100)]
        assert done == list(range(100))
        with pytest.raises(ValueError, match="-1"):
            io.wait(work(-1), SECONDS)


def test_work_that_is_given_up() -> None:
    """Cancelling from another thread ends the work itself."""
    ended = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(SECONDS)
        finally:
            ended.set()

    with IoThread() as io:
        future = io.submit(work())
        io.wait(asyncio.sleep(0), SECONDS)
        assert future.cancel()
        assert ended.wait(SECONDS)


def test_work_for_a_thread_that_has_ended() -> None:
    """It is refused each time, not only the first time."""
    with IoThread() as io:
        pass
    for _ in range(2):
        with pytest.raises(RuntimeError):
            io.wait(asyncio.sleep(0), SECONDS)
