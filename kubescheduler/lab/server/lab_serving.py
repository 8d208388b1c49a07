"""Serving the lab until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from kubescheduler.lab.server.lab_application import LabApplication

GRACE = 2
"""Seconds that answers have to go out once the server ends."""


class _Server(uvicorn.Server):
    """Leaves signals to ``serve``."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(lab: LabApplication, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Answers on a listening socket until SIGINT or SIGTERM; a second signal ends the process at once.

    ready: is called once it answers. For the main thread.
    """

    async def until_signal() -> None:
        ending, loop = asyncio.Event(), asyncio.get_running_loop()
        with _signals(lambda: loop.call_soon_threadsafe(ending.set)):
            await serve_until(ending, lab, bound, ready)

    asyncio.run(until_signal())


async def serve_until(
    ending: asyncio.Event, lab: LabApplication, bound: socket.socket, ready: Callable[[], None]
) -> None:
    """Answers on a listening socket until the event is set; then event streams end, and what runs is stopped."""
    config = uvicorn.Config(
        lab.asgi(),
        http="h11",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config)
    watching = asyncio.ensure_future(lab.watch())
    with bound:
        bound.setblocking(False)
        serving = asyncio.ensure_future(server.serve([bound]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        if server.started:
            ready()
            await ending.wait()
        server.should_exit = True
        watching.cancel()
        lab.close()
        await serving


@contextmanager
def _signals(end: Callable[[], Any]) -> Iterator[None]:
    """The first signal asks to end, the second is as it was before: it interrupts."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def first(*_: object) -> None:
        restore()
        end()

    for number in numbers:
        signal.signal(number, first)
    try:
        yield
    finally:
        restore()
