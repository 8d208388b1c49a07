"""Which nodes fit: all predicates, in order, with the pods nominated to a node and without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.objects import FrozenMap, Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.lazy_results import NO_VALUES, RowValues
from kubescheduler.core.nominated import Found, apart_from, judge, judged_one_by_one, judgements_of
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.status import Code
from predicates.types import NodeError, Verdict


class Filtered(msgspec.Struct, eq=False):
    """See Decision for the fields."""

    listed: Mask
    feasible: IntArray = NO_NUMBERS
    everywhere: bool = False
    """``feasible`` are all rows there are, in order."""
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    unresolvable: Mapping[str, Mask] = FrozenMap()
    pending: Mapping[str, Mask] = FrozenMap()
    with_nominated: RowValues[Found] = NO_VALUES
    nominated_codes: RowValues[Code] = NO_VALUES


def find_feasible(pod: Pod, state: ClassState, cache: ClusterCache, algorithm: Algorithm) -> Filtered:
    """Judges every node.

    Raises SchedulingError with the aggregated texts when a predicate erred on a node.

    Upstream: 1.16 findNodesThatFit and podFitsOnNode.
    """
    _, listed = cache.columns.published
    state.check(cache.snapshot(), cache.columns.log, listed)
    feasible, everywhere = state.feasible, state.everywhere
    nominated: RowValues[Found] = NO_VALUES
    if algorithm.behaviour.nominates and cache.nominated():
        nominated = _judge_nominated(pod, state, cache, every=algorithm.always_check_all_predicates)
    if nominated:
        feasible, everywhere = apart_from(feasible, nominated, len(cache.columns)), False
    if algorithm.percentage_of_nodes_to_score < 100:
        enough = algorithm.behaviour.enough(cache.columns.node_count, algorithm.percentage_of_nodes_to_score)
        feasible, listed = _sample(cache, feasible, enough)
        everywhere = False
    if any(check.erring for check in state.checks):
        _raise_errors(pod, state, listed, nominated, algorithm)
    verdicts = tuple([(check.predicate.name, check.verdict) for check in state.checks])
    return Filtered(listed, feasible, everywhere, verdicts, with_nominated=nominated)


def _raise_errors(pod: Pod, state: ClassState, listed: Mask, nominated: RowValues[Found], algorithm: Algorithm) -> None:
    """Errors count where no earlier predicate has refused the node, or everywhere if all predicates always run."""
    alive = listed.copy()
    alive[nominated.rows] = False
    errors: Counter[str] = Counter()
    for check in state.checks:
        for reason, mask in check.verdict.items():
            if isinstance(reason, NodeError):
                hit = mask & alive
                errors[reason.about(pod.key)] += int(hit.sum())
                alive = alive & ~hit
        if check.failing is not None and not algorithm.always_check_all_predicates:
            alive = alive & ~check.failing
    errors = +errors
    if errors:
        raise SchedulingError(algorithm.behaviour.predicate_errors(errors))


def _judge_nominated(pod: Pod, state: ClassState, cache: ClusterCache, *, every: bool) -> RowValues[Found]:
    """The rows where the pod does not fit with the pods that are nominated there, and why.

    Those of at least its priority count, itself excepted. Upstream: 1.16 podFitsOnNode, first pass.
    """
    refusals = judgements_of(state, cache).judge(pod, state.info, state.checks, None, every=every)
    if refusals is None:
        predicates = [check.predicate for check in state.checks]

        def judge_row(there: Snapshot) -> tuple[Found, Code]:
            return judge(pod, state.info, there, predicates, every=every), Code.Unschedulable

        refusals = judged_one_by_one(pod, cache, None, judge_row)
    if refusals.error is not None:
        raise SchedulingError(refusals.error[1].about(pod.key))
    return refusals.found


def _sample(cache: ClusterCache, fitting: IntArray, enough: int) -> tuple[IntArray, Mask]:
    """(the fitting rows met first, in tree order; the rows looked at). Upstream: 1.16 findNodesThatFit."""
    row_of, total = cache.columns.row_of, cache.columns.node_count
    feasible: list[int] = []
    seen = np.zeros(len(cache.columns), np.bool_)
    fits = np.zeros(len(seen), np.bool_)
    fits[fitting] = True
    for _ in range(total):
        row = row_of[cache.tree.next()]
        if fits[row]:
            if len(feasible) == enough:
                break
            feasible.append(row)
        seen[row] = True
    return np.array(feasible, np.int64), seen
