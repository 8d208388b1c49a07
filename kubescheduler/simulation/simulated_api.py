"""The API server of a simulation, and the controllers and drivers behind it: what the scheduler writes is done at once,
and reported when its attempt is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.devices.resource_claims import made_ready, without_consumer
from clusterstate.errors import SchedulingError
from clusterstate.objects import PersistentVolume, PersistentVolumeClaim, Pod, PodCondition, ResourceClaim
from clusterstate.volumes.claims import made_by_controllers
from kubescheduler.framework.contract.cycle_state import VirtualTime
from kubescheduler.framework.contract.handle import Services, at_once

Change = tuple[Any, Any]
"""(the object before, None if it is new; the object after, None if it is gone)."""


@attrs.define(eq=False)
class SimulatedApi:
    """A Client that keeps the pods of a workload, and what was changed since ``changes`` was last emptied.

    Of a status it keeps what a scheduler reads: the nomination and the conditions.
    """

    cache: ClusterCache
    now: Callable[[], str]
    """The time as the API writes it."""
    changes: deque[Change] = attrs.field(factory=deque)
    """What is yet to be reported, in order."""
    _pods: dict[str, Pod] = attrs.field(init=False)
    """By namespace/name; at first those that run in the cluster."""

    def __attrs_post_init__(self) -> None:
        self._pods = {pod.key: pod for pod in self.cache.pods()}

    # --- what is created and removed by others -----------------------------------------------

    def create(self, pod: Pod) -> None:
        """A pod is created."""
        self._pods[pod.key] = pod
        self.changes.append((None, pod))

    def remove(self, pod: Pod) -> None:
        """A pod is gone, at once."""
        self.changes.append((self._pods.pop(pod.key, pod), None))

    def latest(self, pod: Pod) -> Pod | None:
        """A pod of this name as it is now; None when there is none."""
        return self._pods.get(pod.key)

    # --- what a scheduler writes ---------------------------------------------------------------

    def bind(self, pod: Pod, node_name: str) -> None:
        """Raises SchedulingError for a pod that is gone."""
        current = self._current(pod)
        self._replace(current, current.bound_to(node_name, self.now()))

    def bound(self, pod: Pod) -> None:
        """A pod was bound by somebody, at the latest now."""
        current = self._pods.get(pod.key)
        if current is not None and not current.node_name:
            self.bind(pod, pod.node_name)

    def delete_pod(self, pod: Pod) -> None:
        """A pod on a node is asked to leave, once; any other is gone at once."""
        current = self._pods.get(pod.key, pod)
        if not current.node_name:
            self.remove(current)
        elif current.metadata.deletion_timestamp is None:
            metadata = msgspec.structs.replace(current.metadata, deletion_timestamp=self.now())
            self._replace(current, msgspec.structs.replace(current, metadata=metadata))

    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Raises SchedulingError for a pod that is gone."""
        current = self._current(pod)
        said = {
            one["type"]: PodCondition(one["type"], one["status"], one.get("reason", ""))
            for one in status.get("conditions", ())
        }
        conditions = tuple({**{one.type: one for one in current.conditions}, **said}.values())
        node_name = status.get("nominatedNodeName", current.nominated_node_name)
        new = msgspec.structs.replace(current, conditions=conditions, nominated_node_name=node_name)
        if new != current:
            self._replace(current, new)

    def update_object(self, obj: Any) -> None:
        """Claims and volumes are bound at once, and devices made ready, as controllers, provisioners and drivers do."""
        self._put(obj)
        if isinstance(obj, PersistentVolume | PersistentVolumeClaim):
            for made in made_by_controllers(obj, self.cache.objects, self.cache.node):
                self._put(made)
        elif isinstance(obj, ResourceClaim) and (ready := made_ready(obj)) is not None:
            self._put(ready)

    def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Under its name as it is, so that one run is like the other."""
        self._put(claim)
        return claim

    def update_claim(self, claim: ResourceClaim, change: Callable[[ResourceClaim], ResourceClaim]) -> ResourceClaim:
        """Devices are made ready at once. Raises SchedulingError for a claim that is gone."""
        self.update_object(change(self._claim(claim)))
        return self._claim(claim)

    def take_back_claim(self, claim: ResourceClaim, pod: Pod) -> ResourceClaim:
        """Raises SchedulingError for a claim that is gone."""
        self._put(without_consumer(self._claim(claim), pod.metadata.uid))
        return self._claim(claim)

    def delete_claim(self, claim: ResourceClaim) -> None:
        """At once. Raises SchedulingError for a claim that is gone."""
        self.changes.append((self._claim(claim), None))
        self.cache.remove(claim)

    # --- inside ------------------------------------------------------------------------------

    def _current(self, pod: Pod) -> Pod:
        current = self._pods.get(pod.key)
        if current is None or current.metadata.uid != pod.metadata.uid:
            raise SchedulingError(f'pods "{pod.metadata.name}" not found')
        return current

    def _claim(self, claim: ResourceClaim) -> ResourceClaim:
        current = self.cache.objects.resource_claims.get((claim.metadata.namespace, claim.metadata.name))
        if current is None:
            raise SchedulingError(f'resourceclaims.resource.k8s.io "{claim.metadata.name}" not found')
        return current

    def _replace(self, old: Pod, new: Pod) -> None:
        self._pods[new.key] = new
        self.changes.append((old, new))

    def _put(self, obj: Any) -> None:
        """The scheduler's cache has it at once: a plugin may wait for it. Its queue hears of it later."""
        self.changes.append((self.cache.objects.current(obj), obj))
        self.cache.add(obj)


def on_virtual_time(services: Services, *, api: SimulatedApi, time: VirtualTime, epoch: float) -> Services:
    """The services of a loop that a simulation runs: its API server and clock, and nothing beside the attempts.

    epoch: the start in seconds since 1970.
    """
    return msgspec.structs.replace(
        services,
        client=api,
        time=time,
        today=lambda: epoch + time.moment,
        in_background=at_once,
        reports_failures=False,
    )
