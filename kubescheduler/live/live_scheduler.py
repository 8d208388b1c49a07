"""LiveScheduler: what informers report goes into the loop, which runs while there is anything to do."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs
import msgspec

from algorithmprovider.custom_code import exception_text
from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import Pod
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.bindings import Binding, LoopBindings
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.schedule_one import LoopParts, PodAttempt, SchedulerLoop, never
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.framework.contract.cycle_state import CycleState, Timekeeper
from kubescheduler.framework.contract.frame import CyclePlugins
from kubescheduler.framework.contract.handle import Answerable, Client, EventRecorder, HeldPod, Services
from kubescheduler.framework.contract.runs import Observer
from kubescheduler.live.stored_objects import Inbox, ObjectChange, StoredObjects
from kubescheduler.releases.lookup import release_named

Report = Callable[[str, BaseException], None]
"""Is called with what was under way, and what was raised."""


def contained(parts: LoopParts, report: Report) -> LoopParts:
    """The same parts of a loop, in which no exception of a plugin or of the algorithm gets out of an attempt."""

    def decide(plugins: CyclePlugins, pod: Pod, state: CycleState) -> Decision:
        inner = plugins.plugins if isinstance(plugins, ContainedPlugins) else plugins
        try:
            return parts.decide(inner, pod, state)
        except Exception as error:  # whatever a stranger's code raises
            report(f"scheduling pod {pod.key}", error)
            return given_up(parts, pod, raised_text(error))

    def plugins_of(pod: Pod) -> ContainedPlugins | None:
        plugins = parts.plugins_of(pod)
        return None if plugins is None else ContainedPlugins(plugins, report)

    return msgspec.structs.replace(parts, plugins_of=plugins_of, decide=decide)


def given_up(parts: LoopParts, pod: Pod, text: str) -> Decision:
    """The decision on a pod whose attempt was given up by an error."""
    release, columns = parts.services.release, parts.services.cache.columns
    names, listed = columns.published
    decision = Decision(pod, release, names, listed, columns.node_count, error=text)
    if release_named(release).framework is None:
        return decision
    return attrs.evolve(decision, coded=True, scale=FRAMEWORK_SCALE)


def raised_text(error: BaseException) -> str:
    """An exception as the condition of a pod shows it."""
    return str(error) if isinstance(error, KubeSchedulerError) else exception_text(error)


def _contained(name: str) -> Any:
    """A method that calls the plugins' own of this name; what that raises becomes an error status."""

    def run(self: ContainedPlugins, *arguments: Any) -> Status | None:
        try:
            status: Status | None = getattr(self.plugins, name)(*arguments)
        except Exception as error:  # whatever a stranger's code raises
            (pod,) = (one for one in arguments if isinstance(one, Pod))
            self.report(f"running {name.removeprefix('run_')} plugins for pod {pod.key}", error)
            return Status.failure(raised_text(error))
        return status

    return run


class ContainedPlugins(CyclePlugins, msgspec.Struct, frozen=True, eq=False):
    """The plugins of one profile; what they raise becomes an error status. See CyclePlugins."""

    plugins: CyclePlugins
    report: Report

    @property
    def profile_name(self) -> str:
        return self.plugins.profile_name

    @property
    def rejected(self) -> frozenset[Code]:
        return self.plugins.rejected

    @property
    def post_filters(self) -> tuple[Any, ...]:
        return self.plugins.post_filters

    def held(self, pod: Pod) -> HeldPod | None:
        return self.plugins.held(pod)

    def binds_at_once(self, pod: Pod) -> bool:
        try:
            return self.plugins.binds_at_once(pod)
        except Exception as error:  # whatever a stranger's code raises
            self.report(f"binding pod {pod.key}", error)
            return False

    run_reserve = _contained("run_reserve")
    run_unreserve = _contained("run_unreserve")
    run_permit = _contained("run_permit")
    wait_on_permit = _contained("wait_on_permit")
    run_pre_bind_pre_flight = _contained("run_pre_bind_pre_flight")
    run_pre_bind = _contained("run_pre_bind")
    run_bind = _contained("run_bind")
    run_post_bind = _contained("run_post_bind")


UNSCHEDULABLE_TICK = 30
"""Seconds between looks at the unschedulable pods; those in back-off and assumed ones are looked at every second."""
ATTEMPTS = 16
"""Attempts after which what has arrived is taken in, if anything has."""
CHANGES = 2000
"""Changes after which pods are tried again, while more are there."""
ENDING = "context canceled"
"""Why work under way is given up when the process ends."""


def nothing_else() -> None:
    """Nobody wants anything."""


class Dependencies(msgspec.Struct, frozen=True, eq=False):
    """What the loop writes to and runs by."""

    client: Client
    report_status: Callable[[Pod, Mapping[str, Any]], None]
    """Writes the status of a pod that was not bound, without anybody waiting for it."""
    events: EventRecorder
    observer: Observer
    time: Timekeeper
    in_background: Callable[[Callable[[], None]], None]
    """Where preemptions run (1.36)."""
    raised: Report
    """Is called with what a plugin raised; its pod is tried again."""
    handled: Callable[[Any, Any, float], None] | None = None
    """Told how many seconds it took to take in an object (old, new); None: nobody wants to know."""
    times_plugins: Callable[[], bool] = never
    """Whether the plugins of an attempt are timed one by one."""
    send_binding: Callable[[Pod, str], Answerable] | None = None
    """Sends a binding without waiting for its answer; None: the client waits."""


def unreported(pod: Pod, status: Mapping[str, Any]) -> None:
    """A pod that is not bound because the process ends: its status is the next leader's to write."""


class LiveScheduler:
    """Decides on the pods of a cluster as they come. ``run`` is for one thread; the rest for any."""

    def __init__(
        self,
        scheduler: PodScheduler,
        inbox: Inbox,
        pods: StoredObjects,
        around: Dependencies,
        *,
        preempt: bool = True,
        lies_for: float | None = None,
    ) -> None:
        """scheduler: over an empty cache, which nobody else changes. pods: what the informer of pods knows. lies_for:
        seconds after which an unschedulable pod is tried again whatever happens, instead of the release's (1.36).
        """
        self._inbox = inbox
        self._pods = pods
        self._around = around
        self._foreign = scheduler.foreign
        self.parts: LoopParts = contained(loop_parts(scheduler, self._services, preempt=preempt), around.raised)
        """What the loop is made of."""
        if lies_for is not None:
            self.parts.queue.lies_for = lies_for
        self._bindings = LoopBindings(inbox.wake)
        self.loop = SchedulerLoop(
            self.parts, latest=self._latest, bindings=self._bindings, times_plugins=around.times_plugins
        )
        self.each_second: Callable[[], None] = nothing_else
        """What else is done once a second, by the thread that runs."""
        self.handlers = EventHandlers(self.loop.cycles)
        self._second = math.floor(around.time.now())
        self._stopped = threading.Event()
        self._leads = threading.Event()
        self._rests = False
        self._catching_up: deque[Callable[[], None]] = deque()
        self._asked: deque[Callable[[], None]] = deque()

    def _services(self, services: Services) -> Services:
        around = self._around
        return msgspec.structs.replace(
            services,
            client=around.client,
            report_status=around.report_status,
            send_binding=around.send_binding,
            events=around.events,
            observer=around.observer,
            time=around.time,
            in_background=around.in_background,
        )

    def _latest(self, pod: Pod) -> Pod | None:
        """The pod as the informer knows it; None when it is gone."""
        stored = self._pods.get(pod.metadata.namespace, pod.metadata.name)
        return stored.obj if stored is not None and isinstance(stored.obj, Pod) else None

    # --- running ---------------------------------------------------------------------------------

    def run(self, listen: Callable[[PodAttempt], None] | None = None) -> None:
        """Keeps up with the cluster, and tries pods while it leads, until ``stop``.

        listen: told of every attempt. Bindings under way are left to ``close``.
        """
        while not self._stopped.is_set():
            self._keep_up()
            tried = self._leads.is_set() and self._try_some(listen)
            if not self._bindings.run() and not tried and not len(self._inbox):
                now = self._around.time.now()
                self._rests = True
                self._inbox.wait(math.floor(now) + 1 - now)
                self._rests = False

    def close(self) -> None:
        """Ends waits for volumes and for Permit plugins, and waits for the bindings that are under way."""
        for waiting in list(self.parts.services.in_pre_bind.values()):
            waiting.cancel(ENDING)
        self.parts.services.report_status = unreported
        self.loop.close()

    @property
    def is_leading(self) -> bool:
        """Whether pods are tried."""
        return self._leads.is_set() and not self._stopped.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be done, and no binding is under way."""
        return self._rests and not len(self._inbox) and not len(self.loop.under_way)

    def lead(self) -> None:
        """From now on pods are tried."""
        self._leads.set()
        self._inbox.wake()

    def catch_up(self, then: Callable[[], None]) -> None:
        """Has something done as soon as everything that has arrived until now is taken in."""
        self._catching_up.append(then)
        self._inbox.wake()

    def stop(self) -> None:
        """Lets ``run`` end once its attempt is over."""
        self._stopped.set()
        self._inbox.wake()

    def ask(self, work: Callable[[], None]) -> None:
        """Has some work done between two attempts, with nobody else looking at cache and queue."""
        self._asked.append(work)
        self._inbox.wake()

    def _keep_up(self) -> None:
        while self._asked:
            with self.parts.services.lock:
                self._asked.popleft()()
        asked = len(self._catching_up)
        self.take_in(self._inbox.take(CHANGES))
        self.tick()
        if not len(self._inbox):
            for _ in range(asked):
                self._catching_up.popleft()()

    def _try_some(self, listen: Callable[[PodAttempt], None] | None) -> bool:
        """Tries pods until something has arrived; whether there was any to try."""
        for count in range(ATTEMPTS):
            attempt = self.loop.run_once()
            if attempt is None:
                return count > 0
            if attempt.binding is not None:
                attempt.binding.add_done_callback(partial(self._bound, attempt.pod))
            if listen is not None:
                listen(attempt)
        return True

    def _bound(self, pod: Pod, binding: Binding) -> None:
        """A binding cycle that raised is reported: nobody else looks at it."""
        error = binding.exception()
        if error is not None:
            self._around.raised(f"binding pod {pod.key}", error)

    # --- what arrives ----------------------------------------------------------------------------

    def take_in(self, changes: list[ObjectChange]) -> None:
        """Brings the cache and the queue up to date."""
        if not changes:
            return
        handled = self._around.handled
        with self.parts.services.lock:
            for change in changes:
                started = time.perf_counter()
                self._take(change)
                if handled is not None:
                    handled(change.old, change.new, time.perf_counter() - started)

    def _take(self, change: ObjectChange) -> None:
        """Reports what a plugin that is asked about the change raises, and goes on with the next change."""
        try:
            self._handle(change)
        except Exception as error:  # whatever a stranger's code raises
            about = change.old if change.new is None else change.new
            self._around.raised(f"handling a change of {change.kind} {about.metadata.name}", error)

    def _handle(self, change: ObjectChange) -> None:
        """A pod of the same name that is another one is an end and a beginning."""
        old, new = change.old, change.new
        if change.kind != "Pod":
            self.handlers.changed(old, new)
        elif old is not None and new is not None and old.metadata.uid != new.metadata.uid:
            self.handlers.changed(self._seen(old), None)
            self.handlers.changed(None, self._seen(new))
        else:
            self.handlers.changed(self._seen(old), self._seen(new))

    def _seen(self, pod: Pod | None) -> Pod | None:
        """A pod as far as it concerns this scheduler: one that another is to place is not there until it is placed."""
        return None if pod is None or (not pod.node_name and self._foreign(pod)) else pod

    def tick(self) -> None:
        """What is due by the clock: looks at the pods that wait, and at assumed ones that nobody confirmed."""
        second = math.floor(self._around.time.now())
        if second == self._second:
            return
        before, self._second = self._second, second
        queue = self.parts.queue
        with self.parts.services.lock:
            queue.flush_backoff()
            if second // UNSCHEDULABLE_TICK != before // UNSCHEDULABLE_TICK:
                queue.flush_unschedulable()
            for pod in self.loop.sweep():
                self._around.observer.trouble(f"Pod {pod.key} expired")
            self.each_second()
