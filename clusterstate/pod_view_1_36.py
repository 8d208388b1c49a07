"""Pods as release 1.36 reads them: owner in full, ephemeral volumes, and what their status says of a resize."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import attrs

from clusterstate.devices.resource_claims import with_own_claims
from clusterstate.objects import Container, FrozenMap, Grant, Pod, PodGrants, PodSpec, RequestsInUse, ResourceList
from clusterstate.podinfo import PodKey, controller_in_full
from clusterstate.usage_framework import RESTARTABLE, as_asked
from clusterstate.volumes.ephemeral_claims import with_ephemeral_claims

RESIZE_PENDING, INFEASIBLE = "PodResizePending", "Infeasible"


def pod_key_1_36(pod: Pod) -> PodKey:
    """What makes two pods equal to release 1.36; the spec has what is in use where that is not what it asks for.

    A pod with ephemeral volumes or resource claims is equal to no other: its spec has its own claims in their place.
    """
    metadata, spec = pod.metadata, with_ephemeral_claims(pod) if pod.spec.volumes else pod.spec
    if pod.grants is not None:
        spec = with_requests_in_use(spec, pod.grants, is_infeasible(pod))
    if spec.resource_claims:
        spec = with_own_claims(spec, pod)
    controller = controller_in_full(metadata) if metadata.owner_references else None
    return (metadata.namespace, metadata.labels, spec, controller, metadata.deletion_timestamp is not None)


def is_infeasible(pod: Pod) -> bool:
    """The first PodResizePending condition says that what the spec asks for will not be granted."""
    return next((c.reason == INFEASIBLE for c in pod.conditions if c.type == RESIZE_PENDING), False)


@lru_cache(maxsize=16_384)
def with_requests_in_use(spec: PodSpec, grants: PodGrants, infeasible: bool) -> PodSpec:
    """The spec with what is in use; the same spec when that is what it asks for.

    In use is the most of what was asked for (not counted when it is infeasible), granted and allocated, by resource.
    """
    in_use = RequestsInUse(
        tuple(_of_container(c, grants, infeasible) for c in spec.containers),
        tuple(
            _of_container(c, grants, infeasible) if c.restart_policy == RESTARTABLE else c.requests
            for c in spec.init_containers
        ),
        _of_pod(spec, grants, infeasible),
    )
    if in_use == as_asked(spec):
        return spec
    return attrs.evolve(spec, in_use=in_use)


def _of_container(container: Container, grants: PodGrants, infeasible: bool) -> ResourceList:
    grant = grants.containers.get(container.name)
    return container.requests if grant is None else _most(container.requests, grant, infeasible)


def _of_pod(spec: PodSpec, grants: PodGrants, infeasible: bool) -> ResourceList:
    """Only the resources that the spec names for the pod as a whole; 0 of what is infeasible and was never granted."""
    if grants.pod is None:
        return spec.resources
    in_use = _most(spec.resources, grants.pod, infeasible)
    return FrozenMap({name: in_use.get(name, 0) for name in spec.resources})


def _most(asked: ResourceList, grant: Grant, infeasible: bool) -> ResourceList:
    most: dict[str, int] = {}
    for name, value in _pairs(*(() if infeasible else (asked,)), grant.requests, grant.allocated):
        most[name] = max(value, most.get(name, value))
    return FrozenMap(most)


def _pairs(*lists: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for resources in lists:
        yield from resources.items()
