"""An extender in a process of its own, good or bad as the first segment of a call's path says.

    python extender_process.py [CERTIFICATE_AND_KEY [AUTHORITY_OF_CLIENTS]]

Listens on a free loopback port, prints its address, and ends when standard input is closed. A path is
``/<behaviour>/<verb>``, more slashes do not matter; the behaviours are the functions below.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DRIPS = 400
"""Bytes a dripping answer has, one every hundredth of a second: longer than any httpTimeout of a test."""


@contextmanager
def extender(*certificates: Path) -> Iterator[str]:
    """Runs this file; gives its address."""
    scheme = "https" if certificates else "http"
    command = [sys.executable, __file__, *map(str, certificates)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            yield f"{scheme}://127.0.0.1:{port}"
        finally:
            process.stdin.close()


# --- answers ---------------------------------------------------------------------------------


def good(verb: str, asked: dict[str, Any], keep: Callable[[list[Any]], list[Any]] = list) -> Any:
    """Keeps all nodes, scores them 0, 1, 2 …, binds anything, leaves no candidate of preemption."""
    if verb in ("bind", "preempt"):
        return {"Error": ""}
    names = asked.get("NodeNames")
    items = names if names is not None else (asked.get("Nodes") or asked["nodes"])["items"]
    if verb == "prioritize":
        return [{"host": item if names else item["metadata"]["name"], "score": i} for i, item in enumerate(items)]
    kept = keep(items)
    answer: dict[str, Any] = {"nodenames": kept} if names is not None else {"nodes": {"metadata": {}, "items": kept}}
    return {**answer, "failedNodes": {}, "error": ""}


def refuse(verb: str, asked: dict[str, Any]) -> Any:
    """Refuses the first node with a message and the second silently."""
    if verb != "filter":
        return good(verb, asked)
    return {**good(verb, asked, lambda items: items[2:]), "failedNodes": {"n0": "not here"}}


def shout(verb: str, asked: dict[str, Any]) -> Any:
    """Member names in capitals."""
    if verb == "prioritize":
        return [{"HOST": "n1", "SCORE": 7}]
    if verb == "bind":
        return {"ERROR": "no"}
    return {"NODENAMES": ["n1"], "NODES": {"ITEMS": [{"METADATA": {"NAME": "n1"}}]}, "FAILEDNODES": {"n0": "no"}}


def double(verb: str, asked: dict[str, Any]) -> Any:
    """Names everything twice, last first."""
    if verb == "filter":
        return good(verb, asked, lambda items: [*reversed(items), *items])
    return [{"host": "n1", "score": 1}, {"host": "n1", "score": 2}]


def unknown(verb: str, asked: dict[str, Any]) -> Any:
    """Adds a node that is not in the cluster."""
    extra = "ghost" if asked.get("NodeNames") is not None else {"metadata": {"name": "ghost"}}
    return good(verb, asked, lambda items: [*items, extra])


def invent(verb: str, asked: dict[str, Any]) -> Any:
    """Keeps every node, always as objects, and adds one twice as large as the first that the cluster does not have."""
    if verb != "filter":
        return good(verb, asked)
    names = asked.get("NodeNames")
    items = asked["Nodes"]["items"] if names is None else [{"metadata": {"name": name}} for name in names]
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    ghost = {"metadata": {"name": "ghost", "labels": {"zone": "b"}}, "status": {"allocatable": room}}
    return {"nodes": {"metadata": {}, "items": [*items, ghost]}}


def only_invented(verb: str, asked: dict[str, Any]) -> Any:
    """The same without the nodes that there are."""
    answer = invent(verb, asked)
    return {"nodes": {"items": answer["nodes"]["items"][-1:]}} if verb == "filter" else answer


def exchange_labels(verb: str, asked: dict[str, Any]) -> Any:
    """Keeps every node as an object, each with the labels of the one before it, the first with those of the last."""
    if verb != "filter":
        return good(verb, asked)
    items = (asked.get("Nodes") or asked["nodes"])["items"]
    labels = [item["metadata"].get("labels", {}) for item in items]
    kept = [{**item, "metadata": {**item["metadata"], "labels": labels[at - 1]}} for at, item in enumerate(items)]
    return {"nodes": {"metadata": {}, "items": kept}}


def exchange_objects(verb: str, asked: dict[str, Any]) -> Any:
    """The same with annotations and the whole status."""
    items = (asked.get("Nodes") or asked["nodes"])["items"]

    def looks(item: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in other["metadata"].items() if key in ("labels", "annotations")}
        return {**item, "metadata": {"name": item["metadata"]["name"], **kept}, "status": other.get("status", {})}

    return {"nodes": {"metadata": {}, "items": [looks(item, items[at - 1]) for at, item in enumerate(items)]}}


def zone_b(verb: str, asked: dict[str, Any]) -> Any:
    """Keeps the nodes of zone b alone; scores them 5, and others 0."""
    items = (asked.get("Nodes") or asked["nodes"])["items"]
    there = [item["metadata"].get("labels", {}).get("zone") == "b" for item in items]
    if verb == "prioritize":
        return [{"host": item["metadata"]["name"], "score": 5 * yes} for item, yes in zip(items, there, strict=True)]
    return {"nodes": {"metadata": {}, "items": [item for item, yes in zip(items, there, strict=True) if yes]}}


def echo(verb: str, asked: dict[str, Any]) -> Any:
    """The request, as an error."""
    return {"error": json.dumps(asked)}


def preempt(verb: str, asked: dict[str, Any]) -> Any:
    """Keeps every candidate but n0, its victims in reverse order, and counts two violations more than it was told."""
    meta, full = asked["NodeNameToMetaVictims"], asked["NodeNameToVictims"]
    told = meta or {
        node: {**victims, "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
        for node, victims in full.items()
    }
    kept = {
        node: {"pods": victims["Pods"][::-1], "numPDBViolations": victims["NumPDBViolations"] + 2}
        for node, victims in told.items()
        if node != "n0"
    }
    return {"nodeNameToMetaVictims": kept}


ANSWERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "good": good,
    "refuse": refuse,
    "shout": shout,
    "double": double,
    "unknown": unknown,
    "invent": invent,
    "only-invented": only_invented,
    "bad-node": lambda *_: {"nodes": {"items": [{"metadata": {"name": "ghost"}, "spec": {"taints": 7}}]}},
    "exchange-labels": exchange_labels,
    "exchange-objects": exchange_objects,
    "zone-b": zone_b,
    "echo": echo,
    "preempt": preempt,
    "unresolvable": lambda *_: {"FailedNodes": {"n1": "no"}, "FailedAndUnresolvableNodes": {"n1": "never", "n0": None}},
    "bad-unresolvable": lambda *_: {"failedAndUnresolvableNodes": {"n1": 7}},
    "bad-victims": lambda *_: {"nodeNameToMetaVictims": {"n1": {"pods": [], "numPDBViolations": 1.5}}},
    "error": lambda *_: {"error": "95% full"},
    "null": lambda *_: None,
    "nulls": lambda *_: {"nodes": None, "nodenames": None, "failedNodes": None, "error": None},
    "object": lambda *_: {},
    "list": lambda *_: [],
    "number": lambda *_: 7,
    "numbers": lambda *_: {"nodenames": [1], "nodes": {"items": [{"metadata": {"name": 1}}]}},
    "nodes-list": lambda *_: {"nodes": [], "nodenames": "n1"},
    "bad-failed": lambda *_: {"failedNodes": ["n1"]},
    "bad-error": lambda *_: {"error": {"text": "x"}},
    "null-message": lambda *_: {"failedNodes": {"n1": None}},
    "nameless": lambda *_: {"nodes": {"items": [{}, None]}},
    "half-scores": lambda *_: [{"host": "n0", "score": 1}, {"host": "n1", "score": 1.5}],
    "float-scores": lambda *_: [{"host": "n0", "score": 2.0}],
    "text-scores": lambda *_: [{"host": "n0", "score": "2"}],
    "true-scores": lambda *_: [{"host": "n0", "score": True}],
    "huge-scores": lambda *_: [{"host": "n0", "score": 2**63}],
    "large-scores": lambda *_: [{"host": "n0", "score": 2**63 - 1}, {"host": "n1", "score": -(2**63)}],
    "empty-scores": lambda *_: [{}, {"host": None, "score": None}],
}

BODIES: dict[str, bytes] = {
    "garbage": b'{"nodes": [this is no JSON',
    "empty": b"",
    "blank": b" \r\n",
    "html": b"<html>Bad gateway</html>",
    "nan": b'[{"host": "n0", "score": NaN}]',
    "deep": b"[" * 100_000,
    "surrogate": b'{"error": "\\ud800"}',
    "latin": b'{"error": "caf\xe9"}',
}


# --- the server ------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        behaviour, *_, verb = (part for part in self.path.split("/") if part)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        special = getattr(self, "do_" + behaviour.replace("-", "_"), None)
        if special is not None:
            special()
        elif behaviour.isdigit():
            self.answer(int(behaviour), json.dumps(good(verb, asked)).encode())
        elif behaviour == "trailing":
            self.answer(200, json.dumps(good(verb, asked)).encode() + b" and more ]}")
        elif behaviour in BODIES:
            self.answer(200, BODIES[behaviour])
        else:
            self.answer(200, json.dumps(ANSWERS[behaviour](verb, asked)).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Location", "/good/filter")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_request(self) -> None:
        """The request line, headers and the caller's port, as an error."""
        seen = {
            "path": self.requestline.split()[1],
            "headers": dict(self.headers.items()),
            "port": self.client_address[1],
        }
        self.answer(200, json.dumps({"error": json.dumps(seen)}).encode())

    def do_slow(self) -> None:
        """Answers when the caller has hung up."""
        self.gone(None)
        self.close_connection = True

    def do_drip_body(self) -> None:
        """A correct answer, a byte now and then."""
        body = json.dumps({"error": "the drip came through"}).encode()
        self.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n", body.ljust(DRIPS))

    def do_drip_headers(self) -> None:
        """Headers without end, a byte now and then."""
        self.drip(b"HTTP/1.1 200 OK\r\nX: ", b"x" * DRIPS)

    def do_truncated(self) -> None:
        """Ends before it has sent what it promised."""
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"nodes"')
        self.close_connection = True

    def do_not_http(self) -> None:
        """Speaks another protocol."""
        self.wfile.write(b"220 mail.example.com ESMTP\r\n")
        self.close_connection = True

    def do_hang_up(self) -> None:
        """Says nothing."""
        self.close_connection = True

    def do_chunked(self) -> None:
        """An answer in chunks, cut in the middle of a member."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (b'{"er', b'ror": "in par', b'ts"}', b""):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def drip(self, start: bytes, rest: bytes) -> None:
        self.wfile.write(start)
        for i in range(len(rest)):
            self.wfile.write(rest[i : i + 1])
            if self.gone(0.01):
                break
        self.close_connection = True

    def gone(self, seconds: float | None) -> bool:
        """Waits for the caller to hang up, so long."""
        self.connection.settimeout(seconds)
        try:
            return bytes(self.connection.recv(1)) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers may hang up at any time."""

    def get_request(self) -> tuple[socket.socket, Any]:
        sock, address = super().get_request()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock, address


def main() -> None:
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 1:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        if len(sys.argv) > 2:
            context.load_verify_locations(sys.argv[2])
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
