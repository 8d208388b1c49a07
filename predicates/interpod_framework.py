"""InterPodAffinity as a filter: required pod affinity and anti-affinity, the pod's own and that of running pods."""

from __future__ import annotations

from functools import partial

import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import Mask
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo, any_of
from clusterstate.selectors.pod_traits import affinity_labels
from clusterstate.snapshot import Snapshot
from clusterstate.topology.pod_affinity import REPEL, domain_tally, occupied_domains, topology_keys
from clusterstate.topology.pod_affinity_terms import TERMS_1_20, TERMS_1_36, TermRules, Terms
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
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
PARSING = "parsing pod: "


def inter_pod_affinity_1_20(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Two reasons where the pod does not fit, the general one first. Upstream: 1.20 Filter."""
    verdict = inter_pod_affinity(TERMS_1_20, pod, snapshot)
    if not verdict:
        return PASS
    failed: Mask | None = None
    for mask in verdict.values():
        failed = mask if failed is None else failed | mask
    assert failed is not None
    return {AFFINITY_NOT_MATCH: failed, **verdict}


def inter_pod_affinity_1_36(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Upstream: 1.36 Filter."""
    return inter_pod_affinity(TERMS_1_36, pod, snapshot)


def inter_pod_affinity(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where the pod's own affinity does, else where its own anti-affinity does, else where that of a running pod
    keeps it out; later steps are not looked at where an earlier one failed."""
    own = rules.own(pod, snapshot)
    steps: dict[str, Mask | None] = {}
    if own.affinity:
        steps[AFFINITY_RULES] = _too_far(rules, pod, snapshot, own.affinity)
    if own.anti_affinity:
        steps[ANTI_AFFINITY_RULES] = _too_near(rules, snapshot, own.anti_affinity)
    steps[EXISTING_ANTI_AFFINITY] = kept_out(rules, pod, snapshot)
    out: Verdict = {}
    failed: Mask | None = None
    for reason, fails in steps.items():
        if fails is not None:
            out[reason] = fails if failed is None else fails & ~failed
            failed = fails if failed is None else failed | fails
    return out


# --- the three steps -----------------------------------------------------------------------


def _too_far(rules: TermRules, pod: PodInfo, snapshot: Snapshot, terms: Terms) -> Mask | None:
    """(n,) bool: rows that lack some term's key, or a pod in its domain that all terms together pick; None: no row.

    The key is enough where no such pod runs on any node that has a key, and the pod is one itself.
    """
    domains, alone = _occupied(rules, pod, snapshot, terms)
    far: Mask | None = None
    for key, occupied in domains.items():
        codes = snapshot.label_codes(key)[0]
        if alone:
            lacking = codes == ABSENT
            hit = lacking if lacking.any() else None
        elif occupied is None:
            hit = np.ones(len(snapshot), np.bool_)
        else:
            hit = (~occupied)[codes]
        far = _either(far, hit)
    return far


def _occupied(rules: TermRules, pod: PodInfo, snapshot: Snapshot, terms: Terms) -> tuple[dict[str, Mask | None], bool]:
    """(topology key → (D,) bool, the domains with a pod that all terms pick, None without any; whether no domain of any
    key has one and the pod is one itself)."""

    def weight(info: PodInfo) -> int:
        return int(all(term.picks(info) for term in terms))

    domains: dict[str, Mask | None] = {}
    for key in dict.fromkeys(term.topology_key for term in terms):
        tally = domain_tally(snapshot, ("affinity", rules.name, terms), key, weight, terms[0].labels.marks)
        domains[key] = _any(occupied_domains(snapshot, tally))
    return domains, all(mask is None for mask in domains.values()) and bool(weight(pod))


def _any(mask: Mask | None) -> Mask | None:
    return None if mask is None or not mask.any() else mask


def _either(mask: Mask | None, more: Mask | None) -> Mask | None:
    if mask is None or more is None:
        return more if mask is None else mask
    out: Mask = mask | more
    return out


def _too_near(rules: TermRules, snapshot: Snapshot, terms: Terms) -> Mask | None:
    """(n,) bool: rows sharing the topology of a term with a pod it picks; None: no row."""
    out: Mask | None = None
    reach = any_of(*(term.labels.marks for term in terms))
    for key in dict.fromkeys(term.topology_key for term in terms):

        def weight(info: PodInfo, key: str = key) -> int:
            return sum([term.topology_key == key and term.picks(info) for term in terms])

        tally = domain_tally(snapshot, ("anti-affinity", rules.name, terms), key, weight, reach)
        domains = occupied_domains(snapshot, tally)
        if domains is not None:
            out = _either(out, domains[snapshot.label_codes(key)[0]])
    return out


def kept_out(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> Mask | None:
    """(n,) bool: rows sharing a topology with a pod whose anti-affinity term picks this pod; None: no row."""
    out: Mask | None = None
    for key, domains in _keeping_out(rules, pod, snapshot).items():
        out = _either(out, domains[snapshot.label_codes(key)[0]])
    return out


def _keeping_out(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> dict[str, Mask]:
    """Topology key → (D,) bool, the domains with a pod whose anti-affinity term for the key picks this pod."""
    out: dict[str, Mask] = {}
    labels = rules.namespace_labels(pod, snapshot)
    picked = pod.as_picked(snapshot.term_keys)
    for key in topology_keys(snapshot, REPEL):

        def weight(info: PodInfo, key: str = key) -> int:
            wanted = rules.running(info.required_anti_affinity, info)
            return sum([term.topology_key == key and term.picks(pod, labels) for term in wanted])

        rule = ("keeps out", rules.name, pod.namespace, picked.labels, labels)
        domains = _any(occupied_domains(snapshot, domain_tally(snapshot, rule, key, weight, picked.by)))
        if domains is not None:
            out[key] = domains
    return out


# --- evidence ------------------------------------------------------------------------------


def explain_affinity(rules: TermRules) -> Explain:
    """The pods that the pod must be with, those it must not be with, and those that keep it out."""

    def explain(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        own = rules.own(pod, snapshot)
        parts: dict[str, Refusal] = {EXISTING_ANTI_AFFINITY: _explain_kept_out(rules, pod, snapshot)}
        if own.affinity:
            parts[AFFINITY_RULES] = _explain_too_far(rules, pod, snapshot, own.affinity)
        if own.anti_affinity:
            parts[ANTI_AFFINITY_RULES] = _explain_too_near(snapshot, own.anti_affinity)
        return parts[reason] if reason in parts else AnyOf(tuple(parts.values()))

    return explain


def _explain_too_far(rules: TermRules, pod: PodInfo, snapshot: Snapshot, terms: Terms) -> Refusal:
    domains, alone = _occupied(rules, pod, snapshot, terms)
    needs = []

    def picks(info: PodInfo) -> bool:
        return all(term.picks(info) for term in terms)

    for key in domains:
        if alone:
            value = label_of(snapshot, key)
            needs.append(Need(f"label {key}", label_text(value), value is not None))
            continue
        near = pods_in_domain(snapshot, key, picks, reach=terms[0].labels.marks)
        needs.append(Need(f"a pod of its affinity in {_domain(snapshot, key)}", few(near) or "none", bool(near)))
    return Unmet(tuple(needs))


def _explain_too_near(snapshot: Snapshot, terms: Terms) -> Refusal:
    conflicts = []
    for term in terms:
        near = pods_in_domain(snapshot, term.topology_key, term.picks, reach=term.labels.marks)
        wanted = f"{_domain(snapshot, term.topology_key)} without the pods of its anti-affinity"
        conflicts.append(InUse(wanted, "taken", near))
    return Conflict(tuple(conflicts))


def _explain_kept_out(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> Refusal:
    labels = rules.namespace_labels(pod, snapshot)
    reach = pod.as_picked(snapshot.term_keys).by
    conflicts = []
    for key in _keeping_out(rules, pod, snapshot):

        def repels(info: PodInfo, key: str = key) -> bool:
            wanted = rules.running(info.required_anti_affinity, info)
            return any(term.topology_key == key and term.picks(pod, labels) for term in wanted)

        found = pods_in_domain(snapshot, key, repels, reach=reach)
        conflicts.append(InUse(f"room in {_domain(snapshot, key)}", "kept out", found))
    return Conflict(tuple(conflicts))


def _domain(snapshot: Snapshot, key: str) -> str:
    return f"{key}={label_text(label_of(snapshot, key))}"


# --- the rule of each release --------------------------------------------------------------


def _pre_filter(rules: TermRules, pod: PodInfo, snapshot: Snapshot, *, skips: bool) -> PreFiltered:
    if error := rules.error(pod, snapshot):
        return PreFiltered(reasons=(PARSING + error,))
    if not skips or pod.required_affinity or pod.required_anti_affinity:
        return GO_ON
    return GO_ON if _keeping_out(rules, pod, snapshot) else SKIP


def _is_free(rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether no pod that leaves makes a difference: the pod asks for nothing, and nothing keeps it out."""
    if pod.required_affinity or pod.required_anti_affinity:
        return False
    return not _keeping_out(rules, pod, snapshot.whole())


def _is_unresolvable(reason: str) -> bool:
    return reason == AFFINITY_RULES or reason.startswith(PARSING)


def _narrow(rules: TermRules, pod: PodInfo) -> Reads:
    pods = Reads.ALL_PODS if pod.required_affinity or pod.required_anti_affinity else Reads.AFFINITY_PODS
    return Reads.ALL_NODES | pods | rules.reads


def predicate_1_20() -> FitPredicate:
    """InterPodAffinity's filter. Upstream: 1.20."""
    return FitPredicate(
        "InterPodAffinity",
        inter_pod_affinity_1_20,
        Reads.ALL_NODES | Reads.ALL_PODS,
        alone=partial(_is_free, TERMS_1_20),
        narrow=partial(_narrow, TERMS_1_20),
        pre_filter=partial(_pre_filter, TERMS_1_20, skips=False),
        evidence=filter_evidence("InterPodAffinity", explain_affinity(TERMS_1_20)),
        unresolvable=_is_unresolvable,
        traits=affinity_labels,
    )


def predicate_1_36() -> FitPredicate:
    """InterPodAffinity's filter; it skips when neither the pod nor a running one asks for anything. Upstream: 1.36."""
    return FitPredicate(
        "InterPodAffinity",
        inter_pod_affinity_1_36,
        Reads.ALL_NODES | Reads.ALL_PODS | Reads.NAMESPACES,
        alone=partial(_is_free, TERMS_1_36),
        narrow=partial(_narrow, TERMS_1_36),
        pre_filter=partial(_pre_filter, TERMS_1_36, skips=True),
        evidence=filter_evidence("InterPodAffinity", explain_affinity(TERMS_1_36)),
        pre_reads=Reads.ALL_NODES | Reads.AFFINITY_PODS | Reads.NAMESPACES,
        unresolvable=_is_unresolvable,
        traits=affinity_labels,
    )
