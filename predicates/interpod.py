"""MatchInterPodAffinity: required pod affinity and anti-affinity, the pod's own and that of pods that run already.

First the rule of 1.16, where a pod's terms are judged together; below it that of 1.4, where each is judged alone and
running pods' terms have no errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint, TopologyScope, affinity_labels, every_sign
from clusterstate.growable import ABSENT, Mask
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import PodAffinityTerm
from clusterstate.podinfo import PodInfo, any_of
from clusterstate.selectors.affinity_1_4 import TermMatcher14, any_use, compile_term_1_4, near, used_keys
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
    affinity_term_text,
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


AFFINITY_NOT_MATCH_1_4 = "MatchInterPodAffinity"

Domains = tuple[str, ...]


def match_inter_pod_affinity_1_4(pod: PodInfo, snapshot: Snapshot, failure_domains: Domains) -> Verdict:
    """Fails where a running pod's anti-affinity keeps the pod out, or its own affinity or anti-affinity does.

    Upstream: 1.4 InterPodAffinityMatches. A pod whose own affinity cannot be read is an error where the first of
    these does not fail.
    """
    parts = [_kept_out_1_4(pod, snapshot, failure_domains)]
    error = affinity_error(pod.spec)
    parts += [_too_far_1_4(pod, snapshot, term, failure_domains) for term in pod.required_affinity]
    parts += [_too_near_1_4(pod, snapshot, term, failure_domains) for term in pod.required_anti_affinity]
    masks = [part for part in parts if part is not None]
    fails: Mask | None = np.logical_or.reduce(masks) if masks else None
    if error is not None:
        left = np.ones(len(snapshot), np.bool_) if fails is None else ~fails
        return {**_verdict_1_4(fails), NodeError(error): left}
    return _verdict_1_4(fails)


def _verdict_1_4(fails: Mask | None) -> Verdict:
    return PASS if fails is None else {AFFINITY_NOT_MATCH_1_4: fails}


def _kept_out_1_4(pod: PodInfo, snapshot: Snapshot, failure_domains: Domains) -> Mask | None:
    """(n,) bool: rows sharing a topology with a pod one of whose anti-affinity terms picks this pod; None: no row.

    The topology is that of its last term, whichever picks the pod: upstream's records all point at the variable of
    a finished loop. Everything fails where upstream cannot make the list of those pods.
    """
    if _unlistable(pod, snapshot):
        return np.ones(len(snapshot), np.bool_)
    out: Mask | None = None
    picked = pod.as_picked(snapshot.term_keys)
    for key in used_keys(snapshot, REPEL):

        def weight(info: PodInfo, key: str = key) -> int:
            terms = info.required_anti_affinity
            if not terms or terms[-1].topology_key != key:
                return 0
            return sum(compile_term_1_4(term, info.namespace)(pod) for term in terms)

        rule = ("kept out 1.4", key, pod.namespace, picked.labels)
        hit = near(snapshot, rule, weight, picked.by, key, failure_domains)
        if hit is not None:
            out = hit if out is None else out | hit
    return out


def _unlistable(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether upstream fails to list the running pods' anti-affinity terms that pick the pod.

    It does when one that reaches the pod's namespace has an invalid selector; and, once a node with pods is not
    known, also when a pod with anti-affinity is there, or any running pod's affinity cannot be read.
    """
    if any_use(snapshot, REPEL):

        def invalid(info: PodInfo) -> int:
            terms = info.required_anti_affinity
            return sum(compile_term_1_4(term, info.namespace).errs(pod) for term in terms)

        if snapshot.domain_sums(snapshot.tally(("invalid 1.4", pod.namespace), None, invalid)).any():
            return True
    whole = snapshot.whole()
    if whole.has_node.all():
        return False
    unknown = ~whole.has_node
    astray = whole.counts(snapshot.tally("anti-affinity 1.4", None, _has_anti_affinity))
    unread = snapshot.domain_sums(snapshot.tally("unread affinity 1.4", None, _is_unread))
    return bool((whole.pod_count[unknown] > 0).any() and (astray[unknown].any() or unread.any()))


def _has_anti_affinity(info: PodInfo) -> int:
    return int(info.spec.affinity is not None and info.spec.affinity.pod_anti_affinity is not None)


def _is_unread(info: PodInfo) -> int:
    return int(affinity_error(info.spec) is not None)


def _too_far_1_4(pod: PodInfo, snapshot: Snapshot, term: PodAffinityTerm, failure_domains: Domains) -> Mask | None:
    """(n,) bool: rows without a pod that the term picks in their topology; None: no row.

    None, if there is no such pod anywhere and the pod is one itself. An invalid selector fails.
    """
    matches = compile_term_1_4(term, pod.namespace)
    hit = None if matches.error else _near_picked(pod, snapshot, term, matches, failure_domains)
    if hit is None:
        return None if matches(pod) else np.ones(len(snapshot), np.bool_)
    return ~hit


def _too_near_1_4(pod: PodInfo, snapshot: Snapshot, term: PodAffinityTerm, failure_domains: Domains) -> Mask | None:
    """(n,) bool: rows with a pod that the term picks in their topology; None: no row.

    All rows, if a pod it picks is on a node that is not known, or its selector is invalid and there is a pod in its
    namespaces.
    """
    matches = compile_term_1_4(term, pod.namespace)
    whole = snapshot.whole()
    if matches.error or not whole.has_node.all():
        test = matches.reaches if matches.error else matches
        rule: Hashable = ("picked 1.4, by row", pod.namespace, term)
        reach = None if matches.error else matches.labels.marks
        there = whole.counts(snapshot.tally(rule, None, lambda info: int(test(info)), reach))
        if (there if matches.error else there[~whole.has_node]).any():
            return np.ones(len(snapshot), np.bool_)
    return _near_picked(pod, snapshot, term, matches, failure_domains)


def _near_picked(
    pod: PodInfo, snapshot: Snapshot, term: PodAffinityTerm, matches: TermMatcher14, failure_domains: Domains
) -> Mask | None:
    """(n,) bool: rows sharing the term's topology with a pod it picks; None: it picks no pod anywhere."""

    def weight(info: PodInfo) -> int:
        return int(matches(info))

    rule = ("picked 1.4", pod.namespace, term)
    return near(snapshot, rule, weight, matches.labels.marks, term.topology_key, failure_domains)


# --- evidence ------------------------------------------------------------------------------


def explain_affinity_1_4(pod: PodInfo, snapshot: Snapshot, failure_domains: Domains) -> Refusal:
    """Whether running pods let the pod in, and each of its own terms with the pods that it picks nearby."""

    def near_by(term: PodAffinityTerm) -> str:
        keys = (term.topology_key,) if term.topology_key else failure_domains
        matches = compile_term_1_4(term, pod.namespace)
        pods = [name for key in keys for name in pods_in_domain(snapshot, key, matches)]
        return few(tuple(dict.fromkeys(pods))) or "none"

    def picks(term: PodAffinityTerm) -> str:
        return affinity_term_text(term, pod.namespace)

    def domain(term: PodAffinityTerm) -> str:
        keys = (term.topology_key,) if term.topology_key else failure_domains
        return " or ".join(f"{key}={label_text(label_of(snapshot, key))}" for key in keys)

    needs = [Need("no pod whose anti-affinity keeps it out", _keepers(pod, snapshot, failure_domains), True)]
    masks = [_kept_out_1_4(pod, snapshot, failure_domains)]
    for term in pod.required_affinity:
        needs.append(Need(f"a pod of its affinity ({picks(term)}) in {domain(term)}", near_by(term), True))
        masks.append(_too_far_1_4(pod, snapshot, term, failure_domains))
    for term in pod.required_anti_affinity:
        wanted = f"no pod of its anti-affinity ({picks(term)}) in {domain(term)}"
        needs.append(Need(wanted, near_by(term), True))
        masks.append(_too_near_1_4(pod, snapshot, term, failure_domains))
    met = [mask is None or not mask[0] for mask in masks]
    return Unmet(tuple(msgspec.structs.replace(need, met=bool(good)) for need, good in zip(needs, met, strict=True)))


def _keepers(pod: PodInfo, snapshot: Snapshot, failure_domains: Domains) -> str:
    """The pods nearby whose anti-affinity picks this one."""

    def repels(info: PodInfo) -> bool:
        return any(compile_term_1_4(term, info.namespace)(pod) for term in info.required_anti_affinity)

    keys = [domain for key in used_keys(snapshot, REPEL) for domain in ((key,) if key else failure_domains)]
    pods = [name for key in keys for name in pods_in_domain(snapshot, key, repels)]
    return few(tuple(dict.fromkeys(pods))) or "none"


def make_match_inter_pod_affinity_1_4(args: PredicateArgs) -> FitPredicate:
    """Each required term is judged on its own, the rule for the first of a group too. An empty topologyKey stands for
    any of `--failure-domains`; empty label values are no topology. Of a running pod with several anti-affinity terms, a
    match of any one counts under the topology key of its last term.

    Upstream: 1.4 InterPodAffinityMatches.
    """
    failure_domains = args.failure_domains

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return match_inter_pod_affinity_1_4(pod, snapshot, failure_domains)

    reads = LOCAL | Reads.ALL_NODES | Reads.ALL_PODS
    return FitPredicate(
        "MatchInterPodAffinity",
        check,
        Footprint(reads, narrow=affinity_reads, pod_key=affinity_labels),
        evidence=predicate_evidence(
            "MatchInterPodAffinity", lambda pod, snapshot, _: explain_affinity_1_4(pod, snapshot, failure_domains)
        ),
    )


INTERPOD_1_4: dict[str, FitPredicateFactory] = {"MatchInterPodAffinity": make_match_inter_pod_affinity_1_4}
