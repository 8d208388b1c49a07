"""What a scheduler does when the API server reports that an object came, changed or went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.cluster_objects import KEPT
from clusterstate.devices.resource_claims import is_outdated
from clusterstate.objects import Node, Pod, ResourceClaim

if TYPE_CHECKING:
    from kubescheduler.cycle.schedule_one import Cycles


def resource_version(pod: Pod) -> str:
    """``metadata.resourceVersion`` of a pod whose manifest is kept, else empty."""
    return str(((pod.manifest or {}).get("metadata") or {}).get("resourceVersion") or "")


def is_repeated(old: Any, new: Any) -> bool:
    """Whether an object is reported again as it was known."""
    if type(new) is not Pod:
        return bool(old == new)
    return old.node_name == new.node_name and old == new and resource_version(old) == resource_version(new)


class EventHandlers(msgspec.Struct, frozen=True, eq=False):
    """Keeps a scheduler's cache and queue up with the cluster; called with the services' lock held.

    Upstream: addAllEventHandlers.
    """

    cycles: Cycles

    def changed(self, old: Any, new: Any) -> None:
        """An object came (``old`` is None), changed, or went (``new`` is None)."""
        if old is not None and new is not None and is_repeated(old, new):
            return
        kind = type(old if new is None else new)
        if kind is Pod:
            self._pod_changed(old, new)
        elif kind is Node:
            self._node_changed(old, new)
        else:
            self._object_changed(old, new)

    # --- pods ------------------------------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            (self._assigned_pod_deleted if old.node_name else self._pending_pod_deleted)(old)
        elif not new.node_name:
            self._pending_pod_changed(old, new)
        elif old is None or not old.node_name:
            self.cycles.assumed.confirm(new)
            self.cycles.queue.assigned_pod_added(new)
            if old is not None:
                self.cycles.queue.bound(old)
        else:
            self.cycles.services.cache.update_pod(new)
            self.cycles.queue.assigned_pod_updated(old, new)

    def _pending_pod_changed(self, old: Pod | None, new: Pod) -> None:
        """What happens to a pod that is assumed is of no interest until it is bound."""
        if old is None:
            self.cycles.queue.add(new)
        elif not self.cycles.services.cache.is_assumed(new):
            self.cycles.queue.update(old, new)

    def _pending_pod_deleted(self, pod: Pod) -> None:
        """It is taken out of the queue; one that waits for Permit or PreBind, or was bound unseen, is given up."""
        self.cycles.queue.delete(pod)
        self.cycles.services.waiting.reject(pod.metadata.uid)
        self.cycles.give_up_unseen(pod)

    def _assigned_pod_deleted(self, pod: Pod) -> None:
        self.cycles.services.cache.remove_pod(pod)
        self.cycles.queue.assigned_pod_deleted(pod)

    # --- nodes and the rest ----------------------------------------------------------------

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        cache, queue = self.cycles.services.cache, self.cycles.queue
        if new is None:
            assert old is not None
            cache.remove_node(old.name)
            queue.node_deleted(old)
            return
        cache.add_node(new)
        if old is None:
            queue.node_added(new)
        else:
            queue.node_updated(old, new)

    def _object_changed(self, old: Any, new: Any) -> None:
        """Kinds that the scheduler does not read are passed over.

        What the scheduler wrote into a claim stays when an event tells of the claim as it was before, and a claim that
        it deleted stays away.
        """
        cache = self.cycles.services.cache
        if type(old if new is None else new) not in KEPT:
            return
        if new is None:
            cache.remove(old)
            cache.objects.deleted_claims.discard(old.metadata.uid)
        elif not isinstance(new, ResourceClaim) or not is_outdated(new, cache.objects):
            cache.add(new)
        self.cycles.queue.object_changed(old, new)
