"""The CSI volumes that pods use, as release 1.36 counts them: in-tree ones as their drivers know them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import CSI, AWSElasticBlockStore, ClaimVolume, EphemeralClaim
from clusterstate.podinfo import PodInfo
from clusterstate.volumes.claims import CLAIM_WITHOUT_NAME, csi_volume
from clusterstate.volumes.claims_framework import CLAIM, NotFoundError, is_owned, not_owner
from clusterstate.volumes.csi_migration import ALL_PLUGINS, TranslationError, plugin_of


class Problem(msgspec.Struct, frozen=True):
    """Why a pod's volumes cannot be counted."""

    text: str
    missing: bool = False
    """Whether a claim is missing, which matters only for the pod being scheduled; otherwise it is an error."""
    with_driver: bool = False
    """Whether it concerns only nodes with a CSINode."""


class CSIUse(msgspec.Struct, frozen=True):
    """The CSI volumes of a pod."""

    volumes: dict[str, frozenset[str]]
    """Driver → the distinct volumes (``driver/handle``) of a pod."""
    problems: tuple[Problem, ...] = ()
    """Why some cannot be counted, in the order they are found."""


def may_use_csi(pod: PodInfo) -> bool:
    """Whether a volume of the pod leads to a claim or is of an in-tree plugin that a driver takes the place of."""
    return any(
        isinstance(volume, ClaimVolume | EphemeralClaim) or plugin_of(volume) is not None for volume in pod.spec.volumes
    )


def csi_use(pod: PodInfo, objects: ClusterObjects) -> CSIUse:
    """Upstream: 1.36 CSILimits.filterAttachableVolumes, on a node with a CSINode."""
    volumes: dict[str, set[str]] = {}
    problems = []
    for found in _csi_volumes(pod, objects):
        if isinstance(found, Problem):
            problems.append(found)
        elif found.driver and found.volume_handle:
            volumes.setdefault(found.driver, set()).add(f"{found.driver}/{found.volume_handle}")
    return CSIUse({driver: frozenset(names) for driver, names in volumes.items()}, tuple(problems))


def _csi_volumes(pod: PodInfo, objects: ClusterObjects) -> Iterator[CSI | Problem]:
    for volume in pod.spec.volumes:
        if isinstance(volume, ClaimVolume | EphemeralClaim):
            yield from _of_claim(pod.namespace, volume, objects)
        elif (plugin := plugin_of(volume)) is not None:
            try:
                yield CSI(plugin.driver, plugin.inline_handle(volume))
            except TranslationError as error:
                yield Problem(f"converting volume({_name(volume)}) from inline to csi: {error}", with_driver=True)


def _name(volume: object) -> str:
    return volume.volume_name if isinstance(volume, AWSElasticBlockStore) else ""


def _of_claim(namespace: str, volume: ClaimVolume | EphemeralClaim, objects: ClusterObjects) -> Iterator[CSI | Problem]:
    name = volume.claim_name
    claim = objects.persistent_volume_claims.get((namespace, name))
    if not name:
        yield Problem(CLAIM_WITHOUT_NAME)
    elif claim is None:
        yield Problem(f"looking up PVC {namespace}/{name}: {NotFoundError(CLAIM, name)}", missing=True)
    elif isinstance(volume, EphemeralClaim) and not is_owned(claim, volume.pod_uid):
        yield Problem(not_owner(claim, volume))
    else:
        found = csi_volume(claim, objects, ALL_PLUGINS)
        if found is not None:
            yield found


def csi_use_of(driver: str, objects: ClusterObjects) -> Callable[[PodInfo], frozenset[str]]:
    """A driver's volumes of a pod class."""

    def ids(pod: PodInfo) -> frozenset[str]:
        return csi_use(pod, objects).volumes.get(driver, frozenset())

    return ids


def first_error(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """Why the volumes of a running pod on a node with a CSINode cannot be counted; None when they can."""
    return next((problem.text for problem in csi_use(pod, objects).problems if not problem.missing), None)
