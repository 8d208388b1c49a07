"""The servers of a scheduler on ports of this machine, and requests to them."""

from __future__ import annotations

import http.client
import json
import random
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import trustme

from kubescheduler.live.informers import ServerOutages
from kubescheduler.live.klog import LogLine, Verbosity, error_line
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.serving.pages import MetricsSources
from kubescheduler.live.serving.scheduler_servers import (
    AccessSettings,
    SchedulerServers,
    ServedProcess,
    ServingSettings,
)
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread, WallClock
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import FrontServer
from tests.support.apiserver.real_server import free_ports
from tests.support.apiserver.storage import Document
from tests.support.live.live_cluster import NODES, PODS
from tests.support.processes import SECONDS

MASTER: dict[str, Any] = {"username": "admin", "uid": "admin", "groups": ["system:masters"]}
NOBODY: dict[str, Any] = {"username": "nobody", "uid": "uid-nobody"}
TOKENS = {"admin-token": MASTER, "nobody-token": NOBODY}
DOCUMENT: Mapping[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 16,
    "profiles": [],
    "algorithmSource": {"provider": "DefaultProvider"},
    "leaderElection": {"leaderElect": True, "lockObjectName": "kube-scheduler"},
}
METRICS = b"# TYPE answer gauge\nanswer 42\n"


@attrs.frozen
class Got:
    """An answer as a client sees it."""

    code: int
    content_type: str
    body: str
    headers: Mapping[str, str]


@attrs.define
class Health:
    """What the health checks of a scheduler find."""

    overdue: bool = False
    stopping: bool = False
    read: bool = True


class ServedScheduler:
    """Servers that run, and what they were made of."""

    def __init__(self, settings: ServingSettings, health: Health, log: list[str]) -> None:
        self.settings, self.health, self.log = settings, health, log
        self.resets = 0

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        token: str = "",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
        context: ssl.SSLContext | None = None,
        port: int | None = None,
    ) -> Got:
        """A request to the secure port; to another one without TLS. context: by default it trusts anybody."""
        sent = {**(headers or {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        connection: http.client.HTTPConnection
        if port is None:
            used = trusting() if context is None else context
            connection = http.client.HTTPSConnection("127.0.0.1", self.settings.port, context=used, timeout=SECONDS)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode()
            found = {key.lower(): value for key, value in answer.getheaders()}
            return Got(answer.status, found.get("content-type", ""), text, found)
        finally:
            connection.close()

    def reset(self) -> None:
        """``DELETE /metrics``."""
        self.resets += 1


def trusting(certificate: trustme.LeafCert | None = None) -> ssl.SSLContext:
    """A client that takes any server, with a certificate of its own if one is given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        certificate.configure_cert(context)
    return context


def kubeconfig(folder: Path, server: str, token: str = "t") -> str:
    """A kubeconfig that leads to a server, whoever that is."""
    file = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"token": token}}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": [user]}
    file.write_text(json.dumps({**config, "current-context": "c"}))
    return str(file)


def asking(config: str, **access: Any) -> ServingSettings:
    """Settings by which the API server of a kubeconfig is asked who somebody is, and what they may."""
    return ServingSettings(
        "127.0.0.1",
        free_ports(1)[0],
        access=AccessSettings(config, config, **{"always_allowed": ("/healthz", "/readyz", "/livez"), **access}),
        flags={"secure-port": "10259", "kubeconfig": ""},
        configuration=DOCUMENT,
    )


@contextmanager
def serving(
    io: IoThread, release: str, settings: ServingSettings, *, elects: bool = True, access: AccessObserver | None = None
) -> Iterator[ServedScheduler]:
    """The servers of a release while the block lasts. access: is told of who asks."""
    log, clients, verbosity = list[str](), list[ApiClient](), Verbosity()

    def put(line: LogLine) -> None:
        if line.level <= verbosity.level:
            log.append(f"{line.severity.value} {line.text}")

    served = ServedScheduler(settings, Health(), log)
    live = live_release(release)
    process = ServedProcess(
        live.name,
        live.version,
        live.informers,
        lease="kube-scheduler" if elects else None,
        is_overdue=lambda _: served.health.overdue,
        is_stopping=lambda: served.health.stopping,
        has_read=lambda: served.health.read,
        log=put,
        outages=ServerOutages(WallClock(), lambda text: put(error_line(text)), log.append),
        keep=clients.append,
        clock=WallClock(),
        rng=random.Random(1),
        metrics=MetricsSources(lambda: METRICS, lambda: b"", lambda: b"slis 1\n", served.reset),
        verbosity=verbosity,
        access=AccessObserver() if access is None else access,
    )
    servers = SchedulerServers(settings, live.serving, process)
    try:
        io.wait(servers.prepare())
        io.wait(servers.start())
        yield served
    finally:
        io.wait(servers.stop())
        for client in clients:
            io.wait(client.close())


def two_contexts(folder: Path, url: str) -> str:
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
