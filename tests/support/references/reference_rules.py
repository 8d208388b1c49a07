"""Rules written again as upstream's loops are, to compare with: 1.4's, affinity between pods, spreading."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from clusterstate.selectors.matching import SelectorError, compile_label_selector

NO_PODS = PodAffinity()


class UnknownNodeError(Exception):
    """A pod runs on a node that is not known."""


@attrs.frozen
class ReferenceCluster:
    nodes: Sequence[Node]
    pods: Sequence[Pod]
    failure_domains: Sequence[str]

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise UnknownNodeError(name)

    def together(self, one: Node, other: Node, key: str) -> bool:
        """The two share the topology."""
        values = [
            (one.metadata.labels.get(k, ""), other.metadata.labels.get(k, ""))
            for k in ([key] if key else self.failure_domains)
        ]
        return any(a and a == b for a, b in values)


def matches(pod: Pod, owner: Pod, term: PodAffinityTerm) -> bool:
    """Raises SelectorError once the namespace fits."""
    namespaces = [owner.metadata.namespace] if term.namespaces is None else term.namespaces
    if namespaces and pod.metadata.namespace not in namespaces:
        return False
    return compile_label_selector(term.label_selector)(pod.metadata.labels)


def affinity(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity.pod_affinity if pod.spec.affinity else None) or NO_PODS


def anti_affinity(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity.pod_anti_affinity if pod.spec.affinity else None) or NO_PODS


def has_terms(pod: Pod) -> bool:
    found = pod.spec.affinity
    return found is not None and (found.pod_affinity is not None or found.pod_anti_affinity is not None)


def fits(pod: Pod, node: Node, world: ReferenceCluster) -> bool:
    """MatchInterPodAffinity."""
    try:
        return not _kept_out(pod, node, world) and _required(pod, node, world)
    except (SelectorError, UnknownNodeError):
        return False


def _kept_out(pod: Pod, node: Node, world: ReferenceCluster) -> bool:
    for other in world.pods:
        if other.spec.affinity is None or other.spec.affinity.pod_anti_affinity is None:
            continue
        there, terms = world.node(other.node_name), anti_affinity(other).required
        picked = [matches(pod, other, term) for term in terms]
        if True in picked and world.together(node, there, terms[-1].topology_key):
            return True
    return False


def _required(pod: Pod, node: Node, world: ReferenceCluster) -> bool:
    for term in affinity(pod).required:
        picked = [other for other in world.pods if matches(other, pod, term)]
        known = [other for other in picked if any(n.name == other.node_name for n in world.nodes)]
        near = any(world.together(node, world.node(other.node_name), term.topology_key) for other in known)
        if not near and (picked or not matches(pod, pod, term)):
            return False
    for term in anti_affinity(pod).required:
        for other in world.pods:
            if matches(other, pod, term) and world.together(node, world.node(other.node_name), term.topology_key):
                return False
    return True


def sums(pod: Pod, world: ReferenceCluster, hard_weight: int) -> dict[str, int]:
    """What InterPodAffinityPriority counts on each node; raises where it errs."""
    out = {node.name: 0 for node in world.nodes}
    for other in world.pods:
        if not has_terms(pod) and not has_terms(other):
            continue
        there = world.node(other.node_name)
        terms = [(w.term, w.weight, other, pod) for w in affinity(pod).preferred]
        terms += [(w.term, -w.weight, other, pod) for w in anti_affinity(pod).preferred]
        if hard_weight > 0:
            terms += [(term, hard_weight, pod, other) for term in affinity(other).required]
        terms += [(w.term, w.weight, pod, other) for w in affinity(other).preferred]
        terms += [(w.term, -w.weight, pod, other) for w in anti_affinity(other).preferred]
        for term, weight, tested, owner in terms:
            if matches(tested, owner, term):
                for node in world.nodes:
                    if world.together(node, there, term.topology_key):
                        out[node.name] += weight
    return out


MAX = 2**31 - 1
MISSING, CROWDED = "missing", "crowded"
HOSTNAME = "kubernetes.io/hostname"

Change = tuple[int, Pod, int]
"""(node, pod, 1 or -1)."""


def selects(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    if selector is None:
        return False
    for requirement in selector.match_expressions:
        there = labels.get(requirement.key)
        hit = {
            "In": there is not None and there in requirement.values,
            "NotIn": there not in requirement.values,
            "Exists": there is not None,
            "DoesNotExist": there is None,
        }[requirement.operator]
        if not hit:
            return False
    return selector.match_labels.items() <= labels.items()


def picks_node(pod: Pod, node: Node) -> bool:
    """The pod's nodeSelector; the tests use no other node affinity."""
    return pod.spec.node_selector.items() <= node.metadata.labels.items()


def tolerated(pod: Pod, node: Node) -> bool:
    keys = {t.key for t in pod.spec.tolerations}
    return all(taint.key in keys for taint in node.taints if taint.effect in ("NoSchedule", "NoExecute"))


@attrs.define
class Slots:
    """The two smallest counts, as upstream keeps them."""

    values: list[tuple[str | None, int]] = attrs.field(factory=lambda: [(None, MAX), (None, MAX)])

    def update(self, value: str, count: int) -> None:
        first, second = self.values
        if value == first[0]:
            first = (value, count)
        elif value == second[0]:
            second = (value, count)
        elif count < first[1]:
            first, second = (value, count), first
        elif count < second[1]:
            second = (value, count)
        self.values = [second, first] if first[1] > second[1] else [first, second]


@attrs.define
class Reference:
    """A cluster: nodes, and the pods on each."""

    nodes: Sequence[Node]
    pods: Sequence[Sequence[Pod]]
    release: str

    def matches(self, c: TopologySpreadConstraint, pod: Pod, other: Pod) -> bool:
        if self.release == "1.36" and c.label_selector is not None:
            for key in c.match_label_keys:
                mine = pod.metadata.labels.get(key)
                if mine is not None and other.metadata.labels.get(key) != mine:
                    return False
        return selects(c.label_selector, other.metadata.labels)

    def count(self, c: TopologySpreadConstraint, pod: Pod, at: int) -> int:
        if self.release == "1.36" and c.label_selector == LabelSelector():
            keys = [key for key in c.match_label_keys if key in pod.metadata.labels]
            if not keys:
                return 0
        return sum(
            other.metadata.namespace == pod.metadata.namespace
            and other.metadata.deletion_timestamp is None
            and self.matches(c, pod, other)
            for other in self.pods[at]
        )

    def included(self, c: TopologySpreadConstraint, pod: Pod, node: Node) -> bool:
        if self.release == "1.20":
            return picks_node(pod, node)
        if c.node_affinity_policy != "Ignore" and not picks_node(pod, node):
            return False
        return c.node_taints_policy != "Honor" or tolerated(pod, node)

    # --- filter ----------------------------------------------------------------------------

    def verdicts(self, pod: Pod, changes: Iterable[Change] = ()) -> list[str | None]:
        """Node by node why it fails, None when it fits."""
        hard = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
        maps = self._maps(pod, hard)
        slots = {id(counts): Slots() for counts in maps}
        for counts in {id(m): m for m in maps}.values():
            for value in sorted(counts, key=self._order(hard)):
                slots[id(counts)].update(value, counts[value])
        for at, other, sign in changes:
            labels = self.nodes[at].metadata.labels
            if other.metadata.namespace != pod.metadata.namespace or any(c.topology_key not in labels for c in hard):
                continue
            for c, counts in zip(hard, maps, strict=True):
                value = labels[c.topology_key]
                takes = self.release == "1.20" and value in counts
                takes = takes or (self.release == "1.36" and self.included(c, pod, self.nodes[at]))
                if takes and self.matches(c, pod, other):
                    counts[value] = counts.get(value, 0) + sign
                    slots[id(counts)].update(value, counts[value])
        return [self._verdict(pod, node, hard, maps, slots) for node in self.nodes]

    def _order(self, hard: Sequence[TopologySpreadConstraint]) -> Callable[[str], int]:
        seen: dict[str, int] = {}
        for node in self.nodes:
            for c in hard:
                seen.setdefault(node.metadata.labels.get(c.topology_key, ""), len(seen))
        return seen.__getitem__

    def _maps(self, pod: Pod, hard: Sequence[TopologySpreadConstraint]) -> list[dict[str, int]]:
        shared: dict[str, dict[str, int]] = {}
        maps = [shared.setdefault(c.topology_key, {}) if self.release == "1.20" else {} for c in hard]
        able = [all(c.topology_key in node.metadata.labels for c in hard) for node in self.nodes]
        for at, node in enumerate(self.nodes):
            for c, counts in zip(hard, maps, strict=True):
                if able[at] and self.included(c, pod, node):
                    counts.setdefault(node.metadata.labels[c.topology_key], 0)
        for at, node in enumerate(self.nodes):
            for c, counts in zip(hard, maps, strict=True):
                value = node.metadata.labels.get(c.topology_key, "")
                takes = self.release == "1.20" or (able[at] and self.included(c, pod, node))
                if takes and value in counts:
                    counts[value] += self.count(c, pod, at)
        return maps

    def _verdict(
        self,
        pod: Pod,
        node: Node,
        hard: Sequence[TopologySpreadConstraint],
        maps: list[dict[str, int]],
        slots: dict[int, Any],
    ) -> str | None:
        for c, counts in zip(hard, maps, strict=True):
            value = node.metadata.labels.get(c.topology_key)
            if value is None:
                return MISSING
            least = slots[id(counts)].values[0][1]
            if self.release == "1.36" and len(counts) < (1 if c.min_domains is None else c.min_domains):
                least = 0
            if counts.get(value, 0) + self.matches(c, pod, pod) - least > c.max_skew:
                return CROWDED
        return None

    # --- score -----------------------------------------------------------------------------

    def raw(
        self, pod: Pod, soft: Sequence[TopologySpreadConstraint], feasible: Sequence[int], require_all: bool
    ) -> tuple[list[int], list[bool]]:
        """(raw score, whether it is passed over) of each feasible node."""
        has = [all(c.topology_key in node.metadata.labels for c in soft) for node in self.nodes]
        ignored = [require_all and not has[at] for at in feasible]
        left = [at for at, out in zip(feasible, ignored, strict=True) if not out]
        shared: dict[str, dict[str, int]] = {}
        maps = [shared.setdefault(c.topology_key, {}) if self.release == "1.20" else {} for c in soft]
        sizes = [len(left) if c.topology_key == HOSTNAME else 0 for c in soft]
        for at in left:
            for i, c in enumerate(soft):
                value = self.nodes[at].metadata.labels.get(c.topology_key, "")
                if c.topology_key != HOSTNAME and value not in maps[i]:
                    maps[i][value] = 0
                    sizes[i] += 1
        for at, node in enumerate(self.nodes):
            for c, counts in zip(soft, maps, strict=True):
                value = node.metadata.labels.get(c.topology_key, "")
                if (has[at] or not require_all) and self.included(c, pod, node) and value in counts:
                    counts[value] += self.count(c, pod, at)
        raws = []
        for at, out in zip(feasible, ignored, strict=True):
            score = 0.0
            for c, counts, size in zip(soft, maps, sizes, strict=True):
                domain = self.nodes[at].metadata.labels.get(c.topology_key)
                if domain is not None:
                    count = self.count(c, pod, at) if c.topology_key == HOSTNAME else counts.get(domain, 0)
                    score += count * math.log(size + 2) + (c.max_skew - 1)
            raws.append(0 if out else int(score) if self.release == "1.20" else math.floor(score + 0.5))
        return raws, ignored

    @staticmethod
    def normalized(raws: Sequence[int], ignored: Sequence[bool]) -> list[int]:
        counted = [raw for raw, out in zip(raws, ignored, strict=True) if not out]
        low, high = min(counted, default=MAX), max([0, *counted])
        return [
            0 if out else 100 if high == 0 else 100 * (high + low - raw) // high
            for raw, out in zip(raws, ignored, strict=True)
        ]


AFFINITY, ANTI, EXISTING = "affinity", "anti", "existing"
Pairs = Counter[tuple[str, str]]


def sides(pod: Pod) -> tuple[PodAffinity, PodAffinity]:
    affinity = pod.spec.affinity or Affinity()
    return affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()


@attrs.define
class InterpodReference:
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
