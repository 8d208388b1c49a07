"""What the releases do differently between choosing a node and binding to it, with or without plugins."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.objects import NO_LABELS, ClaimVolume, PersistentVolume, PersistentVolumeClaim, Pod
from clusterstate.volumes.claim_matching import rules_1_16
from clusterstate.volumes.volume_decision import PodVolumes, bindings_for
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.frame import CyclePlugins
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.framework.deciding.post_filter_plugins import clear_nominations, evict_1_16, searches
from kubescheduler.framework.plugins.volume_binding import ReservedVolumes, VolumeBooks

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from kubescheduler.core.decision import Decision
    from kubescheduler.cycle.failures import FailureCause, FailureRecord, Stage
    from kubescheduler.queue.scheduling_queue import SchedulingQueue


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
        object.__setattr__(self, "_books", VolumeBooks(Handle(self.services, self.profile_name)))

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

    def bound_with(self, pod: Pod, node_name: str) -> Iterator[PersistentVolume | PersistentVolumeClaim]:
        """Volumes and claims as they are once the pod is bound to the node. Raises SchedulingError for claims that
        cannot be looked up."""
        return ReservedVolumes.of(self._volumes_for(pod, node_name), node_name).bound(self.services.cache)

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


PODS_TO_ACTIVATE = "kubernetes.io/pods-to-activate"
"""The state's key of a dict of pods that plugins want tried now (1.36)."""

EXPECTATION_GATE = "NominatedNodeNameForExpectation"

NO_UID = "cannot get cache key for pod with empty UID"


class FailedPodFate(enum.Enum):
    """What becomes of a pod whose attempt failed."""

    PUT_BACK = "put back"
    LEFT_OUT = "left out of the queue"
    ANOTHER_ONE = "another pod by now, of which nothing is known"


class ReleaseCycles(msgspec.Struct, frozen=True, eq=False):
    """One release's cycles around the plugins."""

    assume_fault: Callable[[ClusterCache, Pod], str | None]
    """Why a pod cannot be assumed, None if it can."""
    tries_deleted: bool
    """Whether pods that are being deleted are tried (1.4)."""
    passes_over: Callable[[Pod, Pod], bool]
    """Of (pod, the assumed pod of its uid): whether it is not tried again."""
    make_room: Callable[[CyclePlugins, Pod, Decision], Decision]
    """Carries preemption out before the pod is put back (1.20, 1.36); the decision that is left."""
    make_room_later: Callable[[Services, SchedulingQueue, Pod, Decision], None]
    """Carries preemption out once the pod is back in the queue (1.16)."""
    undecided: Callable[..., FailureCause]
    """Of (decision, *, post_filters): the failure of an attempt that chose no node. See undecided_1_20."""
    chosen: Callable[[Stage, Pod, str, Status], FailureRecord]
    """The failure of an attempt that chose a node: of (stage, pod, node, status)."""
    pre_flight: Callable[[CyclePlugins, Services, CycleState, Pod, str, bool], Status | None]
    """Asks the PreBind plugins for what they will do; None: go on."""
    extenders_bind: Callable[[Services, Pod, str], tuple[bool, Status | None]]
    """Of (services, pod, node): whether an extender bound the pod, and how."""
    assigned_note: Callable[[Pod, str], str]
    """The note of the event Scheduled."""
    event_note: Callable[[str], str]
    """What becomes of the note of an event FailedScheduling."""
    condition: Callable[[FailureRecord], Mapping[str, str]]
    """The condition PodScheduled of a failure."""
    nominated: Callable[[FailureRecord], str | None]
    """The nominatedNodeName that goes into the status; None: it stays."""
    in_memory: Callable[[FailureRecord, Pod], str]
    """The name that the nominator keeps."""
    fate: Callable[[Pod, Pod | None], FailedPodFate]
    """Of (the pod as it was tried, as the API has it now, None when it is gone)."""
    expires: float
    """Seconds after which an assumed pod that nobody confirms is dropped."""
    expires_from_assume: bool
    """Whether these count from the assumption (1.4), not from the end of the binding."""
    failed_binding_is_event: bool
    """Whether a failed binding is an event for the other pods."""
    activate_key: str | None
    """See PODS_TO_ACTIVATE."""


# --- assuming ----------------------------------------------------------------------------------


def assume_fault_1_4(cache: ClusterCache, pod: Pod) -> str | None:
    """Why a pod cannot be assumed in 1.4; None when it can."""
    return f"pod state wasn't initial but get assumed. Pod key: {pod.key}" if pod in cache else None


def assume_fault_1_16(cache: ClusterCache, pod: Pod) -> str | None:
    """Why a pod cannot be assumed in 1.16; None when it can."""
    return f"pod {pod.metadata.uid} is in the cache, so can't be assumed" if pod in cache else None


def assume_fault_1_20(cache: ClusterCache, pod: Pod) -> str | None:
    """Why a pod cannot be assumed in 1.20; None when it can."""
    return assume_fault_1_16(cache, pod) if pod.metadata.uid else NO_UID


def assume_fault_1_36(cache: ClusterCache, pod: Pod) -> str | None:
    """Why a pod cannot be assumed in 1.36; None when it can."""
    if not pod.metadata.uid:
        return NO_UID
    return f"pod {pod.metadata.uid}({pod.key}) is in the cache, so can't be assumed" if pod in cache else None


def always_tried(_: Pod, __: Pod) -> bool:
    """1.4 does not look whether a pod is assumed."""
    return False


def passes_over_1_20(pod: Pod, assumed: Pod) -> bool:
    """Only a pod that has not changed in anything that matters is passed over."""
    return _bare(pod) == _bare(assumed)


def passes_over_1_36(_: Pod, __: Pod) -> bool:
    """1.36 never tries an assumed pod again."""
    return True


def _bare(pod: Pod) -> Pod:
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, annotations=NO_LABELS), node_name=""
    )


# --- binding -----------------------------------------------------------------------------------


def no_pre_flight(*_: object) -> None:
    """The release does not ask."""


def pre_flight_1_36(
    plugins: CyclePlugins, services: Services, state: CycleState, pod: Pod, node_name: str, waits: bool
) -> Status | None:
    """The node's name goes into the pod's status when binding will take its time. None: go on."""
    if not services.feature_gates.get(EXPECTATION_GATE, True):
        return None
    status = plugins.run_pre_bind_pre_flight(state, pod, node_name)
    if status is not None and status.code is Code.Error:
        return status
    works = status is None or status.code is Code.Success
    if (works or waits) and services.client is not None and pod.nominated_node_name != node_name:
        try:
            services.client.patch_pod_status(pod, {"nominatedNodeName": node_name})
            state.announced = node_name
        except SchedulingError as error:
            services.observer.trouble(f"updating the nominated node of {pod.key}: {error}")
    return None


def extenders_bind_1_20(
    services: Services, pod: Pod, node_name: str, *, passes_over: bool = False
) -> tuple[bool, Status | None]:
    """The first interested extender that can bind has the last word. passes_over: unless it fails and is ignorable."""
    for extender in services.extenders:
        if not extender.config.bind_verb or not extender.is_interested(pod):
            continue
        try:
            extender.bind(pod, node_name)
        except SchedulingError as error:
            if not passes_over or not extender.config.ignorable:
                return True, Status.failure(str(error))
            services.observer.trouble(f"binding {pod.key} by an extender that can be ignored: {error}")
        else:
            return True, None
    return False, None


def extenders_bind_1_36(services: Services, pod: Pod, node_name: str) -> tuple[bool, Status | None]:
    """An ignorable extender that fails leaves the pod to the next one, or to the plugins."""
    return extenders_bind_1_20(services, pod, node_name, passes_over=True)


def assigned_note_1_4(pod: Pod, node_name: str) -> str:
    """Without the pod's namespace."""
    return f"Successfully assigned {pod.metadata.name} to {node_name}"


def assigned_note(pod: Pod, node_name: str) -> str:
    """With the pod's namespace."""
    return f"Successfully assigned {pod.key} to {node_name}"


# --- failing -----------------------------------------------------------------------------------


def own_nomination(_: FailureRecord, pod: Pod) -> str:
    """What the pod's status says."""
    return pod.nominated_node_name


def in_memory_1_20(failure: FailureRecord, pod: Pod) -> str:
    """The nominated node that 1.20 keeps for a pod that failed; empty for none."""
    return failure.nominated or pod.nominated_node_name


def in_memory_1_36(failure: FailureRecord, pod: Pod) -> str:
    """The nominated node that 1.36 keeps for a pod that failed; empty for none."""
    return pod.nominated_node_name if failure.nominated is None else failure.nominated


def fate_1_20(tried: Pod, now: Pod | None) -> FailedPodFate:  # noqa: ARG001
    """A pod that was bound after all is not tried again.

    Upstream 1.4 and 1.16 read the pod to find that out; 1.20 does not look, and tries it in vain.
    """
    return FailedPodFate.LEFT_OUT if now is None or now.node_name else FailedPodFate.PUT_BACK


def fate_1_36(tried: Pod, now: Pod | None) -> FailedPodFate:
    """A pod that was bound after all is not tried again."""
    if now is None or now.node_name:
        return FailedPodFate.LEFT_OUT
    return FailedPodFate.PUT_BACK if tried.metadata.uid == now.metadata.uid else FailedPodFate.ANOTHER_ONE


# --- preemption carried out: by a PostFilter plugin, or by the scheduler itself in 1.16 ----------


def room_by_plugin(plugins: CyclePlugins, pod: Pod, decision: Decision) -> Decision:
    """The PostFilter plugin that found the victims evicts them; without its preemption when that fails at once."""
    preemption = decision.preemption
    if preemption is None or not preemption.chosen:
        return decision
    for plugin in plugins.post_filters:
        evict: Any = plugin.evict if searches(plugin) else None
        fault = None if evict is None else evict(pod, preemption)
        if fault is not None:
            given_up: dict[str, Any] = {"preemption": None, "nominated": None}
            return attrs.evolve(decision, **given_up)
    return decision


def leave_room_to_plugins(services: Services, queue: SchedulingQueue, pod: Pod, decision: Decision) -> None:
    """It is done by then."""


def no_room(plugins: CyclePlugins, pod: Pod, decision: Decision) -> Decision:  # noqa: ARG001
    """There are no PostFilter plugins."""
    return decision


def room_1_16(services: Services, queue: SchedulingQueue, pod: Pod, decision: Decision) -> None:
    """Nominates the pod, evicts its victims and takes lower nominations back; the first write that fails ends it.

    Upstream: 1.16 preempt.
    """
    preemption, client = decision.preemption, services.client
    if preemption is None or client is None:
        return
    handle = Handle(services, DEFAULT_SCHEDULER_NAME)
    try:
        if preemption.chosen:
            queue.nominate(pod, preemption.chosen[0])
            client.patch_pod_status(pod, {"nominatedNodeName": preemption.chosen[0]})
            evict_1_16(handle, pod, preemption)
        clear_nominations(handle, preemption.cleared)
    except SchedulingError as error:
        services.observer.trouble(f"preempting for {pod.key}: {error}")
