"""The Handle, through which one profile's plugins reach the cluster and what all profiles share.

Read ``Services`` and ``Handle``, at the end, first. Pods wait whose node is chosen, until each Permit plugin that holds
them allows it.
"""

from __future__ import annotations

import random
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import time as wall_clock
from typing import Any, Protocol

import msgspec
import numpy as np

from algorithmprovider.pernode import NodeInfo, node_infos
from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.objects import ClaimVolume, Pod, ResourceClaim
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_duration, go_quote
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import Cancellation, CycleState, Timekeeper
from kubescheduler.framework.contract.runs import Observer, PreFilterOutcome, ScoreOutcome
from predicates.types import FitPredicate


class PluginRunner(Protocol):
    """Runs all plugins of the profile, for plugins that try things out.

    ``there`` is a snapshot of one row, ``feasible`` one of exactly the nodes that fit, both with the pods that are
    hypothetically added to or removed from nodes.
    """

    def filter_checks(self) -> Sequence[FitPredicate]:
        """What the Filter plugins that judge all nodes at once are made of, in the order they run."""
        ...

    def run_pre_filter(self, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
        """Runs the PreFilter plugins."""

    def run_add_pod(self, state: CycleState, pod: Pod, added: Pod, there: Snapshot) -> Status | None:
        """Has the PreFilter plugins take account of a pod that is hypothetically added to the one row of ``there``."""

    def run_remove_pod(self, state: CycleState, pod: Pod, removed: Pod, there: Snapshot) -> Status | None:
        """Has the PreFilter plugins take account of a pod that is hypothetically removed from that row."""

    def run_filter(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """Runs the Filter plugins on the one row of ``there``."""

    def run_filter_with_nominated(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """The same, also with the more important pods that are nominated to the node."""

    def run_pre_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> Status | None:
        """Runs the PreScore plugins over the feasible nodes."""

    def run_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> ScoreOutcome:
        """Runs the Score plugins over the feasible nodes."""


class EventRecorder(Protocol):
    """Where events about pods go."""

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str, related: Pod | None = None) -> None:
        """Records an event about a pod; ``related`` is another one that it concerns."""


class Client(Protocol):
    """The writes that a scheduler makes; each may raise a SchedulingError with the API's text."""

    def bind(self, pod: Pod, node_name: str) -> None:
        """Binds the pod to the node."""

    def delete_pod(self, pod: Pod) -> None:
        """Deletes the pod."""

    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Sets these fields of the pod's status."""

    def update_object(self, obj: Any) -> None:
        """Replaces an object by this version of it."""

    def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Creates a claim; returns it with the name and uid that it got."""
        ...

    def update_claim(self, claim: ResourceClaim, change: Callable[[ResourceClaim], ResourceClaim]) -> ResourceClaim:
        """Gives a claim the status that ``change`` makes of the claim as the API has it; returns it as it is then."""
        ...

    def take_back_claim(self, claim: ResourceClaim, pod: Pod) -> ResourceClaim:
        """The claim is no longer reserved for the pod; returns it as it is then."""
        ...

    def delete_claim(self, claim: ResourceClaim) -> None:
        """Deletes a claim."""


LONGEST_WAIT = 15 * 60.0
"""Seconds that a Permit plugin can ask for at most."""

REMOVED = "removed"
"""The message of a pod that is rejected by its uid."""


class HeldPod:
    """One waiting pod; the first thing that settles it counts. Upstream: framework.WaitingPod.

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


class Answerable(Protocol):
    """Something that will be settled."""

    def wait(self) -> object:
        """Waits until it is."""

    def when_settled(self, follow: Callable[[], None], /) -> None:
        """Has ``follow`` called once, in whatever thread settles it, or at once if it is settled."""


class NoEvents:
    """Events that nobody reads."""

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str, related: Pod | None = None) -> None:
        """Records nothing."""


def ignore_pods(_: Sequence[Pod]) -> None:
    """There is no queue in which pods could be activated."""


def in_a_thread(work: Callable[[], None]) -> None:
    """Beside everything else."""
    threading.Thread(target=work, name="background", daemon=True).start()


def at_once(work: Callable[[], None]) -> None:
    """Before anything else goes on."""
    work()


class Services(msgspec.Struct, eq=False):
    """What the profiles of one scheduler share, and the cycles around them."""

    release: str
    cache: ClusterCache
    client: Client | None = None
    """None: nothing is written anywhere."""
    events: EventRecorder = msgspec.field(default_factory=NoEvents)
    report_status: Callable[[Pod, Mapping[str, Any]], None] | None = None
    """Writes the status of a pod that was not bound, without anybody waiting for it; None: the client does, at once."""
    send_binding: Callable[[Pod, str], Answerable] | None = None
    """Sends a binding ahead, so that the client's ``bind`` of this pod has its answer; None: the client sends it."""
    reports_failures: bool = True
    """Whether failures are written down: as events, and as the condition PodScheduled."""
    extenders: Sequence[Extender] = ()
    """In the order they are asked, ignorable ones last."""
    rng: random.Random = msgspec.field(default_factory=lambda: random.Random(0))
    time: Timekeeper = msgspec.field(default_factory=Timekeeper)
    today: Callable[[], float] = wall_clock
    """Seconds since the epoch, for timestamps of objects."""
    in_background: Callable[[Callable[[], None]], None] = in_a_thread
    """How work is done beside the attempts."""
    feature_gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    max_pd_volumes: int | None = None
    """The environment's KUBE_MAX_PD_VOLS, None when it is not a positive integer."""
    observer: Observer = msgspec.field(default_factory=Observer)
    activate: Callable[[Sequence[Pod]], None] = ignore_pods
    """The queue's, for pods that are to be tried now."""
    format_note: Callable[[str], str] = str
    """What becomes of an event's note on its way, as upstream formats it once more."""
    waiting: WaitingPods = msgspec.field(default_factory=WaitingPods)
    in_pre_bind: dict[str, Cancellation] = msgspec.field(default_factory=dict)
    lock: threading.RLock = msgspec.field(default_factory=threading.RLock)
    """Held by whoever reads or changes ``cache`` or the queue."""


def _nobody() -> None:
    """The plugins are not made yet."""


class Handle:
    """What one profile offers its plugins. Upstream: framework.Handle (1.20: FrameworkHandle)."""

    def __init__(self, services: Services, profile_name: str) -> None:
        self._services = services
        self._profile_name = profile_name
        self._runner: Callable[[], PluginRunner | None] = _nobody

    def attach(self, runner: PluginRunner) -> None:
        """The plugins are made: from now on they can be run. Who runs them has the handle, and not the handle it: so
        what a scheduler keeps of a cluster is gone with it."""
        self._runner = weakref.ref(runner)

    @property
    def release(self) -> str:
        """The release's name."""
        return self._services.release

    @property
    def profile_name(self) -> str:
        """The profile's ``schedulerName``."""
        return self._profile_name

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Every gate of the release → whether it is on."""
        return self._services.feature_gates

    @property
    def max_pd_volumes(self) -> int | None:
        """The environment's ``KUBE_MAX_PD_VOLS``; None when it is not a positive integer."""
        return self._services.max_pd_volumes

    @property
    def cache(self) -> ClusterCache:
        """The cluster."""
        return self._services.cache

    @property
    def client(self) -> Client | None:
        """What is written through; None without an API."""
        return self._services.client

    @property
    def events(self) -> EventRecorder:
        """Where events are recorded."""
        return self._services.events

    @property
    def observer(self) -> Observer:
        """What is told how long things took."""
        return self._services.observer

    @property
    def extenders(self) -> Sequence[Extender]:
        """The extenders, in the order they are called."""
        return self._services.extenders

    @property
    def rng(self) -> random.Random:
        """Where chance comes from."""
        return self._services.rng

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the scheduler's start."""
        return self._services.time.now

    @property
    def today(self) -> Callable[[], float]:
        """Seconds since the epoch, for timestamps of objects."""
        return self._services.today

    @property
    def lock(self) -> threading.RLock:
        """Held by whoever changes the cluster."""
        return self._services.lock

    @property
    def runner(self) -> PluginRunner:
        """Raises ClusterStateError while plugins are made."""
        runner = self._runner()
        if runner is None:
            raise ClusterStateError("plugins cannot be run while they are made; ask for handle.runner in a method")
        return runner

    # --- the cluster -----------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The cluster as it is now, by columns."""
        return self._services.cache.snapshot()

    def node_infos(self) -> list[NodeInfo]:
        """Every node with its pods."""
        return [node_info for _, node_info in node_infos(self.snapshot())]

    def node_info(self, name: str) -> NodeInfo:
        """One node with its pods. Raises SchedulingError with upstream's text for an unknown one."""
        snapshot = self.snapshot()
        row = snapshot.row_of(name)
        if row is not None:
            for _, node_info in node_infos(snapshot.take(np.array([row]))):
                return node_info
        raise SchedulingError(f"nodeinfo not found for node name {go_quote(name)}")

    def nodes_with_affinity(self) -> list[NodeInfo]:
        """The nodes with a pod that has inter-pod affinity or anti-affinity of any kind."""
        return [info for info in self.node_infos() if any(map(_has_affinity, info.pods))]

    def nodes_with_required_anti_affinity(self) -> list[NodeInfo]:
        """The nodes with a pod that has a required anti-affinity term."""
        return [info for info in self.node_infos() if any(map(_requires_anti_affinity, info.pods))]

    def claim_in_use(self, namespace: str, name: str) -> bool:
        """Whether a placed pod uses a claim."""
        return any(
            pod.metadata.namespace == namespace and isinstance(volume, ClaimVolume) and volume.claim_name == name
            for pod in self._services.cache.pods()
            for volume in pod.spec.volumes
        )

    def nominated(self, node_name: str) -> Sequence[Pod]:
        """The pods that wait for room on a node."""
        return tuple(self._services.cache.nominated().get(node_name, ()))

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Notes that a pod waits for room on a node; an empty name takes the note back."""
        with self._services.lock:
            self._services.cache.nominate(pod, node_name)

    # --- pods on their way -----------------------------------------------------------------

    def waiting_pods(self) -> Sequence[HeldPod]:
        """The pods that Permit plugins hold, as they are now."""
        return tuple(self._services.waiting)

    def waiting_pod(self, uid: str) -> HeldPod | None:
        """The waiting pod of a uid; None when it does not wait."""
        return self._services.waiting.get(uid)

    def reject_waiting_pod(self, uid: str) -> bool:
        """Rejects the waiting pod of a uid; whether there was one."""
        return self._services.waiting.reject(uid)

    def pod_in_pre_bind(self, uid: str) -> Cancellation | None:
        """By which the PreBind plugins of a pod are given up; None when none are under way."""
        return self._services.in_pre_bind.get(uid)

    def in_background(self, work: Callable[[], None]) -> None:
        """Has work done beside the attempts."""
        self._services.in_background(work)

    def sleep(self, cancellation: Cancellation, seconds: float) -> object:
        """Waits so many seconds on the scheduler's clock, or until it is cancelled."""
        return self._services.time.sleep(cancellation, seconds)

    def activate(self, pods: Sequence[Pod]) -> None:
        """Has the queue try these pods now (1.36)."""
        self._services.activate(pods)


def _has_affinity(pod: Pod) -> bool:
    affinity: Any = pod.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)


def _requires_anti_affinity(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and affinity.pod_anti_affinity is not None and bool(affinity.pod_anti_affinity.required)
