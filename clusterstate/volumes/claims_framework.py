"""Claims and volumes as releases 1.20 and 1.36 look them up: what is missing, who owns what, which zones count;
and which volumes of CSI drivers a pod attaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    ClaimVolume,
    EphemeralClaim,
    Labels,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PodSpec,
)
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import compile_requirement
from clusterstate.selectors.node_selection import term_error
from clusterstate.volumes.claims import (
    CLAIM_WITHOUT_NAME,
    WAIT_FOR_FIRST_CONSUMER,
    Plugins,
    VolumeError,
    claim_class,
    csi_volume,
    label_zones,
)
from clusterstate.volumes.csi_migration import (
    ALL_PLUGINS,
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    TranslationError,
    plugin_of,
)
from kubecel.api_names import go_quote

CLAIM, VOLUME, STORAGE_CLASS = "persistentvolumeclaim", "persistentvolume", "storageclass.storage.k8s.io"
"""What kinds are called in texts."""

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
LOST = "Lost"

ZONE_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
"""The labels by which a volume says where it is."""
GA_LABEL = {BETA_ZONE: ZONE, BETA_REGION: REGION}
"""What beta labels are called since."""


class NotFoundError(VolumeError):
    """A claim, volume or class that is not there; the release's text."""

    def __init__(self, resource: str, name: str) -> None:
        super().__init__(f"{resource} {go_quote(name)} not found")


# --- claims --------------------------------------------------------------------------------


def claim_volumes(spec: PodSpec) -> tuple[ClaimVolume | EphemeralClaim, ...]:
    """The volumes that lead to claims, in order; ephemeral ones where the release reads them."""
    return tuple(volume for volume in spec.volumes if isinstance(volume, ClaimVolume | EphemeralClaim))


def leads_to_claims(pod: PodInfo) -> bool:
    """Whether a volume of the pod names a claim or has one made for it."""
    return any(isinstance(volume, ClaimVolume | EphemeralClaim) for volume in pod.spec.volumes)


def find_claim(namespace: str, name: str, objects: ClusterObjects) -> PersistentVolumeClaim:
    """Raises NotFoundError."""
    claim = objects.persistent_volume_claims.get((namespace, name))
    if claim is None:
        raise NotFoundError(CLAIM, name)
    return claim


def find_volume(name: str, objects: ClusterObjects) -> PersistentVolume:
    """Raises NotFoundError."""
    volume = objects.persistent_volumes.get(name)
    if volume is None:
        raise NotFoundError(VOLUME, name)
    return volume


def is_owned(claim: PersistentVolumeClaim, uid: str) -> bool:
    """Whether the claim's controller is the pod of that uid."""
    return next((owner.uid == uid for owner in claim.metadata.owner_references if owner.controller), False)


def not_owner(claim: PersistentVolumeClaim, wanted: EphemeralClaim) -> str:
    """Upstream: 1.36 ephemeral.VolumeIsForPod."""
    namespace = claim.metadata.namespace
    return (
        f"PVC {namespace}/{claim.metadata.name} was not created for pod {namespace}/{wanted.pod_name} "
        "(pod is not owner)"
    )


def claim_problem_1_20(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """The first claim that cannot be used yet, in the release's words. Upstream: 1.20 podHasPVCs."""
    for volume in claim_volumes(pod.spec):
        try:
            claim = find_claim(pod.namespace, volume.claim_name, objects)
        except NotFoundError as error:
            return str(error)
        if claim.metadata.deletion_timestamp is not None:
            return f"persistentvolumeclaim {go_quote(claim.metadata.name)} is being deleted"
        if isinstance(volume, EphemeralClaim) and not is_owned(claim, volume.pod_uid):
            return f"persistentvolumeclaim {go_quote(claim.metadata.name)} was not created for the pod"
    return None


def claim_problem_1_36(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """The same. Upstream: 1.36 podHasPVCs."""
    for volume in claim_volumes(pod.spec):
        ephemeral = isinstance(volume, EphemeralClaim)
        claim = objects.persistent_volume_claims.get((pod.namespace, volume.claim_name))
        name = go_quote(volume.claim_name)
        if claim is None:
            if ephemeral:
                return f"waiting for ephemeral volume controller to create the persistentvolumeclaim {name}"
            return f"persistentvolumeclaim {name} not found"
        if claim.phase == LOST:
            return f"persistentvolumeclaim {name} bound to non-existent persistentvolume {go_quote(claim.volume_name)}"
        if claim.metadata.deletion_timestamp is not None:
            return f"persistentvolumeclaim {name} is being deleted"
        if isinstance(volume, EphemeralClaim) and not is_owned(claim, volume.pod_uid):
            return not_owner(claim, volume)
    return None


# --- where volumes can be used -------------------------------------------------------------


def node_affinity_holds(terms: Iterable[NodeSelectorTerm] | None, labels: Labels) -> bool:
    """Whether a volume with this node affinity can be used from a node with these labels.

    As ``selection.volume_affinity_mask``, for one node that need not be in a snapshot.
    """
    return terms is None or any(_term_holds(term, labels) for term in terms if term_error(term) is None)


def _term_holds(term: NodeSelectorTerm, labels: Labels) -> bool:
    expressions, fields = term.match_expressions, term.match_fields
    if not expressions and not fields:
        return False
    return all(compile_requirement(e)(labels.get(e.key)) for e in expressions) and all(
        (f.values[0] == "") == (f.operator == "In") for f in fields
    )


# --- zones ---------------------------------------------------------------------------------


def volume_behind(namespace: str, claim_name: str, objects: ClusterObjects) -> PersistentVolume | None:
    """The volume that a claim is bound to; None for a claim that waits for its first consumer.

    Raises VolumeError with the reason why there is none. Upstream: 1.20 and 1.36 VolumeZone.
    """
    if not claim_name:
        raise VolumeError(CLAIM_WITHOUT_NAME)
    claim = find_claim(namespace, claim_name, objects)
    if claim.volume_name:
        return find_volume(claim.volume_name, objects)
    class_name = claim_class(claim)
    if not class_name:
        raise VolumeError("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = objects.storage_classes.get(class_name)
    if storage_class is None:
        raise NotFoundError(STORAGE_CLASS, class_name)
    if storage_class.volume_binding_mode is None:
        raise VolumeError(f"VolumeBindingMode not set for StorageClass {go_quote(class_name)}")
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    raise VolumeError("PersistentVolume had no name")


def volume_zones(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    """(label, its zones) of the labels by which a volume says where it is; labels that cannot be read are left out."""
    labels = volume.metadata.labels
    return [(key, zones) for key in ZONE_LABELS if key in labels and (zones := label_zones(labels[key]))]


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


def csi_use(pod: PodInfo, objects: ClusterObjects, plugins: Plugins = ALL_PLUGINS) -> CSIUse:
    """plugins: the in-tree ones that drivers stand in for. Upstream: 1.36 CSILimits.filterAttachableVolumes, on a node
    with a CSINode.
    """
    volumes: dict[str, set[str]] = {}
    problems = []
    for found in _csi_volumes(pod, objects, plugins):
        if isinstance(found, Problem):
            problems.append(found)
        elif found.driver and found.volume_handle:
            volumes.setdefault(found.driver, set()).add(f"{found.driver}/{found.volume_handle}")
    return CSIUse({driver: frozenset(names) for driver, names in volumes.items()}, tuple(problems))


def _csi_volumes(pod: PodInfo, objects: ClusterObjects, plugins: Plugins) -> Iterator[CSI | Problem]:
    for volume in pod.spec.volumes:
        if isinstance(volume, ClaimVolume | EphemeralClaim):
            yield from _of_claim(pod.namespace, volume, objects, plugins)
        elif (plugin := plugin_of(volume)) is not None and plugin.name in plugins:
            try:
                yield CSI(plugin.driver, plugin.inline_handle(volume))
            except TranslationError as error:
                yield Problem(f"converting volume({_name(volume)}) from inline to csi: {error}", with_driver=True)


def _name(volume: object) -> str:
    return volume.volume_name if isinstance(volume, AWSElasticBlockStore) else ""


def _of_claim(
    namespace: str, volume: ClaimVolume | EphemeralClaim, objects: ClusterObjects, plugins: Plugins
) -> Iterator[CSI | Problem]:
    name = volume.claim_name
    claim = objects.persistent_volume_claims.get((namespace, name))
    if not name:
        yield Problem(CLAIM_WITHOUT_NAME)
    elif claim is None:
        yield Problem(f"looking up PVC {namespace}/{name}: {NotFoundError(CLAIM, name)}", missing=True)
    elif isinstance(volume, EphemeralClaim) and not is_owned(claim, volume.pod_uid):
        yield Problem(not_owner(claim, volume))
    else:
        found = csi_volume(claim, objects, plugins)
        if found is not None:
            yield found


def csi_use_of(
    driver: str, objects: ClusterObjects, plugins: Plugins = ALL_PLUGINS
) -> Callable[[PodInfo], frozenset[str]]:
    """A driver's volumes of a pod class."""

    def ids(pod: PodInfo) -> frozenset[str]:
        return csi_use(pod, objects, plugins).volumes.get(driver, frozenset())

    return ids


def first_error(pod: PodInfo, objects: ClusterObjects, plugins: Plugins = ALL_PLUGINS) -> str | None:
    """Why the volumes of a running pod on a node with a CSINode cannot be counted; None when they can."""
    return next((problem.text for problem in csi_use(pod, objects, plugins).problems if not problem.missing), None)
