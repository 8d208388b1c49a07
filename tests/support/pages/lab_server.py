"""The lab's server in a thread of this process, and questions to it as bytes on a connection."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from kubescheduler.lab import PAGE
from kubescheduler.lab.lab_application import AllowedHosts, LabApplication, LabParts, Listening, serve_until
from kubescheduler.lab.lab_sessions import ServerLimits
from kubescheduler.lab.scene_process import Opens, SceneCode
from tests.support.processes import SECONDS

TOKEN = "a-token-for-tests-only"


@attrs.define
class PlainScene:
    """What the server needs of a scene, with nothing behind it."""

    version: int = 1
    files: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()

    def watched(self) -> tuple[Path, ...]:
        return self.files

    def reread(self) -> list[str]:
        self.version += 1
        return list(self.problems)


@attrs.frozen
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@attrs.frozen
class LabServer:
    """A server that answers."""

    port: int
    application: LabApplication

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """The page's, with the token."""
        return f"{self.origin}/#token={TOKEN}"

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        after: bytes = b"",
    ) -> Answer:
        """One request on a connection of its own; a header None is left out, the others are as the page sends them.

        after: bytes that follow the headers as they are, in place of a body.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        usual = {"Host": f"127.0.0.1:{self.port}", "X-Lab-Token": TOKEN, "Content-Type": "application/json"}
        sent = {**usual, **(headers or {})}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            if after:
                connection.send(after)
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def ask(self, verb: str, **asked: Any) -> Answer:
        """A question of the page."""
        return self.send("POST", f"/api/{verb}", json.dumps(asked).encode())

    def opened(self) -> str:
        """A new tab."""
        tab: str = self.ask("open", **{"from": "start"}).json["tab"]
        return tab


Verbs = Mapping[str, Callable[[Any, dict[str, Any]], Mapping[str, Any]]]


@contextmanager
def lab_server(
    verbs: Verbs,
    scene: Callable[[], Any] = PlainScene,
    *,
    page: Path | None = None,
    limits: ServerLimits | None = None,
    opens: Opens | None = None,
) -> Iterator[LabServer]:
    """A server of these verbs, with a scene for each tab, in processes that are forked from this one.

    opens: what makes it of what the page asks for.
    """
    answering = SceneCode(
        {"state": lambda scene, _: {"seen": scene.version}, **verbs}, opens or (lambda _: scene()), lambda _: "a fault"
    )
    parts = LabParts(
        code=answering,
        token=TOKEN,
        hosts=AllowedHosts.of([], anywhere=False),
        limits=limits or ServerLimits(),
        page=page or PAGE,
    )
    lab, bound = LabApplication(parts), Listening().bind()
    port = bound.getsockname()[1]
    ready = threading.Event()
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def until_left() -> None:
        loops.append((asyncio.get_running_loop(), ending := asyncio.Event()))
        await serve_until(ending, lab, bound, ready.set)

    thread = threading.Thread(target=lambda: asyncio.run(until_left()))
    thread.start()
    assert ready.wait(20)
    try:
        yield LabServer(port, lab)
    finally:
        loop, ending = loops[0]
        loop.call_soon_threadsafe(ending.set)
        thread.join(20)
        assert not thread.is_alive()
