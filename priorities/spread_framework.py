"""PodTopologySpread as a score: fewer of the pods that a soft spread constraint counts in the node's domains is better.

raw = Σ over constraints of pods in the domain * ln(domains + 2) + (maxSkew - 1), releases 1.20 and 1.36. With its
lowest and highest over the nodes the score is 100·(highest + lowest - raw)/highest; 100 where the highest is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clusterstate.changes import Reads
from clusterstate.growable import IntArray, Mask, constant_row
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import SelectorError
from clusterstate.snapshot import Snapshot
from clusterstate.topology.spread_constraints import Constraints, SpreadConstraint, SpreadRules
from clusterstate.topology.spread_counts import SOFT
from clusterstate.topology.spread_soft import (
    MOST_PLANS,
    PLAN_ROWS,
    SoftPlan,
    SoftPlans,
    pods_on,
    soft_plan_1_20,
    soft_plan_1_36,
)
from priorities.input_texts import domain_text, selector_text
from priorities.score_evidence import Calculation, RuleEvidence, added, plugin_evidence
from priorities.types import MAX_NODE_SCORE, PriorityConfig, PriorityError, ScoreRows

Floats = NDArray[np.float64]
Rounding = Callable[[Floats], IntArray]

MOST_PODS = 1024
"""Pod classes of which the plan is found at once."""
PLANNED_FOR = Reads.ALL_NODES | Reads.SERVICES
"""What a pod's plan follows from."""

ERROR_1_20 = "error when calculating preScoreState: obtaining pod's soft topology spread constraints: "
ERROR_1_36 = "calculating preScoreState: obtaining pod's soft topology spread constraints: "


def truncated(scores: Floats) -> IntArray:
    """Without the fraction. Release 1.20."""
    return scores.astype(np.int64)


def rounded(scores: Floats) -> IntArray:
    """To the nearest, halves away from zero. Release 1.36."""
    nearest = np.rint(scores)
    off = scores - nearest
    if off.max(initial=0.0) == 0.5 or off.min(initial=0.0) == -0.5:
        whole = np.trunc(scores)
        nearest = whole + np.copysign(np.abs(scores - whole) >= 0.5, scores)
    return nearest.astype(np.int64)


def spread_raw(pod: PodInfo, snapshot: Snapshot, plan: SoftPlan, rounding: Rounding) -> IntArray:
    """(n,) int64 of exactly the feasible rows; 0 for rows that lack a key all nodes must have.

    A constraint whose key a row lacks adds nothing there. Upstream: 1.20 and 1.36 initPreScoreState and Score.
    """
    whole = snapshot.whole()
    if len(plan.parts) == 1 and plan.parts[0].counter is not None:
        table = rounding(_by_domain(snapshot, whole, plan, 0))
        raw = table[snapshot.label_codes(plan.parts[0].constraint.topology_key)[0]]
    else:
        raw = rounding(_sum(pod, snapshot, whole, plan))
    if plan.ignored is not None:
        raw[plan.ignored_among(snapshot)] = 0
    return raw


def _sum(pod: PodInfo, snapshot: Snapshot, whole: Snapshot, plan: SoftPlan) -> Floats:
    out: Floats | None = None
    for at, part in enumerate(plan.parts):
        codes = snapshot.label_codes(part.constraint.topology_key)[0]
        if part.counter is None:
            counts = pods_on(snapshot, pod.namespace, part.selectors)
            scores = _scores(counts, part.constraint, plan.nodes_among(snapshot))
            if part.lacking is not None:
                scores[codes == ABSENT] = 0.0
        else:
            scores = _by_domain(snapshot, whole, plan, at)[codes]
        out = scores if out is None else out + scores
    assert out is not None
    return out


def _by_domain(snapshot: Snapshot, whole: Snapshot, plan: SoftPlan, at: int) -> Floats:
    """(D,) by domain code what one constraint adds to the rows of a domain."""
    part = plan.parts[at]
    assert part.counter is not None
    scores = _scores(part.counter.totals(whole), part.constraint, plan.size(snapshot, at))
    scores[ABSENT] = 0.0
    return scores


def _scores(counts: IntArray, constraint: SpreadConstraint, size: int) -> Floats:
    scores: Floats = np.multiply(counts, math.log(size + 2), dtype=np.float64)
    if constraint.max_skew != 1:
        scores += float(constraint.max_skew - 1)
    return scores


def spread_scores(snapshot: Snapshot, plan: SoftPlan, raw: IntArray) -> IntArray:
    """(n,) 0-100; rows that are passed over have 0 and no say. Upstream: 1.20 and 1.36 NormalizeScore."""
    ignored: Mask | None = None if plan.ignored is None else plan.ignored_among(snapshot)
    counted = raw if ignored is None else raw[~ignored]
    if not len(counted):
        return np.zeros(len(raw), np.int64)
    low, high = int(counted.min()), int(counted.max())
    if high <= 0:
        scores = np.full(len(raw), MAX_NODE_SCORE, np.int64)
    elif high - low < len(raw):
        table = MAX_NODE_SCORE * (low + high - np.arange(low, high + 1)) // high
        scores = table[raw - low] if ignored is None else table[np.where(ignored, 0, raw - low)]
    else:
        scores = MAX_NODE_SCORE * (low + high - raw) // high
    if ignored is not None:
        scores[ignored] = 0
    return scores


# --- evidence ------------------------------------------------------------------------------


def _explain_raw(pod: PodInfo, snapshot: Snapshot, plan: SoftPlan, rounding: str, at: int) -> Calculation:
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
            pods, domains = _counted(pod, snapshot, plan, index, at)
            here |= {"pods": pods, "domains": domains}
            terms.append(f"({pods} * ln({domains} + 2) + {constraint.max_skew - 1})")
        inputs[f"constraint {index + 1}"] = here
    if ignored:
        return Calculation("0", inputs | {"left out": "a topology key is missing"})
    return Calculation(f"{rounding}({added(terms)})", inputs)


def _counted(pod: PodInfo, snapshot: Snapshot, plan: SoftPlan, index: int, at: int) -> tuple[int, int]:
    """(the pods in a row's domain of one constraint, how many domains there are)."""
    part = plan.parts[index]
    if part.counter is None:
        return int(pods_on(snapshot, pod.namespace, part.selectors)[at]), plan.nodes_among(snapshot)
    code = snapshot.label_codes(part.constraint.topology_key)[0][at]
    return int(part.counter.totals(snapshot.whole())[code]), plan.size(snapshot, index)


def _explain_scores(snapshot: Snapshot, plan: SoftPlan, raw: IntArray, at: int) -> Calculation:
    """Of ``spread_scores``."""
    ignored = None if plan.ignored is None else plan.ignored_among(snapshot)
    if ignored is not None and ignored[at]:
        return Calculation("0", {"left out": "a topology key is missing"})
    counted = raw if ignored is None else raw[~ignored]
    low, high = int(counted.min()), int(counted.max())
    inputs = {"lowest": low, "highest": high}
    if high <= 0:
        return Calculation(str(MAX_NODE_SCORE), inputs)
    return Calculation(f"{MAX_NODE_SCORE} * ({low} + {high} - {int(raw[at])}) // {high}", inputs)


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
        """None: no soft constraint. Found once for a pod class while nodes and services stay as they are."""
        whole = snapshot.whole()
        memo: dict[tuple[PodInfo, int], SoftPlan | None] = whole.derived(("soft plans", self), PLANNED_FOR, dict)
        name = pod, len(whole)
        if name not in memo:
            if len(memo) >= min(MOST_PODS, max(MOST_PLANS, PLAN_ROWS // max(len(whole), 1))):
                memo.clear()
            constraints = self.constraints(pod, whole)
            all_keys = self.rules.requires_all(pod)
            memo[name] = self.plans.of(pod, whole, constraints, all_keys) if constraints else None
        return memo[name]

    def stands(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        return not self.constraints(pod, snapshot)

    def alone(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Without soft constraints no pods are counted."""
        return not self.constraints(pod, snapshot)

    def settle(self, pod: PodInfo, snapshot: Snapshot, mapped: IntArray) -> IntArray:
        plan = self.plan(pod, snapshot)
        return mapped if plan is None else spread_raw(pod, snapshot, plan, self.rounding)

    def reduce(self, pod: PodInfo, snapshot: Snapshot, raw: IntArray) -> IntArray:
        plan = self.plan(pod, snapshot)
        return constant_row(MAX_NODE_SCORE, len(raw)) if plan is None else spread_scores(snapshot, plan, raw)

    def prepare(self, pod: PodInfo, whole: Snapshot) -> ScoreRows:
        plan = self.plan(pod, whole)
        assert plan is not None, "without soft constraints it stands, or is skipped"

        def score_rows(view: Snapshot) -> tuple[IntArray, IntArray]:
            raw = spread_raw(pod, view, plan, self.rounding)
            return raw, spread_scores(view, plan, raw)

        return score_rows

    def evidence(self) -> RuleEvidence:
        return plugin_evidence("PodTopologySpread", self._explain, self._explain_reduce)

    def _explain(self, pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        plan = self.plan(pod, snapshot)
        if plan is None:
            return Calculation("0", {"soft constraints": "none"})
        return _explain_raw(pod, snapshot, plan, self.rounding_name, at)

    def _explain_reduce(self, pod: PodInfo, snapshot: Snapshot, raw: IntArray, at: int) -> Calculation:
        plan = self.plan(pod, snapshot)
        return Calculation(str(MAX_NODE_SCORE)) if plan is None else _explain_scores(snapshot, plan, raw, at)


def _nothing(_: PodInfo, snapshot: Snapshot) -> IntArray:
    return constant_row(0, len(snapshot))


READS = Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES


def _narrow(pod: PodInfo) -> Reads:
    return READS & ~Reads.SERVICES if pod.spec.topology_spread_constraints else READS


def pod_topology_spread_1_20(rules: SpreadRules) -> PriorityConfig:
    """PodTopologySpread's score; without soft constraints every node has 100. Upstream: 1.20."""
    rule = _Rule(rules, SoftPlans(soft_plan_1_20), truncated, "trunc", ERROR_1_20)

    def pre_score(pod: PodInfo, snapshot: Snapshot) -> bool:
        rule.constraints(pod, snapshot)
        return True

    return PriorityConfig(
        "PodTopologySpread",
        _nothing,
        rule.reduce,
        READS,
        narrow=_narrow,
        pre_score=pre_score,
        pre_score_reads=Reads.SERVICES,
        settle=rule.settle,
        prepare=rule.prepare,
        stands=rule.stands,
        evidence=rule.evidence(),
        traits=rules.traits,
        alone=rule.alone,
    )


def pod_topology_spread_1_36(rules: SpreadRules) -> PriorityConfig:
    """PodTopologySpread's score; without soft constraints it skips. Upstream: 1.36."""
    rule = _Rule(rules, SoftPlans(soft_plan_1_36), rounded, "round", ERROR_1_36)

    def pre_score(pod: PodInfo, snapshot: Snapshot) -> bool:
        return bool(rule.constraints(pod, snapshot))

    return PriorityConfig(
        "PodTopologySpread",
        _nothing,
        rule.reduce,
        READS,
        narrow=_narrow,
        pre_score=pre_score,
        pre_score_reads=Reads.SERVICES,
        settle=rule.settle,
        prepare=rule.prepare,
        stands=rule.stands,
        evidence=rule.evidence(),
        traits=rules.traits,
        alone=rule.alone,
    )
