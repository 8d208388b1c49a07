"""Resources: the classes of their names, what a pod asks for, and what it takes while it runs.

cpu is counted in millicores, everything else in whole units, both rounded up (away from zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from clusterstate.objects import NO_RESOURCES, Container, FrozenMap, PodSpec, RequestsInUse
from clusterstate.quantity import whole_units
from kubecel.api_names import qualified_name_errors


def is_prefixed_native_resource(name: str) -> bool:
    """The name contains ``kubernetes.io/``."""
    return "kubernetes.io/" in name


def is_native_resource(name: str) -> bool:
    """The name has no prefix, or one of Kubernetes' own."""
    return "/" not in name or is_prefixed_native_resource(name)


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Not native, no quota name, and a qualified name still after ``requests.`` is put before it."""
    if is_native_resource(name) or name.startswith("requests."):
        return False
    return not qualified_name_errors(f"requests.{name}")


def is_hugepage_resource(name: str) -> bool:
    """``hugepages-<size>``."""
    return name.startswith("hugepages-")


def may_overcommit(name: str) -> bool:
    """Whether a container may ask for less than its limit. Upstream: IsOvercommitAllowed."""
    return is_native_resource(name) and not is_hugepage_resource(name)


def is_attachable_volume_resource(name: str) -> bool:
    """``attachable-volumes-<plugin>``."""
    return name.startswith("attachable-volumes-")


def is_scalar_resource(name: str) -> bool:
    """Whether release 1.16 keeps account of a resource other than cpu, memory, pods and ephemeral-storage.

    Those four are to be recognised before this test.
    """
    return (
        is_extended_resource(name)
        or is_hugepage_resource(name)
        or is_prefixed_native_resource(name)
        or is_attachable_volume_resource(name)
    )


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


def tracked_without_local_storage(name: str) -> bool:
    """Whether 1.20 keeps account of a resource with its feature gate LocalStorageCapacityIsolation off."""
    return name != EPHEMERAL_STORAGE and tracked_1_16(name)


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


@cache
def gated_accounting_1_20(*, overhead: bool, local_storage: bool) -> Accounting:
    """How 1.20 counts under feature gates PodOverhead and LocalStorageCapacityIsolation; one function for one pair.

    Without the latter nobody asks for ephemeral storage, and no node has any: see ``tracked_without_local_storage``.
    Upstream: 1.20 framework.Resource.Add and SetMaxResource.
    """
    if overhead and local_storage:
        return account_1_20

    @lru_cache(maxsize=MOST_REMEMBERED)
    def account(spec: PodSpec) -> PodUsage:
        if not overhead and spec.overhead:
            spec = msgspec.structs.replace(spec, overhead=NO_RESOURCES)
        usage = account_1_20(spec)
        return usage if local_storage else _without_local_storage(usage)

    return account


@cache
def gated_accounting_1_19(*, overhead: bool, local_storage: bool) -> Accounting:
    """The same; without LocalStorageCapacityIsolation ephemeral storage that init containers ask for still counts.

    Upstream: 1.19 framework.Resource.Add, and SetMaxResource, which does not ask for the gate.
    """
    account = gated_accounting_1_20(overhead=overhead, local_storage=local_storage)
    if local_storage:
        return account

    @lru_cache(maxsize=MOST_REMEMBERED)
    def of_init_containers(spec: PodSpec) -> PodUsage:
        asked = [total_amounts([c.requests]).get(EPHEMERAL_STORAGE, 0) for c in spec.init_containers]
        usage, most = account(spec), max(asked, default=0)
        if not most:
            return usage
        amounts = FrozenMap({**usage.request, EPHEMERAL_STORAGE: most})
        return msgspec.structs.replace(usage, request=amounts, used=amounts, scored_others=amounts)

    return of_init_containers


def _without_local_storage(usage: PodUsage) -> PodUsage:
    if EPHEMERAL_STORAGE not in usage.request:
        return usage
    amounts = FrozenMap({name: amount for name, amount in usage.request.items() if name != EPHEMERAL_STORAGE})
    return msgspec.structs.replace(usage, request=amounts, used=amounts, scored_others=amounts)


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


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_28(spec: PodSpec) -> PodUsage:
    """What a pod asks for; in what running pods count as with defaults, sidecars are no part of the sum, only
    of what is asked for at the start.

    Upstream: 1.28 PodRequests and calculateResource.
    """
    usage = account_1_36(spec)
    if not any(container.restart_policy == RESTARTABLE for container in spec.init_containers):
        return usage
    requests = spec.in_use or as_asked(spec)
    total = _total([{**DEFAULTS, **one} for one in requests.containers])
    sidecars: dict[str, int] = {}
    for container, asked in zip(spec.init_containers, requests.init_containers, strict=True):
        if container.restart_policy == RESTARTABLE:
            _add(sidecars, asked)
            _raise(total, {**DEFAULTS, **sidecars})
        else:
            _raise(total, {**DEFAULTS, **_total([asked, sidecars])})
    _add(total, spec.overhead)
    return msgspec.structs.replace(usage, nonzero=_cpu_and_memory(total))


@lru_cache(maxsize=MOST_REMEMBERED)
def account_1_27(spec: PodSpec) -> PodUsage:
    """As later, but there are no sidecars: every init container is over before the next begins.

    Upstream: 1.27 PodRequests and calculateResource.
    """
    if any(container.restart_policy is not None for container in spec.init_containers):
        init_containers = tuple(msgspec.structs.replace(c, restart_policy=None) for c in spec.init_containers)
        spec = msgspec.structs.replace(spec, init_containers=init_containers)
    return account_1_36(spec)


def as_asked(spec: PodSpec) -> RequestsInUse:
    """The requests that the spec itself names."""
    return RequestsInUse(
        tuple(c.requests for c in spec.containers), tuple(c.requests for c in spec.init_containers), spec.resources
    )


def as_limited(spec: PodSpec) -> RequestsInUse:
    """The limits of containers, in the same form."""
    containers, init_containers = (tuple(c.limits for c in each) for each in (spec.containers, spec.init_containers))
    return RequestsInUse(containers, init_containers, NO_RESOURCES)


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
