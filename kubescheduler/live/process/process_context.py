"""What every part of one scheduler process uses, and how far the process has come."""

from __future__ import annotations

import random
import threading
import traceback

import attrs
import msgspec

from clusterstate.errors import KubeSchedulerError
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.informers.inbox import Inbox
from kubescheduler.live.informers.server_outage import ServerOutages
from kubescheduler.live.logs.log_writer import LogWriter
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.process.server_clients import ServerClients
from kubescheduler.live.transport.io_thread import IoThread


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
