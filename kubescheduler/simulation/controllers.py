"""What controllers and drivers around a scheduler do in a simulation: DaemonSets, volumes, devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.manifests.decode import Manifest
from clusterstate.objects import (
    ClaimReference,
    ClusterObject,
    DeviceStatus,
    FrozenMap,
    Node,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
)
from clusterstate.volumes.claim_matching import SELECTED_NODE_ANNOTATION
from clusterstate.volumes.claims import BIND_COMPLETED_ANNOTATION
from kubescheduler.releases.daemon_controllers import DaemonController, with_spec
from kubescheduler.releases.release import Release
from kubescheduler.simulation.pod_templates import DAEMON_SET, Replicas

LONGEST_NAME = 253
"""Characters of a pod's name."""


@attrs.define(eq=False)
class DaemonSets:
    """Makes the pods of one DaemonSet after the other; each sees the pods that were given their node before."""

    release: Release
    """Whose API server stores the cluster, and whose controller picks the nodes."""
    controller: DaemonController
    """The release's, or one that places where another release of a comparison does."""
    notes: list[str] = attrs.field(factory=list)
    """On how many nodes get a pod, and who places it."""
    _cache: ClusterCache | None = None

    def picking(self, replicas: Replicas | None) -> Replicas | None:
        """Of a DaemonSet with the pod by which nodes are picked; of other controllers as they are."""
        if replicas is None or not replicas.per_node:
            return replicas
        return msgspec.structs.replace(replicas, pod=with_spec(replicas.pod, self.controller.template))

    def see(self, cluster: Iterable[ClusterObject], joining: Iterable[Node]) -> None:
        """Takes in the nodes there are and those that join, and what runs on them."""
        nodes = {obj.name: obj for obj in cluster if isinstance(obj, Node)} | {node.name: node for node in joining}
        running = (obj for obj in cluster if isinstance(obj, Pod) and obj.node_name in nodes)
        self._cache = ClusterCache.of([*nodes.values(), *running], self.release.default_view)

    def pods(
        self, name: str, template: Pod, manifest: Manifest, decode: Callable[[Manifest], Pod | None]
    ) -> list[tuple[Pod, str]]:
        """A pod for each node, with its name; where the controller places pods itself, they have their node.

        name: of the DaemonSet. template: its pod by which nodes are picked. manifest: the same. decode: makes a pod of
        a manifest, None of a faulty one.
        """
        assert self._cache is not None
        wanted = self._wanted(name, template)
        made: list[tuple[Pod, str]] = []
        for index, node in enumerate(wanted):
            said = with_spec(manifest, partial(self.controller.spec_for, node=node))
            found = decode({**said, "metadata": {**said["metadata"], "name": _pod_name(name, node, index)}})
            if found is None:
                return []
            pod = found.on(node) if self.controller.places else found
            if self.controller.places:
                self._cache.add(pod)
            made.append((pod, node))
        return made

    def _wanted(self, name: str, template: Pod) -> list[str]:
        """The names of the nodes that are to get a pod and have none yet; a note says how many that are."""
        assert self._cache is not None
        there = {pod.node_name for pod in self._cache.pods() if _belongs(pod, template.metadata.namespace, name)}
        names = self._cache.columns.names
        picked = self.controller.runs_on(template.on(""), self._cache)
        runs = [node for node, runs in zip(names, picked.tolist(), strict=True) if runs]
        if template.node_name:
            runs = [node for node in runs if node == template.node_name]
        wanted = [node for node in runs if node not in there]
        self._note(f"{template.metadata.namespace}/{name}", len(wanted), len(names), len(runs) - len(wanted))
        return wanted

    def _note(self, name: str, pods: int, nodes: int, there: int) -> None:
        text = f"DaemonSet {name}: a pod for {pods} of {nodes} nodes"
        if there:
            text += f"; {there} have one already"
        if self.controller.places and pods:
            text += ", placed by its controller: up to release 1.11 no scheduler decides on them"
        self.notes.append(text)


def _belongs(pod: Pod, namespace: str, name: str) -> bool:
    owners = pod.metadata.owner_references
    return pod.metadata.namespace == namespace and any(
        owner.controller and (owner.kind, owner.name) == (DAEMON_SET, name) for owner in owners
    )


def _pod_name(name: str, node: str, index: int) -> str:
    """By the node, so that it says whose pod it is; by number where that is too long."""
    text = f"{name}-{node}"
    return text if len(text) <= LONGEST_NAME else f"{name}-{index}"


BOUND = "Bound"


def binds_to(volume: PersistentVolume, objects: ClusterObjects) -> Iterator[PersistentVolumeClaim]:
    """The claim that a volume was given to, now bound to it; nothing when it is gone or bound."""
    given = volume.claim_ref
    claim = None if given is None else objects.persistent_volume_claims.get((given.namespace, given.name))
    if claim is not None and not claim.volume_name:
        yield _bound(claim, volume)


def provisions(claim: PersistentVolumeClaim) -> Iterator[PersistentVolume | PersistentVolumeClaim]:
    """The volume that is made for a claim whose node is chosen, which any node can reach, and the claim bound to it.

    Nothing for a claim that waits for its node, or is bound.
    """
    if claim.volume_name or SELECTED_NODE_ANNOTATION not in claim.metadata.annotations:
        return
    own = claim.metadata
    volume = PersistentVolume(
        ObjectMeta(f"pvc-{own.uid or own.name}"),
        storage=claim.storage,
        access_modes=claim.access_modes,
        storage_class_name=claim.storage_class_name or "",
        volume_mode=claim.volume_mode,
        claim_ref=ClaimReference(own.namespace, own.name, own.uid),
        phase=BOUND,
        volume_attributes_class_name=claim.volume_attributes_class_name,
    )
    yield volume
    yield _bound(claim, volume)


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    annotations = FrozenMap({**claim.metadata.annotations, BIND_COMPLETED_ANNOTATION: "yes"})
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata, volume_name=volume.metadata.name, phase=BOUND)


def made_ready(claim: ResourceClaim) -> ResourceClaim | None:
    """The claim with every binding condition of its devices met; None when none is left to report on."""
    allocation = claim.allocation
    reported = {(status.driver, status.pool, status.device) for status in claim.device_statuses}
    statuses = tuple(
        DeviceStatus(d.driver, d.pool, d.device, tuple((kind, "True") for kind in d.binding_conditions))
        for d in (allocation.devices if allocation is not None else ())
        if d.binding_conditions and (d.driver, d.pool, d.device) not in reported
    )
    return attrs.evolve(claim, device_statuses=(*claim.device_statuses, *statuses)) if statuses else None
