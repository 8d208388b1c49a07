"""Users' own predicates and priorities over columns, wrapped so that whatever they answer is looked at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from algorithmprovider.column_answers import masks_by_reason, scores_of_rows
from algorithmprovider.custom_code import CustomCall
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.types import FitPredicate, Verdict
from priorities.types import MAX_PRIORITY, Map, PriorityConfig, Reduce


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
