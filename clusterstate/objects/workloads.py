"""Services, controllers and what governs pods of a namespace."""

from __future__ import annotations

import attrs

from clusterstate.objects.base import NO_LABELS, Labels, ObjectMeta
from clusterstate.objects.constraints import LabelSelector


@attrs.frozen
class Service:
    """``selector`` is None when absent (a service without selector selects no pod)."""

    metadata: ObjectMeta
    selector: Labels | None = None


@attrs.frozen
class ReplicationController:
    metadata: ObjectMeta
    selector: Labels = NO_LABELS
    replicas: int = 1


@attrs.frozen
class ReplicaSet:
    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


@attrs.frozen
class StatefulSet:
    metadata: ObjectMeta
    selector: LabelSelector | None = None
    replicas: int = 1


@attrs.frozen
class PriorityClass:
    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


@attrs.frozen
class PodDisruptionBudget:
    """``disruptions_allowed`` is status.disruptionsAllowed; absent = 0."""

    metadata: ObjectMeta
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0
    disrupted_pods: tuple[str, ...] = ()


@attrs.frozen
class Namespace:
    metadata: ObjectMeta
