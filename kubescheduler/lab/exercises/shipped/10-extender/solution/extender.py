"""An HTTP extender that knows how warm the racks are."""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOO_WARM = 30


def celsius(node):
    return int(node["metadata"].get("labels", {}).get("rack-celsius", TOO_WARM))


def filter_nodes(asked):
    refused = {
        node["metadata"]["name"]: f"rack at {celsius(node)} C" for node in nodes_of(asked) if celsius(node) > TOO_WARM
    }
    kept = [node for node in nodes_of(asked) if node["metadata"]["name"] not in refused]
    return {"nodes": {"metadata": {}, "items": kept}, "failedNodes": refused, "error": ""}


def prioritize_nodes(asked):
    return [
        {"host": node["metadata"]["name"], "score": max(0, min(10, TOO_WARM - celsius(node)))}
        for node in nodes_of(asked)
    ]


def nodes_of(asked):
    """The nodes that the scheduler asks about, as in a manifest."""
    return asked["Nodes"]["items"]


VERBS = {"filter": filter_nodes, "prioritize": prioritize_nodes}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(VERBS[self.path.rpartition("/")[2]](asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8888)
    ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()
