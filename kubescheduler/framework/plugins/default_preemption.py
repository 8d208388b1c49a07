"""DefaultPreemption: makes room for a pod that fits nowhere by taking lower ones away."""

from __future__ import annotations

import attrs

from clusterstate.objects import Pod
from kubescheduler.core.decision import Preemption
from kubescheduler.framework.args import DefaultPreemptionArgs
from kubescheduler.framework.handle import Handle
from kubescheduler.framework.points import Point
from kubescheduler.framework.preemption import PREEMPTION_RULES, PreemptionRules, Search, preempt
from kubescheduler.framework.status import Status

NAME = "DefaultPreemption"
BUSY = "waiting for the preemption for this pod to be finished"


@attrs.frozen(eq=False)
class DefaultPreemption:
    """PostFilter over columns: ``search`` says what would be done and changes nothing.

    args: how many candidates are enough; they bound upstream's sampling, here every node is tried.
    Upstream: 1.20 DefaultPreemption.
    """

    args: DefaultPreemptionArgs
    rules: PreemptionRules
    points: frozenset[Point]
    name: str = NAME

    def search(self, search: Search) -> tuple[Preemption, Status]:
        """Raises SchedulingError when an extender that is not ignorable fails."""
        return preempt(search, self.rules)


@attrs.frozen(eq=False)
class AsyncPreemption(DefaultPreemption):
    """Holds the pod back while its victims are still being taken away. Upstream: 1.36 DefaultPreemption.

    preempting: uid of such a pod → the uid of its last victim, empty while that is not known.
    """

    handle: Handle | None = None
    preempting: dict[str, str] = attrs.field(factory=dict)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        last = self.preempting.get(pod.metadata.uid)
        if last is None or (last and self._is_gone(last)):
            return None
        return Status.unresolvable(BUSY)

    def _is_gone(self, uid: str) -> bool:
        assert self.handle is not None
        there = next((pod for pod in self.handle.cache.pods() if pod.metadata.uid == uid), None)
        return there is None or there.metadata.deletion_timestamp is not None


def default_preemption_1_20(args: DefaultPreemptionArgs | None, _: Handle) -> DefaultPreemption:
    points = frozenset({Point.POST_FILTER})
    return DefaultPreemption(args or DefaultPreemptionArgs(), PREEMPTION_RULES["1.20"], points)


def default_preemption_1_36(args: DefaultPreemptionArgs | None, handle: Handle) -> AsyncPreemption:
    points = frozenset({Point.PRE_ENQUEUE, Point.POST_FILTER})
    return AsyncPreemption(args or DefaultPreemptionArgs(), PREEMPTION_RULES["1.36"], points, handle=handle)
