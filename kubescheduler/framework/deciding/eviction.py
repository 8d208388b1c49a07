"""Preemption carried out: the victims of the chosen node leave, and lower pods lose their nomination to it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.decision_records import Preemption
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.handle import Handle

PREEMPTED = "preempted"
BY_PREEMPTION = "preempted by DefaultPreemption"
IN_MEMORY = " (in kube-scheduler memory)."


def evict_1_16(handle: Handle, pod: Pod, found: Preemption) -> None:
    """Deletes the victims one after the other. Raises SchedulingError at the first that cannot be deleted.

    Upstream: 1.16 preempt.
    """
    node = found.chosen[0]
    for victim in found.candidates[node].pods:
        _delete(handle, victim)
        waiting = handle.waiting_pod(victim.metadata.uid)
        if waiting is not None:
            waiting.reject("DefaultPreemption", PREEMPTED)
        _report(handle, victim, f"Preempted by {pod.key} on node {node}", pod)


def evict_1_20(handle: Handle, pod: Pod, found: Preemption) -> Status | None:
    """The same; then lower nominations are taken back. Upstream: 1.20 PrepareCandidate."""
    try:
        evict_1_16(handle, pod, found)
    except SchedulingError as error:
        return Status.failure(str(error))
    clear_nominations(handle, found.cleared)
    return None


class Evictions(msgspec.Struct, frozen=True, eq=False):
    """The preemptions that are still being carried out. Upstream: 1.36 Executor."""

    handle: Handle
    last: dict[str, str] = msgspec.field(default_factory=dict)
    """uid of the preemptor → the uid of its last victim, empty while others are being preempted."""

    def evict(self, pod: Pod, found: Preemption) -> Status | None:
        """Begins to preempt the victims; those that are on their way out already are left alone."""
        node = found.chosen[0]
        victims = [v for v in found.candidates[node].pods if v.metadata.deletion_timestamp is None]
        if victims:
            self.last[pod.metadata.uid] = ""
            self.handle.in_background(lambda: self._run(pod, node, victims, found.cleared))
        return None

    def _run(self, pod: Pod, node: str, victims: Sequence[Pod], cleared: Sequence[Pod]) -> None:
        started, result = self.handle.clock(), "success"
        try:
            clear_nominations(self.handle, cleared)
            for victim in victims[:-1]:
                self._preempt(pod, node, victim)
            self.last[pod.metadata.uid] = victims[-1].metadata.uid
            self._preempt(pod, node, victims[-1])
        except SchedulingError:
            result = "error"
            self.handle.activate([pod])
        finally:
            self.last.pop(pod.metadata.uid, None)
            self.handle.observer.evicted(result, self.handle.clock() - started)

    def _preempt(self, pod: Pod, node: str, victim: Pod) -> None:
        handle, uid = self.handle, victim.metadata.uid
        note = f"Preempted by pod {pod.metadata.uid} on node {node}"
        waiting, binding = handle.waiting_pod(uid), handle.pod_in_pre_bind(uid)
        if waiting is not None and waiting.preempt("DefaultPreemption", PREEMPTED):
            return _report(handle, victim, note + IN_MEMORY, pod)
        if binding is not None and binding.cancel(BY_PREEMPTION):
            return _report(handle, victim, note + IN_MEMORY, pod)
        if handle.client is not None:
            handle.client.patch_pod_status(victim, _disruption(pod))
        _delete(handle, victim)
        return _report(handle, victim, note, pod)


def _disruption(pod: Pod) -> dict[str, object]:
    message = f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message}
    return {"conditions": [condition]}


def _delete(handle: Handle, victim: Pod) -> None:
    """Asks the API for it. Raises SchedulingError with its text."""
    if handle.client is not None:
        handle.client.delete_pod(victim)


def _report(handle: Handle, victim: Pod, note: str, by: Pod) -> None:
    handle.events.event(victim, "Normal", "Preempted", "Preempting", note, by)


def clear_nominations(handle: Handle, pods: Sequence[Pod]) -> None:
    """Takes nominations back. Raises SchedulingError with the API's text."""
    for pod in pods:
        if handle.client is not None:
            handle.client.patch_pod_status(pod, {"nominatedNodeName": ""})
        with handle.lock:
            handle.cache.nominate(pod, "")
