"""Pods as release 1.36 reads them when feature gates are not at their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import attrs

from clusterstate.objects import NO_RESOURCES, Pod, PodSpec, Taint, Toleration
from clusterstate.pod_view_1_36 import pod_key_1_36
from clusterstate.podinfo import PodKey

MATCH_LABEL_KEYS = "MatchLabelKeysInPodTopologySpread"
POD_LEVEL = "PodLevelResources"
POD_LEVEL_RESIZE = "InPlacePodLevelResourcesVerticalScaling"
COMPARISONS = "TaintTolerationComparisonOperators"

Change = Callable[[PodSpec], PodSpec]


@attrs.frozen
class ComparingToleration(Toleration):
    """A toleration whose operator ``Lt`` or ``Gt`` compares the taint's value with its own as whole numbers."""

    def covers_value(self, taint: Taint) -> bool:
        """``Lt``: the taint's value is the smaller one; ``Gt``: the greater. What is no decimal number never is."""
        mine, theirs = _number(self.value), _number(taint.value)
        if mine is None or theirs is None:
            return False
        return theirs < mine if self.operator == "Lt" else theirs > mine


def _number(text: str) -> int | None:
    """A decimal number of 64 bits without leading zeros or plus sign."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (digits[0] == "0" and text != "0"):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _without_match_label_keys(spec: PodSpec) -> PodSpec:
    constraints = tuple(attrs.evolve(c, match_label_keys=()) for c in spec.topology_spread_constraints)
    return attrs.evolve(spec, topology_spread_constraints=constraints)


def _without_resources(spec: PodSpec) -> PodSpec:
    return attrs.evolve(spec, resources=NO_RESOURCES)


def _comparing(spec: PodSpec) -> PodSpec:
    return attrs.evolve(spec, tolerations=tuple(map(_with_comparison, spec.tolerations)))


def _with_comparison(toleration: Toleration) -> Toleration:
    if toleration.operator not in ("Lt", "Gt"):
        return toleration
    return ComparingToleration(*attrs.astuple(toleration))


def gated_pod_key_1_36(gates: Mapping[str, bool]) -> Callable[[Pod], PodKey]:
    """What makes two pods equal to release 1.36 under these feature gates; gates that are not named are as usual."""
    changes: list[Change] = []
    if not gates.get(MATCH_LABEL_KEYS, True):
        changes.append(_without_match_label_keys)
    if not gates.get(POD_LEVEL, True):
        changes.append(_without_resources)
    if gates.get(COMPARISONS, False):
        changes.append(_comparing)
    resizes = gates.get(POD_LEVEL, True) and gates.get(POD_LEVEL_RESIZE, True)
    return pod_key_1_36 if resizes and not changes else _changed(tuple(changes), resizes=resizes)


def _changed(changes: tuple[Change, ...], *, resizes: bool) -> Callable[[Pod], PodKey]:
    """resizes: what a pod's status says of resources of the pod as a whole counts."""

    @lru_cache(maxsize=16_384)
    def change(spec: PodSpec) -> PodSpec:
        for one in changes:
            spec = one(spec)
        return spec

    def key(pod: Pod) -> PodKey:
        grants = pod.grants
        if grants is not None and not resizes:
            grants = attrs.evolve(grants, pod=None)
        return pod_key_1_36(attrs.evolve(pod, spec=change(pod.spec), grants=grants))

    return key
