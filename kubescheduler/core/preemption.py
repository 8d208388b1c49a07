"""Preemption: which pods would have to go so that a pod fits, and on which node that hurts least.

Read ``preempt`` first. ``preemption_trials.py`` tries nodes without some of their pods, ``preemption_choice.py`` says
what that costs and which node a release picks; what was found for a pod class is remembered here.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.growable import Growable, IntArray, Mask
from clusterstate.hypothetical import PodOrder, PodsByImportance, by_importance
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.nominated import RowWatch, nominated_changes, stay_on_their_rows
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.preemption_choice import (
    NOWHERE,
    Candidates,
    KindCosts,
    NodeNames,
    NodePick,
    Preemption,
    Victims,
    choose,
    costs_of_kinds,
    earliest_starts,
    nodes_of_kinds,
    pick_steps,
    steps_of,
)
from kubescheduler.core.preemption_trials import (
    Part,
    PreemptionAttempt,
    VictimRules,
    exhausted,
    find_victims,
    moving_and_fixed,
    trials,
)

# --- what is remembered for a pod class ------------------------------------------------------------

UNKNOWN = NOWHERE - 1
"""The kind of a row that was not tried."""
RowKey = tuple[int, tuple[PodInfo, ...]]
"""(the class of a row, the classes of the pods nominated there that count)."""
MEMORY = 1 << 26
"""Bytes that all of it may take, about."""


class KindTable:
    """Kinds of nodes by the places that leave; kinds are added and never changed, so that a view of them stays true."""

    __slots__ = ("_costs", "_protected", "_victims")

    def __init__(self) -> None:
        self._victims = Growable((0, 0), np.bool_)
        self._protected = Growable((0, 0), np.bool_)
        self._costs = Growable((4, 0))

    def __len__(self) -> int:
        return self._costs.shape[1]

    @property
    def victims(self) -> Mask:
        """(K, k) bool, see Candidates."""
        out: Mask = self._victims.view
        return out

    @property
    def protected(self) -> Mask:
        """(K, k) bool, see Candidates."""
        out: Mask = self._protected.view
        return out

    @property
    def costs(self) -> KindCosts:
        """What each kind costs."""
        violations, first, total, count = self._costs.view
        return KindCosts(violations, first, total, count)

    def add(self, victims: Mask, protected: Mask, costs: KindCosts) -> int:
        """The first of the new kinds; the others follow."""
        size = len(self)
        places, new = max(len(victims), self._victims.shape[0]), size + victims.shape[1]
        for table, mask in ((self._victims, victims), (self._protected, protected)):
            table.resize(places, new)
            table.data[: len(mask), size:new] = mask
        self._costs.resize(4, new)
        self._costs.data[:4, size:new] = costs.violations, costs.first, costs.total, costs.count
        return size


class KeptVictims:
    """What is remembered for pods of one class, tried in one way."""

    def __init__(self, cache: ClusterCache, roster: PodsByImportance) -> None:
        self._cache = cache
        self._roster = roster
        self._watch = RowWatch(cache)
        self._kinds = Growable((0,))
        self._starts = Growable((0,), np.float64)
        self._table = KindTable()
        self._kind_of: dict[RowKey, int] = {}
        self._generation = -1

    def candidates(
        self, attempt: PreemptionAttempt, state: ClassState, rows: Mask, rules: VictimRules, budgets: object
    ) -> Candidates:
        """Where the pod would fit among the rows, (N,) bool, if lower ones left. All predicates of the attempt apply to
        it. budgets: equal while the same pods are protected."""
        self._refresh(attempt, budgets)
        mine = self._cache.columns.row_of.get(self._cache.nominations.node_of(attempt.pod.metadata.uid) or "")
        if mine is not None:
            self._kinds.data[mine] = UNKNOWN
        unknown = (rows & (self._kinds.view == UNKNOWN)).nonzero()[0]
        if len(unknown):
            self._try(attempt, state, unknown, rules)
        kinds = np.where(rows, self._kinds.view, NOWHERE)
        if mine is not None:
            self._kinds.data[mine] = UNKNOWN
        return Candidates(
            names=self._cache.columns.published[0],
            row_of=self._cache.columns.row_of,
            kinds=kinds,
            nodes=nodes_of_kinds(kinds, len(self._table)),
            victims=self._table.victims,
            protected=self._table.protected,
            of_kinds=self._table.costs,
            starts=self._starts.view.copy(),
            pods=self._roster.pods.copy(),
            by_importance=rules.by_importance,
        )

    def _refresh(self, attempt: PreemptionAttempt, budgets: object) -> None:
        """Forgets the rows that have changed."""
        size = len(self._cache.columns)
        changed = self._watch.changed(attempt.info, attempt.predicates, budgets)
        for column in (self._kinds, self._starts):
            column.resize(size)
        if changed is None or not self._watch.by_row or len(self._table) > 2 * size + 1024:
            self._kinds.data[:] = UNKNOWN
            self._table = KindTable()
            self._kind_of = {}
        else:
            self._kinds.data[list(changed)] = UNKNOWN  # rows that are new are among them
        if self._generation != self._roster.generation:
            self._generation = self._roster.generation
            self._kind_of = {}
        self._watch.noted()

    def _try(self, attempt: PreemptionAttempt, state: ClassState, rows: IntArray, rules: VictimRules) -> None:
        if rules.alike and self._watch.by_row and state.is_current(self._cache.columns.log):
            rows = self._try_alike(attempt, state, rows, rules)
        for part in trials(attempt, rows) if len(rows) else ():
            self._set(part[0], self._found(attempt, part, rules))

    def _try_alike(self, attempt: PreemptionAttempt, state: ClassState, rows: IntArray, rules: VictimRules) -> IntArray:
        """Takes what was found on rows like these, or tries one of those that are alike, by the predicates that move
        with pods; the others' verdicts are remembered. (n,) the rows of which more has to be asked."""
        cache, (moving, fixed) = self._cache, moving_and_fixed(attempt)
        asked_once = {id(predicate) for predicate in fixed}
        checks = [check for check in state.checks if id(check.predicate) in asked_once]
        if len(checks) < len(fixed) or not all(p.footprint.follows_from_pods(attempt.info) for p in moving):
            return rows
        keys: dict[int, RowKey] = {}
        names, nominated = cache.columns.names, cache.nominated()
        for row, row_class in zip(rows.tolist(), self._roster.row_classes[rows].tolist(), strict=True):
            if names[row] not in nominated:
                keys[row] = row_class, ()
            elif stay_on_their_rows(there := nominated_changes(attempt.pod, row, cache)):
                keys[row] = row_class, tuple([change.info for change in there])
        new = {key: row for row, key in keys.items() if key not in self._kind_of}
        for part in trials(attempt.by(moving), np.array(list(new.values()))) if new else ():
            kinds = self._found(attempt, part, rules)
            self._kind_of.update(zip(map(keys.__getitem__, part[0].tolist()), kinds.tolist(), strict=True))
        at = np.array(list(keys), np.int64)
        kinds = np.array([self._kind_of[key] for key in keys.values()], np.int64)
        for check in checks:
            if check.failing is not None:
                kinds[check.failing[at]] = NOWHERE
        self._set(at, kinds)
        return np.array([row for row in rows.tolist() if row not in keys], np.int64)

    def _found(self, attempt: PreemptionAttempt, part: Part, rules: VictimRules) -> IntArray:
        """(n,) the kinds of rows that are tried, each a new one."""
        judged = find_victims(attempt, part, rules)
        priorities = self._roster.priorities[:, judged.rows]
        costs = costs_of_kinds(judged.victims, judged.protected, priorities, by_importance=rules.by_importance)
        first = self._table.add(judged.victims, judged.protected, costs)
        return np.where(judged.fits, np.arange(first, len(self._table)), NOWHERE)

    def _set(self, rows: IntArray, kinds: IntArray) -> None:
        """Notes the kinds of rows, (n,)."""
        self._kinds.data[rows] = kinds
        fits = kinds != NOWHERE
        there = rows[fits]
        victims = self._table.victims[: self._roster.codes.shape[0], kinds[fits]]
        self._starts.data[there] = earliest_starts(victims, self._roster.starts[:, there])


class PreemptionMemory:
    """The pods of every node by importance, and what preemption found for every class of pods, those least recently
    tried forgotten first."""

    def __init__(self, cache: ClusterCache, order: PodOrder = by_importance) -> None:
        self._cache = cache
        self.roster = PodsByImportance(cache.columns, order)
        self._kept: OrderedDict[ClassState, KeptVictims] = OrderedDict()
        self._budgets_version, self._budgets = -1, list[tuple[object, ...]]()

    def candidates(self, attempt: PreemptionAttempt, state: ClassState, rows: Mask, rules: VictimRules) -> Candidates:
        """Where the pod would fit if lower ones left, and which of them have to.

        rows: (N,) bool, those that are tried. state: what is remembered for pods of its class.
        """
        attempt = attempt.by([p for p in attempt.predicates if p.applies(attempt.info)])
        return self._of(state).candidates(attempt, state, rows, rules, self._budget_token())

    def _of(self, state: ClassState) -> KeptVictims:
        kept = self._kept.get(state)
        if kept is None:
            kept = self._kept[state] = KeptVictims(self._cache, self.roster)
            places, size = self.roster.codes.shape
            most = max(4, MEMORY // ((4 * places + 128) * max(size, 1)))
            while len(self._kept) > most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(state)
        return kept

    def _budget_token(self) -> object:
        """Equal while budgets protect the same."""
        version = self._cache.columns.log.version(Reads.NAMESPACES)
        if self._budgets_version != version:
            self._budgets_version = version
            self._budgets = [
                (budget.metadata.namespace, budget.selector, budget.disruptions_allowed, budget.disrupted_pods)
                for budget in self._cache.objects.pod_disruption_budgets.values()
            ]
        return self._budgets


# --- what preemption would do ----------------------------------------------------------------------


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
        return Preemption(cleared=algorithm.behaviour.cleared(pod))
    attempt = PreemptionAttempt(pod, state.info, algorithm.predicates, cache, memory.roster.refresh())
    candidates = memory.candidates(
        attempt, state, rows, VictimRules(functools.partial(exhausted, cache.objects), alike=True)
    )
    pick = algorithm.behaviour.pick
    interested = [e for e in algorithm.extenders if e.config.preempt_verb and e.is_interested(pod)]
    if not interested or not len(candidates):
        return picked(pod, candidates, pick, cache)

    def ask(extender: Extender, left: Mapping[str, Victims]) -> dict[str, Victims]:
        answer = extender.preempt(pod, {name: (v.pods, v.violations) for name, v in left.items()})
        return {name: victims_by_uid(extender, name, uids, 0, cache) for name, uids in answer.items()}

    return picked(pod, left_by_extenders(dict(candidates), interested, ask), pick, cache)


def picked(pod: Pod, candidates: Mapping[str, Victims], pick: NodePick, cache: ClusterCache) -> Preemption:
    """What a release makes of candidates, those that extenders left among them."""
    chosen: Sequence[str]
    if isinstance(candidates, Candidates):
        costs = candidates.costs()
        chosen = NodeNames(candidates.names, pick(costs), cache.columns.rows_by_name)
        steps = functools.partial(pick_steps, pick, costs, candidates.listed)
    else:
        chosen, steps = choose(candidates, pick), functools.partial(steps_of, candidates, pick)
    waiting = cache.nominated().get(chosen[0], ()) if chosen else ()
    return Preemption(candidates, chosen, tuple(p for p in waiting if p.priority < pod.priority), pick=steps)


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


Ask = Callable[[Extender, Mapping[str, Victims]], Mapping[str, Victims]]
"""What an extender leaves of candidates. Raises SchedulingError."""


def left_by_extenders(
    candidates: Mapping[str, Victims], extenders: Sequence[Extender], ask: Ask
) -> Mapping[str, Victims]:
    """What the extenders leave, one after the other; one that is ignorable and fails leaves them as they are.

    Raises SchedulingError for any other. Upstream: 1.16 processPreemptionWithExtenders, later callExtenders.
    """
    for extender in extenders:
        if not candidates:
            break
        try:
            candidates = ask(extender, candidates)
        except SchedulingError:
            if not extender.config.ignorable:
                raise
    return candidates


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
