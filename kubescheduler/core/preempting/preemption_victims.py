"""Which pods would have to go from a node so that a pod fits there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical.roster import Roster
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from kubescheduler.core.preempting.preemption_candidates import Candidates
from kubescheduler.core.preempting.preemption_costs import NOWHERE, costs_of_kinds, earliest_starts, nodes_of_kinds
from kubescheduler.core.preempting.preemption_trials import Part, PreemptionAttempt, trials

Budgets = Sequence[tuple[str, Matcher]]
"""(namespace, selector) of the PodDisruptionBudgets that allow no disruption."""

Protect = Callable[[Roster, IntArray, Mask], Mask]
"""Of (roster, (n,) rows, (K, n) bool the places that would leave): (K, n) bool, those that a budget protects."""


class VictimRules(msgspec.Struct, frozen=True, eq=False):
    """How a release finds the victims on a node."""

    protect: Protect
    """Who of them a disruption budget protects."""
    alike: bool = False
    """See ``trials``; what is protected then follows from the pods' classes and their order on a node."""
    lower_only: bool = False
    """A node without lower pods is none where the pod would fit."""
    by_importance: bool = False
    """See Candidates."""


def find_candidates(attempt: PreemptionAttempt, rows: IntArray, rules: VictimRules) -> Candidates:
    """Where the pod would fit if lower ones left, and which of them have to. rows: (n,) those that are tried."""
    roster = attempt.roster
    parts = [find_victims(attempt, part, rules) for part in trials(attempt, rows, alike=rules.alike)]
    offsets = np.cumsum([0, *(len(part.tried) for part in parts[:-1])])
    tried = np.concatenate([part.tried for part in parts])
    victims, protected = (np.hstack([getattr(part, name) for part in parts]) for name in ("victims", "protected"))
    columns = attempt.cache.columns
    kinds, starts = np.full(len(columns), NOWHERE), np.zeros(len(columns))
    for part, first in zip(parts, offsets, strict=True):
        fitting, of = part.rows[part.fits], part.kind_of[part.fits]
        kinds[fitting] = of + first
        starts[fitting] = earliest_starts(part.victims[:, of], roster.starts[:, fitting])
    priorities = roster.priorities[:, tried]
    return Candidates(
        names=columns.published[0],
        row_of=columns.row_of,
        kinds=kinds,
        nodes=nodes_of_kinds(kinds, len(tried)),
        victims=victims,
        protected=protected,
        of_kinds=costs_of_kinds(victims, protected, priorities, by_importance=rules.by_importance),
        starts=starts,
        pods=roster.pods.copy(),
        by_importance=rules.by_importance,
    )


class FoundVictims(msgspec.Struct, frozen=True, eq=False):
    """What was found on rows that were tried together."""

    rows: IntArray
    """(n,) the rows."""
    fits: Mask
    """(n,) bool, the pod would fit there."""
    tried: IntArray
    """(k,) the rows that were really tried."""
    tried_fits: Mask
    """(k,) bool, the pod would fit there, for all that moving rules see."""
    kind_of: IntArray
    """(n,) for each row the index in ``tried``."""
    victims: Mask
    """(K, k) bool, see Candidates."""
    protected: Mask
    """(K, k) bool, see Candidates."""


def find_victims(attempt: PreemptionAttempt, part: Part, rules: VictimRules) -> FoundVictims:
    """Every lower pod is removed hypothetically; each is put back, those that a budget protects first, the important
    before the others, and stays if the pod still fits. Upstream: 1.16 selectVictimsOnNode.
    """
    roster, rows, trial = attempt.roster, part.tried, part.trial
    codes = roster.codes[:, rows]
    victims = (codes > 0) & (roster.priorities[:, rows] < attempt.pod.priority)
    lower: Mask = np.asarray(victims.any(axis=0)) if rules.lower_only else np.ones(len(rows), np.bool_)
    places = np.flatnonzero(victims.any(axis=1)).tolist()
    for place in places:
        trial.take_away(place, victims[place])
    fits = lower & trial.fits(lower)
    protected = rules.protect(roster, rows, victims)
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
    return FoundVictims(part.rows, fitting, rows, fits, kind_of, victims, protected)


def protected_classes(budgets: Budgets, roster: Roster, rows: IntArray, victims: Mask) -> Mask:  # noqa: ARG001
    """A budget that allows no disruption selects the pod's class; every pod is judged alone."""

    def is_protected(info: PodInfo) -> bool:
        if not info.labels:
            return False
        return any(namespace == info.namespace and matches(info.labels) for namespace, matches in budgets)

    return roster.select(rows, is_protected)


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
