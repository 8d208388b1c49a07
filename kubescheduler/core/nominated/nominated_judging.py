"""Judging nodes beside the pods that are nominated to them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.status import Code
from kubescheduler.core.verdicts import failing, unresolvable
from predicates.types import FitPredicate, NodeError

Found = tuple[tuple[str, tuple[str, ...]], ...]
"""(predicate, its reasons) of one node."""


def nominated_beside(pod: Pod, row: int, cache: ClusterCache) -> list[PodChange]:
    """The pods nominated to a row that ``pod`` has to leave room for, as changes: those of at least its priority."""
    waiting = cache.nominated().get(cache.columns.names[row], ())
    return [
        PodChange(row, cache.info(p), 1, nominated=True, pod=p)
        for p in waiting
        if p.priority >= pod.priority and p.metadata.uid != pod.metadata.uid
    ]


def judge(
    pod: Pod, info: PodInfo, snapshot: Snapshot, predicates: Sequence[FitPredicate], *, every: bool = False
) -> Found:
    """The reasons on a snapshot of one row: the first failing predicate's, or all; () when the pod fits.

    Raises SchedulingError when a predicate errs.
    """
    found: list[tuple[str, tuple[str, ...]]] = []
    for predicate in predicates:
        reasons = [reason for reason, mask in predicate.check(info, snapshot).items() if mask[0]]
        for reason in reasons:
            if isinstance(reason, NodeError):
                raise SchedulingError(reason.about(pod.key))
        if reasons:
            found.append((predicate.name, tuple(reasons)))
            if not every:
                break
    return tuple(found)


class NominatedJudgement(msgspec.Struct, frozen=True):
    """What predicates say of one row."""

    found: Found = ()
    """The first failing predicate and its reasons, or all of them; empty where the pod fits."""
    code: Code = Code.Success
    """The worst code of those that refuse it."""
    error: tuple[str, NodeError] | None = None
    """(predicate, error) of the first that errs; nothing after it counts."""


FITS = NominatedJudgement()


def judge_rows(
    info: PodInfo, snapshot: Snapshot, predicates: Sequence[FitPredicate], *, every: bool
) -> list[NominatedJudgement]:
    """Of every row of a snapshot. every: all predicates are run, not just until one fails."""
    out = [FITS] * len(snapshot)
    left = np.ones(len(out), np.bool_)
    for predicate in predicates:
        verdict = predicate.check(info, snapshot)
        refused = failing(verdict)
        if refused is None:
            continue
        hopeless = unresolvable(predicate, info, snapshot, verdict, refused)
        for at in np.flatnonzero(refused & left).tolist():
            reasons = tuple([reason for reason, mask in verdict.items() if mask[at]])
            error = next((reason for reason in reasons if isinstance(reason, NodeError)), None)
            bad = hopeless is not None and bool(hopeless[at])
            code = Code.UnschedulableAndUnresolvable if bad else Code.Unschedulable
            before = out[at]
            left[at] = every and error is None
            if error is not None:
                out[at] = NominatedJudgement(error=(predicate.name, error))
            else:
                out[at] = NominatedJudgement((*before.found, (predicate.name, reasons)), max(code, before.code))
    return out
