"""From a kubeconfig to a cluster's objects: one client with one limit on requests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kubescheduler.live.listing.cluster_lists import ClusterLists, Progress, list_cluster
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import KubeconfigAccess, ServerAccess
from kubescheduler.live.transport.token_bucket import Limits

USER_AGENT = "kubescheduler"
CONNECTING = 30.0
"""Seconds until a server that does not answer counts as unreachable; a page of a list is given as long."""


class ListedServer(msgspec.Struct, frozen=True):
    """Which cluster is read, and how gently."""

    kubeconfig: str = ""
    """A file's path; empty: as kubectl finds it, else as the service account of the pod we run in, else where
    KUBERNETES_MASTER says."""
    context: str | None = None
    """Of the kubeconfig; None: its current one."""
    limits: Limits = msgspec.field(default_factory=Limits)
    """Of all requests together."""

    async def access(self, environment: Mapping[str, str]) -> ServerAccess:
        """The server and the credentials for it. Raises ConfigError."""
        path = self.kubeconfig or _default_kubeconfig(environment)
        if not path and self.context is None:
            return await ServerAccess.unnamed(environment)
        if os.pathsep in path:
            several = KubeconfigAccess(path, self.context, "")
            await several.load()
            return several
        return await ServerAccess.from_kubeconfig(path or str(_home(environment)), self.context)


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"


def _default_kubeconfig(environment: Mapping[str, str]) -> str:
    """The files of KUBECONFIG that are there, or ~/.kube/config; empty: there is none. Upstream: kubectl's rules."""
    named = [path for path in environment.get("KUBECONFIG", "").split(os.pathsep) if path]
    if named:
        return os.pathsep.join([path for path in named if Path(path).exists()] or named[:1])
    return str(_home(environment)) if _home(environment).exists() else ""


def read_server(server: ListedServer, environment: Mapping[str, str], progress: Progress) -> tuple[str, ClusterLists]:
    """(the server's address, its cluster). progress: called on the I/O thread with (objects read, known of).

    Raises ConfigError when the kubeconfig cannot be used, ApiError when the server cannot be reached, or refuses.
    """
    with IoThread() as io:
        return io.wait(_read(server, environment, progress))


async def _read(server: ListedServer, environment: Mapping[str, str], progress: Progress) -> tuple[str, ClusterLists]:
    access = await server.access(environment)
    client = ApiClient(access, ClientOptions(server.limits, USER_AGENT, CONNECTING))
    try:
        return access.base_url, await list_cluster(client, progress)
    finally:
        await client.close()
