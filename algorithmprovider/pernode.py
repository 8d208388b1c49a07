"""Algorithms written per node, as in the classic scheduler, wrapped to run over columns.

A predicate is ``(pod, meta, node_info) -> (fit, reasons)``, a priority ``(pod, meta, node_info) -> score``.
They are called once per node, so they are as slow as Python: fine for a workshop and for small clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np

from algorithmprovider.custom_code import asked, described, is_integer, refused
from clusterstate.changes import Reads
from clusterstate.growable import IntArray
from clusterstate.objects import FrozenMap, Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import PODS
from predicates.types import FitPredicate, Verdict
from priorities.types import MAX_PRIORITY, PriorityConfig, Reduce

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
            answer = asked(f"predicate {name}", function, "", node_info.name, pod, snapshot, node_info)
            for reason in _reasons(name, function, answer, "", node_info.name):
                verdict.setdefault(reason, np.zeros(len(snapshot), np.bool_))[at] = True
        return verdict

    return FitPredicate(name, check, EVERYTHING)


def _reasons(name: str, function: PerNodePredicate, answer: object, pod: str, node: str) -> Sequence[str]:
    """The reasons of a predicate's answer, none when it fits. Raises CustomCodeError for what is no answer."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], bool | np.bool_):
        text = f"it answers (whether it fits, reasons), not {described(answer)}"
        raise refused(f"predicate {name}", function, pod, node, text)
    fit, reasons = answer
    if fit:
        return ()
    if not isinstance(reasons, list | tuple) or not all(isinstance(reason, str) for reason in reasons):
        text = f"the reasons are a list of texts, not {described(reasons)}"
        raise refused(f"predicate {name}", function, pod, node, text)
    return reasons


def per_node_priority(name: str, function: PerNodePriority, reduce: Reduce | None = None) -> PriorityConfig:
    """A PriorityConfig that asks ``function`` about every node."""

    def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        scores = np.zeros(len(snapshot), np.int64)
        for at, node_info in node_infos(snapshot):
            key, node = "", node_info.name
            answer = asked(f"priority {name}", function, key, node, pod, snapshot, node_info)
            if not is_integer(answer):
                text = f"a score is a whole number, not {described(answer)}"
                raise refused(f"priority {name}", function, key, node, text)
            if reduce is None and not 0 <= answer <= MAX_PRIORITY:
                text = f"without a reduce function a score is from 0 to {MAX_PRIORITY}, not {answer}"
                raise refused(f"priority {name}", function, key, node, text)
            scores[at] = answer
        return scores

    return PriorityConfig(name, score, reduce, EVERYTHING)
