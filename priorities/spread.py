"""EvenPodsSpreadPriority: fewer of the pods that a soft spread constraint counts in the node's domains is better.

With q = Σ over constraints of the pods in the node's domain, total = Σ q and low = min q of the nodes that carry every
key, the score is 10·(total - q)/(total - low), truncated; 10 where total = low.

PodTopologySpread as a score, the second half, weighs by the number of domains: raw = Σ over constraints of pods in the
domain · ln(domains + 2) + (maxSkew - 1). With its lowest and highest over the nodes the score is
100·(highest + lowest - raw)/highest; 100 where the highest is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint, spread_labels
from clusterstate.growable import ABSENT, IntArray, Mask, constant_row
from clusterstate.objects import TopologySpreadConstraint
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import SelectorError
from clusterstate.selectors.spread_constraints import (
    SOFT,
    Constraints,
    DomainCounts,
    SpreadConstraint,
    SpreadRules,
    any_pods,
    carrying,
    constraints_of,
    spread_over,
)
from clusterstate.selectors.spread_counts import (
    MakePlan,
    SoftPlan,
    SoftPlans,
    pods_on,
    soft_plan_1_20,
    soft_plan_1_27,
    soft_plan_1_36,
)
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import (
    Calculation,
    RuleEvidence,
    added,
    domain_text,
    formula,
    one_row,
    plugin_evidence,
    priority_evidence,
    selector_text,
    traced,
)
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityError,
)

UNQUALIFIED = -1
"""Stands for a row that lacks a topology key; sums of pods are never negative."""


def spread_sums(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: q of each row, UNQUALIFIED where the node lacks a key.

    Pods of every namespace count, on all nodes that carry every key and that the pod's node affinity picks,
    feasible or not. Raises PriorityError for an invalid selector that is tried on a pod.
    """
    constraints = constraints_of(pod, SOFT)
    out = np.zeros(len(snapshot), np.int64)
    if not constraints:
        return out
    spreads = _spreads(pod, snapshot, constraints)
    if spreads is not None:
        for constraint in constraints:
            out += spreads[constraint.topology_key].totals[snapshot.label_codes(constraint.topology_key)[0]]
    out[~carrying(snapshot, (constraint.topology_key for constraint in constraints))] = UNQUALIFIED
    return out


def _spreads(
    pod: PodInfo, snapshot: Snapshot, constraints: tuple[TopologySpreadConstraint, ...]
) -> dict[str, DomainCounts] | None:
    """Topology key → the counts per domain; None when nothing can be counted."""
    try:
        return spread_over(pod, snapshot, constraints, None)
    except SelectorError as error:
        if any_pods(pod, snapshot, constraints, None):
            raise PriorityError(str(error)) from None
        return None


def spread_scores(_: PodInfo, __: Snapshot, sums: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best``; 0 where the row is UNQUALIFIED. Upstream: 1.16 CalculateEvenPodsSpreadPriority, with 10."""
    qualified = sums != UNQUALIFIED
    counted = sums if qualified.all() else sums[qualified]
    if not counted.size:
        return np.zeros(len(sums), np.int64)
    scores = _evened(sums, int(counted.sum()), int(counted.min()), best)
    return scores if counted is sums else np.where(qualified, scores, 0)


def _evened(sums: IntArray, total: int, low: int, best: int) -> IntArray:
    """(n,) 0–``best``. total, low: the sum and the smallest of q over the rows that carry every key."""
    if total == low:
        return np.full(len(sums), best, np.int64)
    scores: IntArray = (best * ((total - sums) / (total - low))).astype(np.int64)
    return scores


def _constant(pod: PodInfo) -> int | None:
    return None if pod.spec.topology_spread_constraints and constraints_of(pod, SOFT) else 0


def explain_sums(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``spread_sums``."""
    constraints = constraints_of(pod, SOFT)
    if not constraints:
        return Calculation("0", {"soft constraints": "none"})
    row = one_row(snapshot, at)
    domains = {c.topology_key: domain_text(row, c.topology_key, 0) for c in constraints}
    if not carrying(row, domains)[0]:
        return Calculation(
            str(UNQUALIFIED), {"domains": list(domains.values()), "left out": "a topology key is missing"}
        )
    spreads = _spreads(pod, snapshot, constraints)
    if spreads is None:
        return Calculation("0", {"domains": list(domains.values()), "pods counted": "none"})
    counts = {key: int(spread.totals[row.label_codes(key)[0][0]]) for key, spread in spreads.items()}
    terms = [str(counts[constraint.topology_key]) for constraint in constraints]
    return Calculation(added(terms), {f"pods where {domains[key]}": count for key, count in counts.items()})


def explain_scores(pod: PodInfo, _: Snapshot, sums: IntArray, at: int) -> Calculation:
    """Of ``spread_scores``."""
    if not constraints_of(pod, SOFT) or sums[at] == UNQUALIFIED:
        return Calculation("0")
    counted = sums[sums != UNQUALIFIED]
    total, low = int(counted.sum()), int(counted.min())
    score = _evened(traced(sums[at : at + 1]), traced(total), traced(low), MAX_PRIORITY)[0]
    return Calculation(formula(score), {"sum over the nodes": total, "lowest": low})


def make_even_pods_spread(_: PriorityArgs) -> PriorityConfig:
    """For the pod's `topologySpreadConstraints` with ScheduleAnyway: q is the number of matching pods in the node's
    domains, added up over the constraints; total and low are the sum and the smallest of q over the nodes that fit and
    carry all keys. The score is 10·(total - q)/(total - low), truncated; 10 if all are alike, 0 without the keys.

    Upstream: 1.16 CalculateEvenPodsSpreadPriority.
    """
    reads = LOCAL | Reads.ALL_NODES | Reads.ALL_PODS
    evidence = priority_evidence("EvenPodsSpreadPriority", explain_sums, explain_scores)
    return PriorityConfig(
        "EvenPodsSpreadPriority",
        spread_sums,
        spread_scores,
        Footprint(reads, pod_key=spread_labels),
        _constant,
        evidence=evidence,
        reduce_to_100=partial(spread_scores, best=MAX_NODE_SCORE),
    )


Floats = NDArray[np.float64]
Rounding = Callable[[Floats], IntArray]

# --- PodTopologySpread ------------------------------------------------------------------------

NEARLY_HALF = math.nextafter(0.5, 0.0)
"""Added to a number it leaves out no half: their sum is rounded to the next whole number; see IEEE 754."""
ERROR_1_20 = "error when calculating preScoreState: obtaining pod's soft topology spread constraints: "
ERROR_1_36 = "calculating preScoreState: obtaining pod's soft topology spread constraints: "


def truncated(scores: Floats) -> IntArray:
    """Without the fraction. Release 1.20."""
    return scores.astype(np.int64)


def rounded(scores: Floats) -> IntArray:
    """To the nearest, halves away from zero. Release 1.36."""
    return truncated(scores + np.copysign(NEARLY_HALF, scores))


def spread_raw(snapshot: Snapshot, plan: SoftPlan, rounding: Rounding) -> IntArray:
    """(n,) int64 of exactly the feasible rows; 0 for rows that lack a key all nodes must have.

    A constraint whose key a row lacks adds nothing there. Upstream: 1.20 and 1.36 initPreScoreState and Score.
    """
    out: Floats | None = None
    for at, part in enumerate(plan.parts):
        if part.counter is not None:
            scores = _by_domain(snapshot, plan, at)[snapshot.label_codes(part.constraint.topology_key)[0]]
        else:
            scores = _framework_scores(pods_on(snapshot, part.pods), part.constraint, plan.nodes_among(snapshot))
            if part.lacking is not None:
                scores[part.lacking if snapshot.rows is None else part.lacking[snapshot.rows]] = 0.0
        out = scores if out is None else out + scores
    assert out is not None
    raw = rounding(out)
    if plan.ignored is not None:
        raw[plan.ignored_among(snapshot)] = 0
    return raw


def _by_domain(snapshot: Snapshot, plan: SoftPlan, at: int) -> Floats:
    """(D,) by domain code what one constraint adds to the rows of a domain."""
    part = plan.parts[at]
    assert part.counter is not None
    scores = _framework_scores(part.counter.totals(snapshot.whole()), part.constraint, plan.size(snapshot, at))
    scores[ABSENT] = 0.0
    return scores


def _framework_scores(counts: IntArray, constraint: SpreadConstraint, size: int) -> Floats:
    scores: Floats = np.multiply(counts, math.log(size + 2), dtype=np.float64)
    if constraint.max_skew != 1:
        scores += float(constraint.max_skew - 1)
    return scores


def framework_scores(snapshot: Snapshot, plan: SoftPlan, raw: IntArray) -> IntArray:
    """(n,) 0-100; rows that are passed over have 0 and no say. Upstream: 1.20 and 1.36 NormalizeScore."""
    if plan.ignored is None:
        return _normalised(raw, raw)
    ignored = plan.ignored_among(snapshot)
    scores = _normalised(np.where(ignored, 0, raw), raw[~ignored])
    scores[ignored] = 0
    return scores


def _normalised(raw: IntArray, counted: IntArray) -> IntArray:
    """(p,) the scores that raw ones come to. counted: those that have a say."""
    if not len(counted):
        return np.zeros(len(raw), np.int64)
    low, high = int(counted.min()), int(counted.max())
    if high > 0 and high - low < len(counted) == len(raw):
        return _turned(np.arange(low, high + 1), low, high)[raw - low]
    return _turned(raw, low, high)


def _turned(raw: IntArray, low: int, high: int) -> IntArray:
    return MAX_NODE_SCORE * (low + high - raw) // high if high > 0 else np.full(len(raw), MAX_NODE_SCORE, np.int64)


# --- evidence ------------------------------------------------------------------------------


def _explain_raw(snapshot: Snapshot, plan: SoftPlan, rounding: str, at: int) -> Calculation:
    """Of ``spread_raw``. rounding: the function's name in formulas."""
    terms: list[str] = []
    inputs: dict[str, Any] = {}
    ignored = plan.ignored is not None and bool(plan.ignored_among(snapshot)[at])
    for index, part in enumerate(plan.parts):
        constraint = part.constraint
        code = int(snapshot.label_codes(constraint.topology_key)[0][at])
        here = {
            "domain": domain_text(snapshot, constraint.topology_key, at),
            "selector": selector_text(constraint.selector),
            "maxSkew": constraint.max_skew,
        }
        if code != ABSENT:
            pods, domains = _counted(snapshot, plan, index, at)
            here |= {"pods": pods, "domains": domains}
            terms.append(f"({pods} * ln({domains} + 2) + {constraint.max_skew - 1})")
        inputs[f"constraint {index + 1}"] = here
    if ignored:
        return Calculation("0", inputs | {"left out": "a topology key is missing"})
    return Calculation(f"{rounding}({added(terms)})", inputs)


def _counted(snapshot: Snapshot, plan: SoftPlan, index: int, at: int) -> tuple[int, int]:
    """(the pods in a row's domain of one constraint, how many domains there are)."""
    part = plan.parts[index]
    if part.counter is None:
        return int(pods_on(snapshot, part.pods)[at]), plan.nodes_among(snapshot)
    code = snapshot.label_codes(part.constraint.topology_key)[0][at]
    return int(part.counter.totals(snapshot.whole())[code]), plan.size(snapshot, index)


def _explain_scores(snapshot: Snapshot, plan: SoftPlan, raw: IntArray, at: int) -> Calculation:
    """Of ``spread_scores``."""
    ignored = None if plan.ignored is None else plan.ignored_among(snapshot)
    if ignored is not None and ignored[at]:
        return Calculation("0", {"left out": "a topology key is missing"})
    counted = raw if ignored is None else raw[~ignored]
    low, high = int(counted.min()), int(counted.max())
    score = _turned(traced(raw[at : at + 1]), traced(low), traced(high))[0]
    return Calculation(formula(score), {"lowest": low, "highest": high})


# --- the rule of each release --------------------------------------------------------------


class _Rule(msgspec.Struct, frozen=True, eq=False):
    rules: SpreadRules
    plans: SoftPlans
    rounding: Rounding
    rounding_name: str
    error_text: str

    def constraints(self, pod: PodInfo, snapshot: Snapshot) -> Constraints:
        try:
            return self.rules.constraints(pod, snapshot, SOFT)
        except SelectorError as error:
            raise PriorityError(f"{self.error_text}{error}") from None

    def plan(self, pod: PodInfo, snapshot: Snapshot) -> SoftPlan | None:
        """None: no soft constraint."""
        whole = snapshot.whole()
        constraints = self.constraints(pod, whole)
        return self.plans.of(pod, whole, constraints, self.rules.requires_all(pod)) if constraints else None

    def stands(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        return not self.constraints(pod, snapshot)

    def alone(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Without soft constraints no pods are counted."""
        return not self.constraints(pod, snapshot)

    def settle(self, pod: PodInfo, snapshot: Snapshot, mapped: IntArray) -> IntArray:
        plan = self.plan(pod, snapshot)
        return mapped if plan is None else spread_raw(snapshot, plan, self.rounding)

    def reduce(self, pod: PodInfo, snapshot: Snapshot, raw: IntArray) -> IntArray:
        plan = self.plan(pod, snapshot)
        return constant_row(MAX_NODE_SCORE, len(raw)) if plan is None else framework_scores(snapshot, plan, raw)

    def evidence(self) -> RuleEvidence:
        return plugin_evidence("PodTopologySpread", self._explain, self._explain_reduce)

    def _explain(self, pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        plan = self.plan(pod, snapshot)
        if plan is None:
            return Calculation("0", {"soft constraints": "none"})
        return _explain_raw(snapshot, plan, self.rounding_name, at)

    def _explain_reduce(self, pod: PodInfo, snapshot: Snapshot, raw: IntArray, at: int) -> Calculation:
        plan = self.plan(pod, snapshot)
        return Calculation(str(MAX_NODE_SCORE)) if plan is None else _explain_scores(snapshot, plan, raw, at)


class _CountingRule(_Rule, frozen=True, eq=False):
    """Pods are counted, and the scores are those of 1.16 in finer steps."""

    def settle(self, pod: PodInfo, snapshot: Snapshot, mapped: IntArray) -> IntArray:
        plan = self.plan(pod, snapshot)
        return mapped if plan is None else counted_pods(snapshot, plan)

    def reduce(self, pod: PodInfo, snapshot: Snapshot, raw: IntArray) -> IntArray:
        plan = self.plan(pod, snapshot)
        if plan is None:
            return constant_row(0, len(raw))
        ignored, total, low = _counted_in(snapshot, plan, raw)
        return np.where(ignored & (total != low), 0, _evened(raw, total, low, MAX_NODE_SCORE))

    def _explain(self, pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        plan = self.plan(pod, snapshot)
        raw = 0 if plan is None else int(counted_pods(snapshot, plan)[at])
        return Calculation(str(raw), {"pods in the node's domains": raw})

    def _explain_reduce(self, pod: PodInfo, snapshot: Snapshot, raw: IntArray, at: int) -> Calculation:
        plan = self.plan(pod, snapshot)
        if plan is None:
            return Calculation("0", {"sum over the nodes": 0})
        ignored, total, low = _counted_in(snapshot, plan, raw)
        inputs: dict[str, Any] = {"sum over the nodes": total, "lowest": low}
        if ignored[at] and total != low:
            return Calculation("0", inputs | {"left out": "a topology key is missing"})
        score = _evened(traced(raw[at : at + 1]), traced(total), traced(low), MAX_NODE_SCORE)[0]
        return Calculation(formula(score), inputs)


def _counted_in(snapshot: Snapshot, plan: SoftPlan, raw: IntArray) -> tuple[Mask, int, int]:
    """((n,) bool: the rows that have no say, sum and lowest of the others)."""
    ignored = np.zeros(len(raw), np.bool_) if plan.ignored is None else plan.ignored_among(snapshot)
    counted = raw[~ignored]
    return ignored, int(counted.sum()), int(counted.min(initial=np.iinfo(np.int64).max))


def counted_pods(snapshot: Snapshot, plan: SoftPlan) -> IntArray:
    """(n,) the matching pods in the domains of exactly the feasible rows, added up over the constraints; 0 for rows
    that lack a key. Upstream: 1.18 PodTopologySpread.
    """
    whole, out = snapshot.whole(), np.zeros(len(snapshot), np.int64)
    for part in plan.parts:
        if part.counter is None:
            out += pods_on(snapshot, part.pods)
        else:
            out += part.counter.totals(whole)[snapshot.label_codes(part.constraint.topology_key)[0]]
    if plan.ignored is not None:
        out[plan.ignored_among(snapshot)] = 0
    return out


def pod_topology_spread_1_18(rules: SpreadRules) -> PriorityConfig:
    """PodTopologySpread's score; without soft constraints every node has 0. Upstream: 1.18."""
    rule = _CountingRule(rules, SoftPlans(soft_plan_1_20), truncated, "trunc", ERROR_1_20)
    made = pod_topology_spread_1_20(rules)
    return msgspec.structs.replace(made, reduce=rule.reduce, settle=rule.settle, evidence=rule.evidence())


def _nothing(_: PodInfo, snapshot: Snapshot) -> IntArray:
    return constant_row(0, len(snapshot))


READS = Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES


def _narrow(pod: PodInfo) -> Reads:
    return READS & ~Reads.SERVICES if pod.spec.topology_spread_constraints else READS


def pod_topology_spread_1_20(rules: SpreadRules) -> PriorityConfig:
    """PodTopologySpread's score; without soft constraints every node has 100. Upstream: 1.20."""
    return _scoring(_Rule(rules, SoftPlans(soft_plan_1_20), truncated, "trunc", ERROR_1_20), skips=False)


def pod_topology_spread_1_24(rules: SpreadRules) -> PriorityConfig:
    """The same, rounded. Upstream: 1.24."""
    return _scoring(_rounding(rules, soft_plan_1_20), skips=False)


def pod_topology_spread_1_27(rules: SpreadRules) -> PriorityConfig:
    """The same; an empty selector counts no pod. Upstream: 1.27."""
    return _scoring(_rounding(rules, soft_plan_1_27), skips=False)


def pod_topology_spread_1_28(rules: SpreadRules) -> PriorityConfig:
    """The same; without soft constraints it skips. Upstream: 1.28."""
    return _scoring(_rounding(rules, soft_plan_1_27), skips=True)


def pod_topology_spread_1_36(rules: SpreadRules) -> PriorityConfig:
    """PodTopologySpread's score; each constraint counts by itself. Upstream: 1.36."""
    return _scoring(_rounding(rules, soft_plan_1_36), skips=True)


def _rounding(rules: SpreadRules, plan: MakePlan) -> _Rule:
    return _Rule(rules, SoftPlans(plan), rounded, "round", ERROR_1_36)


def _scoring(rule: _Rule, *, skips: bool) -> PriorityConfig:
    """skips: pods without soft constraints are not scored."""

    def pre_score(pod: PodInfo, snapshot: Snapshot) -> bool:
        return bool(rule.constraints(pod, snapshot)) or not skips

    return PriorityConfig(
        "PodTopologySpread",
        _nothing,
        rule.reduce,
        Footprint(
            READS,
            narrow=_narrow,
            pod_key=rule.rules.pod_key,
            row_local=rule.alone,
            unaffected_by_pods=rule.stands,
            pre_reads=Reads.SERVICES,
        ),
        pre_score=pre_score,
        settle=rule.settle,
        evidence=rule.evidence(),
    )


SPREAD: dict[str, PriorityConfigFactory] = {"EvenPodsSpreadPriority": PriorityConfigFactory(make_even_pods_spread)}
