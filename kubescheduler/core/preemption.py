"""Preemption: which pods would have to go so that a pod fits, and on which node that hurts least."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.roster import Roster
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from kubescheduler.core.algorithm import Algorithm, Extender
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import PickStep, Preemption, Victims
from kubescheduler.core.preemption_candidates import Candidates, NodeNames, choose, pick_1_16, pick_steps, steps_of
from kubescheduler.core.preemption_trials import Part, PreemptionAttempt, trials

Budgets = Sequence[tuple[str, Matcher]]
"""(namespace, selector) of the PodDisruptionBudgets that allow no disruption."""

Protect = Callable[[Roster, IntArray, Mask], Mask]
"""Of (roster, (n,) rows, (K, n) bool the places that would leave): (K, n) bool, those that a budget protects."""


def preempt(decision: Decision, info: PodInfo, cache: ClusterCache, algorithm: Algorithm, roster: Roster) -> Preemption:
    """What preemption would do for a pod that fits nowhere. Changes nothing.

    Raises SchedulingError when an extender that is not ignorable fails. Upstream: 1.16 Preempt.
    """
    pod = decision.pod
    never = algorithm.honours_preemption_policy and pod.spec.preemption_policy == "Never"
    if never or not is_eligible(pod, cache):
        return Preemption()
    rows = candidate_rows(decision, algorithm.unresolvable, cache)
    if not len(rows):
        return Preemption(cleared=(pod,))
    attempt = PreemptionAttempt(pod, info, algorithm.predicates, cache, roster.refresh())
    found = find_candidates(attempt, rows, functools.partial(protected_classes, exhausted_budgets(cache.objects)))
    roster = attempt.roster
    interested = [e for e in algorithm.extenders if e.config.preempt_verb and e.is_interested(pod)]
    if interested and len(found):
        after = _after_extenders(pod, dict(found), cache, interested)
        pick = functools.partial(steps_of, after, pick_1_16)
        return _preemption(pod, after, choose(after, pick_1_16), cache, pick)
    costs = found.costs(roster.starts)
    pick = functools.partial(pick_steps, pick_1_16, costs, found.at)
    return _preemption(pod, found, chosen_rows(found, pick_1_16(costs), cache), cache, pick)


def chosen_rows(found: Candidates, at: IntArray, cache: ClusterCache) -> NodeNames:
    """The names of candidates by position."""
    return NodeNames(found.names, found.rows[at], cache.columns.ranks)


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


def candidate_rows(decision: Decision, unresolvable: Collection[str], cache: ClusterCache) -> IntArray:
    """(n,) the rows where taking pods away may help: no reported reason is one that it cannot mend."""
    return np.flatnonzero(cache.snapshot().has_node & ~decision.refused_for(unresolvable))


# --- victims -----------------------------------------------------------------------------------


def find_candidates(
    attempt: PreemptionAttempt, rows: IntArray, protect: Protect, *, alike: bool = False, lower_only: bool = False
) -> Candidates:
    """Where the pod would fit if lower ones left, and which of them have to.

    alike: see ``trials``; what is protected then follows from the pods' classes and their order on a node.
    lower_only: a node without lower pods is none.
    """
    roster = attempt.roster
    parts = [_find(attempt, part, protect, lower_only=lower_only) for part in trials(attempt, rows, alike=alike)]
    offsets = np.cumsum([0, *(len(part.kinds) for part in parts[:-1])])
    kinds = np.concatenate([part.kinds for part in parts])
    return Candidates(
        names=attempt.cache.columns.published[0],
        rows=np.concatenate([part.rows for part in parts]),
        kinds=np.concatenate([part.kind_of + offset for part, offset in zip(parts, offsets, strict=True)]),
        victims=np.hstack([part.victims for part in parts]),
        protected=np.hstack([part.protected for part in parts]),
        priorities=roster.priorities[:, kinds],
        pods=list(roster.pods),
    )


@attrs.frozen(eq=False)
class _Found:
    """rows: (n,) where the pod would fit. kinds: (k,) the rows that were tried. kind_of: (n,) indices into them.
    victims, protected: (K, k) bool, see Candidates."""

    rows: IntArray
    kinds: IntArray
    kind_of: IntArray
    victims: Mask
    protected: Mask


def _find(attempt: PreemptionAttempt, part: Part, protect: Protect, *, lower_only: bool) -> _Found:
    """Every lower pod is removed hypothetically; each is put back, those that a budget protects first, the important
    before the others, and stays if the pod still fits. Upstream: 1.16 selectVictimsOnNode.
    """
    roster, rows, trial = attempt.roster, part.tried, part.trial
    codes = roster.codes[:, rows]
    victims = (codes > 0) & (roster.priorities[:, rows] < attempt.pod.priority)
    lower: Mask = np.asarray(victims.any(axis=0)) if lower_only else np.ones(len(rows), np.bool_)
    protected = protect(roster, rows, victims)
    places = np.flatnonzero(victims.any(axis=1)).tolist()
    for place in places:
        trial.take_away(place, victims[place])
    fits = lower & trial.fits(lower)
    victims &= fits
    for first in (protected, ~protected) if protected.any() else (~protected,):
        for place in places:
            back = victims[place] & first[place]
            if back.any():
                trial.put_back(place, back)
                leaves = back & ~trial.fits(back)
                if leaves.any():
                    trial.take_away(place, leaves)
                victims[place] = (victims[place] & ~back) | leaves
    kind_of = np.arange(len(rows)) if part.copies is None else part.copies
    fitting = fits[kind_of] if part.allowed is None else fits[kind_of] & part.allowed
    return _Found(part.rows[fitting], rows, kind_of[fitting], victims, protected)


def protected_classes(budgets: Budgets, roster: Roster, rows: IntArray, victims: Mask) -> Mask:  # noqa: ARG001
    """A budget that allows no disruption selects the pod's class; every pod is judged alone."""

    def is_protected(info: PodInfo | None) -> bool:
        if info is None or not info.labels:
            return False
        return any(namespace == info.namespace and matches(info.labels) for namespace, matches in budgets)

    classes = np.fromiter(map(is_protected, roster.infos), np.bool_, len(roster.infos))
    protected: Mask = classes[roster.codes[:, rows]]
    return protected


def exhausted_budgets(objects: ClusterObjects) -> Budgets:
    """The budgets that allow no disruption; a selector that is empty or invalid protects nothing."""
    out: list[tuple[str, Matcher]] = []
    for budget in objects.pod_disruption_budgets.values():
        if budget.disruptions_allowed <= 0 and budget.selector is not None:
            try:
                matcher = compile_label_selector(budget.selector)
            except SelectorError:
                continue
            if not matcher.everything:
                out.append((budget.metadata.namespace, matcher))
    return out


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
                f"extender: {extender.config.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return Victims(tuple(there[uid] for uid in uids), 0)
