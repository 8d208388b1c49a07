"""The clients of one process: where its API server is, and a client for each purpose."""

from __future__ import annotations

from clusterstate.errors import ConfigError
from kubescheduler.live.contract.rest_observer import NoRestObserver, RestObserver
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.transport.api_client import CONNECTIONS, ApiClient, ClientOptions
from kubescheduler.live.transport.server_access import NO_CONFIGURATION, ServerAccess
from kubescheduler.live.transport.token_bucket import Limits


class ServerClients:
    """Makes the clients of a process, and knows them all; a client can be made once the server has been found."""

    def __init__(self, settings: LiveSettings, log: LogWriter, clock: WallClock) -> None:
        self._server = settings.server
        self._release = settings.release
        self._log = log
        self._clock = clock
        self.observer: RestObserver = NoRestObserver()
        """Who is told of the requests of clients that are made from now on."""
        self.all: list[ApiClient] = []
        """Every client, to be closed in the end."""

    async def find_server(self) -> ServerAccess:
        """Finds address and credentials. Raises ConfigError with upstream's text where nobody says where it is."""
        if not self._server.kubeconfig and not self._server.master:
            self._log.warning(self._release.process.no_server)
        try:
            self.access = await self._server.access()
        except ConfigError as error:
            if error.problems == (NO_CONFIGURATION,):
                raise ConfigError(self._release.process.no_configuration) from None
            raise
        return self.access

    def client(self, suffix: str, timeout: float | None = None, *, connections: int = CONNECTIONS) -> ApiClient:
        """One more. suffix: ends its user agent. timeout: seconds that a request lasts at most."""
        agent = f"kube-scheduler/{self._release.version} (linux/amd64) kubernetes/0000000{suffix}"
        options = ClientOptions(Limits(self._server.qps, self._server.burst), agent, timeout, connections)
        client = ApiClient(self.access, options, observer=self.observer, clock=self._clock)
        self.all.append(client)
        return client
