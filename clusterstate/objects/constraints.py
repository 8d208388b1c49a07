"""Selectors, affinity, taints and tolerations, topology spread: what pods say about nodes and each other."""

from __future__ import annotations

import msgspec

from clusterstate.objects.base import NO_LABELS, Labels


class Requirement(msgspec.Struct, frozen=True):
    """``key operator values``, as written: nothing is checked here."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, cache_hash=True):
    """Picks objects by labels; every requirement must hold. An empty one picks all."""

    match_labels: Labels = NO_LABELS
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True):
    """Picks nodes by labels and fields; every requirement must hold. An empty one picks none."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class PreferredSchedulingTerm(msgspec.Struct, frozen=True):
    """A preference for nodes, with its weight of 1 to 100."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(msgspec.Struct, frozen=True):
    """``required`` is None when absent; an empty tuple is a present selector without terms."""

    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """``namespaces`` is None when absent; ``namespace_selector`` is read by 1.36 only."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True):
    """A preference for nodes near pods, or away from them, with its weight of 1 to 100."""

    weight: int
    term: PodAffinityTerm


class PodAffinity(msgspec.Struct, frozen=True):
    """Pod affinity or pod anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod wants of nodes, and of pods near its own."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Taint(msgspec.Struct, frozen=True):
    """Keeps pods that do not tolerate it off a node (effect NoSchedule, NoExecute or PreferNoSchedule)."""

    key: str
    value: str = ""
    effect: str = ""


class Toleration(msgspec.Struct, frozen=True):
    """Taints that a pod accepts. Without a key any key, without an effect any effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def covers_value(self, taint: Taint) -> bool:
        """``Equal`` or no operator: the taint's value is the same; ``Exists``: whatever it is; others never."""
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


class TopologySpreadConstraint(msgspec.Struct, frozen=True):
    """How evenly pods are spread over the domains of a topology key."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
