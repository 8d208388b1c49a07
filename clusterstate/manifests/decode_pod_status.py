"""Pod statuses."""

from __future__ import annotations

from collections.abc import Iterator

from clusterstate.manifests.fields import Fields
from clusterstate.objects import FrozenMap, Grant, PodCondition, PodGrants, ResourceClaimStatus

CONTAINER_STATUSES = ("containerStatuses", "initContainerStatuses")


def decode_conditions(status: Fields) -> tuple[PodCondition, ...]:
    """The conditions of a pod's status."""
    return tuple(
        PodCondition(c.text("type"), c.text("status"), c.text("reason")) for c in status.children("conditions")
    )


def decode_claim_statuses(status: Fields) -> tuple[ResourceClaimStatus, ...]:
    """The claims made for the pod's templates."""
    return tuple(
        ResourceClaimStatus(claim.text("name"), claim.text_or_none("resourceClaimName"))
        for claim in status.children("resourceClaimStatuses")
    )


def decode_grants(status: Fields) -> PodGrants | None:
    """What was granted to containers and pod; None when the status says nothing of it."""
    containers = dict(_granted(status))
    pod = _grant(status)
    return None if pod is None and not containers else PodGrants(FrozenMap(containers), pod)


def _granted(status: Fields) -> Iterator[tuple[str, Grant]]:
    for key in CONTAINER_STATUSES:
        for container in status.children(key):
            grant = _grant(container)
            if grant is not None:
                yield container.text("name"), grant


def _grant(status: Fields) -> Grant | None:
    resources = status.child("resources")
    if resources is None:
        return None
    return Grant(resources.resources("requests"), status.resources("allocatedResources"))
