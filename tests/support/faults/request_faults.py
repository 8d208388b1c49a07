"""What goes wrong with requests on their way to an API server."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

from aiohttp import web

from tests.support.apiserver.front_server import Answer, FrontServer, lost
from tests.support.apiserver.storage import StatusError

CODES = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}


def refused(code: int) -> web.Response:
    """An answer of the server that is no."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return web.json_response({**status, "message": "no", "reason": CODES[code]}, status=code)


def failing_writes(front: FrontServer, share: float, rng: random.Random) -> Answer:
    """That share of all writes is refused, or done without anybody learning of it."""

    async def fault(request: web.Request) -> web.StreamResponse | None:
        if request.method == "GET" or rng.random() >= share:
            return None
        how = rng.choice((*CODES, 0))
        if how:
            return refused(how)
        await front.served(request)
        return lost(request)

    return fault


def around_bindings(front: FrontServer, chosen: set[int], act: Callable[[str, str], object], *, after: bool) -> Answer:
    """Something happens right before, or after, the bindings of these numbers, counted from 1.

    act: of (the pod's name, the node's); what it raises because the server is away, or has no such thing, is nothing.
    """
    seen = 0

    async def fault(request: web.Request) -> web.StreamResponse | None:
        nonlocal seen
        if not request.path.endswith("/binding"):
            return None
        seen += 1
        if seen not in chosen:
            return None
        answer = await front.served(request) if after else None
        with contextlib.suppress(OSError, StatusError):
            act(request.path.split("/")[-2], (await request.json())["target"]["name"])
        return answer

    return fault
