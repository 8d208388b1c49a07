"""An HTTP extender that knows how warm the racks are."""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOO_WARM = 30


def filter_nodes(asked):
    # Your part: which nodes stay, and why do the others not?
    return {"nodes": {"metadata": {}, "items": nodes_of(asked)}, "failedNodes": {}, "error": ""}


def prioritize_nodes(asked):
    # Your part: a whole number from 0 to 10 for each node.
    return [{"host": node["metadata"]["name"], "score": 0} for node in nodes_of(asked)]


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
