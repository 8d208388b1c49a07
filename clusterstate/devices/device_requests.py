"""What claims ask for, ready to be looked for among devices: requests, their CEL expressions and constraints; and which
parts of dynamic resource allocation are on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    ALL,
    EXACT_COUNT,
    Device,
    DeviceAsk,
    DeviceAttribute,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    ResourceClaim,
    ResourceList,
    Toleration,
)
from clusterstate.selectors.matching import any_tolerates
from kubecel import CompileFault, CostFault, NotEvaluatedError, ValueFault


class DeviceFeatures(msgspec.Struct, frozen=True):
    """The feature gates that allocation looks at. Upstream: 1.36 structured.Features."""

    prioritized_list: bool = True
    """``firstAvailable``. Gate DRAPrioritizedList."""
    partitionable: bool = True
    """Shared counters, and devices placed one by one. Gate DRAPartitionableDevices."""
    taints: bool = True
    """Gate DRADeviceTaints."""
    binding: bool = True
    """Binding conditions. Gates DRADeviceBindingConditions and DRAResourceClaimDeviceStatus."""
    consumable: bool = True
    """Devices that allow several allocations, and requests for capacity. Gate DRAConsumableCapacity."""
    extended: bool = True
    """Extended resources backed by a DeviceClass. Gate DRAExtendedResource."""

    @classmethod
    def of(cls, gates: Mapping[str, bool]) -> DeviceFeatures:
        """What 1.36's gates switch on; a gate that is not named is on."""

        def on(*names: str) -> bool:
            return all(gates.get(name, True) for name in names)

        return cls(
            prioritized_list=on("DRAPrioritizedList"),
            partitionable=on("DRAPartitionableDevices"),
            taints=on("DRADeviceTaints"),
            binding=on("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
            consumable=on("DRAConsumableCapacity"),
            extended=on("DRAExtendedResource"),
        )


EVERYTHING = DeviceFeatures()


Condition = Callable[[str, Device], bool]
"""Of (driver, device): whether it is selected; may raise ValueFault, CostFault and NotEvaluatedError."""


@lru_cache(maxsize=1024)
def compile_expression(source: str) -> Condition:
    """The expression, ready to be asked about devices. Raises CompileFault and NotEvaluatedError.

    CEL takes long to import, and most clusters ask nothing of it.
    """
    from clusterstate.devices.device_values import FIELDS, as_condition, subject_of
    from kubecel import types
    from kubecel.program import compile_program

    program = compile_program(source, "device", FIELDS)
    if program.kind not in (types.BOOL, types.ANY):
        shown = types.full_name(program.kind)
        raise CompileFault(f"must evaluate to bool or the unknown type, not {shown}")
    return lambda driver, device: as_condition(program.evaluate(subject_of(driver, device)))


def attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """An attribute by its full name, ``domain/name``."""
    found = device.attributes.get(name)
    if found is None:
        domain, _, bare = name.rpartition("/")
        if domain == driver:
            found = device.attributes.get(bare)
    return found


BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")
"""Effects of device taints that keep a claim away."""


class DeviceError(SchedulingError):
    """Something about devices that cannot be worked out; it gives up the attempt."""


class Selector(msgspec.Struct, frozen=True, eq=False):
    """One CEL expression."""

    expression: str
    where: str
    """Whose it is, and which: ``claim NS/NAME: selector #0`` or ``class NAME: selector #0``."""

    def matches(self, driver: str, device: Device) -> bool:
        """Raises DeviceError for an expression that fails, or cannot be evaluated, for this device."""
        try:
            condition: Condition = compile_expression(self.expression)
            return condition(driver, device)
        except CompileFault as fault:
            raise DeviceError(f"{self.where}: CEL compile error: {fault}") from fault
        except (ValueFault, CostFault) as fault:
            raise DeviceError(f"{self.where}: CEL runtime error: {fault}") from fault
        except NotEvaluatedError as error:
            text = f"{self.where}: {self.expression!r} cannot be evaluated here: {error}"
            raise DeviceError(text) from error


def class_selectors(device_class: DeviceClass) -> tuple[Selector, ...]:
    """The selectors of a DeviceClass."""
    return _selectors(f"class {device_class.metadata.name}", device_class.selectors)


def _selectors(owner: str, expressions: Sequence[str]) -> tuple[Selector, ...]:
    return tuple(Selector(text, f"{owner}: selector #{at}") for at, text in enumerate(expressions))


class Option(msgspec.Struct, frozen=True, eq=False):
    """One alternative of a request."""

    name: str
    """With the request's, as an allocation records it."""
    request: str
    """The request's own name."""
    where: str
    """``claim NS/NAME, request NAME`` for messages; the alternative's own name where there are several."""
    selectors: tuple[Selector, ...]
    count: int
    every: bool
    """All devices there are, whatever ``count`` says."""
    admin_access: bool
    tolerations: tuple[Toleration, ...]
    capacity: ResourceList | None = None
    """Amounts that are asked for, in thousandths."""

    @classmethod
    def of(cls, name: str, ask: DeviceAsk, claim: ResourceClaim, objects: ClusterObjects) -> Option:
        """Raises DeviceError for what no release can allocate."""
        where = f"claim {claim.key}, request {ask.name or name}"
        if not ask.device_class_name:
            raise DeviceError(f"{where}: missing device class name (unsupported request type?)")
        device_class = objects.device_classes.get(ask.device_class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{ask.device_class_name}" not found'
            raise DeviceError(f"{where}: could not retrieve device class {ask.device_class_name}: {missing}")
        if ask.allocation_mode not in (ALL, EXACT_COUNT):
            raise DeviceError(f"{where}: unsupported count mode {ask.allocation_mode}")
        return cls(
            name=name,
            request=name.partition("/")[0],
            where=where,
            selectors=(*class_selectors(device_class), *_selectors(f"claim {claim.key}", ask.selectors)),
            count=ask.count,
            every=ask.allocation_mode == ALL,
            admin_access=ask.admin_access,
            tolerations=ask.tolerations,
            capacity=ask.capacity,
        )

    def selects(self, driver: str, device: Device) -> bool:
        """Whether the device will do, in use or not. Raises DeviceError."""
        return all(selector.matches(driver, device) for selector in self.selectors)

    def tolerates(self, device: Device) -> bool:
        """Whether no taint of the device keeps this away."""
        return all(
            taint.effect not in BLOCKING_EFFECTS or any_tolerates(self.tolerations, taint) for taint in device.taints
        )

    def is_among(self, names: tuple[str, ...]) -> bool:
        """Whether a list of requests means this one; an empty list means all."""
        return not names or self.name in names or self.request in names


class Want(msgspec.Struct, frozen=True, eq=False):
    """One request of one claim."""

    claim: int
    """The position of the claim among those to be allocated."""
    options: tuple[Option, ...]
    """The best first."""
    ranked: bool
    """There are alternatives, which a score tells apart."""


def wants_of(
    claim: ResourceClaim, index: int, objects: ClusterObjects, features: DeviceFeatures = EVERYTHING
) -> tuple[Want, ...]:
    """The requests of a claim in order. Raises DeviceError for what cannot be allocated."""
    return tuple(_want(request, claim, index, objects, features) for request in claim.spec.requests)


def _want(
    request: DeviceRequest, claim: ResourceClaim, index: int, objects: ClusterObjects, features: DeviceFeatures
) -> Want:
    where = f"claim {claim.key}, request {request.name}"
    if request.first_available and not features.prioritized_list:
        raise DeviceError(f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled")
    if not features.consumable:
        for name, ask in request.alternatives():
            if ask.capacity is not None:
                what = f"subrequest {ask.name}" if ask.name else f"request {name}"
                text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
                raise DeviceError(f"claim {claim.key}, {what}: {text}")
    options: Sequence[Option] = [Option.of(name, ask, claim, objects) for name, ask in request.alternatives()]
    return Want(index, tuple(options), ranked=request.exactly is None)


class MatchAttribute(msgspec.Struct, eq=False):
    """All devices have the same value. Upstream: 1.36 matchAttributeConstraint."""

    requests: tuple[str, ...]
    name: str
    value: DeviceAttribute | None = None
    count: int = 0

    def add(self, option: Option, driver: str, device: Device) -> bool:
        """Whether the device has the attribute, with the value of the devices chosen before."""
        if not option.is_among(self.requests):
            return True
        found = attribute(driver, device, self.name)
        if found is None:
            return False
        if not self.count:
            self.value = found
        elif found != self.value:
            return False
        self.count += 1
        return True

    def remove(self, option: Option) -> None:
        """One device less."""
        if option.is_among(self.requests):
            self.count -= 1


class DistinctAttribute(msgspec.Struct, eq=False):
    """Every request has another value. Upstream: 1.36 distinctAttributeConstraint.

    It remembers one value for each request, the last one: of a request for several devices, only neighbours are
    compared.
    """

    requests: tuple[str, ...]
    name: str
    values: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    count: int = 0

    def add(self, option: Option, driver: str, device: Device) -> bool:
        """Whether the device has the attribute, with a value that no request is remembered for."""
        if not option.is_among(self.requests):
            return True
        found = attribute(driver, device, self.name)
        if found is None or (self.count and found in self.values.values()):
            return False
        self.values[option.request] = found
        self.count += 1
        return True

    def remove(self, option: Option) -> None:
        """One device less; the value of its request is forgotten."""
        if option.is_among(self.requests):
            self.values.pop(option.request, None)
            self.count -= 1


Constraint = MatchAttribute | DistinctAttribute
"""Told of every device that is chosen (it says whether it may be) and given back; what it is told is all it knows."""


def constraints_of(claim: ResourceClaim) -> tuple[Constraint, ...]:
    """The constraints of a claim before any device is chosen. Raises DeviceError for one of an unknown sort."""
    return tuple(_constraint(claim, *pair) for pair in enumerate(claim.spec.constraints))


def _constraint(claim: ResourceClaim, at: int, given: DeviceConstraint) -> Constraint:
    if given.match_attribute is not None:
        return MatchAttribute(given.requests, given.match_attribute)
    if given.distinct_attribute is not None:
        return DistinctAttribute(given.requests, given.distinct_attribute)
    raise DeviceError(f"claim {claim.key}, constraint #{at}: empty constraint (unsupported constraint type?)")


def all_take(constraints: Iterable[Constraint], option: Option, driver: str, device: Device) -> bool:
    """Whether every constraint takes the device; if not, none of them counts it."""
    taken: list[Constraint] = []
    for constraint in constraints:
        if not constraint.add(option, driver, device):
            for other in taken:
                other.remove(option)
            return False
        taken.append(constraint)
    return True
