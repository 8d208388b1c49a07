"""Random objects of every kind."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from clusterstate import objects as o
from clusterstate.objects import FrozenMap, Taint
from clusterstate.quantity import MAX_MILLI

names = st.sampled_from(["a", "b-1", "zone", "example.com/x", "app.kubernetes.io/name"])
texts = st.text(alphabet="abé: '\"-#", max_size=4)
filled = st.text(alphabet="abc1-", min_size=1, max_size=4)
maybe = st.none() | filled
int64 = st.integers(-(2**63), 2**63 - 1)
labels = st.dictionaries(names, texts, max_size=2).map(o.FrozenMap)
amounts = st.integers(-MAX_MILLI, MAX_MILLI) | st.integers(0, 10**7).map(lambda n: n * 1024)
resources = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/gpu"]), amounts, max_size=2).map(o.FrozenMap)


def tuples(items: st.SearchStrategy[Any], size: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=size).map(tuple)


owners = st.builds(o.OwnerReference, texts, texts, texts, st.booleans(), texts)
object_names = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,3})?(\.[a-z]{1,3})?", fullmatch=True, alphabet="abcz0129-.")
metadata = st.builds(
    o.ObjectMeta, object_names, st.just("") | object_names, texts, labels, labels, tuples(owners), maybe, maybe
)
requirements = st.builds(o.Requirement, texts, texts, tuples(texts))
selectors = st.builds(o.LabelSelector, labels, tuples(requirements))
maybe_selector = st.none() | selectors
terms = st.builds(o.NodeSelectorTerm, tuples(requirements), tuples(requirements))
pod_terms = st.builds(
    o.PodAffinityTerm, texts, maybe_selector, st.none() | tuples(texts), maybe_selector, tuples(texts), tuples(texts)
)
pod_affinities = st.builds(
    o.PodAffinity, tuples(pod_terms, 1), tuples(st.builds(o.WeightedPodAffinityTerm, int64, pod_terms), 1)
)
node_affinities = st.builds(
    o.NodeAffinity, st.none() | tuples(terms), tuples(st.builds(o.PreferredSchedulingTerm, int64, terms), 1)
)
affinities = st.builds(o.Affinity, st.none() | node_affinities, st.none() | pod_affinities, st.none() | pod_affinities)
sources = st.one_of(
    st.builds(o.GCEPersistentDisk, texts, st.booleans()),
    st.builds(o.AWSElasticBlockStore, texts, st.booleans()),
    st.builds(o.RBD, tuples(texts), texts, texts, st.booleans()),
    st.builds(o.ISCSI, texts, st.booleans()),
    st.builds(o.AzureDisk, texts, texts),
    st.builds(o.Cinder, texts),
    st.builds(o.PortworxVolume, texts),
    st.builds(o.CSI, texts, texts),
)
volumes = st.one_of(
    sources,
    st.builds(o.ClaimVolume, texts, st.booleans()),
    st.builds(o.EphemeralVolume, texts),
    st.builds(o.ImageVolume, texts),
)
ports = st.builds(o.ContainerPort, st.integers(1, 65535), texts, texts)
containers = st.builds(o.Container, texts, texts, resources, resources, tuples(ports, 1), maybe, tuples(texts))
tolerations = st.builds(o.Toleration, texts, texts, texts, texts, st.none() | int64)
spreads = st.builds(
    o.TopologySpreadConstraint,
    int64,
    texts,
    texts,
    maybe_selector,
    st.none() | int64,
    maybe,
    maybe,
    tuples(texts),
)
pod_specs = st.builds(
    o.PodSpec,
    containers=tuples(containers),
    init_containers=tuples(containers, 1),
    volumes=tuples(volumes),
    node_selector=labels,
    affinity=st.none() | affinities,
    tolerations=tuples(tolerations),
    topology_spread_constraints=tuples(spreads, 1),
    priority=st.none() | int64,
    priority_class_name=texts,
    preemption_policy=maybe,
    scheduler_name=texts,
    host_network=st.booleans(),
    overhead=resources,
    resources=resources,
    scheduling_gates=tuples(texts),
    host_users=st.none() | st.booleans(),
    scheduling_group=texts,
    resource_claims=tuples(st.builds(o.PodResourceClaim, texts, maybe, maybe)),
)
grants = st.builds(o.Grant, resources, resources)
named_grants = st.dictionaries(texts, grants, max_size=2).map(o.FrozenMap)
pod_grants = st.builds(o.PodGrants, named_grants, st.none() | grants).filter(lambda g: g.containers or g.pod)
pods = st.builds(
    o.Pod,
    metadata,
    pod_specs,
    texts,
    texts,
    texts,
    maybe,
    tuples(st.builds(o.PodCondition, texts, texts, texts)),
    st.none() | pod_grants,
    tuples(st.builds(o.ResourceClaimStatus, texts, maybe)),
)
nodes = st.builds(
    o.Node,
    metadata,
    st.booleans(),
    tuples(st.builds(o.Taint, texts, texts, texts)),
    resources,
    resources,
    tuples(st.builds(o.NodeCondition, texts, texts)),
    tuples(st.builds(o.ContainerImage, tuples(texts), int64)),
    tuples(texts),
)
claim_references = st.builds(o.ClaimReference, texts, texts, texts)
drivers = st.builds(o.CSINodeDriver, texts, texts, tuples(texts), st.none() | int64)
topologies = tuples(st.builds(o.Requirement, texts, st.just("In"), tuples(texts)))

OBJECTS: dict[str, st.SearchStrategy[Any]] = {
    "Pod": pods,
    "Node": nodes,
    "Service": st.builds(o.Service, metadata, st.none() | labels),
    "ReplicationController": st.builds(o.ReplicationController, metadata, labels, int64),
    "ReplicaSet": st.builds(o.ReplicaSet, metadata, maybe_selector, int64),
    "StatefulSet": st.builds(o.StatefulSet, metadata, maybe_selector, int64),
    "PersistentVolume": st.builds(
        o.PersistentVolume,
        metadata,
        st.none() | sources,
        amounts,
        tuples(texts),
        texts,
        maybe,
        st.none() | claim_references,
        st.none() | tuples(terms),
        texts,
        texts,
    ),
    "PersistentVolumeClaim": st.builds(
        o.PersistentVolumeClaim, metadata, texts, amounts, tuples(texts), maybe, maybe, maybe_selector, texts, texts
    ),
    "StorageClass": st.builds(o.StorageClass, metadata, texts, maybe, tuples(topologies)),
    "CSINode": st.builds(o.CSINode, metadata, tuples(drivers)),
    "CSIDriver": st.builds(o.CSIDriver, metadata, st.booleans(), st.booleans(), st.booleans()),
    "CSIStorageCapacity": st.builds(
        o.CSIStorageCapacity, metadata, texts, maybe_selector, st.none() | amounts, st.none() | amounts
    ),
    "VolumeAttachment": st.builds(o.VolumeAttachment, metadata, texts, texts, texts),
    "PriorityClass": st.builds(o.PriorityClass, metadata, int64, st.booleans(), maybe),
    "PodDisruptionBudget": st.builds(
        o.PodDisruptionBudget,
        metadata,
        maybe_selector,
        int64,
        st.sets(texts, max_size=2).map(sorted).map(tuple),
        st.one_of(st.none(), int64, texts),
        st.one_of(st.none(), int64, texts),
        texts,
    ),
    "Namespace": st.builds(o.Namespace, metadata),
}


amount_maps = st.dictionaries(names, amounts, max_size=2).map(FrozenMap)
attributes = st.one_of(
    st.builds(o.DeviceAttribute, st.just("int"), int64),
    st.builds(o.DeviceAttribute, st.just("bool"), st.booleans()),
    st.builds(o.DeviceAttribute, st.sampled_from(["string", "version"]), texts),
)
places = st.builds(o.Placement, texts, st.none() | tuples(terms), st.booleans())
counter_sets = st.builds(o.CounterSet, texts, amount_maps)
taints = st.builds(Taint, texts, texts, texts)
policies = st.builds(
    o.RequestPolicy,
    st.none() | amounts,
    tuples(amounts),
    st.none() | amounts,
    st.none() | amounts,
    st.none() | amounts,
)


def _policies_of(device: o.Device) -> st.SearchStrategy[FrozenMap[str, o.RequestPolicy]]:
    """For some of the device's capacities."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(device.capacity, policies)).map(FrozenMap)


devices = st.builds(
    o.Device,
    texts,
    st.dictionaries(names, attributes, max_size=2).map(FrozenMap),
    amount_maps,
    tuples(counter_sets, 1),
    tuples(taints, 1),
    places,
    st.booleans(),
    tuples(texts),
    tuples(texts),
    st.booleans(),
).flatmap(lambda device: st.builds(msgspec.structs.replace, st.just(device), policies=_policies_of(device)))
parameters = st.sampled_from(["", "{}", '{"a":[1,true]}'])
configs = st.builds(o.DeviceConfig, texts, parameters, tuples(texts), texts)
asks = st.builds(
    o.DeviceAsk,
    texts,
    texts,
    tuples(texts),
    filled,
    int64,
    st.booleans(),
    tuples(tolerations, 1),
    st.none() | amount_maps,
)
requests = st.builds(o.DeviceRequest, texts, asks) | st.builds(
    o.DeviceRequest, texts, st.none(), st.lists(asks, min_size=1, max_size=2).map(tuple)
)
constraints = st.builds(o.DeviceConstraint, tuples(texts), maybe, maybe)
claim_specs = st.builds(o.ClaimSpec, tuples(requests), tuples(constraints, 1), tuples(configs, 1))
allocated = st.builds(
    o.AllocatedDevice, texts, texts, texts, texts, st.booleans(), tuples(texts), tuples(texts), maybe, amount_maps
)
allocations = st.builds(o.Allocation, tuples(allocated), tuples(configs, 1), st.none() | tuples(terms), maybe)
consumers = st.builds(o.ConsumerReference, texts, texts, texts, texts)
statuses = st.builds(o.DeviceStatus, texts, texts, texts, tuples(st.tuples(texts, texts)))

RESOURCE_OBJECTS: dict[str, st.SearchStrategy[Any]] = {
    "ResourceClaim": st.builds(
        o.ResourceClaim, metadata, claim_specs, st.none() | allocations, tuples(consumers), tuples(statuses)
    ),
    "ResourceClaimTemplate": st.builds(o.ResourceClaimTemplate, metadata, claim_specs),
    "ResourceSlice": st.builds(
        o.ResourceSlice,
        metadata,
        texts,
        texts,
        int64,
        int64,
        places,
        st.booleans(),
        tuples(devices),
        tuples(counter_sets, 1),
    ),
    "DeviceClass": st.builds(o.DeviceClass, metadata, tuples(texts), tuples(configs, 1), maybe),
    "PodGroup": st.builds(o.PodGroup, metadata, st.none() | int64),
}

EVERY_KIND: dict[str, st.SearchStrategy[Any]] = {**OBJECTS, **RESOURCE_OBJECTS}
