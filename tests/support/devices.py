"""Devices, claims and pods that use them, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.devices.device_demand import Demand, devices_on
from clusterstate.devices.device_requests import EVERYTHING, DeviceFeatures
from clusterstate.devices.resource_claims import with_own_claims, without_consumer
from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    AllocatedDevice,
    Allocation,
    ClaimSpec,
    ConsumerReference,
    CounterSet,
    Device,
    DeviceAsk,
    DeviceAttribute,
    DeviceClass,
    DeviceRequest,
    DeviceStatus,
    FrozenMap,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Placement,
    Pod,
    PodResourceClaim,
    Requirement,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
    Taint,
)
from clusterstate.podinfo import PodKey
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.plugins.dynamic_resources import (
    DynamicResources,
    DynamicResourcesArgs,
    dynamic_resources_1_36,
)
from kubescheduler.releases import v1_36
from tests.support.build import Cluster, make_node, make_pod
from tests.support.manual_time import ManualTime

DRIVER = "gpu.example.com"


def _key(pod: Pod) -> PodKey:
    return v1_36.VIEW.pod_key(msgspec.structs.replace(pod, spec=with_own_claims(pod.spec, pod)))


READING = msgspec.structs.replace(v1_36.VIEW, pod_key=_key)
"""Release 1.36's, with pods that know their own claims."""


def device_cluster(nodes: Iterable[Any] = (), others: Iterable[Any] = ()) -> Cluster:
    return Cluster(nodes, (), others, READING)


def attribute(value: object) -> DeviceAttribute:
    """``v1.2.3`` is a version."""
    if isinstance(value, str) and value.startswith("v"):
        return DeviceAttribute("version", value[1:])
    kind = {bool: "bool", int: "int", str: "string"}[type(value)]
    return DeviceAttribute(kind, value)  # type: ignore[arg-type]


def gpu(name: str, attributes: Mapping[str, object] | None = None, gib: int = 0, **fields: Any) -> Device:
    """A device; ``gib`` is its memory in GiB."""
    values = {key: attribute(value) for key, value in (attributes or {}).items()}
    capacity = {"memory": gib * 2**30 * 1000} if gib else {}
    return Device(name, FrozenMap(values), FrozenMap(capacity), **fields)


def make_slice(node: str, *devices: Device, pool: str = "", **fields: Any) -> ResourceSlice:
    """The devices of a node, a pool of their own unless it is named; node "" leaves the placement to ``fields``."""
    fields.setdefault("placement", Placement(node_name=node))
    name = f"{node or 'net'}-{pool}-{devices[0].name if devices else ''}"
    return ResourceSlice(ObjectMeta(name), DRIVER, pool or node or "net", devices=devices, **fields)


def make_class(name: str = "gpu", *selectors: str, **fields: Any) -> DeviceClass:
    return DeviceClass(ObjectMeta(name), selectors or (f'device.driver == "{DRIVER}"',), **fields)


def exactly(name: str = "r", count: int = 1, **fields: Any) -> DeviceRequest:
    return DeviceRequest(name, exactly=DeviceAsk(fields.pop("cls", "gpu"), count=count, **fields))


def first_of(name: str, *asks: DeviceAsk) -> DeviceRequest:
    return DeviceRequest(name, first_available=asks)


def make_claim(name: str = "c", *requests: DeviceRequest, owner: str = "", **fields: Any) -> ResourceClaim:
    """A claim in namespace default; ``owner`` is the uid of the pod that it was made for."""
    owners = (OwnerReference("Pod", "p", owner, controller=True),) if owner else ()
    meta = ObjectMeta(name, "default", uid=f"uid-{name}", owner_references=owners)
    if fields.pop("deleting", False):
        meta = msgspec.structs.replace(meta, deletion_timestamp="2020-01-01T00:00:00Z")
    spec = ClaimSpec(requests or (exactly(),), fields.pop("constraints", ()), fields.pop("config", ()))
    return ResourceClaim(meta, spec, **fields)


def allocated(node: str, *devices: str, pool: str = "", **fields: Any) -> Allocation:
    return Allocation(tuple(AllocatedDevice("r", DRIVER, pool or node, name) for name in devices), **fields)


def users(*uids: str) -> tuple[ConsumerReference, ...]:
    return tuple(ConsumerReference("pods", uid, uid) for uid in uids)


def pod_with(*claims: str, name: str = "p", made: Mapping[str, str | None] | None = None, **spec: Any) -> Pod:
    """A pod that uses claims by name, and (``made``) claims made from templates: entry → the claim's name."""
    entries = [PodResourceClaim(claim, claim) for claim in claims]
    entries += [PodResourceClaim(entry, None, "template") for entry in made or {}]
    pod = make_pod(name, resource_claims=tuple(entries), **spec)
    statuses = tuple(ResourceClaimStatus(entry, claim) for entry, claim in (made or {}).items() if claim != "")
    return msgspec.structs.replace(pod, resource_claim_statuses=statuses)


def binding(
    claim: ResourceClaim, *conditions: tuple[str, str], since: str | None = None, node: str = "b", **status: Any
) -> ResourceClaim:
    """With a device that has binding conditions and reports some; ``since`` is when it was allocated."""
    assert claim.allocation is not None
    devices = tuple(
        msgspec.structs.replace(d, binding_conditions=("Ready",), binding_failure_conditions=("Broken",))
        for d in claim.allocation.devices
    )
    statuses = (DeviceStatus(DRIVER, node, "g", conditions, **status),) if conditions else ()
    allocation = msgspec.structs.replace(claim.allocation, devices=devices, timestamp=since)
    return attrs.evolve(claim, allocation=allocation, device_statuses=statuses)


HERE = f'device.attributes["{DRIVER}"]'


def picked(
    claims: Sequence[ResourceClaim],
    slices: Sequence[ResourceSlice],
    *others: object,
    features: DeviceFeatures = EVERYTHING,
) -> list[tuple[str, str]] | None:
    """(request, device) of what claims get on node n."""
    cluster = device_cluster([make_node("n", {"kind": "x"})], [make_class(), *slices, *others, *claims])
    snapshot = cluster.snapshot
    unallocated = tuple(claim for claim in claims if claim.allocation is None)
    found = devices_on(Demand("default", unallocated, features=features), snapshot, 0, "p")
    return None if found is None else [(pick.option.name, pick.offer.device.name) for pick in found[1]]


TWO = make_slice("n", gpu("a", {"numa": 0, "model": "x"}, 20), gpu("b", {"numa": 1, "model": "y"}, 40))


def part(name: str, share: int) -> Device:
    """A part of a device with 7 slices."""
    return gpu(name, consumes_counters=(CounterSet("chip", FrozenMap({"slices": share * 1000})),))


def counter_slice(slice_count: int) -> ResourceSlice:
    """The counters of the pool p stand in a slice of their own."""
    total = CounterSet("chip", FrozenMap({"slices": 7000}))
    made = make_slice("n", pool="p", shared_counters=(total,), slice_count=slice_count)
    return msgspec.structs.replace(made, metadata=ObjectMeta("p-counters"))


PARTS = make_slice("n", part("big", 4), part("half", 3), part("whole", 7), pool="p", slice_count=2)
CHIP = counter_slice(2)
GIB = 1000 << 30

SHARED = make_slice("n", gpu("s", shareable=True, gib=40))


def half() -> DeviceRequest:
    """Half of the capacity of SHARED."""
    return exactly(capacity=FrozenMap({"memory": 20 * GIB}))


TAINTED = make_slice("n", gpu("a", taints=(Taint("bad", "", "NoSchedule"),)), gpu("b"))

EACH = make_slice(
    "", gpu("a", placement=Placement("m")), gpu("b", placement=Placement("n")), pool="each", per_device=True
)


UID = "default/p"
TODAY, WRITTEN = 1_577_836_800.0, "2020-01-01T00:00:00Z"
"""When everything happens, as a clock and as objects say it."""
ON_A = (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("a",)),)),)
HELD = make_claim(allocation=allocated("a", "g", node_selector=ON_A))
NODES = [make_node("a"), make_node("b")]
SLICES = [make_slice("a", gpu("g"), gpu("h"))]


@attrs.define
class Api:
    """Remembers what is written; ``fault`` is what it fails with."""

    written: list[Any] = attrs.field(factory=list)
    asked: list[tuple[str, Any]] = attrs.field(factory=list)
    """What was asked for, in order: what is to be done, and the claim's name or the pod's status."""
    fault: str = ""

    def update_object(self, obj: Any) -> None: ...

    def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        self._say("create", claim)
        return attrs.evolve(
            claim, metadata=msgspec.structs.replace(claim.metadata, name=f"{claim.metadata.name}-x7", uid="made")
        )

    def update_claim(self, claim: ResourceClaim, change: Callable[[ResourceClaim], ResourceClaim]) -> ResourceClaim:
        self._say("update", claim)
        after = change(claim)
        self.written.append(after)
        return after

    def take_back_claim(self, claim: ResourceClaim, pod: Pod) -> ResourceClaim:
        self._say("take back", claim)
        return without_consumer(claim, pod.metadata.uid)

    def delete_claim(self, claim: ResourceClaim) -> None:
        self._say("delete", claim)

    def _say(self, what: str, claim: ResourceClaim) -> None:
        if self.fault:
            raise SchedulingError(self.fault)
        self.asked.append((what, claim.metadata.name))

    def bind(self, pod: Pod, node_name: str) -> None: ...
    def delete_pod(self, pod: Pod) -> None: ...

    def patch_pod_status(self, pod: Pod, status: Any) -> None:
        self.asked.append(("patch", status))


@attrs.define
class DynamicResourcesSetup:
    """A plugin with all that it works on."""

    cache: ClusterCache
    plugin: DynamicResources
    api: Api
    time: ManualTime
    state: CycleState = attrs.field(factory=CycleState)

    def claim(self, name: str = "c") -> ResourceClaim:
        return self.cache.objects.resource_claims["default", name]


def world(
    *others: object,
    args: DynamicResourcesArgs | None = None,
    time: ManualTime | None = None,
    gates: Mapping[str, bool] | None = None,
    client: bool = True,
) -> DynamicResourcesSetup:
    cache = ClusterCache.of([*NODES, make_class(extended_resource_name="example.com/gpu"), *SLICES, *others], READING)
    api, time = Api(), time or ManualTime()
    services = Services(
        "1.36", cache, client=api if client else None, time=time, today=lambda: TODAY, feature_gates=gates or {}
    )
    return DynamicResourcesSetup(cache, dynamic_resources_1_36(args, Handle(services, "p")), api, time)


BIG = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
"""A selector of devices of 40Gi and more."""
SOME = make_slice(
    "",
    gpu("a", {"numa": 0}, 20),
    pool="some",
    placement=Placement(node_selector=(NodeSelectorTerm((Requirement("kind", "In", ("x",)),)),)),
)
"""A device of the nodes of a kind."""
