"""InterPodAffinityPriority: near the pods that are liked, far from those that are not, in both directions.

Each running pod adds a signed weight to all nodes of its domain of a term's topology key; with lo = min(0, lowest)
and hi = max(0, highest) the score is 10·(sum - lo)/(hi - lo), truncated.

First the rule of 1.16 and 1.15, below it that of 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint, TopologyScope, affinity_labels, every_sum
from clusterstate.growable import ABSENT, IntArray, Mask, constant_row
from clusterstate.manifests.annotations_1_4 import affinity_error
from clusterstate.objects import PodAffinityTerm
from clusterstate.pod_counts import Weight
from clusterstate.podinfo import AsPicked, PodInfo, Reach, any_of
from clusterstate.selectors.affinity_1_4 import any_use, compile_term_1_4, sums_near, topology_codes, used_keys
from clusterstate.selectors.pod_affinity import (
    HARD,
    SOFT,
    Tallies,
    affinity_reads,
    compile_term,
    domain_tally,
    first_error,
    held_for,
    is_broken,
    running_error,
    topology_keys,
)
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import (
    Calculation,
    Explain,
    ExplainReduce,
    added,
    domain_text,
    formula,
    labels_text,
    one_row,
    priority_evidence,
    traced,
)
from priorities.types import (
    MAX_NODE_SCORE,
    MAX_PRIORITY,
    PriorityArgs,
    PriorityConfig,
    PriorityConfigFactory,
    PriorityError,
    Reduce,
)


def affinity_sums(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ of the weights that running pods add to each row.

    A running pod counts by the pod's preferred terms that pick it, by its own preferred terms that pick the pod, and
    by its own required affinity terms that do, with ``hard_weight`` each. Pods on unknown nodes do not count.
    Raises PriorityError for an invalid selector. Upstream: 1.16 CalculateInterPodAffinityPriority.
    """
    if error := _error(pod, snapshot, _sorts(hard_weight)):
        raise PriorityError(error)
    out: IntArray | None = None
    for tally in _tallies(hard_weight, pod, snapshot).values():
        if snapshot.domain_sums(tally).any():
            counts = snapshot.counts(tally)
            out = counts if out is None else out + counts
    return constant_row(0, len(snapshot)) if out is None else out


def _sorts(hard_weight: int) -> tuple[str, ...]:
    """The sorts of running pods' terms that count."""
    return (HARD, SOFT) if hard_weight > 0 else (SOFT,)


def _tallies(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> Tallies:
    """Topology key → the running sum of the weights."""
    held = held_for(snapshot, ("affinity sums", hard_weight), pod)
    return held.of(snapshot, partial(_ask_tallies, hard_weight, pod))


def _ask_tallies(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> Tallies:
    picked = pod.as_picked(snapshot.term_keys)
    rule = ("affinity sums", hard_weight, pod.namespace, picked.labels, tuple(signed_terms(pod)))
    return {
        key: domain_tally(snapshot, rule, key, _weight(pod, hard_weight, key), _reach(pod, picked, key))
        for key in _keys(pod, snapshot, _sorts(hard_weight))
    }


def _scope(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> TopologyScope | None:
    if first_error((term for term, _ in signed_terms(pod)), pod.namespace) or is_broken(snapshot, *_sorts(hard_weight)):
        return None
    return TopologyScope(snapshot, _tallies(hard_weight, pod, snapshot).values(), every_sum)


def signed_terms(pod: PodInfo) -> list[tuple[PodAffinityTerm, int]]:
    """The preferred terms with their weight, negative for anti-affinity."""
    return [(w.term, w.weight) for w in pod.preferred_affinity] + [
        (w.term, -w.weight) for w in pod.preferred_anti_affinity
    ]


def _keys(pod: PodInfo, snapshot: Snapshot, sorts: tuple[str, ...]) -> list[str]:
    """The distinct topology keys that terms of either side have."""
    own = (term.topology_key for term, _ in signed_terms(pod))
    return list(dict.fromkeys((*own, *topology_keys(snapshot, *sorts))))


def _error(pod: PodInfo, snapshot: Snapshot, sorts: tuple[str, ...]) -> str | None:
    """An invalid selector's text: of a running pod, or of the pod itself once there is a pod to try it on."""
    terms = [weighted.term for weighted in (*pod.preferred_affinity, *pod.preferred_anti_affinity)]
    error = first_error(terms, pod.namespace) if terms else None
    if error and any(snapshot.node(row) for info in snapshot.running() for row in info.rows):
        return error
    return running_error(snapshot, *sorts)


def _weight(pod: PodInfo, hard_weight: int, key: str) -> Weight:
    """What one running pod adds to its domain of ``key``."""
    liked = [(compile_term(term, pod.namespace), w) for term, w in signed_terms(pod) if term.topology_key == key]

    def weight(info: PodInfo) -> int:
        total = 0
        for matches, w in liked:
            if matches(info):
                total += w
        return total + _back(info, pod, hard_weight, key) if info.has_pod_affinity else total

    return weight


def _reach(pod: PodInfo, picked: AsPicked, key: str) -> Reach:
    """Of which classes ``_weight`` may be other than 0."""
    liked = (
        compile_term(term, pod.namespace).labels.marks for term, _ in signed_terms(pod) if term.topology_key == key
    )
    return any_of(picked.by, *liked)


def _back(info: PodInfo, pod: PodInfo, hard_weight: int, key: str) -> int:
    """What a running pod's own terms for ``key`` say about the pod."""
    return sum(w for _, w in _picking(info, pod, hard_weight, key))


def _picking(info: PodInfo, pod: PodInfo, hard_weight: int, key: str) -> list[tuple[PodAffinityTerm, int]]:
    """A running pod's own terms for ``key`` that pick the pod, with what each says."""
    terms = [(term, hard_weight) for term in info.required_affinity] if hard_weight > 0 else []
    terms += [(w.term, w.weight) for w in info.preferred_affinity]
    terms += [(w.term, -w.weight) for w in info.preferred_anti_affinity]
    return [(term, w) for term, w in terms if term.topology_key == key and compile_term(term, info.namespace)(pod)]


def normalize_sums(_: PodInfo, __: Snapshot, sums: IntArray, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best``: ``sums`` stretched over the range from the lowest to the highest, 0 always being in it."""
    return stretched(sums, *range_with_0(sums), best)


def range_with_0(sums: IntArray) -> tuple[int, int]:
    """(the lowest, the highest), 0 always being between them."""
    return min(0, int(sums.min(initial=0))), max(0, int(sums.max(initial=0)))


def stretched(sums: IntArray, low: int, high: int, best: int) -> IntArray:
    """(n,) 0–``best``: ``sums`` stretched over the range from ``low`` to ``high``; 0 when that is one number."""
    if low == high:
        return constant_row(0, len(sums))
    scores: IntArray = (best * ((sums - low) / (high - low))).astype(np.int64)
    return scores


# --- evidence ------------------------------------------------------------------------------


def near_by_key(snapshot: Snapshot, at: int, key: str) -> tuple[str, Mask]:
    """(a row's domain of a topology key as a text, (N,) bool: the rows of the whole cluster that share it)."""
    codes = snapshot.whole().label_codes(key)[0]
    code = snapshot.label_codes(key)[0][at]
    return domain_text(snapshot, key, at), (codes == code) & (code != ABSENT)


def explain_sums(domains: Iterable[tuple[str, Mask, Weight, Reach]], snapshot: Snapshot) -> Calculation:
    """Pods times weights. domains: (its text, (N,) bool: its rows, what one running pod adds to it, the marks of those
    that may add something)."""
    terms: list[str] = []
    inputs: dict[str, Any] = {}
    for name, rows, weight, reach in domains:
        by_term: dict[str, int] = {}
        inside = set(np.flatnonzero(rows).tolist())
        for info in snapshot.running(reach):
            pods = sum(count for row, count in info.rows.items() if row in inside)
            each = weight(info) if pods else 0
            if each:
                terms.append(f"{pods} * {each}")
                text = f"pods of {info.namespace} with {labels_text(info.labels)}, {each} each"
                by_term[text] = by_term.get(text, 0) + pods
        inputs[name] = {**inputs.get(name, {}), **by_term}
    return Calculation(added(terms), inputs)


def _explain(hard_weight: int) -> Explain:
    sorts = _sorts(hard_weight)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        picked = pod.as_picked(snapshot.term_keys)
        domains = (
            (*near_by_key(snapshot, at, key), _weight(pod, hard_weight, key), _reach(pod, picked, key))
            for key in _keys(pod, snapshot, sorts)
        )
        return explain_sums(domains, snapshot)

    return explain


RangeOf = Callable[[IntArray], tuple[int, int]]
"""Of sums: the lowest and the highest that counts."""


def explain_stretched(range_of: RangeOf, best: int = MAX_NODE_SCORE) -> ExplainReduce:
    """Of ``stretched``."""

    def explain(_: PodInfo, __: Snapshot, sums: IntArray, at: int) -> Calculation:
        low, high = range_of(sums)
        score = stretched(traced(sums[at : at + 1]), traced(low), traced(high), best)[0]
        return Calculation(formula(score), {"lowest": low, "highest": high})

    return explain


explain_normalized_sums = explain_stretched(range_with_0, MAX_PRIORITY)
"""Of ``normalize_sums``."""


def make_inter_pod_affinity(args: PriorityArgs) -> PriorityConfig:
    """Each running pod adds to all nodes of its topology domain: +weight or -weight for this pod's preferred
    (anti-)affinity terms that match it, the same for its own preferred terms that match this pod, and the hard pod
    affinity weight for its own required affinity terms that match this pod. With lo = min(0, lowest sum) and hi =
    max(0, highest sum) the score is 10·(sum - lo)/(hi - lo), truncated; 0 everywhere if hi = lo.

    Upstream: 1.16 CalculateInterPodAffinityPriority.
    """
    return sums_config(
        args,
        affinity_sums,
        normalize_sums,
        _explain(args.hard_pod_affinity_symmetric_weight),
        explain_normalized_sums,
        scope=partial(_scope, args.hard_pod_affinity_symmetric_weight),
    )


def sums_config(
    args: PriorityArgs,
    sums: Callable[[int, PodInfo, Snapshot], IntArray],
    reduce: Reduce,
    explain: Explain,
    explain_reduce: ExplainReduce,
    *,
    narrow: Callable[[PodInfo], Reads] = affinity_reads,
    scope: Callable[[PodInfo, Snapshot], TopologyScope | None] | None = None,
) -> PriorityConfig:
    """InterPodAffinityPriority of a release. sums: of (hard weight, pod, snapshot)."""
    reads = LOCAL | Reads.ALL_NODES | Reads.ALL_PODS
    return PriorityConfig(
        "InterPodAffinityPriority",
        partial(sums, args.hard_pod_affinity_symmetric_weight),
        reduce,
        Footprint(reads, narrow=narrow, pod_key=affinity_labels, scope=scope),
        valuewise=True,
        evidence=priority_evidence("InterPodAffinityPriority", explain, explain_reduce),
        reduce_to_100=partial(normalize_sums, best=MAX_NODE_SCORE),
    )


# --- release 1.15 ------------------------------------------------------------------------------
#
# Sums are kept for nodes with pods that have affinity, or for all if the pod has some. Of other nodes nothing is known,
# and the process ends when a term reaches one of them.

NO_SUM = -(1 << 62)
"""Stands in place of the sum of a row for which none is kept."""
REACHED = NO_SUM + 1
"""The same where a term reaches the row."""
CRASHES = "InterPodAffinityPriority: runtime error: invalid memory address or nil pointer dereference"
"""Before the process ends."""


def affinity_sums_1_15(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) the same, NO_SUM or REACHED of rows for which none is kept."""
    sums = affinity_sums(hard_weight, pod, snapshot)
    if pod.has_pod_affinity:
        return sums
    kept = snapshot.counts(snapshot.tally("pods with affinity", None, _has_affinity)) > 0
    if kept.all():
        return sums
    reached = np.zeros(len(snapshot), np.bool_)
    for tally in (
        held_for(snapshot, ("affinity reaches", hard_weight), pod)
        .of(snapshot, partial(_ask_reaching, hard_weight, pod))
        .values()
    ):
        reached |= snapshot.counts(tally) > 0
    return np.where(kept, sums, np.where(reached, REACHED, NO_SUM))


def _has_affinity(info: PodInfo) -> int:
    return int(info.has_pod_affinity)


def _ask_reaching(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> Tallies:
    """Topology key → how many running pods have terms that pick the pod."""
    picked = pod.as_picked(snapshot.term_keys)
    rule = ("affinity reaches", hard_weight, pod.namespace, picked.labels)

    def weight(info: PodInfo, key: str) -> int:
        return int(bool(_picking(info, pod, hard_weight, key)))

    return {
        key: domain_tally(snapshot, rule, key, partial(weight, key=key), picked.by)
        for key in topology_keys(snapshot, *_sorts(hard_weight))
    }


def _scope_1_15(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> TopologyScope | None:
    if pod.has_pod_affinity:
        return _scope(hard_weight, pod, snapshot)
    if is_broken(snapshot, *_sorts(hard_weight)):
        return None
    tallies = (*_tallies(hard_weight, pod, snapshot).values(), *_ask_reaching(hard_weight, pod, snapshot).values())
    return TopologyScope(snapshot, tallies, every_sum)


def _reads_1_15(pod: PodInfo) -> Reads:
    """The pods of the row too, which say whether a sum is kept."""
    return affinity_reads(pod) | Reads.PODS


def normalize_sums_1_15(pod: PodInfo, snapshot: Snapshot, sums: IntArray) -> IntArray:
    """(n,) 0–10: the same over the sums that are kept, 0 elsewhere. Raises PriorityError where the process ends."""
    if (sums == REACHED).any():
        raise PriorityError(CRASHES)
    kept = sums != NO_SUM
    return np.where(kept, normalize_sums(pod, snapshot, np.where(kept, sums, 0)), 0)


def _explain_1_15(hard_weight: int) -> Explain:
    explain = _explain(hard_weight)

    def explain_kept(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        sums = affinity_sums_1_15(hard_weight, pod, one_row(snapshot, at))
        if sums[0] in (NO_SUM, REACHED):
            return Calculation(str(sums[0]), {"no sum": "neither this pod nor one on the node has pod affinity"})
        return explain(pod, snapshot, at)

    return explain_kept


def explain_normalized_sums_1_15(pod: PodInfo, snapshot: Snapshot, sums: IntArray, at: int) -> Calculation:
    """Of ``normalize_sums_1_15``."""
    kept = sums != NO_SUM
    return explain_normalized_sums(pod, snapshot, np.where(kept, sums, 0), at) if kept[at] else Calculation("0")


def make_inter_pod_affinity_1_15(args: PriorityArgs) -> PriorityConfig:
    """If the pod has no pod affinity, only nodes with pods that have some take part; the others score 0 and have no say
    in the lowest and highest sum. Where a running pod's term that matches this pod reaches one of them, kube-scheduler
    1.15 ends with a nil pointer dereference; here the attempt is an error.

    Upstream: 1.15 CalculateInterPodAffinityPriority.
    """
    return sums_config(
        args,
        affinity_sums_1_15,
        normalize_sums_1_15,
        _explain_1_15(args.hard_pod_affinity_symmetric_weight),
        explain_normalized_sums_1_15,
        narrow=_reads_1_15,
        scope=partial(_scope_1_15, args.hard_pod_affinity_symmetric_weight),
    )


INTERPOD: dict[str, PriorityConfigFactory] = {
    "InterPodAffinityPriority": PriorityConfigFactory(make_inter_pod_affinity)
}
INTERPOD_1_15: dict[str, PriorityConfigFactory] = {
    "InterPodAffinityPriority": PriorityConfigFactory(make_inter_pod_affinity_1_15)
}


Domains = tuple[str, ...]


def affinity_sums_1_4(hard_weight: int, failure_domains: Domains, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) int64: Σ of the weights that running pods add to each row, in both directions.

    Raises PriorityError for what cannot be read, for an invalid selector that is tried on a pod, and for a pod that
    counts on a node that is not known. Upstream: 1.4 CalculateInterPodAffinityPriority.
    """
    if error := affinity_error(pod.spec) or _error_1_4(hard_weight, pod, snapshot):
        raise PriorityError(error)
    sorts = (HARD, SOFT) if hard_weight > 0 else (SOFT,)
    signed = signed_terms(pod)
    picked = pod.as_picked(snapshot.term_keys)
    rule = ("affinity sums 1.4", hard_weight, pod.namespace, picked.labels, tuple(signed))
    out: IntArray | None = None
    for key in _keys_1_4(pod, snapshot, sorts):
        weight, reach = _weight_1_4(pod, hard_weight, key), _reach_1_4(pod, picked, key)
        sums = sums_near(snapshot, (rule, key), weight, reach, key, failure_domains)
        if sums is not None:
            out = sums if out is None else out + sums
    return constant_row(0, len(snapshot)) if out is None else out


def _keys_1_4(pod: PodInfo, snapshot: Snapshot, sorts: tuple[str, ...]) -> list[str]:
    """The distinct topology keys, the empty one too, that terms of either side have."""
    return list(dict.fromkeys((*(term.topology_key for term, _ in signed_terms(pod)), *used_keys(snapshot, *sorts))))


def _back_1_4(info: PodInfo, hard_weight: int) -> list[tuple[PodAffinityTerm, int]]:
    """A running pod's own terms that count."""
    hard = [(term, hard_weight) for term in info.required_affinity] if hard_weight > 0 else []
    return hard + signed_terms(info)


def _weight_1_4(pod: PodInfo, hard_weight: int, key: str) -> Weight:
    """What one running pod adds to its topology of ``key``."""
    liked = [(compile_term_1_4(term, pod.namespace), w) for term, w in signed_terms(pod) if term.topology_key == key]

    def weight(info: PodInfo) -> int:
        total = sum(w for matches, w in liked if matches(info))
        if info.has_pod_affinity:
            own = (entry for entry in _back_1_4(info, hard_weight) if entry[0].topology_key == key)
            total += sum(w for term, w in own if compile_term_1_4(term, info.namespace)(pod))
        return total

    return weight


def _reach_1_4(pod: PodInfo, picked: AsPicked, key: str) -> Reach:
    """Of which classes ``_weight_1_4`` may be other than 0."""
    liked = (
        compile_term_1_4(term, pod.namespace).labels.marks for term, _ in signed_terms(pod) if term.topology_key == key
    )
    return any_of(picked.by, *liked)


# --- errors --------------------------------------------------------------------------------


def _error_1_4(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> str | None:
    """The text of an error that upstream meets on a running pod, None when it meets none."""
    compiled = [(term, compile_term_1_4(term, pod.namespace)) for term, _ in signed_terms(pod)]
    own = {term: matches for term, matches in compiled if matches.error is not None}
    everyone = pod.has_pod_affinity
    if not everyone and not any_use(snapshot, HARD, SOFT) and snapshot.whole().has_node.all():
        return None

    def fault(info: PodInfo) -> str | None:
        if not everyone and not info.has_pod_affinity:
            return None
        if everyone and (text := affinity_error(info.spec)):
            return text
        tried = (matches.error for matches in own.values() if matches.errs(info))
        backs = (compile_term_1_4(term, info.namespace) for term, _ in _back_1_4(info, hard_weight))
        return next(chain(tried, (back.error for back in backs if back.errs(pod))), None)

    def counts(info: PodInfo) -> int:
        return int(everyone or info.has_pod_affinity)

    whole = snapshot.whole()
    if not whole.has_node.all():
        there = whole.counts(snapshot.tally(("counting pods 1.4", everyone), None, counts))
        astray = np.flatnonzero(~whole.has_node & (there > 0))
        if astray.size:
            return f"node '{whole.names[int(astray[0])]}' not found"
    rule = ("faults 1.4", hard_weight, pod.namespace, everyone, tuple(own))
    tally = snapshot.tally(rule, None, lambda info: int(fault(info) is not None))
    if not snapshot.domain_sums(tally).any():
        return None
    return next(text for info in snapshot.running() if (text := fault(info)) is not None)


# --- evidence ------------------------------------------------------------------------------


def _near(snapshot: Snapshot, at: int, key: str, failure_domains: Domains) -> tuple[str, Mask]:
    """(a row's domains of a topology key as a text, (N,) bool: the rows that share one of them)."""
    domains = (key,) if key else failure_domains
    rows = np.zeros(len(snapshot.whole()), np.bool_)
    for domain in domains:
        code = topology_codes(snapshot, domain)[at]
        rows |= (topology_codes(snapshot.whole(), domain) == code) & (code != ABSENT)
    return " or ".join(domain_text(snapshot, domain, at) for domain in domains), rows


def _explain_1_4(hard_weight: int, failure_domains: Domains) -> Explain:
    sorts = (HARD, SOFT) if hard_weight > 0 else (SOFT,)

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        picked = pod.as_picked(snapshot.term_keys)
        domains = (
            (
                *_near(snapshot, at, key, failure_domains),
                _weight_1_4(pod, hard_weight, key),
                _reach_1_4(pod, picked, key),
            )
            for key in _keys_1_4(pod, snapshot, sorts)
        )
        return explain_sums(domains, snapshot)

    return explain


def make_inter_pod_affinity_1_4(args: PriorityArgs) -> PriorityConfig:
    """An empty topologyKey stands for any of `--failure-domains`; empty label values are no topology. A running pod on
    an unknown node is an error if it counts.

    Upstream: 1.4 CalculateInterPodAffinityPriority.
    """
    hard_weight, failure_domains = args.hard_pod_affinity_symmetric_weight, args.failure_domains

    def sums(hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> IntArray:
        return affinity_sums_1_4(hard_weight, failure_domains, pod, snapshot)

    explain = _explain_1_4(hard_weight, failure_domains)
    return sums_config(args, sums, normalize_sums, explain, explain_normalized_sums)


INTERPOD_1_4: dict[str, PriorityConfigFactory] = {
    "InterPodAffinityPriority": PriorityConfigFactory(make_inter_pod_affinity_1_4)
}
