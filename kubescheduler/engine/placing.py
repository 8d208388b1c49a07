"""A pod on its node for the next decision to see, with the volumes and the devices that it takes there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from clusterstate.errors import SchedulingError
from clusterstate.objects import ClaimVolume, ClusterObject, EphemeralVolume, Pod
from kubescheduler.releases.lookup import release_named

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from kubescheduler.engine.framework_engine import ProfiledScheduler
    from kubescheduler.engine.spec import PodScheduler

Change = tuple[Any, Any]
"""(an object before, None: it was not there; the object now)."""


def place(scheduler: PodScheduler, pod: Pod, node_name: str) -> Sequence[Change]:
    """Has a pending pod run on the node that was chosen for it: assumed in the scheduler's cache, and its claims bound
    and its devices ready at once, as the scheduler, controllers, provisioners and drivers would do by and by.

    What changed besides the pod. Raises ClusterStateError as ``ClusterCache.assume_pod``.
    """
    cache = scheduler.cache
    changes: Sequence[Change] = ()
    if _takes_more_than_a_node(pod, cache):
        changes = [(cache.objects.current(obj), obj) for obj in _bound_with(scheduler, pod, node_name)]
    cache.assume_pod(pod, node_name)
    for _, obj in changes:
        cache.add(obj)
    return changes


def take_back(cache: ClusterCache, pod: Pod, changes: Sequence[Change]) -> None:
    """Undoes what ``place`` did last."""
    cache.forget_pod(pod)
    undo(cache, changes)


def undo(cache: ClusterCache, changes: Sequence[Change]) -> None:
    """The objects are as they were before these changes."""
    for before, after in reversed(changes):
        if before is None:
            cache.remove(after)
        else:
            cache.add(before)


def _takes_more_than_a_node(pod: Pod, cache: ClusterCache) -> bool:
    """Whether a pod may need volumes or devices; those of extended resources are known by the classes of devices."""
    if pod.spec.resource_claims or cache.objects.device_classes:
        return True
    return any(isinstance(volume, ClaimVolume | EphemeralVolume) for volume in pod.spec.volumes)


def _bound_with(scheduler: PodScheduler, pod: Pod, node_name: str) -> Iterable[ClusterObject]:
    try:
        return list(_claims_bound_with(scheduler, pod, node_name))
    except SchedulingError:  # only a configuration without the check of claims places a pod whose claims are not there
        return ()


def _claims_bound_with(scheduler: PodScheduler, pod: Pod, node_name: str) -> Iterable[ClusterObject]:
    record = release_named(scheduler.algorithm.release)
    if record.framework is None:
        from kubescheduler.framework.contract.handle import Services

        gates = scheduler.algorithm.feature_gates
        services = Services(record.name, scheduler.cache, feature_gates=gates)
        return record.legacy_rules.loop().steps(services).bound_with(pod, node_name)
    from kubescheduler.framework.contract.profile import Point
    from kubescheduler.framework.plugins.dynamic_resources import DynamicResources
    from kubescheduler.framework.plugins.volume_binding import VolumeBinding

    frame = cast("ProfiledScheduler", scheduler).profiles.of(pod)
    if frame is None:
        return ()
    binding = (one for one in frame.at(Point.RESERVE) if isinstance(one, VolumeBinding | DynamicResources))
    return (obj for plugin in binding for obj in plugin.bound_with(pod, node_name))
