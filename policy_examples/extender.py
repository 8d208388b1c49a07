"""An HTTP extender to start from: it knows how warm the racks are, which no Kubernetes object says.

    python policy_examples/extender.py --port 8888

It refuses the nodes of racks that are too warm and scores the others by how cool they are. Standard library only.
It answers the two calls that `extenders.json` asks for, in the wire format of 1.16, 1.20
and 1.36, and in that of 1.4, whose keys begin with a small letter and whose address has an empty segment.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CELSIUS = {"r1": 33, "r2": 22, "r3": 26}
"""Rack → its temperature. A real extender would ask a monitoring system."""
TOO_WARM = 30

MAX_SCORE = 10
"""What an extender may give a node; the policy's weight multiplies it."""


def temperature(node: dict[str, Any]) -> int:
    return CELSIUS[node["metadata"]["labels"]["rack"]]


def nodes_of(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes of a request: under `Nodes`, in 1.4 under `nodes`."""
    nodes: list[dict[str, Any]] = asked["Nodes" if "Nodes" in asked else "nodes"]["items"]
    return nodes


def filter_nodes(asked: dict[str, Any]) -> dict[str, Any]:
    """The nodes that stay, and for each that does not the reason that users will read."""
    nodes = nodes_of(asked)
    refused = {n["metadata"]["name"]: f"rack at {temperature(n)} C" for n in nodes if temperature(n) > TOO_WARM}
    kept = [n for n in nodes if n["metadata"]["name"] not in refused]
    return {"nodes": {"metadata": {}, "items": kept}, "failedNodes": refused, "error": ""}


def prioritize_nodes(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """One point per degree below the limit, at most 10. Scores must be integers."""
    return [
        {"host": n["metadata"]["name"], "score": max(0, min(MAX_SCORE, TOO_WARM - temperature(n)))}
        for n in nodes_of(asked)
    ]


VERBS = {"filter": filter_nodes, "prioritize": prioritize_nodes}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(VERBS[self.path.rpartition("/")[2]](asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing: a workshop's terminal has enough to read."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8888)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
