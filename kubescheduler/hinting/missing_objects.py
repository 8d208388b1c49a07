"""What a pod names and the cluster does not have: claims, and pods to be near to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from clusterstate.manifests.defaulting import derived_uid
from clusterstate.objects import (
    ClaimReference,
    ClaimVolume,
    Container,
    FrozenMap,
    LabelSelector,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodAffinityTerm,
    PodSpec,
)
from kubescheduler.hinting.proposals import CLUSTER, Hint, Proposal
from kubescheduler.hinting.trials import Trials

GIBIBYTE = 1 << 30
NODES = 100
"""Nodes on which a pod to be near to is tried."""
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def created(trials: Trials) -> list[Hint]:
    """The hints of objects that are missing: the first way to have the claims, and the first node for a pod."""
    found = (missing_claims(trials), missing_pods(trials))
    return [hint for one in found for hint in islice(filter(None, map(trials.tried, one)), 1)]


# --- claims ----------------------------------------------------------------------------------


def missing_claims(trials: Trials) -> Iterator[Proposal]:
    """The claims that the pod names and nobody has: of each class that makes volumes where the pod goes, then bound."""
    pod, known = trials.pod, trials.cache.objects
    namespace = pod.metadata.namespace
    names = dict.fromkeys(volume.claim_name for volume in pod.spec.volumes if isinstance(volume, ClaimVolume))
    missing = [name for name in names if (namespace, name) not in known.persistent_volume_claims]
    if not missing:
        return
    claims = [_claim(name, namespace) for name in missing]
    shown = " and ".join(f"{namespace}/{name}" for name in missing)
    text = f"create the PersistentVolumeClaim{'s' * (len(missing) > 1)} {shown}"
    for cls in sorted(known.storage_classes.values(), key=lambda each: each.metadata.name):
        if cls.volume_binding_mode == "WaitForFirstConsumer" and cls.provisioner not in ("", NO_PROVISIONER):
            of_class = cls.metadata.name
            made = tuple(msgspec.structs.replace(claim, storage_class_name=of_class) for claim in claims)
            yield Proposal("claim", CLUSTER, shown, f"{text} of the StorageClass {of_class}", 1.0, created=made)
    bound = tuple(one for claim in claims for one in _bound(claim))
    yield Proposal("claim", CLUSTER, shown, f"{text}, bound to a volume", 1.0, created=bound)


def _claim(name: str, namespace: str) -> PersistentVolumeClaim:
    metadata = ObjectMeta(name, namespace, derived_uid("PersistentVolumeClaim", namespace, name))
    return PersistentVolumeClaim(metadata, storage=GIBIBYTE * 1000, access_modes=("ReadWriteOnce",), phase="Pending")


def _bound(claim: PersistentVolumeClaim) -> Iterator[PersistentVolumeClaim | PersistentVolume]:
    meta = claim.metadata
    name = f"pvc-{meta.uid}"
    done = msgspec.structs.replace(meta, annotations=FrozenMap({"pv.kubernetes.io/bind-completed": "yes"}))
    yield msgspec.structs.replace(claim, metadata=done, volume_name=name, storage_class_name="", phase="Bound")
    yield PersistentVolume(
        ObjectMeta(name, "", derived_uid("PersistentVolume", "", name)),
        storage=claim.storage,
        access_modes=claim.access_modes,
        claim_ref=ClaimReference(meta.namespace, meta.name, meta.uid),
        phase="Bound",
    )


# --- pods ------------------------------------------------------------------------------------


def missing_pods(trials: Trials) -> Iterator[Proposal]:
    """A pod that all required terms of pod affinity pick, on each node."""
    affinity = trials.pod.spec.affinity
    terms = () if affinity is None or affinity.pod_affinity is None else affinity.pod_affinity.required
    labels = {key: value for term in terms for key, value in _picked(term.label_selector).items()}
    if not labels:
        return
    namespace = _namespace(terms, trials.pod.metadata.namespace)
    shown = ",".join(f"{key}={value}" for key, value in labels.items())
    where = "" if namespace == trials.pod.metadata.namespace else f" in the namespace {namespace}"
    name = f"{trials.pod.metadata.name}-neighbour"
    metadata = ObjectMeta(name, namespace, derived_uid("Pod", namespace, name), FrozenMap(labels))
    nodes = sorted(node.name for node in trials.cache.columns.nodes if node is not None)
    for node in nodes[:NODES]:
        spec = PodSpec(containers=(Container(name="main"),))
        text = f"run a pod with {shown}{where} on {node}"
        yield Proposal("pod", CLUSTER, f"{namespace}/{name}", text, 1.0, created=(Pod(metadata, spec, node_name=node),))


def _namespace(terms: Sequence[PodAffinityTerm], own: str) -> str:
    return next((term.namespaces[0] for term in terms if term.namespaces), own)


def _picked(selector: LabelSelector | None) -> dict[str, str]:
    """Labels that a selector picks, as far as a pod can have them."""
    if selector is None:
        return {}
    expressions = selector.match_expressions
    some = {one.key: one.values[0] for one in expressions if one.operator == "In" and one.values}
    any_value = {one.key: "" for one in expressions if one.operator == "Exists"}
    return {**any_value, **some, **selector.match_labels}
