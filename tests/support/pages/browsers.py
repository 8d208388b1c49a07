"""The machine's browsers."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.processes import SECONDS
from tests.support.processes.dependent_processes import dependent

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WITHOUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxAimPopup"),
    *("HttpsUpgrades", "MediaRouter", "OptimizationHints", "PaintHolding"),
)
"""Features that are off: suggestions below the address bar, pages that every new window would load (it takes four times
the CPU time with them), and of those that playwright switches off what pages could show."""
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-features=" + ",".join(WITHOUT),
)
"""It asks nobody for anything, and runs as root in a container too."""

MISSING = "there is no Chromium: apt install chromium, or python -m playwright install chromium"


def launched(playwright: Any) -> Any:
    """A browser, of the machine or the one that playwright brought; None if there is neither."""
    path = next(filter(None, map(shutil.which, NAMES)), None) or playwright.chromium.executable_path
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS) if Path(path).exists() else None


FIREFOX_NAMES = ("firefox-esr", "firefox")
NO_FIREFOX = "there is no Firefox: apt install firefox-esr"


def firefox_path() -> str | None:
    """The program; None if there is none."""
    return next(filter(None, map(shutil.which, FIREFOX_NAMES)), None)


class FirefoxTab:
    """One tab, and what was written to its console."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._context = ""
        self.messages: list[str] = []
        """Texts on the console, and errors that nobody caught."""

    async def begin(self) -> None:
        """Opens the session and a tab."""
        await self._call("session.new", capabilities={})
        await self._call("session.subscribe", events=["log.entryAdded"])
        self._context = (await self._call("browsingContext.create", type="tab"))["context"]

    async def open(self, address: str) -> None:
        """Goes there, and waits until it is loaded."""
        await self._call("browsingContext.navigate", context=self._context, url=address, wait="complete")

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression that is text, a number or a truth; a promise is awaited."""
        target = {"context": self._context}
        found = await self._call("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return found["result"].get("value")

    async def until(self, expression: str) -> None:
        """Waits until an expression is true, or what it promises is."""
        async with asyncio.timeout(SECONDS):
            while not await self.evaluate(f"Promise.resolve({expression}).then(Boolean)"):
                await self.evaluate("new Promise(done => requestAnimationFrame(() => done(true)))")

    async def _call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = json.loads((await self._socket.receive(SECONDS)).data)
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]
            if message.get("method") == "log.entryAdded":
                self.messages.append(message["params"]["text"])


@asynccontextmanager
async def firefox_tab(program: str, profile: Path) -> AsyncIterator[FirefoxTab]:
    """A tab in a Firefox of its own. profile: an empty folder."""
    command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
    errors = profile / "stderr"
    with errors.open("w") as written:
        process = subprocess.Popen(dependent(command), stderr=written, stdout=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(SECONDS):
            while (found := re.search(r"BiDi listening on (ws://\S+)", errors.read_text())) is None:
                await asyncio.sleep(0.05)
        address = f"{found.group(1)}/session"
        async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=0) as socket:
            tab = FirefoxTab(socket)
            await tab.begin()
            yield tab
    finally:
        process.kill()
        process.wait()
