"""The queue of each release on a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.framework.plugins.plugin_record import events_by_plugin
from kubescheduler.queue.fifo import FIFO
from kubescheduler.queue.queueing_hints import QueueingHints
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from kubescheduler.releases import v1_4, v1_16, v1_20, v1_36
from tests.support.build import cache_of, make_node


class Rejection(msgspec.Struct, frozen=True):
    """A failed attempt that plugins rejected; without any an error ended it."""

    rejectors: frozenset[str] = frozenset()
    """The plugins."""
    pending: frozenset[str] = frozenset()
    """Those of them whose event has the pod tried at once."""


FIT = Rejection(frozenset({"NodeResourcesFit"}))
ERROR = Rejection()

MAKERS: dict[str, Callable[..., SchedulingQueue]] = {
    "1.4": partial(FIFO, policy=v1_4.queue()),
    "1.16": partial(SchedulingQueue, policy=v1_16.queue()),
    "1.20": partial(SchedulingQueue, policy=v1_20.queue()),
    "1.36": partial(SchedulingQueue, policy=v1_36.queue(), hints=QueueingHints(events_by_plugin(v1_36.PLUGINS))),
}


class Setting:
    """A queue, its cluster, and a clock that is turned by hand."""

    def __init__(self, release: str, **options: Any) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n1"), make_node("n2")])
        self.queue = MAKERS[release](lambda: self.now, self.cache, **options)

    def pop(self) -> Pod | None:
        """The next pod."""
        entry = self.queue.pop()
        return None if entry is None else entry.pod

    def fail(self, pod: Pod, why: Rejection = FIT) -> None:
        """One attempt that fails at once."""
        entry = self.queue.pop()
        assert entry is not None
        assert entry.pod == pod
        self.queue.put_back(entry, pod, why)

    def add_and_fail(self, *pods: Pod, why: Rejection = FIT) -> None:
        """Each pod in turn."""
        for pod in pods:
            self.queue.add(pod)
            self.fail(pod, why)

    def flush_until(self, until: float) -> None:
        """To a later moment, with every tick on the way."""
        while (tick := self.queue.next_flush()) is not None and tick <= until:
            self.now = tick
            self.queue.flush_due()
        self.now = until

    def try_in_vain(self, until: float) -> list[tuple[float, str]]:
        """Every pod that becomes active until then fails at once; (when, which) that was."""
        tried = []
        while True:
            while (entry := self.queue.pop()) is not None:
                tried.append((self.now, entry.pod.metadata.name))
                self.queue.put_back(entry, entry.pod, ERROR)
            tick = self.queue.next_flush()
            if tick is None or tick > until:
                self.now = max(self.now, until)
                return tried
            self.now = tick
            self.queue.flush_due()

    def popped(self) -> list[str]:
        """The names of all active pods, in order."""
        names = []
        while (entry := self.queue.pop()) is not None:
            names.append(entry.pod.metadata.name)
        return names
