"""What preemption found for every class of pods, by kinds of nodes, and which rows have to be tried again."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.growable import Growable, IntArray, Mask
from clusterstate.hypothetical import PodOrder, PodsByImportance, by_importance
from clusterstate.podinfo import PodInfo
from kubescheduler.core.nominated import RowWatch, nominated_changes, stay_on_their_rows
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.preemption_choice import (
    NOWHERE,
    Candidates,
    Costs,
    KindCosts,
    costs_of_kinds,
    earliest_starts,
    nodes_of_kinds,
)
from kubescheduler.core.preemption_rules import PreemptionRules
from kubescheduler.core.preemption_trials import (
    Part,
    PreemptionAttempt,
    find_victims,
    moving_and_fixed,
    trials,
)

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
        self, attempt: PreemptionAttempt, state: ClassState, rows: Mask, rules: PreemptionRules, budgets: object
    ) -> Candidates:
        """Where the pod would fit among the rows, (N,) bool, if lower ones left. budgets: equal while the same pods are
        protected."""
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
            costs=Costs(kinds, nodes_of_kinds(kinds, len(self._table)), self._table.costs, self._starts.view.copy()),
            victims=self._table.victims,
            protected=self._table.protected,
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

    def _try(self, attempt: PreemptionAttempt, state: ClassState, rows: IntArray, rules: PreemptionRules) -> None:
        budgets = self._cache.objects.pod_disruption_budgets.values()
        by_class = not any(budget.disrupted_pods for budget in budgets)  # so does what is protected
        if by_class and self._watch.by_row and state.is_current(self._cache.columns.log):
            rows = self._try_alike(attempt, state, rows, rules)
        for part in trials(attempt, rows) if len(rows) else ():
            self._set(part[0], self._found(attempt, part, rules))

    def _try_alike(
        self, attempt: PreemptionAttempt, state: ClassState, rows: IntArray, rules: PreemptionRules
    ) -> IntArray:
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

    def _found(self, attempt: PreemptionAttempt, part: Part, rules: PreemptionRules) -> IntArray:
        """(n,) the kinds of rows that are tried, each a new one."""
        fits, victims, protected = find_victims(attempt, part, rules)
        priorities = self._roster.priorities[:, part[0]]
        costs = costs_of_kinds(victims, protected, priorities, by_importance=rules.by_importance)
        first = self._table.add(victims, protected, costs)
        return np.where(fits, np.arange(first, len(self._table)), NOWHERE)

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

    def candidates(
        self, attempt: PreemptionAttempt, state: ClassState, rows: Mask, rules: PreemptionRules
    ) -> Candidates:
        """Where the pod would fit if lower ones left, and which of them have to.

        rows: (N,) bool, those that are tried. state: what is remembered for pods of its class.
        """
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
