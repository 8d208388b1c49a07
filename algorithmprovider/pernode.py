"""Algorithms written per node, as in the classic scheduler, wrapped to run over columns.

A predicate is ``(pod, meta, node_info) -> (fit, reasons)``, a priority ``(pod, meta, node_info) -> score``.
They are called once per node, so they are as slow as Python: fine for a workshop and for small clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from algorithmprovider.column_answers import described_array, score_of_row
from algorithmprovider.custom_code import CustomCall
from algorithmprovider.custom_columns import check_range
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.objects import FrozenMap, Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import PODS
from predicates.types import FitPredicate, Verdict
from priorities.types import PriorityConfig, Reduce

EVERYTHING = Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES | Reads.STORAGE | Reads.NAMESPACES


class NodeInfo(msgspec.Struct, frozen=True):
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
    call = CustomCall(f"predicate {name}", function)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        verdict: Verdict = {}
        for at, node_info in node_infos(snapshot):
            answer = call.ask(pod, snapshot, node_info, node=node_info.name)
            for reason in _reasons(call, answer, node_info.name):
                verdict.setdefault(reason, np.zeros(len(snapshot), np.bool_))[at] = True
        return verdict

    return FitPredicate(name, check, Footprint(EVERYTHING))


def _reasons(call: CustomCall, answer: object, node: str) -> Sequence[str]:
    """The reasons of a predicate's answer, none when it fits. Raises CustomCodeError for what is no answer."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], bool | np.bool_):
        raise call.refused(f"it answers (whether it fits, reasons), not {described_array(answer)}", node)
    fit, reasons = answer
    if fit:
        return ()
    if not isinstance(reasons, list | tuple) or not all(isinstance(reason, str) for reason in reasons):
        raise call.refused(f"the reasons are a list of texts, not {described_array(reasons)}", node)
    if not reasons:
        raise call.refused("a node that does not fit needs a reason, and the list of reasons is empty", node)
    return reasons


def per_node_priority(name: str, function: PerNodePriority, reduce: Reduce | None = None) -> PriorityConfig:
    """A PriorityConfig that asks ``function`` about every node. reduce: its answers are looked at by itself."""
    call = CustomCall(f"priority {name}", function)

    def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        scores = np.zeros(len(snapshot), np.int64)
        for at, node_info in node_infos(snapshot):
            node = node_info.name
            scores[at] = score_of_row(call, call.ask(pod, snapshot, node_info, node=node), node)
            if reduce is None:
                check_range(call, int(scores[at]), node, "without a reduce function a score")
        return scores

    return PriorityConfig(name, score, reduce, Footprint(EVERYTHING))
