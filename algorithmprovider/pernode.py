"""Algorithms written per node, as in the classic scheduler, wrapped to run over columns.

A predicate is ``(pod, meta, node_info) -> (fit, reasons)``, a priority ``(pod, meta, node_info) -> score``.
They are called once per node, so they are as slow as Python: fine for a workshop and for small clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from algorithmprovider.custom_code import CustomCall, described, is_integer
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import FrozenMap, Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import PODS
from predicates.types import FitPredicate, Verdict
from priorities.types import MAX_PRIORITY, Map, PriorityConfig, Reduce

Reason = TypeVar("Reason")

SMALLEST_SCORE, LARGEST_SCORE = -(1 << 63), (1 << 63) - 1
"""What the 64 bits of a score can hold, in every release."""


def masks_by_reason(call: CustomCall, answer: object, kinds: tuple[type[Reason], ...], rows: int) -> dict[Reason, Mask]:
    """The answer of a filter over columns: reason → (n,) bool, true where a node fails.

    kinds: the types that a reason may have. rows: n. Raises CustomCodeError for anything else.
    """
    if not isinstance(answer, Mapping):
        text = "it answers a mapping from each reason to a mask, true where a node fails, "
        raise call.refused(f"{text}not {described_array(answer)}")
    masks: dict[Reason, Mask] = {}
    for reason, mask in answer.items():
        if not isinstance(reason, kinds):
            raise call.refused(f"a reason is a text, not {described(reason)}")
        masks[reason] = _mask(call, reason, mask, rows)
    return masks


def _mask(call: CustomCall, reason: object, given: object, rows: int) -> Mask:
    mask = _array(given)
    if mask is None or mask.dtype != np.bool_ or mask.shape != (rows,):
        text = f"the mask of {described(reason)} has one True or False for each of {rows} nodes"
        raise call.refused(f"{text}, and is not {described_array(given)}")
    return mask


def scores_of_rows(call: CustomCall, answer: object, rows: int) -> IntArray:
    """The answer of a score over columns: (n,) int64. rows: n. Raises CustomCodeError for anything else."""
    scores = _array(answer)
    if scores is None or scores.shape != (rows,) or (scores.dtype.kind not in "iu" and rows):
        text = f"the scores are {rows} whole numbers, one for each node"
        raise call.refused(f"{text}, not {described_array(answer)}")
    if scores.dtype.kind == "u" and (scores > LARGEST_SCORE).any():
        raise call.refused(f"a score has 64 bits, and {scores.max()} has more")
    return scores.astype(np.int64, copy=False)


def score_of_row(call: CustomCall, answer: object, node: str) -> int:
    """The answer of a score of one node. Raises CustomCodeError when it is no whole number of 64 bits."""
    if not is_integer(answer):
        raise call.refused(f"a score is a whole number, not {described_array(answer)}", node)
    score = int(answer)  # type: ignore[call-overload]
    if not SMALLEST_SCORE <= score <= LARGEST_SCORE:
        raise call.refused(f"a score has 64 bits, and {described(score)} has more", node)
    return int(score)


def described_array(answer: object) -> str:
    """An answer as errors show it; of an array its type and shape."""
    if isinstance(answer, np.ndarray):
        shape = " × ".join(map(str, answer.shape))
        return f"an array of {answer.dtype} with {f'shape {shape}' if shape else 'no axis'}"
    return described(answer)


def _array(given: Any) -> np.ndarray[Any, np.dtype[Any]] | None:
    """None: nothing that is an array."""
    try:
        return np.asarray(given)
    except Exception:  # whatever a stranger's object raises
        return None


def column_predicate(name: str, function: Callable[..., Any], reads: Reads) -> FitPredicate:
    """A FitPredicate of ``(pod, snapshot) -> {reason: (n,) bool}``."""
    return FitPredicate(name, _checked_check(name, function), Footprint(reads))


def column_priority(name: str, function: Callable[..., Any], reduce: Reduce | None, reads: Reads) -> PriorityConfig:
    """A PriorityConfig of ``(pod, snapshot) -> (n,) scores``. reduce: see ``checked_reduce``."""
    return PriorityConfig(name, _checked_map(name, function, last=reduce is None), reduce, Footprint(reads))


def checked_predicate(name: str, predicate: FitPredicate) -> FitPredicate:
    """A FitPredicate that a user made, with its answers looked at."""
    return msgspec.structs.replace(predicate, check=_checked_check(name, predicate.check))


def checked_priority(name: str, config: PriorityConfig) -> PriorityConfig:
    """A PriorityConfig that a user made, with its answers looked at."""
    reduce = checked_reduce(name, config.reduce)
    last = config.reduce is None and config.settle is None
    return msgspec.structs.replace(config, map=_checked_map(name, config.map, last=last), reduce=reduce)


def checked_reduce(name: str, reduce: Reduce | None) -> Reduce | None:
    """``(pod, snapshot of the feasible nodes, scores) -> scores`` with its answers looked at; None as it is."""
    if reduce is None:
        return None
    call = CustomCall(f"priority {name}, reduce", reduce)

    def checked(pod: PodInfo, feasible: Snapshot, raw: IntArray) -> IntArray:
        scores = scores_of_rows(call, call.ask(pod, feasible, raw), len(feasible))
        _check_rows(call, scores, feasible, "a score")
        return scores

    return checked


def check_range(call: CustomCall, score: int, node: str, what: str) -> None:
    """Raises CustomCodeError for a final score that is none. what: what errors call it."""
    if not 0 <= score <= MAX_PRIORITY:
        raise call.refused(f"{what} is from 0 to {MAX_PRIORITY}, not {score}", node)


def _checked_check(name: str, function: Callable[..., Any]) -> Callable[[PodInfo, Snapshot], Verdict]:
    call = CustomCall(f"predicate {name}", function)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return masks_by_reason(call, call.ask(pod, snapshot), (str,), len(snapshot))

    return check


def _checked_map(name: str, function: Callable[..., Any], *, last: bool) -> Map:
    """last: no reduce function comes after it, so the scores are in range."""
    call = CustomCall(f"priority {name}", function)

    def score(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        scores = scores_of_rows(call, call.ask(pod, snapshot), len(snapshot))
        if last:
            _check_rows(call, scores, snapshot, "without a reduce function a score")
        return scores

    return score


def _check_rows(call: CustomCall, scores: IntArray, snapshot: Snapshot, what: str) -> None:
    wrong = np.flatnonzero(((scores < 0) | (scores > MAX_PRIORITY)) & snapshot.has_node)
    if len(wrong):
        check_range(call, int(scores[wrong[0]]), snapshot.names[wrong[0]], what)


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
