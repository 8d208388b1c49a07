"""What an extender may not do: answer with a broken length, make the client wait, or learn of passwords in messages."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from kubescheduler.core.decision_records import ExtenderTrace
from kubescheduler.core.extender_calls import SnapshotRows, score_with_extenders
from kubescheduler.extender.answers import ExtenderError
from kubescheduler.extender.config import ExtenderConfig, masked
from kubescheduler.extender.transport import Budget, Transport, _addresses


@contextmanager
def answering(head: bytes) -> Iterator[str]:
    """A server that answers its one call with these bytes; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(head)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize("length", ["-5", "abc", "1e3", "9" * 30])
def test_a_length_that_is_none(length: str) -> None:
    """A Content-Length that is no number is an error, as Go's client has it."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n[]".encode()
    with answering(head) as url, pytest.raises(ExtenderError, match="bad Content-Length") as caught:
        Transport(ExtenderConfig(url)).post(f"{url}/f", b"{}", lambda _: None)
    assert f'transport connection broken: bad Content-Length "{length}"' in str(caught.value)


def test_names_are_resolved_within_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that does not answer is waited for no longer than httpTimeout says."""
    released = threading.Event()

    def stuck(*_: Any, **__: Any) -> Any:
        released.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    budget = Budget()
    budget.grant(0.05)
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        _addresses("example.com", 80, budget)
    assert time.monotonic() - start < 5
    released.set()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@host:80/x", "http://user:***@host:80/x"),
        ("https://:s@h", "https://:***@h"),
        ("http://user:a@b@host/x", "http://user:***@host/x"),
        ("http://host/a:b@c", "http://host/a:b@c"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    """Messages and results have an address without its password."""
    assert masked(url) == ExtenderConfig(url).name == shown


def test_an_error_has_no_password() -> None:
    """Neither has what is said when nobody listens there."""
    with pytest.raises(ExtenderError) as caught:
        Transport(ExtenderConfig("http://u:secret@127.0.0.1:1")).post(
            "http://u:secret@127.0.0.1:1/f", b"", lambda _: None
        )
    assert "secret" not in str(caught.value)
    assert "http://u:***@127.0.0.1:1/f" in str(caught.value)


class _Repeating:
    """An extender that names one node over and over."""

    config = ExtenderConfig("http://x", prioritize_verb="p", weight=2)

    def is_interested(self, pod: Any) -> bool:
        return True

    def prioritize(self, pod: Any, nodes: Any) -> list[tuple[str, int]]:
        return [("n", 1)] * 20_000


class _OneNode:
    """A snapshot of one node, as far as scores ask."""

    names = ("n",)

    def node(self, row: int) -> None:
        """No node object is needed."""


def test_repeated_names_are_added_once() -> None:
    """Twenty thousand scores of a node that is there twenty thousand times are added in linear time."""
    rows = np.zeros(20_000, np.int64)
    extender: Any = _Repeating()
    snapshot: Any = _OneNode()
    pod: Any = None
    start = time.monotonic()
    sums, _ = score_with_extenders(pod, [extender], [ExtenderTrace("x", 2)], SnapshotRows(snapshot), rows)
    assert time.monotonic() - start < 10
    assert set(sums.tolist()) == {40_000}
