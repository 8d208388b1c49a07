"""Devices, claims and pods that use them, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.devices.resource_claims import with_own_claims
from clusterstate.objects import FrozenMap, ObjectMeta, OwnerReference, Pod, PodResourceClaim, ResourceClaimStatus
from clusterstate.objects.resource import (
    AllocatedDevice,
    Allocation,
    ClaimSpec,
    ConsumerReference,
    Device,
    DeviceAsk,
    DeviceAttribute,
    DeviceClass,
    DeviceRequest,
    DeviceStatus,
    Placement,
    ResourceClaim,
    ResourceSlice,
)
from clusterstate.podinfo import PodKey
from kubescheduler.releases import v1_36
from tests.support.build import Cluster, make_pod

DRIVER = "gpu.example.com"


def _key(pod: Pod) -> PodKey:
    return v1_36.VIEW.pod_key(msgspec.structs.replace(pod, spec=with_own_claims(pod.spec, pod)))


READING = msgspec.structs.replace(v1_36.VIEW, pod_key=_key)
"""Release 1.36's, with pods that know their own claims."""


def device_cluster(nodes: Iterable[Any] = (), others: Iterable[Any] = (), pods: Iterable[Pod] = ()) -> Cluster:
    return Cluster(nodes, pods, others, READING)


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
