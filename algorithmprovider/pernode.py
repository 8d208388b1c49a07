"""Algorithms written per node, as in the classic scheduler, wrapped to run over columns.

A predicate is ``(pod, meta, node_info) -> (fit, reasons)``, a priority ``(pod, meta, node_info) -> score``.
They are called once per node, so they are as slow as Python: fine for a workshop and for small clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray
from clusterstate.objects import FrozenMap, Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import PODS
from predicates.types import FitPredicate, Verdict
from priorities.types import PriorityConfig, Reduce

EVERYTHING = Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES | Reads.STORAGE | Reads.NAMESPACES


@attrs.frozen
class NodeInfo:
    """One node as a per-node algorithm sees it."""

    node: Node
    pods: tuple[Pod, ...]
    allocatable: FrozenMap[str, int]
    """Resource name → amount; cpu in millicores, others in whole units."""
    requested: FrozenMap[str, int]
    """Resource name → amount; cpu in millicores, others in whole units."""
    nonzero_requested: tuple[int, int]
    """(millicores, bytes) with the defaults for pods that do not say."""

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name


PerNodePredicate = Callable[[PodInfo, Snapshot, NodeInfo], tuple[bool, Sequence[str]]]
PerNodePriority = Callable[[PodInfo, Snapshot, NodeInfo], int]


def node_infos(snapshot: Snapshot) -> Iterable[tuple[int, NodeInfo]]:
    """(position, NodeInfo) of every row of the snapshot that has a node object."""
    allocatable, requested, nonzero = snapshot.allocatable, snapshot.requested, snapshot.nonzero
    allowed, added = snapshot.allowed_pods, {change.row for change in snapshot.changes}
    for at, row in enumerate(snapshot.row_numbers.tolist()):
        node = snapshot.node(row)
        if node is not None:
            amounts = {name: int(allocatable[index, at]) for name, index in snapshot.resources.items()}
            amounts[PODS] = int(allowed[at])
            taken = {name: int(requested[index, at]) for name, index in snapshot.resources.items()}
            pods = tuple(snapshot.pods_on(row)) if row not in added else _changed_pods(snapshot, row)
            yield (
                at,
                NodeInfo(node, pods, FrozenMap(amounts), FrozenMap(taken), (int(nonzero[0, at]), int(nonzero[1, at]))),
            )


def _changed_pods(snapshot: Snapshot, row: int) -> tuple[Pod, ...]:
    """The pods of a row after the snapshot's changes; a hypothetically removed pod is one of its class."""
    pods = snapshot.pods_on(row)
    for change in snapshot.changes:
        if change.row == row and change.pod is not None:
            pods = [*pods, change.pod] if change.sign > 0 else [p for p in pods if p is not change.pod]
    return tuple(pods)


def per_node_predicate(name: str, function: PerNodePredicate) -> FitPredicate:
    """A FitPredicate that asks ``function`` about every node."""

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        verdict: Verdict = {}
        for at, node_info in node_infos(snapshot):
            fit, reasons = function(pod, snapshot, node_info)
            for reason in () if fit else reasons:
                verdict.setdefault(reason, np.zeros(len(snapshot), np.bool_))[at] = True
        return verdict

    return FitPredicate(name, check, EVERYTHING)


def per_node_priority(name: str, function: PerNodePriority, reduce: Reduce | None = None) -> PriorityConfig:
    """A PriorityConfig that asks ``function`` about every node."""

    def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        scores = np.zeros(len(snapshot), np.int64)
        for at, node_info in node_infos(snapshot):
            scores[at] = function(pod, snapshot, node_info)
        return scores

    return PriorityConfig(name, score, reduce, EVERYTHING)
