"""Binding cycles of a loop that goes on: short ones between its attempts, the rest in threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from kubescheduler.cycle.bindings import BINDINGS, InOrderBinding, ThreadedBindings

if TYPE_CHECKING:
    from kubescheduler.cycle.bindings import Binding, BindingCycle


class LoopBindings:
    """Cycles that say what they wait for run in the thread that calls ``run``, which is told when there is one.

    So a binding that is one request takes no thread, and no turn at the lock. Others get a thread each.
    """

    def __init__(self, wake: Callable[[], None], most: int = BINDINGS) -> None:
        """wake: called from any thread when ``run`` has something to do. most: threads."""
        self._threads = ThreadedBindings(most)
        self._ready = _WakingQueue(wake)
        self._open = 0

    def start(self, cycle: BindingCycle, *, in_thread: bool = True) -> Binding:
        """Runs a cycle in a thread, or up to where it waits when ``run`` is called."""
        if in_thread:
            return self._threads.start(cycle)
        binding = InOrderBinding(cycle, self._ready)
        self._open += 1
        deque.append(self._ready, binding)
        return binding

    def run(self) -> int:
        """Everything that can go on; how many cycles that were. Raises what a plugin raises."""
        count = len(self._ready)
        for _ in range(count):
            binding = self._ready.popleft()
            binding.step()
            self._open -= binding.done()
        return count

    def close(self) -> None:
        """Waits for all cycles under way."""
        while self._open:
            if not self.run():
                self._ready.wait()
        self._threads.close()


class _WakingQueue(deque[InOrderBinding]):
    """The cycles that can go on; says when one is put into it."""

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__()
        self._wake = wake
        self._arrived = threading.Event()

    def append(self, binding: InOrderBinding, /) -> None:
        """From any thread."""
        super().append(binding)
        self._arrived.set()
        self._wake()

    def wait(self) -> None:
        """Until something was put into it."""
        self._arrived.wait()
        self._arrived.clear()
