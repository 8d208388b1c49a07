"""``kubescheduler`` with a lever, for ``live.py --relist``: a line on stdin has the informer of pods read all anew.

That is what a watch that expired comes to (410), without the pause before it. Once done, a JSON line on stdout says how
long it took and how decisions went meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kubescheduler.__main__ import main
from kubescheduler.cycle.schedule_one import PodAttempt, SchedulerLoop
from kubescheduler.live.informers import Informers
from kubescheduler.live.stored_objects import ObjectChange

AFTER = 2.0
"""Seconds that are looked at after the reading, when what happened meanwhile is taken in."""


def longest_pause(moments: Sequence[float], since: float, until: float) -> float:
    """Seconds without a decision between two moments; that of the last decision is the end where it comes before.

    A backlog that is worked off has no more decisions to pause.
    """
    inside = [moment for moment in moments if since <= moment <= until]
    return max((later - earlier for earlier, later in itertools.pairwise([since, *inside])), default=0.0)


class Lever:
    """Sees the decisions of the process, and has pods read anew."""

    def __init__(self) -> None:
        self.moments: list[float] = []
        """When each decision was made (time.monotonic)."""
        self._informers: list[Informers] = []

    def attach(self) -> None:
        """Sees every loop and all informers that are made from now on."""
        run_once, start = SchedulerLoop.run_once, Informers.start

        def seen(loop: SchedulerLoop) -> PodAttempt | None:
            attempt = run_once(loop)
            if attempt is not None:
                self.moments.append(time.monotonic())
            return attempt

        def started(informers: Informers) -> None:
            self._informers.append(informers)
            start(informers)

        SchedulerLoop.run_once = seen  # type: ignore[method-assign,assignment]
        Informers.start = started  # type: ignore[method-assign,assignment]

    def obey(self) -> None:
        """Reads pods anew for each line on stdin."""
        for _ in sys.stdin:
            sys.stdout.write(json.dumps(self._measure(self._informers[0])) + "\n")
            sys.stdout.flush()

    def _measure(self, informers: Informers) -> dict[str, Any]:
        busy, started = informers._io.wait(thread_seconds()), time.monotonic()
        informers._io.wait(relist(informers))
        read, busy = time.monotonic(), informers._io.wait(thread_seconds()) - busy
        time.sleep(AFTER)
        moments = list(self.moments)
        return {
            "relist_seconds": round(read - started, 2),
            "io_cpu_seconds": round(busy, 2),
            "pods": len(informers.stores["Pod"]),
            "decisions": sum(started <= moment <= read for moment in moments),
            "longest_pause": round(longest_pause(moments, started, read + AFTER), 3),
            "pause_before": round(longest_pause(moments, started - AFTER, started), 3),
        }


async def thread_seconds() -> float:
    """Seconds of user and system time that the thread has had on which this is awaited."""
    return time.thread_time()


async def relist(informers: Informers) -> None:
    """Has the informer of pods read everything as it is now; returns once the changes are delivered."""
    number = next(number for number, one in enumerate(informers.reflectors) if one.kind.kind == "Pod")
    reflector, tasks, done = informers.reflectors[number], informers._tasks, asyncio.Event()
    deliver = reflector.deliver

    def delivered(changes: list[ObjectChange]) -> None:
        reflector.deliver = deliver
        deliver(changes)
        done.set()

    tasks[number].cancel()
    await asyncio.gather(tasks[number], return_exceptions=True)
    reflector.deliver = delivered
    tasks[number] = asyncio.create_task(reflector.run(latest=True))
    await done.wait()


if __name__ == "__main__":
    lever = Lever()
    lever.attach()
    threading.Thread(target=lever.obey, daemon=True).start()
    main()
