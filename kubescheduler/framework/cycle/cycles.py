"""An attempt after the algorithm: assume, Reserve, Permit and the binding cycle; what fails is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.assumed_pods import AssumedPods
from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.framework.contract.cancellation import Cancellation
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.cycle.cycle_rules import Fate, FrameworkCycleRules
from kubescheduler.framework.cycle.failures import FailureRecord, Stage, cut, status_patch
from kubescheduler.framework.cycle.pod_queue import PodQueue
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.framework.running.framework_services import Services

Latest = Callable[[Pod], Pod | None]
"""The newest version of a pod that is known, None when it is gone."""


@attrs.frozen(eq=False)
class Placed:
    """A pod that is assumed on its node, on its way to be bound.

    entry: what was popped. pod: with spec.nodeName. waits: Permit plugins hold it.
    """

    framework: Framework
    state: CycleState
    entry: Any
    decision: Decision
    pod: Pod
    waits: bool
    started: float

    @property
    def tried(self) -> Pod:
        """The pod as it was popped."""
        pod: Pod = self.entry.pod
        return pod


@attrs.frozen(eq=False)
class Cycles:
    """The scheduling and the binding cycle of one scheduler.

    ``schedule`` is called by one thread at a time with ``services.lock`` held, ``bind`` by any thread without it.
    """

    services: Services
    queue: PodQueue
    assumed: AssumedPods
    rules: FrameworkCycleRules
    latest: Latest

    @classmethod
    def of(cls, services: Services, queue: PodQueue, latest: Latest, rules: FrameworkCycleRules) -> Cycles:
        assumed = AssumedPods(services.cache, services.time.now, rules.expires)
        return cls(services, queue, assumed, rules, latest)

    # --- the scheduling cycle --------------------------------------------------------------

    def schedule(
        self, framework: Framework, state: CycleState, entry: Any, decision: Decision, started: float
    ) -> Placed | FailureRecord:
        """From the decision to the end of Permit. started: when the pod was popped."""
        pod: Pod = entry.pod
        if decision.host is None:
            post_filters = bool(framework.at(Point.POST_FILTER))
            record = self.rules.undecided(decision, post_filters=post_filters)
            return self._failed(framework, entry, record, started)
        host = decision.host
        fault = self.rules.assume_fault(self.services.cache, pod)
        if fault is not None:
            record = self.rules.chosen(Stage.ASSUME, pod, host, Status.failure(fault))
            return self._failed(framework, entry, record, started)
        placed = self.assumed.assume(pod, host)
        status = framework.run_reserve(state, placed, host)
        stage = Stage.RESERVE
        if status is None:
            status = framework.run_permit(state, placed, host)
            stage = Stage.PERMIT
        waits = status is not None and status.code is Code.Wait
        if status is not None and not waits:
            framework.run_unreserve(state, placed, host)
            self._forget(placed)
            return self._failed(framework, entry, self.rules.chosen(stage, pod, host, status), started)
        self._activate(state)
        return Placed(framework, state, entry, decision, placed, waits, started)

    # --- the binding cycle -----------------------------------------------------------------

    def bind(self, placed: Placed) -> FailureRecord | None:
        """From PreBindPreFlight to PostBind; None: the pod is bound."""
        framework, state, pod = placed.framework, placed.state, placed.pod
        stage, status = self._run_binding(placed)
        if status is not None:
            framework.waiting.remove(pod)
            with self.services.lock:
                framework.run_unreserve(state, pod, pod.node_name)
            return self._unbound(placed, stage, status)
        note = f"Successfully assigned {pod.key} to {pod.node_name}"
        self.services.events.event(pod, "Normal", "Scheduled", "Binding", note)
        self._observe(framework, "scheduled", placed.started)
        framework.run_post_bind(state, pod, pod.node_name)
        self._activate(state)
        return None

    def _run_binding(self, placed: Placed) -> tuple[Stage, Status | None]:
        """(the last stage, its status; None: the pod is bound)."""
        framework, state, pod = placed.framework, placed.state, placed.pod
        status = self.rules.pre_flight(framework, self.services, state, placed.tried, pod.node_name, placed.waits)
        if status is not None:
            return Stage.PRE_BIND, status
        status = framework.wait_on_permit(pod)
        if status is not None:
            return Stage.PERMIT, status
        self.queue.done(placed.tried)
        status = self._pre_bind(framework, state, pod)
        if status is not None:
            return Stage.PRE_BIND, status
        by_extender, status = self.rules.extenders_bind(self.services, pod, pod.node_name)
        if not by_extender:
            status = framework.run_bind(state, pod, pod.node_name)
        bound = status is None or is_success(status)
        with self.services.lock:
            self.assumed.finish_binding(pod)
            if bound and self.services.client is None:
                self.assumed.confirm(pod)
        return Stage.BIND, None if bound else status

    def _pre_bind(self, framework: Framework, state: CycleState, pod: Pod) -> Status | None:
        """PreBind, which another pod that needs the room may cancel."""
        state.cancellation = Cancellation()
        uid = pod.metadata.uid
        self.services.in_pre_bind[uid] = state.cancellation
        try:
            status = framework.run_pre_bind(state, pod, pod.node_name)
        finally:
            del self.services.in_pre_bind[uid]
        if status is None and not state.cancellation.close():
            return Status.failure(state.cancellation.cause or "")
        return status

    def _unbound(self, placed: Placed, stage: Stage, status: Status) -> FailureRecord:
        record = self.rules.chosen(stage, placed.tried, placed.pod.node_name, status)
        rejected = status.code in placed.framework.reactions.rejected
        with self.services.lock:
            self._forget(placed.pod)
            if self.rules.stirs and not rejected:
                self.queue.assigned_pod_deleted(placed.pod, None)
            self._failed(placed.framework, placed.entry, record, placed.started)
            if self.rules.stirs and rejected:
                self.queue.assigned_pod_deleted(placed.pod, placed.tried)
        return record

    # --- what both need --------------------------------------------------------------------

    def _failed(self, framework: Framework, entry: Any, record: FailureRecord, started: float) -> FailureRecord:
        """Puts the pod back and tells why it was not bound."""
        self._observe(framework, record.result, started)
        now = self.latest(record.pod)
        fate = self.rules.fate(record.pod, now)
        if fate is Fate.ANOTHER_ONE:
            return record
        if fate is Fate.PUT_BACK and now is not None:
            try:
                self.queue.put_back(entry, now, record)
            except ClusterStateError as error:
                self.services.observer.trouble(str(error))
        if now is not None and not now.node_name:
            self.services.cache.nominate(now, self.rules.in_memory(record, now))
        if not record.silent:
            note = self.services.format_note(cut(record.message))
            self.services.events.event(record.pod, "Warning", "FailedScheduling", "Scheduling", note)
            self._patch(record)
        return record

    def _patch(self, record: FailureRecord) -> None:
        patch = status_patch(record, self.rules.nominated)
        if patch and self.services.client is not None:
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
        pods = state.get(self.rules.activate_key)
        if pods:
            self.queue.activate(list(pods.values()))
            pods.clear()

    def _observe(self, framework: Framework, result: str, started: float) -> None:
        seconds = self.services.time.now() - started
        self.services.observer.attempt(result, framework.profile_name, seconds)
