"""Nodes that refuse a pod for want of what their manifest does not say: a note beside the release's own words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from clusterstate.cache import ClusterCache

UNSTATED = {
    "pods": ("Insufficient pods", "Too many pods"),
    "cpu": ("Insufficient cpu",),
    "memory": ("Insufficient memory",),
}
"""Resource → the reasons that releases give where there is too little of it."""
FEW = 3
"""Nodes that a note names."""


def unstated_notes(cache: ClusterCache, reasons: Callable[[], Mapping[str, Iterable[str]]]) -> Iterator[str]:
    """A note for each resource that refusing nodes do not have in their allocatable.

    reasons: by the node's name; they are asked for only when a node does not say an amount.
    """
    found: Mapping[str, Iterable[str]] | None = None
    for resource, texts in UNSTATED.items():
        without = list(_without(cache, resource))
        if without and found is None:
            found = reasons()
        nodes = [name for name in without if found and not set(texts).isdisjoint(found.get(name, ()))]
        if nodes:
            yield f"{_named(nodes)} no {resource} in status.allocatable, which counts as 0"


def _without(cache: ClusterCache, resource: str) -> Iterator[str]:
    """The nodes that do not say how much of a resource they have."""
    columns = cache.columns
    amounts = columns.allowed_pods.view if resource == "pods" else None
    if amounts is None and resource in columns.resources:
        amounts = columns.allocatable.data[columns.resources[resource], : len(columns.names)]
    for row in range(len(columns.names)) if amounts is None else np.flatnonzero(amounts == 0).tolist():
        node = columns.nodes[row]
        if node is not None and resource not in node.allocatable:
            yield node.name


def _named(nodes: Sequence[str]) -> str:
    if len(nodes) == 1:
        return f"node {nodes[0]} has"
    return f"{len(nodes)} nodes ({', '.join(nodes[:FEW])}{', …' if len(nodes) > FEW else ''}) have"
