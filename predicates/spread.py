"""EvenPodsSpread, and PodTopologySpread as a filter: no domain of a topology gets too far ahead of the emptiest.

pods in the domain + 1 if the pod counts itself - pods in the emptiest domain <= maxSkew
"""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint, spread_labels
from clusterstate.growable import ABSENT, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import SelectorError, compile_label_selector
from clusterstate.selectors.pod_affinity import REPEL, first_error, running_error
from clusterstate.selectors.spread_constraints import (
    HARD,
    Constraints,
    SpreadRules,
    any_pods,
    constraints_of,
    spread_over,
)
from clusterstate.selectors.spread_counts import (
    Grounds,
    Plan,
    counts_of,
    grounds_1_20,
    grounds_1_24,
    grounds_1_27,
    grounds_1_36,
    plan_of,
)
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import (
    AnyOf,
    Explain,
    Need,
    Refusal,
    Uneven,
    Unmet,
    filter_evidence,
    label_of,
    label_text,
    predicate_evidence,
)
from predicates.types import (
    GO_ON,
    PASS,
    SKIP,
    FitPredicate,
    FitPredicateFactory,
    NodeError,
    PredicateArgs,
    PreFiltered,
    Verdict,
    never,
)

NOT_SPREAD = "node(s) didn't match pod topology spread constraints"
NO_METADATA = "metadata not pre-computed for EvenPodsSpreadPredicate"


def even_pods_spread(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a hard constraint's maxSkew would be exceeded, or the node lacks its topology key.

    Only nodes count that carry every key and that the pod's node affinity picks; where there are none, every
    node passes. An invalid selector, also of a required pod affinity, is an error. Upstream: 1.16 EvenPodsSpread.
    """
    constraints = constraints_of(pod, HARD)
    if not constraints:
        return PASS
    if _affinity_is_invalid(pod, snapshot):
        return _error(NO_METADATA, snapshot)
    try:
        spreads = spread_over(pod, snapshot, constraints, pod.namespace)
    except SelectorError as error:
        tried = any_pods(pod, snapshot, constraints, pod.namespace)
        return _error(NO_METADATA if tried else str(error), snapshot)
    if spreads is None:
        return PASS
    fails: Mask | None = None
    for constraint in constraints:
        spread = spreads[constraint.topology_key]
        own = compile_label_selector(constraint.label_selector)(pod.labels)
        too_full = spread.totals + (int(own) - spread.totals[spread.present].min()) > constraint.max_skew
        too_full[ABSENT] = True
        hit = too_full[snapshot.label_codes(constraint.topology_key)[0]]
        fails = hit if fails is None else fails | hit
    return PASS if fails is None else {NOT_SPREAD: fails}


def _affinity_is_invalid(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether an invalid selector of some pod affinity left upstream without the attempt's metadata."""
    if running_error(snapshot, REPEL) or first_error(pod.required_affinity, pod.namespace):
        return True
    return bool(first_error(pod.required_anti_affinity, pod.namespace)) and bool(snapshot.running())


def _error(text: str, snapshot: Snapshot) -> Verdict:
    return {NodeError(text): np.ones(len(snapshot), np.bool_)}


def explain_spread(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By constraint the pods of the node's domain and of the emptiest."""
    constraints = constraints_of(pod, HARD)
    spreads = spread_over(pod, snapshot, constraints, pod.namespace)
    parts = []
    for constraint in constraints if spreads is not None else ():
        assert spreads is not None
        key = constraint.topology_key
        spread, code = spreads[key], int(snapshot.label_codes(key)[0][0])
        own = int(compile_label_selector(constraint.label_selector)(pod.labels))
        least = int(spread.totals[spread.present].min())
        there = int(spread.totals[code])
        parts.append(Uneven(key, label_of(snapshot, key), there, own, least, constraint.max_skew))
    return AnyOf(tuple(parts))


def _applies(pod: PodInfo) -> bool:
    constraints = pod.spec.topology_spread_constraints
    return bool(constraints) and bool(constraints_of(pod, HARD))


EVIDENCE = predicate_evidence("EvenPodsSpread", explain_spread)


def make_even_pods_spread(_: PredicateArgs) -> FitPredicate:
    """For each of the pod's `topologySpreadConstraints` with DoNotSchedule: pods that match in the node's domain, plus
    the pod itself if it matches, minus those in the emptiest domain, may not exceed maxSkew. Only nodes count that
    carry all topology keys and that the pod's node affinity picks. A node without the key fails.

    Upstream: 1.16 EvenPodsSpreadPredicate.
    """
    return FitPredicate(
        "EvenPodsSpread",
        even_pods_spread,
        Footprint(LOCAL | Reads.ALL_NODES | Reads.ALL_PODS, pod_key=spread_labels),
        _applies,
        evidence=EVIDENCE,
    )


# --- PodTopologySpread ------------------------------------------------------------------------

MISSING_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
ERROR_1_20 = "obtaining pod's hard topology spread constraints: "
ERROR_1_36 = "get constraints from pod: " + ERROR_1_20


def judge_spread(pod: PodInfo, snapshot: Snapshot, constraints: Constraints, grounds: Grounds) -> Verdict:
    """The first constraint that a row fails decides: it lacks the topology key, or its domain is too full."""
    plan = plan_of(pod, snapshot.whole(), constraints, grounds)
    missing: Mask | None = None
    crowded: Mask | None = None
    for at, (totals, least) in enumerate(counts_of(pod, snapshot, plan)):
        lacks, full = _step(snapshot, plan, at, totals > constraints[at].max_skew + least - plan.own[at])
        failed = missing if crowded is None else crowded if missing is None else missing | crowded
        missing = _either(missing, lacks, failed)
        crowded = _either(crowded, full, failed)
    steps = {NOT_SPREAD: crowded, MISSING_LABEL: missing}
    verdict = {reason: mask for reason, mask in steps.items() if mask is not None}
    return verdict or PASS


def _step(snapshot: Snapshot, plan: Plan, at: int, too_full: Mask) -> tuple[Mask | None, Mask | None]:
    """(rows that lack one constraint's key, rows in its domains that are too full), None: no row."""
    too_full[ABSENT] = False
    codes = snapshot.label_codes(plan.constraints[at].topology_key)[0]
    if snapshot.rows is None:
        return plan.lacking[at], too_full[codes] if too_full.any() else None
    return codes == ABSENT, too_full[codes]


def _either(mask: Mask | None, more: Mask | None, failed: Mask | None) -> Mask | None:
    """``mask`` with those of ``more`` added that have not failed before."""
    if more is None:
        return mask
    first: Mask = more if failed is None else more & ~failed
    if mask is None:
        return first
    out: Mask = mask | first
    return out


def explain_spread_framework(rules: SpreadRules, grounds: Grounds) -> Explain:
    """By constraint the label that it needs, or the pods of the node's domain and of the emptiest."""

    def explain(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        constraints = rules.constraints(pod, snapshot, HARD)
        values = [label_of(snapshot, c.topology_key) for c in constraints]
        if reason == MISSING_LABEL:
            return Unmet(
                tuple(
                    Need(f"label {c.topology_key}", label_text(value), value is not None)
                    for c, value in zip(constraints, values, strict=True)
                )
            )
        plan = plan_of(pod, snapshot.whole(), constraints, grounds)
        parts = []
        for at, (totals, least) in enumerate(counts_of(pod, snapshot, plan)):
            constraint, value = constraints[at], values[at]
            there = int(totals[int(snapshot.label_codes(constraint.topology_key)[0][0])])
            parts.append(
                Uneven(constraint.topology_key, value, there, plan.own[at], int(least), constraint.max_skew, False)
            )
        return AnyOf(tuple(parts))

    return explain


def pod_topology_spread_1_20(rules: SpreadRules) -> FitPredicate:
    """PodTopologySpread's filter. Upstream: 1.20."""
    return _predicate(rules, grounds_1_20, ERROR_1_20, GO_ON)


def pod_topology_spread_1_18(rules: SpreadRules) -> FitPredicate:
    """The same as in 1.19; a node that lacks a topology key is refused like one whose domain is too full.

    Upstream: 1.18.
    """
    rule = pod_topology_spread_1_19(rules)
    check = rule.check

    def one_reason(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        verdict = dict(check(pod, snapshot))
        missing, crowded = verdict.pop(MISSING_LABEL, None), verdict.get(NOT_SPREAD)
        if missing is not None:
            verdict[NOT_SPREAD] = missing if crowded is None else missing | crowded
        return verdict

    return msgspec.structs.replace(rule, check=one_reason, unresolvable=never)


def pod_topology_spread_1_19(rules: SpreadRules) -> FitPredicate:
    """The same; where no node has all topology keys and is picked by the pod, all pass. Upstream: 1.19."""
    return _predicate(rules, grounds_1_20, ERROR_1_20, GO_ON, passes_without_domains=True)


def pod_topology_spread_1_24(rules: SpreadRules) -> FitPredicate:
    """PodTopologySpread's filter; constraints of one key share their counts. Upstream: 1.24."""
    return _predicate(rules, grounds_1_24, ERROR_1_20, GO_ON)


def pod_topology_spread_1_27(rules: SpreadRules) -> FitPredicate:
    """The same; an empty selector counts no pod. Upstream: 1.27."""
    return _predicate(rules, grounds_1_27, ERROR_1_20, GO_ON)


def pod_topology_spread_1_28(rules: SpreadRules) -> FitPredicate:
    """The same; without hard constraints it skips. Upstream: 1.28."""
    return _predicate(rules, grounds_1_27, ERROR_1_20, SKIP)


def pod_topology_spread_1_30(rules: SpreadRules) -> FitPredicate:
    """The same; its error is worded otherwise. Upstream: 1.30."""
    return _predicate(rules, grounds_1_27, ERROR_1_36, SKIP)


def pod_topology_spread_1_36(rules: SpreadRules) -> FitPredicate:
    """PodTopologySpread's filter; without hard constraints it skips. Upstream: 1.36."""
    return _predicate(rules, grounds_1_36, ERROR_1_36, SKIP)


def _has_domains(pod: PodInfo, snapshot: Snapshot, constraints: Constraints, grounds: Grounds) -> bool:
    """Whether some node counts."""
    return any(len(ground.domains) for ground in plan_of(pod, snapshot.whole(), constraints, grounds).grounds)


def _predicate(
    rules: SpreadRules,
    grounds: Grounds,
    error_text: str,
    without: PreFiltered,
    *,
    passes_without_domains: bool = False,
) -> FitPredicate:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        try:
            constraints = rules.constraints(pod, snapshot, HARD)
        except SelectorError as error:
            return {NodeError(f"{error_text}{error}"): np.ones(len(snapshot), np.bool_)}
        if not constraints or (passes_without_domains and not _has_domains(pod, snapshot, constraints, grounds)):
            return PASS
        return judge_spread(pod, snapshot, constraints, grounds)

    def pre_filter(pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
        try:
            return GO_ON if rules.constraints(pod, snapshot, HARD) else without
        except SelectorError as error:
            return PreFiltered(reasons=(NodeError(f"{error_text}{error}"),))

    def applies(pod: PodInfo) -> bool:
        return rules.may_have(pod, HARD)

    def alone(pod: PodInfo, snapshot: Snapshot) -> bool:
        return not rules.constraints(pod, snapshot, HARD)

    def narrow(pod: PodInfo) -> Reads:
        return reads if not pod.spec.topology_spread_constraints else reads & ~Reads.SERVICES

    reads = Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES
    return FitPredicate(
        "PodTopologySpread",
        check,
        Footprint(reads, narrow=narrow, pod_key=rules.pod_key, row_local=alone, pre_reads=Reads.SERVICES),
        applies,
        pre_filter=pre_filter,
        unresolvable=MISSING_LABEL.__eq__,
        evidence=filter_evidence("PodTopologySpread", explain_spread_framework(rules, grounds)),
    )


SPREAD: dict[str, FitPredicateFactory] = {"EvenPodsSpread": make_even_pods_spread}
