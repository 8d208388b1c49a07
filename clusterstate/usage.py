"""What a pod asks for and what it takes while it runs.

cpu is counted in millicores, everything else in whole units, both rounded up (away from zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import msgspec

from clusterstate.objects import Container, FrozenMap, PodSpec
from clusterstate.quantity import whole_units
from clusterstate.resource_names import is_scalar_resource

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"

NVIDIA_GPU = "alpha.kubernetes.io/nvidia-gpu"

DEFAULT_MILLI_CPU = 100
"""Millicores that a container without a cpu request counts for in the resource priorities."""
DEFAULT_MEMORY = 200 * 1024 * 1024
"""Bytes, likewise."""

MOST = 1 << 63

Amounts = FrozenMap[str, int]


class PodUsage(msgspec.Struct, frozen=True):
    """One pod's amounts, by resource name."""

    request: Amounts
    """What a node must have free for it; a scalar resource asked for with 0 has an entry."""
    used: Amounts
    """What it takes from its node while it runs; also its plain request while nodes are scored for it."""
    nonzero: tuple[int, int]
    """(millicores, bytes) as the resource priorities see it while it runs."""
    scored: tuple[int, int]
    """(millicores, bytes) as the resource priorities see it while its place is chosen."""
    scored_others: Amounts
    """The other resources, likewise."""
    limits: tuple[int, int] = (0, 0)
    """(millicores, bytes), the larger of all containers together and any init container; read by 1.16."""
    best_effort: bool = False
    """Whether no container has a cpu or memory request or limit; read by 1.4 and 1.16."""


MOST_REMEMBERED = 4096
"""Specs of which the amounts are kept: several caches of one cluster count the same pods."""

Accounting = Callable[[PodSpec], PodUsage]
"""A release's way of counting."""


def amount(name: str, thousandths: int) -> int:
    """A quantity in the unit its resource is counted in, wrapped to 64 bits as upstream's millicores are."""
    return wrap(thousandths if name == CPU else whole_units(thousandths))


def wrap(value: int) -> int:
    """The value modulo 2^64 as a signed 64-bit integer."""
    return value if -MOST <= value < MOST else (value + MOST) % (2 * MOST) - MOST


def tracked_1_16(name: str) -> bool:
    """Whether 1.16 keeps account of a resource: cpu, memory, ephemeral-storage and the scalar ones."""
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE) or (name != PODS and is_scalar_resource(name))


def tracked_1_4(name: str) -> bool:
    """Whether 1.4 keeps account of a resource: cpu, memory and GPUs."""
    return name in (CPU, MEMORY, NVIDIA_GPU)


def total_amounts(lists: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What lists of thousandths add up to, rounded one by one."""
    out: dict[str, int] = {}
    for resources in lists:
        for name, thousandths in resources.items():
            if tracked_1_16(name):
                out[name] = wrap(out.get(name, 0) + amount(name, thousandths))
    return out


def raised_by_init_containers(spec: PodSpec, total: Mapping[str, int]) -> dict[str, int]:
    """Upstream: 1.16 GetResourceRequest. An init container raises a value only where it asks for strictly more."""
    request = dict(total)
    for container in spec.init_containers:
        for name, thousandths in container.requests.items():
            if tracked_1_16(name) and amount(name, thousandths) > request.get(name, 0):
                request[name] = amount(name, thousandths)
    return request


def nonzero_request(containers: Iterable[Container]) -> tuple[int, int]:
    """(millicores, bytes) with the defaults for what is not asked for; a 0 that is written counts as 0."""
    cpu = memory = 0
    for container in containers:
        requests = container.requests
        cpu += amount(CPU, requests[CPU]) if CPU in requests else DEFAULT_MILLI_CPU
        memory += amount(MEMORY, requests[MEMORY]) if MEMORY in requests else DEFAULT_MEMORY
    return wrap(cpu), wrap(memory)


def _limits(spec: PodSpec) -> tuple[int, int]:
    if not any([c.limits for c in (*spec.containers, *spec.init_containers)]):  # noqa: C419
        return 0, 0
    total = total_amounts(c.limits for c in spec.containers)
    inits = [total_amounts([c.limits]) for c in spec.init_containers]
    cpu, memory = (max([total.get(r, 0), *(i.get(r, 0) for i in inits)]) for r in (CPU, MEMORY))
    return cpu, memory


def is_best_effort(containers: Iterable[Container]) -> bool:
    """No container has a cpu or memory request or limit above 0."""
    return not any(
        resources.get(name, 0) > 0
        for container in containers
        for resources in (container.requests, container.limits)
        for name in (CPU, MEMORY)
    )


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_16(spec: PodSpec) -> PodUsage:
    """Upstream: 1.16 GetResourceRequest, calculateResource and GetNonzeroRequests, gate PodOverhead off."""
    used = FrozenMap(total_amounts(c.requests for c in spec.containers))
    nonzero = nonzero_request(spec.containers)
    return PodUsage(
        request=FrozenMap(raised_by_init_containers(spec, used)),
        used=used,
        nonzero=nonzero,
        scored=nonzero,
        scored_others=used,
        limits=_limits(spec),
        best_effort=is_best_effort((*spec.containers, *spec.init_containers)),
    )


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_4(spec: PodSpec) -> PodUsage:
    """Init containers count for cpu and memory asked for, never for GPUs. Upstream: 1.4 GetResourceRequest."""
    every = total_amounts(c.requests for c in spec.containers)
    used = FrozenMap({name: total for name, total in every.items() if tracked_1_4(name)})
    nonzero = nonzero_request(spec.containers)
    request = dict(used)
    for container in spec.init_containers:
        for name in (CPU, MEMORY):
            wanted = amount(name, container.requests.get(name, 0))
            if wanted > request.get(name, 0):
                request[name] = wanted
    return PodUsage(
        request=FrozenMap(request),
        used=used,
        nonzero=nonzero,
        scored=nonzero,
        scored_others=used,
        best_effort=is_best_effort(spec.containers),
    )


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_16_with_overhead(spec: PodSpec) -> PodUsage:
    """The same with gate PodOverhead on: spec.overhead comes on top of everything but the limits.

    While a place is chosen the cpu overhead counts in whole cores, rounded up, as if they were millicores.
    Upstream: 1.16 calculatePodResourceRequest.
    """
    usage = account_1_16(spec)
    overhead = total_amounts([spec.overhead])
    cpu, memory = usage.nonzero
    return msgspec.structs.replace(
        usage,
        request=plus(usage.request, overhead),
        used=plus(usage.used, overhead),
        nonzero=(wrap(cpu + overhead.get(CPU, 0)), wrap(memory + overhead.get(MEMORY, 0))),
        scored=(wrap(cpu + whole_units(spec.overhead.get(CPU, 0))), wrap(memory + overhead.get(MEMORY, 0))),
    )


def plus(amounts: Mapping[str, int], more: Mapping[str, int]) -> Amounts:
    """The sums by resource."""
    return FrozenMap({name: wrap(amounts.get(name, 0) + more.get(name, 0)) for name in (*amounts, *more)})
