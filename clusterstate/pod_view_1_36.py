"""Pods as release 1.36 reads them: claims of their own, what their containers are granted, and gates that change both.

What the release does not know of a pod is left out here, so that nothing after this asks which release it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

import msgspec

from clusterstate.devices.resource_claims import with_own_claims
from clusterstate.objects import (
    NO_RESOURCES,
    Container,
    EphemeralClaim,
    EphemeralVolume,
    FrozenMap,
    Grant,
    Pod,
    PodGrants,
    PodSpec,
    RequestsInUse,
    ResourceList,
    Taint,
    Toleration,
)
from clusterstate.podinfo import PodKey, controller_in_full, pod_key
from clusterstate.usage import RESTARTABLE, as_asked


def with_ephemeral_claims(pod: Pod) -> PodSpec:
    """The spec with every ephemeral volume replaced by its claim, and the pod that has to own it; the same spec when
    there is none.

    For releases that read ephemeral volumes: such pods are alike in nothing but the rest.
    """
    spec = pod.spec
    if not any(isinstance(volume, EphemeralVolume) for volume in spec.volumes):
        return spec
    volumes = (_own_claim(pod, v) if isinstance(v, EphemeralVolume) else v for v in spec.volumes)
    return msgspec.structs.replace(spec, volumes=tuple(volumes))


def _own_claim(pod: Pod, volume: EphemeralVolume) -> EphemeralClaim:
    return EphemeralClaim(f"{pod.metadata.name}-{volume.volume_name}", pod.metadata.name, pod.metadata.uid)


def pod_key_with_ephemeral_claims(pod: Pod) -> PodKey:
    """What makes two pods equal to releases before 1.36 that read ephemeral volumes.

    Upstream: 1.20 with feature gate GenericEphemeralVolume.
    """
    if not any(isinstance(volume, EphemeralVolume) for volume in pod.spec.volumes):
        return pod_key(pod)
    return pod_key(msgspec.structs.replace(pod, spec=with_ephemeral_claims(pod)))


@cache
def naming_controllers(older: Callable[[Pod], PodKey]) -> Callable[[Pod], PodKey]:
    """What makes two pods equal where the controller is found by its name; the same function for the same one.

    Upstream: 1.22 DefaultSelector.
    """

    def key(pod: Pod) -> PodKey:
        namespace, labels, spec, _, terminating = older(pod)
        metadata = pod.metadata
        return namespace, labels, spec, controller_in_full(metadata) if metadata.owner_references else None, terminating

    return key


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
    return msgspec.structs.replace(spec, in_use=in_use)


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


# --- feature gates that are not at their defaults ------------------------------------------

MATCH_LABEL_KEYS = "MatchLabelKeysInPodTopologySpread"
POD_LEVEL = "PodLevelResources"
POD_LEVEL_RESIZE = "InPlacePodLevelResourcesVerticalScaling"
COMPARISONS = "TaintTolerationComparisonOperators"
IN_PLACE = "InPlacePodVerticalScaling"

Change = Callable[[PodSpec], PodSpec]


class ComparingToleration(Toleration, frozen=True):
    """A toleration whose operator ``Lt`` or ``Gt`` compares the taint's value with its own as whole numbers."""

    def covers_value(self, taint: Taint) -> bool:
        """``Lt``: the taint's value is the smaller one; ``Gt``: the greater. What is no decimal number never is."""
        mine, theirs = _number(self.value), _number(taint.value)
        if mine is None or theirs is None:
            return False
        return theirs < mine if self.operator == "Lt" else theirs > mine


def _number(text: str) -> int | None:
    """A decimal number of 64 bits without leading zeros or plus sign."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (digits[0] == "0" and text != "0"):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _without_match_label_keys(spec: PodSpec) -> PodSpec:
    constraints = tuple(msgspec.structs.replace(c, match_label_keys=()) for c in spec.topology_spread_constraints)
    return msgspec.structs.replace(spec, topology_spread_constraints=constraints)


def _without_resources(spec: PodSpec) -> PodSpec:
    return msgspec.structs.replace(spec, resources=NO_RESOURCES)


def _comparing(spec: PodSpec) -> PodSpec:
    return msgspec.structs.replace(spec, tolerations=tuple(map(_with_comparison, spec.tolerations)))


def _with_comparison(toleration: Toleration) -> Toleration:
    if toleration.operator not in ("Lt", "Gt"):
        return toleration
    return ComparingToleration(*msgspec.structs.astuple(toleration))


def gated_pod_key_1_36(gates: Mapping[str, bool], absent: Mapping[str, bool] = {}) -> Callable[[Pod], PodKey]:
    """What makes two pods equal to release 1.36 under these feature gates.

    absent: what gates are that are not named; others are as 1.36 has them.
    """

    def on(name: str, *, usual: bool = True) -> bool:
        return gates.get(name, absent.get(name, usual))

    changes: list[Change] = []
    if not on(MATCH_LABEL_KEYS):
        changes.append(_without_match_label_keys)
    pod_level, whole = on(POD_LEVEL), on(POD_LEVEL_RESIZE)
    if not pod_level:
        changes.append(_without_resources)
    if on(COMPARISONS, usual=False):
        changes.append(_comparing)
    resizes, in_place = pod_level and whole, on(IN_PLACE)
    if resizes and in_place and not changes:
        return pod_key_1_36
    return _changed(tuple(changes), resizes=resizes, in_place=in_place)


@cache
def _changed(changes: tuple[Change, ...], *, resizes: bool, in_place: bool) -> Callable[[Pod], PodKey]:
    """resizes: what a pod's status says of resources of the pod as a whole counts; in_place: of its containers.

    The same function for the same changes, by which views of clusters are held to be the same.
    """

    @lru_cache(maxsize=16_384)
    def change(spec: PodSpec) -> PodSpec:
        for one in changes:
            spec = one(spec)
        return spec

    def key(pod: Pod) -> PodKey:
        grants = pod.grants if in_place else None
        if grants is not None and not resizes:
            grants = msgspec.structs.replace(grants, pod=None)
        return pod_key_1_36(msgspec.structs.replace(pod, spec=change(pod.spec), grants=grants))

    return key
