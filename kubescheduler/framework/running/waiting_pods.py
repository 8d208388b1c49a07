"""Waiting pods: a node is chosen, but Permit plugins hold the pod until each of them allows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.clocks import Timekeeper
from kubescheduler.framework.contract.go_durations import go_duration

LONGEST_WAIT = 15 * 60.0
"""Seconds that a Permit plugin can ask for at most."""

REMOVED = "removed"
"""The message of a pod that is rejected by its uid."""


class HeldPod:
    """One waiting pod; the first thing that settles it counts. Upstream: waitingPod.

    timeouts: plugin → seconds it may hold the pod, at most LONGEST_WAIT. A timeout takes effect at its moment also when
    nobody looks at the pod then. Safe to use from any thread.
    """

    def __init__(self, pod: Pod, timeouts: Mapping[str, float], time: Timekeeper) -> None:
        self._pod = pod
        self._time = time
        self._condition = threading.Condition()
        started = time.now()
        capped = {plugin: min(seconds, LONGEST_WAIT) for plugin, seconds in timeouts.items()}
        self._pending = {plugin: (started + seconds, seconds) for plugin, seconds in capped.items()}
        self._settled: Status | None = None
        self._follow: Callable[[], None] | None = None

    @property
    def pod(self) -> Pod:
        """The pod, as it was when Permit plugins held it."""
        return self._pod

    def pending_plugins(self) -> list[str]:
        """The plugins that have not allowed the pod yet."""
        with self._condition:
            return list(self._pending)

    def allow(self, plugin: str) -> None:
        """A plugin lets the pod go; it goes when all of them do."""
        with self._condition:
            self._expire()
            self._pending.pop(plugin, None)
            if not self._pending:
                self._settle(Status())

    def reject(self, plugin: str, message: str) -> bool:
        """Whether the pod was not settled before."""
        with self._condition:
            self._expire()
            return self._settle(Status(Code.Unschedulable, (message,), plugin=plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Gives the pod up for another one; whether it was not settled before (1.36)."""
        with self._condition:
            self._expire()
            return self._settle(Status(Code.Error, (), message, plugin))

    def due(self) -> float | None:
        """When the first timeout takes effect; None: the pod is settled."""
        with self._condition:
            return None if self._settled is not None else min(due for due, _ in self._pending.values())

    def expire(self) -> None:
        """Settles the pod if the time of a plugin is up; who has a clock calls it at ``due``."""
        with self._condition:
            self._expire()

    def when_settled(self, follow: Callable[[], None]) -> None:
        """Has ``follow`` called once, in whatever thread settles the pod, or at once if it is settled."""
        with self._condition:
            self._expire()
            if self._settled is None:
                self._follow = follow
                return
        follow()

    def wait(self) -> Status:
        """Waits until the pod is settled, and says how: Success, Unschedulable or Error."""
        with self._condition:
            while True:
                self._expire()
                if self._settled is not None:
                    return self._settled
                self._time.wait(self._condition, min((due for due, _ in self._pending.values()), default=None))

    def _expire(self) -> None:
        if self._settled is not None or not self._pending:
            return
        plugin, (due, seconds) = min(self._pending.items(), key=lambda item: item[1][0])
        if self._time.now() >= due:
            text = f"rejected due to timeout after waiting {go_duration(seconds)} at plugin {plugin}"
            self._settle(Status(Code.Unschedulable, (text,), plugin=plugin))

    def _settle(self, status: Status) -> bool:
        if self._settled is not None:
            return False
        self._settled = status
        self._condition.notify_all()
        if self._follow is not None:
            self._follow()
        return True


class WaitingPods:
    """The waiting pods by uid. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pods: dict[str, HeldPod] = {}

    def add(self, held: HeldPod) -> None:
        """A pod is held from now on."""
        with self._lock:
            self._pods[_uid(held.pod)] = held

    def remove(self, pod: Pod) -> None:
        """A pod is no longer held."""
        with self._lock:
            self._pods.pop(_uid(pod), None)

    def get(self, uid: str) -> HeldPod | None:
        """The waiting pod of a uid; None when it does not wait."""
        with self._lock:
            return self._pods.get(uid)

    def of(self, pod: Pod) -> HeldPod | None:
        """The waiting pod for a pod, also for one without uid; None when it does not wait."""
        return self.get(_uid(pod))

    def __iter__(self) -> Iterator[HeldPod]:
        with self._lock:
            return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def reject(self, uid: str) -> bool:
        """Rejects a pod, as when it is deleted; whether there was one."""
        held = self.get(uid)
        if held is None:
            return False
        held.reject("", REMOVED)
        return True


def _uid(pod: Pod) -> str:
    return pod.metadata.uid or pod.key
