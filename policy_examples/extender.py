"""An HTTP extender to start from: it refuses retiring nodes and likes fast disks.

    python policy_examples/extender.py --port 8888

Standard library only. It answers the calls that `extenders.json` asks for, in the wire format of 1.16.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def labels(node: dict[str, Any]) -> dict[str, str]:
    return node["metadata"].get("labels") or {}


def filter_nodes(asked: dict[str, Any]) -> dict[str, Any]:
    """The nodes that stay, and a message for each that does not."""
    nodes = asked["Nodes"]["items"]
    retiring = {n["metadata"]["name"]: f"retires in {labels(n)['retiring']}" for n in nodes if "retiring" in labels(n)}
    kept = [n for n in nodes if n["metadata"]["name"] not in retiring]
    return {"nodes": {"metadata": {}, "items": kept}, "failedNodes": retiring, "error": ""}


def prioritize_nodes(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """10 for an ssd, 0 for anything else."""
    return [
        {"host": node["metadata"]["name"], "score": 10 if labels(node).get("disk") == "ssd" else 0}
        for node in asked["Nodes"]["items"]
    ]


VERBS = {"/filter": filter_nodes, "/prioritize": prioritize_nodes}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(VERBS[self.path](asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: a workshop's terminal has enough to read."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8888)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
