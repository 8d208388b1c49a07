"""In which order pending pods are scheduled, and when those that fitted nowhere are tried again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ClusterStateError
from clusterstate.objects import Pod
from kubescheduler.queue.backoff import BackoffRecords
from kubescheduler.queue.entry import Place
from kubescheduler.queue.heap import KeyedHeap
from kubescheduler.queue.move_requests import node_update_moves, object_change_moves, wants_to_be_near
from kubescheduler.queue.nominations import note_nomination, update_nomination

if TYPE_CHECKING:
    from clusterstate.objects import Node
    from kubescheduler.queue.entry import Failed
    from kubescheduler.queue.heap import Rank
    from kubescheduler.queue.nominations import Nominations

BACKOFF_TICK = 1.0
"""Seconds between looks at the pods whose wait may be over."""
UNSCHEDULABLE_TICK = 30.0
"""Seconds between looks at the pods that no event has moved."""
UNSCHEDULABLE_SECONDS = 60.0
"""Pods that have lain longer than this are tried again without an event."""

Clock = Callable[[], float]
"""Seconds since any fixed moment."""


class QueuedPod(msgspec.Struct, frozen=True):
    """A pod and the time at which it came into the queue, or came back from its last attempt."""

    pod: Pod
    since: float


class SchedulingQueue:
    """Pods to schedule: active, waiting out a back-off, or unschedulable until something happens.

    Pods are identified by namespace and name. Nothing here waits: a caller with a clock calls ``flush_backoff`` every
    BACKOFF_TICK and ``flush_unschedulable`` every UNSCHEDULABLE_TICK seconds. Upstream: 1.16 PriorityQueue.
    """

    def __init__(self, clock: Clock, nominations: Nominations) -> None:
        self._clock = clock
        self._nominations = nominations
        self._backoff = BackoffRecords()
        self._active: KeyedHeap[QueuedPod] = KeyedHeap()
        self._waiting: KeyedHeap[QueuedPod] = KeyedHeap()
        self._unschedulable: dict[str, QueuedPod] = {}  # in order of their ``since``
        self._cycle = 0
        self._move_cycle = -1

    @property
    def cycle(self) -> int:
        """How many pods have been popped; the number of the attempt that is under way."""
        return self._cycle

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Pods that are active, waiting out a back-off, unschedulable."""
        return len(self._active), len(self._waiting), len(self._unschedulable)

    def __bool__(self) -> bool:
        return bool(self._active.alive or self._waiting.alive or self._unschedulable)

    def __len__(self) -> int:
        return len(self._active.alive) + len(self._waiting.alive) + len(self._unschedulable)

    def __contains__(self, pod: Pod) -> bool:
        return pod.key in self._active or pod.key in self._waiting or pod.key in self._unschedulable

    def pending(self) -> list[Pod]:
        """Every pod of the queue: the active ones, those in back-off, the unschedulable ones."""
        return [entry.pod for part in (self._active, self._waiting, self._unschedulable.values()) for entry in part]

    # --- attempts --------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A new pod becomes active."""
        key = pod.key
        self._waiting.alive.pop(key, None)
        self._unschedulable.pop(key, None)
        self._activate(QueuedPod(pod, self._clock()))
        note_nomination(self._nominations, pod)

    def pop(self) -> QueuedPod | None:
        """The next pod to try: higher priority first, then who came first. None when no pod is active."""
        entry = self._active.pop()
        if entry is not None:
            self._cycle += 1
        return entry

    def add_unschedulable(self, pod: Pod, cycle: int) -> None:
        """A pod whose attempt failed comes back; ``cycle`` is the number of that attempt.

        It waits for its back-off only if something has moved pods since, as that may have come too late for it.
        Raises ClusterStateError if it is in the queue already. Upstream: 1.16 AddUnschedulableIfNotPresent.
        """
        for name, part in (
            ("unschedulableQ", self._unschedulable),
            ("activeQ", self._active),
            ("backoffQ", self._waiting),
        ):
            if pod.key in part:
                raise ClusterStateError(f"pod is already present in {name}")
        now = self._clock()
        self._backoff.failed(pod.key, now)
        entry = QueuedPod(pod, now)
        if self._move_cycle >= cycle:
            self._wait(entry)
        else:
            self._unschedulable[pod.key] = entry
        note_nomination(self._nominations, pod)

    def put_back(self, entry: QueuedPod, pod: Pod, failure: Failed) -> None:  # noqa: ARG002
        """The attempt that is under way failed; ``pod``: as it is now. See ``add_unschedulable``."""
        self.add_unschedulable(pod, self._cycle)

    def done(self, pod: Pod) -> None:
        """A popped pod is on its way to its node: nothing is kept of it."""

    def gate(self, pod: Pod) -> str:  # noqa: ARG002
        """No pod is held back."""
        return ""

    def place(self, pod: Pod) -> Place | None:
        """Where a pod is; None: nowhere."""
        if pod.key in self._active:
            return Place.ACTIVE
        if pod.key in self._waiting:
            return Place.BACKOFF
        return Place.UNSCHEDULABLE if pod.key in self._unschedulable else None

    def activate(self, pods: Sequence[Pod]) -> None:
        """1.16 has no plugins that could ask for it."""

    # --- what happens to pods of the queue ---------------------------------------------------

    def update(self, old: Pod, new: Pod) -> None:
        """A pending pod changed. Upstream: 1.16 Update."""
        key = new.key
        if (entry := self._active.get(key) or self._waiting.remove(key)) is not None:
            update_nomination(self._nominations, old, new)
            self._activate(QueuedPod(new, entry.since))
        elif (entry := self._unschedulable.get(key)) is not None:
            update_nomination(self._nominations, old, new)
            if changes_more_than_status(old, new):
                self._backoff.forget(key)
                del self._unschedulable[key]
                self._activate(QueuedPod(new, entry.since))
            else:
                self._unschedulable[key] = QueuedPod(new, entry.since)
        else:
            self.add(new)

    def delete(self, pod: Pod) -> None:
        """A pending pod is gone. One that is not in the queue is only no longer nominated."""
        key = pod.key
        self._nominations.nominate(pod, "")
        if self._active.alive.pop(key, None) is None:
            self._backoff.forget(key)
            self._waiting.alive.pop(key, None)
            self._unschedulable.pop(key, None)

    def bound(self, pod: Pod) -> None:
        """A pod got its node: the handler of pending pods sees it go."""
        self.delete(pod)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Notes in memory that a pod waits for room on a node. Upstream: 1.16 UpdateNominatedPodForNode."""
        note_nomination(self._nominations, pod, node_name)

    # --- what happens elsewhere --------------------------------------------------------------

    def move_all(self) -> None:
        """Something changed that may let any pod in. Upstream: 1.16 MoveAllToActiveQueue."""
        self._move(list(self._unschedulable.values()))

    def assigned_pod_changed(self, pod: Pod) -> None:
        """A pod was placed, or a placed one changed: pods that must be near such a pod are moved.

        Upstream: 1.16 AssignedPodAdded, AssignedPodUpdated.
        """
        self._move([entry for entry in self._unschedulable.values() if wants_to_be_near(entry.pod, pod)])

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod was bound: pods that want to be near it are tried again."""
        self.assigned_pod_changed(pod)

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:  # noqa: ARG002
        """A bound pod changed: pods that want to be near it are tried again."""
        self.assigned_pod_changed(new)

    def assigned_pod_deleted(self, pod: Pod, excluding: Pod | None = None) -> None:  # noqa: ARG002
        """A bound pod is gone: every unschedulable pod is tried again."""
        self.move_all()

    def node_added(self, node: Node) -> None:  # noqa: ARG002
        """A node is new: every unschedulable pod is tried again."""
        self.move_all()

    def node_updated(self, old: Node, new: Node) -> None:
        """Any update counts while no pod is unschedulable: one may be under way. Upstream: 1.16 updateNodeInCache."""
        if not self._unschedulable or node_update_moves(old, new):
            self.move_all()

    def node_deleted(self, node: Node) -> None:
        """Moves nothing."""

    def object_changed(self, old: Any, new: Any) -> None:
        """Another object came, changed or went."""
        if object_change_moves(old, new):
            self.move_all()

    def flush_backoff(self) -> None:
        """Pods whose wait is over become active. Upstream: 1.16 flushBackoffQCompleted."""
        now = self._clock()
        while (entry := self._waiting.peek()) is not None and not self._backoff.is_waiting(entry.pod.key, now):
            self._waiting.pop()
            self._activate(entry)

    def flush_unschedulable(self) -> None:
        """Pods that have lain for more than UNSCHEDULABLE_SECONDS move. Upstream: 1.16 flushUnschedulableQLeftover."""
        now = self._clock()
        old = [entry for entry in self._unschedulable.values() if now - entry.since > UNSCHEDULABLE_SECONDS]
        if old:
            self._move(old)

    def flush_due(self) -> None:
        """Both flushes, if the clock stands at a tick of theirs; both tick since time 0."""
        now = self._clock()
        if now % BACKOFF_TICK == 0:
            self.flush_backoff()
        if now % UNSCHEDULABLE_TICK == 0:
            self.flush_unschedulable()

    def next_flush(self) -> float | None:
        """The first tick at which ``flush_due`` moves a pod; None when no pod waits."""
        now = self._clock()
        ticks = []
        if (rank := self._waiting.lowest()) is not None:
            ticks.append(BACKOFF_TICK * max(math.ceil(rank[0] / BACKOFF_TICK), math.floor(now / BACKOFF_TICK) + 1))
        if self._unschedulable:
            oldest = next(iter(self._unschedulable.values()))
            ticks.append(max(flush_of(oldest.since), flush_of(now - UNSCHEDULABLE_SECONDS)))
        return min(ticks, default=None)

    def resting(self) -> list[Pod] | None:
        """The unschedulable pods, if there are no others that will be tried by themselves; else None."""
        if self._active or self._waiting:
            return None
        return [entry.pod for entry in self._unschedulable.values()]

    def rest_until(self, moment: float) -> dict[str, int]:
        """Lets time pass in which nothing happens but that unschedulable pods are tried, fail, and come back.

        Leaves the queue as flushes and failing attempts at every tick before ``moment`` would have; pods must neither
        be active nor wait. Returns how often each pod was tried, by its key.
        """
        if self._active or self._waiting:
            raise ClusterStateError("only unschedulable pods can rest; flush and pop the others first")
        again = UNSCHEDULABLE_SECONDS + UNSCHEDULABLE_TICK
        tried: dict[str, int] = {}
        entries: list[tuple[Rank, QueuedPod]] = []
        for key, entry in self._unschedulable.items():
            first = flush_of(entry.since)
            count = max(0, math.ceil((moment - first) / again))
            if count:
                tried[key] = count
                since = first + (count - 1) * again
                entries.append(((since, *_order(entry)), QueuedPod(entry.pod, since)))
            else:
                entries.append(((entry.since,), entry))
        entries.sort(key=lambda ranked: ranked[0])
        self._unschedulable = {entry.pod.key: entry for _, entry in entries}
        for key in tried:
            self._backoff.forget(key)
        for key, entry in self._unschedulable.items():
            if key in tried:
                self._backoff.failed(key, entry.since)
        self._cycle += sum(tried.values())
        return tried

    # --- inside ------------------------------------------------------------------------------

    def _activate(self, entry: QueuedPod) -> None:
        self._active.put(entry.pod.key, entry, _order(entry))

    def _wait(self, entry: QueuedPod) -> None:
        self._waiting.put(entry.pod.key, entry, (self._backoff.expiry(entry.pod.key) or 0.0,))

    def _move(self, entries: Iterable[QueuedPod]) -> None:
        now = self._clock()
        for entry in entries:
            if self._backoff.is_waiting(entry.pod.key, now):
                self._wait(entry)
            else:
                self._activate(entry)
            del self._unschedulable[entry.pod.key]
        self._move_cycle = self._cycle


def flush_of(since: float) -> float:
    """The first tick at which a pod that is unschedulable since then has lain for long enough."""
    return UNSCHEDULABLE_TICK * (math.floor((since + UNSCHEDULABLE_SECONDS) / UNSCHEDULABLE_TICK) + 1)


def _order(entry: QueuedPod) -> Rank:
    """Upstream: 1.16 activeQComp."""
    return (-entry.pod.priority, entry.since)


def changes_more_than_status(old: Pod, new: Pod) -> bool:
    """Whether an update touches more than status, resourceVersion and generation.

    Where both manifests are kept, all that they say counts: finalizers too, and managedFields, which an API server
    since 1.18 changes with every write, so that a status which the scheduler wrote has the pod tried again at once.
    Upstream: 1.16 and 1.20 isPodUpdated.
    """
    if (old.metadata, old.spec, old.node_name) != (new.metadata, new.spec, new.node_name):
        return True
    return None not in (old.manifest, new.manifest) and _stripped(old) != _stripped(new)


def _stripped(pod: Pod) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the manifest, its metadata) without what does not count as an update."""
    manifest = pod.manifest or {}
    metadata = manifest.get("metadata") or {}
    return (
        {key: value for key, value in manifest.items() if key not in ("metadata", "status")},
        {key: value for key, value in metadata.items() if key not in ("resourceVersion", "generation")},
    )
