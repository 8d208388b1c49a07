"""The Model Context Protocol: ``Tools`` served over stdio, or over HTTP on the loopback interface."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

import kubescheduler
from clusterstate.errors import ClusterStateError, InputError
from kubescheduler.mcp.tools import Answer, Tools

NAMES = ("decide", "why", "hint", "compare", "capacity", "drain", "outage", "nodes", "explain", "registry")
"""The tools, in the order in which they are listed."""
INSTRUCTIONS = """\
Answers are those of Kubernetes' scheduler, exactly as the cluster's release decides, over the cluster that the server
was started for. Nothing is changed there. Quote messages and numbers as they are; where an answer has a "why", a
"message" or "evidence", that is the reason."""
LARGEST = 1 << 20
"""Bytes of a call's arguments, and of an answer."""


def server_of(tools: Tools, patience: float) -> MCPServer[Any]:
    """A server with all tools. patience: seconds after which a call is given up."""
    server: MCPServer[Any] = MCPServer(
        "kubescheduler", version=kubescheduler.__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    # One call at a time: what is given up cannot be stopped, and more of it would only take longer.
    turn = anyio.CapacityLimiter(1)
    asking = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for name in NAMES:
        server.add_tool(_served(getattr(tools, name), turn, patience), name=name, annotations=asking)
    return server


def _served(tool: Callable[..., Answer], turn: anyio.CapacityLimiter, patience: float) -> Callable[..., Any]:
    @functools.wraps(tool)
    async def called(**arguments: Any) -> Answer:
        if len(msgspec.json.encode(arguments)) > LARGEST:
            raise ToolError(f"the arguments are larger than {LARGEST:,} bytes")
        try:
            with anyio.fail_after(patience):
                answer = await anyio.to_thread.run_sync(
                    functools.partial(tool, **arguments), limiter=turn, abandon_on_cancel=True
                )
        except TimeoutError:
            raise ToolError(f"no answer within {patience:g} s: ask about less, or set --patience higher") from None
        except InputError as error:
            raise ToolError("\n".join(error.problems)) from None
        except ClusterStateError as error:
            raise ToolError(str(error)) from None
        size = len(msgspec.json.encode(answer))
        if size > LARGEST:
            raise ToolError(f"the answer has {size:,} bytes, more than {LARGEST:,}: ask about less")
        return answer

    return called
