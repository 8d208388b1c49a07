"""What claims ask for, ready to be looked for among devices."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.device_expressions import Term, compile_expression
from clusterstate.devices.device_values import NotEvaluatedError, ValueFault
from clusterstate.errors import SchedulingError
from clusterstate.objects import Toleration
from clusterstate.objects.resource import ALL, Device, DeviceAsk, DeviceConstraint, ResourceClaim
from clusterstate.selectors.matching import any_tolerates

BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")
"""Effects of device taints that keep a claim away."""


class DeviceError(SchedulingError):
    """Something about devices that cannot be worked out; it gives up the attempt."""


@attrs.frozen(eq=False)
class Selector:
    """One CEL expression. ``where`` says whose it is."""

    expression: str
    term: Term
    where: str

    @classmethod
    def of(cls, expression: str, where: str) -> Selector:
        """Compiles an expression. Raises DeviceError, with where it stands, for one that is not supported."""
        try:
            return cls(expression, compile_expression(expression), where)
        except NotEvaluatedError as error:
            raise _not_evaluated(where, expression, error) from error

    def matches(self, driver: str, device: Device) -> bool:
        """Raises DeviceError for an expression that cannot be evaluated for this device."""
        try:
            found = self.term(driver, device)
        except ValueFault as fault:
            raise DeviceError(f"{self.where}: selector {self.expression!r}: runtime error: {fault}") from fault
        except NotEvaluatedError as error:
            raise _not_evaluated(self.where, self.expression, error) from error
        if not isinstance(found, bool):
            raise DeviceError(f"{self.where}: selector {self.expression!r}: it is not true or false")
        return found


def _not_evaluated(where: str, expression: str, error: NotEvaluatedError) -> DeviceError:
    return DeviceError(
        f"{where}: selector {expression!r} cannot be evaluated here: {error}; write it with device.driver, "
        'device.attributes["domain"].name, device.capacity["domain"].name, comparisons, && and ||'
    )


@attrs.frozen(eq=False)
class Option:
    """One alternative of a request."""

    name: str
    """As an allocation records it: ``request`` or ``request/alternative``."""
    request: str
    """The name of the request."""
    selectors: tuple[Selector, ...]
    count: int
    every: bool
    """Whether it asks for all matching devices, whatever ``count`` says."""
    admin_access: bool
    tolerations: tuple[Toleration, ...]

    @classmethod
    def of(cls, name: str, ask: DeviceAsk, claim: ResourceClaim, objects: ClusterObjects) -> Option:
        """The alternative as it is asked for, with its class's selectors. Raises DeviceError for a missing class."""
        device_class = objects.device_classes.get(ask.device_class_name)
        if device_class is None:
            raise DeviceError(f"request {name}: device class {ask.device_class_name} does not exist")
        of_class = (Selector.of(text, f"class {ask.device_class_name}") for text in device_class.selectors)
        own = (Selector.of(text, f"claim {claim.key}, request {name}") for text in ask.selectors)
        return cls(
            name=name,
            request=name.partition("/")[0],
            selectors=(*of_class, *own),
            count=ask.count,
            every=ask.allocation_mode == ALL,
            admin_access=ask.admin_access,
            tolerations=ask.tolerations,
        )

    def selects(self, driver: str, device: Device) -> bool:
        """Whether the device will do, in use or not. Raises DeviceError."""
        if not all(selector.matches(driver, device) for selector in self.selectors):
            return False
        if device.shareable:
            raise DeviceError(f"device {driver}/{device.name} allows several allocations, which is not worked out here")
        return True

    def tolerates(self, device: Device) -> bool:
        """Whether every taint of the device that keeps pods away is tolerated."""
        return all(
            taint.effect not in BLOCKING_EFFECTS or any_tolerates(self.tolerations, taint) for taint in device.taints
        )

    def is_among(self, names: tuple[str, ...]) -> bool:
        """Whether a list of requests means this one; an empty list means all."""
        return not names or self.name in names or self.request in names


@attrs.frozen(eq=False)
class Want:
    """One request of one claim."""

    claim: int
    options: tuple[Option, ...]
    """The alternatives, the preferred one first."""
    constraints: tuple[DeviceConstraint, ...]
    ranked: bool
    """Whether the choice among the alternatives matters to the score."""


def wants(claims: Iterable[ResourceClaim], objects: ClusterObjects) -> tuple[Want, ...]:
    """All requests of all claims in order. Raises DeviceError for a selector that is not understood."""
    return tuple(
        Want(
            claim=index,
            options=tuple(Option.of(name, ask, claim, objects) for name, ask in request.alternatives()),
            constraints=claim.spec.constraints,
            ranked=request.exactly is None,
        )
        for index, claim in enumerate(claims)
        for request in claim.spec.requests
    )
