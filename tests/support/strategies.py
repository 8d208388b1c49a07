"""Random objects of every kind, as the annotations of their fields say."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from clusterstate import objects as o
from clusterstate.objects import FrozenMap
from clusterstate.quantity import MAX_MILLI

Strategy = st.SearchStrategy[Any]

names = st.sampled_from(["a", "b-1", "cpu", "memory", "zone", "example.com/x", "app.kubernetes.io/name"])
texts = st.text(alphabet="abé: '\"-#", max_size=4)
filled = st.text(alphabet="abc1-", min_size=1, max_size=4)
int64 = st.integers(-(2**63), 2**63 - 1)
amounts = st.integers(-MAX_MILLI, MAX_MILLI) | st.integers(0, 10**7).map(lambda n: n * 1024)
object_names = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,3})?(\.[a-z]{1,3})?", fullmatch=True, alphabet="abcz0129-.")

UNREAD = {"manifest", "in_use", "resource_version"}
"""Fields that manifests do not give."""
PLAIN: dict[Any, Strategy] = {
    str: texts,
    str | None: st.none() | filled,
    int: int64,
    bool: st.booleans(),
    type(None): st.none(),
}


def values_of(hint: Any, size: int = 2) -> Strategy:
    """Random values of the annotation. size: how many a list has at most."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin in (Union, UnionType):
        return st.one_of([values_of(choice, size) for choice in inner])
    if origin is tuple and inner[-1] is not ...:
        return st.tuples(*map(values_of, inner))
    if origin is tuple:
        return st.lists(values_of(inner[0]), max_size=size).map(tuple)
    if origin is FrozenMap:
        values = amounts if inner[1] is int else values_of(inner[1])
        return st.dictionaries(names, values, max_size=2).map(FrozenMap)
    return objects_of(hint)


@cache
def objects_of(cls: type[Any]) -> Strategy:
    """Random objects of the class."""
    return CHOSEN[cls]() if cls in CHOSEN else of_fields(cls)


def of_fields(cls: type[Any], *few: str, **chosen: Strategy) -> Strategy:
    """Random objects with some fields chosen. few: lists of one object at most, for time."""
    hints = get_type_hints(cls)
    named = [name for name in inspect.signature(cls).parameters if name not in {*UNREAD, *chosen}]
    return st.builds(cls, **{name: values_of(hints[name], 1 if name in few else 2) for name in named}, **chosen)


def lists_of(hint: Any) -> Strategy:
    return values_of(tuple[hint, ...])


def a_device() -> Strategy:
    """With policies for some of its capacities."""

    def with_policies(device: o.Device) -> Strategy:
        policies = st.fixed_dictionaries({}, optional=dict.fromkeys(device.capacity, objects_of(o.RequestPolicy)))
        return policies.map(lambda chosen: msgspec.structs.replace(device, policies=FrozenMap(chosen)))

    plain = of_fields(o.Device, "consumes_counters", "taints", policies=st.just(FrozenMap()))
    return plain.flatmap(with_policies)


def an_attribute() -> Strategy:
    kinds = {"int": int64, "bool": st.booleans(), "string": texts, "version": texts}
    return st.one_of([st.builds(o.DeviceAttribute, st.just(kind), values) for kind, values in kinds.items()])


def a_request() -> Strategy:
    """One ask, or alternatives."""
    asks = objects_of(o.DeviceAsk)
    several = st.lists(asks, min_size=1, max_size=2).map(tuple)
    return st.builds(o.DeviceRequest, texts, asks) | st.builds(o.DeviceRequest, texts, st.none(), several)


DISKS = (
    o.GCEPersistentDisk | o.AWSElasticBlockStore | o.RBD | o.ISCSI | o.AzureDisk | o.Cinder | o.PortworxVolume | o.CSI
)
maybe_amount = st.none() | amounts

CHOSEN: dict[type[Any], Callable[[], Strategy]] = {
    o.AllocatedDevice: lambda: of_fields(o.AllocatedDevice, tolerations=st.just(())),
    o.Allocation: lambda: of_fields(o.Allocation, "config"),
    o.AWSElasticBlockStore: lambda: of_fields(o.AWSElasticBlockStore, volume_name=st.just("")),
    o.ClaimSpec: lambda: of_fields(o.ClaimSpec, "constraints", "config"),
    o.Container: lambda: of_fields(o.Container, "ports"),
    o.ContainerPort: lambda: of_fields(o.ContainerPort, host_port=st.integers(1, 65535)),
    o.CSIStorageCapacity: lambda: of_fields(
        o.CSIStorageCapacity, capacity=maybe_amount, maximum_volume_size=maybe_amount
    ),
    o.Device: a_device,
    o.DeviceAsk: lambda: of_fields(o.DeviceAsk, "tolerations", allocation_mode=filled),
    o.DeviceAttribute: an_attribute,
    o.DeviceClass: lambda: of_fields(o.DeviceClass, "config"),
    o.DeviceConfig: lambda: of_fields(o.DeviceConfig, parameters=st.sampled_from(["", "{}", '{"a":[1,true]}'])),
    o.DeviceRequest: a_request,
    o.DeviceStatus: lambda: of_fields(o.DeviceStatus, details=st.just(())),
    o.NodeAffinity: lambda: of_fields(o.NodeAffinity, "preferred"),
    o.ObjectMeta: lambda: of_fields(o.ObjectMeta, name=object_names, namespace=st.just("") | object_names),
    o.PersistentVolume: lambda: of_fields(o.PersistentVolume, source=st.none() | values_of(DISKS), storage=amounts),
    o.PersistentVolumeClaim: lambda: of_fields(o.PersistentVolumeClaim, storage=amounts),
    o.PodAffinity: lambda: of_fields(o.PodAffinity, "required", "preferred"),
    o.PodDisruptionBudget: lambda: of_fields(
        o.PodDisruptionBudget,
        disrupted_pods=st.sets(texts, max_size=2).map(sorted).map(tuple),
        is_counted=st.just(True),
    ),
    o.PodGrants: lambda: of_fields(o.PodGrants).filter(lambda g: g.containers or g.pod),
    o.PodSpec: lambda: of_fields(
        o.PodSpec,
        "init_containers",
        "topology_spread_constraints",
        volumes=lists_of(DISKS | o.ClaimVolume | o.EphemeralVolume | o.ImageVolume),
    ),
    o.RequestPolicy: lambda: st.builds(
        o.RequestPolicy, maybe_amount, st.lists(amounts, max_size=2).map(tuple), *[maybe_amount] * 3
    ),
    o.ResourceSlice: lambda: of_fields(o.ResourceSlice, "shared_counters"),
    o.StorageClass: lambda: of_fields(
        o.StorageClass,
        allowed_topologies=st.lists(
            st.lists(of_fields(o.Requirement, operator=st.just("In")), max_size=2).map(tuple), max_size=2
        ).map(tuple),
    ),
}
"""Classes with fields of which an annotation does not say all."""

EVERY_KIND = {kind: values_of(cls) for kind, cls in o.KINDS.items()}
