"""What release 1.36's API server fills in beyond 1.16's: label keys of affinity terms become requirements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.manifests.defaulting import default_manifest
from clusterstate.manifests.documents import Manifest

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
OPERATORS = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}


def default_manifest_1_36(manifest: Manifest) -> Manifest:
    """As ``default_manifest``; an affinity term that names label keys selects by the pod's own values of them.

    Upstream: 1.36 pod strategy, applyMatchLabelKeysAndMismatchLabelKeys.
    """
    filled = default_manifest(manifest)
    if filled.get("kind") not in (None, "Pod"):
        return filled
    spec, labels = filled.get("spec"), _mapping(filled.get("metadata")).get("labels")
    affinity = _mapping(spec).get("affinity")
    if not isinstance(affinity, Mapping) or not isinstance(labels, Mapping) or not isinstance(spec, Mapping):
        return filled
    changed = {
        kind: _group(affinity[kind], labels) if kind in ("podAffinity", "podAntiAffinity") else affinity[kind]
        for kind in affinity
    }
    if all(changed[kind] is affinity[kind] for kind in affinity):
        return filled
    return {**filled, "spec": {**spec, "affinity": changed}}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _group(group: Any, labels: Mapping[str, Any]) -> Any:
    """podAffinity or podAntiAffinity with the selectors of its terms completed."""
    out = group
    for key, path in ((REQUIRED, ()), (PREFERRED, ("podAffinityTerm",))):
        terms = _mapping(group).get(key)
        if not isinstance(terms, list):
            continue
        completed = [_inside(term, path, labels) for term in terms]
        if any(new is not old for new, old in zip(completed, terms, strict=True)):
            out = {**out, key: completed}
    return out


def _inside(term: Any, path: tuple[str, ...], labels: Mapping[str, Any]) -> Any:
    if not path:
        return _completed(term, labels)
    inner = _mapping(term).get(path[0])
    completed = _completed(inner, labels)
    return term if completed is inner else {**term, path[0]: completed}


def _completed(term: Any, labels: Mapping[str, Any]) -> Any:
    """A term with one requirement more for each of its label keys that the pod has; none without a selector."""
    selector = _mapping(term).get("labelSelector")
    if not isinstance(selector, Mapping):
        return term
    more = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for keys, operator in OPERATORS.items()
        for key in term.get(keys) or ()
        if key in labels
    ]
    if not more:
        return term
    expressions = selector.get("matchExpressions") or []
    fresh = [requirement for requirement in more if requirement not in expressions]
    return {**term, "labelSelector": {**selector, "matchExpressions": [*expressions, *fresh]}} if fresh else term
