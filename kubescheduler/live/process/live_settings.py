"""What flags and files come to: everything that a process is started with."""

from __future__ import annotations

import os

import msgspec

from kubescheduler.engine.engine_contract import Engine
from kubescheduler.framework.contract.profile import ClientConnection, LeaderElection
from kubescheduler.live.metrics.process_metrics import MetricsSettings
from kubescheduler.live.metrics.workload_hints import Search
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.serving.serving_settings import ServingSettings
from kubescheduler.live.transport.server_access import ServerAccess


class ServerSettings(msgspec.Struct, frozen=True):
    """How the API server is reached."""

    kubeconfig: str = ""
    """A file's path; empty: as the service account of the pod we run in, unless ``master`` says where; for want of that
    too, where KUBERNETES_MASTER says."""
    context: str | None = None
    """Of the kubeconfig; None: its current one."""
    master: str = ""
    """Goes before the server of the kubeconfig."""
    qps: float = 50.0
    """Requests a second of each client in the long run."""
    burst: int = 100
    """Requests at once after a pause."""

    async def access(self) -> ServerAccess:
        """The server with our credentials. Raises ConfigError with upstream's text where nobody says where it is."""
        if self.kubeconfig:
            return await ServerAccess.from_kubeconfig(self.kubeconfig, self.context, self.master)
        if self.master:
            return ServerAccess(self.master)
        return await ServerAccess.unnamed(os.environ)


class LiveSettings(msgspec.Struct, frozen=True, eq=False):
    """A process that is ready to start."""

    release: LiveRelease
    engine: Engine
    """What decides."""
    server: ServerSettings
    election: LeaderElection
    preempts: bool = True
    """Whether pods may take the place of lower ones."""
    serving: ServingSettings | None = None
    """What is served; None: nothing."""
    delays_cache: bool = False
    """Whether the cluster is read only by a leader (1.36: delayCacheUntilActive)."""
    unschedulable_seconds: float | None = None
    """Seconds after which an unschedulable pod is tried again whatever happens; None: the release's own (1.36)."""
    metrics: MetricsSettings = msgspec.field(default_factory=MetricsSettings)
    """Which metrics are shown."""
    hints: Search | None = None
    """Searches for what would help pods that fit nowhere; None: nobody does."""

    @property
    def waits_for_leadership(self) -> bool:
        """Whether informers are started only by a leader."""
        return self.delays_cache and self.election.leader_elect


def server_settings(connection: ClientConnection, master: str, context: str | None = None) -> ServerSettings:
    """What a configuration says of the API server."""
    return ServerSettings(connection.kubeconfig, context, master, connection.qps, connection.burst)
