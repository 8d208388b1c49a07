"""The example cluster behind an API server in this process, for examples that read or schedule a live cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from kubescheduler.live.cluster_lists import LISTED_KINDS
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import ApiServer

SHOWN = "https://10.0.0.1:6443"
"""How outputs show the server's address."""
CONTEXT = "production"
"""The kubeconfig's only context."""
ASKING = ("--context", ".kube/config")
"""A command that says one of these is given the server."""


@contextmanager
def example_server(home: Path, files: list[Path]) -> Iterator[str]:
    """Serves the objects of manifests, with a kubeconfig below ``home`` that leads to them. The address.

    Pods and services without a namespace are in ``default``, and pods have what an API server fills in.
    """
    with IoThread() as io, ApiServer(io) as server:
        paths = {kind.kind: kind.path(kind.groups[0]) for kind in LISTED_KINDS}
        for item in (item for file in files for item in yaml.safe_load_all(file.read_text(encoding="utf-8"))):
            namespace = "" if item["kind"] == "Node" else item["metadata"].setdefault("namespace", "default")
            if item["kind"] == "Pod":
                item["spec"].setdefault("schedulerName", "default-scheduler")
                item.setdefault("status", {}).setdefault("phase", "Pending")
            server.storage.create(paths[item["kind"]], namespace, item)
        _write_kubeconfig(home / ".kube" / "config", server.url)
        yield server.url


def _write_kubeconfig(file: Path, url: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": "me"}}],
    }
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
