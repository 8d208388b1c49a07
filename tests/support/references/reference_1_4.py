"""Pod affinity of release 1.4 written pod by pod, as its text has it; slow, and independent of the columns."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from clusterstate.objects import Node, Pod, PodAffinity, PodAffinityTerm
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
