"""SchedulerLoop: pods are taken off a queue, decided on one after the other, and bound beside that."""

from __future__ import annotations

from collections.abc import Callable, Sized
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.objects import Pod
from kubecel.api_names import go_quote
from kubescheduler.core.decision import Decision
from kubescheduler.cycle.bindings import ThreadedBindings
from kubescheduler.cycle.cycles import Cycles, Placed
from kubescheduler.framework.contract.cycle_state import CycleState

if TYPE_CHECKING:
    from kubescheduler.core.bulk.run_ahead import RunAhead
    from kubescheduler.cycle.bindings import Binding, Bindings, Outcome
    from kubescheduler.cycle.cycle_plugins import CyclePlugins, PluginsByPod
    from kubescheduler.cycle.cycle_rules import ReleaseCycles
    from kubescheduler.cycle.cycles import Latest
    from kubescheduler.cycle.failures import FailureRecord
    from kubescheduler.framework.running.framework_services import Services
    from kubescheduler.queue.scheduling_queue import SchedulingQueue

Decide = Callable[[Any, Pod, CycleState], Decision]
"""Where a pod goes by one profile; the state is the one that Reserve, Permit and later plugins get."""


class Attempt(msgspec.Struct, frozen=True, eq=False):
    """What became of one popped pod."""

    pod: Pod
    decision: Decision | None = None
    """None when the pod was passed over."""
    failure: FailureRecord | None = None
    """Of the scheduling cycle."""
    binding: Binding | None = None
    """The binding cycle under way."""
    passed_over: str = ""
    """Why there was no attempt."""
    waits: bool = False
    """Whether Permit plugins hold the pod."""

    def outcome(self) -> Outcome:
        """Waits for the binding; None: the pod is bound, or was passed over. Raises what a plugin raised."""
        return self.failure if self.binding is None else self.binding.result()

    @property
    def node_name(self) -> str:
        """The node that the pod goes to, empty if it goes nowhere."""
        return "" if self.decision is None or self.failure is not None else self.decision.host or ""


def no_run_ahead(_: Pod, __: int) -> None:
    """Pods are decided one by one."""


def never_turns(_: Pod) -> None:
    """Only what happens in the cluster changes what is said of a pod."""


class LoopParts(msgspec.Struct, frozen=True, eq=False):
    """What a scheduler brings to its loop."""

    plugins: PluginsByPod
    """What the cycles run at their points, by pod."""
    services: Services
    queue: SchedulingQueue
    rules: ReleaseCycles
    """The cycles of the release."""
    decide: Decide
    run_ahead: Callable[[Pod, int], RunAhead | None] = no_run_ahead
    """A run of pods like one, for so many at most; see ``GenericScheduler.run_ahead``."""
    turns: Callable[[Pod], float | None] = never_turns
    """The moment after which time alone will have changed what is said of a pod, in seconds since the epoch."""


def never() -> bool:
    """The loop is not asked to stop."""
    return False


def as_it_was(pod: Pod) -> Pod:
    """The pod as the queue has it, where there is no API to ask."""
    return pod


def nobody(_: Pod) -> None:
    """Nobody listens to what is bound."""


class SchedulerLoop:
    """Schedules the pods of a queue. Upstream: Scheduler.

    One thread calls ``run_once`` or ``run``; ``bindings`` runs the binding cycles, and ``drain`` waits for them.

    ::

        with SchedulerLoop(parts) as loop:
            failures = [attempt.outcome() for attempt in loop.settle()]
    """

    def __init__(
        self,
        parts: LoopParts,
        *,
        latest: Latest = as_it_was,
        bound: Callable[[Pod], None] = nobody,
        bindings: Bindings | None = None,
        times_plugins: Callable[[], bool] = never,
    ) -> None:
        """latest: the newest version of a pod that is known. bound: called with every pod that was bound, on its node.
        bindings: threads unless said otherwise. times_plugins: whether the plugins of an attempt are timed one by one
        (upstream: one attempt in ten).
        """
        self.cycles = Cycles.of(parts.services, parts.queue, parts.rules, latest, bound)
        self._plugins = parts.plugins
        self._services = parts.services
        self._queue = parts.queue
        self._decide = parts.decide
        self._times_plugins = times_plugins
        self._runs = ThreadedBindings() if bindings is None else bindings
        self._bindings: set[Binding] = set()
        self._popped = 0
        parts.services.activate = parts.queue.activate

    def run(self) -> list[Attempt]:
        """Tries pods until none is left to try now; bindings may still be under way then."""
        return list(iter(self.run_once, None))

    def run_once(self) -> Attempt | None:
        """Tries the next pod; None: there is none now."""
        started = self._services.time.now()
        with self._services.lock:
            entry = self._queue.pop()
            if entry is None:
                return None
            self._popped += 1
            attempt = self._tried(entry, started)
        if attempt.binding is not None:
            self._bindings.add(attempt.binding)
            attempt.binding.add_done_callback(self._finished)
        return attempt

    def drain(self) -> None:
        """Waits for all bindings that are under way. Raises what a plugin raised."""
        for binding in list(self._bindings):
            self._bindings.discard(binding)
            binding.result()

    @property
    def under_way(self) -> Sized:
        """The bindings that have not ended."""
        return self._bindings

    def settle(self) -> list[Attempt]:
        """Tries pods and waits for their bindings, until no pod is left to try."""
        attempts: list[Attempt] = []
        while tried := self.run():
            attempts += tried
            self.drain()
        return attempts

    def sweep(self) -> list[Pod]:
        """Drops assumed pods that nobody confirmed in time, and returns them; called every second or so."""
        with self._services.lock:
            return self.cycles.assumed.sweep()

    def close(self) -> None:
        """Rejects the pods that still wait, and waits for the bindings that are under way."""
        for held in self._services.waiting:
            self._services.waiting.reject(held.pod.metadata.uid)
        self._runs.close()

    def __enter__(self) -> SchedulerLoop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _finished(self, binding: Binding) -> None:
        """A binding that raised is kept for ``drain`` to raise."""
        if binding.exception() is None:
            self._bindings.discard(binding)

    def _tried(self, entry: Any, started: float) -> Attempt:
        pod: Pod = entry.pod
        plugins = self._plugins.of(pod)
        if plugins is None:
            text = f"profile not found for scheduler name {go_quote(pod.spec.scheduler_name)}"
            self._services.observer.trouble(text)
            return self._dropped(pod, text)
        text = self._passes_over(pod)
        if text:
            return self._dropped(pod, text)
        return self._attempt(plugins, entry, started)

    def _attempt(self, plugins: CyclePlugins, entry: Any, started: float) -> Attempt:
        pod: Pod = entry.pod
        state = CycleState()
        state.timed = self._times_plugins()
        state.number = self._popped
        if self.cycles.rules.activate_key is not None:
            state.write(self.cycles.rules.activate_key, {})
        decision = self._decide(plugins, pod, state)
        services = self._services
        if services.observer.measures:
            services.observer.decided(decision, plugins.profile_name, services.time.now() - started)
        came_to = self.cycles.schedule(plugins, state, entry, decision, started)
        if isinstance(came_to, Placed):
            binding = self._runs.start(self.cycles.bind(came_to), in_thread=not came_to.sends_ahead)
            return Attempt(pod, decision, binding=binding, waits=came_to.waits)
        return Attempt(pod, came_to.decision or decision, came_to)

    def _dropped(self, pod: Pod, text: str) -> Attempt:
        self._queue.done(pod)
        return Attempt(pod, passed_over=text)

    def _passes_over(self, pod: Pod) -> str:
        """Why a pod is not tried, empty when it is."""
        cache, rules = self._services.cache, self.cycles.rules
        if pod.metadata.deletion_timestamp is not None and not rules.tries_deleted:
            text = f"skip schedule deleting pod: {pod.key}"
            self._services.events.event(pod, "Warning", "FailedScheduling", "Scheduling", text)
            return text
        assumed = cache.placed(pod.metadata.uid) if cache.is_assumed(pod) else None
        if assumed is not None and rules.passes_over(pod, assumed):
            return f"pod {pod.key} is assumed already"
        return ""
