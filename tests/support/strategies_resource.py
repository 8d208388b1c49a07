"""Random objects of dynamic resources."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from clusterstate.objects import FrozenMap, Taint
from clusterstate.objects import resource as r
from tests.support.strategies import (
    OBJECTS,
    amounts,
    filled,
    int64,
    maybe,
    metadata,
    names,
    terms,
    texts,
    tolerations,
    tuples,
)

amount_maps = st.dictionaries(names, amounts, max_size=2).map(FrozenMap)
attributes = st.one_of(
    st.builds(r.DeviceAttribute, st.just("int"), int64),
    st.builds(r.DeviceAttribute, st.just("bool"), st.booleans()),
    st.builds(r.DeviceAttribute, st.sampled_from(["string", "version"]), texts),
)
places = st.builds(r.Placement, texts, st.none() | tuples(terms), st.booleans())
counter_sets = st.builds(r.CounterSet, texts, amount_maps)
taints = st.builds(Taint, texts, texts, texts)
policies = st.builds(
    r.RequestPolicy,
    st.none() | amounts,
    tuples(amounts),
    st.none() | amounts,
    st.none() | amounts,
    st.none() | amounts,
)


def _policies_of(device: r.Device) -> st.SearchStrategy[FrozenMap[str, r.RequestPolicy]]:
    """For some of the device's capacities."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(device.capacity, policies)).map(FrozenMap)


devices = st.builds(
    r.Device,
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
configs = st.builds(r.DeviceConfig, texts, parameters, tuples(texts), texts)
asks = st.builds(
    r.DeviceAsk,
    texts,
    texts,
    tuples(texts),
    filled,
    int64,
    st.booleans(),
    tuples(tolerations, 1),
    st.none() | amount_maps,
)
requests = st.builds(r.DeviceRequest, texts, asks) | st.builds(
    r.DeviceRequest, texts, st.none(), st.lists(asks, min_size=1, max_size=2).map(tuple)
)
constraints = st.builds(r.DeviceConstraint, tuples(texts), maybe, maybe)
claim_specs = st.builds(r.ClaimSpec, tuples(requests), tuples(constraints, 1), tuples(configs, 1))
allocated = st.builds(
    r.AllocatedDevice, texts, texts, texts, texts, st.booleans(), tuples(texts), tuples(texts), maybe, amount_maps
)
allocations = st.builds(r.Allocation, tuples(allocated), tuples(configs, 1), st.none() | tuples(terms), maybe)
consumers = st.builds(r.ConsumerReference, texts, texts, texts, texts)
statuses = st.builds(r.DeviceStatus, texts, texts, texts, tuples(st.tuples(texts, texts)))

RESOURCE_OBJECTS: dict[str, st.SearchStrategy[Any]] = {
    "ResourceClaim": st.builds(
        r.ResourceClaim, metadata, claim_specs, st.none() | allocations, tuples(consumers), tuples(statuses)
    ),
    "ResourceClaimTemplate": st.builds(r.ResourceClaimTemplate, metadata, claim_specs),
    "ResourceSlice": st.builds(
        r.ResourceSlice,
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
    "DeviceClass": st.builds(r.DeviceClass, metadata, tuples(texts), tuples(configs, 1), maybe),
    "PodGroup": st.builds(r.PodGroup, metadata, st.none() | int64),
}

EVERY_KIND: dict[str, st.SearchStrategy[Any]] = {**OBJECTS, **RESOURCE_OBJECTS}
