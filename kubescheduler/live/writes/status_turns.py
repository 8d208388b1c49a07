"""Status writes of one pod take turns, and those that wait are no more than there are things to say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

import attrs

from clusterstate.objects import Pod

Status = Mapping[str, Any]
"""Members of a pod's status."""


@attrs.define(eq=False)
class _Waiting:
    """A write that has not begun."""

    pod: Pod
    status: Status
    done: asyncio.Event = attrs.field(factory=asyncio.Event)
    error: BaseException | None = None


@attrs.define(eq=False)
class _PodTurns:
    """The writes of one pod."""

    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    waiting: dict[Hashable, _Waiting] = attrs.field(factory=dict)
    """What is said → the write that says it."""
    written: Status | None = None
    """What the last write said; None: nothing was written yet, or it failed."""
    users: int = 0


class StatusTurns:
    """Writes of one pod are done one after the other, in the order in which they were asked for.

    Attempts may ask for more of them than a limited client sends: a write takes the place of one that still waits and
    says the same members, and one that says what was just written is done. Upstream: 1.36 merges the calls that wait in
    its API dispatcher; releases before wait for each write. For one event loop.
    """

    def __init__(self, write: Callable[[Pod, Status], Awaitable[None]]) -> None:
        """write: writes the members of a pod's status."""
        self._write = write
        self._turns: dict[str, _PodTurns] = {}

    def __len__(self) -> int:
        """How many pods have writes under way."""
        return len(self._turns)

    def replaced(self, pod: Pod, status: Status) -> bool:
        """Whether a write that waits was made to say this instead: nothing is left to do."""
        return self._replaced(pod, status) is not None

    async def take(self, pod: Pod, status: Status) -> None:
        """Returns once this is written, or what came after it and says the same members. Raises what writing raises."""
        waiting = self._replaced(pod, status)
        if waiting is None:
            await self._take(pod, status)
            return
        await waiting.done.wait()
        if waiting.error is not None:
            raise waiting.error

    def _replaced(self, pod: Pod, status: Status) -> _Waiting | None:
        turns = self._turns.get(pod.metadata.uid)
        waiting = None if turns is None else turns.waiting.get(said(status))
        if waiting is not None:
            waiting.pod, waiting.status = pod, status
        return waiting

    async def _take(self, pod: Pod, status: Status) -> None:
        uid, what, mine = pod.metadata.uid, said(status), _Waiting(pod, status)
        turns = self._turns.setdefault(uid, _PodTurns())
        turns.waiting[what] = mine
        turns.users += 1
        try:
            async with turns.lock:
                del turns.waiting[what]
                if mine.status != turns.written:
                    turns.written = None
                    await self._write(mine.pod, mine.status)
                    turns.written = mine.status
        except BaseException as error:
            mine.error = error
            raise
        finally:
            turns.waiting = {key: one for key, one in turns.waiting.items() if one is not mine}
            mine.done.set()
            turns.users -= 1
            if not turns.users:
                del self._turns[uid]


def said(status: Status) -> Hashable:
    """Of what a status speaks: its members, and the types of its conditions."""
    return frozenset(status), tuple(condition["type"] for condition in status.get("conditions") or ())
