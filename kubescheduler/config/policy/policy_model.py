"""What a Policy says: the records and the keys of release 1.16, in the versioned (``v1``) and in the internal form."""

from __future__ import annotations

from typing import NamedTuple

import attrs
import msgspec

from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig
from kubescheduler.framework.args.document_schema import (
    BOOL,
    BYTES,
    DURATION,
    INT,
    INT32,
    TEXT,
    Field,
    ListOf,
    Struct,
    fields,
)


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


SERVICE_AFFINITY = Struct("ServiceAffinity", ServiceAffinity, fields(labels=ListOf(TEXT)))

LABELS_PRESENCE = Struct("LabelsPresence", LabelsPresence, fields(labels=ListOf(TEXT), presence=BOOL))

PREDICATE = Struct(
    "PredicatePolicy",
    PredicatePolicy,
    fields(
        name=TEXT,
        argument=Struct(
            "PredicateArgument",
            PredicateArgument,
            fields(service_affinity=SERVICE_AFFINITY, labels_presence=LABELS_PRESENCE),
        ),
    ),
)

SHAPE = Field(
    "shape",
    "shape",
    ListOf(Struct("UtilizationShapePoint", UtilizationPoint, fields(utilization=INT, score=INT))),
    internal="UtilizationShape",
)
RESOURCES = Field(
    "resources", "resources", ListOf(Struct("ResourceSpec", ResourceWeight, fields(name=TEXT, weight=INT)))
)


def ratio(*, with_resources: bool) -> Field:
    """The argument of RequestedToCapacityRatio; since 1.16 with resources."""
    keys = (SHAPE, RESOURCES) if with_resources else (SHAPE,)
    kind = Struct("RequestedToCapacityRatioArguments", RequestedToCapacityRatio, keys)
    return Field("requestedToCapacityRatioArguments", "requested_to_capacity_ratio", kind)


def priority_entry(*more_arguments: Field) -> Struct:
    """The keys of a priority: every release's arguments, and those a release has besides."""
    return Struct(
        "PriorityPolicy",
        PriorityPolicy,
        fields(
            name=TEXT,
            weight=INT,
            argument=Struct(
                "PriorityArgument",
                PriorityArgument,
                (
                    *fields(
                        service_anti_affinity=Struct("ServiceAntiAffinity", ServiceAntiAffinity, fields(label=TEXT)),
                        label_preference=Struct("LabelPreference", LabelPreference, fields(label=TEXT, presence=BOOL)),
                    ),
                    *more_arguments,
                ),
            ),
        ),
    )


PRIORITY = priority_entry(ratio(with_resources=True))

TLS = Struct(
    "ExtenderTLSConfig",
    TLSConfig,
    (
        *fields(insecure=BOOL, server_name=TEXT, cert_file=TEXT, key_file=TEXT),
        Field("caFile", "ca_file", TEXT, internal="CAFile"),
        *fields(cert_data=BYTES, key_data=BYTES),
        Field("caData", "ca_data", BYTES, internal="CAData"),
    ),
    omits_zero=True,
)

EXTENDER = Struct(
    "ExtenderConfig",
    ExtenderConfig,
    (
        Field("urlPrefix", "url_prefix", TEXT, internal="URLPrefix", always=True),
        *fields(filter_verb=TEXT, preempt_verb=TEXT, prioritize_verb=TEXT, weight=INT, bind_verb=TEXT),
        Field("enableHttps", "enable_https", BOOL, internal="EnableHTTPS"),
        Field("tlsConfig", "tls", TLS, internal="TLSConfig"),
        Field("httpTimeout", "http_timeout_ns", DURATION, internal="HTTPTimeout"),
        *fields(
            node_cache_capable=BOOL,
            managed_resources=ListOf(
                Struct(
                    "ExtenderManagedResource",
                    ManagedResource,
                    (Field("name", "name", TEXT, always=True), *fields(ignored_by_scheduler=BOOL)),
                    omits_zero=True,
                )
            ),
            ignorable=BOOL,
        ),
    ),
    fold_case=True,
    omits_zero=True,
)


def policy_keys(priority: Struct) -> Struct:
    """The keys of a Policy; priority: those of an entry of its priorities."""
    return Struct(
        "Policy",
        Policy,
        (
            *fields(predicates=ListOf(PREDICATE), priorities=ListOf(priority)),
            Field("extenders", "extenders", ListOf(EXTENDER), internal="ExtenderConfigs"),
            Field("hardPodAffinitySymmetricWeight", "hard_pod_affinity_symmetric_weight", INT, internal_kind=INT32),
            Field("alwaysCheckAllPredicates", "always_check_all_predicates", BOOL),
        ),
    )


POLICY = policy_keys(PRIORITY)
