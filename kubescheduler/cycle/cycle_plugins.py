"""What the cycles run at their points: the plugins of a profile, or nothing in the releases without plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs

from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.core.status import Code
    from kubescheduler.framework.contract.cycle_state import CycleState
    from kubescheduler.framework.running.framework_services import Services
    from kubescheduler.framework.running.waiting_pods import HeldPod


class CyclePlugins(Protocol):
    """The plugins from PostFilter on, as the cycles run them. A status of None is Success. See Framework."""

    @property
    def profile_name(self) -> str:
        """The ``schedulerName`` of the pods it is for."""
        ...

    @property
    def rejected(self) -> frozenset[Code]:
        """The codes that refuse a pod; others give the attempt up."""
        ...

    @property
    def post_filters(self) -> tuple[Any, ...]:
        """The PostFilter plugins."""
        ...

    def held(self, pod: Pod) -> HeldPod | None:
        """The waiting pod, while Permit plugins hold it."""
        ...

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The Reserve plugins; the first that fails ends it."""
        ...

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Takes back what Reserve plugins did, the last one first."""

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The Permit plugins; a Wait status: the pod is among the waiting pods."""
        ...

    def wait_on_permit(self, pod: Pod) -> Status | None:
        """Waits until a held pod is let go or rejected."""
        ...

    def run_pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Whether PreBind plugins have work to do; Skip: none has (1.36)."""
        ...

    def binds_at_once(self, pod: Pod) -> bool:
        """Whether nothing but one request to the API can hold up the binding of a pod."""
        ...

    def is_idle_for(self, pod: Pod) -> bool:
        """Whether a pod that has its node is only to be bound: Reserve, Permit, PreBind and PostBind have nothing to do
        for it, and nobody measures them."""
        ...

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The PreBind plugins; the first that fails ends it."""
        ...

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds; Skip: no Bind plugin bound the pod."""
        ...

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The PostBind plugins, after the pod is bound."""


class PluginsByPod(Protocol):
    """The profiles of a scheduler; see Profiles."""

    def of(self, pod: Pod) -> CyclePlugins | None:
        """What a pod's attempt runs; None: it is another scheduler's pod."""
        ...


@attrs.frozen(eq=False)
class NoPlugins:
    """The cycle of 1.4: nothing is reserved and no pod is held; the API is asked to bind."""

    services: Services
    profile_name: str = DEFAULT_SCHEDULER_NAME
    rejected: frozenset[Code] = frozenset()
    post_filters: tuple[Any, ...] = ()

    def of(self, pod: Pod) -> NoPlugins:  # noqa: ARG002
        """The same for all pods."""
        return self

    def held(self, pod: Pod) -> None:
        """No pod is ever held."""

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """Nothing is reserved."""
        return None

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing is taken back."""

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Every pod is let go."""

    def wait_on_permit(self, pod: Pod) -> None:
        """Nothing is waited for."""

    def run_pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """There is nothing to look ahead to."""

    def binds_at_once(self, pod: Pod) -> bool:  # noqa: ARG002
        """There is nothing else."""
        return True

    def is_idle_for(self, pod: Pod) -> bool:
        """There is nothing to do but what binding waits for."""
        return self.binds_at_once(pod)

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """Nothing is prepared."""
        return None

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing is reported."""

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """Posts the binding, if there is an API to post it to."""
        if self.services.client is None:
            return None
        try:
            self.services.client.bind(pod, node_name)
        except SchedulingError as error:
            return Status.failure(str(error))
        return None
