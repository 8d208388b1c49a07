"""QueuePolicy: in what the queues of the releases differ, and the functions that a release's file picks from.

A release names one function a question: how long a failed pod waits, when that is found to be over, which changes of
the cluster have which pods tried again. ``SchedulingQueue`` asks them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.objects import CSINode, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service, StorageClass
from clusterstate.selectors.matching import SelectorError, compile_label_selector, term_namespaces
from kubescheduler.queue.queueing_hints import (
    ASSIGNED_POD,
    NODE,
    Action,
    ClusterEvent,
    Event,
    Events,
    QueueingHint,
    QueueingHints,
)

if TYPE_CHECKING:
    from clusterstate.podinfo import PodInfo
    from clusterstate.snapshot import Snapshot
    from kubescheduler.queue.entry import Backoff, QueueEntry


class QueuePolicy(msgspec.Struct, frozen=True, eq=False):
    """One release's queue."""

    # --- who waits how long

    backoffs: Callable[[Backoff], Backoffs]
    """How long a pod waits after an attempt that failed."""
    is_over: Callable[[float, float], bool]
    """Of (the end of a back-off, now): whether it is found to be over."""
    found_over: Callable[[float, float], float]
    """The same: the first moment after now at which it is."""
    lies_for: float
    """Seconds after which an unschedulable pod is tried again without an event."""
    retry_period: Callable[[float], int] | None
    """Of the longest back-off: after how many seconds a pod that erred is tried again for good; None: like others."""
    present: tuple[str, str, str]
    """What is said of a pod that is put back and is there: unschedulable, active, in back-off; ``{}``: its key."""

    # --- which events move whom

    arrival: str
    """What metrics call a new pod's arrival."""
    resources: Mapping[type, str]
    """Kinds other than pods and nodes whose changes matter → what they are called."""
    node_actions: Callable[[Node, Node], Iterable[Action]]
    """What an update of a node does, an event each."""
    pod_actions: Callable[[Pod, Pod], Iterable[Action]]
    """What an update of a pod does, an event each."""
    counts: Callable[[ClusterEvent, bool], bool]
    """Of (an event, whether pods are unschedulable): whether it moves pods at all."""
    helps: Callable[[QueueingHints, QueueEntry, ClusterEvent], QueueingHint]
    """What an event does for an unschedulable pod."""
    label: Callable[[ClusterEvent], Event]
    """What pods are said to be moved by."""
    events: Events | None = None
    """Plugin → what it registers; None: what the plugins' own records say."""
    admits: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether an unschedulable pod passes a first look at the row of a node that came or changed; one that
    does not stays where it is. None: nobody looks."""
    updates_in_place: bool = False
    """Where no events are kept: a pod in back-off that changes stays there, and an unschedulable one whose spec
    changes waits out its back-off; otherwise both become active."""
    keeps_events: bool = False
    """Whether the events during an attempt are kept for its pod, which is then asked about each, own updates included.
    Without, a pod that failed waits for its back-off alone if anything moved pods since the last pod was popped: that
    may have come too late for it."""
    tries_early: bool = False
    """Whether a pod in back-off is tried when there is nothing else to do, unless it erred."""
    rests_in_backoff: bool = False
    """Whether time may pass at once while pods are in back-off that did not err."""


# --- how long a failed pod waits ---------------------------------------------------------------


class Backoffs:
    """Doubled with every attempt but the first, up to the longest. Upstream: 1.20 calculateBackoffDuration."""

    def __init__(self, limits: Backoff) -> None:
        self.initial, self.longest = limits.initial, limits.longest

    @property
    def settled(self) -> float:
        """How long a pod waits that is tried in vain regularly."""
        return self.longest

    def failed(self, entry: QueueEntry, now: float) -> None:
        """Notes in an entry that its attempt failed now, and until when it waits."""
        entry.timestamp, entry.backoff_until = now, now + self.seconds(entry.attempts)

    def seconds(self, failures: int) -> float:
        """How long a pod waits after so many failures, at least one."""
        doublings = min(max(failures, 1) - 1, 62)
        return self.longest if self.initial > self.longest / 2.0**doublings else self.initial * 2.0**doublings

    def forget(self, key: str) -> None:
        """The next failure of the pod of this key is its first, as far as that is not said by its entry."""

    def rested(self, entry: QueueEntry) -> None:
        """A pod was tried in vain regularly, the last time at the entry's timestamp."""


class WholeSecondBackoffs(Backoffs):
    """Ends are whole seconds. Upstream: 1.33 backoffQueue."""

    def failed(self, entry: QueueEntry, now: float) -> None:
        """Every attempt counts."""
        super().failed(entry, now)
        entry.backoff_until = float(math.floor(entry.backoff_until))


class BackoffsOfErrors(Backoffs):
    """Errors in a row count on their own, rejections do all. Ends are whole seconds. Upstream: 1.36 backoffQueue."""

    def failed(self, entry: QueueEntry, now: float) -> None:
        """A rejection ends a row of errors."""
        if entry.erred:
            entry.errors += 1
        else:
            entry.rejections, entry.errors = entry.rejections + 1, 0
        wait = self.seconds(entry.errors or entry.rejections)
        entry.timestamp = now
        entry.backoff_until = float(math.floor(now + wait)) if self.longest else -math.inf


class BackoffsByKey(Backoffs):
    """Failures are counted beside the queue, by pod, and forgotten when they lie too long back.

    One during the wait for the failure before does not count. Upstream: 1.16 PodBackoffMap.
    """

    def __init__(self, limits: Backoff) -> None:
        super().__init__(limits)
        self._records: OrderedDict[str, tuple[int, float]] = OrderedDict()  # (failures, the last), in its order

    @property
    def settled(self) -> float:
        """Pods lie for so long that every failure is the first one."""
        return self.initial

    def failed(self, entry: QueueEntry, now: float) -> None:
        """It counts once the wait for the one before is over."""
        key = entry.pod.key
        self._forget_idle(now)
        failures, last = self._records.get(key, (0, -math.inf))
        if not failures or self.counts_early or last + self.seconds(failures) <= now:
            failures, last = failures + 1, now
            self._note(key, failures, last)
        entry.timestamp, entry.backoff_until = now, last + self.seconds(failures)

    counts_early = False
    """Whether a failure during the wait for the one before counts."""

    def forget(self, key: str) -> None:
        """Drops the record."""
        self._records.pop(key, None)

    def rested(self, entry: QueueEntry) -> None:
        """The count stays what it is."""
        failures = self._records.get(entry.pod.key, (1, 0.0))[0]
        self._note(entry.pod.key, failures, entry.timestamp)

    def _note(self, key: str, failures: int, last: float) -> None:
        self._records[key] = (failures, last)
        self._records.move_to_end(key)

    def _forget_idle(self, now: float) -> None:
        while self._records:
            key, (_, last) = next(iter(self._records.items()))
            if last + self.longest >= now:
                return
            del self._records[key]


# --- when a wait is found to be over -----------------------------------------------------------


def is_past(until: float, now: float) -> bool:
    """As soon as it ends."""
    return until <= now


def own_timer(until: float, _: float) -> float:
    """Each wait has a timer (1.4)."""
    return until


def next_second(until: float, now: float) -> float:
    """Somebody looks every second."""
    return max(float(math.ceil(until)), math.floor(now) + 1.0)


def second_is_past(until: float, now: float) -> bool:
    """Whole seconds count, and the one in which it ends has to be over (1.36)."""
    return until < math.floor(now)


def second_after(until: float, now: float) -> float:
    """Likewise, and somebody looks every second."""
    return max(until, math.floor(now)) + 1.0


# --- which events move whom: all pods, before there were hints -----------------------------------

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"

MOVING_KINDS: dict[type, str] = {
    PersistentVolume: "Pv",
    PersistentVolumeClaim: "Pvc",
    StorageClass: "StorageClass",
    Service: "Service",
    CSINode: "CSINode",
}
"""Kinds other than pods and nodes that may move pods → what 1.20's metrics call them."""


def one_update(_: Node | Pod, __: Node | Pod) -> tuple[Action, ...]:
    """An update is one event, whatever changed."""
    return (Action.UPDATE,)


def no_event_counts(_: ClusterEvent, __: bool) -> bool:
    """No event brings a pod back sooner (1.4)."""
    return False


def every_event_counts(_: ClusterEvent, __: bool) -> bool:
    """Each pod's plugins are asked (1.36)."""
    return True


def may_let_pods_in(event: ClusterEvent, lying: bool) -> bool:
    """Not a node less, nor what no predicate reads.

    Any update of a node counts while no pod is unschedulable, as one may be under way. Upstream: 1.16 and 1.20
    AddAllEventHandlers.
    """
    if event.resource == NODE:
        if event.action is Action.UPDATE:
            return not lying or node_update_moves(event.old, event.new)
        return event.action is Action.ADD
    return event.resource == ASSIGNED_POD or object_change_moves(event.old, event.new)


def all_or_near(_: QueueingHints, entry: QueueEntry, event: ClusterEvent) -> QueueingHint:
    """A placed pod helps those that must be near it, anything else all. Upstream: 1.16 AssignedPodAdded."""
    if event.resource == ASSIGNED_POD and event.new is not None and not wants_to_be_near(entry.pod, event.new):
        return QueueingHint.SKIP
    return QueueingHint.QUEUE


def by_registered_events(hints: QueueingHints, entry: QueueEntry, event: ClusterEvent) -> QueueingHint:
    """Whether a plugin that rejected the pod registered such an event; any event helps a pod that none rejected.

    Placed pods help those alone that must be near them. Upstream: 1.21 to 1.31 podMatchesEvent.
    """
    if all_or_near(hints, entry, event) is QueueingHint.SKIP:
        return QueueingHint.SKIP
    if entry.erred and event.concerns(entry.pod):
        return QueueingHint.QUEUE
    return hints.of(entry, event)


def by_hints(hints: QueueingHints, entry: QueueEntry, event: ClusterEvent) -> QueueingHint:
    """What the plugins say that rejected the pod (1.36)."""
    return hints.of(entry, event)


def label_of_change(event: ClusterEvent) -> Event:
    """Upstream: 1.20 events.go."""
    if event.resource == NODE and event.action is Action.UPDATE:
        return node_update_label(event.old, event.new)
    return event.label


def label_when_asked(event: ClusterEvent) -> Event:
    """The event itself, which puts its label together when somebody reads it (1.36)."""
    return event


def node_update_moves(old: Node, new: Node) -> bool:
    """Whether a node's update may let a pod in: schedulable again, or other amounts, labels, taints or conditions.

    Upstream: 1.16 nodeSchedulingPropertiesChanged.
    """
    return (
        (old.unschedulable and not new.unschedulable)
        or old.allocatable != new.allocatable
        or old.metadata.labels != new.metadata.labels
        or old.taints != new.taints
        or {c.type: c.status for c in old.conditions} != {c.type: c.status for c in new.conditions}
    )


def node_update_label(old: Node, new: Node) -> str:
    """What a node's update that moves pods is called in metrics. Upstream: 1.20 nodeSchedulingPropertiesChange."""
    if old.unschedulable and not new.unschedulable:
        return "NodeSpecUnschedulableChange"
    if old.allocatable != new.allocatable:
        return "NodeAllocatableChange"
    if old.metadata.labels != new.metadata.labels:
        return "NodeLabelChange"
    return "NodeTaintChange" if old.taints != new.taints else "NodeConditionChange"


def object_change_moves(old: Any, new: Any) -> bool:
    """Whether an object that came (``old`` is None), changed or went (``new`` is None) may let a pod in."""
    if isinstance(new, StorageClass):
        return old is None and new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    if isinstance(old, Service) or isinstance(new, Service):
        return True
    return isinstance(new, (PersistentVolume, PersistentVolumeClaim, CSINode))


def wants_to_be_near(waiting: Pod, placed: Pod) -> bool:
    """Whether a required pod-affinity term of ``waiting`` picks ``placed``. An invalid term picks nothing.

    Upstream: 1.16 getUnschedulablePodsWithMatchingAffinityTerm.
    """
    affinity = waiting.spec.affinity
    if affinity is None or affinity.pod_affinity is None:
        return False
    for term in affinity.pod_affinity.required:
        if placed.metadata.namespace not in term_namespaces(term, waiting.metadata.namespace):
            continue
        try:
            if compile_label_selector(term.label_selector)(placed.metadata.labels):
                return True
        except SelectorError:
            continue
    return False


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
