"""The kinds of resource.k8s.io, and pod groups."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from clusterstate.manifests.decode_meta import decode_metadata, decode_node_selector
from clusterstate.manifests.decode_pod import decode_toleration
from clusterstate.manifests.fields import Fields
from clusterstate.objects import FrozenMap, ResourceList, Taint
from clusterstate.objects.resource import (
    EXACT_COUNT,
    AllocatedDevice,
    Allocation,
    Attributes,
    ClaimSpec,
    ConsumerReference,
    CounterSet,
    Device,
    DeviceAsk,
    DeviceAttribute,
    DeviceClass,
    DeviceConfig,
    DeviceConstraint,
    DeviceRequest,
    DeviceStatus,
    Placement,
    PodGroup,
    RequestPolicy,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)

# --- what there is -------------------------------------------------------------------------


def decode_resource_slice(manifest: Fields) -> ResourceSlice:
    """A resource.k8s.io/v1 ResourceSlice."""
    spec = manifest.inside("spec")
    pool = spec.inside("pool")
    return ResourceSlice(
        metadata=decode_metadata(manifest),
        driver=spec.text("driver"),
        pool=pool.text("name"),
        generation=pool.integer("generation"),
        slice_count=pool.integer("resourceSliceCount", 1),
        placement=_placement(spec),
        per_device=spec.flag("perDeviceNodeSelection"),
        devices=tuple(_device(device) for device in spec.children("devices")),
        shared_counters=tuple(_counter_set(entry, "name") for entry in spec.children("sharedCounters")),
    )


def _placement(fields: Fields) -> Placement:
    return Placement(fields.text("nodeName"), decode_node_selector(fields, "nodeSelector"), fields.flag("allNodes"))


def _device(device: Fields) -> Device:
    return Device(
        name=device.text("name"),
        attributes=_attributes(device),
        capacity=_amounts(device, "capacity"),
        policies=_policies(device.inside("capacity")),
        consumes_counters=tuple(_counter_set(entry, "counterSet") for entry in device.children("consumesCounters")),
        taints=tuple(Taint(t.text("key"), t.text("value"), t.text("effect")) for t in device.children("taints")),
        placement=_placement(device),
        binds_to_node=device.flag("bindsToNode"),
        binding_conditions=device.texts("bindingConditions"),
        binding_failure_conditions=device.texts("bindingFailureConditions"),
        shareable=device.flag("allowMultipleAllocations"),
    )


def _attributes(device: Fields) -> Attributes:
    found = device.inside("attributes")
    pairs = ((name, _attribute(found.inside(name))) for name in map(str, found.data))
    return FrozenMap({name: value for name, value in pairs if value is not None})


def _attribute(fields: Fields) -> DeviceAttribute | None:
    if fields.has("int"):
        return DeviceAttribute("int", fields.integer("int"))
    if fields.has("bool"):
        return DeviceAttribute("bool", fields.flag("bool"))
    for kind in ("string", "version"):
        if fields.has(kind):
            return DeviceAttribute(kind, fields.text(kind))
    fields.fault("", "needs one of int, bool, string and version")
    return None


def _amounts(fields: Fields, key: str) -> ResourceList:
    """Quantities that stand in objects with a ``value``."""
    found = fields.inside(key)
    return FrozenMap({name: found.inside(name).quantity("value") for name in map(str, found.data)})


def _policies(capacity: Fields) -> FrozenMap[str, RequestPolicy]:
    found = ((name, capacity.inside(name).child("requestPolicy")) for name in map(str, capacity.data))
    return FrozenMap({name: _policy(policy) for name, policy in found if policy is not None})


def _policy(policy: Fields) -> RequestPolicy:
    valid = policy.inside("validRange")
    return RequestPolicy(
        default=policy.quantity("default") if policy.has("default") else None,
        valid_values=tuple(policy.quantities("validValues")),
        minimum=valid.quantity("min") if valid.has("min") else None,
        maximum=valid.quantity("max") if valid.has("max") else None,
        step=valid.quantity("step") if valid.has("step") else None,
    )


def _counter_set(fields: Fields, name: str) -> CounterSet:
    return CounterSet(fields.text(name), _amounts(fields, "counters"))


def decode_device_class(manifest: Fields) -> DeviceClass:
    """A resource.k8s.io/v1 DeviceClass."""
    spec = manifest.inside("spec")
    return DeviceClass(
        metadata=decode_metadata(manifest),
        selectors=_selectors(spec),
        config=tuple(_configs(spec)),
        extended_resource_name=spec.text_or_none("extendedResourceName"),
    )


def _selectors(fields: Fields) -> tuple[str, ...]:
    return tuple(selector.inside("cel").text("expression") for selector in fields.children("selectors"))


def _configs(fields: Fields) -> Iterator[DeviceConfig]:
    for config in fields.children("config"):
        opaque = config.inside("opaque")
        parameters = opaque.child("parameters")
        text = "" if parameters is None else msgspec.json.encode(parameters.data, order="sorted").decode()
        yield DeviceConfig(opaque.text("driver"), text, config.texts("requests"), config.text("source"))


# --- what is asked for ---------------------------------------------------------------------


def decode_resource_claim(manifest: Fields) -> ResourceClaim:
    """A resource.k8s.io/v1 ResourceClaim."""
    status = manifest.inside("status")
    return ResourceClaim(
        metadata=decode_metadata(manifest),
        spec=_claim_spec(manifest.inside("spec")),
        allocation=_allocation(status.child("allocation")),
        reserved_for=tuple(_consumer(entry) for entry in status.children("reservedFor")),
        device_statuses=tuple(_device_status(entry) for entry in status.children("devices")),
        resource_version=manifest.inside("metadata").text("resourceVersion"),
    )


def decode_resource_claim_template(manifest: Fields) -> ResourceClaimTemplate:
    """A resource.k8s.io/v1 ResourceClaimTemplate."""
    return ResourceClaimTemplate(decode_metadata(manifest), _claim_spec(manifest.inside("spec").inside("spec")))


def _claim_spec(spec: Fields) -> ClaimSpec:
    devices = spec.inside("devices")
    return ClaimSpec(
        requests=tuple(_request(request) for request in devices.children("requests")),
        constraints=tuple(_constraint(constraint) for constraint in devices.children("constraints")),
        config=tuple(_configs(devices)),
    )


def _request(request: Fields) -> DeviceRequest:
    exactly = request.child("exactly")
    if exactly is None and not request.has("firstAvailable"):
        request.fault("", "needs exactly or firstAvailable, as in resource.k8s.io/v1")
    return DeviceRequest(
        name=request.text("name"),
        exactly=None if exactly is None else _ask(exactly),
        first_available=tuple(_ask(ask) for ask in request.children("firstAvailable")),
    )


def _ask(ask: Fields) -> DeviceAsk:
    return DeviceAsk(
        device_class_name=ask.text("deviceClassName"),
        name=ask.text("name"),
        selectors=_selectors(ask),
        allocation_mode=ask.text("allocationMode", EXACT_COUNT),
        count=ask.integer("count", 1),
        admin_access=ask.flag("adminAccess"),
        tolerations=tuple(decode_toleration(toleration) for toleration in ask.children("tolerations")),
        capacity=ask.inside("capacity").resources("requests") if ask.has("capacity") else None,
    )


def _constraint(constraint: Fields) -> DeviceConstraint:
    return DeviceConstraint(
        constraint.texts("requests"),
        constraint.text_or_none("matchAttribute"),
        constraint.text_or_none("distinctAttribute"),
    )


# --- what is allocated ---------------------------------------------------------------------


def _allocation(allocation: Fields | None) -> Allocation | None:
    if allocation is None:
        return None
    devices = allocation.inside("devices")
    return Allocation(
        devices=tuple(_allocated(result) for result in devices.children("results")),
        config=tuple(_configs(devices)),
        node_selector=decode_node_selector(allocation, "nodeSelector"),
        timestamp=allocation.text_or_none("allocationTimestamp"),
    )


def _allocated(result: Fields) -> AllocatedDevice:
    return AllocatedDevice(
        request=result.text("request"),
        driver=result.text("driver"),
        pool=result.text("pool"),
        device=result.text("device"),
        admin_access=result.flag("adminAccess"),
        binding_conditions=result.texts("bindingConditions"),
        binding_failure_conditions=result.texts("bindingFailureConditions"),
        share_id=result.text_or_none("shareID"),
        consumed_capacity=result.resources("consumedCapacity"),
        tolerations=tuple(decode_toleration(toleration) for toleration in result.children("tolerations")),
    )


def _consumer(entry: Fields) -> ConsumerReference:
    return ConsumerReference(entry.text("resource"), entry.text("name"), entry.text("uid"), entry.text("apiGroup"))


def _device_status(entry: Fields) -> DeviceStatus:
    given = list(entry.children("conditions"))
    conditions = tuple((c.text("type"), c.text("status")) for c in given)
    details = tuple((c.text("reason"), c.text("message")) for c in given)
    return DeviceStatus(
        entry.text("driver"),
        entry.text("pool"),
        entry.text("device"),
        conditions,
        details if any(map(any, details)) else (),
    )


# --- pod groups ----------------------------------------------------------------------------


def decode_pod_group(manifest: Fields) -> PodGroup:
    """A scheduling.k8s.io PodGroup; without a gang policy its minCount is None."""
    gang = manifest.inside("spec").inside("schedulingPolicy").child("gang")
    return PodGroup(decode_metadata(manifest), None if gang is None else gang.integer("minCount"))
