"""InterPodAffinity of 1.20 and 1.36 pod by pod, as the rule is written; slow, and only for tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import attrs

from clusterstate.objects import Affinity, LabelSelector, Node, Pod, PodAffinity, PodAffinityTerm
from tests.support.references.reference_spread import selects

AFFINITY, ANTI, EXISTING = "affinity", "anti", "existing"
Change = tuple[int, Pod, int]
Pairs = Counter[tuple[str, str]]


def sides(pod: Pod) -> tuple[PodAffinity, PodAffinity]:
    affinity = pod.spec.affinity or Affinity()
    return affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()


@attrs.define
class Reference:
    """A cluster: nodes, the pods on each, and the labels of the namespaces that there are."""

    nodes: Sequence[Node]
    pods: Sequence[Sequence[Pod]]
    release: str
    namespaces: Mapping[str, Mapping[str, str]]

    def matches(self, term: PodAffinityTerm, owner: Pod, other: Pod, *, incoming: bool) -> bool:
        """Whether ``owner``'s term picks ``other``; incoming: ``owner`` is the pod that looks for a place."""
        if not selects(term.label_selector, other.metadata.labels):
            return False
        there = other.metadata.namespace
        selector = term.namespace_selector if self.release == "1.36" else None
        listed = set(term.namespaces or ())
        if not listed and selector is None:
            listed = {owner.metadata.namespace}
        if selector is None:
            return there in listed
        if incoming:
            if selector != LabelSelector():
                listed |= {name for name, labels in self.namespaces.items() if selects(selector, dict(labels))}
            return there in listed or selects(selector, {})
        return there in listed or selects(selector, dict(self.namespaces.get(there, {})))

    def verdicts(self, pod: Pod, changes: Iterable[Change] = ()) -> list[str | None]:
        """Node by node which step fails, None when it fits."""
        near, away = (side.required for side in sides(pod))
        a, n, x = self._state(pod, changes)
        matches_itself = bool(near) and all(self.matches(t, pod, pod, incoming=True) for t in near)
        out: list[str | None] = []
        for node in self.nodes:
            labels = node.metadata.labels
            lacks = any(t.topology_key not in labels for t in near)
            met = all(a[t.topology_key, labels.get(t.topology_key, "")] > 0 for t in near)
            if lacks or not (met or (not a and matches_itself)):
                out.append(AFFINITY)
            elif any(n[t.topology_key, labels[t.topology_key]] > 0 for t in away if t.topology_key in labels):
                out.append(ANTI)
            else:
                out.append(EXISTING if any(x[pair] > 0 for pair in labels.items()) else None)
        return out

    def _state(self, pod: Pod, changes: Iterable[Change]) -> tuple[Pairs, Pairs, Pairs]:
        near, away = (side.required for side in sides(pod))
        state: tuple[Pairs, Pairs, Pairs] = (Counter(), Counter(), Counter())
        everyone = [(at, other, 1) for at, there in enumerate(self.pods) for other in there]
        for at, other, sign in (*everyone, *changes):
            labels = self.nodes[at].metadata.labels
            if near and all(self.matches(t, pod, other, incoming=True) for t in near):
                self._count(state[0], near, labels, sign)
            self._count(state[1], [t for t in away if self.matches(t, pod, other, incoming=True)], labels, sign)
            theirs = sides(other)[1].required
            self._count(state[2], [t for t in theirs if self.matches(t, other, pod, incoming=False)], labels, sign)
        return state

    @staticmethod
    def _count(pairs: Pairs, terms: Iterable[PodAffinityTerm], labels: Mapping[str, str], sign: int) -> None:
        for term in terms:
            if term.topology_key in labels:
                pair = (term.topology_key, labels[term.topology_key])
                pairs[pair] += sign
                if not pairs[pair]:
                    del pairs[pair]

    def any_existing(self, pod: Pod) -> bool:
        """Whether X has an entry."""
        return bool(self._state(pod, ())[2])

    # --- score -----------------------------------------------------------------------------

    def raw(self, pod: Pod, hard_weight: int, feasible: Sequence[int]) -> list[int] | None:
        """Of each feasible node; None: no term concerns anybody."""
        table: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for at, there in enumerate(self.pods):
            labels = self.nodes[at].metadata.labels
            for other in there:
                for term, weight in self._terms(pod, other, hard_weight):
                    if term.topology_key in labels:
                        table[term.topology_key][labels[term.topology_key]] += weight
        if not table:
            return None
        nodes = [self.nodes[at].metadata.labels for at in feasible]
        return [sum(table[key][labels[key]] for key in table if key in labels) for labels in nodes]

    def _terms(self, pod: Pod, other: Pod, hard_weight: int) -> Iterable[tuple[PodAffinityTerm, int]]:
        for side, sign in zip(sides(pod), (1, -1), strict=True):
            for weighted in side.preferred:
                if self.matches(weighted.term, pod, other, incoming=True):
                    yield weighted.term, sign * weighted.weight
        if hard_weight > 0:
            for term in sides(other)[0].required:
                if self.matches(term, other, pod, incoming=False):
                    yield term, hard_weight
        for side, sign in zip(sides(other), (1, -1), strict=True):
            for weighted in side.preferred:
                if self.matches(weighted.term, other, pod, incoming=False):
                    yield weighted.term, sign * weighted.weight

    def normalized(self, raws: Sequence[int]) -> list[int]:
        low, high = min(raws), max(raws)
        if self.release == "1.20":
            low, high = min(0, low), max(0, high)
        return [int(100 * ((raw - low) / (high - low))) if high > low else 0 for raw in raws]
