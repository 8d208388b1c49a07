"""What the cycles run at their points: the plugins of a profile, or nothing in the releases without plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs

from clusterstate.errors import SchedulingError
from clusterstate.objects import ClaimVolume
from clusterstate.volumes.claim_matching import rules_1_16
from clusterstate.volumes.volume_decision import PodVolumes, bindings_for
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import StateNotFoundError
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.framework.plugins.volume_binding import VolumeBooks
from kubescheduler.framework.running.framework_services import FrameworkHandle

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.core.status import Code
    from kubescheduler.framework.contract.cycle_state import CycleState
    from kubescheduler.framework.plugins.volume_binding import ReservedVolumes
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


STATE = "AssumedPodVolumes"
"""Where the cycle state has what was taken."""
BIND_TIMEOUT = 600.0
"""Seconds that claims have to be bound. Upstream: 1.16's default of bindTimeoutSeconds."""
TIMED_OUT = "timed out waiting for the condition"


@attrs.frozen(eq=False)
class VolumeSteps(NoPlugins):
    """Volumes are taken when the pod is assumed, and written down and waited for before it is bound.

    Upstream: 1.16 assumeVolumes and bindVolumes.
    """

    _books: VolumeBooks = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """The books are those of the cluster that the services have."""
        object.__setattr__(self, "_books", VolumeBooks(FrameworkHandle(self.services, self.profile_name)))

    def of(self, pod: Pod) -> VolumeSteps:  # noqa: ARG002
        """The same for all pods."""
        return self

    def binds_at_once(self, pod: Pod) -> bool:
        """A pod without claims has no volumes to wait for."""
        return not _has_claims(pod)

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Takes volumes for the claims that wait for a node, and sends the others to it."""
        if not _has_claims(pod):
            return None
        try:
            state.write(STATE, self._books.take(self._volumes_for(pod, node_name), node_name))
        except SchedulingError as error:
            return Status.failure(str(error))
        return None

    def _volumes_for(self, pod: Pod, node_name: str) -> PodVolumes:
        snapshot, rules = self.services.cache.snapshot(), rules_1_16(self.services.feature_gates)
        row = snapshot.row_of(node_name)
        return PodVolumes() if row is None else bindings_for(snapshot.info(pod), snapshot, row, rules)

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:  # noqa: ARG002
        """Lets go of what was taken; what was written stays written."""
        reserved = _reserved(state)
        if reserved is not None:
            self._books.put_back(reserved)
            state.delete(STATE)

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """Writes what was taken to the API and waits until the claims are bound.

        Raises CancelledError when it is told to stop.
        """
        reserved, client = _reserved(state), self.services.client
        if reserved is None or reserved.all_bound or client is None:
            return None
        try:
            self._books.write(reserved, client.update_object)
            bound = self._books.wait_until_bound(reserved, pod, state, BIND_TIMEOUT)
        except SchedulingError as error:
            state.cancellation.check()
            return Status.failure(str(error))
        return None if bound else Status.failure(TIMED_OUT)


def _has_claims(pod: Pod) -> bool:
    return any(isinstance(volume, ClaimVolume) for volume in pod.spec.volumes)


def _reserved(state: CycleState) -> ReservedVolumes | None:
    try:
        reserved: ReservedVolumes = state.read(STATE)
    except StateNotFoundError:
        return None
    return reserved
