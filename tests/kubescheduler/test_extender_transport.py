"""Answers as Go's HTTP client takes them: redirects, gzip, heads of any size, bodies that break off."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from kubescheduler.extender.answers import CutShortError, ExtenderError
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.extender.transport import redirected
from kubescheduler.extender.wire import WireFormat
from kubescheduler.releases.lookup import release_named
from tests.support.build import make_pod

WIRE_1_4 = release_named("1.4").wire
WIRE_1_16 = release_named("1.16").wire

BODY = b'{"nodenames": [], "failedNodes": {"a": "full"}}'
PACKED = gzip.compress(BODY, mtime=0)
DEEP = b'{"x": ' + b"[" * 9000 + b"]" * 9000 + b', "failedNodes": {"a": "full"}}'


def answer(body: bytes = BODY, headers: bytes = b"", *, status: bytes = b"200 OK", longer: int = 0) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status, len(body) + longer, headers, body)


@contextmanager
def answering(answers: Sequence[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives each call the next answer and hangs up; its address, and the requests."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for each in answers:
                connection, _ = listening.accept()
                with connection, connection.makefile("rb") as reading:
                    head = b"".join(iter(reading.readline, b"\r\n"))
                    length = [line for line in head.splitlines() if line.lower().startswith(b"content-length:")]
                    requests.append(head + reading.read(int(length[0].split()[1]) if length else 0))
                    connection.sendall(each)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests
        thread.join(20)


def failed(answers: Sequence[bytes], wire: WireFormat = WIRE_1_16) -> tuple[dict[str, str], list[bytes]]:
    """The messages of a filter call, and the requests."""
    with answering(answers) as (url, requests):
        config = ExtenderConfig(url, filter_verb="f")
        return dict(HTTPExtender(config, wire).filter(make_pod("web"), []).failed), requests


TAKEN: dict[str, bytes] = {
    "gzip": answer(PACKED, b"Content-Encoding: gzip\r\n"),
    "GZIP of two members": answer(gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), b"Content-Encoding: GZIP\r\n"),
    "processing": b"HTTP/1.1 102 Processing\r\n\r\n" + answer(),
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" * 5 + answer(),
    "many headers": answer(headers=b"".join(b"X%d: a\r\n" % number for number in range(500))),
    "a long header": answer(headers=b"X: " + b"x" * 100_000 + b"\r\n"),
    "a folded header": answer(headers=b"X: a\r\n b\r\n"),
    "a body cut short": answer(longer=50),
    "packed and cut short": answer(PACKED[:-4], b"Content-Encoding: gzip\r\n"),
    "deep unknown members": answer(DEEP),
}


@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_what_go_takes(given: bytes) -> None:
    """Is an answer here too."""
    assert failed([given])[0] == {"a": "full"}


REFUSED: dict[str, tuple[bytes, str]] = {
    "a header without a colon": (answer(headers=b"garbage\r\n"), "malformed MIME header line: garbage"),
    "a head that goes on": (answer(headers=b"X: " + b"x" * 11_000_000 + b"\r\n"), "headers exceeded"),
    "a first line that is folded": (b"HTTP/1.1 200 OK\r\n X: a\r\n\r\n", "malformed MIME header initial line"),
    "hints without end": (b"HTTP/1.1 103 E\r\n\r\n" * 700_000 + answer(), "headers exceeded"),
    "two lengths": (answer(headers=b"Content-Length: 5\r\n"), "Content-Length contained multiple"),
    "another coding": (answer(headers=b"Transfer-Encoding: gzip\r\n"), "unsupported transfer encoding"),
    "a control character": (answer(headers=b"X: a\x01\r\n"), "malformed MIME header line"),
    "a header without a name": (answer(headers=b": a\r\n"), "malformed MIME header line"),
    "no gzip": (answer(headers=b"Content-Encoding: gzip\r\n"), "gzip"),
    "cut within the value": (answer(BODY[:-1], longer=9), "unexpected EOF"),
    "too deep": (answer(b'{"x":' + b"[" * 10_001 + b"]" * 10_001 + b"}"), "exceeded max depth"),
}


@pytest.mark.parametrize(("given", "fault"), REFUSED.values(), ids=REFUSED)
def test_what_go_refuses(given: bytes, fault: str) -> None:
    """Is an error here too."""
    with pytest.raises(ExtenderError, match=fault):
        failed([given])


def test_the_oldest_release_reads_to_the_end() -> None:
    """1.4 reads a body whole before it decodes it."""
    with pytest.raises(CutShortError):
        failed([answer(longer=50)], WIRE_1_4)


def test_half_surrogates_are_replaced() -> None:
    """As Go's decoder does; pairs and texts that look like escapes stay."""
    body = rb'{"failedNodes": {"a": "x\ud800y\udc00", "b": "\ud83d\ude00", "c": "\\ud800"}}'
    assert failed([answer(body)])[0] == {"a": "x\ufffdy\ufffd", "b": "\U0001f600", "c": r"\ud800"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(status: int) -> None:
    """307 and 308 send the same again, the others ask with GET."""
    moved = answer(b"", b"Location: /there\r\n", status=b"%d Moved" % status)
    found, (first, second) = failed([moved, answer()])
    assert found == {"a": "full"}
    if status in (307, 308):
        assert second == first.replace(b"POST /f ", b"POST /there ")
    else:
        assert second.startswith(b"GET /there ")
        assert b"content-length" not in second.lower()


def test_redirects_that_lead_nowhere() -> None:
    """Ten are followed; one without an address is the answer."""
    loop = answer(b"", b"Location: /f\r\n", status=b"307 Moved")
    with pytest.raises(ExtenderError, match="stopped after 10 redirects"):
        failed([loop] * 10)
    with pytest.raises(ExtenderError, match="code 302"):
        failed([answer(status=b"302 Found")])


TARGETS: dict[str, tuple[int, str, str | None]] = {
    "within the host": (307, "/b", "http://u:p@h:1/b"),
    "the same host": (308, "http://h:1/b", "http://u:p@h:1/b"),
    "another": (307, "https://g/b", "https://g/b"),
    "no redirect": (300, "/b", None),
    "no address": (307, "", None),
}


@pytest.mark.parametrize(("status", "location", "target"), TARGETS.values(), ids=TARGETS)
def test_where_redirects_lead(status: int, location: str, target: str | None) -> None:
    """User and password are told to the same host only."""
    assert redirected(status, location, "http://u:p@h:1/a") == target
