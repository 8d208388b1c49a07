"""Until when what was last said of a pod holds: until the cluster changes, or until time alone changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from clusterstate.objects import Pod


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
