"""Groups of nodes as people speak of them: pools, instance types, zones; for pages that show where pods are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from clusterstate.objects import ClusterObject, Node

POOLS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "kops.k8s.io/instancegroup",
    "node.cluster.x-k8s.io/pool",
)
"""Labels by which the usual ways to run a cluster name a node's pool."""
TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")

EACH = "node"
"""The grouping in which every node is a group of its own."""
NO_LABEL = "(none)"
"""The group of nodes without the label."""

FEW = 8
"""Groups that are told apart by colour."""


class Grouping(msgspec.Struct, frozen=True):
    """The nodes of a cluster by one of their labels."""

    name: str
    """The label; ``node`` where every node is its own group."""
    group_of: Mapping[str, str]
    """Node → its group."""

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(set(self.group_of.values()))


def groupings(objects: Iterable[ClusterObject]) -> tuple[Grouping, ...]:
    """The ways to group the nodes, that which says most first: by node where there are few, then by the labels of
    pools, types and zones that make several groups but not too many, then the others.

    A label that all nodes have alike, or none has, makes no grouping; of two labels that mean the same only the newer
    one does.
    """
    nodes = [obj for obj in objects if isinstance(obj, Node)]
    each = Grouping(EACH, {node.name: node.name for node in nodes})
    found = [grouping for keys in (*((key,) for key in POOLS), TYPES, ZONES) if (grouping := _by(nodes, keys))]
    ordered = [each, *found] if len(nodes) <= FEW else [*found, each]
    return tuple(sorted(ordered, key=lambda grouping: grouping.groups > FEW))


def _by(nodes: Sequence[Node], keys: tuple[str, ...]) -> Grouping | None:
    """By the first of the labels that some node has; None where that makes one group."""
    key = next((key for key in keys if any(key in node.metadata.labels for node in nodes)), None)
    if key is None:
        return None
    found = Grouping(key, {node.name: node.metadata.labels.get(key, NO_LABEL) for node in nodes})
    return found if found.groups > 1 else None
