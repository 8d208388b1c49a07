"""Small clusters behind an API server in this process, and a kubeconfig that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import ApiServer, FrontServer
from tests.support.apiserver.storage import Document

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"


def a_node(name: str, cpu: str = "4", **labels: str) -> Document:
    """A node with room for ``cpu``."""
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": room, "capacity": room},
    }


def a_pod(name: str, cpu: str = "100m", **spec: Any) -> Document:
    """A pod that waits for a node, as an API server stores it."""
    container = {"name": "c", "image": "pause:3", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"schedulerName": "default-scheduler", "priority": 0, "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def kubeconfig(folder: Path, url: str) -> str:
    """Writes a kubeconfig; its current context leads to ``url``, the context ``gone`` to nobody. The file's name."""
    servers = {"there": url, "gone": "http://127.0.0.1:1"}
    clusters = ", ".join(f'{{name: {name}, cluster: {{server: "{at}"}}}}' for name, at in servers.items())
    contexts = ", ".join(f"{{name: {name}, context: {{cluster: {name}, user: me}}}}" for name in servers)
    file = folder / "kubeconfig"
    file.write_text(
        f"apiVersion: v1\nkind: Config\ncurrent-context: there\nclusters: [{clusters}]\ncontexts: [{contexts}]\n"
        "users: [{name: me, user: {}}]\n"
    )
    return str(file)


def fill(server: FrontServer, *nodes: Document, pods: tuple[Document, ...] = ()) -> None:
    """Makes these nodes, and pods in the namespace default."""
    for node in nodes:
        server.storage.create(NODES, "", node)
    for pod in pods:
        server.storage.create(PODS, "default", pod)


@contextmanager
def serving(*nodes: Document, pods: tuple[Document, ...] = ()) -> Iterator[ApiServer]:
    """An API server with these nodes, and pods in the namespace default."""
    with IoThread() as io, ApiServer(io) as server:
        fill(server, *nodes, pods=pods)
        yield server
