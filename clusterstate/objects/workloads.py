"""Services, controllers and what governs pods of a namespace."""

from __future__ import annotations

import msgspec

from clusterstate.objects.base import NO_LABELS, Labels, ObjectMeta
from clusterstate.objects.constraints import LabelSelector


class Service(msgspec.Struct, frozen=True):
    """A v1 Service."""

    metadata: ObjectMeta
    selector: Labels | None = None
    """None when absent: a service without a selector selects no pod."""


class ReplicationController(msgspec.Struct, frozen=True):
    """What is read of a v1 ReplicationController."""

    metadata: ObjectMeta
    selector: Labels = NO_LABELS
    replicas: int = 1


class ReplicaSet(msgspec.Struct, frozen=True):
    """What is read of an apps/v1 ReplicaSet."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


class StatefulSet(msgspec.Struct, frozen=True):
    """What is read of an apps/v1 StatefulSet."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


class PriorityClass(msgspec.Struct, frozen=True):
    """The priority that pods get by its name."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class PodDisruptionBudget(msgspec.Struct, frozen=True):
    """``disruptions_allowed`` is status.disruptionsAllowed; absent = 0."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: tuple[str, ...] = ()


class Namespace(msgspec.Struct, frozen=True):
    """A namespace; its labels are what namespace selectors match."""

    metadata: ObjectMeta
