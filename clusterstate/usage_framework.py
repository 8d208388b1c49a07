"""What a pod asks for and what it takes while it runs, as the framework releases count it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from clusterstate.objects import NO_RESOURCES, FrozenMap, PodSpec, RequestsInUse
from clusterstate.quantity import whole_units
from clusterstate.resource_names import is_hugepage_resource
from clusterstate.usage import (
    CPU,
    DEFAULT_MEMORY,
    DEFAULT_MILLI_CPU,
    MEMORY,
    MOST_REMEMBERED,
    Amounts,
    PodUsage,
    amount,
    nonzero_request,
    plus,
    raised_by_init_containers,
    total_amounts,
    tracked_1_16,
    wrap,
)

RESTARTABLE = "Always"

DEFAULTS: Mapping[str, int] = {CPU: DEFAULT_MILLI_CPU, MEMORY: DEFAULT_MEMORY * 1000}
"""Thousandths that stand for what a container does not ask for."""


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_20(spec: PodSpec) -> PodUsage:
    """A running pod takes what it asked for, init containers and overhead included.

    While a place is chosen the cpu overhead counts in whole cores, rounded up, as if they were millicores.
    Upstream: 1.20 computePodResourceRequest, calculateResource and calculatePodResourceRequest, gate PodOverhead on.
    """
    overhead = total_amounts([spec.overhead])
    request = raised_by_init_containers(spec, total_amounts(c.requests for c in spec.containers))
    amounts = plus(request, overhead)
    singly = [nonzero_request([c]) for c in spec.init_containers]
    cpu, memory = (max(amounts) for amounts in zip(nonzero_request(spec.containers), *singly, strict=True))
    memory = wrap(memory + overhead.get(MEMORY, 0))
    return PodUsage(
        request=amounts,
        used=amounts,
        nonzero=(wrap(cpu + overhead.get(CPU, 0)), memory),
        scored=(wrap(cpu + whole_units(spec.overhead.get(CPU, 0))), memory),
        scored_others=amounts,
    )


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_36(spec: PodSpec) -> PodUsage:
    """Sidecars run beside all that start after them; requests of the pod as a whole replace those of its containers.

    Everything is added up exactly and rounded up once. The Filter looks at what the spec asks for; the pods on a node,
    and NodeResourcesBalancedAllocation, at what is in use. NodeResourcesFit scores by what the containers ask for:
    upstream builds its scorer without the switches for pod-level resources and for resizing.

    Upstream: 1.36 PodRequests, CalculateResource and calculatePodResourceRequest.
    """
    asked = as_asked(spec)
    in_use = spec.in_use or asked
    plain = pod_requests(spec, in_use)
    used = _amounts(plain)
    if in_use is asked and not spec.resources:
        nonzero = _cpu_and_memory(pod_requests(spec, asked, DEFAULTS))
        return PodUsage(used, used, nonzero, nonzero, used)
    fill = {name: value for name, value in DEFAULTS.items() if not has_pod_level(spec) or name not in plain}
    containers = msgspec.structs.replace(asked, resources=NO_RESOURCES)
    return PodUsage(
        request=used if in_use is asked else _amounts(pod_requests(spec, asked)),
        used=used,
        nonzero=_cpu_and_memory(pod_requests(spec, in_use, fill)),
        scored=_cpu_and_memory(pod_requests(spec, containers, DEFAULTS)),
        scored_others=_amounts(pod_requests(spec, containers)) if has_pod_level(spec) or spec.in_use else used,
    )


def as_asked(spec: PodSpec) -> RequestsInUse:
    """The requests that the spec itself names."""
    return RequestsInUse(
        tuple(c.requests for c in spec.containers), tuple(c.requests for c in spec.init_containers), spec.resources
    )


def has_pod_level(spec: PodSpec) -> bool:
    """Whether something counts that is asked for the pod as a whole."""
    return any(map(is_pod_level, spec.resources))


def is_pod_level(name: str) -> bool:
    """Whether a resource can be asked for the pod as a whole."""
    return name in (CPU, MEMORY) or is_hugepage_resource(name)


def pod_requests(spec: PodSpec, requests: RequestsInUse, fill: Mapping[str, int] | None = None) -> dict[str, int]:
    """Thousandths by resource; ``fill`` stands for what a container does not name."""
    total = _total([{**fill, **one} for one in requests.containers] if fill else requests.containers)
    if requests.init_containers:
        init_containers = [{**(fill or {}), **one} for one in requests.init_containers]
        restartable = [c.restart_policy == RESTARTABLE for c in spec.init_containers]
        _raise(total, _while_starting(total, init_containers, restartable))
    total.update({name: value for name, value in requests.resources.items() if is_pod_level(name)})
    _add(total, spec.overhead)
    return total


def _while_starting(
    total: dict[str, int], init_containers: Sequence[Mapping[str, int]], restartable: Sequence[bool]
) -> dict[str, int]:
    """The most that is asked for at once before the containers start; sidecars are added to ``total``."""
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for requests, stays in zip(init_containers, restartable, strict=True):
        if stays:
            _add(total, requests)
            _add(sidecars, requests)
            _raise(most, sidecars)
        else:
            _raise(most, _total([sidecars, requests]))
    return most


def _total(lists: Iterable[Mapping[str, int]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for resources in lists:
        _add(out, resources)
    return out


def _add(total: dict[str, int], resources: Mapping[str, int]) -> None:
    for name, value in resources.items():
        total[name] = total.get(name, 0) + value


def _raise(total: dict[str, int], resources: Mapping[str, int]) -> None:
    for name, value in resources.items():
        total[name] = max(value, total.get(name, value))


def _amounts(requests: Mapping[str, int]) -> Amounts:
    return FrozenMap({name: amount(name, value) for name, value in requests.items() if tracked_1_16(name)})


def _cpu_and_memory(requests: Mapping[str, int]) -> tuple[int, int]:
    return amount(CPU, requests.get(CPU, 0)), amount(MEMORY, requests.get(MEMORY, 0))
