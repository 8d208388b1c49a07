"""What the plugins of one profile are: to a decision a ``Frame``, with all of them at their points; to the scheduling
and the binding cycle ``CyclePlugins``, which run nothing where there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle, HeldPod
from kubescheduler.framework.contract.plugin import Plugin
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Point, Profile
from kubescheduler.framework.contract.runs import Observer, Watch


class Frame(msgspec.Struct, eq=False):
    """What a decision needs of a framework. Upstream: the fields of frameworkImpl."""

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
    watch: Watch

    @property
    def profile_name(self) -> str:
        """The ``schedulerName`` of the pods it is for."""
        return self.profile.scheduler_name

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Every gate of the release → whether it is on."""
        return self.handle.feature_gates

    @property
    def observer(self) -> Observer:
        """Who is told what can be measured."""
        return self.watch.observer

    @property
    def run_all_filters(self) -> bool:
        """A 1.20 policy's alwaysCheckAllPredicates."""
        return self.profile.run_all_filters

    def at(self, point: Point) -> tuple[Any, ...]:
        """The plugins of a point in the order they run."""
        return self.plugins.get(point, ())


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

    def bound_with(self, pod: Pod, node_name: str) -> Iterable[Any]:  # noqa: ARG002
        """The objects that binding a pod to a node changes, as they are then: none where a controller binds claims,
        whatever becomes of pods (1.4)."""
        return ()

    def binds_at_once(self, pod: Pod) -> bool:  # noqa: ARG002
        """Whether nothing but one request to the API can hold up the binding of a pod."""
        return True

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """The PreBind plugins; the first that fails ends it."""
        return None

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds; Skip: no Bind plugin bound the pod."""
        raise NotImplementedError

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The PostBind plugins, after the pod is bound."""
