"""What a pod on its way to a node does to ResourceClaims: keeps devices, writes them down, gives them back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import attrs
import msgspec

from clusterstate.devices.device_demand import Demand, devices_on
from clusterstate.devices.device_features import EVERYTHING, DeviceFeatures
from clusterstate.devices.device_search import allocations
from clusterstate.devices.extended_resources import is_extended, request_mappings
from clusterstate.devices.resource_claims import (
    binding_failure,
    consumer,
    is_binding_over,
    is_outdated,
    is_ready_for_binding,
    is_reserved_for,
    is_usable_by,
    without_consumer,
)
from clusterstate.errors import SchedulingError
from clusterstate.objects import OwnerReference, Pod
from clusterstate.objects.resource import Allocation, PendingAllocation, ResourceClaim
from kubecel.api_names import go_quote
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.handle import Handle
from predicates.dynamic_resources import CANNOT_ALLOCATE, IN_USE

STATE = "ReserveDynamicResources"
"""Where the cycle state has what was reserved."""


class ReservedDevices(msgspec.Struct, eq=False):
    """What a pod's claims get on the chosen node."""

    fresh: tuple[tuple[ResourceClaim, Allocation], ...]
    """The claims that get devices, as they were, with the devices."""
    used: tuple[ResourceClaim, ...]
    """The claims that had their devices before."""

    def entries(self) -> list[tuple[ResourceClaim, Allocation | None]]:
        """Every claim, with what it is to be given."""
        return [*self.fresh, *((claim, None) for claim in self.used)]


def deallocated(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """The claim without devices, what their drivers reported, and pods that use them.

    Raises SchedulingError for a claim that another pod uses by now.
    """
    if any(entry.uid != pod.metadata.uid for entry in claim.reserved_for):
        raise SchedulingError(f"claim {claim.key} got reserved elsewhere in the meantime")
    return attrs.evolve(claim, allocation=None, reserved_for=(), device_statuses=())


class DeviceBooks(msgspec.Struct, frozen=True, eq=False):
    """Writes go to the API if there is one, and into the cache."""

    handle: Handle
    features: DeviceFeatures = EVERYTHING
    today: Callable[[], float] = time.time
    """Seconds since the epoch: when an allocation is written."""

    def reserve(self, state: CycleState, pod: Pod, claims: tuple[ResourceClaim, ...], node_name: str) -> Status | None:
        """Chooses devices on the node for the claims that have none. Raises SchedulingError."""
        cache = self.handle.cache
        snapshot = cache.snapshot()
        row = snapshot.row_of(node_name)
        demand = Demand.of(snapshot.info(pod), claims, snapshot, self.features)
        chosen = None if row is None else devices_on(demand, snapshot, row, pod.metadata.name)
        if chosen is None:
            return Status.unresolvable(CANNOT_ALLOCATE)
        fresh = tuple(allocations(*chosen, node_name, snapshot.objects))
        for claim, allocation in fresh:
            cache.add(PendingAllocation(claim.metadata, allocation, pod.metadata.uid))
        used = tuple(claim for claim in claims if claim.allocation is not None)
        state.write(STATE, ReservedDevices(fresh, used))
        return None

    def commit(self, state: CycleState, pod: Pod) -> Status | None:
        """Writes what was reserved, and that the pod uses it. Raises SchedulingError with the API's text.

        A claim for extended resources is created now, and the pod's status names it. Upstream: 1.36 bindClaim.
        """
        reserved = self._reserved(state)
        for claim, allocation in reserved.entries() if reserved is not None else ():
            if allocation is not None and is_extended(claim):
                self._commit_extended(state, claim, allocation, pod)
                continue
            current = self._current(claim)
            if allocation is None and is_reserved_for(current, pod.metadata.uid):
                continue
            if not is_usable_by(current, pod.metadata.uid):
                return Status.unresolvable(IN_USE)
            self.update(current, partial(self._given, allocation=allocation, pod=pod))
            self._forget(claim)
        return None

    def _commit_extended(self, state: CycleState, claim: ResourceClaim, allocation: Allocation, pod: Pod) -> None:
        """Creates the claim, gives it its devices and has the pod's status name it."""
        made = self._created(_owned(claim, pod))
        reserved = self._reserved(state)
        assert reserved is not None
        reserved.fresh = tuple((made if one is claim else one, got) for one, got in reserved.fresh)
        try:
            self.update(made, partial(self._given, allocation=allocation, pod=pod))
        finally:
            self._forget(claim)
        client = self.handle.client
        if client is None:
            return
        status = {"requestMappings": request_mappings(pod.spec, made), "resourceClaimName": made.metadata.name}
        try:
            client.patch_pod_status(pod, {"extendedResourceClaimStatus": status})
        except SchedulingError as error:
            raise SchedulingError(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from None

    def _created(self, claim: ResourceClaim) -> ResourceClaim:
        client, count = self.handle.client, self.handle.observer.claim_created
        if client is None:
            return claim
        try:
            claim = client.create_claim(claim)
        except SchedulingError as error:
            count("failure")
            namespace = claim.metadata.namespace
            raise SchedulingError(f"create claim for extended resources {namespace}/: {error}") from None
        count("success")
        self._written(claim)
        return claim

    def release(self, state: CycleState, pod: Pod) -> None:
        """Gives back what is reserved and was not written, and has the claims no longer reserved for the pod. What was
        allocated stays so, for PostFilter to take away if it is in the way of a later attempt; the claim for extended
        resources is deleted. What the API refuses is reported to the observer. Upstream: 1.36 Unreserve.
        """
        reserved = self._reserved(state)
        if reserved is None:
            return
        state.delete(STATE)
        for claim, _ in reserved.fresh:
            self._forget(claim)
        for claim, _ in reserved.entries():
            current = self.handle.cache.objects.resource_claims.get((claim.metadata.namespace, claim.metadata.name))
            if current is None:
                continue
            step = "delete" if is_extended(claim) else "unreserve"
            try:
                if is_extended(claim):
                    self.remove(current)
                elif current.allocation is not None and is_reserved_for(current, pod.metadata.uid):
                    self._take_back(current, pod)
            except SchedulingError as error:
                self.handle.observer.trouble(f'"{step}" err="{error}" resourceclaim="{claim.key}"')

    def _take_back(self, claim: ResourceClaim, pod: Pod) -> None:
        client, uid = self.handle.client, pod.metadata.uid
        self._written(without_consumer(claim, uid) if client is None else client.take_back_claim(claim, pod))

    def remove(self, claim: ResourceClaim) -> None:
        """Deletes a claim for extended resources. Raises SchedulingError with the API's text.

        Events of the claim as it was before do not bring it back.
        """
        client, lock, deleted = self.handle.client, self.handle.lock, self.handle.cache.objects.deleted_claims
        if client is not None:
            with lock:
                deleted.add(claim.metadata.uid)
            try:
                client.delete_claim(claim)
            except SchedulingError:
                with lock:
                    deleted.discard(claim.metadata.uid)
                raise
        with lock:
            self.handle.cache.remove(claim)

    def are_ready(self, state: CycleState, timeout: float) -> bool:
        """Whether the devices of all claims are ready for binding. timeout: seconds from the allocation on.

        Raises SchedulingError when one is not going to be. Upstream: 1.36 isPodReadyForBinding.
        """
        for claim in self.current(state):
            ready = is_ready_for_binding(claim)
            if ready is None:
                raise SchedulingError(binding_failure(claim) or "")
            if not ready:
                if is_binding_over(claim, self.today(), timeout):
                    raise SchedulingError(f"claim {claim.metadata.name} binding timeout")
                return False
        return True

    def current(self, state: CycleState) -> list[ResourceClaim]:
        """The claims of the pod as they are by now. Raises SchedulingError when one is gone."""
        reserved = self._reserved(state)
        return [self._current(claim) for claim, _ in reserved.entries()] if reserved is not None else []

    def update(self, claim: ResourceClaim, change: Callable[[ResourceClaim], ResourceClaim]) -> None:
        """Gives a claim the status that ``change`` makes of it. Raises SchedulingError with the API's text."""
        client = self.handle.client
        self._written(change(claim) if client is None else client.update_claim(claim, change))

    def _written(self, claim: ResourceClaim) -> None:
        """Takes a claim as it was written for known, unless a later version has arrived meanwhile."""
        with self.handle.lock:
            if not is_outdated(claim, self.handle.cache.objects):
                self.handle.cache.add(claim)

    # --- claims ----------------------------------------------------------------------------

    def _given(self, claim: ResourceClaim, *, allocation: Allocation | None, pod: Pod) -> ResourceClaim:
        """The claim, reserved for the pod, with the devices that it is given; None: it has them.

        Raises SchedulingError when the claim, as it is by now, cannot take them. Upstream: 1.36 bindClaim.
        """
        lost = None
        if claim.metadata.deletion_timestamp is not None:
            lost = "got deleted"
        elif allocation is not None and claim.allocation is not None:
            lost = "got allocated elsewhere"
        elif allocation is None and claim.allocation is None and self.features.binding:
            lost = "got deallocated elsewhere"
        if lost is not None:
            raise SchedulingError(f"claim {claim.key} {lost} in the meantime")
        mine = () if is_reserved_for(claim, pod.metadata.uid) else (consumer(pod),)
        reserved_for = (*claim.reserved_for, *mine)
        return self._dated(attrs.evolve(claim, allocation=allocation or claim.allocation, reserved_for=reserved_for))

    def _dated(self, claim: ResourceClaim) -> ResourceClaim:
        """With the time of the allocation, from which binding conditions time out."""
        allocation = claim.allocation
        if allocation is None or allocation.timestamp is not None or not self.features.binding:
            return claim
        now = datetime.fromtimestamp(int(self.today()), UTC)
        return attrs.evolve(
            claim, allocation=msgspec.structs.replace(allocation, timestamp=f"{now:%Y-%m-%dT%H:%M:%SZ}")
        )

    @staticmethod
    def _reserved(state: CycleState) -> ReservedDevices | None:
        try:
            reserved: ReservedDevices = state.read(STATE)
        except StateNotFoundError:
            return None
        return reserved

    def _current(self, claim: ResourceClaim) -> ResourceClaim:
        """The claim as it is by now. Raises SchedulingError when it is gone."""
        name = claim.metadata.name
        current = self.handle.cache.objects.resource_claims.get((claim.metadata.namespace, name))
        if current is None:
            raise SchedulingError(f"resourceclaim.resource.k8s.io {go_quote(name)} not found")
        return current

    def _forget(self, claim: ResourceClaim) -> None:
        """The claim is no longer under way."""
        pending = self.handle.cache.objects.pending_allocations.get((claim.metadata.namespace, claim.metadata.name))
        if pending is not None:
            with self.handle.lock:
                self.handle.cache.remove(pending)


def _owned(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """The claim for a pod's extended resources, which goes with the pod."""
    owner = OwnerReference("Pod", pod.metadata.name, pod.metadata.uid, controller=True, api_version="v1")
    return attrs.evolve(claim, metadata=msgspec.structs.replace(claim.metadata, owner_references=(owner,)))
