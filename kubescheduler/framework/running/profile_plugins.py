"""The plugins of one profile, and how its release's runners react to what plugins answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState, Timekeeper
from kubescheduler.framework.contract.handle import Handle, HeldPod, WaitingPods
from kubescheduler.framework.contract.observer import Observer, Watch
from kubescheduler.framework.contract.plugin import Plugin
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, Profile
from kubescheduler.framework.contract.runner_results import PreFilterOutcome
from kubescheduler.framework.deciding.adapters import binding_by


class RunnerReactions(msgspec.Struct, frozen=True, eq=False):
    """How one release's runner reacts to what plugins answer."""

    rejected: frozenset[Code]
    """The codes that refuse a pod or node."""
    handed_on: frozenset[Code]
    """Of the rejecting codes, what Reserve, PreBind and Bind hand on as it is; all else becomes an Error there."""
    pre_score_skips: frozenset[Code]
    """Codes by which a PreScore plugin says that it gives no score."""
    pre_filter: Callable[[ProfilePlugins, CycleState, Pod, Snapshot], PreFilterOutcome]
    filter: Callable[[ProfilePlugins, CycleState, Pod, Snapshot], Status | None]
    permit_rejected: Callable[[str, Pod, Status], Status]
    """Of (plugin, pod, status): what is reported of a pod that a Permit plugin rejects."""
    permit_waits: Callable[[Pod, Status], Status]
    """Of (pod, the last Wait): what is reported of a pod that is held."""
    wait_rejected: Callable[[Pod, Status], Status]
    """Of (pod, status): what is reported of a pod that is rejected while it is held."""


class CyclePlugins:
    """What the cycles run at their points from Reserve on: here nothing. A status of None is Success. See Framework."""

    __slots__ = ()

    @property
    def profile_name(self) -> str:
        """The ``schedulerName`` of the pods it is for."""
        return DEFAULT_SCHEDULER_NAME

    @property
    def rejected(self) -> frozenset[Code]:
        """The codes that refuse a pod; others give the attempt up."""
        return frozenset()

    @property
    def post_filters(self) -> tuple[Any, ...]:
        """The PostFilter plugins."""
        return ()

    def held(self, pod: Pod) -> HeldPod | None:  # noqa: ARG002
        """The waiting pod, while Permit plugins hold it."""
        return None

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """The Reserve plugins; the first that fails ends it."""
        return None

    def bound_with(self, pod: Pod, node_name: str) -> Iterable[Any]:  # noqa: ARG002
        """The objects that binding a pod to a node changes, as they are then: none where a controller binds claims,
        whatever becomes of pods (1.4)."""
        return ()

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Takes back what Reserve plugins did, the last one first."""

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """The Permit plugins. A Wait status: the pod is among the waiting pods, and ``wait_on_permit`` waits for it."""
        return None

    def wait_on_permit(self, pod: Pod) -> Status | None:  # noqa: ARG002
        """Waits until the pod, if it is held, is let go or rejected."""
        return None

    def run_pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """Whether PreBind plugins have work to do; Skip: none has (1.36)."""
        return None

    def binds_at_once(self, pod: Pod) -> bool:  # noqa: ARG002
        """Whether nothing but one request to the API can hold up the binding of a pod."""
        return True

    def is_idle_for(self, pod: Pod) -> bool:
        """Whether a pod that has its node is only to be bound: Reserve, Permit, PreBind and PostBind have nothing to do
        for it, and nobody measures them."""
        return self.binds_at_once(pod)

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """The PreBind plugins; the first that fails ends it."""
        return None

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds; Skip: no Bind plugin bound the pod."""
        raise NotImplementedError

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The PostBind plugins, after the pod is bound."""


class ProfilePlugins(CyclePlugins, msgspec.Struct, eq=False, dict=True):
    """The plugins of one profile. Upstream: the fields of frameworkImpl."""

    release: str
    profile: Profile
    plugins: Mapping[Point, tuple[Plugin, ...]]
    """Point → its plugins in the order they run."""
    score_weights: Mapping[str, int]
    """Plugin → weight."""
    placement_weights: Mapping[str, int]
    """Plugin → weight."""
    instances: Mapping[str, Plugin]
    """Every plugin that was made, by the name it is enabled under."""
    handle: Handle
    reactions: RunnerReactions
    watch: Watch
    waiting: WaitingPods
    time: Timekeeper

    @property
    def profile_name(self) -> str:
        """The ``schedulerName`` of the pods it is for."""
        return self.profile.scheduler_name

    @property
    def rejected(self) -> frozenset[Code]:
        """The codes that refuse a pod; others give the attempt up."""
        return self.reactions.rejected

    @property
    def post_filters(self) -> tuple[Any, ...]:
        """The PostFilter plugins."""
        return self.at(Point.POST_FILTER)

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Every gate of the release → whether it is on."""
        return self.handle.feature_gates

    @property
    def observer(self) -> Observer:
        """Who is told what can be measured."""
        return self.watch.observer

    def held(self, pod: Pod) -> HeldPod | None:
        """The waiting pod, while Permit plugins hold it."""
        return self.waiting.of(pod)

    @property
    def run_all_filters(self) -> bool:
        """A 1.20 policy's alwaysCheckAllPredicates."""
        return self.profile.run_all_filters

    def at(self, point: Point) -> tuple[Any, ...]:
        """The plugins of a point in the order they run."""
        return self.plugins.get(point, ())

    @cached_property
    def binders(self) -> tuple[tuple[Plugin, Callable[[CycleState, Pod, str], tuple[Status | None, None]]], ...]:
        """The Bind plugins in the order they run, each with how it is asked to bind a pod to a node."""
        return tuple((plugin, binding_by(plugin)) for plugin in self.at(Point.BIND))

    def names(self, point: Point) -> frozenset[str]:
        """The names of the plugins of a point."""
        return self._names[point]

    @cached_property
    def _names(self) -> dict[Point, frozenset[str]]:
        return {point: frozenset(plugin.name for plugin in self.at(point)) for point in Point}
