"""DefaultPreemption's search: on which nodes would lower pods make room, which of them, and where it hurts least."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical import PodsByImportance
from clusterstate.objects import Pod, PodDisruptionBudget
from kubescheduler.core.algorithm import joined
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.preemption import PreemptionMemory, left_by_extenders, picked, victims_by_uid
from kubescheduler.core.preemption_choice import (
    NOWHERE,
    Candidates,
    Costs,
    NodePick,
    Note,
    Preemption,
    Victims,
    pick_1_16,
)
from kubescheduler.core.preemption_trials import PreemptionAttempt as Trials
from kubescheduler.core.preemption_trials import VictimRules, selector_of, trials
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.deciding.filter_plugins import Filtering


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
        met = met[candidates.kinds[met] != NOWHERE]
        violates: Mask = candidates.of_kinds.violations[candidates.kinds[met]] > 0
        enough = np.flatnonzero((np.cumsum(~violates) > 0) & (np.arange(1, len(met) + 1) >= wanted))
        if len(enough):
            end = int(enough[0]) + 1
            met, violates = met[:end], violates[:end]
        return candidates.only(np.concatenate([met[~violates][:wanted], met[violates][:wanted]]))


def violating(objects: ClusterObjects, roster: PodsByImportance, rows: IntArray, victims: Mask) -> Mask:
    """(K, n) bool: the pod would take more from some budget than is left of it.

    Pods are counted from the most important one, node by node, over all victims; a pod that a budget already counts
    as disrupted takes nothing. Upstream: 1.20 and 1.36 filterPodsWithPDBViolation.
    """
    out = np.zeros(victims.shape, np.bool_)
    if not victims.any():
        return out
    infos = [roster.infos[code] for code in np.unique(roster.codes[:, rows][victims]).tolist()]
    labels = {(info.namespace, label) for info in infos if info is not None for label in info.labels.items()}
    for budget in objects.pod_disruption_budgets.values():
        selects = selector_of(budget) if _may_select(budget, labels) else None
        if selects is None:
            continue
        taken = roster.select(rows, selects) & victims
        if taken.any():
            if budget.disrupted_pods:
                _spare(taken, budget.disrupted_pods, roster, rows)
            out |= taken & (taken.cumsum(axis=0) > budget.disruptions_allowed)
    return out


def unprotected(_: ClusterObjects, __: PodsByImportance, ___: IntArray, victims: Mask) -> Mask:
    """(K, n) bool, False everywhere: budgets are not read. Upstream: 1.20 with feature gate PodDisruptionBudget off."""
    return np.zeros(victims.shape, np.bool_)


def _may_select(budget: PodDisruptionBudget, labels: Container[tuple[str, tuple[str, str]]]) -> bool:
    """Whether each of the labels that the budget wants is there in its namespace, on one pod or another."""
    wanted = () if budget.selector is None else budget.selector.match_labels.items()
    return all((budget.metadata.namespace, label) in labels for label in wanted)


def _spare(taken: Mask, disrupted: tuple[str, ...], roster: PodsByImportance, rows: IntArray) -> None:
    """Takes the pods that are already disrupted out of the mask."""
    for place, at in zip(*(axis.tolist() for axis in np.nonzero(taken)), strict=True):
        if roster.pods[int(rows[at])][place].metadata.name in disrupted:
            taken[place, at] = False


NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

NO_CANDIDATE = "no candidate node for preemption"
NEEDS_NONE = 'expected at least one victim pod on node "{}"'

Found = Mapping[str, Victims]


class ProcessCrash(SchedulingError):
    """What ends the release's process."""


class Search(msgspec.Struct, frozen=True, eq=False):
    """One pod that fits nowhere, and what is known of it."""

    pod: Pod
    decision: Decision
    filtering: Filtering
    cache: ClusterCache
    memory: PreemptionMemory
    """What is remembered of preemption."""
    extenders: Sequence[Extender]
    samples: bool = False
    """Nodes are sampled as upstream does it, candidates too; otherwise every node is tried."""

    def trials(self) -> Trials:
        """The checks of a node with some of its pods taken away."""
        roster = self.memory.roster.refresh()
        return Trials(self.pod, self.filtering.state.info, self.filtering.checks(), self.cache, roster)


class PreemptionRules(msgspec.Struct, frozen=True):
    """How one release preempts."""

    leaving: Callable[[Pod], bool]
    """Whether a pod that is being deleted is one that makes room for the nominated pod."""
    silent: Code
    """The code of a node without a status."""
    potential: Callable[[Mask, Mapping[Code, Mask]], Mask]
    """Of ((N,) bool the nodes, code → (N,) bool those whose status has it): (N,) bool, where preemption may help."""
    pick: NodePick
    """The candidates that may be chosen."""
    needs_victims: bool
    """A node that needs no victims is an error."""
    by_importance: bool
    """Victims are listed by importance; otherwise those whom budgets protect come first."""
    explains: bool
    """The release says why there is no candidate."""
    fruitless_clears: bool
    """A pod loses its own nomination when no node that was tried is a candidate, not only when none was tried."""
    honours_policy: bool = True
    """A pod with preemptionPolicy Never preempts nothing."""
    retries_hopeless: bool = True
    """Pods that leave the nominated node do not count once nothing can help there."""
    violating: Callable[[ClusterObjects, PodsByImportance, IntArray, Mask], Mask] = violating
    """Of (objects, roster, (n,) rows, (K, n) bool victims): (K, n) bool, whom disruption budgets protect."""


def leaving_1_20(pod: Pod) -> bool:
    """Whether a pod is being deleted, for whatever reason."""
    return pod.metadata.deletion_timestamp is not None


def leaving_1_36(pod: Pod) -> bool:
    """It is being deleted because the scheduler preempted it."""
    first = next((c for c in pod.conditions if c.type == "DisruptionTarget"), None)
    mine = first is not None and first.status == "True" and first.reason == "PreemptionByScheduler"
    return pod.metadata.deletion_timestamp is not None and mine


def potential_1_20(nodes: Mask, codes: Mapping[Code, Mask]) -> Mask:
    """Every node whose status, if it has one, can be mended. Upstream: 1.20 nodesWherePreemptionMightHelp."""
    hopeless = codes.get(Code.UnschedulableAndUnresolvable)
    return nodes if hopeless is None else nodes & ~hopeless


def potential_1_36(nodes: Mask, codes: Mapping[Code, Mask]) -> Mask:
    """The nodes with status Unschedulable. Upstream: 1.36 nodesWherePreemptionMightHelp."""
    return nodes & codes.get(Code.Unschedulable, False)


def preempt(
    search: Search, rules: PreemptionRules, sampling: CandidateSampling | None = None
) -> tuple[Preemption, Status]:
    """What preemption would do, and the status the plugin ends in. Changes nothing.

    Raises SchedulingError when an extender that is not ignorable fails. Upstream: 1.20 and 1.36 DefaultPreemption.
    """
    pod, cache = search.pod, search.cache
    codes = search.decision.rows_by_code()
    obstacle = _ineligible(search, rules, codes)
    if obstacle is not None:
        return Preemption(keeps_nomination=True), _refused(rules, lambda: obstacle)
    rows = rules.potential(cache.snapshot().has_node, codes)
    if not rows.any():
        nominated = (pod,) if pod.nominated_node_name else ()
        return Preemption(cleared=nominated), _refused(rules, functools.partial(_nobody, search, rows))
    candidates, faults = _search(search, rows, rules)
    if sampling is not None:
        order = cache.listed_rows()
        candidates = sampling.sample(candidates, order[rows[order]])
    if not len(candidates):
        if faults:
            raise SchedulingError(f"preemption: {joined(faults)}")
        fruitless = (pod,) if pod.nominated_node_name and rules.fruitless_clears else ()
        return Preemption(cleared=fruitless), _refused(rules, functools.partial(_nobody, search, rows))
    interested = [e for e in search.extenders if e.config.preempt_verb and e.is_interested(pod)]
    if interested:
        left = left_by_extenders(dict(candidates), interested, functools.partial(_asked, search, rules))
        if not left:
            return Preemption(keeps_nomination=True), _refused(rules, lambda: NO_CANDIDATE)
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
    objects = search.cache.objects
    by_class = not any(budget.disrupted_pods for budget in objects.pod_disruption_budgets.values())
    protect = functools.partial(rules.violating, objects)
    needs = rules.needs_victims
    victims = VictimRules(protect, alike=by_class, lower_only=True, by_importance=rules.by_importance)
    candidates = search.memory.candidates(search.trials(), search.filtering.state, rows, victims)
    if not needs:
        return candidates, []
    candidates, needless = candidates.without_needless()
    return candidates, [NEEDS_NONE.format(name) for name in needless]


def pick_1_20(costs: Costs, note: Note | None = None) -> Mask:
    """Upstream: 1.20 pickOneNodeForPreemption, which ends the process when one of several nodes has no victims."""
    left = costs.present()
    if len(left) > 1:
        violations = costs.of_kinds.violations[left]
        left = left[violations == violations.min()]
    if not costs.of_kinds.count[left].all() and costs.nodes[left].sum() > 1:
        raise ProcessCrash("panic: runtime error: index out of range [0] with length 0 (a node needs no victims)")
    return costs.least(left, note)


def pick_1_36(costs: Costs, note: Note | None = None) -> Mask:
    """Upstream: 1.36 pickOneNodeForPreemption."""
    return costs.least(costs.present(), note)


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
    attempt = search.trials()
    lower = _lower(search.pod, attempt.roster, rows).any(axis=0)
    counts = Counter({NO_VICTIMS: int((~lower).sum())})
    for tried, trial in trials(attempt, rows[lower]) if lower.any() else ():
        leaving = _lower(search.pod, attempt.roster, tried)
        for place in np.flatnonzero(leaving.any(axis=1)).tolist():
            trial.take_away(place, leaving[place])
        counts.update(trial.refusals())
    return counts


def _lower(pod: Pod, roster: PodsByImportance, rows: IntArray) -> Mask:
    """(K, n) bool, the places with a pod of lower priority."""
    lower: Mask = (roster.codes[:, rows] > 0) & (roster.priorities[:, rows] < pod.priority)
    return lower


# --- extenders ---------------------------------------------------------------------------------


def _asked(search: Search, rules: PreemptionRules, extender: Extender, candidates: Found) -> Found:
    """What an extender leaves. Raises SchedulingError, also for a node that needs no victims where it may not."""
    answer = extender.preempt_counted(search.pod, {name: (v.pods, v.violations) for name, v in candidates.items()})
    left = {name: _victims(search, extender, name, *said) for name, said in answer.items()}
    if rules.needs_victims and (empty := sorted(name for name, v in left.items() if not v.pods)):
        if not extender.config.ignorable:
            raise SchedulingError(NEEDS_NONE.format(empty[0]))
        left = {name: v for name, v in left.items() if v.pods}
    return left


def _victims(search: Search, extender: Extender, name: str, uids: Sequence[str], violations: int) -> Victims:
    columns = search.cache.columns
    row = columns.row_of.get(name)
    if row is None or columns.nodes[row] is None:
        raise SchedulingError(f'nodeinfo not found for node name "{name}"')
    return victims_by_uid(extender, name, uids, violations, search.cache)


PREEMPTION_1_20 = PreemptionRules(
    leaving_1_20,
    Code.Success,
    potential_1_20,
    pick_1_20,
    needs_victims=False,
    by_importance=False,
    explains=False,
    fruitless_clears=False,
)

PREEMPTION_1_22 = msgspec.structs.replace(PREEMPTION_1_20, pick=pick_1_36, needs_victims=True)
PREEMPTION_1_24 = msgspec.structs.replace(PREEMPTION_1_22, explains=True)

PREEMPTION_1_18 = msgspec.structs.replace(PREEMPTION_1_20, pick=pick_1_16, honours_policy=False, retries_hopeless=False)

PREEMPTION_1_36 = PreemptionRules(
    leaving_1_36,
    Code.UnschedulableAndUnresolvable,
    potential_1_36,
    pick_1_36,
    needs_victims=True,
    by_importance=True,
    explains=True,
    fruitless_clears=True,
)

PREEMPTION_1_31 = msgspec.structs.replace(PREEMPTION_1_36, by_importance=False)
PREEMPTION_1_27 = msgspec.structs.replace(PREEMPTION_1_31, silent=Code.Success, potential=potential_1_20)
"""Nodes without a status are tried."""
PREEMPTION_1_25 = msgspec.structs.replace(PREEMPTION_1_27, leaving=leaving_1_20)
