"""The queues of 1.20 and 1.36 on a clock that is turned by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_36, events_by_plugin
from kubescheduler.queue.framework_queue import FrameworkQueue
from kubescheduler.queue.priority_queue_1_20 import Queue120
from kubescheduler.queue.priority_queue_1_36 import Queue136
from kubescheduler.queue.queueing_hints import Hopes
from tests.support.build import cache_of, make_node


class Rejection(msgspec.Struct, frozen=True):
    """A failed attempt that plugins rejected; without any an error ended it."""

    rejectors: frozenset[str] = frozenset()
    """The plugins."""
    pending: frozenset[str] = frozenset()
    """Those of them whose event has the pod tried at once."""


FIT = Rejection(frozenset({"NodeResourcesFit"}))
ERROR = Rejection()

MAKERS: dict[str, Callable[..., FrameworkQueue]] = {
    "1.20": Queue120,
    "1.36": partial(Queue136, hopes=Hopes(events_by_plugin(PLUGINS_1_36))),
}


class Setting:
    """A queue, its cluster, and a clock that is turned by hand."""

    def __init__(self, release: str, **options: Any) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n1"), make_node("n2")])
        self.queue = MAKERS[release](lambda: self.now, self.cache, **options)

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

    def popped(self) -> list[str]:
        """The names of all active pods, in order."""
        names = []
        while (entry := self.queue.pop()) is not None:
            names.append(entry.pod.metadata.name)
        return names
