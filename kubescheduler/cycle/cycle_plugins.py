"""What the cycles run at their points in the releases without plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from clusterstate.errors import SchedulingError
from clusterstate.objects import ClaimVolume
from clusterstate.volumes.claim_matching import rules_1_16
from clusterstate.volumes.volume_decision import PodVolumes, bindings_for
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import StateNotFoundError
from kubescheduler.framework.plugins.volume_binding import VolumeBooks
from kubescheduler.framework.running.framework_services import FrameworkHandle
from kubescheduler.framework.running.profile_plugins import CyclePlugins

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.framework.contract.cycle_state import CycleState
    from kubescheduler.framework.plugins.volume_binding import ReservedVolumes
    from kubescheduler.framework.running.framework_services import Services


@attrs.frozen(eq=False)
class NoPlugins(CyclePlugins):
    """The cycle of 1.4: nothing is reserved and no pod is held; the API is asked to bind."""

    services: Services

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
