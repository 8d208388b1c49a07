"""Dynamic resources: devices, who asks for them, who has them. API group resource.k8s.io/v1."""

from __future__ import annotations

import attrs
import msgspec

from clusterstate.objects.base import NO_RESOURCES, FrozenMap, ObjectMeta, ResourceList
from clusterstate.objects.pod import NodeSelectorTerm, Taint, Toleration

EXACT_COUNT, ALL = "ExactCount", "All"
"""Allocation modes."""


class DeviceAttribute(msgspec.Struct, frozen=True, cache_hash=True):
    """An attribute of a device."""

    kind: str
    """``int``, ``bool``, ``string`` or ``version``; distinguishes 1 from true."""
    value: int | bool | str


Attributes = FrozenMap[str, DeviceAttribute]
"""Attribute name → value; a name without a domain is in the driver's."""

NO_ATTRIBUTES: Attributes = FrozenMap()


class CounterSet(msgspec.Struct, frozen=True):
    """Named amounts in thousandths: what a pool has of them, or what a device takes."""

    name: str
    counters: ResourceList = NO_RESOURCES


class Placement(msgspec.Struct, frozen=True):
    """The nodes that something is on. ``node_selector`` is None when absent."""

    node_name: str = ""
    node_selector: tuple[NodeSelectorTerm, ...] | None = None
    all_nodes: bool = False


class RequestPolicy(msgspec.Struct, frozen=True):
    """How requests for a capacity of a shareable device are rounded and limited; all amounts in thousandths."""

    default: int | None = None
    """What a request that does not name the capacity consumes; None: all there is."""
    valid_values: tuple[int, ...] = ()
    """The amounts that can be consumed, ascending."""
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None
    """Above the minimum, amounts are rounded up to a multiple of it, counted in whole units."""


NO_POLICIES: FrozenMap[str, RequestPolicy] = FrozenMap()


class Device(msgspec.Struct, frozen=True, cache_hash=True):
    """A device of a ResourceSlice."""

    name: str
    attributes: Attributes = NO_ATTRIBUTES
    capacity: ResourceList = NO_RESOURCES
    consumes_counters: tuple[CounterSet, ...] = ()
    taints: tuple[Taint, ...] = ()
    placement: Placement = Placement()
    """Counts only where the slice leaves it to each device."""
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    shareable: bool = False
    """``allowMultipleAllocations``."""
    policies: FrozenMap[str, RequestPolicy] = NO_POLICIES
    """Capacity → its ``requestPolicy``."""


class ResourceSlice(msgspec.Struct, frozen=True):
    """Devices of one pool. A pool is complete when its newest generation has ``slice_count`` slices."""

    metadata: ObjectMeta
    driver: str = ""
    pool: str = ""
    generation: int = 0
    slice_count: int = 1
    placement: Placement = Placement()
    per_device: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class DeviceConfig(msgspec.Struct, frozen=True):
    """Parameters for a driver, as JSON text. ``source`` is where an allocation has them from."""

    driver: str = ""
    parameters: str = ""
    requests: tuple[str, ...] = ()
    source: str = ""


class DeviceClass(msgspec.Struct, frozen=True):
    """``selectors`` are CEL expressions."""

    metadata: ObjectMeta
    selectors: tuple[str, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    extended_resource_name: str | None = None


class DeviceAsk(msgspec.Struct, frozen=True):
    """What ``exactly``, or one alternative of ``firstAvailable``, asks for; only the latter has a name."""

    device_class_name: str
    name: str = ""
    selectors: tuple[str, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: ResourceList | None = None
    """Requested amounts in thousandths; None: none are named."""


class DeviceRequest(msgspec.Struct, frozen=True):
    """Either ``exactly`` or ``first_available`` is set."""

    name: str
    exactly: DeviceAsk | None = None
    first_available: tuple[DeviceAsk, ...] = ()

    def alternatives(self) -> tuple[tuple[str, DeviceAsk], ...]:
        """(full name, what is asked for), the best first."""
        if self.exactly is not None:
            return ((self.name, self.exactly),)
        return tuple((f"{self.name}/{ask.name}", ask) for ask in self.first_available)


class DeviceConstraint(msgspec.Struct, frozen=True):
    """What the devices of ``requests`` (none: of all) have the same of, or each its own of."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class ClaimSpec(msgspec.Struct, frozen=True):
    """What a ResourceClaim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfig, ...] = ()


class AllocatedDevice(msgspec.Struct, frozen=True):
    """One result of an allocation. ``request`` is the full name of the alternative chosen."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    """Set for a share of a device that allows several allocations."""
    consumed_capacity: ResourceList = NO_RESOURCES
    """What the share takes of the device's capacity, in thousandths."""
    tolerations: tuple[Toleration, ...] = ()
    """Those of the request when the device was allocated."""


class Allocation(msgspec.Struct, frozen=True):
    """The devices that a claim holds."""

    devices: tuple[AllocatedDevice, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    node_selector: tuple[NodeSelectorTerm, ...] | None = None
    """Where the devices can be used, None: everywhere."""
    timestamp: str | None = None
    """When it was written, RFC 3339; binding conditions time out counted from it."""


class DeviceStatus(msgspec.Struct, frozen=True):
    """What a driver reports of an allocated device."""

    driver: str
    pool: str
    device: str
    conditions: tuple[tuple[str, str], ...] = ()
    """(type, status) of each condition."""
    details: tuple[tuple[str, str], ...] = ()
    """(reason, message) of each condition, in the same order; empty: none has any."""


class ConsumerReference(msgspec.Struct, frozen=True):
    """Who a claim is reserved for."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


@attrs.frozen
class ResourceClaim:
    """``allocation`` is None until devices are allocated."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()
    allocation: Allocation | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    device_statuses: tuple[DeviceStatus, ...] = ()
    resource_version: str = attrs.field(default="", eq=False)
    """``metadata.resourceVersion``: which version of the claim this is; no part of what it says."""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class ResourceClaimTemplate(msgspec.Struct, frozen=True):
    """What claims are made from, one for each pod that names the template."""

    metadata: ObjectMeta
    spec: ClaimSpec = ClaimSpec()


class PendingAllocation(msgspec.Struct, frozen=True):
    """No API object: what a pod on its way to a node will write into the claim of that name."""

    metadata: ObjectMeta
    allocation: Allocation
    pod_uid: str


class PodGroup(msgspec.Struct, frozen=True):
    """scheduling.k8s.io. ``min_count`` is that of the gang policy, None for a group without one."""

    metadata: ObjectMeta
    min_count: int | None = None
