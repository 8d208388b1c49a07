"""The part of a pod's JSON that decoding reads, for parsing pods without building the rest.

These shapes are looser than the API's and check nothing: what they cannot hold is read the long way,
which finds the faults. Fields stand in the order of their names, as servers write them: msgspec looks for the next one
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from clusterstate.manifests.decode_volumes import POD_SOURCES

ABSENT = msgspec.Raw()
"""Stands for a field that a text does not have."""


class OwnerProjection(msgspec.Struct, frozen=True):
    """An entry of ``metadata.ownerReferences``."""

    apiVersion: str = ""  # noqa: N815
    controller: bool = False
    kind: str = ""
    name: str = ""
    uid: str = ""


class MetadataProjection(msgspec.Struct):
    """What is read of ``metadata``."""

    annotations: dict[str, str] | None = None
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    name: str = ""
    namespace: str = ""
    ownerReferences: list[OwnerProjection] | None = None  # noqa: N815
    resourceVersion: Any = None  # noqa: N815
    uid: str = ""


class MetadataText(msgspec.Struct):
    """The same of JSON; what replicas share is left as its text."""

    annotations: dict[str, str] | None = None
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    labels: msgspec.Raw = ABSENT
    name: str = ""
    namespace: str = ""
    ownerReferences: msgspec.Raw = ABSENT  # noqa: N815
    resourceVersion: Any = None  # noqa: N815
    uid: str = ""


class ContainerProjection(msgspec.Struct, omit_defaults=True):
    """What is read of a container."""

    image: Any = None
    name: Any = None
    ports: Any = None
    resources: Any = None
    restartPolicy: Any = None  # noqa: N815
    restartPolicyRules: Any = None  # noqa: N815


VolumeProjection: Any = msgspec.defstruct(
    "VolumeProjection", [(key, Any, None) for key in sorted(("name", *POD_SOURCES))], omit_defaults=True
)


class SpecProjection(msgspec.Struct, omit_defaults=True):
    """What is read of a pod's ``spec``."""

    affinity: Any = None
    containers: list[ContainerProjection] | None = None
    hostNetwork: Any = None  # noqa: N815
    hostUsers: Any = None  # noqa: N815
    initContainers: list[ContainerProjection] | None = None  # noqa: N815
    nodeName: str | None = None  # noqa: N815
    nodeSelector: Any = None  # noqa: N815
    overhead: Any = None
    preemptionPolicy: Any = None  # noqa: N815
    priority: Any = None
    priorityClassName: Any = None  # noqa: N815
    resourceClaims: Any = None  # noqa: N815
    resources: Any = None
    schedulerName: Any = None  # noqa: N815
    schedulingGates: Any = None  # noqa: N815
    schedulingGroup: Any = None  # noqa: N815
    tolerations: Any = None
    topologySpreadConstraints: Any = None  # noqa: N815
    volumes: list[VolumeProjection] | None = None


def _texts(name: str, projection: Any, lists: Mapping[str, Any]) -> Any:
    """The same shape, whose fields are left as their JSON but for those of ``lists``: what replicas share is compared
    as text, and parsed once.
    """
    fields = [
        (field, lists.get(field, msgspec.Raw), None if field in lists else ABSENT)
        for field in projection.__struct_fields__
    ]
    return msgspec.defstruct(name, fields, omit_defaults=True)


ContainerText: Any = _texts("ContainerText", ContainerProjection, {})
VolumeText: Any = _texts("VolumeText", VolumeProjection, {})
SpecText: Any = _texts(
    "SpecText",
    SpecProjection,
    {
        "nodeName": str | None,
        "containers": list[ContainerText] | None,
        "initContainers": list[ContainerText] | None,
        "volumes": list[VolumeText] | None,
    },
)


class ConditionProjection(msgspec.Struct, frozen=True, gc=False):
    """An entry of a pod's ``status.conditions``."""

    reason: str = ""
    status: str = ""
    type: str = ""


class ContainerStatusProjection(msgspec.Struct):
    """What is read of an entry of ``status.containerStatuses``."""

    allocatedResources: msgspec.Raw = ABSENT  # noqa: N815
    name: str = ""
    resources: msgspec.Raw = ABSENT


class StatusProjection(msgspec.Struct):
    """What is read of a pod's ``status``."""

    allocatedResources: Any = None  # noqa: N815
    conditions: tuple[ConditionProjection, ...] | None = None
    containerStatuses: list[ContainerStatusProjection] | None = None  # noqa: N815
    initContainerStatuses: list[ContainerStatusProjection] | None = None  # noqa: N815
    nominatedNodeName: str | None = None  # noqa: N815
    phase: str | None = None
    resourceClaimStatuses: Any = None  # noqa: N815
    resources: Any = None
    startTime: str | None = None  # noqa: N815


class PodProjection(msgspec.Struct):
    """What is read of a pod."""

    metadata: MetadataProjection = msgspec.field(default_factory=MetadataProjection)
    spec: SpecProjection = msgspec.field(default_factory=SpecProjection)
    status: StatusProjection = msgspec.field(default_factory=StatusProjection)


class PodText(msgspec.Struct):
    """What is read of the JSON of a pod."""

    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    metadata: MetadataText = msgspec.field(default_factory=MetadataText)
    spec: SpecText = msgspec.field(default_factory=SpecText)
    status: StatusProjection = msgspec.field(default_factory=StatusProjection)


def reports_grants(status: StatusProjection) -> bool:
    """Whether a status may say what was granted."""
    if status.resources is not None:
        return True
    for statuses in (status.containerStatuses, status.initContainerStatuses):
        if statuses:
            for one in statuses:
                if one.resources is not ABSENT:
                    return True
    return False


Granted = tuple[str, bytes, bytes]
"""Name of a container, JSON of its ``resources`` and its ``allocatedResources``."""


def granted(status: StatusProjection) -> tuple[Granted, ...]:
    """What the statuses of containers say was granted, of those that do."""
    statuses = (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))
    return tuple(
        (one.name, resources, bytes(one.allocatedResources) or NULL)
        for one in statuses
        if (resources := bytes(one.resources) or NULL) != NULL
    )


NULL = b"null"


def drop_unread_names(volumes: Iterable[Any], absent: object) -> None:
    """Takes the names from volumes where decoding does not read them, as those of replicas differ.

    absent: what stands for a field that is not there.
    """
    for volume in volumes:
        if volume.ephemeral is absent and volume.awsElasticBlockStore is absent:
            volume.name = absent
