"""The queue of 1.16 on a clock that is turned by hand."""

from __future__ import annotations

from clusterstate.objects import Pod
from kubescheduler.queue.priority_queue_1_16 import SchedulingQueue
from tests.support.build import cache_of, make_node


class Setting:
    """A queue, its cluster, and a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n1"), make_node("n2")])
        self.queue = SchedulingQueue(lambda: self.now, self.cache)

    def pass_time(self, seconds: float) -> None:
        """To a later moment, with every tick on the way."""
        until = self.now + seconds
        while (tick := self.queue.next_flush()) is not None and tick <= until:
            self.now = tick
            self.queue.flush_due()
        self.now = until

    def pop(self) -> Pod | None:
        """The next pod."""
        entry = self.queue.pop()
        return None if entry is None else entry.pod

    def fail(self, pod: Pod) -> None:
        """One attempt that fails at once."""
        popped = self.pop()
        assert popped == pod
        self.queue.add_unschedulable(pod, self.queue.cycle)

    def try_in_vain(self, until: float) -> int:
        """Every pod that becomes active fails at once; how often that was."""
        attempts = 0
        while True:
            while (pod := self.pop()) is not None:
                attempts += 1
                self.queue.add_unschedulable(pod, self.queue.cycle)
            tick = self.queue.next_flush()
            if tick is None or tick > until:
                self.now = max(self.now, until)
                return attempts
            self.now = tick
            self.queue.flush_due()

    def popped(self) -> list[str]:
        """The names of all active pods, in order."""
        names = []
        while (pod := self.pop()) is not None:
            names.append(pod.metadata.name)
        return names
