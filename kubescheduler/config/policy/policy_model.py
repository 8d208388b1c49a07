"""What a Policy says: the fields of release 1.16."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import attrs
import msgspec

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig


class ServiceAffinity(msgspec.Struct, frozen=True):
    """The argument of a predicate: pods of a service go to nodes with equal values of these labels."""

    labels: tuple[str, ...] = ()


class LabelsPresence(msgspec.Struct, frozen=True):
    """The argument of a predicate: nodes must have, or must not have, all of these labels."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(msgspec.Struct, frozen=True):
    """Builds a predicate of its own; exactly one member is to be set."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None

    @property
    def count(self) -> int:
        """How many members are set."""
        return _count(self.service_affinity, self.labels_presence)


class PredicatePolicy(msgspec.Struct, frozen=True):
    """An entry of ``predicates``."""

    name: str = ""
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(msgspec.Struct, frozen=True):
    """The argument of a priority: pods of a service are spread over the values of this label."""

    label: str = ""


class LabelPreference(msgspec.Struct, frozen=True):
    """The argument of a priority: nodes that have this label, or that do not have it, are preferred."""

    label: str = ""
    presence: bool = False


class UtilizationPoint(NamedTuple):
    """``utilization`` in percent, ``score`` from 0 to 10."""

    utilization: int = 0
    score: int = 0


class ResourceWeight(NamedTuple):
    """A resource and its weight in RequestedToCapacityRatio."""

    name: str = ""
    weight: int = 0


class RequestedToCapacityRatio(msgspec.Struct, frozen=True):
    """``resources`` as written; what counts is ``resource_weights``."""

    shape: tuple[UtilizationPoint, ...] = ()
    resources: tuple[ResourceWeight, ...] = ()

    def resource_weights(self) -> tuple[ResourceWeight, ...]:
        """Each resource once, its last weight, 0 read as 1; cpu and memory equally if none is given."""
        if not self.resources:
            return (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))
        weights = {name: weight or 1 for name, weight in self.resources}
        return tuple(ResourceWeight(name, weight) for name, weight in weights.items())


class PriorityArgument(msgspec.Struct, frozen=True):
    """Builds a priority of its own; exactly one member is to be set."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None

    @property
    def count(self) -> int:
        """How many members are set."""
        return _count(self.service_anti_affinity, self.label_preference, self.requested_to_capacity_ratio)


class PriorityPolicy(msgspec.Struct, frozen=True):
    """An entry of ``priorities``."""

    name: str = ""
    weight: int = 0
    argument: PriorityArgument | None = None


@attrs.frozen
class Policy:
    """A decoded Policy, not yet validated."""

    predicates: tuple[PredicatePolicy, ...] | None = None
    """None when absent or null, which means DefaultProvider's; empty is none at all."""
    priorities: tuple[PriorityPolicy, ...] | None = None
    """None and empty as for ``predicates``."""
    extenders: tuple[ExtenderConfig, ...] = ()
    hard_pod_affinity_symmetric_weight: int = 0
    """The weight of required pod affinity; 0 keeps the configured one."""
    always_check_all_predicates: bool = False
    notes: tuple[str, ...] = attrs.field(default=(), eq=False)
    """What may be unexpected about the policy, for the user; they change nothing."""

    def ordered_extenders(self) -> tuple[ExtenderConfig, ...]:
        """The extenders as they are called: those that are not ignorable first, each group in its own order."""
        return tuple(sorted(self.extenders, key=lambda extender: extender.ignorable))

    def ignored_resources(self) -> frozenset[str]:
        """The managed resources that PodFitsResources skips."""
        managed = (resource for extender in self.extenders for resource in extender.managed_resources)
        return frozenset(resource.name for resource in managed if resource.ignored_by_scheduler)

    def hard_weight(self, configured: int) -> int:
        """The weight of required pod affinity in effect; ``configured`` is that of the flag."""
        return self.hard_pod_affinity_symmetric_weight or configured


def _count(*members: object) -> int:
    return sum(member is not None for member in members)
