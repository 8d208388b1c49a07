"""Judging nodes with the pods that are nominated to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.holding.usage_answers import SINGLE_ROWS
from kubescheduler.core.nominated.row_watch import stay_on_their_rows
from kubescheduler.core.status import Code
from kubescheduler.core.verdicts import CheckState
from predicates.types import FitPredicate, NodeError, Verdict
from predicates.verdict_masks import failing, unresolvable

Found = tuple[tuple[str, tuple[str, ...]], ...]
"""(predicate, its reasons) of one node."""


def nominated_changes(pod: Pod, row: int, cache: ClusterCache) -> list[PodChange]:
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


def judge_with_added(
    info: PodInfo,
    snapshot: Snapshot,
    added: Mapping[int, Sequence[PodChange]],
    checks: Sequence[CheckState],
    every: bool,
) -> list[NominatedJudgement] | None:
    """Of rows of the whole cluster, each with the pods that are added there; None: these may matter to other rows too.

    checks: up to date, and looking at no other row (``Footprint.is_row_local``); those that follow from no pods are not
    run again. every: all are run, not just until one fails.
    """
    every_change = [change for changes in added.values() for change in changes]
    if not stay_on_their_rows(every_change):
        return None
    if len(added) <= SINGLE_ROWS and all(check.by_usage is not None or not check.of_own_pods for check in checks):
        return [_judge_row(row, changes, info, snapshot, checks, every) for row, changes in added.items()]
    return judge_rows(info, snapshot.take(np.array(list(added), np.int64)).what_if(every_change), checks, every=every)


def _judge_row(
    row: int, added: Sequence[PodChange], info: PodInfo, snapshot: Snapshot, checks: Sequence[CheckState], every: bool
) -> NominatedJudgement:
    """Of one row by checks that follow from the amounts there, or from no pods."""
    infos = tuple([change.info for change in added])
    out = FITS
    for check in checks:
        by_usage, name = check.by_usage, check.predicate.name
        reasons, beyond = check.row_verdict(row) if by_usage is None else by_usage.of(row, info, snapshot, infos)
        if not reasons:
            continue
        error = next((reason for reason in reasons if isinstance(reason, NodeError)), None)
        if error is not None:
            return NominatedJudgement(error=(name, error))
        code = Code.UnschedulableAndUnresolvable if beyond else Code.Unschedulable
        out = NominatedJudgement((*out.found, (name, reasons)), max(code, out.code))
        if not every:
            break
    return out


def judge_rows(
    info: PodInfo, snapshot: Snapshot, checks: Sequence[CheckState], *, every: bool
) -> list[NominatedJudgement]:
    """Of every row of a snapshot to which pods were hypothetically added, by checks that look at no other row.

    checks: up to date; those that follow from no pods are not run again. every: all are run, not just until one fails.
    """
    out = [FITS] * len(snapshot)
    left = np.ones(len(out), np.bool_)
    for check in checks:
        found = _judge_by(check, info, snapshot)
        if found is None:
            continue
        verdict, refused, hopeless = found
        for at in np.flatnonzero(refused & left).tolist():
            reasons = tuple([reason for reason, mask in verdict.items() if mask[at]])
            error = next((reason for reason in reasons if isinstance(reason, NodeError)), None)
            bad = hopeless is not None and bool(hopeless[at])
            code = Code.UnschedulableAndUnresolvable if bad else Code.Unschedulable
            before = out[at]
            left[at] = every and error is None
            name = check.predicate.name
            if error is not None:
                out[at] = NominatedJudgement(error=(name, error))
            else:
                out[at] = NominatedJudgement((*before.found, (name, reasons)), max(code, before.code))
    return out


def _judge_by(check: CheckState, info: PodInfo, snapshot: Snapshot) -> tuple[Verdict, Mask, Mask | None] | None:
    """(verdict, (n,) bool the rows that fail, those of them that are beyond help); None when no row fails."""
    if check.of_own_pods:
        verdict = check.predicate.check(info, snapshot)
        refused = failing(verdict)
        if refused is None:
            return None
        return verdict, refused, unresolvable(check.predicate, info, snapshot, verdict, refused)
    if check.failing is None:
        return None
    rows = snapshot.row_numbers
    refused = check.failing[rows]
    if not refused.any():
        return None
    hopeless = None if check.unresolvable is None else check.unresolvable[rows]
    return {reason: mask[rows] for reason, mask in check.verdict.items()}, refused, hopeless
