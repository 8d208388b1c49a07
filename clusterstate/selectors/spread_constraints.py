"""Spread constraints, and the pods that they count by domain: as release 1.16 reads a pod's own, then as 1.20 and 1.36
read these or the profile's defaults."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache, partial

import msgspec
import numpy as np

from clusterstate.changes import Reads, remember
from clusterstate.footprint import spread_labels
from clusterstate.growable import ABSENT, IntArray, Mask
from clusterstate.objects import Labels, LabelSelector, Node, Requirement, Taint, TopologySpreadConstraint
from clusterstate.pod_counts import Tally, Weight
from clusterstate.podinfo import PodInfo, Reach, any_of
from clusterstate.selectors.matching import (
    NOTHING,
    Matcher,
    any_tolerates,
    compile_label_selector,
    compile_selector,
    compile_selector_1_36,
)
from clusterstate.selectors.node_selection import pod_matches_nodes, pod_matches_nodes_1_20, selects_nodes
from clusterstate.selectors.pod_owners import default_selector_1_20, default_selector_1_36
from clusterstate.snapshot import Snapshot

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"

OwnConstraints = tuple[TopologySpreadConstraint, ...]
LabelSelectors = tuple[LabelSelector | None, ...]


class DomainCounts(msgspec.Struct, frozen=True):
    """Counts over the domains of one topology key, by domain code."""

    totals: IntArray
    """(D,) int64 pods on the eligible nodes, meaningless at code 0."""
    present: Mask
    """(D,) bool: whether the domain has an eligible node."""


def constraints_of(pod: PodInfo, when_unsatisfiable: str) -> OwnConstraints:
    """The pod's constraints of one sort, HARD or SOFT."""
    return tuple(c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == when_unsatisfiable)


def carrying(snapshot: Snapshot, keys: Iterable[str]) -> Mask:
    """(n,) bool: the rows whose node has every one of these labels; ``keys`` must not be empty."""
    out: Mask | None = None
    for key in keys:
        has = snapshot.label_codes(key)[0] != ABSENT
        out = has if out is None else out & has
    assert out is not None
    return out


def eligible_rows(pod: PodInfo, snapshot: Snapshot, constraints: OwnConstraints) -> Mask:
    """(n,) bool: the rows that carry every key and that the pod's nodeSelector and node affinity pick."""
    out = carrying(snapshot, (constraint.topology_key for constraint in constraints))
    return out & pod_matches_nodes(pod, snapshot) if selects_nodes(pod) else out


def spread_over(
    pod: PodInfo, snapshot: Snapshot, constraints: OwnConstraints, namespace: str | None
) -> dict[str, DomainCounts] | None:
    """Topology key → the spread of the pods that the key's constraints select; None when no row is eligible.

    The whole cluster is looked at, whatever rows the snapshot is over. A pod counts once for each constraint of the key
    that selects it. namespace: where pods are counted, None for everywhere. Raises SelectorError for an invalid
    selector.
    """
    whole = snapshot.whole()
    selectors: dict[str, LabelSelectors] = {}
    for constraint in constraints:
        selectors[constraint.topology_key] = (*selectors.get(constraint.topology_key, ()), constraint.label_selector)
    eligible = eligible_rows(pod, whole, constraints)
    if not eligible.any():
        return None
    return {key: _counts_of(whole, key, namespace, wanted, eligible) for key, wanted in selectors.items()}


def _counts_of(
    whole: Snapshot, key: str, namespace: str | None, selectors: LabelSelectors, eligible: Mask
) -> DomainCounts:
    codes = whole.label_codes(key)[0]
    every = eligible.all() or np.array_equal(eligible, codes != ABSENT)
    codes = codes if every else codes * eligible
    present = np.bincount(codes, minlength=len(whole.label_values(key))) > 0
    present[ABSENT] = False
    if every:
        return DomainCounts(whole.domain_sums(_selected_pods(whole, namespace, selectors, key)), present)
    counts = whole.counts(_selected_pods(whole, namespace, selectors, None))
    return DomainCounts(np.bincount(codes, weights=counts, minlength=len(present)).astype(np.int64), present)


def _selected_pods(
    snapshot: Snapshot, namespace: str | None, selectors: LabelSelectors, topology_key: str | None
) -> Tally:
    """The running count of the pods that ``selectors`` select, once for each that does."""
    matchers: list[Matcher] = [compile_label_selector(selector) for selector in selectors]

    def weight(info: PodInfo) -> int:
        if namespace is not None and info.namespace != namespace:
            return 0
        return sum(matcher(info.labels) for matcher in matchers)

    reach = any_of(*(matcher.marks for matcher in matchers))
    return snapshot.tally(("topology spread", namespace, selectors, topology_key), topology_key, weight, reach)


def any_pods(pod: PodInfo, snapshot: Snapshot, constraints: OwnConstraints, namespace: str | None) -> bool:
    """Whether any pod at all (of a namespace) runs on an eligible row: a selector would be tried on it."""
    everything: LabelSelectors = (LabelSelector(),)
    whole = snapshot.whole()
    counts = whole.counts(_selected_pods(whole, namespace, everything, None))
    return bool(counts[eligible_rows(pod, whole, constraints)].any())


HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
HONOR = "Honor"
KEEPS_OUT = ("NoSchedule", "NoExecute")
EVERY_EFFECT = (*KEEPS_OUT, "PreferNoSchedule")
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
    honoured_taints: tuple[str, ...] = ()
    """The effects of taints that leave nodes out where the pod does not tolerate them (1.25)."""


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
        memo: dict[tuple[SpreadRules, PodInfo | Matcher, str], Constraints] = snapshot.derived(
            "spread constraints", Reads.SERVICES, dict
        )
        key = (self, pod if selector is None else selector, action)
        found = memo.get(key)
        if found is None:
            compiled = (self.compile(c, pod.labels) for c in own or self.defaults if c.when_unsatisfiable == action)
            found = tuple(c if selector is None else msgspec.structs.replace(c, selector=selector) for c in compiled)
            remember(memo, key, found, MOST_REMEMBERED)
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


def spread_rules_1_20(defaults: tuple[TopologySpreadConstraint, ...], defaulting_type: str) -> SpreadRules:
    """The rules of a profile with these PodTopologySpreadArgs."""
    system = defaulting_type == SYSTEM
    return SpreadRules(SYSTEM_DEFAULTS if system else defaults, system, compile_1_20, default_selector_1_20)


def spread_rules_1_22(defaults: tuple[TopologySpreadConstraint, ...], defaulting_type: str) -> SpreadRules:
    """The same; of controllers only the pod's own counts."""
    return msgspec.structs.replace(spread_rules_1_20(defaults, defaulting_type), default_selector=default_selector_1_36)


def spread_rules_1_36(defaults: tuple[TopologySpreadConstraint, ...], defaulting_type: str) -> SpreadRules:
    """The rules of a profile with these PodTopologySpreadArgs."""
    system = defaulting_type == SYSTEM
    return SpreadRules(SYSTEM_DEFAULTS if system else defaults, system, compile_1_36, default_selector_1_36)


def spread_rules_1_24(
    defaults: tuple[TopologySpreadConstraint, ...],
    defaulting_type: str,
    feature_gates: Mapping[str, bool],
    honoured_taints: tuple[str, ...] = (),
) -> SpreadRules:
    """The rules of a profile with these PodTopologySpreadArgs; gates decide which fields of constraints are read.

    honoured_taints: the effects that ``nodeTaintsPolicy`` is about, where they are not those that keep pods out.
    """
    fields = SpreadFields.under(feature_gates, honoured_taints or KEEPS_OUT)
    rules = spread_rules_1_36(defaults, defaulting_type)
    if fields == ALL_FIELDS:
        return rules
    return msgspec.structs.replace(rules, compile=partial(compile_1_24, fields))


class SpreadFields(msgspec.Struct, frozen=True):
    """Which fields of a constraint a release reads; the gates of the others are off."""

    min_domains: bool = True
    match_label_keys: bool = True
    inclusion_policies: bool = True
    honoured_taints: tuple[str, ...] = KEEPS_OUT
    """The effects of taints that ``nodeTaintsPolicy`` is about."""

    @classmethod
    def under(cls, feature_gates: Mapping[str, bool], honoured_taints: tuple[str, ...] = KEEPS_OUT) -> SpreadFields:
        """Those whose gates are on. Upstream: 1.24 to 1.32 feature.Features."""
        return cls(
            feature_gates.get("MinDomainsInPodTopologySpread", True),  # no gate any more since 1.30
            feature_gates.get("MatchLabelKeysInPodTopologySpread", False),
            feature_gates.get("NodeInclusionPolicyInPodTopologySpread", False),
            honoured_taints,
        )


ALL_FIELDS = SpreadFields()


def compile_1_24(fields: SpreadFields, constraint: TopologySpreadConstraint, labels: Labels) -> SpreadConstraint:
    """As in 1.36, of the fields that are read. Raises SelectorError for an invalid selector."""
    if not fields.match_label_keys:
        constraint = msgspec.structs.replace(constraint, match_label_keys=())
    if not fields.inclusion_policies:
        constraint = msgspec.structs.replace(constraint, node_affinity_policy=None, node_taints_policy=None)
    compiled = compile_1_36(constraint, labels)
    return msgspec.structs.replace(
        compiled,
        min_domains=compiled.min_domains if fields.min_domains else 0,
        honoured_taints=fields.honoured_taints if compiled.honoured_taints else (),
    )


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
        honoured_taints=KEEPS_OUT if constraint.node_taints_policy == HONOR else (),
    )


Selectors = tuple[Matcher, ...]


class PickedPods(msgspec.Struct, frozen=True, eq=False):
    """The pods of a namespace, not being deleted, that selectors pick; counted once for each that does."""

    namespace: str
    selectors: Selectors
    _tallies: dict[str | None, Tally] = msgspec.field(default_factory=dict)
    """By topology key: the running counts, as they were found last."""

    def tally(self, snapshot: Snapshot, topology_key: str | None) -> Tally:
        """Their running count by domain of a topology key; None: by node."""
        tally = self._tallies.get(topology_key)
        if tally is None or not snapshot.are_current((tally,)):
            weight, reach = _picked(self.namespace, self.selectors)
            name = "spread counts", self.namespace, self.selectors, topology_key
            tally = self._tallies[topology_key] = snapshot.tally(name, topology_key, weight, reach)
        return tally


class Counter(msgspec.Struct, frozen=True, eq=False):
    """Counts pods by domain as long as the nodes stay as they are."""

    topology_key: str
    pods: PickedPods
    rows: Mask | None
    """(N,) bool, the nodes whose pods count, None: every one that has the key."""
    blank: Mask | None
    """(N,) bool, nodes without the key that count into the domain of the empty value; None when there are none, or no
    such domain.
    """

    def totals(self, whole: Snapshot) -> IntArray:
        """(D,) int64 by domain code, meaningless at code 0; pods being deleted do not count. Not to be written to."""
        key = self.topology_key
        if not self.pods.selectors:
            return np.zeros(len(whole.label_values(key)), np.int64)
        if self.rows is None:
            sums = whole.domain_sums(self.pods.tally(whole, key))
        else:
            codes = whole.label_codes(key)[0] * self.rows
            counts = self._by_node(whole)
            sums = np.bincount(codes, weights=counts, minlength=len(whole.label_values(key))).astype(np.int64)
        if self.blank is not None:
            sums = sums.copy()
            sums[whole.label_codes(key)[1][""]] += self._by_node(whole)[self.blank].sum()
        return sums

    def _by_node(self, whole: Snapshot) -> IntArray:
        return whole.domain_sums(self.pods.tally(whole, None))[: len(whole)]


def counter(whole: Snapshot, namespace: str, key: str, selectors: Selectors, counted: Mask | None) -> Counter:
    """counted: (N,) bool, the nodes whose pods count, also those without the key; None: all nodes."""
    codes, index = whole.label_codes(key)
    has = codes != ABSENT
    rows = None if counted is None or not (has & ~counted).any() else counted
    blank: Mask | None = None
    if "" in index:
        lacking = ~has & (whole.has_node if counted is None else counted & whole.has_node)
        blank = lacking if lacking.any() else None
    return Counter(key, PickedPods(namespace, selectors), rows, blank)


class CounterSum(msgspec.Struct, frozen=True, eq=False):
    """Adds up what several counters of one topology key count."""

    counters: tuple[Counter, ...]

    def totals(self, whole: Snapshot) -> IntArray:
        """As ``Counter.totals``."""
        first, *others = (counter.totals(whole) for counter in self.counters)
        for more in others:
            first = first + more
        return first


def added_up(counters: Iterable[Counter]) -> Counter | CounterSum:
    """What some counters of one topology key, one at least, count together."""
    each = tuple(counters)
    return each[0] if len(each) == 1 else CounterSum(each)


@lru_cache(MOST_REMEMBERED)
def _picked(namespace: str, selectors: Selectors) -> tuple[Weight, Reach]:
    """(what a pod counts, of which classes that is other than 0)."""
    reach = any_of(*(selector.marks for selector in selectors))

    def weight(info: PodInfo) -> int:
        if info.terminating or info.namespace != namespace:
            return 0
        labels = info.labels
        return sum([selector(labels) for selector in selectors])

    return weight, reach


def counted_1_20(selector: Matcher) -> Selectors:
    """A pod that matches the constraint's selector counts once."""
    return (selector,)


def counted_1_36(selector: Matcher) -> Selectors:
    """An empty selector counts no pod at all. Upstream: 1.36 countPodsMatchSelector."""
    return () if selector.everything else (selector,)


# --- nodes that count ----------------------------------------------------------------------


def picked_nodes(pod: PodInfo, whole: Snapshot) -> Mask | None:
    """(N,) bool: the nodes that the pod's nodeSelector and node affinity pick; None: it has neither."""
    return pod_matches_nodes_1_20(pod, whole) if selects_nodes(pod) else None


def included_nodes(pod: PodInfo, whole: Snapshot, constraint: SpreadConstraint) -> Mask | None:
    """(N,) bool: the nodes that the constraint's inclusion policies let count; None: all. Release 1.36."""
    out = picked_nodes(pod, whole) if constraint.honours_affinity else None
    if constraint.honoured_taints:
        tolerations, effects = pod.spec.tolerations, constraint.honoured_taints

        def is_open(taints: tuple[Taint, ...] | None) -> bool:
            return all(any_tolerates(tolerations, t) for t in taints or () if t.effect in effects)

        free: Mask = whole.spread(_taints, is_open)
        out = free if out is None else out & free
    return out


def _taints(node: Node) -> tuple[Taint, ...] | None:
    return node.taints or None


def both(first: Mask | None, second: Mask | None) -> Mask | None:
    """The rows in both masks, None standing for all rows."""
    if first is None or second is None:
        return second if first is None else first
    out: Mask = first & second
    return out
