"""What is known of pods that look the same: that one fits nowhere holds for all until something changes."""

from __future__ import annotations

from collections.abc import Callable
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
