"""The thread in which all talk with the API server takes place, and the clock that it waits by."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class IoThread:
    """An event loop in a thread of its own; the methods are for all other threads.

    ::

        with IoThread() as io:
            answer = io.wait(client.request("GET", "/version"))
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        """The event loop, for what has to be made on it."""
        self._handed: deque[Callable[[], object]] = deque()
        self._rung = False
        self._thread = threading.Thread(target=self._run, name="io", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Has work done beside everything else. Raises RuntimeError once the thread is closed."""
        future: Future[T] = Future()
        try:
            self._hand_over(partial(_start, self.loop, work, future))
        except RuntimeError:
            work.close()
            raise
        return future

    def wait(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Waits for what work comes to. Raises what it raises, TimeoutError after so many seconds."""
        return self.submit(work).result(timeout)

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Has a function called on the loop, soon; nothing happens once it is closed."""
        with contextlib.suppress(RuntimeError):
            self._hand_over(partial(function, *args))

    def _hand_over(self, work: Callable[[], object]) -> None:
        """Waking the loop costs as much as a small request: once for all that is handed over until it wakes."""
        self._handed.append(work)
        if not self._rung:
            self._rung = True
            try:
                self.loop.call_soon_threadsafe(self._take_over)
            except RuntimeError:
                self._rung = False
                raise

    def _take_over(self) -> None:
        self._rung = False
        while self._handed:
            work = self._handed.popleft()
            try:
                work()
            except Exception as error:
                context = {"message": f"Exception in {work}", "exception": error}
                self.loop.call_exception_handler(context)

    def close(self) -> None:
        """Gives up what is under way, and ends the thread."""
        if self._thread.is_alive():
            self.wait(_cancel_others())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()

    def __enter__(self) -> IoThread:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _start(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], future: Future[T]) -> None:
    """Has ``future`` follow the task that does the work, which is cancelled with it."""
    task = loop.create_task(work)
    task.add_done_callback(partial(_settle, future))
    future.add_done_callback(partial(_give_up, loop, task))


def _settle(future: Future[T], task: asyncio.Task[T]) -> None:
    if task.cancelled():
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return
    error = task.exception()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())


def _give_up(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T], future: Future[T]) -> None:
    if future.cancelled() and not task.done():
        loop.call_soon_threadsafe(task.cancel)


async def _cancel_others() -> None:
    """Cancels everything on the loop, and waits until it is gone."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


class WallClock:
    """The machine's time of day, a clock that never goes back, and a way to wait by it; tests have others."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since any fixed moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Lets some seconds pass on the event loop."""
        await asyncio.sleep(seconds)
