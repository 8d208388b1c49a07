"""Reading in large portions while much arrives, and at once when little does."""

from __future__ import annotations

import asyncio
import socket

import pytest

from kubescheduler.live.transport.gathered_reads import MUCH, PORTION, GatheredReads
from tests.support.live import own_loop

SECONDS = 30.0
"""Until a test gives up."""


class Receiver(asyncio.Protocol):
    """Counts what arrives."""

    def __init__(self) -> None:
        self.bytes = 0
        self.arrived = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.reads = GatheredReads(transport)

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        self.reads.arrived(len(data))
        self.arrived.set()

    async def until(self, count: int) -> None:
        while self.bytes < count:
            self.arrived.clear()
            await self.arrived.wait()


def waits_for(connection: socket.socket) -> int:
    """Bytes that the system gathers on a connection before it wakes who waits."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


@pytest.mark.skipif(not hasattr(socket, "SO_RCVLOWAT"), reason="the system does not gather")
def test_portions() -> None:
    """After much has arrived the system gathers; what is less than a portion comes soon all the same."""

    async def test() -> tuple[int, int, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        _, receiver = await asyncio.get_running_loop().connect_accepted_socket(Receiver, ours)
        before = waits_for(ours)
        theirs.sendall(b"x" * MUCH)
        await receiver.until(MUCH)
        receiver.reads.arrived(MUCH)
        meanwhile = waits_for(ours)
        theirs.sendall(b"y")
        await receiver.until(MUCH + 1)
        while waits_for(ours) != before:
            await asyncio.sleep(0)
        theirs.close()
        return before, meanwhile, receiver.bytes

    assert own_loop.run(asyncio.wait_for(test(), SECONDS)) == (1, PORTION, MUCH + 1)


def test_little_is_not_gathered() -> None:
    """Single events come at once."""

    async def test() -> int:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        _, receiver = await asyncio.get_running_loop().connect_accepted_socket(Receiver, ours)
        theirs.sendall(b"x" * 100)
        await receiver.until(100)
        theirs.close()
        return waits_for(ours)

    assert own_loop.run(asyncio.wait_for(test(), SECONDS)) == 1
