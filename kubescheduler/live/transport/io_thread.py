"""The thread in which all talk with the API server takes place."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
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
        self._thread = threading.Thread(target=self._run, name="io", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Has work done beside everything else."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def wait(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Waits for what work comes to. Raises what it raises, TimeoutError after so many seconds."""
        return self.submit(work).result(timeout)

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Has a function called on the loop, soon; nothing happens once it is closed."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function, *args)

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


async def _cancel_others() -> None:
    """Cancels everything on the loop, and waits until it is gone."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
