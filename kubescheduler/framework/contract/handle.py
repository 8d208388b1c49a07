"""The Handle: what a plugin may use."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from algorithmprovider.pernode import NodeInfo
from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Extender
from kubescheduler.framework.contract.cancellation import Cancellation
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.status import Status

if TYPE_CHECKING:
    from kubescheduler.framework.deciding.pre_filter_plugins import PreFilterOutcome
    from kubescheduler.framework.running.runner_score import ScoreOutcome


class WaitingPod(Protocol):
    """A pod that Permit plugins hold. Upstream: framework.WaitingPod."""

    @property
    def pod(self) -> Pod: ...
    def pending_plugins(self) -> list[str]: ...
    def allow(self, plugin: str) -> None: ...
    def reject(self, plugin: str, message: str) -> bool: ...
    def preempt(self, plugin: str, message: str) -> bool: ...


class PluginRunner(Protocol):
    """Runs all plugins of the profile, for plugins that try things out.

    ``there`` is a snapshot of one row, ``feasible`` one of exactly the nodes that fit, both with the pods that are
    thought onto or away from nodes.
    """

    def run_pre_filter(self, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome: ...
    def run_add_pod(self, state: CycleState, pod: Pod, added: Pod, there: Snapshot) -> Status | None: ...
    def run_remove_pod(self, state: CycleState, pod: Pod, removed: Pod, there: Snapshot) -> Status | None: ...
    def run_filter(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None: ...
    def run_filter_with_nominated(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None: ...
    def run_pre_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> Status | None: ...
    def run_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> ScoreOutcome: ...


class EventRecorder(Protocol):
    """Where events about pods go."""

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str) -> None: ...


class Client(Protocol):
    """The writes that a scheduler makes; each may raise a SchedulingError with the API's text."""

    def bind(self, pod: Pod, node_name: str) -> None: ...
    def delete_pod(self, pod: Pod) -> None: ...
    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None: ...
    def update_object(self, obj: Any) -> None: ...


class Handle(Protocol):
    """What a framework offers its plugins. Upstream: framework.Handle (1.20: FrameworkHandle).

    environment: KUBE_MAX_PD_VOLS and the like, as given to the process. clock: seconds.
    """

    @property
    def release(self) -> str: ...
    @property
    def profile_name(self) -> str: ...
    @property
    def feature_gates(self) -> Mapping[str, bool]: ...
    @property
    def max_pd_volumes(self) -> int | None: ...
    @property
    def cache(self) -> ClusterCache: ...
    @property
    def client(self) -> Client | None: ...
    @property
    def events(self) -> EventRecorder: ...
    @property
    def extenders(self) -> Sequence[Extender]: ...
    @property
    def rng(self) -> random.Random: ...
    @property
    def clock(self) -> Callable[[], float]: ...

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

    def waiting_pods(self) -> Iterator[WaitingPod]: ...
    def waiting_pod(self, uid: str) -> WaitingPod | None: ...
    def reject_waiting_pod(self, uid: str) -> bool: ...
    def pod_in_pre_bind(self, uid: str) -> Cancellation | None:
        """What cancels the binding of a pod whose PreBind plugins are at work (1.36)."""
        ...

    def departed(self, pod: Pod) -> None:
        """A placed pod was taken out of ``cache`` by a plugin: others may fit now."""
        ...

    def activate(self, pods: Sequence[Pod]) -> None:
        """Pods of the queue are to be tried now."""
        ...
