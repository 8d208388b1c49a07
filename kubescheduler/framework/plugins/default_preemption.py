"""DefaultPreemption: makes room for a pod that fits nowhere by taking lower ones away."""

from __future__ import annotations

import threading
from collections.abc import Callable

import attrs

from clusterstate.objects import Pod
from kubescheduler.core.decision import Preemption
from kubescheduler.core.status import Status
from kubescheduler.framework.args.plugin_args import DefaultPreemptionArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.deciding.eviction import Evictions, Spawn, evict_1_20
from kubescheduler.framework.deciding.preemption_search import PREEMPTION_RULES, PreemptionRules, Search, preempt

NAME = "DefaultPreemption"
BUSY = "waiting for the preemption for this pod to be finished"


def in_a_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="preemption", daemon=True).start()


def at_once(work: Callable[[], None]) -> None:
    work()


@attrs.frozen(eq=False)
class DefaultPreemption:
    """PostFilter over columns: ``search`` says what would be done and changes nothing, ``evict`` does it.

    args: how many candidates are enough; they bound upstream's sampling, here every node is tried.
    Upstream: 1.20 DefaultPreemption.
    """

    args: DefaultPreemptionArgs
    rules: PreemptionRules
    handle: Handle
    points: frozenset[Point] = frozenset({Point.POST_FILTER})
    name: str = NAME

    def search(self, search: Search) -> tuple[Preemption, Status]:
        """Raises SchedulingError when an extender that is not ignorable fails."""
        return preempt(search, self.rules)

    def evict(self, pod: Pod, found: Preemption) -> Status | None:
        """Takes the victims of the chosen node away for the pod."""
        return evict_1_20(self.handle, pod, found)


@attrs.frozen(eq=False)
class AsyncPreemption(DefaultPreemption):
    """Takes victims away in the background, and holds the pod back until then. Upstream: 1.36 DefaultPreemption."""

    points: frozenset[Point] = frozenset({Point.PRE_ENQUEUE, Point.POST_FILTER})
    spawn: Spawn = in_a_thread
    evictions: Evictions = attrs.field(
        init=False, default=attrs.Factory(lambda self: Evictions(self.handle, self.spawn), takes_self=True)
    )

    def evict(self, pod: Pod, found: Preemption) -> Status | None:
        return self.evictions.evict(pod, found)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        last = self.evictions.last.get(pod.metadata.uid)
        if last is None or (last and self._is_gone(last)):
            return None
        return Status.unresolvable(BUSY)

    def _is_gone(self, uid: str) -> bool:
        there = self.handle.cache.placed(uid)
        return there is None or there.metadata.deletion_timestamp is not None


def default_preemption_1_20(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    return DefaultPreemption(args or DefaultPreemptionArgs(), PREEMPTION_RULES["1.20"], handle)


def default_preemption_1_36(args: DefaultPreemptionArgs | None, handle: Handle) -> AsyncPreemption:
    spawn = at_once if handle.client is None else in_a_thread
    return AsyncPreemption(args or DefaultPreemptionArgs(), PREEMPTION_RULES["1.36"], handle, spawn=spawn)
