"""The Model Context Protocol, with the SDK's own client: in this process, over stdio and over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import kubescheduler as ks
from kubescheduler.cli import run
from kubescheduler.mcp.server import NAMES, server_of
from kubescheduler.mcp.tools import Tools
from tests.support.apiserver.real_server import free_ports

CLUSTER = ks.Cluster(release="1.36").node("a", cpu=2).node("b", cpu=4)


def asked(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """(whether it is an error, the structured answer or the text) of each call, one after the other."""

    async def ask() -> list[Any]:
        async with Client(server) as client:
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return [(each.is_error, each.structured_content or getattr(each.content[0], "text", "")) for each in results]

    return anyio.run(ask)


def test_every_tool_is_listed() -> None:
    """With a description, a schema of its arguments, and that it only reads."""

    async def ask() -> Any:
        async with Client(server_of(Tools(lambda _: CLUSTER, "1.36", {}), 60)) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(ask)
    assert [tool.name for tool in tools] == list(NAMES)
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert set(tools[0].input_schema["properties"]) == {"pod", "release", "policy", "config", "top", "cluster"}


def test_answers_and_errors() -> None:
    """An answer is structured; a fault is an error with its text, and so is an argument of another type."""
    server = server_of(Tools(lambda _: CLUSTER, "1.36", {}), 60)
    answer, missing, wrong = asked(
        server, ("decide", {"pod": ks.pod("new", cpu=3)}), ("why", {"pod": "gone"}), ("capacity", {"pod": 5})
    )
    assert answer[0] is False
    assert answer[1]["node"] == "b"
    assert missing[0] is True
    assert "there is no pod default/gone" in missing[1]
    assert wrong[0] is True


def test_limits() -> None:
    """A call that takes too long is given up, and arguments that are too large are not looked at."""
    held = threading.Event()

    def read(_: str) -> ks.Cluster:
        held.wait(60)
        return CLUSTER

    late = asked(server_of(Tools(read, "1.36", {}), 0.01), ("why", {"pod": "x"}))
    held.set()
    [(is_error, text)] = late
    assert is_error
    assert "no answer within 0.01 s" in text
    large = {"pod": {"metadata": {"name": "x", "annotations": {"note": "n" * (1 << 20)}}}}
    [(is_error, text)] = asked(server_of(Tools(read, "1.36", {}), 60), ("decide", large))
    assert is_error
    assert "the arguments are larger than 1,048,576 bytes" in text


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A cluster."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [ks.node("a", cpu=2)]}))
    return str(path)


def test_over_stdio(file: str) -> None:
    """As assistants start it."""
    command = [sys.executable, "-m", "kubescheduler", "mcp", file, "--release", "1.36"]
    server = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    [(is_error, answer)] = asked(server, ("decide", {"pod": ks.pod("new", cpu=1)}))
    assert not is_error
    assert answer["node"] == "a"


def test_over_http(file: str) -> None:
    """On the loopback interface."""
    [port] = free_ports(1)
    command = [sys.executable, "-m", "kubescheduler", "mcp", file, "--http", str(port)]

    async def first_answer(ask: Callable[[], Awaitable[Any]]) -> Any:
        """Once the server listens."""
        with anyio.fail_after(60):
            while True:
                try:
                    async with await anyio.connect_tcp("127.0.0.1", port):
                        return await ask()
                except OSError:
                    await anyio.sleep(0.05)

    async def ask() -> Any:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return (await client.call_tool("registry", {})).structured_content

    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            answer = anyio.run(first_answer, ask)
        finally:
            process.terminate()
    assert answer["release"] == "1.16"


def test_wrong_input_is_said_at_the_start(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """To who starts it, not to an assistant: exit status 2."""
    assert run(["mcp", file, "--config", "none.yaml"]) == 2
    assert "none.yaml" in capsys.readouterr().err
    assert run(["mcp", "-"]) == 2
    assert "standard input is the client's" in capsys.readouterr().err
