"""Spread constraints as releases 1.20 and 1.36 read them: the pod's own, or the profile's defaults."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import msgspec

from clusterstate.changes import Reads
from clusterstate.objects import Labels, Requirement, TopologySpreadConstraint
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.default_selector import default_selector_1_20, default_selector_1_36
from clusterstate.selectors.label_selectors_framework import compile_selector, compile_selector_1_36
from clusterstate.selectors.matching import NOTHING, Matcher
from clusterstate.selectors.pod_keys import spread_labels
from clusterstate.snapshot import Snapshot
from clusterstate.topology.spread_counts import SOFT

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
HONOR = "Honor"
SYSTEM = "System"
MOST_REMEMBERED = 4096

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(3, HOSTNAME, SOFT),
    TopologySpreadConstraint(5, ZONE, SOFT),
)
"""The defaults of a profile that names none."""


class SpreadConstraint(msgspec.Struct, frozen=True, cache_hash=True):
    """A constraint ready to count by."""

    max_skew: int
    topology_key: str
    selector: Matcher
    min_domains: int = 1
    """With fewer domains the smallest count is taken as 0 (1.36)."""
    honours_affinity: bool = True
    """Whether nodes that the pod's node affinity does not match are left out (1.36: can be switched off)."""
    honours_taints: bool = False
    """Whether nodes with taints that the pod does not tolerate are left out (1.36)."""


Constraints = tuple[SpreadConstraint, ...]


class SpreadRules(msgspec.Struct, frozen=True, eq=False):
    """Where a profile's pods get their constraints from."""

    defaults: tuple[TopologySpreadConstraint, ...]
    """The constraints of pods that have none themselves."""
    system: bool
    """Whether the defaults are the built-in ones."""
    compile: Callable[[TopologySpreadConstraint, Labels], SpreadConstraint]
    """Compiles a constraint of a pod with these labels."""
    default_selector: Callable[[PodInfo, Snapshot], Matcher | None]
    """The pods that default constraints count; None when the defaults do not apply to the pod."""

    def may_have(self, pod: PodInfo, action: str) -> bool:
        """Whether there may be constraints of one sort (HARD or SOFT), judged by the pod alone."""
        return any(c.when_unsatisfiable == action for c in pod.spec.topology_spread_constraints or self.defaults)

    def constraints(self, pod: PodInfo, snapshot: Snapshot, action: str) -> Constraints:
        """The constraints of one sort, HARD or SOFT. Raises SelectorError for an invalid selector."""
        own = pod.spec.topology_spread_constraints
        if not own and not self.may_have(pod, action):
            return ()
        selector = None if own else self.default_selector(pod, snapshot)
        if not own and selector is None:
            return ()
        memo = snapshot.derived("spread constraints", Reads.SERVICES, _memo)
        key = (self, pod if selector is None else selector, action)
        found = memo.get(key)
        if found is None:
            if len(memo) >= MOST_REMEMBERED:
                memo.clear()
            compiled = (self.compile(c, pod.labels) for c in own or self.defaults if c.when_unsatisfiable == action)
            found = tuple(c if selector is None else msgspec.structs.replace(c, selector=selector) for c in compiled)
            memo[key] = found
        return found

    def pod_key(self, pod: PodInfo, snapshot: Snapshot) -> Hashable:
        """What the constraints read of a pod besides its spec."""
        if pod.spec.topology_spread_constraints:
            return spread_labels(pod, snapshot)
        matcher = self.default_selector(pod, snapshot) if self.defaults else None
        return None if matcher is None else (matcher, matcher(pod.labels))

    def requires_all(self, pod: PodInfo) -> bool:
        """Whether a node that lacks one of the topology keys of soft constraints is passed over when scoring."""
        return bool(pod.spec.topology_spread_constraints) or not self.system


def _memo() -> dict[tuple[SpreadRules, PodInfo | Matcher, str], Constraints]:
    return {}


def spread_rules_1_20(defaults: tuple[TopologySpreadConstraint, ...], defaulting_type: str) -> SpreadRules:
    """The rules of a profile with these PodTopologySpreadArgs."""
    system = defaulting_type == SYSTEM
    return SpreadRules(SYSTEM_DEFAULTS if system else defaults, system, compile_1_20, default_selector_1_20)


def spread_rules_1_36(defaults: tuple[TopologySpreadConstraint, ...], defaulting_type: str) -> SpreadRules:
    """The rules of a profile with these PodTopologySpreadArgs."""
    system = defaulting_type == SYSTEM
    return SpreadRules(SYSTEM_DEFAULTS if system else defaults, system, compile_1_36, default_selector_1_36)


def compile_1_20(constraint: TopologySpreadConstraint, _: Labels) -> SpreadConstraint:
    """Raises SelectorError for an invalid selector."""
    selector = compile_selector(constraint.label_selector)
    return SpreadConstraint(constraint.max_skew, constraint.topology_key, selector, min_domains=0)


def compile_1_36(constraint: TopologySpreadConstraint, labels: Labels) -> SpreadConstraint:
    """With the labels that ``matchLabelKeys`` names, where the pod has them, added to the selector.

    Raises SelectorError for an invalid selector. Upstream: 1.36 filterTopologySpreadConstraints.
    """
    selector = compile_selector_1_36(constraint.label_selector)
    wanted = {key: labels[key] for key in sorted(constraint.match_label_keys) if key in labels}
    if wanted and selector != NOTHING:
        more = tuple(Requirement(key, "In", (value,)) for key, value in wanted.items())
        selector = Matcher(more + selector.requirements)
    return SpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honours_affinity=constraint.node_affinity_policy in (None, HONOR),
        honours_taints=constraint.node_taints_policy == HONOR,
    )
