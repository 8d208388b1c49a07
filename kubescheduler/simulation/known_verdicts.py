"""What is known of pods that look the same: that one fits nowhere holds for all until something changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.decision import Decision
from kubescheduler.cycle.schedule_one import Decide
from kubescheduler.framework.contract.cycle_state import CycleState


@attrs.define(eq=False)
class KnownVerdicts:
    """Decides, or remembers the decision on a pod of the same class.

    A nominated pod is decided on anew: it does not count itself among the nominated ones. So is one with claims: the
    time in which its devices have to get ready for binding may be over by now.
    """

    ask: Decide
    """Decides."""
    cache: ClusterCache
    changes: Callable[[], int]
    """Grows with every change of the cluster."""
    reuses: bool
    """False where an extender or a custom plugin has a say, whose answers may differ from pod to pod."""
    _known: dict[PodInfo, Decision] = attrs.field(factory=dict)
    _known_at: int = -1

    def decide(self, plugins: Any, pod: Pod, state: CycleState) -> Decision:
        """Where the pod goes; a decision that is used again is on another pod."""
        changes = self.changes()
        if self._known_at != changes:
            self._known.clear()
            self._known_at = changes
        alike = self.reuses and not pod.nominated_node_name and not pod.spec.resource_claims
        if alike and self._known and (known := self._known.get(self.cache.info(pod))) is not None:
            return known
        decision = self.ask(plugins, pod, state)
        if alike and decision.host is None and decision.error is None:
            self._known[self.cache.info(pod)] = decision
        return decision


@attrs.define(eq=False)
class LastAttempts:
    """The last failed attempt of each pod. Moments are seconds since the epoch."""

    turns: Callable[[Pod], float | None]
    """The moment after which time alone will have changed what is said of a pod; None: it will not."""
    now: Callable[[], float]
    """This moment."""
    changes: Callable[[], int]
    """Grows with every change of the cluster."""
    _noted: dict[str, tuple[int, float | None]] = attrs.field(factory=dict)
    """Pod → (the changes until then, the moment that was said then)."""

    def note(self, pod: Pod) -> None:
        """An attempt of the pod failed just now."""
        self._noted[pod.key] = self.changes(), self.turns(pod) if pod.spec.resource_claims else None

    def may_change(self, pod: Pod) -> bool:
        """Whether another attempt may come to something else: the cluster has changed, or will by itself."""
        changes, turn = self._noted[pod.key]
        return changes != self.changes() or turn is not None

    def turn(self, pods: Iterable[Pod]) -> bool:
        """Whether time alone will yet change what was said of one of these pods."""
        now = self.now()
        ends = (self._noted.get(pod.key, (0, None))[1] for pod in pods)
        return any(end is not None and end >= now for end in ends)
