"""PostFilter: what its plugins came to, and preemption carried out: victims evicted, lower nominations taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.preemption import Search
from kubescheduler.core.preemption_choice import Preemption, ProcessCrash, nominee_of
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code, Status, is_success, merge
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.deciding.adapters import ask_post_filter

Nominee = str | None
"""A node's name; empty: the pod is no longer nominated; None: nothing is said."""

Answer = tuple[str, Nominee, Status | None]
"""(plugin, the node it nominates, its status; None: Success)."""

Collect = Callable[[Iterator[Answer], CycleState], tuple[Nominee, Status | None]]
"""What the answers come to; each is asked for when it is its turn."""

ALL_SKIPPED = "All PostFilter plugins are skipped"


def collect_1_20(given: Iterator[Answer], cycle: CycleState) -> tuple[Nominee, Status | None]:  # noqa: ARG001
    """Until one succeeds or fails; rejections are merged. Upstream: 1.20 RunPostFilterPlugins."""
    statuses: list[Status] = []
    for plugin, nominee, status in given:
        if status is None or is_success(status):
            return nominee, status
        if status.code not in REJECTED_1_20:
            return None, Status.failure(status.message).by(plugin)
        statuses.append(status.by(plugin))
    return None, merge(statuses)


def collect_1_36(given: Iterator[Answer], cycle: CycleState) -> tuple[Nominee, Status | None]:
    """Until one succeeds, fails or cannot help; all reasons are reported. Upstream: 1.36 RunPostFilterPlugins."""
    if cycle.skip_all_post_filter:
        return None, Status.unschedulable(ALL_SKIPPED)
    kept: Nominee = None
    reasons: list[str] = []
    rejector = ""
    for plugin, nominee, status in given:
        if status is None or is_success(status):
            return nominee, status
        if status.code is Code.UnschedulableAndUnresolvable:
            return nominee, status.by(plugin)
        if status.code not in REJECTED_1_36:
            return None, Status.failure(status.error_text).by(plugin)
        kept = kept if nominee is None else nominee
        reasons += status.all_reasons
        rejector = rejector or plugin
    return kept, Status(Code.Unschedulable, tuple(reasons), plugin=rejector)


class Statuses(Mapping[str, Status]):
    """Node that was refused → its status; put together when somebody looks."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    @cached_property
    def _all(self) -> dict[str, Status]:
        return self._decision.statuses()

    def __getitem__(self, name: str) -> Status:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def searches(plugin: Any) -> bool:
    """Whether a plugin preempts over columns; a custom one with ``post_filter`` may call anything ``search``."""
    return hasattr(plugin, "search") and not hasattr(plugin, "post_filter")


def run_post_filters(
    plugins: Sequence[Any], search: Search, cycle: CycleState, collect: Collect, *, strict: bool = False
) -> tuple[Preemption | None, Nominee, Status | None]:
    """(what DefaultPreemption found, None when it was not run; what all plugins came to), asked one after the other.

    strict: raises SchedulingError when preemption fails, instead of taking it for the plugin's Error as the release
    does. Raises ProcessCrash where the release would end.
    """
    preemptions: list[Preemption] = []

    def ask() -> Iterator[Answer]:
        for plugin in plugins:
            if not searches(plugin):
                status, nominee = ask_post_filter(plugin, cycle, search.pod, Statuses(search.decision))
                yield plugin.name, nominee, status
                continue
            try:
                made, status = plugin.search(search)
            except SchedulingError as error:
                if strict or isinstance(error, ProcessCrash):
                    raise
                yield plugin.name, None, Status.failure(str(error))
            else:
                preemptions.append(made)
                yield plugin.name, nominee_of(made), status

    nominated, status = collect(ask(), cycle)
    return preemptions[-1] if preemptions else None, nominated, status


PREEMPTED = "preempted"
BY_PREEMPTION = "preempted by DefaultPreemption"
IN_MEMORY = " (in kube-scheduler memory)."


def evict_1_16(handle: Handle, pod: Pod, preemption: Preemption) -> None:
    """Deletes the victims one after the other. Raises SchedulingError at the first that cannot be deleted.

    Upstream: 1.16 preempt.
    """
    node = preemption.chosen[0]
    for victim in preemption.candidates[node].pods:
        _delete(handle, victim)
        waiting = handle.waiting_pod(victim.metadata.uid)
        if waiting is not None:
            waiting.reject("DefaultPreemption", PREEMPTED)
        _report(handle, victim, by_key(pod, node), pod)


Evict = Callable[[Handle, Pod, Preemption], Status | None]
"""Takes the victims of the chosen node away for a pod; None: it worked."""


def evict_1_20(handle: Handle, pod: Pod, preemption: Preemption) -> Status | None:
    """The same; then lower nominations are taken back. Upstream: 1.20 PrepareCandidate."""
    try:
        evict_1_16(handle, pod, preemption)
    except SchedulingError as error:
        return Status.failure(str(error))
    clear_nominations(handle, preemption.cleared)
    return None


class Eviction(msgspec.Struct, frozen=True):
    """Victims are taken away at once; one that waits is rejected instead. Upstream: 1.22 to 1.32 prepareCandidate."""

    note: Callable[[Pod, str], str]
    """Of (the pod that preempts, the node): what a victim's event says."""
    reason: str = ""
    """The reason of the condition that victims get before; empty: none."""

    def __call__(self, handle: Handle, pod: Pod, preemption: Preemption) -> Status | None:
        """The first victim that cannot be deleted ends it."""
        node = preemption.chosen[0]
        try:
            for victim in preemption.candidates[node].pods:
                waiting = handle.waiting_pod(victim.metadata.uid)
                if waiting is not None:
                    waiting.reject("DefaultPreemption", PREEMPTED)
                else:
                    self._delete(handle, victim, pod)
                _report(handle, victim, self.note(pod, node), pod)
        except SchedulingError as error:
            return Status.failure(str(error))
        clear_nominations(handle, preemption.cleared)
        return None

    def _delete(self, handle: Handle, victim: Pod, pod: Pod) -> None:
        if handle.client is not None and self.reason:
            handle.client.patch_pod_status(victim, _disruption(pod, self.reason))
        _delete(handle, victim)


def by_key(pod: Pod, node: str) -> str:
    """Names the pod."""
    return f"Preempted by {pod.key} on node {node}"


def by_a_pod(_: Pod, node: str) -> str:
    """Does not name the pod."""
    return f"Preempted by a pod on node {node}"


def by_uid(pod: Pod, node: str) -> str:
    """Says the pod's uid."""
    return f"Preempted by pod {pod.metadata.uid} on node {node}"


evict_1_22 = Eviction(by_key)
evict_1_26 = Eviction(by_a_pod, "PreemptionByKubeScheduler")
evict_1_27 = Eviction(by_a_pod, "PreemptionByScheduler")
evict_1_29 = Eviction(by_uid, "PreemptionByScheduler")


class Evictions(msgspec.Struct, frozen=True, eq=False):
    """The preemptions that are still being carried out. Upstream: 1.36 Executor."""

    handle: Handle
    last: dict[str, str] = msgspec.field(default_factory=dict)
    """uid of the preemptor → the uid of its last victim, empty while others are being preempted."""

    def evict(self, pod: Pod, preemption: Preemption) -> Status | None:
        """Begins to preempt the victims; those that are on their way out already are left alone."""
        node = preemption.chosen[0]
        victims = [v for v in preemption.candidates[node].pods if v.metadata.deletion_timestamp is None]
        if victims:
            self.last[pod.metadata.uid] = ""
            self.handle.in_background(lambda: self._run(pod, node, victims, preemption.cleared))
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
        note = by_uid(pod, node)
        waiting, binding = handle.waiting_pod(uid), handle.pod_in_pre_bind(uid)
        if waiting is not None and waiting.preempt("DefaultPreemption", PREEMPTED):
            return _report(handle, victim, note + IN_MEMORY, pod)
        if binding is not None and binding.cancel(BY_PREEMPTION):
            return _report(handle, victim, note + IN_MEMORY, pod)
        if handle.client is not None:
            handle.client.patch_pod_status(victim, _disruption(pod))
        _delete(handle, victim)
        return _report(handle, victim, note, pod)


def _disruption(pod: Pod, reason: str = "PreemptionByScheduler") -> dict[str, object]:
    message = f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
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
