"""The lab's server as an ASGI application: the page's files, its questions, and its event streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from kubescheduler.lab.server.asked_verbs import AskedVerbs, problems_answer
from kubescheduler.lab.server.event_streams import event_stream, gone_stream
from kubescheduler.lab.server.lab_sessions import Sessions
from kubescheduler.lab.server.page_files import PageFile, PageFiles
from kubescheduler.lab.server.request_guard import AllowedHosts, RequestGuard
from kubescheduler.lab.server.scene_process import SceneCode, SceneProcesses
from kubescheduler.lab.server.server_limits import ServerLimits

PAGE = Path(__file__).parents[1] / "page"
"""The page's files in the package."""

FOR_GOOD = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
NOT_KEPT = "no-store"
HASH_DIGITS = 12
"""Hexadecimal digits of a file's hash that an address needs for its answer to be kept for good."""


class LabParts(msgspec.Struct, frozen=True):
    """What a server is made of."""

    code: SceneCode
    """What the processes of scenes run."""
    token: str
    """What every question has to show."""
    hosts: AllowedHosts
    """What the page's address can be."""
    shared: Mapping[str, Callable[[], Mapping[str, Any]]] = msgspec.field(default_factory=dict)
    """Verb → what is answered alike to every tab."""
    limits: ServerLimits = msgspec.field(default_factory=ServerLimits)
    """How much it takes on."""
    page: Path = PAGE
    """The folder of the page."""


class LabApplication:
    """Answers the page; see ``asgi``. To be made before there are threads, and before it listens: processes are forked
    from what there is then."""

    def __init__(self, parts: LabParts) -> None:
        self._parts = parts
        self.sessions = Sessions(parts.limits)
        """The tabs."""
        self._processes = SceneProcesses(parts.code)
        verbs, unexpected = frozenset(parts.code.verbs), parts.code.unexpected
        self._asked = AskedVerbs(verbs, parts.shared, self._processes, self.sessions, parts.limits, unexpected)
        self._files = PageFiles(parts.page)

    def asgi(self) -> RequestGuard:
        """The application, behind what keeps strangers out."""
        routes = [
            Route("/api/events", self._events, methods=["GET"]),
            Route("/api/{verb}", self._asked.answer, methods=["POST"]),
            Route("/{path:path}", self._file, methods=["GET", "HEAD"]),
        ]
        handlers: dict[Any, Any] = {HTTPException: _plain_error, Exception: _hidden_error}
        starlette = Starlette(routes=routes, exception_handlers=handlers)
        starlette.router.redirect_slashes = False
        return RequestGuard(starlette, self._parts.hosts, self._parts.token.encode())

    async def watch(self) -> None:
        """Looks at the files that scenes watch, and drops idle sessions, until it is cancelled."""
        while True:
            await asyncio.sleep(self._parts.limits.watching)
            self.sessions.drop_idle()
            await asyncio.gather(*map(self._asked.look_at_files, self.sessions.all()))

    def close(self) -> None:
        """Ends all tabs and their processes."""
        self.sessions.close()
        self._processes.close()

    async def _file(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._files.find, request.path_params["path"])
        if found is None:
            return problems_answer(404, "there is no such file")
        return _file_answer(request, found)

    async def _events(self, request: Request) -> Response:
        session = self.sessions.find(request.query_params.get("tab", ""))
        if session is None:  # not a status of an error, after which the page could not tell why it hears nothing
            return _stream(gone_stream())
        if len(session.listeners) >= self._parts.limits.streams:
            return problems_answer(429, "too many event streams of one tab")
        return _stream(event_stream(session, self._parts.limits.heartbeat))


def _stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": NOT_KEPT})


def _file_answer(request: Request, found: PageFile) -> Response:
    packed = found.packed is not None and "gzip" in request.headers.get("accept-encoding", "").lower()
    tag = f'"{found.digest[:32]}{"-gzip" if packed else ""}"'
    version = request.query_params.get("v", "")
    known = len(version) >= HASH_DIGITS and found.digest.startswith(version)
    headers = {"etag": tag, "vary": "accept-encoding", "cache-control": FOR_GOOD if known else ASK_AGAIN}
    if tag in [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    if packed:
        headers["content-encoding"] = "gzip"
    content = found.packed if packed and found.packed is not None else found.content
    return Response(content, media_type=found.media_type, headers=headers)


async def _plain_error(_: Request, error: Exception) -> Response:
    """What the router refuses, without a word on what is there."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    return problems_answer(status, "not found" if status == 404 else "refused", headers=headers)


async def _hidden_error(_: Request, __: Exception) -> Response:
    """A fault in the server itself: nothing of it is shown."""
    return problems_answer(500, "a fault in the server")
