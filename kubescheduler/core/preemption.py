"""Preemption: which pods would have to go so that a pod fits, and on which node that hurts least.

Read ``preempt`` first. ``preemption_rules.py`` has what releases do differently, ``preemption_trials.py`` tries nodes
without some of their pods, ``preemption_memory.py`` remembers what was found, ``preemption_choice.py`` says what that
costs and which node is picked.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from kubescheduler.core.algorithm import joined
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.preemption_choice import (
    NOWHERE,
    Candidates,
    NodeNames,
    NodePick,
    Preemption,
    Victims,
    costs_of,
    listed,
    pick_steps,
)
from kubescheduler.core.preemption_memory import PreemptionMemory
from kubescheduler.core.preemption_rules import PreemptionRules, itself_if_nominated
from kubescheduler.core.preemption_trials import PreemptionAttempt, trials
from kubescheduler.core.status import Code, Status
from predicates.types import FitPredicate

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

NO_CANDIDATE = "no candidate node for preemption"
NEEDS_NONE = 'expected at least one victim pod on node "{}"'


class Search(msgspec.Struct, frozen=True, eq=False):
    """One pod that fits nowhere, and what is known of it."""

    pod: Pod
    decision: Decision
    state: ClassState
    """What is remembered of its class."""
    checks: Sequence[FitPredicate]
    """Those that have something to say of it, in order."""
    cache: ClusterCache
    memory: PreemptionMemory
    """What is remembered of preemption."""
    extenders: Sequence[Extender]
    samples: bool = False
    """Nodes are sampled as upstream does it, candidates too; otherwise every node is tried."""

    def attempt(self) -> PreemptionAttempt:
        """What tries it on nodes with some of their pods taken away."""
        return PreemptionAttempt(self.pod, self.state.info, self.checks, self.cache, self.memory.roster.refresh())


class CandidateSampling(msgspec.Struct, frozen=True, eq=False):
    """How many candidates are enough, and where the search for them begins."""

    percentage: int
    """Of the nodes where preemption may help."""
    absolute: int
    """Nodes; the larger of the two counts."""
    start: Callable[[int], int]
    """Of n nodes the place of the first that is tried, such as ``random.Random.randrange``."""

    def sample(self, candidates: Candidates, rows: IntArray) -> Candidates:
        """The candidates among ``rows`` that are met before there are enough; those without violations come first.

        rows: (n,) where preemption may help, in the order of the node list. The search ends once one candidate violates
        no budget and there are enough of both sorts. Upstream: 1.20 and 1.36 dryRunPreemption.
        """
        if not len(rows):
            return candidates
        wanted = min(len(rows), max(len(rows) * self.percentage // 100, self.absolute))
        met = np.roll(rows, -self.start(len(rows)))
        kinds = candidates.costs.kinds
        met = met[kinds[met] != NOWHERE]
        violates: Mask = candidates.costs.of_kinds.violations[kinds[met]] > 0
        enough = np.flatnonzero((np.cumsum(~violates) > 0) & (np.arange(1, len(met) + 1) >= wanted))
        if len(enough):
            end = int(enough[0]) + 1
            met, violates = met[:end], violates[:end]
        return candidates.only(np.concatenate([met[~violates][:wanted], met[violates][:wanted]]))


def preempt(
    search: Search, rules: PreemptionRules, sampling: CandidateSampling | None = None
) -> tuple[Preemption, Status]:
    """What preemption would do for a pod that fits nowhere, and the status that it ends in. Changes nothing.

    Raises SchedulingError when an extender that is not ignorable fails. Upstream: 1.16 Preempt, 1.20 and 1.36
    DefaultPreemption.
    """
    pod, cache = search.pod, search.cache
    codes = search.decision.rows_by_code()
    obstacle = _ineligible(search, rules, codes)
    if obstacle is not None:
        return Preemption(keeps_nomination=rules.keeps_nomination), _refused(rules, lambda: obstacle)
    rows = rules.potential(cache.snapshot().has_node, codes)
    if not rows.any():
        return Preemption(cleared=rules.cleared(pod)), _refused(rules, functools.partial(_nobody, search, rows))
    candidates, faults = _search(search, rows, rules)
    if sampling is not None:
        order = cache.listed_rows()
        candidates = sampling.sample(candidates, order[rows[order]])
    if not len(candidates):
        if faults:
            raise SchedulingError(f"preemption: {joined(faults)}")
        fruitless = itself_if_nominated(pod) if rules.fruitless_clears else ()
        return Preemption(cleared=fruitless), _refused(rules, functools.partial(_nobody, search, rows))
    interested = [e for e in search.extenders if e.config.preempt_verb and e.is_interested(pod)]
    if interested:
        left = left_by_extenders(search, rules, dict(candidates), interested)
        if not left:
            return Preemption(keeps_nomination=rules.keeps_nomination), _refused(rules, lambda: NO_CANDIDATE)
        return picked(pod, left, rules.pick, cache), Status()
    return picked(pod, candidates, rules.pick, cache), Status()


def _refused(rules: PreemptionRules, text: Callable[[], str]) -> Status:
    return Status.unschedulable(f"preemption: {text()}") if rules.explains else Status(Code.Unschedulable)


def _ineligible(search: Search, rules: PreemptionRules, codes: Mapping[Code, Mask]) -> str | None:
    """Why the pod may not preempt: it never does, or lower ones are still leaving the node it is nominated to.

    codes: code → (N,) bool, the nodes whose status has it.
    """
    pod, cache = search.pod, search.cache
    if rules.honours_policy and pod.spec.preemption_policy == "Never":
        return NEVER
    row = cache.columns.row_of.get(pod.nominated_node_name)
    if row is None or cache.columns.nodes[row] is None:
        return None
    code = next((code for code, rows in codes.items() if rows[row]), rules.silent)
    if rules.retries_hopeless and code is Code.UnschedulableAndUnresolvable:
        return None
    there = cache.columns.pods[row].values()
    return TERMINATING if any(p.priority < pod.priority and rules.leaving(p) for p in there) else None


# --- candidates --------------------------------------------------------------------------------


def _search(search: Search, rows: Mask, rules: PreemptionRules) -> tuple[Candidates, list[str]]:
    """(node → victims, the errors of nodes that need none); rows: (N,) bool. Upstream: dryRunPreemption."""
    candidates = search.memory.candidates(search.attempt(), search.state, rows, rules)
    if not rules.needs_victims:
        return candidates, []
    candidates, needless = candidates.without_needless()
    return candidates, [NEEDS_NONE.format(name) for name in needless]


def picked(pod: Pod, candidates: Mapping[str, Victims], pick: NodePick, cache: ClusterCache) -> Preemption:
    """What a release makes of candidates, those that extenders left among them."""
    chosen: Sequence[str]
    names: Callable[[Mask], list[str]]
    if isinstance(candidates, Candidates):
        costs, names = candidates.costs, candidates.listed
        chosen = NodeNames(candidates.names, pick(costs), cache.columns.rows_by_name)
    else:
        costs, names = costs_of(candidates), functools.partial(listed, candidates)
        chosen = tuple(sorted(names(pick(costs))))
    steps = functools.partial(pick_steps, pick, costs, names)
    waiting = cache.nominated().get(chosen[0], ()) if chosen else ()
    return Preemption(candidates, chosen, tuple(p for p in waiting if p.priority < pod.priority), pick=steps)


# --- why there is no candidate -------------------------------------------------------------------


def _nobody(search: Search, rows: Mask) -> str:
    """The text of 1.36 for a search without result: what stands in the way on each node. rows: (N,) bool, those that
    were tried."""
    tried = np.flatnonzero(rows)
    counts: Counter[str] = Counter()
    total = search.decision.nodes_total
    counts[NOT_HELPFUL] = total - len(tried)
    if len(tried):
        counts.update(_refusals(search, tried))
    listed = sorted((f"{count} {reason}" for reason, count in (+counts).items()), key=str.encode)
    return f"0/{total} nodes are available: {', '.join(listed)}."


def _refusals(search: Search, rows: IntArray) -> Counter[str]:
    """Reason → on how many of the rows it stands in the way when all lower pods have left."""
    attempt = search.attempt()
    lower = attempt.lower(rows).any(axis=0)
    counts = Counter({NO_VICTIMS: int((~lower).sum())})
    for tried, trial in trials(attempt, rows[lower]) if lower.any() else ():
        leaving = attempt.lower(tried)
        for place in np.flatnonzero(leaving.any(axis=1)).tolist():
            trial.take_away(place, leaving[place])
        counts.update(trial.refusals())
    return counts


# --- extenders ---------------------------------------------------------------------------------


def left_by_extenders(
    search: Search, rules: PreemptionRules, candidates: Mapping[str, Victims], extenders: Sequence[Extender]
) -> Mapping[str, Victims]:
    """What the extenders leave, one after the other; one that is ignorable and fails leaves them as they are.

    Raises SchedulingError for any other. Upstream: 1.16 processPreemptionWithExtenders, later callExtenders.
    """
    for extender in extenders:
        if not candidates:
            break
        try:
            candidates = _asked(search, rules, extender, candidates)
        except SchedulingError:
            if not extender.config.ignorable:
                raise
    return candidates


def _asked(
    search: Search, rules: PreemptionRules, extender: Extender, candidates: Mapping[str, Victims]
) -> Mapping[str, Victims]:
    """What an extender leaves. Raises SchedulingError, also for a node that needs no victims where it may not."""
    answer = extender.preempt(search.pod, {name: (v.pods, v.violations) for name, v in candidates.items()})
    left = {name: _victims(search, rules, extender, name, *said) for name, said in answer.items()}
    if rules.needs_victims and (empty := sorted(name for name, v in left.items() if not v.pods)):
        if not extender.config.ignorable:
            raise SchedulingError(NEEDS_NONE.format(empty[0]))
        left = {name: v for name, v in left.items() if v.pods}
    return left


def _victims(
    search: Search, rules: PreemptionRules, extender: Extender, name: str, uids: Sequence[str], violations: int
) -> Victims:
    """The pods that an extender names by uid, on the node where it says they are.

    Raises SchedulingError when one is not there. Upstream: HTTPExtender.convertPodUIDToPod.
    """
    columns = search.cache.columns
    row = columns.row_of.get(name)
    if rules.knows_nodes and (row is None or columns.nodes[row] is None):
        raise SchedulingError(f'nodeinfo not found for node name "{name}"')
    there = {} if row is None else columns.pods[row]
    for uid in uids:
        if uid not in there:
            raise SchedulingError(
                f"extender: {extender.config.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return Victims(tuple(there[uid] for uid in uids), violations)
