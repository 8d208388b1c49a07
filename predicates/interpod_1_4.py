"""MatchInterPodAffinity as release 1.4 judges: each term on its own, and no errors of running pods' terms."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec
import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint, affinity_labels
from clusterstate.growable import Mask
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import PodAffinityTerm
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import TermMatcher14, any_use, compile_term_1_4, near, used_keys
from clusterstate.selectors.pod_affinity import REPEL, affinity_reads
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import (
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
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

AFFINITY_NOT_MATCH_1_4 = "MatchInterPodAffinity"

Domains = tuple[str, ...]


def match_inter_pod_affinity_1_4(pod: PodInfo, snapshot: Snapshot, failure_domains: Domains) -> Verdict:
    """Fails where a running pod's anti-affinity keeps the pod out, or its own affinity or anti-affinity does.

    Upstream: 1.4 InterPodAffinityMatches. A pod whose own affinity cannot be read is an error where the first of
    these does not fail.
    """
    parts = [_kept_out(pod, snapshot, failure_domains)]
    error = affinity_error(pod.spec)
    parts += [_too_far(pod, snapshot, term, failure_domains) for term in pod.required_affinity]
    parts += [_too_near(pod, snapshot, term, failure_domains) for term in pod.required_anti_affinity]
    masks = [part for part in parts if part is not None]
    fails: Mask | None = np.logical_or.reduce(masks) if masks else None
    if error is not None:
        left = np.ones(len(snapshot), np.bool_) if fails is None else ~fails
        return {**_verdict(fails), NodeError(error): left}
    return _verdict(fails)


def _verdict(fails: Mask | None) -> Verdict:
    return PASS if fails is None else {AFFINITY_NOT_MATCH_1_4: fails}


def _kept_out(pod: PodInfo, snapshot: Snapshot, failure_domains: Domains) -> Mask | None:
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


def _too_far(pod: PodInfo, snapshot: Snapshot, term: PodAffinityTerm, failure_domains: Domains) -> Mask | None:
    """(n,) bool: rows without a pod that the term picks in their topology; None: no row.

    None, if there is no such pod anywhere and the pod is one itself. An invalid selector fails.
    """
    matches = compile_term_1_4(term, pod.namespace)
    hit = None if matches.error else _near_picked(pod, snapshot, term, matches, failure_domains)
    if hit is None:
        return None if matches(pod) else np.ones(len(snapshot), np.bool_)
    return ~hit


def _too_near(pod: PodInfo, snapshot: Snapshot, term: PodAffinityTerm, failure_domains: Domains) -> Mask | None:
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
    masks = [_kept_out(pod, snapshot, failure_domains)]
    for term in pod.required_affinity:
        needs.append(Need(f"a pod of its affinity ({picks(term)}) in {domain(term)}", near_by(term), True))
        masks.append(_too_far(pod, snapshot, term, failure_domains))
    for term in pod.required_anti_affinity:
        wanted = f"no pod of its anti-affinity ({picks(term)}) in {domain(term)}"
        needs.append(Need(wanted, near_by(term), True))
        masks.append(_too_near(pod, snapshot, term, failure_domains))
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
