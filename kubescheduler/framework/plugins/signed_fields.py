"""What the plugins of 1.36 read of a pod, for its signature. Upstream: 1.36 signers and the plugins' SignPod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterstate.devices.resource_claims import delegated_resources
from clusterstate.objects import (
    EphemeralClaim,
    EphemeralVolume,
    NodeAffinity,
    NodeSelectorTerm,
    Requirement,
    VolumeSource,
)
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY
from kubescheduler.framework.contract.plugin import Fragments, Sign, SignedPod
from predicates.node_identity import needed_features
from priorities.image_locality import normalized_image_name

PLAIN = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
"""The resources that upstream counts in fields of their own, where 0 is the same as nothing."""
UNCOUNTED_VOLUMES = ("configMap", "secret")


def sign_node_name(given: SignedPod) -> Fragments:
    """``spec.nodeName``."""
    return {"nodeName": given.pod.node_name}


def sign_tolerations(given: SignedPod) -> Fragments:
    """The tolerations, ordered by key and value."""
    return {"tolerations": sorted(given.info.spec.tolerations, key=lambda one: (one.key.encode(), one.value.encode()))}


def sign_host_ports(given: SignedPod) -> Fragments:
    """The host ports of all containers, whatever their protocol and host IP."""
    spec = given.info.spec
    containers = (*spec.containers, *spec.init_containers)
    return {"hostPorts": {port.host_port for one in containers for port in one.ports if port.host_port}}


def sign_images(given: SignedPod) -> Fragments:
    """The images of all containers, each once."""
    spec = given.info.spec
    return {"images": {normalized_image_name(one.image) for one in (*spec.containers, *spec.init_containers)}}


def sign_features(given: SignedPod) -> Fragments:
    """The features that nodes must declare."""
    return {"features": needed_features(given.info.spec)}


# --- resources ---------------------------------------------------------------------------------


def sign_resources(given: SignedPod) -> Fragments:
    """What a node must have free."""
    request = given.info.usage.request
    return {"resources": {name: amount for name, amount in request.items() if amount or name not in PLAIN}}


def sign_undelegated_resources(given: SignedPod) -> Fragments | None:
    """The same; None for a pod that asks for a resource which a DeviceClass provides."""
    request = given.info.usage.request
    scalars = {name for name, amount in request.items() if amount and name not in PLAIN}
    if scalars and scalars & delegated_resources(given.snapshot):
        return None
    return sign_resources(given)


def signed_resources(feature_gates: Mapping[str, bool]) -> Sign:
    """The sign of plugins that count resources, under a scheduler's feature gates."""
    return sign_undelegated_resources if feature_gates.get("DRAExtendedResource", True) else sign_resources


# --- affinity ----------------------------------------------------------------------------------


def sign_node_affinity(given: SignedPod) -> Fragments:
    """The node selector, and the node affinity whatever the order of its terms, requirements and values."""
    spec = given.info.spec
    affinity = None if spec.affinity is None else spec.affinity.node_affinity
    return {"nodeAffinity": _affinity(affinity), "nodeSelector": dict(spec.node_selector)}


def _affinity(affinity: NodeAffinity | None) -> Any:
    if affinity is None:
        return None
    required = sorted(map(_term, affinity.required or ()))
    return required, sorted((one.weight, _term(one.preference)) for one in affinity.preferred)


def _term(term: NodeSelectorTerm) -> Any:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[Requirement]) -> Any:
    return sorted((one.key, one.operator, sorted(one.values)) for one in requirements)


def sign_no_pod_affinity(given: SignedPod) -> Fragments | None:
    """Nothing of a pod without pod affinity; None for a pod that has some."""
    return None if given.info.has_pod_affinity else {}


def sign_labels(given: SignedPod) -> Fragments | None:
    """The labels, by which running pods' own terms pick the pod; None for a pod that has pod affinity."""
    return None if given.info.has_pod_affinity else {"labels": dict(given.info.labels)}


def sign_no_constraints(given: SignedPod) -> Fragments | None:
    """Nothing of a pod without topologySpreadConstraints; None for a pod that has some."""
    return None if given.info.spec.topology_spread_constraints else {}


# --- volumes and devices -----------------------------------------------------------------------


def sign_volumes(given: SignedPod) -> Fragments:
    """The volumes whatever their order, but for those of ConfigMaps and Secrets.

    Volumes of types that scheduling does not read count where the pod's manifest was kept.
    """
    if given.pod.manifest is None:
        return {"volumes": sorted(map(_read, given.info.spec.volumes))}
    spec = given.pod.manifest.get("spec") or {}
    sources = ({key: v for key, v in one.items() if key != "name"} for one in spec.get("volumes") or ())
    return {"volumes": sorted(map(_written, filter(_counts, sources)))}


def _read(volume: VolumeSource) -> str:
    """An ephemeral volume is the same for all pods of a workload, though each pod has a claim of its own."""
    return "ephemeral" if isinstance(volume, EphemeralVolume | EphemeralClaim) else repr(volume)


def _counts(source: Mapping[str, Any]) -> bool:
    return all(source.get(kind) is None for kind in UNCOUNTED_VOLUMES)


def _written(source: Mapping[str, Any]) -> str:
    import json

    return json.dumps(source, sort_keys=True, default=str)


def sign_no_claims(given: SignedPod) -> Fragments | None:
    """Nothing of a pod without resourceClaims; None for a pod that has some."""
    return None if given.info.spec.resource_claims else {}
