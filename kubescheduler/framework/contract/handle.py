"""The Handle: what a plugin may use."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from algorithmprovider.pernode import NodeInfo
from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod, ResourceClaim
from clusterstate.snapshot import Snapshot
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import Cancellation, CycleState
from kubescheduler.framework.contract.observer import Observer
from kubescheduler.framework.contract.runner_results import PreFilterOutcome, ScoreOutcome
from predicates.types import FitPredicate


class WaitingPod(Protocol):
    """A pod that Permit plugins hold. Upstream: framework.WaitingPod."""

    @property
    def pod(self) -> Pod:
        """The pod that waits."""

    def pending_plugins(self) -> list[str]:
        """The Permit plugins that have not allowed it yet."""

    def allow(self, plugin: str) -> None:
        """Allows the pod on behalf of a plugin; once all have, it is bound."""

    def reject(self, plugin: str, message: str) -> bool:
        """Rejects the pod on behalf of a plugin. False when it no longer waits."""

    def preempt(self, plugin: str, message: str) -> bool:
        """Rejects the pod because another one takes its place. False when it no longer waits."""


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


class Handle(Protocol):
    """What a framework offers its plugins. Upstream: framework.Handle (1.20: FrameworkHandle).

    environment: KUBE_MAX_PD_VOLS and the like, as given to the process. clock: seconds.
    """

    @property
    def release(self) -> str:
        """The release that decides."""

    @property
    def profile_name(self) -> str:
        """The schedulerName of the profile that the plugin is in."""

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Every gate of the release."""

    @property
    def max_pd_volumes(self) -> int | None:
        """The limit that the variable KUBE_MAX_PD_VOLS sets; None when it is not set."""

    @property
    def cache(self) -> ClusterCache:
        """The cluster."""

    @property
    def client(self) -> Client | None:
        """What changes the cluster; None where nothing does."""

    @property
    def events(self) -> EventRecorder:
        """Where events are recorded."""

    @property
    def observer(self) -> Observer:
        """What is told how long things took."""
        ...

    @property
    def extenders(self) -> Sequence[Extender]:
        """The extenders, in order."""

    @property
    def rng(self) -> random.Random:
        """The source of randomness."""

    @property
    def clock(self) -> Callable[[], float]:
        """The time in seconds."""

    @property
    def today(self) -> Callable[[], float]:
        """The time in seconds since the epoch, for timestamps of objects."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held by whoever changes ``cache``, or reads it outside the scheduling cycle."""
        ...

    @property
    def runner(self) -> PluginRunner:
        """All plugins of the profile; there is none yet while plugins are made."""
        ...

    def snapshot(self) -> Snapshot:
        """The cluster of the attempt under way; to be read in the scheduling cycle only."""
        ...

    def node_infos(self) -> list[NodeInfo]:
        """Every node with its pods."""
        ...

    def node_info(self, name: str) -> NodeInfo:
        """Raises SchedulingError when there is no such node."""
        ...

    def nominated(self, node_name: str) -> Sequence[Pod]:
        """The pods nominated to a node."""
        ...

    def waiting_pods(self) -> Sequence[WaitingPod]:
        """The pods that Permit plugins hold, as they are now."""

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """The waiting pod of a uid; None when it does not wait."""

    def reject_waiting_pod(self, uid: str) -> bool:
        """Rejects a waiting pod. False when it does not wait."""

    def pod_in_pre_bind(self, uid: str) -> Cancellation | None:
        """What cancels the binding of a pod whose PreBind plugins are at work (1.36)."""
        ...

    def in_background(self, work: Callable[[], None]) -> None:
        """Has work done beside the attempts that go on; in a simulation at once."""
        ...

    def sleep(self, cancellation: Cancellation, seconds: float) -> object:
        """Lets some seconds pass, fewer when the work is to stop."""
        ...

    def activate(self, pods: Sequence[Pod]) -> None:
        """Pods of the queue are to be tried now."""
        ...
