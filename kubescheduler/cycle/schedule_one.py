"""The scheduler's loop, read from top to bottom: a pod is taken off the queue, decided on, assumed and bound.

``SchedulerLoop.run_once`` takes a pod and has it decided. ``Cycles.schedule`` goes on from the decision to the end of
Permit, ``Cycles.bind`` from there until the pod is bound, beside the next attempts. What fails is taken back and put
into the queue again (``Cycles._failed``). Clock, cluster and API are those of the services: a simulation and the live
process run the same code. Upstream: schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.objects import Pod
from kubecel.api_names import go_quote
from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.cycle.bindings import AssumedPods, Binding, BindingCycle, Bindings, Outcome, ThreadedBindings
from kubescheduler.cycle.cycle_rules import FailedPodFate, ReleaseCycles
from kubescheduler.cycle.failures import FailureCause, FailureRecord, Stage, nomination_patch, status_patch
from kubescheduler.framework.contract.cycle_state import Cancellation, CycleState

if TYPE_CHECKING:
    from kubescheduler.framework.contract.frame import CyclePlugins
    from kubescheduler.framework.contract.handle import Services
    from kubescheduler.queue.scheduling_queue import SchedulingQueue

Decide = Callable[[Any, Pod, CycleState], Decision]
"""Where a pod goes by one profile; the state is the one that Reserve, Permit and later plugins get."""

Latest = Callable[[Pod], Pod | None]
"""The newest version of a pod that is known, None when it is gone."""


def never_turns(_: Pod) -> None:
    """Only what happens in the cluster changes what is said of a pod."""


class LoopParts(msgspec.Struct, frozen=True, eq=False):
    """What a scheduler brings to its loop."""

    plugins_of: Callable[[Pod], CyclePlugins | None]
    """What the cycles run at their points for a pod; None: it is another scheduler's."""
    services: Services
    queue: SchedulingQueue
    rules: ReleaseCycles
    """The cycles of the release."""
    decide: Decide
    turns: Callable[[Pod], float | None] = never_turns
    """The moment after which time alone will have changed what is said of a pod, in seconds since the epoch."""


def never() -> bool:
    """Plugins are not timed one by one."""
    return False


def as_it_was(pod: Pod) -> Pod:
    """The pod as the queue has it, where there is no API to ask."""
    return pod


def nobody(_: Pod) -> None:
    """Nobody listens to what is bound."""


class PodAttempt(msgspec.Struct, frozen=True, eq=False):
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
        self._plugins_of = parts.plugins_of
        self._services = parts.services
        self._queue = parts.queue
        self._decide = parts.decide
        self._times_plugins = times_plugins
        self._runs = ThreadedBindings() if bindings is None else bindings
        self._bindings: set[Binding] = set()
        self._popped = 0
        parts.services.activate = parts.queue.activate

    def run(self) -> list[PodAttempt]:
        """Tries pods until none is left to try now; bindings may still be under way then."""
        return list(iter(self.run_once, None))

    def run_once(self) -> PodAttempt | None:
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

    def _tried(self, entry: Any, started: float) -> PodAttempt:
        pod: Pod = entry.pod
        plugins = self._plugins_of(pod)
        if plugins is None:
            text = f"profile not found for scheduler name {go_quote(pod.spec.scheduler_name)}"
            self._services.observer.trouble(text)
            return self._dropped(pod, text)
        text = self._passes_over(pod)
        if text:
            return self._dropped(pod, text)
        return self._attempt(plugins, entry, started)

    def _attempt(self, plugins: CyclePlugins, entry: Any, started: float) -> PodAttempt:
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
            return PodAttempt(pod, decision, binding=binding, waits=came_to.waits)
        return PodAttempt(pod, came_to.decision or decision, came_to)

    def _dropped(self, pod: Pod, text: str) -> PodAttempt:
        self._queue.done(pod)
        return PodAttempt(pod, passed_over=text)

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

    def drain(self) -> None:
        """Waits for all bindings that are under way. Raises what a plugin raised."""
        for binding in list(self._bindings):
            self._bindings.discard(binding)
            binding.result()

    @property
    def under_way(self) -> Sized:
        """The bindings that have not ended."""
        return self._bindings

    def settle(self) -> list[PodAttempt]:
        """Tries pods and waits for their bindings, until no pod is left to try."""
        attempts: list[PodAttempt] = []
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


class Placed(msgspec.Struct, frozen=True, eq=False):
    """A pod that is assumed on its node, on its way to be bound."""

    plugins: CyclePlugins
    state: CycleState
    entry: Any
    """What was popped."""
    decision: Decision
    pod: Pod
    """The pod with spec.nodeName."""
    waits: bool
    """Whether Permit plugins hold it."""
    started: float
    """When it was popped."""
    sends_ahead: bool = False
    """Whether its binding is one request to the API that is sent without waiting; nothing else can hold it up."""

    @property
    def tried(self) -> Pod:
        """The pod as it was popped."""
        pod: Pod = self.entry.pod
        return pod

    @property
    def as_announced(self) -> Pod:
        """The same, nominated to the node that was written into its status during the attempt, if one was."""
        announced = self.state.announced
        return msgspec.structs.replace(self.tried, nominated_node_name=announced) if announced else self.tried


class Cycles(msgspec.Struct, frozen=True, eq=False):
    """The scheduling and the binding cycle of one scheduler.

    ``schedule`` is called by one thread at a time with ``services.lock`` held, ``bind`` by any thread without it.
    """

    services: Services
    queue: SchedulingQueue
    assumed: AssumedPods
    rules: ReleaseCycles
    latest: Latest
    bound: Callable[[Pod], None]
    """Told of every pod that was bound, with the lock held: whoever did it, a plugin, an extender or the API."""
    _undecided: WeakKeyDictionary[Decision, FailureCause] = msgspec.field(default_factory=WeakKeyDictionary)
    """Decision that found no node → why the attempt failed: many pods that look the same may share it."""

    @classmethod
    def of(
        cls,
        services: Services,
        queue: SchedulingQueue,
        rules: ReleaseCycles,
        latest: Latest,
        bound: Callable[[Pod], None],
    ) -> Cycles:
        """The cycles of a release over its cluster, with no pod assumed yet."""
        assumed = AssumedPods(services.cache, services.time.now, rules.expires, from_assume=rules.expires_from_assume)
        return cls(services, queue, assumed, rules, latest, bound)

    # --- the scheduling cycle --------------------------------------------------------------

    def schedule(
        self, plugins: CyclePlugins, state: CycleState, entry: Any, decision: Decision, started: float
    ) -> Placed | FailureRecord:
        """From the decision to the end of Permit. started: when the pod was popped."""
        if decision.host is None:
            return self._nowhere(plugins, entry, decision, started)
        pod: Pod = entry.pod
        host = decision.host
        fault = self.rules.assume_fault(self.services.cache, pod)
        if fault is not None:
            record = self.rules.chosen(Stage.ASSUME, pod, host, Status.failure(fault))
            return self._failed(plugins, entry, record, started)
        placed = self.assumed.assume(pod, host)
        stage, status = Stage.RESERVE, plugins.run_reserve(state, placed, host)
        if status is None:
            stage, status = Stage.PERMIT, plugins.run_permit(state, placed, host)
        waits = status is not None and status.code is Code.Wait
        if status is not None and not waits:
            plugins.run_unreserve(state, placed, host)
            self._forget(placed)
            return self._failed(plugins, entry, self.rules.chosen(stage, pod, host, status), started)
        self._activate(state)
        ahead = not waits and self._sends_ahead(plugins, pod)
        return Placed(plugins, state, entry, decision, placed, waits, started, ahead)

    def _sends_ahead(self, plugins: CyclePlugins, pod: Pod) -> bool:
        if self.services.send_binding is None or not plugins.binds_at_once(pod):
            return False
        return not any(e.config.bind_verb and e.is_interested(pod) for e in self.services.extenders)

    def _nowhere(self, plugins: CyclePlugins, entry: Any, decision: Decision, started: float) -> FailureRecord:
        """No node was chosen: preemption is carried out, if there is any, and the pod goes back."""
        pod: Pod = entry.pod
        preemption = decision.preemption
        if preemption is not None:
            self.services.observer.preempted(
                len(preemption.candidates[preemption.chosen[0]].pods) if preemption.chosen else 0
            )
        decision = self.rules.make_room(plugins, pod, decision)
        cause = self._undecided.get(decision)
        if cause is None:
            cause = self.rules.undecided(decision, post_filters=bool(plugins.post_filters))
            self._undecided[decision] = cause
        record = FailureRecord(pod, cause, decision)
        self._failed(plugins, entry, record, started)
        self.rules.make_room_later(self.services, self.queue, pod, decision)
        return record

    # --- the binding cycle -----------------------------------------------------------------

    def bind(self, placed: Placed) -> BindingCycle:
        """From PreBindPreFlight to PostBind; returns why the pod was not bound, None when it is.

        Yields the pod while Permit plugins hold it, and a binding that was sent; to be resumed when it is settled.
        """
        plugins, state, pod, services = placed.plugins, placed.state, placed.pod, self.services
        stage = Stage.PRE_BIND
        status = self.rules.pre_flight(plugins, services, state, placed.tried, pod.node_name, placed.waits)
        if status is None:
            held = plugins.held(pod)
            if held is not None:
                yield held
            stage, status = Stage.PERMIT, plugins.wait_on_permit(pod)
        if status is None:
            with services.lock:
                self.queue.done(placed.tried)
            stage, status = Stage.PRE_BIND, self._pre_bind(plugins, state, pod)
        if status is None:
            if placed.sends_ahead and services.send_binding is not None:
                state.binding_sent = services.time.now()
                yield services.send_binding(pod, pod.node_name)
            stage, status = Stage.BIND, self._ask_to_bind(placed)
        if status is not None:
            return self._unbound(placed, stage, status)
        note = self.rules.assigned_note(pod, pod.node_name)
        services.events.event(pod, "Normal", "Scheduled", "Binding", note)
        if services.observer.measures:
            self._observe(plugins, "scheduled", placed.started)
            services.observer.scheduled(placed.entry, services.time.now())
        plugins.run_post_bind(state, pod, pod.node_name)
        self._activate(state)
        return None

    def _pre_bind(self, plugins: CyclePlugins, state: CycleState, pod: Pod) -> Status | None:
        """PreBind, which another pod that needs the room may cancel."""
        state.cancellation = Cancellation()
        uid = pod.metadata.uid
        self.services.in_pre_bind[uid] = state.cancellation
        try:
            status = plugins.run_pre_bind(state, pod, pod.node_name)
        finally:
            del self.services.in_pre_bind[uid]
        if status is None and not state.cancellation.close():
            return Status.failure(state.cancellation.cause or "")
        return status

    def _ask_to_bind(self, placed: Placed) -> Status | None:
        """Why the pod is not bound; None: it is."""
        pod, services, sent = placed.pod, self.services, placed.state.binding_sent
        measures = services.observer.measures
        asked = services.time.now() if measures and sent is None else sent
        status = ask_to_bind(self.rules, services, placed.plugins, placed.state, pod)
        if measures and asked is not None:
            services.observer.asked_to_bind(services.time.now() - asked)
        bound = status is None or is_success(status)
        with services.lock:
            self.assumed.finish_binding(pod)
            if bound:
                self.bound(pod)
                now = self.latest(placed.entry.pod)
                if now is None or now.metadata.uid != pod.metadata.uid:
                    self.give_up_unseen(pod)
        return None if bound else status

    def give_up_unseen(self, pod: Pod) -> None:
        """A pod went; if nobody saw it on its node, its room is free. Called with the lock held.

        That is one that was bound, or one that is in PreBind, whose volumes are not waited for any more.
        """
        in_pre_bind = pod.metadata.uid in self.services.in_pre_bind
        placed = self.assumed.gone(pod, in_pre_bind=in_pre_bind)
        if placed is not None and (self.rules.failed_binding_is_event or not in_pre_bind):
            self.queue.assigned_pod_deleted(placed)

    def _unbound(self, placed: Placed, stage: Stage, status: Status) -> Outcome:
        record = self.rules.chosen(stage, placed.tried, placed.pod.node_name, status)
        rejected = status.code in placed.plugins.rejected
        with self.services.lock:
            self.services.waiting.remove(placed.pod)
            placed.plugins.run_unreserve(placed.state, placed.pod, placed.pod.node_name)
            self._forget(placed.pod)
            if self.rules.failed_binding_is_event and not rejected:
                self.queue.assigned_pod_deleted(placed.pod, None)
            self._failed(placed.plugins, placed.entry, record, placed.started, placed.as_announced)
            if self.rules.failed_binding_is_event and rejected:
                self.queue.assigned_pod_deleted(placed.pod, placed.tried)
        return record

    # --- what fails is taken back --------------------------------------------------------------

    def _failed(
        self, plugins: CyclePlugins, entry: Any, record: FailureRecord, started: float, announced: Pod | None = None
    ) -> FailureRecord:
        """Puts the pod back and reports why it was not bound. announced: the pod as the attempt has written its status,
        None: as it was tried.
        """
        self._observe(plugins, record.cause.result, started)
        now = self.latest(record.pod)
        fate = self.rules.fate(record.pod, now)
        if not self._put_back(entry, now if fate is FailedPodFate.PUT_BACK else None, record):
            self.queue.done(record.pod)
        if fate is FailedPodFate.ANOTHER_ONE:
            return record
        if now is not None and not now.node_name:
            self.services.cache.nominate(now, self.rules.in_memory(record, now))
        self._report(record if announced is None else msgspec.structs.replace(record, pod=announced))
        return record

    def _put_back(self, entry: Any, now: Pod | None, record: FailureRecord) -> bool:
        """Whether the pod is in the queue again. now: the pod as it is, None: it is not to be.

        One that is not has to be given up there, else the queue notes for it for good all that happens. Upstream: the
        deferred Done of handleSchedulingFailure.
        """
        if now is None:
            return False
        try:
            self.queue.put_back(entry, now, record)
        except ClusterStateError as error:
            self.services.observer.trouble(str(error))
            return False
        return True

    def _report(self, record: FailureRecord) -> None:
        """The event and the status of a pod that was not bound."""
        if record.cause.silent:
            return
        if not self.services.reports_failures:
            self._patch(record, nomination_patch(record, self.rules.nominated))
            return
        note = self.services.format_note(self.rules.event_note(record.note))
        self.services.events.event(record.pod, record.cause.event_type, "FailedScheduling", "Scheduling", note)
        self._patch(record, status_patch(record, self.rules.nominated, self.rules.condition))

    def _patch(self, record: FailureRecord, patch: dict[str, Any]) -> None:
        if not patch:
            return
        if self.services.report_status is not None:
            self.services.report_status(record.pod, patch)
        elif self.services.client is not None:
            try:
                self.services.client.patch_pod_status(record.pod, patch)
            except SchedulingError as error:
                self.services.observer.trouble(f"updating the status of {record.pod.key}: {error}")

    def _forget(self, placed: Pod) -> None:
        """Takes an assumption back, unless it expired meanwhile, or was taken back when the pod went."""
        if self.latest(placed) is None and placed not in self.services.cache:
            return
        try:
            self.assumed.forget(placed)
        except ClusterStateError as error:
            self.services.observer.trouble(str(error))

    # --- what both need --------------------------------------------------------------------

    def _activate(self, state: CycleState) -> None:
        """Pods that plugins want tried now go to the front."""
        key = self.rules.activate_key
        if key is not None and (pods := state.get(key)):
            with self.services.lock:
                self.queue.activate(list(pods.values()))
            pods.clear()

    def _observe(self, plugins: CyclePlugins, result: str, started: float) -> None:
        seconds = self.services.time.now() - started
        self.services.observer.attempt(result, plugins.profile_name, seconds)


def ask_to_bind(
    rules: ReleaseCycles, services: Services, plugins: CyclePlugins, state: CycleState, pod: Pod
) -> Status | None:
    """Has a pod bound by the extender that wants to do it, else by the Bind plugins or the API.

    pod: with spec.nodeName. None: it is bound.
    """
    by_extender, status = rules.extenders_bind(services, pod, pod.node_name)
    return status if by_extender else plugins.run_bind(state, pod, pod.node_name)


def refused_binding(parts: LoopParts, pod: Pod, node_name: str) -> str | None:
    """Has a pod bound by an extender or the Bind plugins; the release's text when it is refused, else None.

    Raises KeyError for a pod of another scheduler.
    """
    plugins = parts.plugins_of(pod)
    if plugins is None:
        raise KeyError(pod.spec.scheduler_name)
    status = ask_to_bind(parts.rules, parts.services, plugins, CycleState(), pod.on(node_name))
    if status is None or is_success(status):
        return None
    return parts.rules.chosen(Stage.BIND, pod, node_name, status).note
