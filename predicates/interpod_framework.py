"""InterPodAffinity as a filter: required pod affinity and anti-affinity, the pod's own and that of running pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, TopologyScope, affinity_labels, every_sign
from clusterstate.growable import ABSENT, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_affinity import (
    TERMS_1_18,
    TERMS_1_20,
    TERMS_1_36,
    RequiredAffinity,
    Tallies,
    TermRules,
    Terms,
    is_somewhere,
    occupied_rows,
)
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import (
    AnyOf,
    Conflict,
    Explain,
    InUse,
    Need,
    Refusal,
    Unmet,
    few,
    filter_evidence,
    label_of,
    label_text,
    pods_in_domain,
)
from predicates.types import GO_ON, PASS, SKIP, FitPredicate, PreFiltered, Verdict

AFFINITY_NOT_MATCH = "node(s) didn't match pod affinity/anti-affinity"
AFFINITY_NOT_MATCH_1_21 = "node(s) didn't match pod affinity/anti-affinity rules"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
PARSING = "parsing pod: "


def two_reasons(rules: TermRules, general: str, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Two reasons where the pod does not fit, the general one first. Upstream: 1.19 to 1.21 Filter."""
    verdict = inter_pod_affinity(rules, pod, snapshot)
    if not verdict:
        return PASS
    failed: Mask | None = None
    for mask in verdict.values():
        failed = mask if failed is None else failed | mask
    assert failed is not None
    return {general: failed, **verdict}


def inter_pod_affinity_1_18(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Anti-affinity of running pods is looked at first, and the first pod of its affinity may go where a topology key
    is missing. Upstream: 1.18 Filter.
    """
    asked = RequiredAffinity.of(TERMS_1_18, pod, snapshot)
    steps = {
        EXISTING_ANTI_AFFINITY: _in_any(snapshot, asked.repelling(snapshot)),
        AFFINITY_RULES: None if asked.alone(snapshot) else _too_far(asked, snapshot),
        ANTI_AFFINITY_RULES: _in_any(snapshot, asked.avoided(snapshot)),
    }
    verdict = _first_steps(steps)
    return {AFFINITY_NOT_MATCH: np.logical_or.reduce(list(verdict.values())), **verdict} if verdict else PASS


def inter_pod_affinity(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where the pod's own affinity does, else where its own anti-affinity does, else where that of a running pod
    keeps it out; later steps are not looked at where an earlier one failed."""
    asked = RequiredAffinity.of(rules, pod, snapshot)
    steps = {
        AFFINITY_RULES: _too_far(asked, snapshot),
        ANTI_AFFINITY_RULES: _in_any(snapshot, asked.avoided(snapshot)),
        EXISTING_ANTI_AFFINITY: _in_any(snapshot, asked.repelling(snapshot)),
    }
    return _first_steps(steps)


def _first_steps(steps: Mapping[str, Mask | None]) -> Verdict:
    """Of each row the first step that refuses it."""
    out: Verdict = {}
    failed: Mask | None = None
    for reason, fails in steps.items():
        if fails is not None:
            out[reason] = fails if failed is None else fails & ~failed
            failed = fails if failed is None else failed | fails
    return out


# --- the three steps -----------------------------------------------------------------------


def _too_far(asked: RequiredAffinity, snapshot: Snapshot) -> Mask | None:
    """(n,) bool: rows that lack some term's key, or a pod in its domain that all terms together pick; None: no row.

    The key is enough where no such pod runs on any node that has a key, and the pod is one itself.
    """
    alone = asked.alone(snapshot)
    far: Mask | None = None
    for key, tally in asked.wanted(snapshot).items():
        if alone:
            lacking = snapshot.label_codes(key)[0] == ABSENT
            hit = lacking if lacking.any() else None
        else:
            near = occupied_rows(snapshot, tally)
            hit = np.ones(len(snapshot), np.bool_) if near is None else ~near
        far = _either(far, hit)
    return far


def _either(mask: Mask | None, more: Mask | None) -> Mask | None:
    if mask is None or more is None:
        return more if mask is None else mask
    out: Mask = mask | more
    return out


def _in_any(snapshot: Snapshot, tallies: Tallies) -> Mask | None:
    """(n,) bool: rows in a domain with a pod that counts; None: no row."""
    out: Mask | None = None
    for tally in tallies.values():
        out = _either(out, occupied_rows(snapshot, tally))
    return out


def _keeping_out(asked: RequiredAffinity, snapshot: Snapshot) -> list[str]:
    """The topology keys of domains with a pod whose anti-affinity term for the key picks this pod."""
    return [key for key, tally in asked.repelling(snapshot).items() if is_somewhere(snapshot, tally)]


def _scope(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> TopologyScope:
    """Whether domains have pods of either side, and whether the pod is the first of its affinity."""
    asked = RequiredAffinity.of(rules, pod, snapshot)
    sides = asked.wanted(snapshot), asked.avoided(snapshot), asked.repelling(snapshot)
    return TopologyScope(snapshot, (tally for side in sides for tally in side.values()), every_sign, asked.alone)


# --- evidence ------------------------------------------------------------------------------


def explain_affinity(rules: TermRules) -> Explain:
    """The pods that the pod must be with, those it must not be with, and those that keep it out."""

    def explain(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        asked = RequiredAffinity.of(rules, pod, snapshot)
        parts: dict[str, Refusal] = {EXISTING_ANTI_AFFINITY: _explain_kept_out(asked, snapshot)}
        if asked.own.affinity:
            parts[AFFINITY_RULES] = _explain_too_far(asked, snapshot)
        if asked.own.anti_affinity:
            parts[ANTI_AFFINITY_RULES] = _explain_too_near(snapshot, asked.own.anti_affinity)
        return parts[reason] if reason in parts else AnyOf(tuple(parts.values()))

    return explain


def _explain_too_far(asked: RequiredAffinity, snapshot: Snapshot) -> Refusal:
    alone, reach = asked.alone(snapshot), asked.own.affinity[0].labels.marks
    needs = []
    for key in asked.wanted(snapshot):
        if alone:
            value = label_of(snapshot, key)
            needs.append(Need(f"label {key}", label_text(value), value is not None))
            continue
        near = pods_in_domain(snapshot, key, asked.picks, reach=reach)
        needs.append(Need(f"a pod of its affinity in {_domain(snapshot, key)}", few(near) or "none", bool(near)))
    return Unmet(tuple(needs))


def _explain_too_near(snapshot: Snapshot, terms: Terms) -> Refusal:
    conflicts = []
    for term in terms:
        near = pods_in_domain(snapshot, term.topology_key, term.picks, reach=term.labels.marks)
        wanted = f"{_domain(snapshot, term.topology_key)} without the pods of its anti-affinity"
        conflicts.append(InUse(wanted, "taken", near))
    return Conflict(tuple(conflicts))


def _explain_kept_out(asked: RequiredAffinity, snapshot: Snapshot) -> Refusal:
    rules, pod, labels = asked.rules, asked.pod, asked.namespace_labels
    reach = pod.as_picked(snapshot.term_keys).by
    conflicts = []
    for key in _keeping_out(asked, snapshot):

        def repels(info: PodInfo, key: str = key) -> bool:
            wanted = rules.running(info.required_anti_affinity, info)
            return any(term.topology_key == key and term.picks(pod, labels) for term in wanted)

        pods = pods_in_domain(snapshot, key, repels, reach=reach)
        conflicts.append(InUse(f"room in {_domain(snapshot, key)}", "kept out", pods))
    return Conflict(tuple(conflicts))


def _domain(snapshot: Snapshot, key: str) -> str:
    return f"{key}={label_text(label_of(snapshot, key))}"


# --- the rule of each release --------------------------------------------------------------


def _pre_filter(rules: TermRules, pod: PodInfo, snapshot: Snapshot, *, skips: bool) -> PreFiltered:
    if error := rules.error(pod, snapshot):
        return PreFiltered(reasons=(PARSING + error,))
    if not skips or pod.required_affinity or pod.required_anti_affinity:
        return GO_ON
    return GO_ON if _keeping_out(RequiredAffinity.of(rules, pod, snapshot), snapshot) else SKIP


def _is_free(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether no pod that leaves makes a difference: the pod asks for nothing, and nothing keeps it out."""
    if pod.required_affinity or pod.required_anti_affinity:
        return False
    return not _keeping_out(RequiredAffinity.of(rules, pod, snapshot), snapshot.whole())


def _is_unresolvable(reason: str) -> bool:
    return reason == AFFINITY_RULES or reason.startswith(PARSING)


def _narrow(rules: TermRules, pod: PodInfo) -> Reads:
    pods = Reads.ALL_PODS if pod.required_affinity or pod.required_anti_affinity else Reads.AFFINITY_PODS
    return Reads.ALL_NODES | pods | rules.reads


def predicate_1_20(rules: TermRules = TERMS_1_20, general: str = AFFINITY_NOT_MATCH) -> FitPredicate:
    """InterPodAffinity's filter. general: the reason that is given before the others. Upstream: 1.19 to 1.21."""
    return _predicate(rules, partial(two_reasons, rules, general), skips=False)


def predicate_1_22(rules: TermRules) -> FitPredicate:
    """InterPodAffinity's filter, which gives one reason. Upstream: 1.22."""
    return _predicate(rules, partial(inter_pod_affinity, rules), skips=False)


def predicate_1_18() -> FitPredicate:
    """InterPodAffinity's filter. Upstream: 1.18."""
    return msgspec.structs.replace(predicate_1_20(TERMS_1_18), check=inter_pod_affinity_1_18)


def predicate_1_36(rules: TermRules = TERMS_1_36) -> FitPredicate:
    """InterPodAffinity's filter; it skips when neither the pod nor a running one asks for anything. Upstream: 1.36."""
    return _predicate(rules, partial(inter_pod_affinity, rules), skips=True)


def _predicate(rules: TermRules, check: Callable[[PodInfo, Snapshot], Verdict], *, skips: bool) -> FitPredicate:
    return FitPredicate(
        "InterPodAffinity",
        check,
        Footprint(
            Reads.ALL_NODES | Reads.ALL_PODS | rules.reads,
            narrow=partial(_narrow, rules),
            pod_key=affinity_labels,
            row_local=partial(_is_free, rules),
            scope=partial(_scope, rules),
            pre_reads=Reads.ALL_NODES | Reads.AFFINITY_PODS | rules.reads if skips else rules.reads,
        ),
        pre_filter=partial(_pre_filter, rules, skips=skips),
        evidence=filter_evidence("InterPodAffinity", explain_affinity(rules)),
        unresolvable=_is_unresolvable,
    )
