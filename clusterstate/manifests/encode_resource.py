"""Manifests of the kinds of resource.k8s.io, and of pod groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from clusterstate.manifests.encode_parts import encode_terms, present
from clusterstate.manifests.encode_pod import encode_toleration
from clusterstate.objects.base import ResourceList
from clusterstate.objects.constraints import NodeSelectorTerm, Taint
from clusterstate.objects.resource import (
    Allocation,
    ClaimSpec,
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
from clusterstate.quantity import format_quantity

# --- what there is -------------------------------------------------------------------------


def _slice(piece: ResourceSlice) -> dict[str, Any]:
    spec = {
        "driver": piece.driver or None,
        "pool": {"name": piece.pool, "generation": piece.generation, "resourceSliceCount": piece.slice_count},
        **_placement(piece.placement),
        "perDeviceNodeSelection": piece.per_device or None,
        "devices": [_device(device) for device in piece.devices] or None,
        "sharedCounters": [_counters("name", entry) for entry in piece.shared_counters] or None,
    }
    return {"spec": present(spec)}


def _placement(place: Placement) -> dict[str, Any]:
    fields = {
        "nodeName": place.node_name or None,
        "nodeSelector": _selector(place.node_selector),
        "allNodes": place.all_nodes or None,
    }
    return present(fields)


def _selector(terms: tuple[NodeSelectorTerm, ...] | None) -> dict[str, Any] | None:
    return None if terms is None else encode_terms(terms)


def _device(device: Device) -> dict[str, Any]:
    fields = {
        "name": device.name,
        "attributes": {name: _attribute(value) for name, value in device.attributes.items()} or None,
        "capacity": _capacity(device) or None,
        "consumesCounters": [_counters("counterSet", entry) for entry in device.consumes_counters] or None,
        "taints": [_taint(taint) for taint in device.taints] or None,
        **_placement(device.placement),
        "bindsToNode": device.binds_to_node or None,
        "bindingConditions": list(device.binding_conditions) or None,
        "bindingFailureConditions": list(device.binding_failure_conditions) or None,
        "allowMultipleAllocations": device.shareable or None,
    }
    return present(fields)


def _capacity(device: Device) -> dict[str, Any]:
    amounts = _amounts(device.capacity)
    for name, policy in device.policies.items():
        amounts[name]["requestPolicy"] = _policy(policy)
    return amounts


def _policy(policy: RequestPolicy) -> dict[str, Any]:
    bounds = {"min": policy.minimum, "max": policy.maximum, "step": policy.step}
    fields = {
        "default": _amount(policy.default),
        "validValues": [_amount(value) for value in policy.valid_values] or None,
        "validRange": present({name: _amount(bound) for name, bound in bounds.items()}) or None,
    }
    return present(fields)


def _amount(milli: int | None) -> str | None:
    return None if milli is None else format_quantity(milli, binary=True)


def _attribute(attribute: DeviceAttribute) -> dict[str, Any]:
    return {attribute.kind: attribute.value}


def _amounts(amounts: ResourceList) -> dict[str, Any]:
    return {name: {"value": format_quantity(milli, binary=True)} for name, milli in amounts.items()}


def _plain_amounts(amounts: ResourceList) -> dict[str, Any]:
    return {name: format_quantity(milli, binary=True) for name, milli in amounts.items()}


def _counters(name: str, entry: CounterSet) -> dict[str, Any]:
    return {name: entry.name, "counters": _amounts(entry.counters)}


def _taint(taint: Taint) -> dict[str, Any]:
    return present({"key": taint.key, "value": taint.value or None, "effect": taint.effect or None})


def _class(cls: DeviceClass) -> dict[str, Any]:
    spec = {
        "selectors": _selectors(cls.selectors),
        "config": _configs(cls.config),
        "extendedResourceName": cls.extended_resource_name,
    }
    return {"spec": present(spec)}


def _selectors(expressions: Iterable[str]) -> list[dict[str, Any]] | None:
    return [{"cel": {"expression": expression}} for expression in expressions] or None


def _configs(configs: Iterable[DeviceConfig]) -> list[dict[str, Any]] | None:
    return [_config(config) for config in configs] or None


def _config(config: DeviceConfig) -> dict[str, Any]:
    parameters = msgspec.json.decode(config.parameters) if config.parameters else None
    fields = {
        "source": config.source or None,
        "requests": list(config.requests) or None,
        "opaque": present({"driver": config.driver or None, "parameters": parameters}),
    }
    return present(fields)


# --- what is asked for, and what is allocated ----------------------------------------------


def _claim(claim: ResourceClaim) -> dict[str, Any]:
    consumers = [
        present({"apiGroup": c.api_group or None, "resource": c.resource, "name": c.name, "uid": c.uid})
        for c in claim.reserved_for
    ]
    status = {
        "allocation": None if claim.allocation is None else _allocation(claim.allocation),
        "reservedFor": consumers or None,
        "devices": [_device_status(entry) for entry in claim.device_statuses] or None,
    }
    return {"spec": _claim_spec(claim.spec), "status": present(status)}


def _template(template: ResourceClaimTemplate) -> dict[str, Any]:
    return {"spec": {"spec": _claim_spec(template.spec)}}


def _claim_spec(spec: ClaimSpec) -> dict[str, Any]:
    devices = {
        "requests": [_request(request) for request in spec.requests] or None,
        "constraints": [_constraint(constraint) for constraint in spec.constraints] or None,
        "config": _configs(spec.config),
    }
    return {"devices": present(devices)}


def _request(request: DeviceRequest) -> dict[str, Any]:
    fields = {
        "name": request.name,
        "exactly": None if request.exactly is None else _ask(request.exactly),
        "firstAvailable": [_ask(ask) for ask in request.first_available] or None,
    }
    return present(fields)


def _ask(ask: DeviceAsk) -> dict[str, Any]:
    fields = {
        "name": ask.name or None,
        "deviceClassName": ask.device_class_name,
        "selectors": _selectors(ask.selectors),
        "allocationMode": ask.allocation_mode,
        "count": ask.count,
        "adminAccess": ask.admin_access or None,
        "tolerations": [encode_toleration(toleration) for toleration in ask.tolerations] or None,
        "capacity": None if ask.capacity is None else {"requests": _plain_amounts(ask.capacity)},
    }
    return present(fields)


def _constraint(constraint: DeviceConstraint) -> dict[str, Any]:
    fields = {
        "requests": list(constraint.requests) or None,
        "matchAttribute": constraint.match_attribute,
        "distinctAttribute": constraint.distinct_attribute,
    }
    return present(fields)


def _allocation(allocation: Allocation) -> dict[str, Any]:
    results = [
        present(
            {
                "request": device.request,
                "driver": device.driver,
                "pool": device.pool,
                "device": device.device,
                "adminAccess": device.admin_access or None,
                "bindingConditions": list(device.binding_conditions) or None,
                "bindingFailureConditions": list(device.binding_failure_conditions) or None,
                "shareID": device.share_id,
                "consumedCapacity": _plain_amounts(device.consumed_capacity) or None,
                "tolerations": [encode_toleration(toleration) for toleration in device.tolerations] or None,
            }
        )
        for device in allocation.devices
    ]
    devices = present({"results": results or None, "config": _configs(allocation.config)})
    selector = _selector(allocation.node_selector)
    return present({"devices": devices, "nodeSelector": selector, "allocationTimestamp": allocation.timestamp})


def _device_status(entry: DeviceStatus) -> dict[str, Any]:
    details = entry.details or (("", ""),) * len(entry.conditions)
    conditions = [
        present({"type": kind, "status": status, "reason": reason or None, "message": message or None})
        for (kind, status), (reason, message) in zip(entry.conditions, details, strict=True)
    ]
    fields = {"driver": entry.driver, "pool": entry.pool, "device": entry.device, "conditions": conditions or None}
    return present(fields)


# --- pod groups ----------------------------------------------------------------------------


def _pod_group(group: PodGroup) -> dict[str, Any]:
    policy = {} if group.min_count is None else {"gang": {"minCount": group.min_count}}
    return {"spec": {"schedulingPolicy": policy}}


RESOURCE_KINDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
    "ResourceSlice": _slice,
    "DeviceClass": _class,
    "PodGroup": _pod_group,
}
"""Kind → its manifest without metadata."""
