"""The claims that controllers make for pods: a StatefulSet's from its volumeClaimTemplates, those of ephemeral volumes,
and ResourceClaims from their templates; what is left of them when a pod ends, and what the next one like it gets.

Upstream: the controllers of StatefulSets, ephemeral volumes and ResourceClaims, the binder of volumes and the garbage
collector, none of which is the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.resource_claims import (
    extended_claim_owner,
    is_extended,
    is_reserved_for,
    without_consumer,
)
from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder, Manifest, identity
from clusterstate.manifests.defaulting import derived_uid
from clusterstate.manifests.fields import describe
from clusterstate.objects import (
    ClaimVolume,
    ClusterObject,
    EphemeralVolume,
    FrozenMap,
    ObjectMeta,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    StorageClass,
)
from clusterstate.podinfo import controller_of
from clusterstate.volumes.claim_matching import NOT_PROVISIONED, could_hold, could_hold_1_36, free_volume
from clusterstate.volumes.claims import (
    BIND_COMPLETED_ANNOTATION,
    CLASS_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
    WAIT_FOR_FIRST_CONSUMER,
    bound_to,
    claim_class,
    provisioned,
)
from kubescheduler.releases.release import Release

ATTRIBUTES_GATE = "VolumeAttributesClass"
DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
NO_CLASSES = (
    "no StorageClass is known: volumes for claims that controllers make are taken to be there, for any node to reach"
)
CLAIM = "PersistentVolumeClaim"
CHOSEN = (SELECTED_NODE_ANNOTATION, BIND_COMPLETED_ANNOTATION)
"""Annotations of a claim that say what became of it."""


def set_volumes(pod: Manifest, templates: Iterable[Manifest]) -> Manifest:
    """The pod of a StatefulSet with the claims that are made for it as volumes, which go before its own of their names.

    Upstream: updateStorage.
    """
    name, spec = pod["metadata"]["name"], pod.get("spec") or {}
    made = {one["metadata"]["name"]: f"{one['metadata']['name']}-{name}" for one in templates}
    volumes = [{"name": key, "persistentVolumeClaim": {"claimName": claim}} for key, claim in made.items()]
    own = [one for one in spec.get("volumes") or () if not isinstance(one, Mapping) or one.get("name") not in made]
    return {**pod, "spec": {**spec, "volumes": [*volumes, *own]}}


def set_claims(pod: Manifest, templates: Iterable[Manifest], labels: Mapping[str, Any]) -> Iterator[Manifest]:
    """The claims of a StatefulSet's pod. labels: those by which the set picks its pods.

    Upstream: getPersistentVolumeClaims.
    """
    for one in templates:
        said = one["metadata"]
        fields = {"name": f"{said['name']}-{pod['metadata']['name']}", "namespace": pod["metadata"]["namespace"]}
        marked = {"labels": {**(said.get("labels") or {}), **labels}}
        yield {**one, "apiVersion": "v1", "kind": CLAIM, "metadata": {**said, **fields, **marked}}


def ephemeral_claims(pod: Pod) -> Iterator[tuple[str, Manifest]]:
    """(where the template of it stands in the pod, the claim) of each of the pod's ephemeral volumes; the pod owns it.

    Upstream: ephemeral.handleVolume.
    """
    meta = pod.metadata
    for at, volume in enumerate(((pod.manifest or {}).get("spec") or {}).get("volumes") or ()):
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if isinstance(template, Mapping):
            owner = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid, "controller": True}
            fields = {"name": f"{meta.name}-{volume['name']}", "namespace": meta.namespace, "ownerReferences": [owner]}
            said = template.get("metadata") or {}
            metadata = {**said, **fields} if isinstance(said, Mapping) else said  # a fault of the template
            where = f"spec.volumes[{at}].ephemeral.volumeClaimTemplate"
            yield where, {**template, "apiVersion": "v1", "kind": CLAIM, "metadata": metadata}


class Storage:
    """The volumes and classes of one cluster, for claims that are new."""

    def __init__(self, objects: Iterable[ClusterObject], release: Release | None = None) -> None:
        """release: that of the controllers. A volume has to be of a claim's attributes class where its gate is on."""
        gated = release is None or release.gates.resolve({}).get(ATTRIBUTES_GATE)
        self._holds = could_hold_1_36 if gated else could_hold
        self.classes: dict[str, StorageClass] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        for obj in objects:
            if isinstance(obj, StorageClass):
                self.classes[obj.metadata.name] = obj
            elif isinstance(obj, PersistentVolume):
                self.volumes[obj.metadata.name] = obj

    def met(self, claim: PersistentVolumeClaim) -> Sequence[Any]:
        """The claim, last, with its class; before it the volume that it is bound to, if it need not wait for a pod."""
        named = claim.storage_class_name is not None or CLASS_ANNOTATION in claim.metadata.annotations
        if not named and (default := self._default_class()):
            claim = msgspec.structs.replace(claim, storage_class_name=default)
        cls = self.classes.get(claim_class(claim))
        if cls is not None and cls.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return (claim,)
        if (volume := free_volume(claim, self.volumes.values(), self._holds)) is not None:
            found = bound_to(volume, claim)
        elif cls is not None and cls.provisioner not in NOT_PROVISIONED:
            found = provisioned(claim, cls)
        else:
            return (claim,)
        self.volumes[found[0].metadata.name] = found[0]
        return found

    def made(self, claim: PersistentVolumeClaim) -> Sequence[Any]:
        """The same of a claim that a controller makes: where no class is known, there is a volume for it."""
        found = self.met(claim)
        return found if len(found) > 1 or self.classes else provisioned(claim)

    def _default_class(self) -> str:
        """The class of a claim that names none, the newest of several; empty for none."""
        marked = (
            (cls.metadata.creation_timestamp or "", name)
            for name, cls in self.classes.items()
            if any(cls.metadata.annotations.get(key) == "true" for key in DEFAULT_CLASS)
        )
        return max(marked, default=("", ""))[1]


def met_claims(
    written: Iterable[ClusterObject], there: Callable[[], Iterable[ClusterObject]], release: Release
) -> list[Any]:
    """What becomes of claims that somebody has written, before any pod uses them; a claim that says its phase has met
    its controller. there: everything, asked for when it is needed."""
    new = [obj for obj in written if isinstance(obj, PersistentVolumeClaim) and not (obj.phase or obj.volume_name)]
    if not new:
        return []
    storage = Storage(there(), release)
    return [obj for claim in new if (found := storage.met(claim)) != (claim,) for obj in found]


def is_new(obj: ClusterObject) -> bool:
    """Whether it is a pod that somebody has just written, for which claims are to be made. One with a status and a uid
    of its own comes from a server, whose controllers have seen it."""
    if not isinstance(obj, Pod) or obj.node_name or obj.manifest is None:
        return False
    if not (obj.spec.resource_claims or any(isinstance(one, EphemeralVolume) for one in obj.spec.volumes)):
        return False
    meta = obj.metadata
    return not obj.manifest.get("status") or meta.uid == derived_uid("Pod", meta.namespace, meta.name)


class ClaimControllers:
    """Of one cluster. made: what they have made. notes: what they took for granted."""

    def __init__(
        self,
        cluster: Callable[[], Iterable[ClusterObject]],
        release: Release,
        problems: list[str],
        *,
        defaulting: bool = True,
    ) -> None:
        """cluster: what is there, asked for when it is needed. problems: gets the faults of claims. defaulting: an API
        server of the release fills them in."""
        self._cluster = cluster
        self._release = release
        self._decoder = Decoder(prepare=release.filling.others if defaulting else None)
        self._problems = problems
        self.made: list[ClusterObject] = []
        self.notes: list[str] = []

    @cached_property
    def _there(self) -> dict[tuple[type, str, str], ClusterObject]:
        return {(type(obj), obj.metadata.namespace, obj.metadata.name): obj for obj in self._cluster()}

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self._there.values(), self._release)

    def claimed(self, pod: Pod, source: str) -> Pod:
        """A new pod, with the claims that its ephemeral volumes and templates of ResourceClaims ask for. source: the
        file that it comes from."""
        if any(isinstance(volume, EphemeralVolume) for volume in pod.spec.volumes):
            for where, manifest in ephemeral_claims(pod):
                self.make(manifest, f"{source}: Pod {pod.key}: {where}".removeprefix(": "))
        return self._with_devices(pod) if pod.spec.resource_claims else pod

    def make(self, manifest: Manifest, where: str) -> None:
        """A claim is made unless one of its name is there; it is bound at once where its class does not wait for a pod,
        and makes volumes. where: file, object and path of its template."""
        claim = self._decoded(manifest, where)
        if not isinstance(claim, PersistentVolumeClaim) or not self._is_new(claim):
            return
        *volumes, claim = self._storage.made(claim)
        if volumes and not self._storage.classes and volumes[0].metadata.name not in self._storage.volumes:
            self._note(NO_CLASSES)
        elif not volumes and (named := claim_class(claim)) and named not in self._storage.classes:
            self._note(f"StorageClass {named} is not there: claims of it that controllers make stay unbound")
        self.made += (*volumes, claim)

    def _decoded(self, manifest: Manifest, where: str) -> ClusterObject | None:
        """None for a manifest with faults, which are those of its template."""
        metadata = manifest["metadata"]
        if not isinstance(metadata, Mapping):
            self._problems.append(f"{where}.metadata: must be an object, not {describe(metadata)}")
            return None
        try:
            return self._decoder.decode_object(manifest)
        except DecodeError as error:
            own = f"{identity(CLAIM, manifest)}: "
            faults = (f"{where}.{problem.removeprefix(own)}" for problem in error.problems)
            self._problems += [fault for fault in dict.fromkeys(faults) if fault not in self._problems]
            return None

    def _with_devices(self, pod: Pod) -> Pod:
        """The pod, whose status names the ResourceClaims that were made for it from the templates that are there."""
        known = {one.name for one in pod.resource_claim_statuses}
        statuses = [*pod.resource_claim_statuses]
        for entry in pod.spec.resource_claims:
            named = (ResourceClaimTemplate, pod.metadata.namespace, entry.resource_claim_template_name or "")
            template = self._there.get(named)
            if entry.name in known or not named[2]:
                continue
            if not isinstance(template, ResourceClaimTemplate):
                self._note(f"ResourceClaimTemplate {named[1]}/{named[2]} is not there: no ResourceClaim is made of it")
                continue
            metadata = ObjectMeta("", pod.metadata.namespace)
            claim = ResourceClaim(_owned(metadata, f"{pod.metadata.name}-{entry.name}", pod), template.spec)
            if self._is_new(claim):
                self.made.append(claim)
            statuses.append(ResourceClaimStatus(entry.name, claim.metadata.name))
        if len(statuses) == len(known):
            return pod
        pod = msgspec.structs.replace(pod, resource_claim_statuses=tuple(statuses))
        manifest = pod.manifest
        return pod if manifest is None else msgspec.structs.replace(pod, manifest=_with_statuses(manifest, pod))

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _is_new(self, obj: ClusterObject) -> bool:
        key = (type(obj), obj.metadata.namespace, obj.metadata.name)
        return self._there.setdefault(key, obj) is obj


# --- what a pod leaves behind, and what is made for one like it ---------------------------------


def given_back(pod: Pod, objects: ClusterObjects, *, again: bool = False) -> Iterator[tuple[Any, Any]]:
    """The claims that a pod which ends no longer holds: (the claim before, after; None: it goes with the pod).

    again: the same pod is decided once more, so that claims that controllers made for it stay; the scheduler makes its
    own anew.
    Devices of a claim that nobody else uses are free again, before the claim goes: that is what pods that wait for
    devices are tried for. Upstream: resourceclaim controller, garbage collector.
    """
    for claim in _resource_claims(pod, objects):
        left = claim
        if is_reserved_for(claim, pod.metadata.uid):
            left = without_consumer(claim, pod.metadata.uid)
            left = left if left.reserved_for else attrs.evolve(left, allocation=None, device_statuses=())
            yield claim, left
        if _owns(pod, claim.metadata) and (is_extended(claim) or not again):
            yield left, None
    for own in () if again else _own_volume_claims(pod, objects):
        yield own, None


def made_for(pod: Pod, new: Pod, objects: ClusterObjects) -> tuple[Pod, list[Any]]:
    """(a new pod like another, the claims that controllers make for it), as those that were made for the other alone.

    objects: with the claims of the other pod. A volume claim gets a volume anew, which stands before it where its class
    waits for no pod. Claims of a StatefulSet's pod are made where the new one has another name; under the same name it
    has those that are there. The claim for extended resources is the scheduler's to make.
    """
    names: dict[str | None, str] = {}
    made: list[Any] = []
    for claim in _resource_claims(pod, objects):
        if _owns(pod, claim.metadata) and not is_extended(claim):
            name = names[claim.metadata.name] = _moved(claim.metadata.name, pod, new)
            metadata = _owned(claim.metadata, name, new)
            made.append(attrs.evolve(claim, metadata=metadata, allocation=None, reserved_for=(), device_statuses=()))
    for own in _own_volume_claims(pod, objects):
        metadata = _owned(own.metadata, _moved(own.metadata.name, pod, new), new)
        made += _fresh_volume_claim(own, metadata, objects)
    for own in _set_claims(pod, objects) if pod.metadata.name != new.metadata.name else ():
        name = f"{own.metadata.name.removesuffix(pod.metadata.name)}{new.metadata.name}"
        uid = derived_uid(CLAIM, own.metadata.namespace, name)
        made += _fresh_volume_claim(own, msgspec.structs.replace(own.metadata, name=name, uid=uid), objects)
        volumes = (
            msgspec.structs.replace(volume, claim_name=name)
            if isinstance(volume, ClaimVolume) and volume.claim_name == own.metadata.name
            else volume
            for volume in new.spec.volumes
        )
        new = msgspec.structs.replace(new, spec=msgspec.structs.replace(new.spec, volumes=tuple(volumes)))
    statuses = tuple(
        msgspec.structs.replace(each, resource_claim_name=names[each.resource_claim_name])
        if each.resource_claim_name in names
        else each
        for each in pod.resource_claim_statuses
    )
    new = msgspec.structs.replace(new, resource_claim_statuses=statuses)
    if made and new.manifest is not None:
        new = msgspec.structs.replace(new, manifest=with_claims_of(new.manifest, pod, new))
    return new, made


def with_claims_of(manifest: Manifest, before: Pod, now: Pod) -> Manifest:
    """The manifest of a pod that names the claims of ``now``, where it names those of the pod that it was made like."""
    pairs = zip(before.spec.volumes, now.spec.volumes, strict=True)
    names = {
        old.claim_name: new.claim_name
        for old, new in pairs
        if isinstance(old, ClaimVolume) and isinstance(new, ClaimVolume)
    }
    spec = manifest.get("spec") or {}
    volumes = [_naming(volume, names) for volume in spec.get("volumes") or ()]
    out = {**manifest, "spec": {**spec, "volumes": volumes}} if volumes else manifest
    return _with_statuses(out, now) if now.resource_claim_statuses else out


def _naming(volume: Any, names: Mapping[str, str]) -> Any:
    claim = volume.get("persistentVolumeClaim")
    if claim is None:
        return volume
    named = claim.get("claimName")
    return {**volume, "persistentVolumeClaim": {**claim, "claimName": names.get(named, named)}}


def _with_statuses(manifest: Manifest, pod: Pod) -> Manifest:
    """The manifest with the names of the ResourceClaims that were made for a pod."""
    entries = [{"name": one.name, "resourceClaimName": one.resource_claim_name} for one in pod.resource_claim_statuses]
    return {**manifest, "status": {**(manifest.get("status") or {}), "resourceClaimStatuses": entries}}


def _resource_claims(pod: Pod, objects: ClusterObjects) -> list[ResourceClaim]:
    claims = objects.resource_claims
    named = [each.resource_claim_name for each in pod.resource_claim_statuses]
    named += [each.resource_claim_name for each in pod.spec.resource_claims]
    found = [claims.get((pod.metadata.namespace, name)) for name in dict.fromkeys(named) if name]
    for claim in claims.values() if objects.device_classes else ():  # its name ends by chance
        if claim.metadata.annotations and extended_claim_owner(claim) == pod.metadata.uid:
            found.append(claim)
    return [claim for claim in found if claim is not None]


def _own_volume_claims(pod: Pod, objects: ClusterObjects) -> list[PersistentVolumeClaim]:
    """Those of the pod's ephemeral volumes."""
    claims, namespace = objects.persistent_volume_claims, pod.metadata.namespace
    volumes = (volume for volume in pod.spec.volumes if isinstance(volume, EphemeralVolume))
    found = (claims.get((namespace, f"{pod.metadata.name}-{volume.volume_name}")) for volume in volumes)
    return [claim for claim in found if claim is not None and _owns(pod, claim.metadata)]


def _set_claims(pod: Pod, objects: ClusterObjects) -> list[PersistentVolumeClaim]:
    """Those that a StatefulSet made for its pod; nothing but their names tells."""
    controller, name = controller_of(pod.metadata), f"-{pod.metadata.name}"
    if controller is None or controller[0] != "StatefulSet":
        return []
    named = (one.claim_name for one in pod.spec.volumes if isinstance(one, ClaimVolume))
    claims, namespace = objects.persistent_volume_claims, pod.metadata.namespace
    found = (claims.get((namespace, claim)) for claim in dict.fromkeys(named) if claim.endswith(name))
    return [claim for claim in found if claim is not None]


def _fresh_volume_claim(claim: PersistentVolumeClaim, metadata: ObjectMeta, objects: ClusterObjects) -> Sequence[Any]:
    """As ``Storage.made``. A volume that is made is where that of the claim before was: nobody knows where else."""
    kept = FrozenMap({key: value for key, value in metadata.annotations.items() if key not in CHOSEN})
    metadata = msgspec.structs.replace(metadata, annotations=kept)
    fresh = msgspec.structs.replace(claim, metadata=metadata, volume_name="", phase="Pending")
    cls = objects.storage_classes.get(claim_class(fresh))
    if cls is not None and cls.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return (fresh,)
    volumes, before = objects.persistent_volumes, objects.persistent_volumes.get(claim.volume_name)
    *made, fresh = Storage((*objects.storage_classes.values(), *volumes.values())).made(fresh)
    if before is not None:
        same = before.node_affinity
        made = [v if v.metadata.name in volumes else msgspec.structs.replace(v, node_affinity=same) for v in made]
    return (*made, fresh)


def _owns(pod: Pod, metadata: ObjectMeta) -> bool:
    return any(owner.controller and owner.uid == pod.metadata.uid for owner in metadata.owner_references)


def _owned(metadata: ObjectMeta, name: str, pod: Pod) -> ObjectMeta:
    owner = OwnerReference("Pod", pod.metadata.name, pod.metadata.uid, controller=True, api_version="v1")
    uid = derived_uid("Claim", metadata.namespace, f"{name} of {pod.metadata.uid} after {metadata.uid}")
    return msgspec.structs.replace(metadata, name=name, uid=uid, owner_references=(owner,), deletion_timestamp=None)


def _moved(name: str, pod: Pod, new: Pod) -> str:
    """The name of a claim that begins with its pod's, for the next pod."""
    old = pod.metadata.name
    return f"{new.metadata.name}{name.removeprefix(old)}" if name.startswith(old) else f"{new.metadata.name}-{name}"
