"""Preemption: which pods would have to go so that a pod fits, and on which node that hurts least."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.cluster import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.selectors import Matcher, SelectorError, compile_label_selector
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.algorithm import Algorithm, Extender
from kubescheduler.core.decision import Decision, Preemption, Victims
from kubescheduler.core.filtering import judge, nominated_beside
from predicates.types import FitPredicate

PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive before they are summed, so that fewer victims weigh less."""
NOW = float("inf")
"""The start of a pod that does not say: later than any other."""

Budgets = Sequence[tuple[str, Matcher]]
"""(namespace, selector) of the PodDisruptionBudgets that allow no disruption."""


def preempt(decision: Decision, info: PodInfo, cache: ClusterCache, algorithm: Algorithm) -> Preemption:
    """What preemption would do for a pod that fits nowhere. Changes nothing.

    Raises SchedulingError when an extender that is not ignorable fails. Upstream: 1.16 Preempt.
    """
    pod = decision.pod
    if not is_eligible(pod, cache):
        return Preemption()
    rows = candidate_rows(decision, algorithm.unresolvable, cache)
    if not rows:
        return Preemption(cleared=(pod,))
    budgets = exhausted_budgets(cache.objects)
    found: dict[str, Victims] = {}
    for row in rows:
        victims = victims_on(row, pod, info, cache, algorithm.predicates, budgets)
        if victims is not None:
            found[decision.names[row]] = victims
    found = _after_extenders(pod, found, cache, algorithm.extenders)
    chosen = choose(found)
    cleared = [p for p in cache.nominated().get(chosen[0], ()) if p.priority < pod.priority] if chosen else []
    return Preemption(found, chosen, tuple(cleared))


def is_eligible(pod: Pod, cache: ClusterCache) -> bool:
    """Whether the pod may preempt: not while lower ones are still leaving the node it is nominated to.

    Upstream: 1.16 podEligibleToPreemptOthers.
    """
    row = cache.columns.row_of.get(pod.nominated_node_name)
    if row is None or cache.columns.nodes[row] is None:
        return True
    there = cache.columns.pods[row].values()
    return not any(p.metadata.deletion_timestamp is not None and p.priority < pod.priority for p in there)


def candidate_rows(decision: Decision, unresolvable: Collection[str], cache: ClusterCache) -> list[int]:
    """The rows where taking pods away may help: no reported reason is one that it cannot mend."""
    reasons = decision.predicate_reasons()
    hopeless = {name for name, found in reasons.items() if any(reason in unresolvable for reason in found)}
    with_node = np.flatnonzero(cache.snapshot().has_node).tolist()
    return [row for row in with_node if decision.names[row] not in hopeless]


# --- victims on one node -----------------------------------------------------------------------


def victims_on(
    row: int, pod: Pod, info: PodInfo, cache: ClusterCache, predicates: Sequence[FitPredicate], budgets: Budgets
) -> Victims | None:
    """The pods that have to leave a node so that ``pod`` fits; None when it does not fit without all lower ones.

    Every lower pod is thought away; then each is put back, those that a budget protects first, the important
    before the others, if the pod still fits. Upstream: 1.16 selectVictimsOnNode.
    """
    here = cache.snapshot().take(np.array([row]))
    nominated = nominated_beside(pod, row, cache)
    lower = [p for p in cache.columns.pods[row].values() if p.priority < pod.priority]
    changes = [PodChange(row, cache.info(p), -1, pod=p) for p in lower]
    if not _fits(pod, info, here, changes, nominated, predicates):
        return None
    protected, others = split_by_budgets(by_importance(lower), budgets)
    victims: list[Pod] = []
    violations = 0
    for at, candidate in enumerate((*protected, *others)):
        back = PodChange(row, cache.info(candidate), 1, pod=candidate)
        changes.append(back)
        if not _fits(pod, info, here, changes, nominated, predicates):
            changes.append(attrs.evolve(back, sign=-1))
            victims.append(candidate)
            violations += at < len(protected)
    return Victims(tuple(victims), violations)


def _fits(
    pod: Pod,
    info: PodInfo,
    here: Snapshot,
    changes: Sequence[PodChange],
    nominated: Sequence[PodChange],
    predicates: Sequence[FitPredicate],
) -> bool:
    """Errors count as not fitting; the pods nominated to the node are added in a first pass."""
    try:
        if nominated and judge(pod, info, here.what_if((*changes, *nominated)), predicates):
            return False
        return not judge(pod, info, here.what_if(changes), predicates)
    except SchedulingError:
        return False


def by_importance(pods: Sequence[Pod]) -> list[Pod]:
    """Higher priority first, then earlier start. Pods that do not say when they started come last, latest first.

    Upstream: 1.16 MoreImportantPod; for pods without a start the order that sorting a few of them has.
    """
    order = [(-pod.priority, started(pod), -at if pod.start_time is None else at) for at, pod in enumerate(pods)]
    return [pods[at] for at in sorted(range(len(pods)), key=order.__getitem__)]


def started(pod: Pod) -> float:
    """status.startTime in seconds since the epoch; NOW when it is absent."""
    return NOW if pod.start_time is None else datetime.fromisoformat(pod.start_time).timestamp()


def exhausted_budgets(objects: ClusterObjects) -> Budgets:
    """The budgets that allow no disruption; a selector that is empty or invalid protects nothing."""
    out: list[tuple[str, Matcher]] = []
    for budget in objects.pod_disruption_budgets.values():
        selector = budget.selector
        if budget.disruptions_allowed <= 0 and selector is not None:
            try:
                matcher = compile_label_selector(selector)
            except SelectorError:
                continue
            if not matcher.everything:
                out.append((budget.metadata.namespace, matcher))
    return out


def split_by_budgets(pods: Sequence[Pod], budgets: Budgets) -> tuple[list[Pod], list[Pod]]:
    """(pods whose leaving violates a budget, the others), each in order; every pod is judged alone."""
    protected: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        meta = pod.metadata
        hit = bool(meta.labels) and any(ns == meta.namespace and matches(meta.labels) for ns, matches in budgets)
        (protected if hit else others).append(pod)
    return protected, others


# --- which node --------------------------------------------------------------------------------


def choose(found: Mapping[str, Victims]) -> tuple[str, ...]:
    """The nodes that the release may pick, sorted by name; one unless they are alike in everything.

    Any node without victims; else by fewest violations, lowest first victim, lowest sum of priorities, fewest
    victims, latest start of the most important victims. Upstream: 1.16 pickOneNodeForPreemption.
    """
    free = [name for name, victims in found.items() if not victims.pods]
    if free:
        return tuple(sorted(free))
    left = list(found)
    criteria: tuple[Callable[[Victims], float], ...] = (
        lambda v: v.violations,
        lambda v: v.pods[0].priority,
        lambda v: sum(pod.priority + PRIORITY_OFFSET for pod in v.pods),
        lambda v: len(v.pods),
        lambda v: -earliest_start(v.pods),
    )
    for criterion in criteria:
        if len(left) > 1:
            values = {name: criterion(found[name]) for name in left}
            lowest = min(values.values())
            left = [name for name in left if values[name] == lowest]
    return tuple(sorted(left))


def earliest_start(pods: Sequence[Pod]) -> float:
    """The earliest start among the pods of the highest priority."""
    highest = max(pod.priority for pod in pods)
    return min(started(pod) for pod in pods if pod.priority == highest)


# --- extenders ---------------------------------------------------------------------------------


def _after_extenders(
    pod: Pod, found: dict[str, Victims], cache: ClusterCache, extenders: Sequence[Extender]
) -> dict[str, Victims]:
    """What every interested extender with a preemptVerb leaves. Upstream: 1.16 processPreemptionWithExtenders."""
    for extender in extenders:
        if not found:
            break
        if not extender.config.preempt_verb or not extender.is_interested(pod):
            continue
        try:
            answer = extender.preempt(pod, {name: (v.pods, v.violations) for name, v in found.items()})
            found = {name: _victims_by_uid(extender, name, uids, cache) for name, uids in answer.items()}
        except SchedulingError:
            if not extender.config.ignorable:
                raise
    return found


def _victims_by_uid(extender: Extender, name: str, uids: Sequence[str], cache: ClusterCache) -> Victims:
    row = cache.columns.row_of.get(name)
    there = {} if row is None else cache.columns.pods[row]
    for uid in uids:
        if uid not in there:
            raise SchedulingError(
                f"extender: {extender.config.url_prefix} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return Victims(tuple(there[uid] for uid in uids), 0)
