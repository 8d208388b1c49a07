"""Preemption: which pods would have to go so that a pod fits, and on which node that hurts least."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.cluster import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.roster import Roster, started
from clusterstate.selectors import Matcher, SelectorError, compile_label_selector
from kubescheduler.core.algorithm import Algorithm, Extender
from kubescheduler.core.decision import Decision, Preemption, Victims
from kubescheduler.core.trials import Attempt, Trial, trials

PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive before they are summed, so that fewer victims weigh less."""
LOWEST = np.iinfo(np.int64).min

Budgets = Sequence[tuple[str, Matcher]]
"""(namespace, selector) of the PodDisruptionBudgets that allow no disruption."""


@attrs.frozen(eq=False)
class Candidates(Mapping[str, Victims]):
    """Node → victims, of every node where the pod would fit; a node's victims are put together when asked for.

    rows: (n,) the nodes. victims, protected: (K, n) bool, places of the roster: who leaves, whom a budget protects.
    priorities, starts: (K, n) of the roster. pods: row → its pods by place.
    """

    names: tuple[str, ...]
    rows: IntArray
    victims: Mask
    protected: Mask
    priorities: IntArray
    starts: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    pods: Sequence[Sequence[Pod]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (self.names[row] for row in self.rows.tolist())

    def __getitem__(self, name: str) -> Victims:
        for at, row in enumerate(self.rows.tolist()):
            if self.names[row] == name:
                return self._victims(at, row)
        raise KeyError(name)

    def _victims(self, at: int, row: int) -> Victims:
        leaving, kept = self.victims[:, at], self.protected[:, at]
        first, then = np.flatnonzero(leaving & kept), np.flatnonzero(leaving & ~kept)
        there = self.pods[row]
        return Victims(tuple(there[place] for place in (*first.tolist(), *then.tolist())), len(first))

    def choose(self) -> tuple[str, ...]:
        """The nodes that the release may pick, sorted by name."""
        leaving, violating = self.victims, self.victims & self.protected
        if not leaving.any():
            return tuple(sorted(self))
        first = leaving.argmax(axis=0)
        if violating.any():
            first = np.where(violating.any(axis=0), violating.argmax(axis=0), first)
        highest = np.where(leaving, self.priorities, LOWEST).max(axis=0, initial=LOWEST)
        costs = Costs(
            violations=violating.sum(axis=0),
            first=np.take_along_axis(self.priorities, first[None], axis=0)[0],
            total=np.where(leaving, self.priorities + PRIORITY_OFFSET, 0).sum(axis=0),
            count=leaving.sum(axis=0),
            start=np.where(leaving & (self.priorities == highest), self.starts, np.inf).min(axis=0, initial=np.inf),
        )
        return tuple(sorted(map(self.names.__getitem__, self.rows[costs.least()].tolist())))


@attrs.frozen(eq=False)
class Costs:
    """What preemption on each of n nodes costs: (n,) int64 each, ``start`` float64.

    first: the priority of the first victim, violating ones being first. start: the earliest start among the
    victims of the highest priority.
    """

    violations: IntArray
    first: IntArray
    total: IntArray
    count: IntArray
    start: np.ndarray[tuple[int, ...], np.dtype[np.float64]]

    def least(self) -> IntArray:
        """The positions of the nodes that may be picked.

        Those without victims; else by fewest violations, lowest first victim, lowest sum of priorities, fewest
        victims, latest start. Upstream: 1.16 pickOneNodeForPreemption.
        """
        free = np.flatnonzero(self.count == 0)
        if len(free):
            return free
        left = np.arange(len(self.count))
        for cost in (self.violations, self.first, self.total, self.count, -self.start):
            if len(left) > 1:
                left = left[cost[left] == cost[left].min()]
        return left


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
    attempt = Attempt(pod, info, algorithm.predicates, cache, roster.refresh())
    found = find_candidates(attempt, rows, exhausted_budgets(cache.objects))
    interested = [e for e in algorithm.extenders if e.config.preempt_verb and e.is_interested(pod)]
    if interested and len(found):
        after = _after_extenders(pod, dict(found), cache, interested)
        return _preemption(pod, after, choose(after), cache)
    return _preemption(pod, found, found.choose(), cache)


def _preemption(pod: Pod, found: Mapping[str, Victims], chosen: tuple[str, ...], cache: ClusterCache) -> Preemption:
    waiting = cache.nominated().get(chosen[0], ()) if chosen else ()
    return Preemption(found, chosen, tuple(p for p in waiting if p.priority < pod.priority))


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


def find_candidates(attempt: Attempt, rows: IntArray, budgets: Budgets) -> Candidates:
    """Where the pod would fit if lower ones left, and which of them have to."""
    roster = attempt.roster
    parts = [_find(attempt, part, trial, budgets) for part, trial in trials(attempt, rows)]
    at, victims, protected = parts[0]
    for more, others, kept in parts[1:]:
        at = np.concatenate([at, more])
        victims, protected = np.hstack([victims, others]), np.hstack([protected, kept])
    return Candidates(
        names=attempt.cache.columns.published[0],
        rows=at,
        victims=victims,
        protected=protected,
        priorities=roster.priorities[:, at],
        starts=roster.starts[:, at],
        pods=list(roster.pods),
    )


def _find(attempt: Attempt, rows: IntArray, trial: Trial, budgets: Budgets) -> tuple[IntArray, Mask, Mask]:
    """(rows where the pod would fit, (K, n) victims there, (K, n) pods there that a budget protects).

    Every lower pod is thought away; then each is put back, those that a budget protects first, the important
    before the others, and stays if the pod still fits. Upstream: 1.16 selectVictimsOnNode.
    """
    roster = attempt.roster
    codes = roster.codes[:, rows]
    victims = (codes > 0) & (roster.priorities[:, rows] < attempt.pod.priority)
    protected = _protected_classes(roster, budgets)[codes]
    places = np.flatnonzero(victims.any(axis=1)).tolist()
    for place in places:
        trial.take_away(place, victims[place])
    fits = trial.fits(np.ones(len(rows), np.bool_))
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
    return rows[fits], victims[:, fits], protected[:, fits]


def _protected_classes(roster: Roster, budgets: Budgets) -> Mask:
    """(classes,) bool: a budget that allows no disruption selects the class; every pod is judged alone."""

    def is_protected(info: PodInfo | None) -> bool:
        if info is None or not info.labels:
            return False
        return any(namespace == info.namespace and matches(info.labels) for namespace, matches in budgets)

    return np.fromiter(map(is_protected, roster.infos), np.bool_, len(roster.infos))


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


def choose(found: Mapping[str, Victims]) -> tuple[str, ...]:
    """The nodes that the release may pick, sorted by name, of victims in the order extenders gave them."""
    names, victims = list(found), list(found.values())
    costs = Costs(
        violations=np.array([v.violations for v in victims], np.int64),
        first=np.array([v.pods[0].priority if v.pods else 0 for v in victims], np.int64),
        total=np.array([sum(pod.priority + PRIORITY_OFFSET for pod in v.pods) for v in victims], np.int64),
        count=np.array([len(v.pods) for v in victims], np.int64),
        start=np.array([earliest_start(v.pods) for v in victims], np.float64),
    )
    return tuple(sorted(names[at] for at in costs.least().tolist()))


def earliest_start(pods: Sequence[Pod]) -> float:
    """The earliest start among the pods of the highest priority."""
    highest = max((pod.priority for pod in pods), default=0)
    return min((started(pod) for pod in pods if pod.priority == highest), default=np.inf)


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
                f"extender: {extender.config.url_prefix} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return Victims(tuple(there[uid] for uid in uids), 0)
