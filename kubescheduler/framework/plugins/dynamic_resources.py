"""DynamicResources (1.36): a pod gets the devices that its ResourceClaims, or extended resources, ask for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import attrs
import msgspec
import numpy as np

from clusterstate.devices.device_demand import Demand, Timer, devices_on, unlimited
from clusterstate.devices.device_requests import EVERYTHING, DeviceFeatures
from clusterstate.devices.device_search import allocations
from clusterstate.devices.resource_claims import (
    ClaimError,
    binding_failure,
    consumer,
    is_binding_over,
    is_extended,
    is_outdated,
    is_ready_for_binding,
    is_reserved_for,
    is_usable_by,
    left_over_claims,
    made_ready,
    own_claims,
    request_mappings,
    resolve_claims,
    waits_for_binding,
    without_consumer,
)
from clusterstate.errors import ConfigError, SchedulingError
from clusterstate.objects import Allocation, OwnerReference, PendingAllocation, Pod, ResourceClaim
from kubecel.api_names import SECOND, format_duration, go_quote
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    GO_DURATION,
    INVALID,
    ArgsType,
    FieldError,
    fields,
    forbidden,
    refuse,
)
from kubescheduler.framework.plugins.plugin_record import (
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    sign_no_claims,
)
from kubescheduler.queue.queueing_hints import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    Registered,
)
from predicates.dynamic_resources import (
    CANNOT_ALLOCATE,
    IN_USE,
    LEFT_OVER_CLAIM,
    NOT_AVAILABLE,
    DeviceRules,
    dynamic_resources,
    needs_devices,
    unavailable_on,
)
from priorities.dynamic_resources import dynamic_resources_score

CLAIMS_STATE = "ReserveDynamicResources"
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
        reserved = self.chosen(pod, claims, node_name)
        if reserved is None:
            return Status.unresolvable(CANNOT_ALLOCATE)
        for claim, allocation in reserved.fresh:
            self.handle.cache.add(PendingAllocation(claim.metadata, allocation, pod.metadata.uid))
        state.write(CLAIMS_STATE, reserved)
        return None

    def chosen(self, pod: Pod, claims: tuple[ResourceClaim, ...], node_name: str) -> ReservedDevices | None:
        """What the claims get on the node; None: it has not what they ask for. Raises SchedulingError."""
        snapshot = self.handle.cache.snapshot()
        row = snapshot.row_of(node_name)
        demand = Demand.of(snapshot.info(pod), claims, snapshot, self.features)
        devices = None if row is None else devices_on(demand, snapshot, row, pod.metadata.name)
        if devices is None:
            return None
        fresh = tuple(allocations(*devices, node_name, snapshot.objects))
        return ReservedDevices(fresh, tuple(claim for claim in claims if claim.allocation is not None))

    def bound_with(self, pod: Pod, claims: tuple[ResourceClaim, ...], node_name: str) -> Iterator[ResourceClaim]:
        """The claims once the pod is bound to the node, their devices ready. Raises SchedulingError."""
        reserved = self.chosen(pod, claims, node_name)
        for claim, allocation in reserved.entries() if reserved is not None else ():
            own = _owned(claim, pod) if is_extended(claim) else claim
            given = self._given(own, allocation=allocation, pod=pod)
            yield made_ready(given) or given

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
        state.delete(CLAIMS_STATE)
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
            reserved: ReservedDevices = state.read(CLAIMS_STATE)
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


NAME = "DynamicResources"
STATE = f"PreFilter{NAME}"
"""Where the cycle state has what PreFilter answered."""

NO_CLAIMS = "no new claims to deallocate"
DEALLOCATED = "deallocation of ResourceClaim completed"
DELETED = "deletion of ResourceClaim completed"
TIMED_OUT = "device binding timeout"
PENDING = "BindingConditionsPending"
"""The reason of the event that says that a pod waits."""
POLL_SECONDS = 5.0
"""How long PreBind waits between two looks at binding conditions."""
NOT_SCHEDULABLE = "still not schedulable"

POINTS = frozenset(
    {
        Point.PRE_ENQUEUE,
        Point.PRE_FILTER,
        Point.FILTER,
        Point.POST_FILTER,
        Point.SCORE,
        Point.RESERVE,
        Point.PRE_BIND,
    }
)

POINTS_1_34 = POINTS - {Point.SCORE}


DEFAULT_BINDING = 600 * SECOND


class DynamicResourcesArgs(msgspec.Struct, frozen=True):
    """1.36; durations in nanoseconds."""

    filter_timeout: int | None = 10 * SECOND
    """How long Filter may take for one node; 0: as long as it takes; None where its feature gate is off."""
    binding_timeout: int | None = DEFAULT_BINDING
    """How long PreBind waits; None where its feature gates are off."""
    switched_off: tuple[tuple[str, FieldError], ...] = ()
    """(attribute, what is said of it where it is given), of those whose feature gates are off."""


def timer_of(clock: Callable[[], float], nanoseconds: int) -> Timer:
    """Gives every node as much time, in nanoseconds of a clock in seconds; 0: no limit."""
    if nanoseconds <= 0:
        return unlimited
    seconds = nanoseconds / 1e9

    def start() -> Callable[[], bool]:
        end = clock() + seconds
        return lambda: clock() > end

    return start


class DynamicResources:
    """Allocations are noted in the cache's objects, and sent to the API when the pod is bound; SchedulingError is
    raised with the API's text. Upstream: 1.36 DynamicResources."""

    name = NAME
    sign = staticmethod(sign_no_claims)

    def __init__(
        self,
        args: DynamicResourcesArgs,
        handle: Handle,
        today: Callable[[], float],
        points: frozenset[Point] = POINTS,
    ) -> None:
        self.points = points
        gates = handle.feature_gates
        self.rules = DeviceRules(
            features=DeviceFeatures.of(gates),
            timer=timer_of(handle.clock, args.filter_timeout or 0),
            binding_timeout=(args.binding_timeout or DEFAULT_BINDING) / SECOND,
            today=today,
        )
        self.check = dynamic_resources(self.rules)
        self.scoring = dynamic_resources_score(self.rules.features)
        self._handle = handle
        self._books = DeviceBooks(handle, self.rules.features, today)

    def _claims(self, pod: Pod) -> tuple[ResourceClaim, ...]:
        """Raises ClaimError."""
        return resolve_claims(pod.metadata.namespace, own_claims(pod), self._handle.cache.objects)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """The pod waits until its claims are there."""
        if pod.spec.resource_claims:
            try:
                self._claims(pod)
            except ClaimError as error:
                return Status.unresolvable(str(error))
        return None

    # --- no node fits ----------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[str | None, Status | None]:
        """Takes the devices away from a claim that nobody else uses and that keeps nodes from the pod.

        statuses: node name → why it was refused.
        """
        try:
            refused = state.read(STATE).reasons
        except StateNotFoundError as error:
            return None, Status.failure(str(error))
        snapshot = self._handle.snapshot()
        if refused or not needs_devices(snapshot.info(pod), snapshot, self.rules.features):
            return None, Status.unschedulable(NO_CLAIMS)
        left = left_over_claims(snapshot).get(pod.metadata.uid)
        if left is not None and any(LEFT_OVER_CLAIM in status.reasons for status in statuses.values()):
            self._books.remove(left)
            return None, Status.unschedulable(DELETED)
        claim = self._in_the_way(pod, statuses)
        if claim is None:
            return None, Status.unschedulable(NOT_SCHEDULABLE)
        self._books.update(claim, partial(deallocated, pod=pod))
        return None, Status.unschedulable(DEALLOCATED)

    def _in_the_way(self, pod: Pod, statuses: Mapping[str, Status]) -> ResourceClaim | None:
        """The first claim that made a node unusable and that nobody, or only this pod, has reserved."""
        snapshot = self._handle.snapshot()
        names = [name for name, status in statuses.items() if NOT_AVAILABLE in status.reasons]
        rows = [row for name in names if (row := snapshot.row_of(name)) is not None]
        here = snapshot.take(np.array(rows, np.int64))
        for claim in self._claims(pod):
            only_ours = all(entry.uid == pod.metadata.uid for entry in claim.reserved_for)
            if len(claim.reserved_for) <= 1 and only_ours and unavailable_on(claim, here, self.rules).any():
                return claim
        return None

    # --- a node was chosen -----------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Chooses the devices on the node and keeps them from everybody else."""
        if not self._has_devices(pod):
            return None
        try:
            claims = self._claims(pod)
        except ClaimError as error:
            return Status.unresolvable(str(error))
        return self._books.reserve(state, pod, claims, node_name)

    def bound_with(self, pod: Pod, node_name: str) -> Iterator[ResourceClaim]:
        """The pod's claims once it is bound to the node, their devices ready. Raises SchedulingError."""
        return self._books.bound_with(pod, self._claims(pod), node_name) if self._has_devices(pod) else iter(())

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:  # noqa: ARG002
        """Gives back what ``reserve`` chose and what ``pre_bind`` wrote."""
        self._books.release(state, pod)

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:  # noqa: ARG002
        """Skips PreBind for pods without devices."""
        return None if self._has_devices(pod) else Status(Code.Skip)

    def binds_at_once(self, pod: Pod) -> bool:
        """A pod without devices has none to wait for."""
        return not self._has_devices(pod)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Writes the allocations, and that the pod uses them, and waits until its devices are ready for binding.

        Without an API nobody would make them ready, and nothing is waited for. Raises CancelledError when it is told
        to stop.
        """
        refused = self._books.commit(state, pod)
        if refused is not None or self._handle.client is None or not self.rules.features.binding:
            return refused
        if not any(map(waits_for_binding, self._books.current(state))):
            return None
        note = f"waiting for binding conditions for device on node {node_name}"
        self._handle.events.event(pod, "Normal", PENDING, "Scheduling", note)
        return None if self._until_ready(state) else Status.failure(TIMED_OUT)

    def _until_ready(self, state: CycleState) -> bool:
        """Looks at once and then every five seconds; False when time is up."""
        clock, timeout = self._handle.clock, self.rules.binding_timeout
        end = clock() + timeout
        while not self._books.are_ready(state, timeout):
            left = end - clock()
            if left <= 0:
                return False
            self._handle.sleep(state.cancellation, min(POLL_SECONDS, left))
            state.cancellation.check()
        return True

    def _has_devices(self, pod: Pod) -> bool:
        if pod.spec.resource_claims:
            return True
        if not self._handle.cache.objects.device_classes:
            return False
        snapshot = self._handle.cache.snapshot()
        return needs_devices(snapshot.info(pod), snapshot, self.rules.features)


def dynamic_resources_1_36(args: Any, handle: Handle) -> DynamicResources:
    """For pods with ResourceClaims, or with an extended resource that a DeviceClass provides: the node must have the
    devices that the claims were given, or can be given. Of a request with alternatives the better ones score higher: 8
    less the place of the one taken, added up. For all other pods it does nothing, but its PostFilter still has its say
    in the message of a pod that fits nowhere. It ends PostFilter with the error `not found` when PreFilter stopped
    before it.

    Upstream: 1.36 DynamicResources. Raises ConfigError for args of another plugin.
    """
    return DynamicResources(_given(args, handle), handle, handle.today)


def dynamic_resources_1_34(args: Any, handle: Handle) -> DynamicResources:
    """Scores nothing.

    Upstream: 1.34 DynamicResources. Raises ConfigError for args of another plugin.
    """
    return DynamicResources(_given(args, handle), handle, handle.today, POINTS_1_34)


FILTER_GATE, BINDING_GATES = "DRASchedulerFilterTimeout", ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


def _switched_off(feature_gates: Mapping[str, bool]) -> Iterator[tuple[str, FieldError]]:
    if not feature_gates.get(FILTER_GATE, True):
        text = "DRASchedulingFilterTimeout feature gate is disabled"
        yield "filter_timeout", forbidden("filterTimeout", text)
    if not all(feature_gates.get(gate, True) for gate in BINDING_GATES):
        text = f"{' or '.join(BINDING_GATES)} feature gate is disabled"
        yield "binding_timeout", forbidden("bindingTimeout", text)


def _given(args: Any, handle: Handle) -> DynamicResourcesArgs:
    given = _build(handle.feature_gates)() if args is None else args
    if not isinstance(given, DynamicResourcesArgs):
        raise ConfigError(f"got args of type {type(given).__name__}, want *DynamicResourcesArgs")
    refuse(_errors(msgspec.structs.replace(given, switched_off=tuple(_switched_off(handle.feature_gates)))))
    return given


# --- args --------------------------------------------------------------------------------------


def _errors(args: DynamicResourcesArgs) -> Iterator[FieldError]:
    off = dict(args.switched_off)
    yield from (error for attribute, error in off.items() if getattr(args, attribute) is not None)
    if "filter_timeout" not in off and args.filter_timeout is not None and args.filter_timeout < 0:
        yield _invalid_duration("filterTimeout", args.filter_timeout, "must be zero or positive")
    if "binding_timeout" not in off and args.binding_timeout is not None and args.binding_timeout < SECOND:
        yield _invalid_duration("bindingTimeout", args.binding_timeout, "must be at least 1 second")


def _invalid_duration(path: str, nanoseconds: int, text: str) -> FieldError:
    return FieldError(path, text, INVALID, go_quote(format_duration(nanoseconds)))


def _build(feature_gates: Mapping[str, bool]) -> Callable[..., DynamicResourcesArgs]:
    off = tuple(_switched_off(feature_gates))
    return partial(DynamicResourcesArgs, switched_off=off, **dict.fromkeys(attribute for attribute, _ in off))


ARGS = ArgsType(
    DynamicResourcesArgs,
    fields(filter_timeout=GO_DURATION, binding_timeout=GO_DURATION),
    "How long one node may take to find devices, 0: as long as it takes; how long PreBind waits.",
    errors=_errors,
    checked_with_config=True,
    build_with=_build,
)
ARGS_1_34 = msgspec.structs.replace(ARGS, fields=ARGS.fields[:1])


# --- what it is in each release ---------------------------------------------------------------

REASONS = (
    PluginReason('pod "<POD>": ResourceClaim not created yet', UNRESOLVABLE, "PreEnqueue, PreFilter"),
    PluginReason('could not find ResourceClaim "<NAME>"', UNRESOLVABLE, "PreEnqueue, PreFilter"),
    PluginReason('resourceclaim "<NAME>" is being deleted', UNRESOLVABLE, "PreEnqueue, PreFilter"),
    PluginReason(
        "ResourceClaim <NAME> was not created for Pod <POD> (Pod is not owner)", UNRESOLVABLE, "PreEnqueue, PreFilter"
    ),
    PluginReason("resourceclaim in use", UNRESOLVABLE, "PreFilter"),
    PluginReason("resource claim <NAME> is in the process of being allocated", UNRESOLVABLE, "PreFilter"),
    PluginReason("request <NAME>: device class <NAME> does not exist", UNRESOLVABLE, "PreFilter"),
    PluginReason("resourceclaim not available on the node", UNRESOLVABLE),
    PluginReason("cannot allocate all claims", UNRESOLVABLE),
    PluginReason("invalid resource pools were encountered", UNRESOLVABLE),
    PluginReason("cannot fit resource", UNRESOLVABLE),
    PluginReason("cannot schedule extended resource claim", UNRESOLVABLE),
    PluginReason("no new claims to deallocate", UNSCHEDULABLE, "PostFilter"),
    PluginReason("deallocation of ResourceClaim completed", UNSCHEDULABLE, "PostFilter"),
    PluginReason("deletion of ResourceClaim completed", UNSCHEDULABLE, "PostFilter"),
    PluginReason("still not schedulable", UNSCHEDULABLE, "PostFilter"),
)
EVENTS = (
    Registered(NODE, Action.ADD | Action.NODE_LABEL | Action.NODE_ALLOCATABLE),
    Registered(DEVICE_CLASS, Action.ADD | Action.UPDATE),
    Registered(RESOURCE_SLICE, Action.ADD | Action.UPDATE),
    Registered(RESOURCE_CLAIM, Action.ADD | Action.UPDATE),
    Registered(POD, Action.POD_GENERATED_RESOURCE_CLAIM, own=True),
)

PLUGIN_1_36 = InTreePlugin(
    NAME,
    POINTS,
    dynamic_resources_1_36,
    args=ARGS,
    reasons=REASONS,
    default_weight=2,
    gate="DynamicResourceAllocation",
    events=EVENTS,
)
PLUGIN_1_34 = msgspec.structs.replace(
    PLUGIN_1_36, points=POINTS_1_34, make=dynamic_resources_1_34, args=ARGS_1_34, default_weight=0
)
PLUGIN_1_26 = msgspec.structs.replace(PLUGIN_1_34, args=None, gate_default=False)
