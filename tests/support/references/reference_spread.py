"""PodTopologySpread of 1.20 and 1.36 node by node and pod by pod, as the rule is written; slow, and only for tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from clusterstate.objects import LabelSelector, Node, Pod, TopologySpreadConstraint

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
