"""Claims, classes and volumes: what the volumes of a pod lead to. Pure functions of the pod and the objects.

Release 1.16 and earlier first, then 1.20 and 1.36: what is missing, who owns what, which zones count, and which volumes
of CSI drivers a pod attaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimReference,
    ClaimVolume,
    EphemeralClaim,
    FrozenMap,
    GCEPersistentDisk,
    Labels,
    Node,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PodSpec,
    Requirement,
    StorageClass,
)
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import compile_requirement, term_error
from clusterstate.volumes.csi_migration import (
    ALL_PLUGINS,
    BETA_REGION,
    BETA_ZONE,
    PLUGINS,
    REGION,
    ZONE,
    TranslationError,
    plugin_of,
    translated_source,
)
from kubecel.api_names import go_quote

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED_ANNOTATION = "pv.kubernetes.io/bind-completed"
SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
CLAIM_WITHOUT_NAME = "PersistentVolumeClaim had no name"

CSI_LIMIT_PREFIX = "attachable-volumes-csi-"
LONGEST_LIMIT_KEY = 63

Plugins = frozenset[str]
NO_PLUGINS: Plugins = frozenset()

UNMIGRATED_PROVISIONERS = frozenset(
    f"kubernetes.io/{plugin}" for plugin in ("aws-ebs", "gce-pd", "cinder", "azure-disk", "azure-file")
)
"""In-tree plugins that have a CSI driver, but are not handed over to it unless said so."""


class VolumeError(SchedulingError):
    """A claim or volume that gives up the whole attempt; the release's text."""


# --- claims --------------------------------------------------------------------------------


def claim_names(spec: PodSpec) -> tuple[str, ...]:
    """The claims of a pod's volumes, in order, as written."""
    return tuple(volume.claim_name for volume in spec.volumes if isinstance(volume, ClaimVolume))


def has_claims(pod: PodInfo) -> bool:
    """Whether a volume of the pod names a claim."""
    return any(isinstance(volume, ClaimVolume) for volume in pod.spec.volumes)


def unnamed_claims(pod: PodInfo) -> int:
    """How many of the pod's volumes are claims with an empty name."""
    return claim_names(pod.spec).count("")


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The claim's class, the beta annotation first; empty for none."""
    annotated = claim.metadata.annotations.get(CLASS_ANNOTATION)
    return (claim.storage_class_name or "") if annotated is None else annotated


def volume_class(volume: PersistentVolume) -> str:
    """The volume's class, the beta annotation first; empty for none."""
    return volume.metadata.annotations.get(CLASS_ANNOTATION, volume.storage_class_name)


def label_zones(value: str) -> frozenset[str]:
    """The zones of a volume's label, separated by ``__``; none at all if one of them is empty.

    Upstream: 1.16 LabelZonesToSet.
    """
    zones = frozenset(zone.strip() for zone in value.split("__"))
    return frozenset() if "" in zones else zones


def missing_claim_error(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """Why the pod cannot be scheduled at all yet: a claim is not there or on its way out; None when all are there.

    Upstream: 1.16 podPassesBasicChecks.
    """
    for name in claim_names(pod.spec):
        claim = objects.persistent_volume_claims.get((pod.namespace, name))
        if claim is None:
            return f"persistentvolumeclaim {go_quote(name)} not found"
        if claim.metadata.deletion_timestamp is not None:
            return f"persistentvolumeclaim {go_quote(name)} is being deleted"
    return None


def waits_for_consumer(class_name: str, objects: ClusterObjects) -> bool:
    """Whether claims of a class are bound once a pod that uses them is scheduled; False for a class that is not there.

    Raises VolumeError for a class without a mode. Upstream: 1.16 IsDelayBindingMode.
    """
    found = objects.storage_classes.get(class_name)
    if found is None:
        return False
    if found.volume_binding_mode is None:
        raise VolumeError(f"VolumeBindingMode not set for StorageClass {go_quote(class_name)}")
    return found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


class PodClaims(msgspec.Struct, frozen=True):
    """A pod's claims by how they are bound, each in the order of the volumes."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[tuple[PersistentVolumeClaim, StorageClass], ...]
    """Claims to bind once a node is chosen, with their class."""
    immediate: tuple[PersistentVolumeClaim, ...]
    """Claims that should be bound already, but are not."""


def pod_claims(pod: PodInfo, objects: ClusterObjects, names: Iterable[str] | None = None) -> PodClaims:
    """Raises VolumeError for a missing claim and for a class without a mode. Upstream: 1.16 getPodVolumes.

    names: of the claims; by default those of the pod's claim volumes.
    """
    bound: list[PersistentVolumeClaim] = []
    delayed: list[tuple[PersistentVolumeClaim, StorageClass]] = []
    immediate: list[PersistentVolumeClaim] = []
    for name in claim_names(pod.spec) if names is None else names:
        claim = objects.persistent_volume_claims.get((pod.namespace, name))
        if claim is None:
            key = go_quote(f"{pod.namespace}/{name}")
            raise VolumeError(f"error getting PVC {key}: could not find v1.PersistentVolumeClaim {key}")
        class_name = claim_class(claim)
        if claim.volume_name and BIND_COMPLETED_ANNOTATION in claim.metadata.annotations:
            bound.append(claim)
        elif waits_for_consumer(class_name, objects) and not claim.volume_name:
            delayed.append((claim, objects.storage_classes[class_name]))
        else:
            immediate.append(claim)
    return PodClaims(tuple(bound), tuple(delayed), tuple(immediate))


# --- in-tree disks -------------------------------------------------------------------------


class DiskType(msgspec.Struct, frozen=True):
    """A kind of disk that nodes can attach a limited number of."""

    source: type[Any]
    id_of: Callable[[Any], str]
    provisioner: str
    limit_key: str
    """Its name in a node's allocatable."""


EBS = DiskType(AWSElasticBlockStore, lambda s: s.volume_id, "kubernetes.io/aws-ebs", "attachable-volumes-aws-ebs")
GCE_PD = DiskType(GCEPersistentDisk, lambda s: s.pd_name, "kubernetes.io/gce-pd", "attachable-volumes-gce-pd")
AZURE_DISK = DiskType(AzureDisk, lambda s: s.disk_name, "kubernetes.io/azure-disk", "attachable-volumes-azure-disk")
CINDER = DiskType(Cinder, lambda s: s.volume_id, "kubernetes.io/cinder", "attachable-volumes-cinder")


def placeholder_id(namespace: str, claim_name: str) -> str:
    """The id of a claim whose volume is not known (yet); no volume has such an id."""
    return f"\0{namespace}/{claim_name}"


DiskIds = Callable[[PodInfo, ClusterObjects, DiskType], frozenset[str]]
"""The distinct disks of a type that a pod uses, directly or through claims."""


def disk_ids(pod: PodInfo, objects: ClusterObjects, disk: DiskType) -> frozenset[str]:
    """A claim without a known volume is a disk where its class makes disks of the type.

    Upstream: 1.16 MaxPDVolumeCountChecker.filterVolumes.
    """
    return _disk_ids(pod, objects, disk, _disk_to_come)


def disk_ids_1_13(pod: PodInfo, objects: ClusterObjects, disk: DiskType) -> frozenset[str]:
    """A claim that is not there, or has no known volume, is a disk of every type.

    Upstream: 1.13 and 1.15 MaxPDVolumeCountChecker.filterVolumes.
    """
    return _disk_ids(pod, objects, disk, _disk_of_any_type)


Unknown = Callable[[str, str, ClusterObjects, DiskType], str | None]
"""What counts for a claim without a known volume: (namespace, name, …)."""


def _disk_ids(pod: PodInfo, objects: ClusterObjects, disk: DiskType, unknown: Unknown) -> frozenset[str]:
    out: set[str] = set()
    for volume in pod.spec.volumes:
        if isinstance(volume, disk.source):
            out.add(disk.id_of(volume))
        elif isinstance(volume, ClaimVolume):
            claim = objects.persistent_volume_claims.get((pod.namespace, volume.claim_name))
            bound = None if claim is None else objects.persistent_volumes.get(claim.volume_name)
            if bound is None:
                found = unknown(pod.namespace, volume.claim_name, objects, disk)
            else:
                found = disk.id_of(bound.source) if isinstance(bound.source, disk.source) else None
            if found is not None:
                out.add(found)
    return frozenset(out)


def _disk_of_any_type(namespace: str, name: str, _: ClusterObjects, __: DiskType) -> str | None:
    return placeholder_id(namespace, name)


def _disk_to_come(namespace: str, name: str, objects: ClusterObjects, disk: DiskType) -> str | None:
    claim = objects.persistent_volume_claims.get((namespace, name))
    if claim is None:
        return None
    found = objects.storage_classes.get(claim.storage_class_name or "")
    if found is None or found.provisioner != disk.provisioner:
        return None
    return placeholder_id(namespace, name)


def is_nitro(instance_type: str | None) -> bool:
    """Whether an AWS instance type is one that attaches fewer disks. Upstream: 1.16 EBSNitroLimitRegex."""
    if instance_type is None:
        return False
    return instance_type.startswith(("c5", "m5", "r5")) or "t3" in instance_type or "z1d" in instance_type


# --- CSI -----------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def csi_limit_key(driver: str) -> str:
    """A driver's name in a node's allocatable; the tail of a long one is hashed. Upstream: GetCSIAttachLimitKey."""
    if len(CSI_LIMIT_PREFIX) + len(driver.encode()) < LONGEST_LIMIT_KEY:
        return CSI_LIMIT_PREFIX + driver
    import hashlib

    digest = hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()
    return CSI_LIMIT_PREFIX + driver[: len(CSI_LIMIT_PREFIX)] + digest[:16]


def csi_volume(claim: PersistentVolumeClaim, objects: ClusterObjects, migrated: Plugins = NO_PLUGINS) -> CSI | None:
    """The CSI volume behind a claim, or the one its class will make; None for any other volume.

    migrated: the in-tree plugins that are handed over to drivers.
    Upstream: 1.16, 1.20 and 1.36 getCSIDriverInfo.
    """
    volume = objects.persistent_volumes.get(claim.volume_name)
    if volume is not None:
        return volume.source if isinstance(volume.source, CSI) else _translated(volume, migrated)
    found = objects.storage_classes.get(claim_class(claim))
    if found is None:
        return None
    handle = placeholder_id(claim.metadata.namespace, claim.metadata.name)
    if found.provisioner in migrated:
        return CSI(PLUGINS[found.provisioner].driver, handle)
    return None if found.provisioner in UNMIGRATED_PROVISIONERS else CSI(found.provisioner, handle)


def _translated(volume: PersistentVolume, migrated: Plugins) -> CSI | None:
    plugin = plugin_of(volume.source)
    if plugin is None or plugin.name not in migrated:
        return None
    try:
        return translated_source(volume, plugin)
    except TranslationError:
        return None


CSIVolume = Callable[[PersistentVolumeClaim, ClusterObjects], CSI | None]
"""The CSI volume behind a claim."""


def csi_volume_1_15(claim: PersistentVolumeClaim, objects: ClusterObjects) -> CSI | None:
    """The CSI volume behind a claim, or the one that the class which its spec names will make, whoever makes it.

    Upstream: 1.15 CSIMaxVolumeLimitChecker.getCSIDriver.
    """
    volume = objects.persistent_volumes.get(claim.volume_name)
    if volume is not None:
        return volume.source if isinstance(volume.source, CSI) else None
    found = objects.storage_classes.get(claim.storage_class_name or "")
    if found is None:
        return None
    return CSI(found.provisioner, placeholder_id(claim.metadata.namespace, claim.metadata.name))


def csi_volume_1_13(claim: PersistentVolumeClaim, objects: ClusterObjects) -> CSI | None:
    """The CSI volume that a claim is bound to. Upstream: 1.13 CSIMaxVolumeLimitChecker.filterAttachableVolumes."""
    volume = objects.persistent_volumes.get(claim.volume_name)
    return volume.source if volume is not None and isinstance(volume.source, CSI) else None


def csi_handles(pod: PodInfo, objects: ClusterObjects, volume_of: CSIVolume) -> dict[str, str]:
    """Handle → limit key of the CSI volumes that the pod's claims lead to; the last claim with a handle says which."""
    out: dict[str, str] = {}
    for name in claim_names(pod.spec):
        claim = objects.persistent_volume_claims.get((pod.namespace, name))
        found = None if claim is None else volume_of(claim, objects)
        if found is not None and found.driver and found.volume_handle:
            out[found.volume_handle] = csi_limit_key(found.driver)
    return out


def csi_volumes(pod: PodInfo, objects: ClusterObjects, migrated: Plugins = NO_PLUGINS) -> dict[str, frozenset[str]]:
    """Limit key → the distinct CSI volumes (``driver/handle``) that the pod's claims lead to.

    migrated: the in-tree plugins that are handed over to drivers.
    """
    out: dict[str, set[str]] = {}
    for name in claim_names(pod.spec):
        claim = objects.persistent_volume_claims.get((pod.namespace, name))
        found = None if claim is None else csi_volume(claim, objects, migrated)
        if found is not None and found.driver and found.volume_handle:
            out.setdefault(csi_limit_key(found.driver), set()).add(f"{found.driver}/{found.volume_handle}")
    return {key: frozenset(names) for key, names in out.items()}


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
    owner = claim.metadata.controller
    return owner is not None and owner.uid == uid


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


# --- what controllers make of it ---------------------------------------------------------------

BOUND = "Bound"
IN_TREE = "kubernetes.io/"
"""What the names of provisioners that are no CSI drivers begin with."""


def made_by_controllers(
    obj: PersistentVolume | PersistentVolumeClaim, objects: ClusterObjects, node: Callable[[str], Node | None]
) -> Iterator[PersistentVolume | PersistentVolumeClaim]:
    """What follows when a scheduler has written a volume or a claim, as it is then. node: that of a name.

    The volume and the claim that it was given to, bound; or a volume for the claim whose node is chosen, and the claim
    bound to it. Nothing for a claim that is gone, bound, or waits for its node.
    """
    if isinstance(obj, PersistentVolume):
        given = obj.claim_ref
        claim = None if given is None else objects.persistent_volume_claims.get((given.namespace, given.name))
        if claim is not None and not claim.volume_name:
            yield msgspec.structs.replace(obj, phase=BOUND)
            yield _bound(claim, obj)
    elif not obj.volume_name and SELECTED_NODE_ANNOTATION in obj.metadata.annotations:
        cls, chosen = (
            objects.storage_classes.get(claim_class(obj)),
            node(obj.metadata.annotations[SELECTED_NODE_ANNOTATION]),
        )
        there = None if cls is None or chosen is None else node_topology(cls.provisioner, chosen, objects)
        yield from provisioned(obj, cls, there)


def node_topology(driver: str, node: Node, objects: ClusterObjects) -> NodeSelectorTerm | None:
    """Where a volume can be used that a driver makes for a node: on nodes with its values of the labels that its
    CSINode names as the driver's topology. None where it names none, or the node does not have them.

    Upstream: external-provisioner, GenerateAccessibilityRequirements and GenerateVolumeNodeAffinity.
    """
    csi_node, labels = objects.csi_nodes.get(node.name), node.metadata.labels
    drivers = () if csi_node is None else csi_node.drivers
    keys = next((one.topology_keys for one in drivers if one.name == driver), ())
    if not keys or not labels.keys() >= {*keys}:
        return None
    return NodeSelectorTerm(tuple(Requirement(key, "In", (labels[key],)) for key in keys))


def provisioned(
    claim: PersistentVolumeClaim, cls: StorageClass | None = None, there: NodeSelectorTerm | None = None
) -> tuple[PersistentVolume, PersistentVolumeClaim]:
    """A volume that is made for a claim, and the claim bound to it.

    cls: the claim's class: the volume is one of its CSI driver, which counts against the limits of nodes, and can be
    used where the class allows. None: by anybody, anywhere. there: where the driver makes it, if that is known.
    """
    own = claim.metadata
    name = f"pvc-{own.uid or own.name}"
    of_driver = cls is not None and not cls.provisioner.startswith(IN_TREE)
    allowed = () if cls is None else tuple(map(NodeSelectorTerm, cls.allowed_topologies))
    volume = PersistentVolume(
        ObjectMeta(name),
        source=CSI(cls.provisioner, name) if cls is not None and of_driver else None,
        node_affinity=(allowed if there is None else (there,)) or None,
        storage=claim.storage,
        access_modes=claim.access_modes,
        storage_class_name=claim.storage_class_name or "",
        volume_mode=claim.volume_mode,
        volume_attributes_class_name=claim.volume_attributes_class_name,
    )
    return bound_to(volume, claim)


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> tuple[PersistentVolume, PersistentVolumeClaim]:
    """A volume and the claim that gets it, bound."""
    own = claim.metadata
    taken = ClaimReference(own.namespace, own.name, own.uid)
    return msgspec.structs.replace(volume, claim_ref=taken, phase=BOUND), _bound(claim, volume)


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    return completed(msgspec.structs.replace(claim, volume_name=volume.metadata.name))


def completed(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """A claim that names its volume, with its binding complete."""
    annotations = FrozenMap({**claim.metadata.annotations, BIND_COMPLETED_ANNOTATION: "yes"})
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata, phase=BOUND)
