"""An attempt after the algorithm: assume, Reserve, Permit and the binding cycle; what fails is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.assumed_pods import AssumedPods
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.cycle.cycle_rules import Fate
from kubescheduler.cycle.failures import FailureRecord, Stage, nomination_patch, status_patch
from kubescheduler.framework.contract.cancellation import Cancellation

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision
    from kubescheduler.cycle.bindings import BindingCycle, Outcome
    from kubescheduler.cycle.cycle_plugins import CyclePlugins
    from kubescheduler.cycle.cycle_rules import ReleaseCycles
    from kubescheduler.cycle.failures import FailureCause
    from kubescheduler.framework.contract.cycle_state import CycleState
    from kubescheduler.framework.running.framework_services import Services
    from kubescheduler.queue.scheduling_queue import SchedulingQueue

Latest = Callable[[Pod], Pod | None]
"""The newest version of a pod that is known, None when it is gone."""


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
    idle: bool = False
    """Whether it is only to be bound: no plugin has anything to do for it any more."""
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


def ask_to_bind(
    rules: ReleaseCycles, services: Services, plugins: CyclePlugins, state: CycleState, pod: Pod
) -> Status | None:
    """Has a pod bound by the extender that wants to do it, else by the Bind plugins or the API.

    pod: with spec.nodeName. None: it is bound.
    """
    by_extender, status = rules.extenders_bind(services, pod, pod.node_name)
    return status if by_extender else plugins.run_bind(state, pod, pod.node_name)


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
        idle, waits = plugins.is_idle_for(placed), False
        if not idle:
            stage, status = self._reserve(plugins, state, placed)
            waits = status is not None and status.code is Code.Wait
            if status is not None and not waits:
                plugins.run_unreserve(state, placed, host)
                self._forget(placed)
                return self._failed(plugins, entry, self.rules.chosen(stage, pod, host, status), started)
        self._activate(state)
        ahead = not waits and self._sends_ahead(plugins, pod)
        return Placed(plugins, state, entry, decision, placed, waits, started, idle, ahead)

    def _reserve(self, plugins: CyclePlugins, state: CycleState, placed: Pod) -> tuple[Stage, Status | None]:
        """(the last of the stages Reserve and Permit, its status; None: the pod is let go)."""
        status = plugins.run_reserve(state, placed, placed.node_name)
        if status is not None:
            return Stage.RESERVE, status
        return Stage.PERMIT, plugins.run_permit(state, placed, placed.node_name)

    def _sends_ahead(self, plugins: CyclePlugins, pod: Pod) -> bool:
        if self.services.send_binding is None or not plugins.binds_at_once(pod):
            return False
        return not any(e.config.bind_verb and e.is_interested(pod) for e in self.services.extenders)

    def _nowhere(self, plugins: CyclePlugins, entry: Any, decision: Decision, started: float) -> FailureRecord:
        """No node was chosen: preemption is carried out, if there is any, and the pod goes back."""
        pod: Pod = entry.pod
        found = decision.preemption
        if found is not None:
            self.services.observer.preempted(len(found.candidates[found.chosen[0]].pods) if found.chosen else 0)
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
        plugins, state, pod = placed.plugins, placed.state, placed.pod
        stage, status = Stage.PRE_BIND, None if placed.idle else self._pre_flight(placed)
        if placed.idle:
            with self.services.lock:
                self.queue.done(placed.entry.pod)
        elif status is None:
            held = plugins.held(pod)
            if held is not None:
                yield held
            stage, status = self._prepare(placed)
        if status is None:
            if placed.sends_ahead and self.services.send_binding is not None:
                state.binding_sent = self.services.time.now()
                yield self.services.send_binding(pod, pod.node_name)
            stage, status = Stage.BIND, self._ask_to_bind(placed)
        if status is not None:
            return self._unbound(placed, stage, status)
        note = self.rules.assigned_note(pod, pod.node_name)
        self.services.events.event(pod, "Normal", "Scheduled", "Binding", note)
        if self.services.observer.measures:
            self._observe(plugins, "scheduled", placed.started)
            self.services.observer.scheduled(placed.entry, self.services.time.now())
        if not placed.idle:
            plugins.run_post_bind(state, pod, pod.node_name)
        self._activate(state)
        return None

    def _pre_flight(self, placed: Placed) -> Status | None:
        pod = placed.pod
        return self.rules.pre_flight(
            placed.plugins, self.services, placed.state, placed.tried, pod.node_name, placed.waits
        )

    def _prepare(self, placed: Placed) -> tuple[Stage, Status | None]:
        """(the last stage before Bind, its status; None: the pod may be bound)."""
        plugins, state, pod = placed.plugins, placed.state, placed.pod
        status = plugins.wait_on_permit(pod)
        if status is not None:
            return Stage.PERMIT, status
        with self.services.lock:
            self.queue.done(placed.tried)
        return Stage.PRE_BIND, self._pre_bind(plugins, state, pod)

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
        """A pod went; if it was bound, and nobody saw it on its node, its room is free. Called with the lock held."""
        placed = self.assumed.gone(pod)
        if placed is not None:
            self.queue.assigned_pod_deleted(placed)

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

    # --- what both need --------------------------------------------------------------------

    def _failed(
        self, plugins: CyclePlugins, entry: Any, record: FailureRecord, started: float, announced: Pod | None = None
    ) -> FailureRecord:
        """Puts the pod back and reports why it was not bound. announced: the pod as the attempt has written its status,
        None: as it was tried.
        """
        self._observe(plugins, record.cause.result, started)
        now = self.latest(record.pod)
        fate = self.rules.fate(record.pod, now)
        if not self._put_back(entry, now if fate is Fate.PUT_BACK else None, record):
            self.queue.done(record.pod)
        if fate is Fate.ANOTHER_ONE:
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
        """Takes an assumption back, unless it expired meanwhile."""
        try:
            self.assumed.forget(placed)
        except ClusterStateError as error:
            self.services.observer.trouble(str(error))

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
