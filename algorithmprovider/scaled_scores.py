"""What a legacy priority would say if it went from 0 to 100: the same formula, rounded ten times more finely.

It parts what the coarse scores of 0-10 hide from what a later release computes otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_owners import Kinds
from clusterstate.snapshot import Snapshot
from priorities.image_locality import image_locality, image_locality_of_100_1_4
from priorities.interpod import normalize_sums
from priorities.normalize import default_normalize, default_normalize_reversed
from priorities.requested import balanced_resource_allocation, least_requested, most_requested
from priorities.selector_spread import spread_scores_of_100, spread_scores_of_100_1_4
from priorities.spread import spread_scores_of_100 as even_scores_of_100
from priorities.types import MAX_NODE_SCORE, MAX_PRIORITY, PriorityConfig

STEPS = MAX_NODE_SCORE // MAX_PRIORITY
"""Fine steps in a coarse one."""

ScaledForm = Callable[[PriorityConfig, PodInfo, Snapshot], IntArray | None]
"""(n,) 0-100 of exactly the feasible rows; None where there is no finer form."""


def _finer(score: Callable[..., IntArray]) -> ScaledForm:
    """Of a score that says how high it goes."""
    return lambda _, pod, view: score(pod, view, best=MAX_NODE_SCORE)


def _stretched(config: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray:
    return default_normalize(pod, view, config.map(pod, view))


def _turned(config: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray:
    return default_normalize_reversed(pod, view, config.map(pod, view))


def scaled_spread(config: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray:
    """(n,) of SelectorSpreadPriority in 1.16."""
    return spread_scores_of_100(pod, view, config.map(pod, view))


def scaled_spread_1_4(kinds: Kinds) -> ScaledForm:
    """SelectorSpreadPriority in 1.4. kinds: whose selectors count."""

    def fine(config: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray:
        return spread_scores_of_100_1_4(pod, view, config.map(pod, view), kinds)

    return fine


def scaled_even(config: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray | None:
    """None for a pod without soft constraints: all nodes have 0."""
    return None if config.constant(pod) is not None else even_scores_of_100(pod, view, config.map(pod, view))


def _between(config: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray:
    return normalize_sums(pod, view, config.map(pod, view), MAX_NODE_SCORE)


def scaled_image_1_4(_: PriorityConfig, pod: PodInfo, view: Snapshot) -> IntArray:
    """(n,) of the bytes of the pod's images on each node, 1.4."""
    return image_locality_of_100_1_4(pod, view)


scaled_image = _finer(image_locality)
"""Of the bytes of the pod's images on each node, 1.16."""

SCALED_FORMS: Mapping[str, ScaledForm] = {
    "LeastRequestedPriority": _finer(least_requested),
    "MostRequestedPriority": _finer(most_requested),
    "BalancedResourceAllocation": _finer(balanced_resource_allocation),
    "NodeAffinityPriority": _stretched,
    "TaintTolerationPriority": _turned,
    "InterPodAffinityPriority": _between,
}
"""Priority → its finer form, of those that have the same in 1.4 and 1.16."""


def scaled_scores(
    config: PriorityConfig, forms: Mapping[str, ScaledForm], pod: PodInfo, view: Snapshot, coarse: IntArray
) -> IntArray:
    """(n,) 0-100 over exactly the feasible rows; ten times ``coarse`` where ``forms``, a release's, have no finer one.

    Ten times is exact for priorities that only know 0 and 10.
    """
    if config.scaled_to_100 is not None:
        return config.scaled_to_100(pod, view)
    fine = forms.get(config.name)
    scores = None if fine is None else fine(config, pod, view)
    return coarse * STEPS if scores is None else scores
