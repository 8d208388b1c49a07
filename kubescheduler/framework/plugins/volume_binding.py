"""VolumeBinding: the claims of a pod can be used on its node, or are bound or provisioned for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.objects import (
    ClaimReference,
    ClaimVolume,
    EphemeralVolume,
    FrozenMap,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from clusterstate.volumes.claim_matching import BindingRules, is_reserved
from clusterstate.volumes.claims import (
    BIND_COMPLETED_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
    leads_to_claims,
    made_by_controllers,
    node_affinity_holds,
)
from clusterstate.volumes.csi_migration import (
    TranslationError,
    migrated_plugins,
    migrating_plugins,
    plugin_of,
    translated_affinity,
)
from clusterstate.volumes.volume_decision import (
    RULES_1_20_WITH_CAPACITY,
    RULES_1_36,
    RULES_WITHOUT_ATTRIBUTES,
    PodVolumes,
    bindings_for,
    storage_to_bind,
)
from kubecel.api_names import go_quote
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState, StateNotFoundError
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import PreFlight
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    INT64,
    INVALID,
    SHAPE,
    UNSORTED,
    UNSORTED_1_20,
    ArgsType,
    FieldError,
    Shape,
    fields,
    invalid,
    plain,
    refuse,
    shape_errors,
)
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason, sign_volumes
from kubescheduler.queue.queueing_hints import (
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    NEW_OR_LABELLED,
    PV,
    PVC,
    STORAGE_CLASS,
    Action,
    Registered,
    may_be_claimed,
)
from predicates.refusal_evidence import filter_evidence
from predicates.types import FitPredicate, NodeError, always
from predicates.volume_binding import (
    VOLUME_BINDING_1_18,
    VOLUME_BINDING_1_20,
    VOLUME_BINDING_1_23,
    VOLUME_BINDING_1_24,
    VOLUME_BINDING_1_27,
    VOLUME_BINDING_1_36,
    VolumeBindingRule,
)
from priorities.types import PriorityConfig, goes_on
from priorities.volume_binding import (
    DEFAULT_SHAPE,
    DEFAULT_SHAPE_1_21,
    has_volumes_found,
    has_volumes_to_find,
    nothing_evidence,
    score_table,
    storage_evidence,
    storage_scores,
    volume_evidence_1_21,
    volume_scores_1_21,
)

POLL_SECONDS = 1.0
"""Between two looks at whether claims are bound."""

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


class BindingError(SchedulingError):
    """Volumes that cannot be bound; the release's text."""


class ChangedVolume(msgspec.Struct, eq=False):
    """One object as it was and as it shall be."""

    before: Any
    after: Any
    written: bool = False
    """Whether the API has the object as it shall be."""


class ReservedVolumes(msgspec.Struct, eq=False):
    """What was taken for a pod on a node: the volumes with the claims they are for, and the claims to provision."""

    node_name: str
    volumes: tuple[tuple[PersistentVolumeClaim, ChangedVolume], ...] = ()
    claims: tuple[ChangedVolume, ...] = ()

    @classmethod
    def of(cls, volumes: PodVolumes, node_name: str) -> ReservedVolumes:
        """What binding a pod to a node means for its claims."""
        return cls(
            node_name,
            tuple((claim, ChangedVolume(volume, given_to(volume, claim))) for claim, volume in volumes.bindings),
            tuple(ChangedVolume(claim, sent_to(claim, node_name)) for claim in volumes.provisions),
        )

    @property
    def all_bound(self) -> bool:
        """There is nothing to bind."""
        return not self.volumes and not self.claims

    def changes(self) -> list[ChangedVolume]:
        """In the order they are written."""
        return [*(change for _, change in self.volumes), *self.claims]

    def bound(self, cache: ClusterCache) -> Iterator[PersistentVolume | PersistentVolumeClaim]:
        """What becomes of volumes and claims, once controllers and provisioners have done their part. A claim that a
        pod names twice may be given two volumes; it is bound to the first."""
        taken = set[str]()
        for claim, change in self.volumes:
            yield change.after
            if claim.metadata.name not in taken:
                yield from made_by_controllers(change.after, cache.objects, cache.node)
            taken.add(claim.metadata.name)
        for change in self.claims:
            yield from made_by_controllers(change.after, cache.objects, cache.node)


def given_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume with a reference to the claim. Upstream: GetBindVolumeToClaim."""
    meta, own = volume.metadata, claim.metadata
    reference = ClaimReference(own.namespace, own.name, own.uid)
    if not is_reserved(claim, volume) and BOUND_BY_CONTROLLER not in meta.annotations:
        meta = msgspec.structs.replace(meta, annotations=FrozenMap({**meta.annotations, BOUND_BY_CONTROLLER: "yes"}))
    return msgspec.structs.replace(volume, metadata=meta, claim_ref=reference)


def sent_to(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    """The claim with the node that its volume is to be made for."""
    meta = claim.metadata
    annotations = FrozenMap({**meta.annotations, SELECTED_NODE_ANNOTATION: node_name})
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(meta, annotations=annotations))


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim is bound and the binding is complete."""
    return bool(claim.volume_name) and BIND_COMPLETED_ANNOTATION in claim.metadata.annotations


class VolumeBooks(msgspec.Struct, frozen=True, eq=False):
    """What is taken shows in the cache's objects at once; it is put back unless something newer came meanwhile."""

    handle: Handle
    plugins: frozenset[str] = frozenset()
    """The in-tree plugins that nodes may have handed over to CSI drivers."""

    def take(self, volumes: PodVolumes, node_name: str) -> ReservedVolumes:
        """Upstream: AssumePodVolumes."""
        reserved = ReservedVolumes.of(volumes, node_name)
        for change in reserved.changes():
            if change.after != change.before:
                with self.handle.lock:
                    self.handle.cache.add(change.after)
        return reserved

    def put_back(self, reserved: ReservedVolumes, *, unwritten_only: bool = False) -> None:
        """Upstream: RevertAssumedPodVolumes."""
        for change in reserved.changes():
            if self._current(change.after) is change.after and not (unwritten_only and change.written):
                with self.handle.lock:
                    self.handle.cache.add(change.before)

    def write(self, reserved: ReservedVolumes, update: Callable[[Any], None]) -> None:
        """Volumes first, then claims. Raises SchedulingError with the API's text; what is not written is put back."""
        try:
            for change in reserved.changes():
                update(change.after)
                change.written = True
        except SchedulingError:
            self.put_back(reserved, unwritten_only=True)
            raise

    def _current(self, obj: Any) -> Any:
        return self.handle.cache.objects.current(obj)

    def _is_older(self, current: Any, change: ChangedVolume) -> bool:
        """What was written has not come back yet."""
        return current is not change.after and current == change.before != change.after

    # --- until all is bound ----------------------------------------------------------------

    def wait_until_bound(self, reserved: ReservedVolumes, pod: Pod, state: CycleState, timeout: float) -> bool:
        """Looks every second, the first time after one; False when the timeout, in seconds, is over.

        Raises BindingError when the claims will not be bound, CancelledError when it is told to stop.
        """
        clock = self.handle.clock
        end = clock() + timeout
        while (left := end - clock()) > 0:
            self.handle.sleep(state.cancellation, min(POLL_SECONDS, left))
            state.cancellation.check()
            if self.are_bound(reserved, pod):
                return True
        return False

    def are_bound(self, reserved: ReservedVolumes, pod: Pod) -> bool:
        """Whether every claim is bound now. Raises BindingError when that will not come. Upstream: checkBindings."""
        node = self._node(reserved.node_name)
        if pod not in self.handle.cache:
            raise BindingError(f"pod does not exist any more: pod {go_quote(pod.metadata.name)} not found")
        return all(self._is_bound(claim, change, node) for claim, change in reserved.volumes) and all(
            self._is_provisioned(change, node) for change in reserved.claims
        )

    def _node(self, name: str) -> Node:
        node = self.handle.cache.node(name)
        if node is None:
            raise BindingError(f"failed to get node {go_quote(name)}: node {go_quote(name)} not found")
        return node

    def _is_bound(self, claim: PersistentVolumeClaim, change: ChangedVolume, node: Node) -> bool:
        volume, now = self._current(change.after), self._current(claim)
        if volume is None:
            name = go_quote(change.after.metadata.name)
            raise BindingError(f"failed to check binding: could not find v1.PersistentVolume {name}")
        if now is None:
            raise BindingError(f"failed to check binding: could not find v1.PersistentVolumeClaim {_key(claim)}")
        if self._is_older(volume, change):
            return False
        try:
            self._check_affinity(volume, node)
        except TranslationError as error:
            raise BindingError(f"failed to translate pv to csi: could not translate pv: {error}") from error
        if volume.claim_ref is None or not volume.claim_ref.uid:
            raise BindingError(f"ClaimRef got reset for pv {go_quote(volume.metadata.name)}")
        return is_fully_bound(now)

    def _is_provisioned(self, change: ChangedVolume, node: Node) -> bool:
        claim = self._current(change.after)
        if claim is None:
            key = _key(change.after)
            raise BindingError(f"failed to check provisioning pvc: could not find v1.PersistentVolumeClaim {key}")
        if self._is_older(claim, change):
            return False
        name, annotations = go_quote(claim.metadata.name), claim.metadata.annotations
        if not annotations:
            raise BindingError(f"selectedNode annotation reset for PVC {name}")
        if annotations.get(SELECTED_NODE_ANNOTATION) != node.name:
            raise BindingError(f"provisioning failed for PVC {name}")
        if claim.volume_name:
            volume = self.handle.cache.objects.persistent_volumes.get(claim.volume_name)
            if volume is None:
                return False
            try:
                self._check_affinity(volume, node)
            except TranslationError as error:
                raise BindingError(f"could not translate pv: {error}") from error
        return is_fully_bound(claim)

    def _check_affinity(self, volume: PersistentVolume, node: Node) -> None:
        terms = volume.node_affinity
        plugin = plugin_of(volume.source)
        csi_node = self.handle.cache.objects.csi_nodes.get(node.name)
        if plugin is not None and csi_node is not None and plugin.name in self.plugins & migrated_plugins(csi_node):
            terms = translated_affinity(volume, plugin)
        if not node_affinity_holds(terms, node.metadata.labels):
            raise BindingError(
                f"pv {go_quote(volume.metadata.name)} node affinity doesn't match node {go_quote(node.name)}: "
                "no matching NodeSelectorTerms"
            )


def _key(claim: PersistentVolumeClaim) -> str:
    return go_quote(f"{claim.metadata.namespace}/{claim.metadata.name}")


NAME = "VolumeBinding"
STATE = f"Reserve{NAME}"
"""Where the cycle state has what was reserved."""

POINTS_1_18 = frozenset({Point.FILTER, Point.RESERVE, Point.PRE_BIND})
POINTS_1_20 = frozenset({Point.PRE_FILTER, Point.FILTER, Point.RESERVE, Point.PRE_BIND})
POINTS_1_21 = POINTS_1_20 | {Point.SCORE}
POINTS_1_36 = POINTS_1_21 | {Point.PRE_SCORE}
READS = Reads.NODE | Reads.STORAGE

SCORING_GATE = "StorageCapacityScoring"
CAPACITY_GATE_1_20 = "CSIStorageCapacity"
PRIORITY_GATE = "VolumeCapacityPriority"
ATTRIBUTES_GATE = "VolumeAttributesClass"

NO_VOLUMES = PodVolumes()


class VolumeBindingArgs(msgspec.Struct, frozen=True):
    """How long PreBind waits, and how storage is scored."""

    bind_timeout_seconds: int = 600
    """How long PreBind waits for claims to be bound."""
    shape: Shape | None = None
    """1.36: (utilization 0-100, score 0-10) points; None for the default."""
    scores_capacity: bool = False
    """1.36: gate StorageCapacityScoring is on, ``shape`` may be given."""


class BindingWords(msgspec.Struct, frozen=True):
    """A release's texts for errors of PreBind; ``nothing_found`` is about a node."""

    nothing_found: str
    timed_out: str


WORDS_1_20 = BindingWords("no pod volumes found for node {}", "timed out waiting for the condition")
WORDS_1_36 = BindingWords("no pod volume found for node {}", "context deadline exceeded")


class VolumeBinding:
    """What Reserve takes shows in the cache's objects at once, so that no other pod gets it.

    Without a client PreBind has nobody to tell, and does nothing. Upstream: 1.20 and 1.36 VolumeBinding.
    """

    name = NAME
    filter_alone: str | None = "not found"
    sign = staticmethod(sign_volumes)

    def __init__(
        self,
        handle: Handle,
        rule: VolumeBindingRule,
        words: BindingWords,
        points: frozenset[Point],
        timeout: float,
        *,
        scoring: PriorityConfig | None = None,
    ) -> None:
        """timeout: seconds that PreBind waits for claims to be bound, as the handle sleeps."""
        self.points = points
        self.scoring = scoring
        self.check = FitPredicate(
            NAME,
            rule.check,
            Footprint(
                READS,
                pod_key=spec_alone,
                storage=partial(storage_to_bind, rule.rules.class_of),
                pre_reads=Reads.STORAGE,
            ),
            leads_to_claims,
            pre_filter=rule.pre_filter,
            unresolvable=always,
            evidence=filter_evidence(NAME, rule.explain),
        )
        self._handle = handle
        self._rules = rule.rules
        self._words = words
        self._timeout = timeout
        self._books = VolumeBooks(handle, rule.plugins)

    # --- Reserve ---------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Takes volumes for the claims that wait for a node, and sends the others to it.

        Raises SchedulingError for claims that cannot be looked up.
        """
        try:
            state.write(STATE, self._books.take(self._volumes_for(pod, node_name), node_name))
        except SchedulingError:
            self._handle.observer.volumes_failed("assume")
            raise
        return None

    def _volumes_for(self, pod: Pod, node_name: str) -> PodVolumes:
        if not pod.spec.volumes:
            return NO_VOLUMES
        snapshot = self._handle.snapshot()
        info, row = snapshot.info(pod), snapshot.row_of(node_name)
        return PodVolumes() if row is None else bindings_for(info, snapshot, row, self._rules)

    def bound_with(self, pod: Pod, node_name: str) -> Iterator[PersistentVolume | PersistentVolumeClaim]:
        """Volumes and claims as they are once the pod is bound to the node. Raises as ``reserve``."""
        return ReservedVolumes.of(self._volumes_for(pod, node_name), node_name).bound(self._handle.cache)

    def unreserve(self, state: CycleState, _: Pod, __: str) -> None:
        """Lets go of what was taken; what was written stays written."""
        reserved = self._reserved(state)
        if reserved is not None:
            self._books.put_back(reserved)
            state.delete(STATE)

    def _reserved(self, state: CycleState) -> ReservedVolumes | None:
        try:
            reserved: ReservedVolumes = state.read(STATE)
        except StateNotFoundError:
            return None
        return reserved

    # --- PreBind ---------------------------------------------------------------------------

    def pre_bind_pre_flight(self, state: CycleState, _: Pod, node_name: str) -> PreFlight:
        """Skips when there is nothing to bind (1.36)."""
        reserved = self._reserved(state)
        if reserved is not None and reserved.all_bound:
            return PreFlight(Status(Code.Skip))
        if reserved is None or reserved.node_name != node_name:
            return PreFlight(self._nothing_found(node_name))
        return PreFlight(allow_parallel=True)

    def _nothing_found(self, node_name: str) -> Status:
        return Status.failure(self._words.nothing_found.format(go_quote(node_name)))

    def binds_at_once(self, pod: Pod) -> bool:
        """A pod without claims has no volumes to wait for."""
        return not any(isinstance(volume, ClaimVolume | EphemeralVolume) for volume in pod.spec.volumes)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Writes what was taken to the API and waits until the claims are bound.

        Raises CancelledError when it is told to stop.
        """
        reserved, client = self._reserved(state), self._handle.client
        if reserved is not None and reserved.all_bound:
            return None
        if reserved is None or reserved.node_name != node_name:
            return self._nothing_found(node_name)
        if client is None:
            return None
        try:
            self._books.write(reserved, client.update_object)
            bound = self._books.wait_until_bound(reserved, pod, state, self._timeout)
        except SchedulingError as error:
            state.cancellation.check()
            return self._not_bound(str(error))
        return None if bound else self._not_bound(self._words.timed_out)

    def _not_bound(self, reason: str) -> Status:
        self._handle.observer.volumes_failed("bind")
        return Status.failure(f"binding volumes: {reason}")


class VolumesOfNodes(VolumeBinding):
    """Its Filter needs no PreFilter. Upstream: 1.18 VolumeBinding."""

    filter_alone = None


# --- releases ------------------------------------------------------------------------------


def volume_binding_1_18(_: Any, handle: Handle) -> VolumeBinding:
    """Claims are looked at on each node; one that is missing, going or unbound though it should not wait is an error.

    Upstream: 1.18 VolumeBinding, and the scheduler's own volume binder.
    """
    timeout = VolumeBindingArgs().bind_timeout_seconds
    return VolumesOfNodes(handle, VOLUME_BINDING_1_18, WORDS_1_20, POINTS_1_18, timeout)


def volume_binding_1_19(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """A claim that is missing or going is an error.

    Upstream: 1.19 VolumeBinding. Raises ConfigError for a timeout that is not positive.
    """
    return _binding_1_20(args, handle, msgspec.structs.replace(VOLUME_BINDING_1_20, told=NodeError))


def volume_binding_1_20(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """CSIStorageCapacity counts only with feature gate CSIStorageCapacity.

    Upstream: 1.20 VolumeBinding. Raises ConfigError for a timeout that is not positive.
    """
    return _binding_1_20(args, handle, VOLUME_BINDING_1_20)


def _binding_1_20(args: VolumeBindingArgs | None, handle: Handle, rule: VolumeBindingRule) -> VolumeBinding:
    args = args or VolumeBindingArgs()
    refuse(_errors_1_20(args))
    return VolumeBinding(handle, _rule_1_20(handle, rule), WORDS_1_20, POINTS_1_20, args.bind_timeout_seconds)


def volume_binding_1_21(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """With feature gate VolumeCapacityPriority nodes score by how full the volumes would be that are found for the
    pod's claims; without it every node has 0.

    Upstream: 1.21 VolumeBinding.
    """
    args, rule = args or VolumeBindingArgs(), _rule_1_20(handle)
    refuse(_errors_1_21(args))
    scoring, timeout = capacity_priority(args, handle, rule.rules), args.bind_timeout_seconds
    return VolumeBinding(handle, rule, WORDS_1_20, POINTS_1_21, timeout, scoring=scoring)


def _rule_1_20(handle: Handle, rule: VolumeBindingRule = VOLUME_BINDING_1_20) -> VolumeBindingRule:
    gates = handle.feature_gates
    rule = msgspec.structs.replace(rule, plugins=migrating_plugins(gates))
    if gates.get(CAPACITY_GATE_1_20, False):
        rule = msgspec.structs.replace(rule, rules=RULES_1_20_WITH_CAPACITY)
    return rule


def capacity_priority(
    args: VolumeBindingArgs, handle: Handle, rules: BindingRules, *, skips: bool = False
) -> PriorityConfig:
    """Its score up to 1.32, 0 without feature gate VolumeCapacityPriority. skips: PreScore passes pods over for which
    no volume is found, as it does from 1.30 on."""
    if not handle.feature_gates.get(PRIORITY_GATE, False):
        return _off(PRIORITY_GATE, skips=skips)
    shape = args.shape or DEFAULT_SHAPE_1_21
    return PriorityConfig(
        NAME,
        partial(volume_scores_1_21, score_table(shape), rules),
        footprint=_footprint(rules),
        pre_score=partial(has_volumes_found, rules) if skips else goes_on,
        evidence=volume_evidence_1_21(shape, rules),
    )


def _footprint(rules: BindingRules) -> Footprint:
    return Footprint(READS, pod_key=spec_alone, storage=partial(storage_to_bind, rules.class_of))


def volume_binding_1_23(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """As in 1.25, but in-tree volumes are their CSI drivers' only where the feature gates CSIMigration… say so, and
    CSIStorageCapacity counts only with its feature gate.

    Upstream: 1.23 VolumeBinding.
    """
    gates = handle.feature_gates
    rules = RULES_1_20_WITH_CAPACITY if gates.get(CAPACITY_GATE_1_20, True) else VOLUME_BINDING_1_23.rules
    rule = msgspec.structs.replace(VOLUME_BINDING_1_23, plugins=migrating_plugins(gates), rules=rules)
    return _since_1_23(rule, args, handle)


def volume_binding_1_24(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """The reason about a bound volume speaks of a conflict. With feature gate VolumeCapacityPriority nodes score by how
    full the volumes would be; without it every node has 0.

    Upstream: 1.24 VolumeBinding.
    """
    return _since_1_23(VOLUME_BINDING_1_24, args, handle)


def volume_binding_1_27(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """As in 1.25, and bound volumes that name nodes by hostname narrow the nodes before any Filter.

    Upstream: 1.27 VolumeBinding.
    """
    return _since_1_23(VOLUME_BINDING_1_27, args, handle)


def volume_binding_1_30(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """As in 1.27, but nothing is scored without feature gate VolumeCapacityPriority.

    Upstream: 1.30 VolumeBinding.
    """
    return _since_1_23(VOLUME_BINDING_1_27, args, handle, skips=True)


def volume_binding_1_32(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """As in 1.30, but volumes do not narrow the nodes.

    Upstream: 1.32 VolumeBinding.
    """
    return _since_1_23(VOLUME_BINDING_1_24, args, handle, skips=True)


def _since_1_23(
    rule: VolumeBindingRule, args: VolumeBindingArgs | None, handle: Handle, *, skips: bool = False
) -> VolumeBinding:
    """skips: see ``capacity_priority``."""
    args = args or VolumeBindingArgs()
    scoring, timeout = capacity_priority(args, handle, rule.rules, skips=skips), args.bind_timeout_seconds
    return VolumeBinding(handle, rule, WORDS_1_36, POINTS_1_36 if skips else POINTS_1_21, timeout, scoring=scoring)


def volume_binding_1_36(args: VolumeBindingArgs | None, handle: Handle) -> VolumeBinding:
    """For pods with claims. Bound volumes must have a node affinity that picks the node. Claims that wait for their
    first consumer must find a volume there, or a class that can provision one; where its driver publishes
    CSIStorageCapacity, there must be room. A claim that is unbound and does not wait refuses the pod as a whole.
    Reserve keeps the volumes, PreBind writes them down and waits until they are bound.

    Upstream: 1.36 VolumeBinding.
    """
    args, gates, rule = args or VolumeBindingArgs(), handle.feature_gates, VOLUME_BINDING_1_36
    if not gates.get(ATTRIBUTES_GATE, True):
        rule = msgspec.structs.replace(rule, rules=RULES_WITHOUT_ATTRIBUTES)
    if gates.get(SCORING_GATE, False):
        scoring = PriorityConfig(
            NAME,
            partial(storage_scores, score_table(args.shape or ())),
            footprint=_footprint(RULES_1_36),
            pre_score=has_volumes_to_find,
            evidence=storage_evidence(args.shape or ()),
        )
    elif gates.get(PRIORITY_GATE, False):
        scoring = capacity_priority(args, handle, rule.rules, skips=True)
    else:
        scoring = _off(SCORING_GATE, skips=True)
    timeout = args.bind_timeout_seconds
    return VolumeBinding(handle, rule, WORDS_1_36, POINTS_1_36, timeout, scoring=scoring)


def _off(gate: str, *, skips: bool) -> PriorityConfig:
    """Its score without the gate: none where PreScore skips, 0 elsewhere."""
    return PriorityConfig(
        NAME,
        lambda _, snapshot: np.zeros(len(snapshot), np.int64),
        footprint=Footprint(Reads(0), pod_key=spec_alone),
        pre_score=(lambda *_: False) if skips else goes_on,
        evidence=nothing_evidence(gate),
    )


# --- args --------------------------------------------------------------------------------------


def _errors_1_20(args: VolumeBindingArgs) -> Iterator[FieldError]:
    if args.bind_timeout_seconds <= 0:
        yield plain(f"invalid BindTimeoutSeconds: {args.bind_timeout_seconds}, must be positive integer")


def _errors_1_21(args: VolumeBindingArgs) -> Iterator[FieldError]:
    if args.bind_timeout_seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid("bindTimeoutSeconds", args.bind_timeout_seconds, text)


def _errors_1_36(args: VolumeBindingArgs) -> Iterator[FieldError]:
    points = ",".join(f'{{"Utilization":{utilization},"Score":{score}}}' for utilization, score in args.shape or ())
    yield from _shape_errors(args, SCORING_GATE, f"[{points}]", UNSORTED)


def _errors_1_24(args: VolumeBindingArgs, gate: str = PRIORITY_GATE) -> Iterator[FieldError]:
    """The value is shown as a Go literal."""
    name = "config.UtilizationShapePoint"
    points = ", ".join(f"{name}{{Utilization:{utilization}, Score:{score}}}" for utilization, score in args.shape or ())
    yield from _shape_errors(args, gate, f"[]{name}{{{points}}}", UNSORTED_1_20)


def _shape_errors(args: VolumeBindingArgs, gate: str, shown: str, unsorted: str) -> Iterator[FieldError]:
    yield from _errors_1_21(args)
    if args.scores_capacity:
        shape = DEFAULT_SHAPE if args.shape is None else args.shape
        yield from (error.under("shape") for error in shape_errors(shape, unsorted))
    elif args.shape is not None:
        text = f"unexpected field `shape`, remove it or turn on the feature gate {gate}"
        yield FieldError("shape", text, INVALID, shown)


def _build_under(gate: str, feature_gates: Mapping[str, bool]) -> Callable[..., VolumeBindingArgs]:
    return partial(VolumeBindingArgs, scores_capacity=feature_gates.get(gate, False))


ARGS_1_20 = ArgsType(
    VolumeBindingArgs,
    fields(bind_timeout_seconds=INT64),
    """
How long PreBind waits for claims to be bound. `shape` needs feature gate StorageCapacityScoring. 1.20 refuses 0
seconds, too.""",
    errors=_errors_1_20,
)
ARGS_1_21 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_21)
ARGS_1_36 = msgspec.structs.replace(
    ARGS_1_20,
    fields=(*ARGS_1_20.fields, msgspec.structs.replace(SHAPE, always=False)),
    build_with=partial(_build_under, SCORING_GATE),
    errors=_errors_1_36,
    checked_with_config=True,
)
ARGS_1_33 = msgspec.structs.replace(ARGS_1_36, errors=partial(_errors_1_24, gate=SCORING_GATE))
ARGS_1_24 = msgspec.structs.replace(ARGS_1_36, build_with=partial(_build_under, PRIORITY_GATE), errors=_errors_1_24)


# --- what it is in each release ---------------------------------------------------------------

CONFLICT = PluginReason("node(s) had volume node affinity conflict", UNRESOLVABLE)
NOTHING_FOUND = PluginReason("node(s) didn't find available persistent volumes to bind", UNRESOLVABLE)
REASONS = (
    PluginReason('persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE, "PreFilter"),
    PluginReason('persistentvolumeclaim "<NAME>" is being deleted', UNRESOLVABLE, "PreFilter"),
    PluginReason("pod has unbound immediate PersistentVolumeClaims", UNRESOLVABLE, "PreFilter"),
    NOTHING_FOUND,
    PluginReason("node(s) did not have enough free storage", UNRESOLVABLE),
)
REASONS_1_18 = (CONFLICT, NOTHING_FOUND)
REASONS_1_20 = (
    PluginReason('persistentvolumeclaim "<NAME>" was not created for the pod', UNRESOLVABLE, "PreFilter"),
    CONFLICT,
    PluginReason("pvc(s) bound to non-existent pv(s)", UNRESOLVABLE),
    *REASONS,
)
REASONS_1_24, REASONS_1_36 = (
    (
        PluginReason("PVC <NAME> was not created for pod <POD> (pod is not owner)", UNRESOLVABLE, "PreFilter"),
        PluginReason(
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "<NAME>"',
            UNRESOLVABLE,
            "PreFilter",
        ),
        PluginReason(
            'persistentvolumeclaim "<NAME>" bound to non-existent persistentvolume "<NAME>"', UNRESOLVABLE, "PreFilter"
        ),
        affinity,
        PluginReason("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", UNRESOLVABLE),
        *REASONS,
    )
    for affinity in (CONFLICT, PluginReason("node(s) didn't match PersistentVolume's node affinity", UNRESOLVABLE))
)
EVENTS = (
    Registered(STORAGE_CLASS, Action.ADD | Action.UPDATE),
    Registered(PVC, Action.ADD | Action.UPDATE, may_be_claimed),
    Registered(PV, Action.ADD | Action.UPDATE),
    NEW_OR_LABELLED,
    Registered(CSI_NODE, Action.ADD | Action.UPDATE),
    Registered(CSI_DRIVER, Action.UPDATE),
    Registered(CSI_CAPACITY, Action.ADD | Action.UPDATE),
)

PLUGIN_1_18 = InTreePlugin(NAME, POINTS_1_18, volume_binding_1_18, reasons=REASONS_1_18)
PLUGIN_1_19 = InTreePlugin(NAME, POINTS_1_20, volume_binding_1_19, args=ARGS_1_20, reasons=REASONS_1_20)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, volume_binding_1_20, args=ARGS_1_20, reasons=REASONS_1_20)
PLUGIN_1_21 = InTreePlugin(
    NAME, POINTS_1_21, volume_binding_1_21, args=ARGS_1_21, reasons=REASONS_1_20, default_weight=1
)
PLUGIN_1_22 = msgspec.structs.replace(PLUGIN_1_21, args=ARGS_1_24)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, volume_binding_1_36, args=ARGS_1_36, reasons=REASONS_1_36, events=EVENTS)
PLUGIN_1_33 = msgspec.structs.replace(PLUGIN_1_36, args=ARGS_1_33)
PLUGIN_1_32 = msgspec.structs.replace(PLUGIN_1_36, make=volume_binding_1_32, args=ARGS_1_24, reasons=REASONS_1_24)
PLUGIN_1_30 = msgspec.structs.replace(PLUGIN_1_32, make=volume_binding_1_30)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_32, make=volume_binding_1_27, points=POINTS_1_21)
PLUGIN_1_24 = msgspec.structs.replace(PLUGIN_1_27, make=volume_binding_1_24)
PLUGIN_1_23 = msgspec.structs.replace(PLUGIN_1_24, make=volume_binding_1_23, default_weight=1)
