"""PodFitsResources: everything a pod asks for is still free, and one more pod may run."""

from __future__ import annotations

import numpy as np

from clusterstate.growable import Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY, NVIDIA_GPU, PODS
from clusterstate.validation import is_extended_resource
from predicates.types import FitPredicate, FitPredicateFactory, PredicateArgs, Verdict

ALWAYS_CHECKED = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""The first three of the resource axis, in its order."""


def insufficient(resource: str) -> str:
    return f"Insufficient {resource}"


TOO_MANY_PODS = insufficient(PODS)
ALWAYS_INSUFFICIENT = tuple(insufficient(name) for name in ALWAYS_CHECKED)


def pod_fits_resources(pod: PodInfo, snapshot: Snapshot, ignored: frozenset[str] = frozenset()) -> Verdict:
    """Fails per resource where allocatable < request + requested, all of them reported.

    A pod that asks for nothing at all is only counted; one that asks for anything is tested on cpu, memory
    and ephemeral-storage too. Upstream: 1.16 PodFitsResources.

    ignored: extended resources that are not counted here.
    """
    verdict: Verdict = {TOO_MANY_PODS: snapshot.pod_count + 1 > snapshot.allowed_pods}
    request = pod.usage.request
    always = [request.get(name, 0) for name in ALWAYS_CHECKED]
    scalars = [name for name in request if name not in ALWAYS_CHECKED]
    if not scalars and not any(always):
        return verdict
    allocatable, requested = snapshot.allocatable, snapshot.requested
    short = allocatable[:3] < requested[:3] + np.array(always, np.int64)[:, None]
    verdict.update(zip(ALWAYS_INSUFFICIENT, short, strict=True))
    for name in scalars:
        if name in ignored and is_extended_resource(name):
            continue
        index, amount = snapshot.resource(name), request[name]
        if index is None:
            verdict[insufficient(name)] = _nowhere(amount, len(snapshot))
        else:
            verdict[insufficient(name)] = allocatable[index] < requested[index] + amount
    return verdict


def pod_fits_resources_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails per resource where allocatable < request + requested: cpu, memory and GPUs, all of them reported.

    A pod that asks for nothing at all is only counted. Upstream: 1.4 PodFitsResources.
    """
    verdict: Verdict = {TOO_MANY_PODS: snapshot.pod_count + 1 > snapshot.allowed_pods}
    request = pod.usage.request
    if not any(request.values()):
        return verdict
    allocatable, requested = snapshot.allocatable, snapshot.requested
    for index, name in enumerate((CPU, MEMORY)):
        verdict[insufficient(name)] = allocatable[index] < requested[index] + request.get(name, 0)
    gpus, asked = snapshot.resource(NVIDIA_GPU), request.get(NVIDIA_GPU, 0)
    if gpus is None:
        verdict[insufficient(NVIDIA_GPU)] = _nowhere(asked, len(snapshot))
    else:
        verdict[insufficient(NVIDIA_GPU)] = allocatable[gpus] < requested[gpus] + asked
    return verdict


def _nowhere(amount: int, size: int) -> Mask:
    """A resource that no node has: 0 < 0 + amount."""
    return np.full(size, amount > 0)


def _make_pod_fits_resources(args: PredicateArgs) -> FitPredicate:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return pod_fits_resources(pod, snapshot, args.ignored_resources)

    return FitPredicate("PodFitsResources", check)


def _make_pod_fits_resources_1_4(_: PredicateArgs) -> FitPredicate:
    return FitPredicate("PodFitsResources", pod_fits_resources_1_4)


RESOURCES: dict[str, FitPredicateFactory] = {"PodFitsResources": _make_pod_fits_resources}
RESOURCES_1_4: dict[str, FitPredicateFactory] = {"PodFitsResources": _make_pod_fits_resources_1_4}
