"""Which API of events a server has: asked at the start, and again until it answers and knows who we are."""

from __future__ import annotations

import asyncio

from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.recording.broadcaster import EventBroadcaster
from kubescheduler.live.recording.event_rules import EventRules
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient

FIRST, LONGEST = 1.0, 30.0
"""Seconds between questions to a server that does not answer: doubled from the first on."""
ANSWER = 10.0
"""Seconds that a server has to answer."""
UNAUTHORIZED = 401


async def look_up_events(
    client: ApiClient, rules: EventRules, events: EventBroadcaster, log: LogWriter, clock: WallClock
) -> None:
    """Has events written by the API that the server has; one that does not answer now is asked again later.

    Upstream (1.36) writes core/v1 events for good when the server cannot be reached at the start, and says nothing.
    """
    if not await _asked(client, rules, events, log):
        task = asyncio.create_task(_ask_again(client, rules, events, log, clock))
        events.tasks.append(task)


async def _ask_again(
    client: ApiClient, rules: EventRules, events: EventBroadcaster, log: LogWriter, clock: WallClock
) -> None:
    pause = FIRST
    await clock.sleep(pause)
    while not await _asked(client, rules, events, log):
        pause = min(LONGEST, pause * 2)
        await clock.sleep(pause)


async def _asked(client: ApiClient, rules: EventRules, events: EventBroadcaster, log: LogWriter) -> bool:
    """Whether the server answered, and knows who we are."""
    query = [("timeout", rules.discovery_timeout)] if rules.discovery_timeout else []
    try:
        await client.request("GET", f"/apis/{rules.group_version}", query, timeout=ANSWER)
    except ApiError as error:
        events.use_core()
        if error.code == 0:
            log.error(f"the API server cannot be reached; asking it again: {error}")
            return False
        if error.code == UNAUTHORIZED:
            log.error(f"the API server does not accept our credentials; asking it again: {error}")
            return False
    else:
        events.use_own()
    return True
