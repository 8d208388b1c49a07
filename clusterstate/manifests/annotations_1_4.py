"""Pods and nodes as release 1.4 reads them: affinity, tolerations, taints and init containers are annotations.

Today's fields are taken as if they had been written as those annotations; where an object has both, the field counts.
What the release does not know is left out. JSON keys match in any case, unknown ones are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.kinds import AFFINITY, CONTAINER, PREFERRED, REQUIRED, TAINT, TOLERATION
from clusterstate.objects import (
    Affinity,
    Container,
    Labels,
    Node,
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
    WeightedPodAffinityTerm,
)
from clusterstate.podinfo import PodKey, controller_of

AFFINITY_ANNOTATION = "scheduler.alpha.kubernetes.io/affinity"
TOLERATIONS_ANNOTATION = "scheduler.alpha.kubernetes.io/tolerations"
TAINTS_ANNOTATION = "scheduler.alpha.kubernetes.io/taints"
INIT_ANNOTATIONS = ("pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers")
"""The first one that is there counts."""

T = TypeVar("T")


class MalformedAffinity(Affinity, frozen=True, cache_hash=True):
    """Stands for an affinity annotation that cannot be read: no affinity, and the JSON error."""

    error: str = ""


class MalformedToleration(Toleration, frozen=True):
    """Stands, alone, for a tolerations annotation that cannot be read."""

    error: str = ""


class MalformedTaint(Taint, frozen=True):
    """Stands, alone, for a taints annotation that cannot be read."""

    error: str = ""


def affinity_error(spec: PodSpec) -> str | None:
    """The error of a pod's affinity annotation, None when it can be read."""
    return spec.affinity.error if isinstance(spec.affinity, MalformedAffinity) else None


def tolerations_error(spec: PodSpec) -> str | None:
    """The error of a pod's tolerations annotation, None when it can be read."""
    return next((t.error for t in spec.tolerations if isinstance(t, MalformedToleration)), None)


def taints_error(taints: tuple[Taint, ...]) -> str | None:
    """The error of a node's taints annotation, None when it can be read."""
    return next((t.error for t in taints if isinstance(t, MalformedTaint)), None)


# --- objects -------------------------------------------------------------------------------


def pod_key_1_4(pod: Pod) -> PodKey:
    """What makes two pods equal to release 1.4, with the spec as it reads it.

    Raises DecodeError for an init containers annotation that cannot be read.
    """
    metadata = pod.metadata
    controller = controller_of(metadata) if metadata.owner_references else None
    spec = _annotated(pod.spec, metadata.annotations, pod.key) if metadata.annotations else _spec(pod.spec)
    return (metadata.namespace, metadata.labels, spec, controller, metadata.deletion_timestamp is not None)


def name_key(pod: Pod) -> str:
    """What identifies a pod in release 1.4."""
    return pod.key


def node_1_4(node: Node) -> Node:
    """A node with the taints of its annotation; those of the field, if it has any, count instead."""
    annotation = node.metadata.annotations.get(TAINTS_ANNOTATION, "")
    if node.taints or not annotation:
        return node
    return msgspec.structs.replace(node, taints=read_taints(annotation))


MUST_BE = {"Ready": "True", "OutOfDisk": "False", "NetworkUnavailable": "False"}
"""The status that a node's condition has to have, if it is there."""


def unlisted_1_4(node: Node) -> bool | None:
    """True for a node that is not listed at all: cordoned, or with a condition that is not as it must be.

    Upstream: 1.4 getNodeConditionPredicate.
    """
    return node.unschedulable or any(c.status != MUST_BE.get(c.type, c.status) for c in node.conditions) or None


def _annotated(spec: PodSpec, annotations: Labels, name: str) -> PodSpec:
    init = next((text for key in INIT_ANNOTATIONS if (text := annotations.get(key, ""))), "")
    affinity, tolerations = annotations.get(AFFINITY_ANNOTATION, ""), annotations.get(TOLERATIONS_ANNOTATION, "")
    try:
        return _spec(spec, affinity, tolerations, init)
    except ValueError as error:
        raise DecodeError(f"Pod {name}: metadata.annotations: init containers: {error}") from error


@lru_cache(maxsize=16384)
def _spec(spec: PodSpec, affinity: str = "", tolerations: str = "", init: str = "") -> PodSpec:
    if spec.affinity is not None:
        read: Affinity | None = _known_affinity(spec.affinity)
    else:
        read = read_affinity(affinity) if affinity else None
    return PodSpec(
        containers=spec.containers,
        init_containers=spec.init_containers or (_init_containers(init) if init else ()),
        volumes=spec.volumes,
        node_selector=spec.node_selector,
        affinity=read,
        tolerations=spec.tolerations or (read_tolerations(tolerations) if tolerations else ()),
    )


# --- what the release knows of an affinity ---------------------------------------------------


def _known_affinity(affinity: Affinity) -> Affinity:
    return Affinity(
        _known_node_affinity(affinity.node_affinity),
        _known_pod_affinity(affinity.pod_affinity),
        _known_pod_affinity(affinity.pod_anti_affinity),
    )


def _known_node_affinity(affinity: NodeAffinity | None) -> NodeAffinity | None:
    if affinity is None:
        return None
    required = None if affinity.required is None else tuple(map(_known_node_term, affinity.required))
    preferred = (PreferredSchedulingTerm(p.weight, _known_node_term(p.preference)) for p in affinity.preferred)
    return NodeAffinity(required, tuple(preferred))


def _known_node_term(term: NodeSelectorTerm) -> NodeSelectorTerm:
    """Without matchFields; values are a set."""
    return NodeSelectorTerm(
        tuple(Requirement(r.key, r.operator, tuple(dict.fromkeys(r.values))) for r in term.match_expressions)
    )


def _known_pod_affinity(affinity: PodAffinity | None) -> PodAffinity | None:
    if affinity is None:
        return None
    preferred = (WeightedPodAffinityTerm(w.weight, _known_pod_term(w.term)) for w in affinity.preferred)
    return PodAffinity(tuple(map(_known_pod_term, affinity.required)), tuple(preferred))


def _known_pod_term(term: PodAffinityTerm) -> PodAffinityTerm:
    return PodAffinityTerm(term.topology_key, term.label_selector, term.namespaces)


# --- annotations ---------------------------------------------------------------------------


def read_affinity(text: str) -> Affinity:
    """The affinity in an annotation's text, a MalformedAffinity when it cannot be read."""
    try:
        found = _read(text, _AFFINITY, _child_affinity)
    except ValueError as error:
        return MalformedAffinity(error=str(error))
    return _known_affinity(found or Affinity())


def read_tolerations(text: str) -> tuple[Toleration, ...]:
    """The tolerations in an annotation's text, one MalformedToleration when they cannot be read."""
    try:
        return _read(text, [_TOLERATION], lambda fields: tuple(map(TOLERATION.read, fields.children(_VALUE))))
    except ValueError as error:
        return (MalformedToleration(error=str(error)),)


@lru_cache(maxsize=16384)
def read_taints(text: str) -> tuple[Taint, ...]:
    """The taints in an annotation's text, one MalformedTaint when they cannot be read."""
    try:
        return _read(text, [_TAINT], lambda fields: tuple(map(TAINT.read, fields.children(_VALUE))))
    except ValueError as error:
        return (MalformedTaint(key="", error=str(error)),)


def _child_affinity(fields: Fields) -> Affinity | None:
    affinity = fields.child(_VALUE)
    return None if affinity is None else AFFINITY.read(affinity)


def _init_containers(text: str) -> tuple[Container, ...]:
    return _read(text, [_CONTAINER], lambda fields: tuple(map(CONTAINER.read, fields.children(_VALUE))))


_VALUE = "value"
"""The key under which the annotation's document is read."""

_REQUIREMENT = {"key": None, "operator": None, "values": None}
_NODE_TERM = {"matchExpressions": [_REQUIREMENT]}
_LABEL_SELECTOR = {"matchLabels": None, "matchExpressions": [_REQUIREMENT]}
_POD_TERM = {"labelSelector": _LABEL_SELECTOR, "namespaces": None, "topologyKey": None}
_POD_AFFINITY = {REQUIRED: [_POD_TERM], PREFERRED: [{"weight": None, "podAffinityTerm": _POD_TERM}]}
_NODE_AFFINITY = {
    REQUIRED: {"nodeSelectorTerms": [_NODE_TERM]},
    PREFERRED: [{"weight": None, "preference": _NODE_TERM}],
}
_AFFINITY = {"nodeAffinity": _NODE_AFFINITY, "podAffinity": _POD_AFFINITY, "podAntiAffinity": _POD_AFFINITY}
_TOLERATION = {"key": None, "operator": None, "value": None, "effect": None}
_TAINT = {"key": None, "value": None, "effect": None}
_CONTAINER = {
    "name": None,
    "image": None,
    "resources": {"requests": None, "limits": None},
    "ports": [{"hostPort": None, "hostIP": None, "protocol": None}],
}


def _read(text: str, shape: Any, decode: Callable[[Fields], T]) -> T:
    """Raises ValueError with the first fault."""
    faults: list[str] = []
    document = _spelled(msgspec.json.decode(text), shape)
    found = decode(Fields({_VALUE: document}, faults))
    if faults:
        raise ValueError(faults[0].removeprefix(_VALUE).lstrip("."))
    return found


def _spelled(value: Any, shape: Any) -> Any:
    """``value`` with the keys of ``shape`` as that spells them; None in a shape is anything."""
    if isinstance(shape, list) and isinstance(value, list):
        return [_spelled(item, shape[0]) for item in value]
    if isinstance(shape, dict) and isinstance(value, Mapping):
        spelling = {key.lower(): key for key in shape}
        known = ((spelling.get(key.lower()), item) for key, item in value.items() if item is not None)
        return {key: _spelled(item, shape[key]) for key, item in known if key is not None}
    return value
