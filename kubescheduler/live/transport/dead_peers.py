"""Connections whose other side is gone without a word: who waits for it hears of it, instead of waiting for ever."""

from __future__ import annotations

import socket

QUIET, BETWEEN, TIMES = 30, 5, 3
"""Seconds of silence after which the other side is asked whether it is there, seconds between questions, and how many
of them go without an answer. Upstream: client-go's HTTP/2 pings, after 30 s, for 15 s."""
OPTIONS = (
    ("TCP_KEEPIDLE", QUIET),
    ("TCP_KEEPALIVE", QUIET),
    ("TCP_KEEPINTVL", BETWEEN),
    ("TCP_KEEPCNT", TIMES),
    ("TCP_USER_TIMEOUT", (QUIET + BETWEEN * TIMES) * 1000),
)
"""Those that a system has, of which some call the first by the second name; the last one is for what was sent."""


def notice_dead_peer(connection: socket.socket) -> None:
    """Has a connection break 45 s after the other side was last heard."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
