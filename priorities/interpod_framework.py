"""InterPodAffinity as a score: near the pods that are wanted, far from those that are not, in both directions.

Each running pod adds a signed weight to all nodes of its domain of a term's topology key. With the lowest and highest
sum the score is 100·(sum - lowest)/(highest - lowest), truncated; in 1.20 the range always contains 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, TopologyScope, affinity_labels, every_sum
from clusterstate.growable import IntArray, constant_row
from clusterstate.objects import Labels
from clusterstate.pod_counts import Tally, Weight
from clusterstate.podinfo import AsPicked, PodInfo, Reach, any_of
from clusterstate.selectors.pod_affinity import (
    HARD,
    SOFT,
    TERMS_1_20,
    TERMS_1_36,
    HeldTallies,
    Tallies,
    Term,
    TermRules,
    Weighted,
    domain_tally,
    topology_keys,
)
from clusterstate.snapshot import Snapshot
from priorities.interpod import RangeOf, explain_stretched, explain_sums, near_by_key, range_with_0, stretched
from priorities.score_evidence import Calculation, Explain, plugin_evidence
from priorities.types import MAX_NODE_SCORE, PriorityConfig, PriorityError, Reduce

ERROR_1_20 = "parsing pod: "
ERROR_1_36 = "failed to parse pod: "
MOST_REMEMBERED = 4096
READS_OF_PLAIN = Reads.ALL_NODES | Reads.AFFINITY_PODS
"""What matters to pods without preferred terms."""


class TopologyScore(msgspec.Struct, frozen=True, eq=False):
    """The weights that the affinity terms of an incoming pod and of running pods give each other's domains.

    Upstream: topologyScore of 1.20 and 1.36 InterPodAffinity.

    own: its preferred terms. labels: those of its namespace. rule: all that the weights depend on besides the pod's
    own labels.
    """

    rules: TermRules
    hard_weight: int
    pod: PodInfo
    own: Weighted
    labels: Labels
    rule: Hashable
    _held: HeldTallies = msgspec.field(default_factory=HeldTallies)

    @classmethod
    def of(cls, rules: TermRules, hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> TopologyScore:
        """Worked out once, as long as namespaces stay as they are."""
        memo = snapshot.derived(("topology scores", rules.name, hard_weight), rules.reads, _memo)
        score = memo.get(pod)
        if score is None:
            if len(memo) >= MOST_REMEMBERED:
                memo.clear()
            own, labels = rules.own(pod, snapshot).preferred, rules.namespace_labels(pod, snapshot)
            rule = (rules.name, hard_weight, pod.namespace, labels, own)
            score = memo[pod] = cls(rules, hard_weight, pod, own, labels, rule)
        return score

    def keys(self, snapshot: Snapshot) -> list[str]:
        """The distinct topology keys that terms of either side have."""
        sorts = (HARD, SOFT) if self.hard_weight > 0 else (SOFT,)
        used = topology_keys(snapshot, *sorts)
        return list(dict.fromkeys((*(term.topology_key for term, _ in self.own), *used))) if self.own else used

    def weight(self, key: str) -> Weight:
        """What one running pod adds to its domain of ``key``."""
        return lambda info: sum(self._matches(info, key))

    def reach(self, picked: AsPicked, key: str) -> Reach:
        """Of which classes ``weight`` and ``touch`` may be other than 0."""
        own = (term.labels.marks for term, _ in self.own if term.topology_key == key)
        return any_of(picked.by, *own)

    def touch(self, key: str) -> Weight:
        """How many terms for ``key`` one running pod is concerned with."""
        return lambda info: len(self._matches(info, key))

    def _matches(self, info: PodInfo, key: str) -> list[int]:
        """The weights of the terms for ``key`` that pick the other side."""
        out = [weight for term, weight in self.own if term.topology_key == key and term.picks(info)]
        if info.has_pod_affinity:
            for term, weight in self._back(info):
                if term.topology_key == key and term.picks(self.pod, self.labels):
                    out.append(weight)
        return out

    def _back(self, info: PodInfo) -> Iterator[tuple[Term, int]]:
        """The terms of a running pod that count here."""
        wanted, unwanted = info.preferred_affinity, info.preferred_anti_affinity
        for term, w in zip(self.rules.running([w.term for w in wanted], info), wanted, strict=False):
            yield term, w.weight
        for term, w in zip(self.rules.running([w.term for w in unwanted], info), unwanted, strict=False):
            yield term, -w.weight
        if self.hard_weight > 0:
            for term in self.rules.running(info.required_affinity, info):
                yield term, self.hard_weight

    # --- over the nodes --------------------------------------------------------------------

    def sums(self, snapshot: Snapshot) -> IntArray:
        """(n,) int64: Σ of the weights on each row."""
        out: IntArray | None = None
        for tally in self.tallies(snapshot).values():
            if snapshot.domain_sums(tally).any():
                counts = snapshot.counts(tally)
                out = counts if out is None else out + counts
        return constant_row(0, len(snapshot)) if out is None else out

    def tallies(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running sum of the weights."""
        return self._held.of(snapshot, self._tallies)

    def _tallies(self, snapshot: Snapshot) -> Tallies:
        return {key: self._tally("affinity sums", snapshot, key, self.weight(key)) for key in self.keys(snapshot)}

    def is_any(self, snapshot: Snapshot) -> bool:
        """Whether a term of either side picks the other on a node with the term's key, weights apart."""
        return any(snapshot.domain_sums(tally)[1:].any() for tally in self.concerns(snapshot))

    def concerns(self, snapshot: Snapshot) -> Iterator[Tally]:
        """The running counts by which ``is_any`` goes: those of weights, and of terms where all weights cancel out."""
        some = False
        for tally in self.tallies(snapshot).values():
            some = some or bool(snapshot.domain_sums(tally)[1:].any())
            yield tally
        if not some:
            for key in self.keys(snapshot):
                yield self._tally("affinity touches", snapshot, key, self.touch(key))

    def _tally(self, name: str, snapshot: Snapshot, key: str, weight: Weight) -> Tally:
        picked = self.pod.as_picked(snapshot.term_keys)
        return domain_tally(snapshot, (name, self.rule, picked.labels), key, weight, self.reach(picked, key))


def _memo() -> dict[PodInfo, TopologyScore]:
    return {}


# --- scores from sums ----------------------------------------------------------------------


def spread_out(sums: IntArray, low: int, high: int) -> IntArray:
    """(n,) 0-100: ``sums`` stretched over the range from ``low`` to ``high``; 0 when that is one number."""
    if 0 < high - low < len(sums):
        table = stretched(np.arange(low, high + 1), low, high, MAX_NODE_SCORE)
        return table[sums - low]
    return stretched(sums, low, high, MAX_NODE_SCORE)


def normalize_1_20(_: PodInfo, __: Snapshot, sums: IntArray) -> IntArray:
    """Upstream: 1.20 NormalizeScore."""
    return spread_out(sums, *range_with_0(sums))


def normalize_1_36(_: PodInfo, __: Snapshot, sums: IntArray) -> IntArray:
    """Upstream: 1.36 NormalizeScore."""
    return spread_out(sums, *range_1_36(sums)) if len(sums) else sums


def range_1_36(sums: IntArray) -> tuple[int, int]:
    """(the lowest, the highest) of at least one."""
    return int(sums.min()), int(sums.max())


# --- the rule of each release --------------------------------------------------------------


def _sums(rules: TermRules, hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> IntArray:
    return TopologyScore.of(rules, hard_weight, pod, snapshot).sums(snapshot)


def _scope(rules: TermRules, hard_weight: int, pod: PodInfo, snapshot: Snapshot) -> TopologyScope:
    return TopologyScope(
        snapshot, TopologyScore.of(rules, hard_weight, pod, snapshot).tallies(snapshot).values(), every_sum
    )


def _narrow(rules: TermRules, pod: PodInfo) -> Reads:
    likes = bool(pod.preferred_affinity or pod.preferred_anti_affinity)
    return (Reads.ALL_NODES | Reads.ALL_PODS if likes else READS_OF_PLAIN) | rules.reads


def _explain(rules: TermRules, hard_weight: int) -> Explain:
    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        score = TopologyScore.of(rules, hard_weight, pod, snapshot)
        picked = pod.as_picked(snapshot.term_keys)
        domains = (
            (*near_by_key(snapshot, at, key), score.weight(key), score.reach(picked, key))
            for key in score.keys(snapshot)
        )
        return explain_sums(domains, snapshot)

    return explain


def scoring_1_20(hard_weight: int, rules: TermRules = TERMS_1_20) -> PriorityConfig:
    """InterPodAffinity's score. Upstream: 1.19 and 1.20."""
    return _scoring(rules, hard_weight, normalize_1_20, range_with_0)


def scoring_1_21(rules: TermRules, hard_weight: int) -> PriorityConfig:
    """InterPodAffinity's score, from the lowest to the highest sum. Upstream: 1.21."""
    return _scoring(rules, hard_weight, normalize_1_36, range_1_36)


def _scoring(rules: TermRules, hard_weight: int, normalize: Reduce, range_of: RangeOf) -> PriorityConfig:
    def pre_score(pod: PodInfo, snapshot: Snapshot) -> bool:
        if error := rules.error(pod, snapshot):
            raise PriorityError(ERROR_1_20 + error)
        return True

    return PriorityConfig(
        "InterPodAffinity",
        partial(_sums, rules, hard_weight),
        normalize,
        Footprint(
            Reads.ALL_NODES | Reads.ALL_PODS | rules.reads,
            narrow=partial(_narrow, rules),
            pod_key=affinity_labels,
            scope=partial(_scope, rules, hard_weight),
            pre_reads=rules.reads,
        ),
        valuewise=True,
        pre_score=pre_score,
        evidence=plugin_evidence("InterPodAffinity", _explain(rules, hard_weight), explain_stretched(range_of)),
    )


def scoring_1_25(hard_weight: int, *, ignores_others: bool, rules: TermRules) -> PriorityConfig:
    """InterPodAffinity's score; where no term concerns the pod, or counts, every node has 0. Upstream: 1.25 to 1.27."""
    scoring = scoring_1_36(hard_weight, ignores_others=False, rules=rules)

    def pre_score(pod: PodInfo, snapshot: Snapshot) -> bool:
        assert scoring.pre_score is not None
        if not ignores_others or pod.preferred_affinity or pod.preferred_anti_affinity:
            scoring.pre_score(pod, snapshot)
        return True

    def sums(pod: PodInfo, snapshot: Snapshot) -> IntArray:
        if ignores_others and not pod.preferred_affinity and not pod.preferred_anti_affinity:
            return np.zeros(len(snapshot), np.int64)
        return _sums(rules, hard_weight, pod, snapshot)

    return msgspec.structs.replace(scoring, map=sums if ignores_others else scoring.map, pre_score=pre_score)


def scoring_1_36(hard_weight: int, *, ignores_others: bool, rules: TermRules = TERMS_1_36) -> PriorityConfig:
    """InterPodAffinity's score; it skips when no term concerns the pod. Upstream: 1.36.

    ignores_others: it also skips when the pod has no preferred terms.
    """

    def pre_score(pod: PodInfo, snapshot: Snapshot) -> bool:
        if ignores_others and not pod.preferred_affinity and not pod.preferred_anti_affinity:
            return False
        if error := rules.error(pod, snapshot):
            raise PriorityError(ERROR_1_36 + error)
        return TopologyScore.of(rules, hard_weight, pod, snapshot).is_any(snapshot)

    return PriorityConfig(
        "InterPodAffinity",
        partial(_sums, rules, hard_weight),
        normalize_1_36,
        Footprint(
            Reads.ALL_NODES | Reads.ALL_PODS | Reads.NAMESPACES,
            narrow=partial(_narrow, rules),
            pod_key=affinity_labels,
            scope=partial(_scope, rules, hard_weight),
        ),
        valuewise=True,
        pre_score=pre_score,
        evidence=plugin_evidence("InterPodAffinity", _explain(rules, hard_weight), explain_stretched(range_1_36)),
    )
