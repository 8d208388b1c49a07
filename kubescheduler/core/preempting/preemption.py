"""Preemption: which pods would have to go so that a pod fits, and on which node that hurts least."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical.roster import Roster
from clusterstate.objects import Pod
from kubescheduler.core.algorithm import Algorithm, Extender
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import PickStep, Preemption, Victims
from kubescheduler.core.preempting.kept_victims import PreemptionMemory
from kubescheduler.core.preempting.preemption_candidates import Candidates, NodeNames
from kubescheduler.core.preempting.preemption_costs import choose, pick_1_16, pick_steps, steps_of
from kubescheduler.core.preempting.preemption_trials import PreemptionAttempt
from kubescheduler.core.preempting.preemption_victims import VictimRules, exhausted_budgets, protected_classes


def preempt(
    decision: Decision, state: ClassState, cache: ClusterCache, algorithm: Algorithm, memory: PreemptionMemory
) -> Preemption:
    """What preemption would do for a pod that fits nowhere. Changes nothing.

    state, memory: what is remembered for pods of its class. Raises SchedulingError when an extender that is not
    ignorable fails. Upstream: 1.16 Preempt.
    """
    pod = decision.pod
    never = algorithm.honours_preemption_policy and pod.spec.preemption_policy == "Never"
    if never or not is_eligible(pod, cache):
        return Preemption()
    rows = candidate_rows(decision, algorithm.unresolvable, cache)
    if not rows.any():
        return Preemption(cleared=(pod,))
    attempt = PreemptionAttempt(pod, state.info, algorithm.predicates, cache, memory.roster.refresh())
    found = memory.candidates(attempt, state, rows, VictimRules(functools.partial(_protect, cache), alike=True))
    interested = [e for e in algorithm.extenders if e.config.preempt_verb and e.is_interested(pod)]
    if interested and len(found):
        after = _after_extenders(pod, dict(found), cache, interested)
        pick = functools.partial(steps_of, after, pick_1_16)
        return _preemption(pod, after, choose(after, pick_1_16), cache, pick)
    costs = found.costs()
    pick = functools.partial(pick_steps, pick_1_16, costs, found.listed)
    return _preemption(pod, found, chosen_names(found, pick_1_16(costs), cache), cache, pick)


def _protect(cache: ClusterCache, roster: Roster, rows: IntArray, victims: Mask) -> Mask:
    return protected_classes(exhausted_budgets(cache.objects), roster, rows, victims)


def chosen_names(found: Candidates, nodes: Mask, cache: ClusterCache) -> NodeNames:
    """The names of some candidates, sorted. nodes: (N,) bool."""
    return NodeNames(found.names, nodes, cache.columns.rows_by_name)


def _preemption(
    pod: Pod,
    found: Mapping[str, Victims],
    chosen: Sequence[str],
    cache: ClusterCache,
    pick: Callable[[], tuple[PickStep, ...]],
) -> Preemption:
    waiting = cache.nominated().get(chosen[0], ()) if chosen else ()
    return Preemption(found, chosen, tuple(p for p in waiting if p.priority < pod.priority), pick=pick)


def is_eligible(pod: Pod, cache: ClusterCache) -> bool:
    """Whether the pod may preempt: not while lower ones are still leaving the node it is nominated to.

    Upstream: 1.16 podEligibleToPreemptOthers.
    """
    row = cache.columns.row_of.get(pod.nominated_node_name)
    if row is None or cache.columns.nodes[row] is None:
        return True
    there = cache.columns.pods[row].values()
    return not any(p.metadata.deletion_timestamp is not None and p.priority < pod.priority for p in there)


def candidate_rows(decision: Decision, unresolvable: Collection[str], cache: ClusterCache) -> Mask:
    """(N,) bool, the rows where taking pods away may help: no reported reason is one that it cannot mend."""
    rows: Mask = cache.snapshot().has_node & ~decision.refused_for(unresolvable)
    return rows


# --- extenders ---------------------------------------------------------------------------------


def _after_extenders(
    pod: Pod, found: dict[str, Victims], cache: ClusterCache, extenders: Sequence[Extender]
) -> dict[str, Victims]:
    """What the extenders leave, one after the other. Upstream: 1.16 processPreemptionWithExtenders."""
    for extender in extenders:
        if not found:
            break
        try:
            answer = extender.preempt(pod, {name: (v.pods, v.violations) for name, v in found.items()})
            found = {name: victims_by_uid(extender, name, uids, 0, cache) for name, uids in answer.items()}
        except SchedulingError:
            if not extender.config.ignorable:
                raise
    return found


def victims_by_uid(extender: Extender, name: str, uids: Sequence[str], violations: int, cache: ClusterCache) -> Victims:
    """The pods that an extender names by uid, on the node where it says they are.

    Raises SchedulingError when one is not there. Upstream: HTTPExtender.convertPodUIDToPod.
    """
    row = cache.columns.row_of.get(name)
    there = {} if row is None else cache.columns.pods[row]
    for uid in uids:
        if uid not in there:
            raise SchedulingError(
                f"extender: {extender.config.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return Victims(tuple(there[uid] for uid in uids), violations)
