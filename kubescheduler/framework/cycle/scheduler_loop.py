"""SchedulerLoop: pods are taken off a queue, decided on one after the other, and bound side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import attrs

from clusterstate.api_names import go_quote
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.cycle.cycle_rules import FrameworkCycleRules
from kubescheduler.framework.cycle.cycles import Cycles, Latest, Placed
from kubescheduler.framework.cycle.failures import FailureRecord
from kubescheduler.framework.cycle.pod_queue import PodQueue
from kubescheduler.framework.profiles.profile_map import Profiles
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.framework.running.framework_services import Services

Decide = Callable[[Framework, Pod, CycleState], Decision]
"""Where a pod goes by one profile; the state is the one that Reserve, Permit and later plugins get."""

BINDINGS = 256
"""Binding cycles at the same time; a pod that waits for Permit plugins takes one up."""


@attrs.frozen(eq=False)
class Attempt:
    """What became of one popped pod.

    decision: None when the pod was passed over. failure: of the scheduling cycle. binding: the binding cycle under way.
    passed_over: why there was no attempt.
    """

    pod: Pod
    decision: Decision | None = None
    failure: FailureRecord | None = None
    binding: Future[FailureRecord | None] | None = None
    passed_over: str = ""

    def outcome(self) -> FailureRecord | None:
        """Waits for the binding; None: the pod is bound, or was passed over. Raises what a plugin raised."""
        return self.failure if self.binding is None else self.binding.result()

    @property
    def node_name(self) -> str:
        """The node that the pod goes to, empty if it goes nowhere."""
        return "" if self.decision is None or self.failure is not None else self.decision.host or ""


def never() -> bool:
    return False


def as_it_was(pod: Pod) -> Pod:
    return pod


class SchedulerLoop:
    """Schedules the pods of a queue. Upstream: Scheduler.

    One thread calls ``run_once`` or ``run``; bindings run in threads of their own, and ``drain`` waits for them.
    latest: the newest version of a pod that is known. times_plugins: whether the plugins of an attempt are timed one by
    one (upstream: one attempt in ten).

    ::

        with SchedulerLoop(profiles, services, queue, decide, rules) as loop:
            failures = [attempt.outcome() for attempt in loop.settle()]
    """

    def __init__(
        self,
        profiles: Profiles,
        services: Services,
        queue: PodQueue,
        decide: Decide,
        rules: FrameworkCycleRules,
        *,
        latest: Latest = as_it_was,
        times_plugins: Callable[[], bool] = never,
        bindings: int = BINDINGS,
    ) -> None:
        self.cycles = Cycles.of(services, queue, latest, rules)
        self._profiles = profiles
        self._services = services
        self._queue = queue
        self._decide = decide
        self._times_plugins = times_plugins
        self._pool = ThreadPoolExecutor(bindings, "binding")
        self._bindings: set[Future[FailureRecord | None]] = set()
        services.activate = queue.activate

    def run(self) -> list[Attempt]:
        """Tries pods until none is left to try now; bindings may still be under way then."""
        return list(iter(self.run_once, None))

    def run_once(self) -> Attempt | None:
        """Tries the next pod; None: there is none now."""
        started = self._services.time.now()
        entry = self._queue.pop()
        if entry is None:
            return None
        with self._services.lock:
            attempt = self._tried(entry, started)
            departed, self._services.departed = self._services.departed, []
        for pod in departed:
            self._queue.assigned_pod_deleted(pod, None)
        if attempt.binding is not None:
            self._bindings.add(attempt.binding)
            attempt.binding.add_done_callback(self._finished)
        return attempt

    def drain(self) -> None:
        """Waits for all bindings that are under way. Raises what a plugin raised."""
        for binding in list(self._bindings):
            self._bindings.discard(binding)
            binding.result()

    def settle(self) -> list[Attempt]:
        """Tries pods and waits for their bindings, until no pod is left to try."""
        attempts: list[Attempt] = []
        while tried := self.run():
            attempts += tried
            self.drain()
        return attempts

    def sweep(self) -> list[Pod]:
        """Drops assumed pods that nobody confirmed in time, and returns them; called every second or so (1.20)."""
        with self._services.lock:
            return self.cycles.assumed.sweep()

    def close(self) -> None:
        """Rejects the pods that still wait, and waits for the bindings that are under way."""
        self._pool.shutdown(wait=False)
        for held in self._services.waiting:
            self._services.waiting.reject(held.pod.metadata.uid)
        self._pool.shutdown(wait=True)

    def __enter__(self) -> SchedulerLoop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _finished(self, binding: Future[FailureRecord | None]) -> None:
        """A binding that raised is kept for ``drain`` to raise."""
        if binding.exception() is None:
            self._bindings.discard(binding)

    def _tried(self, entry: Any, started: float) -> Attempt:
        pod: Pod = entry.pod
        framework = self._profiles.of(pod)
        if framework is None:
            text = f"profile not found for scheduler name {go_quote(pod.spec.scheduler_name)}"
            self._services.observer.trouble(text)
            return Attempt(pod, passed_over=text)
        text = self._passes_over(pod)
        if text:
            return Attempt(pod, passed_over=text)
        state = CycleState()
        state.timed = self._times_plugins()
        if self.cycles.rules.activate_key is not None:
            state.write(self.cycles.rules.activate_key, {})
        decision = self._decide(framework, pod, state)
        came_to = self.cycles.schedule(framework, state, entry, decision, started)
        if isinstance(came_to, Placed):
            return Attempt(pod, decision, binding=self._pool.submit(functools.partial(self.cycles.bind, came_to)))
        return Attempt(pod, decision, came_to)

    def _passes_over(self, pod: Pod) -> str:
        """Why a pod is not tried, empty when it is."""
        cache = self._services.cache
        if pod.metadata.deletion_timestamp is not None:
            text = f"skip schedule deleting pod: {pod.key}"
            self._services.events.event(pod, "Warning", "FailedScheduling", "Scheduling", text)
            return text
        assumed = cache.placed(pod.metadata.uid) if cache.is_assumed(pod) else None
        if assumed is not None and self.cycles.rules.passes_over(pod, assumed):
            return f"pod {pod.key} is assumed already"
        return ""
