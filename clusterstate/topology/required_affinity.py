"""Required terms of affinity, a pod's own and those of running pods that may pick it: releases 1.20 and 1.36."""

from __future__ import annotations

import msgspec

from clusterstate.objects import Labels
from clusterstate.podinfo import PodInfo, any_of
from clusterstate.snapshot import Snapshot
from clusterstate.topology.held_tallies import HeldTallies, Tallies
from clusterstate.topology.pod_affinity import REPEL, domain_tally, is_somewhere, topology_keys
from clusterstate.topology.pod_affinity_terms import MOST_REMEMBERED, OwnTerms, TermRules


class RequiredAffinity(msgspec.Struct, frozen=True, eq=False):
    """The terms of both sides that matter to one pod, worked out once while namespaces stay as they are."""

    rules: TermRules
    pod: PodInfo
    own: OwnTerms
    namespace_labels: Labels
    """Of the pod's namespace."""
    _wanted: HeldTallies = msgspec.field(default_factory=HeldTallies)
    _avoided: HeldTallies = msgspec.field(default_factory=HeldTallies)
    _repelling: HeldTallies = msgspec.field(default_factory=HeldTallies)

    @classmethod
    def of(cls, rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> RequiredAffinity:
        """The same object for a pod until a namespace changes."""
        memo = snapshot.derived(("required affinity", rules.name), rules.reads, _memo)
        asked = memo.get(pod)
        if asked is None:
            if len(memo) >= MOST_REMEMBERED:
                memo.clear()
            own, labels = rules.own(pod, snapshot), rules.namespace_labels(pod, snapshot)
            asked = memo[pod] = cls(rules, pod, own, labels)
        return asked

    def wanted(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running count of pods that all terms of affinity pick."""
        return self._wanted.of(snapshot, self._ask_wanted) if self.own.affinity else {}

    def avoided(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running count of pods that terms of anti-affinity for the key pick."""
        return self._avoided.of(snapshot, self._ask_avoided) if self.own.anti_affinity else {}

    def repelling(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running count of anti-affinity terms for the key that pick this pod."""
        return self._repelling.of(snapshot, self._ask_repelling)

    def picks(self, info: PodInfo) -> bool:
        """Whether all terms of affinity pick a pod."""
        return all(term.picks(info) for term in self.own.affinity)

    def alone(self, snapshot: Snapshot) -> bool:
        """Whether the pod has affinity, no running pod is one that it asks for, and the pod is one itself."""
        if not self.own.affinity or not self.picks(self.pod):
            return False
        return not any(is_somewhere(snapshot, tally) for tally in self.wanted(snapshot).values())

    def _ask_wanted(self, snapshot: Snapshot) -> Tallies:
        terms = self.own.affinity
        rule = ("affinity", self.rules.name, terms)
        keys = dict.fromkeys(term.topology_key for term in terms)
        reach = terms[0].labels.marks
        return {key: domain_tally(snapshot, rule, key, lambda info: int(self.picks(info)), reach) for key in keys}

    def _ask_avoided(self, snapshot: Snapshot) -> Tallies:
        terms = self.own.anti_affinity
        out: Tallies = {}
        reach = any_of(*(term.labels.marks for term in terms))
        for key in dict.fromkeys(term.topology_key for term in terms):

            def weight(info: PodInfo, key: str = key) -> int:
                return sum([term.topology_key == key and term.picks(info) for term in terms])

            out[key] = domain_tally(snapshot, ("anti-affinity", self.rules.name, terms), key, weight, reach)
        return out

    def _ask_repelling(self, snapshot: Snapshot) -> Tallies:
        out: Tallies = {}
        rules, pod, labels = self.rules, self.pod, self.namespace_labels
        picked = pod.as_picked(snapshot.term_keys)
        for key in topology_keys(snapshot, REPEL):

            def weight(info: PodInfo, key: str = key) -> int:
                wanted = rules.running(info.required_anti_affinity, info)
                return sum([term.topology_key == key and term.picks(pod, labels) for term in wanted])

            rule = ("keeps out", rules.name, pod.namespace, picked.labels, labels)
            out[key] = domain_tally(snapshot, rule, key, weight, picked.by)
        return out


def _memo() -> dict[PodInfo, RequiredAffinity]:
    return {}
