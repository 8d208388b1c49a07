"""The services that all profiles share, and the Handle through which one profile's plugins reach them."""

from __future__ import annotations

import random
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from time import time as wall_clock
from typing import Any, Protocol

import msgspec
import numpy as np

from algorithmprovider.pernode import NodeInfo, node_infos
from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.objects import ClaimVolume, Pod
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_quote
from kubescheduler.core.extender_calls import Extender
from kubescheduler.framework.contract.clocks import RealTime, Timekeeper
from kubescheduler.framework.contract.cycle_state import Cancellation
from kubescheduler.framework.contract.handle import Client, EventRecorder, PluginRunner, WaitingPod
from kubescheduler.framework.contract.observer import Observer
from kubescheduler.framework.running.waiting_pods import WaitingPods


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
    time: Timekeeper = msgspec.field(default_factory=RealTime)
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


class FrameworkHandle:
    """One profile's Handle; see there."""

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

    def waiting_pods(self) -> Sequence[WaitingPod]:
        """The pods that Permit plugins hold, as they are now."""
        return tuple(self._services.waiting)

    def waiting_pod(self, uid: str) -> WaitingPod | None:
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
