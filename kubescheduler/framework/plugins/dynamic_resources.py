"""DynamicResources (1.36): a pod gets the devices that its ResourceClaims, or extended resources, ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np

from clusterstate.devices.device_demand import Timer, unlimited
from clusterstate.devices.device_features import DeviceFeatures
from clusterstate.devices.extended_resources import left_over_claims
from clusterstate.devices.resource_claims import ClaimError, own_claims, resolve_claims, waits_for_binding
from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from clusterstate.objects.resource import ResourceClaim
from kubecel.api_names import go_quote
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.args.args_type import ArgsType
from kubescheduler.framework.args.document_schema import GO_DURATION, Field
from kubescheduler.framework.args.field_errors import INVALID, FieldError
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.go_durations import SECOND, format_duration
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.device_bookkeeping import DeviceBooks, deallocated
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_no_claims
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
    LEFT_OVER_CLAIM,
    NOT_AVAILABLE,
    DeviceRules,
    dynamic_resources,
    needs_devices,
    unavailable_on,
)
from priorities.dynamic_resources import dynamic_resources_score

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


class DynamicResourcesArgs(msgspec.Struct, frozen=True):
    """1.36; durations in nanoseconds."""

    filter_timeout: int = 10 * SECOND
    """How long Filter may take for one node; 0: as long as it takes."""
    binding_timeout: int = 600 * SECOND
    """How long PreBind waits."""


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
    points = POINTS
    sign = staticmethod(sign_no_claims)

    def __init__(self, args: DynamicResourcesArgs, handle: Handle, today: Callable[[], float]) -> None:
        gates = handle.feature_gates
        timeout = args.filter_timeout if gates.get("DRASchedulerFilterTimeout", True) else 0
        self.rules = DeviceRules(
            features=DeviceFeatures.of(gates),
            timer=timer_of(handle.clock, timeout),
            binding_timeout=args.binding_timeout / SECOND,
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
    given = DynamicResourcesArgs() if args is None else args
    if not isinstance(given, DynamicResourcesArgs):
        raise ConfigError(f"got args of type {type(given).__name__}, want *DynamicResourcesArgs")
    return DynamicResources(given, handle, handle.today)


# --- args --------------------------------------------------------------------------------------


def _errors(args: DynamicResourcesArgs) -> Iterator[FieldError]:
    if args.filter_timeout < 0:
        yield _invalid_duration("filterTimeout", args.filter_timeout, "must be zero or positive")
    if args.binding_timeout < SECOND:
        yield _invalid_duration("bindingTimeout", args.binding_timeout, "must be at least 1 second")


def _invalid_duration(path: str, nanoseconds: int, text: str) -> FieldError:
    return FieldError(path, text, INVALID, go_quote(format_duration(nanoseconds)))


ARGS = ArgsType(
    DynamicResourcesArgs,
    (
        Field("filterTimeout", "filter_timeout", GO_DURATION),
        Field("bindingTimeout", "binding_timeout", GO_DURATION),
    ),
    "How long one node may take to find devices, 0: as long as it takes; how long PreBind waits.",
    errors=_errors,
    checked_with_config=True,
)


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
    Registered(POD, Action.POD_GENERATED_CLAIM, own=True),
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
