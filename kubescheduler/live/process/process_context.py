"""What every part of one scheduler process uses: its clients of the API server, and how far it has come."""

from __future__ import annotations

import random
import threading
import traceback

import attrs
import msgspec

from clusterstate.errors import ConfigError, KubeSchedulerError
from kubescheduler.live.informers.inbox import Inbox
from kubescheduler.live.informers.reflector import ServerOutages
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.observers import RestObserver
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.http_connections import HttpConnections
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import NO_CONFIGURATION, ServerAccess
from kubescheduler.live.wall_clock import WallClock


class ServerClients:
    """Makes the clients of a process, and knows them all; a client can be made once the server has been found."""

    def __init__(self, settings: LiveSettings, log: LogWriter, clock: WallClock) -> None:
        self._server = settings.server
        self._release = settings.release
        self._log = log
        self._clock = clock
        self.observer: RestObserver = RestObserver()
        """Who is told of the requests of clients that are made from now on."""
        self._connections: HttpConnections | None = None
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

    def client(self, suffix: str, timeout: float | None = None) -> ApiClient:
        """One more, which shares the connections of all. suffix: ends its user agent. timeout: seconds that a request
        lasts at most.
        """
        agent = f"kube-scheduler/{self._release.version} (linux/amd64) kubernetes/0000000{suffix}"
        options = ClientOptions(Limits(self._server.qps, self._server.burst), agent, timeout)
        if self._connections is None:
            self._connections = HttpConnections(self.access, self.observer, self._clock)
        client = ApiClient(
            self.access, options, connections=self._connections, observer=self.observer, clock=self._clock
        )
        self.all.append(client)
        return client


@attrs.define(eq=False)
class ProcessState:
    """How far a process has come, and why it ends; for any thread."""

    stopping: threading.Event = attrs.field(factory=threading.Event)
    """Whether it was asked to end, or ends by itself."""
    caught_up: threading.Event = attrs.field(factory=threading.Event)
    """Whether everything that was there at the start is in the cache; set at the end too, so that nobody waits."""
    leading: threading.Event = attrs.field(factory=threading.Event)
    """Whether the lock was acquired; set at the end too, so that nobody waits."""
    lost: threading.Event = attrs.field(factory=threading.Event)
    """Whether the lock was lost: another process may lead."""
    broken: bool = False
    """Whether something was raised that ends the process."""


class ProcessContext(msgspec.Struct, frozen=True, eq=False):
    """The settings of a process, and what its parts share."""

    settings: LiveSettings
    log: LogWriter
    clock: WallClock
    rng: random.Random
    io: IoThread
    clients: ServerClients
    outages: ServerOutages
    """What is logged when a server does not answer."""
    metrics: ProcessMetrics
    inbox: Inbox = msgspec.field(default_factory=Inbox)
    """What informers have read."""
    state: ProcessState = msgspec.field(default_factory=ProcessState)

    def raised(self, doing: str, error: BaseException) -> None:
        """Logs an unforeseen exception, with its traceback where its text is no message to a user."""
        known = isinstance(error, KubeSchedulerError)
        text = str(error) if known else "".join(traceback.format_exception(error))
        self.log.error(self.settings.release.process.raised(doing, text))
