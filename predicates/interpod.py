"""MatchInterPodAffinity: required pod affinity and anti-affinity, the pod's own and that of pods that run already."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint, TopologyScope, affinity_labels, every_sign
from clusterstate.growable import ABSENT, Mask
from clusterstate.objects import PodAffinityTerm
from clusterstate.podinfo import PodInfo, any_of
from clusterstate.selectors.pod_affinity import (
    REPEL,
    Tallies,
    TermMatcher,
    affinity_reads,
    compile_term,
    domain_tally,
    first_error,
    held_for,
    is_broken,
    is_somewhere,
    occupied_domains,
    occupied_rows,
    running_error,
    topology_keys,
)
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import (
    AnyOf,
    Conflict,
    InUse,
    Need,
    Refusal,
    Unmet,
    few,
    label_of,
    label_text,
    pods_in_domain,
    predicate_evidence,
)
from predicates.types import PASS, POD, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

AFFINITY_NOT_MATCH = "node(s) didn't match pod affinity/anti-affinity"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

Terms = tuple[PodAffinityTerm, ...]


def match_inter_pod_affinity(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a running pod's anti-affinity keeps the pod out, else where its own affinity or anti-affinity does.

    Two reasons each time, the general one first; later steps are not looked at where an earlier one failed.
    Pods that are only nominated do not count for the pod's own terms. Upstream: 1.16 InterPodAffinityMatches.
    """
    affinity, anti_affinity = pod.required_affinity, pod.required_anti_affinity
    if error := running_error(snapshot, REPEL):
        text = NodeError(f"Failed to get all terms that match pod {POD}: {error}")
        return {text: np.ones(len(snapshot), np.bool_)}
    kept_out = _kept_out(pod, snapshot)
    if (affinity or anti_affinity) and first_error((*affinity, *anti_affinity), pod.namespace):
        return _invalid(pod, snapshot, kept_out)
    steps = {EXISTING_ANTI_AFFINITY: kept_out}
    if affinity:
        steps[AFFINITY_RULES] = _too_far(pod, snapshot, affinity)
    if anti_affinity:
        steps[ANTI_AFFINITY_RULES] = _too_near(pod, snapshot, anti_affinity)
    return _verdict(steps)


def _verdict(steps: dict[str, Mask | None]) -> Verdict:
    """The first failing step of each row, below the reason that they share."""
    out: Verdict = {}
    failed: Mask | None = None
    for reason, fails in steps.items():
        if fails is None:
            continue
        first = fails if failed is None else fails & ~failed
        failed = fails if failed is None else failed | fails
        out[reason] = first
    return PASS if failed is None else {AFFINITY_NOT_MATCH: failed, **out}


# --- the three steps -----------------------------------------------------------------------


def _kept_out(pod: PodInfo, snapshot: Snapshot) -> Mask | None:
    """(n,) bool: rows sharing a topology with a pod whose anti-affinity term picks this pod; None: no row."""
    out: Mask | None = None
    for tally in _repelling(pod, snapshot).values():
        hit = occupied_rows(snapshot, tally)
        if hit is not None:
            out = hit if out is None else out | hit
    return out


def _repelling(pod: PodInfo, snapshot: Snapshot) -> Tallies:
    """Topology key → the running count of anti-affinity terms for the key that pick this pod."""
    return held_for(snapshot, "kept out", pod).of(snapshot, partial(_ask_repelling, pod))


def _ask_repelling(pod: PodInfo, snapshot: Snapshot) -> Tallies:
    out: Tallies = {}
    picked = pod.as_picked(snapshot.term_keys)
    for key in topology_keys(snapshot, REPEL):

        def weight(info: PodInfo, key: str = key) -> int:
            terms = info.required_anti_affinity
            return sum(t.topology_key == key and compile_term(t, info.namespace)(pod) for t in terms)

        out[key] = domain_tally(snapshot, ("kept out", pod.namespace, picked.labels), key, weight, picked.by)
    return out


def _too_far(pod: PodInfo, snapshot: Snapshot, terms: Terms) -> Mask | None:
    """(n,) bool: rows that lack, for some term, a pod in their topology that all terms together pick.

    None: no row, because no such pod runs within any of the topologies and the pod is one itself.
    """
    tallies, first = _wanted(pod, snapshot, terms)
    if first or not tallies:
        return None
    near: Mask | None = None
    for tally in tallies.values():
        hit = occupied_rows(snapshot, tally, nominated=False)
        if hit is None:
            hit = np.zeros(len(snapshot), np.bool_)
        near = hit if near is None else near & hit
    assert near is not None
    return ~near


def _wanted(pod: PodInfo, snapshot: Snapshot, terms: Terms) -> tuple[Tallies, bool]:
    """(topology key → the running count of pods that all terms pick; whether no domain of any key has one and the pod
    is one itself)."""
    tallies = held_for(snapshot, "affinity", pod).of(snapshot, partial(_ask_wanted, pod, terms))
    if any(is_somewhere(snapshot, tally, nominated=False) for tally in tallies.values()):
        return tallies, False
    return tallies, all(compile_term(term, pod.namespace)(pod) for term in terms)


def _ask_wanted(pod: PodInfo, terms: Terms, snapshot: Snapshot) -> Tallies:
    matchers = [compile_term(term, pod.namespace) for term in terms]

    def weight(info: PodInfo) -> int:
        return int(all(matches(info) for matches in matchers))

    return {
        key: domain_tally(snapshot, ("affinity", pod.namespace, terms), key, weight, matchers[0].labels.marks)
        for key in dict.fromkeys(term.topology_key for term in terms)
    }


def _too_near(pod: PodInfo, snapshot: Snapshot, terms: Terms) -> Mask | None:
    """(n,) bool: rows sharing the topology of a term with a pod it picks; None: no row."""
    out: Mask | None = None
    put_back = []
    if len(terms) > 1 and snapshot.changes:
        put_back = _put_back(snapshot, [compile_term(term, pod.namespace) for term in terms])
    for key, tally in _avoided(pod, snapshot, terms).items():
        if put_back:
            domains = _with_rows(snapshot, key, occupied_domains(snapshot, tally, nominated=False), put_back)
            hit: Mask | None = domains[snapshot.label_codes(key)[0]]
        else:
            hit = occupied_rows(snapshot, tally, nominated=False)
        if hit is not None:
            out = hit if out is None else out | hit
    return out


def _avoided(pod: PodInfo, snapshot: Snapshot, terms: Terms) -> Tallies:
    """Topology key → the running count of pods that terms for the key pick."""
    return held_for(snapshot, "anti-affinity", pod).of(snapshot, partial(_ask_avoided, pod, terms))


def _ask_avoided(pod: PodInfo, terms: Terms, snapshot: Snapshot) -> Tallies:
    out: Tallies = {}
    matchers = [(term.topology_key, compile_term(term, pod.namespace)) for term in terms]
    reach = any_of(*(matches.labels.marks for _, matches in matchers))
    for key in dict.fromkeys(key for key, _ in matchers):

        def weight(info: PodInfo, key: str = key) -> int:
            return sum(k == key and matches(info) for k, matches in matchers)

        out[key] = domain_tally(snapshot, ("anti-affinity", pod.namespace, terms), key, weight, reach)
    return out


def _put_back(snapshot: Snapshot, matchers: list[TermMatcher]) -> list[int]:
    """The rows to which a pod was hypothetically added that any of the terms picks, and not removed again.

    Upstream counts such a pod for all of the terms (topologyPairsMaps of AddPod), stricter than a running one.
    """
    added: Counter[tuple[int, PodInfo]] = Counter()
    for change in snapshot.changes:
        if not change.nominated:
            at = (change.row, change.info)
            added[at] = max(0, added[at] + change.sign)
    return [row for (row, info), count in added.items() if count and any(matches(info) for matches in matchers)]


def _with_rows(snapshot: Snapshot, key: str, domains: Mask | None, rows: list[int]) -> Mask:
    """``domains`` with those of some rows (of the whole cluster) added."""
    codes = snapshot.whole().label_codes(key)[0]
    out = np.zeros(len(snapshot.label_values(key)), np.bool_) if domains is None else domains
    out[codes[rows]] = True
    out[ABSENT] = False
    return out


# --- invalid selectors ---------------------------------------------------------------------


def _invalid(pod: PodInfo, snapshot: Snapshot, kept_out: Mask | None) -> Verdict:
    """The verdict on a pod one of whose own terms has an invalid selector.

    Nothing but the pod's own rules decides when no pod runs that the selector could be tried on. Otherwise
    affinity is an error on each node, anti-affinity alone fails on all.
    """
    everywhere = np.ones(len(snapshot), np.bool_)
    error = first_error(pod.required_affinity, pod.namespace)
    if error is None and not snapshot.running():
        steps = {EXISTING_ANTI_AFFINITY: kept_out, AFFINITY_RULES: _too_far(pod, snapshot, pod.required_affinity)}
        return _verdict(steps)
    if error is None or not snapshot.running():
        reason = ANTI_AFFINITY_RULES if error is None else AFFINITY_RULES
        return _verdict({EXISTING_ANTI_AFFINITY: kept_out, reason: everywhere})
    verdict = dict(_verdict({EXISTING_ANTI_AFFINITY: kept_out}))
    left = everywhere if kept_out is None else ~kept_out
    names = snapshot.names
    for at in np.flatnonzero(left):
        text = f"Cannot schedule pod {POD} onto node {names[at]}, because of PodAffinity: {error}"
        verdict[NodeError(text)] = np.arange(len(snapshot)) == at
    return verdict


def _is_free(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether no pod that leaves makes a difference: the pod asks for nothing, and nothing keeps it out."""
    return not pod.required_affinity and not pod.required_anti_affinity and _kept_out(pod, snapshot.whole()) is None


def _scope(pod: PodInfo, snapshot: Snapshot) -> TopologyScope | None:
    """Whether domains have pods of either side, and whether the pod is the first of its affinity."""
    affinity, anti_affinity = pod.required_affinity, pod.required_anti_affinity
    if first_error((*affinity, *anti_affinity), pod.namespace) or is_broken(snapshot, REPEL):
        return None
    tallies = [*_repelling(pod, snapshot).values()]
    if anti_affinity:
        tallies += _avoided(pod, snapshot, anti_affinity).values()
    if not affinity:
        return TopologyScope(snapshot, tallies, every_sign)
    tallies += _wanted(pod, snapshot, affinity)[0].values()
    return TopologyScope(snapshot, tallies, every_sign, lambda now: _wanted(pod, now, affinity)[1])


# --- evidence ------------------------------------------------------------------------------


def explain_affinity(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The pods that keep this one out, those it must be with, and those it must not be with."""
    parts: dict[str, Refusal] = {EXISTING_ANTI_AFFINITY: _explain_kept_out(pod, snapshot)}
    if pod.required_affinity:
        parts[AFFINITY_RULES] = _explain_too_far(pod, snapshot)
    if pod.required_anti_affinity:
        parts[ANTI_AFFINITY_RULES] = _explain_too_near(pod, snapshot)
    return parts[reason] if reason in parts else AnyOf(tuple(parts.values()))


def _explain_kept_out(pod: PodInfo, snapshot: Snapshot) -> Refusal:
    conflicts = []
    reach = pod.as_picked(snapshot.term_keys).by
    for key in topology_keys(snapshot, REPEL):

        def repels(info: PodInfo, key: str = key) -> bool:
            terms = info.required_anti_affinity
            return any(t.topology_key == key and compile_term(t, info.namespace)(pod) for t in terms)

        pods = pods_in_domain(snapshot, key, repels, reach=reach)
        conflicts.append(InUse(f"room in {_domain(snapshot, key)}", "kept out", pods))
    return Conflict(tuple(conflicts))


def _explain_too_far(pod: PodInfo, snapshot: Snapshot) -> Refusal:
    terms = pod.required_affinity
    if error := first_error(terms, pod.namespace):
        return Unmet((Need("a selector that is valid", error, False),))
    matchers = [compile_term(term, pod.namespace) for term in terms]
    needs = []

    def picks(info: PodInfo) -> bool:
        return all(matches(info) for matches in matchers)

    for key in dict.fromkeys(term.topology_key for term in terms):
        near = pods_in_domain(snapshot, key, picks, nominated=False, reach=matchers[0].labels.marks)
        needs.append(Need(f"a pod of its affinity in {_domain(snapshot, key)}", few(near) or "none", bool(near)))
    return Unmet(tuple(needs), _too_far(pod, snapshot, terms) is not None)


def _explain_too_near(pod: PodInfo, snapshot: Snapshot) -> Refusal:
    terms = pod.required_anti_affinity
    if error := first_error(terms, pod.namespace):
        return Unmet((Need("a selector that is valid", error, False),), bool(snapshot.running()))
    conflicts = []
    for term in terms:
        key, matches = term.topology_key, compile_term(term, pod.namespace)
        near = pods_in_domain(snapshot, key, matches, nominated=False, reach=matches.labels.marks)
        conflicts.append(InUse(f"{_domain(snapshot, key)} without the pods of its anti-affinity", "taken", near))
    return Conflict(tuple(conflicts))


def _domain(snapshot: Snapshot, key: str) -> str:
    return f"{key}={label_text(label_of(snapshot, key))}"


def make_match_inter_pod_affinity(_: PredicateArgs) -> FitPredicate:
    """Three steps, the first that fails is reported: required anti-affinity of running pods against this pod; the pod's
    own required affinity, for which one and the same running pod must match all terms; its own required anti-affinity.
    If no running pod matches the affinity terms and the pod matches them itself, it may be the first of its group
    anywhere.

    Upstream: 1.16 InterPodAffinityMatches.
    """
    reads = LOCAL | Reads.ALL_NODES | Reads.ALL_PODS
    return FitPredicate(
        "MatchInterPodAffinity",
        match_inter_pod_affinity,
        Footprint(reads, narrow=affinity_reads, pod_key=affinity_labels, row_local=_is_free, scope=_scope),
        evidence=predicate_evidence("MatchInterPodAffinity", explain_affinity),
    )


INTERPOD: dict[str, FitPredicateFactory] = {"MatchInterPodAffinity": make_match_inter_pod_affinity}
