"""Between choosing a node and the pod that runs there: pods that are assumed on it, believed for a while, and how
binding cycles are driven: in threads, one after the other on a virtual clock, or between a loop's attempts."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError
from clusterstate.objects import Pod
from kubescheduler.cycle.failures import FailureRecord
from kubescheduler.framework.contract.handle import Answerable

EXPIRY_SECONDS = 30.0


class AssumedPods:
    """The assumed pods of a cache and when they expire. Upstream: 1.16 schedulerCache.

    A pod expires ``seconds`` after its binding finished, never while it runs; ``from_assume`` counts from the
    assumption, as 1.4 does. Nothing here waits: a caller sweeps every second.
    """

    def __init__(
        self,
        cache: ClusterCache,
        clock: Callable[[], float],
        seconds: float = EXPIRY_SECONDS,
        *,
        from_assume: bool = False,
    ) -> None:
        self._cache = cache
        self._clock = clock
        self._seconds = seconds
        self._from_assume = from_assume
        self._deadlines: dict[str, tuple[Pod, float | None]] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def assume(self, pod: Pod, node_name: str) -> Pod:
        """Places a pod ahead of its binding; the pod as it now runs. Raises ClusterStateError as the cache does."""
        placed = self._cache.assume_pod(pod, node_name)
        deadline = self._clock() + self._seconds if self._from_assume else None
        self._deadlines[_key(placed)] = (placed, deadline)
        return placed

    def finish_binding(self, pod: Pod) -> None:
        """The binding was accepted: confirmation is awaited from now on. A pod that is not assumed is passed over."""
        key = _key(pod)
        deadline = self._deadlines.get(key)
        if deadline is not None and deadline[1] is None:
            self._deadlines[key] = (deadline[0], self._clock() + self._seconds)

    def forget(self, pod: Pod) -> None:
        """The binding failed. Raises ClusterStateError as the cache does."""
        self._cache.forget_pod(pod)
        self._deadlines.pop(_key(pod), None)

    def confirm(self, pod: Pod) -> None:
        """The pod was seen on its node, assumed before or not."""
        self._cache.add_pod(pod)
        self._deadlines.pop(_key(pod), None)

    def gone(self, pod: Pod, *, in_pre_bind: bool) -> Pod | None:
        """The pod was deleted before it was seen on its node: taken out, as it was there, unless it is being bound.

        in_pre_bind: whether its binding has not begun.
        """
        placed, deadline = self._deadlines.get(_key(pod), (None, None))
        if placed is None or (deadline is None and not in_pre_bind) or self._from_assume:
            return None
        self.forget(placed)
        return placed

    def sweep(self) -> list[Pod]:
        """Takes expired pods out of the cache, and returns them."""
        now = self._clock()
        expired = [pod for pod, deadline in self._deadlines.values() if deadline is not None and now > deadline]
        for pod in expired:
            self.forget(pod)
        return expired


def _key(pod: Pod) -> str:
    return pod.metadata.uid or pod.key


Outcome = FailureRecord | None
"""Why a pod was not bound; None: it is."""

BindingCycle = Generator[Answerable, None, Outcome]
"""A binding cycle: it yields what it waits for, is to be resumed once that is settled, and returns what it came to."""

BINDINGS = 256
"""Binding cycles at the same time; a pod that waits for Permit plugins takes one up."""


class ThreadedBindings:
    """Every cycle in a thread, which waits where the cycle does."""

    def __init__(self, most: int = BINDINGS) -> None:
        self._pool = ThreadPoolExecutor(most, "binding")

    def start(self, cycle: BindingCycle, *, in_thread: bool = True) -> Binding:  # noqa: ARG002
        """Runs a cycle in a thread of the pool."""
        return self._pool.submit(_to_the_end, cycle)

    def close(self) -> None:
        """Waits for the cycles under way."""
        self._pool.shutdown(wait=True)


def _to_the_end(cycle: BindingCycle) -> Outcome:
    while True:
        try:
            held = next(cycle)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        held.wait()


class InOrderBinding:
    """A cycle that is run step by step, by one thread."""

    __slots__ = ("_cycle", "_finished", "_outcome", "_ready", "_then")

    def __init__(self, cycle: BindingCycle, ready: deque[InOrderBinding]) -> None:
        self._cycle = cycle
        self._ready = ready
        self._finished = False
        self._outcome: Outcome = None
        self._then: list[Callable[[Any], object]] = []

    def done(self) -> bool:
        """Whether the cycle has ended."""
        return self._finished

    def result(self) -> Outcome:
        """Raises ClusterStateError while the cycle is under way."""
        if not self._finished:
            raise ClusterStateError("this binding is under way; run the others until it is done")
        return self._outcome

    def exception(self) -> None:
        """What a plugin raises comes out of ``step``."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Has ``fn`` called with this binding when the cycle ends."""
        self._then.append(fn)

    def step(self) -> None:
        """Runs the cycle until its pod is held, or to its end."""
        try:
            held = next(self._cycle)
        except StopIteration as end:
            self._outcome, self._finished = end.value, True
            follow, self._then = (
                self._then,
                [],
            )  # an attempt has its binding, which would have it: nobody frees a circle
            for then in follow:
                then(self)
        else:
            held.when_settled(lambda: self._ready.append(self))


class InOrderBindings:
    """Cycles run when ``run`` is called, one after the other; one whose pod is held goes on once it is settled."""

    def __init__(self) -> None:
        self._ready: deque[InOrderBinding] = deque()

    def start(self, cycle: BindingCycle, *, in_thread: bool = True) -> Binding:  # noqa: ARG002
        """Notes a cycle; ``run`` runs it."""
        binding = InOrderBinding(cycle, self._ready)
        self._ready.append(binding)
        return binding

    def run(self) -> None:
        """Everything that can go on. Raises what a plugin raises."""
        while self._ready:
            self._ready.popleft().step()

    def close(self) -> None:
        """Runs what can go on."""
        self.run()


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


Binding = Future[Outcome] | InOrderBinding
"""A binding cycle under way."""

Bindings = ThreadedBindings | InOrderBindings | LoopBindings
"""Runs binding cycles beside the attempts: in threads, in order, or between a loop's attempts. ``start`` is told if a
cycle may wait without saying so (``in_thread``); ``close`` starts nothing more, and waits for what is under way."""
