"""What a scheduler's loop, and what drives it, need of the queue of pending pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod
    from kubescheduler.queue.entry import Failed, Place


class PodQueue(Protocol):
    """The pending pods of one scheduler, in the way of its release. Times are seconds on the queue's clock.

    Nothing in a queue waits or locks: who has threads calls it with a lock held, who has a clock calls ``flush_due``.
    """

    # --- attempts --------------------------------------------------------------------------

    def pop(self) -> Any:
        """The next pod to try, as an entry with a ``pod``; None: there is none now."""
        ...

    def put_back(self, entry: Any, pod: Pod, failure: Failed) -> None:
        """The attempt of a popped entry failed. pod: as it is now. Raises ClusterStateError if it is there already."""
        ...

    def done(self, pod: Pod) -> None:
        """A popped pod is on its way to its node, or is dropped: events no longer concern it."""
        ...

    def activate(self, pods: Sequence[Pod]) -> None:
        """Pods are to be tried now; those that are not in the queue are passed over (1.36)."""
        ...

    # --- pods of the queue -----------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A new pod."""
        ...

    def update(self, old: Pod, new: Pod) -> None:
        """A pending pod changed."""
        ...

    def delete(self, pod: Pod) -> None:
        """A pending pod is gone."""
        ...

    def bound(self, pod: Pod) -> None:
        """A pending pod got its node, by this scheduler or another: it is no longer to be tried."""
        ...

    def nominate(self, pod: Pod, node_name: str) -> None:
        """A pod waits for room on a node."""
        ...

    def gate(self, pod: Pod) -> str:
        """Why a pod is held back from being tried; empty when it is not."""
        ...

    def place(self, pod: Pod) -> Place | None:
        """Where in the queue a pod is; None: nowhere."""
        ...

    # --- what happens elsewhere --------------------------------------------------------------

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod was bound."""
        ...

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A bound pod changed."""
        ...

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:
        """A pod gave its place on a node back; all pods but one may fit now."""
        ...

    def node_added(self, node: Node) -> None:
        """A node came."""

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed."""

    def node_deleted(self, node: Node) -> None:
        """A node is gone."""

    def object_changed(self, old: Any, new: Any) -> None:
        """Any other object came (``old`` is None), changed, or went (``new`` is None)."""
        ...

    # --- time --------------------------------------------------------------------------------

    def flush_due(self) -> None:
        """Moves the pods whose wait is over, if the clock stands at a tick."""
        ...

    def next_flush(self) -> float | None:
        """The next tick at which ``flush_due`` moves a pod; None when no pod waits."""
        ...

    def resting(self) -> list[Pod] | None:
        """The pods that will be tried by themselves some day; None if any is to be tried sooner."""
        ...

    def rest_until(self, moment: float) -> dict[str, int]:
        """Lets time pass in which pods are tried in vain; how often each was, by its key."""
        ...

    def pending(self) -> list[Pod]:
        """Every pod of the queue."""
        ...

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, that wait out a back-off, that are unschedulable or held back."""
        ...

    def __len__(self) -> int: ...
