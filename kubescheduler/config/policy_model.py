"""What a Policy says, and whether it can be used.

First the records and the keys of release 1.16, in the versioned (``v1``) and in the internal form; then what the faults
of a policy are, for a person and in the words of the releases: a release's checks yield each ``PolicyFault`` in the
order in which the release looks for them, and ``give_up`` stops where it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import attrs
import msgspec

from clusterstate.errors import ConfigError
from clusterstate.usage import is_extended_resource
from kubecel.api_names import qualified_name_errors, worded_1_20
from kubescheduler.config.go_decoding import Fault, show_path
from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig
from kubescheduler.framework.document_schema import (
    BOOL,
    BYTES,
    DURATION,
    INT,
    INT32,
    TEXT,
    Field,
    FieldError,
    ListOf,
    Struct,
    fields,
    invalid,
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


FROM_POLICY = "couldn't create scheduler from policy: "
"""What releases 1.16 and 1.20 put before the texts of their checks; the fatal ones stand alone."""

MAX_TOTAL = 2**63 - 1


def int32(number: int) -> int:
    """The number as 32 bits hold it."""
    return (number + 2**31) % 2**32 - 2**31


MAX_PRIORITY = 10

MAX_WEIGHT = MAX_TOTAL // MAX_PRIORITY


class PolicyFault(NamedTuple):
    """Something wrong with a policy."""

    problem: str
    """With its path, and what is to be done where that is known."""
    ends: str | None = None
    """The text with which the release gives up here, for all that it tells together; None: it does not notice yet."""


def told_together(
    problems: Iterable[tuple[str, str]], prefix: str, joined: Callable[[list[str]], str]
) -> list[PolicyFault]:
    """Faults of (path, message) that a release collects before it gives up."""
    faults = list(problems)
    ends = prefix + joined([message for _, message in faults]) if faults else None
    return [PolicyFault(f"{path}: {message}", ends) for path, message in faults]


def give_up(faults: Iterable[PolicyFault]) -> None:
    """Raises ConfigError with the text at which the release gives up; nothing if it does not."""
    for fault in faults:
        if fault.ends is not None:
            raise ConfigError(fault.ends)


class UnreadablePolicy(ConfigError):
    """A policy with faults of decoding; ``policy`` is what could be read of it."""

    def __init__(self, problems: Iterable[str], policy: Policy, faults: Iterable[Fault] = ()) -> None:
        super().__init__(problems)
        self.policy = policy
        self.faulty = tuple(show_path(fault.path) for fault in faults)
        """The paths of values of a wrong type."""


def checked_policy(read: Callable[[], Policy], faults_of: Callable[[Policy], Iterable[PolicyFault]]) -> Policy:
    """The policy that ``read`` decodes, when neither decoding nor ``faults_of`` finds a fault.

    Raises ConfigError with the faults of both: one of decoding hides only what follows from it.
    """
    try:
        policy = read()
    except UnreadablePolicy as error:
        problems = (fault.problem for fault in faults_of(error.policy))
        later = [problem for problem in problems if not _follows(problem.partition(": ")[0], error.faulty)]
        raise ConfigError([*error.problems, *later]) from error
    if faults := list(faults_of(policy)):
        raise ConfigError(fault.problem for fault in faults)
    return policy


def _follows(entry: str, faulty: Sequence[str]) -> bool:
    """Whether a problem of an entry only comes of a value in it, or around it, that could not be read."""
    within = any(other == f"{entry}.name" or other.startswith(f"{entry}.argument") for other in faulty)
    return within or comes_of(entry, faulty)


def comes_of(path: str, faulty: Iterable[str]) -> bool:
    """Whether a fault at ``path`` only comes of a value around it that could not be read."""
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in faulty)


# --- extenders, also of configurations --------------------------------------------------------


def ordered(extenders: Sequence[ExtenderConfig]) -> tuple[ExtenderConfig, ...]:
    """The extenders as they are called: ignorable ones behind the others, else in the order they are configured."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))


def ignored_resources(extenders: Sequence[ExtenderConfig]) -> tuple[str, ...]:
    """The resources that the extenders look after and the scheduler does not."""
    managed = (resource for extender in extenders for resource in extender.managed_resources)
    return tuple(resource.name for resource in managed if resource.ignored_by_scheduler)


def extender_errors(
    extenders: Sequence[ExtenderConfig], worded: Callable[[str], str], foreign: Callable[[str], str]
) -> Iterator[FieldError]:
    """worded: a text about a name as the release has it. foreign: of a name that is no extended resource."""
    managed: set[str] = set()
    for at, extender in enumerate(extenders):
        path = f"extenders[{at}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            where, name = f"{path}.managedResources[{number}].name", resource.name
            texts = qualified_name_errors(name)
            yield from (invalid(where, name, worded(text)) for text in texts)
            if not texts and not is_extended_resource(name):
                yield invalid(where, name, foreign(name))
            if name in managed:
                yield invalid(where, name, "duplicate extender managed resource name")
            managed.add(name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        text = "only one extender can implement bind"
        yield invalid("extenders", f"found {binders} extenders implementing bind", text)


def extender_errors_1_20(extenders: Sequence[ExtenderConfig]) -> Iterator[FieldError]:
    """The faults of extenders, which policies have too."""
    return extender_errors(extenders, worded_1_20, lambda name: f"{name} is an invalid extended resource name")
