"""What a pod on its way to a node does to its claims and volumes: takes them, writes them down, waits until they are
bound, lets go of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clusterstate.cluster_objects import KEPT
from clusterstate.errors import SchedulingError
from clusterstate.objects import ClaimReference, FrozenMap, Node, PersistentVolume, PersistentVolumeClaim, Pod
from clusterstate.volumes.claim_matching import SELECTED_NODE_ANNOTATION, is_reserved
from clusterstate.volumes.claims import BIND_COMPLETED_ANNOTATION
from clusterstate.volumes.claims_framework import node_affinity_holds
from clusterstate.volumes.csi_migration import TranslationError, migrated_plugins, plugin_of, translated_affinity
from clusterstate.volumes.volume_decision import PodVolumes
from kubecel.api_names import go_quote
from kubescheduler.framework.contract.cycle_state import Cancellation, CycleState
from kubescheduler.framework.contract.handle import Handle

POLL_SECONDS = 1.0
"""Between two looks at whether claims are bound."""

Wait = Callable[[Cancellation, float], object]
"""Waits for some seconds, or until the work is to stop."""

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


class BindingError(SchedulingError):
    """Volumes that cannot be bound; the release's text."""


class Change(msgspec.Struct, eq=False):
    """One object as it was and as it shall be."""

    before: Any
    after: Any
    written: bool = False
    """Whether the API has the object as it shall be."""


class ReservedVolumes(msgspec.Struct, eq=False):
    """What was taken for a pod on a node: the volumes with the claims they are for, and the claims to provision."""

    node_name: str
    volumes: tuple[tuple[PersistentVolumeClaim, Change], ...] = ()
    claims: tuple[Change, ...] = ()

    @property
    def all_bound(self) -> bool:
        """There is nothing to bind."""
        return not self.volumes and not self.claims

    def changes(self) -> list[Change]:
        """In the order they are written."""
        return [*(change for _, change in self.volumes), *self.claims]


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
        reserved = ReservedVolumes(
            node_name,
            tuple((claim, Change(volume, given_to(volume, claim))) for claim, volume in volumes.bindings),
            tuple(Change(claim, sent_to(claim, node_name)) for claim in volumes.provisions),
        )
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
        table = getattr(self.handle.cache.objects, KEPT[type(obj)][0])
        meta = obj.metadata
        return table.get((meta.namespace, meta.name) if isinstance(obj, PersistentVolumeClaim) else meta.name)

    def _is_older(self, current: Any, change: Change) -> bool:
        """What was written has not come back yet."""
        return current is not change.after and current == change.before != change.after

    # --- until all is bound ----------------------------------------------------------------

    def wait_until_bound(
        self, reserved: ReservedVolumes, pod: Pod, state: CycleState, timeout: float, wait: Wait
    ) -> bool:
        """Looks every second, the first time after one; False when the timeout, in seconds, is over.

        Raises BindingError when the claims will not be bound, CancelledError when it is told to stop.
        """
        clock = self.handle.clock
        end = clock() + timeout
        while (left := end - clock()) > 0:
            wait(state.cancellation, min(POLL_SECONDS, left))
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
        columns = self.handle.cache.columns
        row = columns.row_of.get(name)
        node = None if row is None else columns.nodes[row]
        if node is None:
            raise BindingError(f"failed to get node {go_quote(name)}: node {go_quote(name)} not found")
        return node

    def _is_bound(self, claim: PersistentVolumeClaim, change: Change, node: Node) -> bool:
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

    def _is_provisioned(self, change: Change, node: Node) -> bool:
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
