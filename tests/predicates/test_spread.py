"""EvenPodsSpread, and PodTopologySpread's filter of 1.20 and 1.36."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    Service,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.spread_constraints import spread_rules_1_20, spread_rules_1_24, spread_rules_1_36
from clusterstate.snapshot import PodChange, Snapshot
from predicates.spread import (
    MISSING_LABEL,
    NO_METADATA,
    NOT_SPREAD,
    even_pods_spread,
    pod_topology_spread_1_20,
    pod_topology_spread_1_24,
    pod_topology_spread_1_27,
    pod_topology_spread_1_28,
    pod_topology_spread_1_30,
    pod_topology_spread_1_36,
)
from predicates.types import GO_ON, SKIP, FitPredicate, NodeError
from tests.support.build import Cluster, labels, make_node, make_pod, names_where, pods_on
from tests.support.references.reference_rules import CROWDED, HOSTNAME, MISSING, Reference
from tests.support.rich_worlds import APPS, VIEWS, ReleaseCluster, nodes, running, selectors

X = {"app": "x"}
HAS_X = LabelSelector(labels(X))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))


def spread(
    key: str = "zone", skew: int = 1, selector: LabelSelector | None = HAS_X, when: str = "DoNotSchedule", **more: Any
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(skew, key, when, selector, **more)


def fails(cluster: Cluster, pod: Pod) -> list[str]:
    snapshot = cluster.snapshot
    verdict = even_pods_spread(cluster.info(pod), snapshot)
    assert set(verdict) <= {NOT_SPREAD}
    return names_where(snapshot, verdict[NOT_SPREAD] & snapshot.has_node) if verdict else []


ZONES = [make_node(zone, {"zone": zone, "host": zone}) for zone in "abc"]


THREE_ZONES: dict[str, Any] = {
    "soft": (make_pod(label=X, topology_spread_constraints=(spread(when="ScheduleAnyway"),)), []),
    "key-nowhere": (make_pod(label=X, topology_spread_constraints=(spread("rack"),)), []),
    "null-selector": (make_pod(label=X, topology_spread_constraints=(spread(selector=None),)), []),
    "all-pods": (make_pod(label=X, topology_spread_constraints=(spread(selector=LabelSelector()),)), ["a", "c"]),
    "other-namespace": (make_pod(label=X, namespace="other", topology_spread_constraints=(spread(),)), []),
    "no-eligible-node": (
        make_pod(label=X, topology_spread_constraints=(spread(),), node_selector=labels({"zone": "d"})),
        [],
    ),
}


@pytest.mark.parametrize(("pod", "expected"), THREE_ZONES.values(), ids=THREE_ZONES)
def test_three_zones(pod: Pod, expected: list[str]) -> None:
    """Zones a, b, c hold 3, 1 and 2 matching pods: the specification's example and its variations."""
    assert fails(Cluster(ZONES, pods_on(a=3, b=1, c=2)), pod) == expected


def test_terminating_pods_count_and_pods_on_unknown_nodes_do_not() -> None:
    """Only pods on nodes that are known are counted, those being deleted among them."""
    cluster = Cluster(ZONES, [make_pod("t", X, node="a", deleting=True), make_pod("u", X, node="gone")])
    pod = make_pod(label=X, topology_spread_constraints=(spread(),))
    assert fails(cluster, pod) == ["a"]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(pods_on(a=1), NO_METADATA, id="tried-on-a-pod"),
        pytest.param([], '"Near" is not a valid pod selector operator', id="tried-on-itself-only"),
        pytest.param([make_pod("e", X, node="a", namespace="other")], '"Near" is not', id="pod-elsewhere"),
    ],
)
def test_an_invalid_selector_is_an_error(pods: list[Pod], expected: str) -> None:
    """Upstream then has no counts; the text depends on whether a pod met the selector."""
    cluster = Cluster(ZONES, pods)
    pod = make_pod(label=X, topology_spread_constraints=(spread(selector=BAD),))
    (error,) = even_pods_spread(cluster.info(pod), cluster.snapshot)
    assert isinstance(error, NodeError)
    assert error.startswith(expected)


def test_an_invalid_pod_affinity_is_an_error() -> None:
    """An invalid selector of a pod affinity leaves no counts for spreading either."""
    bad = Affinity(pod_affinity=PodAffinity((PodAffinityTerm("zone", BAD),)))
    cluster = Cluster(ZONES)
    pod = make_pod(label=X, topology_spread_constraints=(spread(),), affinity=bad)
    assert list(even_pods_spread(cluster.info(pod), cluster.snapshot)) == [NO_METADATA]


# --- laws ----------------------------------------------------------------------------------


def random_cluster(pick: random.Random) -> tuple[Cluster, Pod]:
    def label_set() -> dict[str, str]:
        return {key: pick.choice("ab") for key in ("zone", "host", "disk") if pick.random() < 0.85}

    nodes = [make_node(f"n{i}", label_set()) for i in range(7)]
    pods = [make_pod(f"e{i}", pick.choice((X, {})), node=f"n{pick.randrange(7)}") for i in range(pick.randrange(12))]
    keys = pick.choice((("zone",), ("host",), ("zone", "host")))
    selector = pick.choice(({}, {}, {"disk": "a"}))
    constraints = tuple(spread(key, pick.choice((1, 2))) for key in keys)
    pod = make_pod(label=X, topology_spread_constraints=constraints, node_selector=labels(selector))
    return Cluster(nodes, pods), pod


def told_plainly(nodes: list[Node], running: list[Pod], pod: Pod) -> list[str]:
    """The rule as the specification tells it, pod by pod and node by node."""
    constraints = pod.spec.topology_spread_constraints
    count: Counter[tuple[str, str]] = Counter()
    for node in nodes:
        on = node.metadata.labels
        if pod.spec.node_selector.items() <= on.items() and all(c.topology_key in on for c in constraints):
            here = sum(p.node_name == node.name and p.metadata.labels == X for p in running)
            for c in constraints:
                count[c.topology_key, on[c.topology_key]] += here
    if not count:
        return []
    least = {c.topology_key: min(n for (key, _), n in count.items() if key == c.topology_key) for c in constraints}

    def passes(on: dict[str, str], c: TopologySpreadConstraint) -> bool:
        key = c.topology_key
        return key in on and count[key, on[key]] + 1 - least[key] <= c.max_skew

    return [node.name for node in nodes if not all(passes(node.metadata.labels, c) for c in constraints)]


@given(pick=st.randoms(use_true_random=True))
def test_it_is_the_rule_told_plainly(pick: random.Random) -> None:
    """On random clusters the columns say what the specification says pod by pod, for some rows as for all."""
    cluster, pod = random_cluster(pick)
    nodes = [node for node in cluster.columns.nodes if node]
    running = [p for pods in cluster.columns.pods for p in pods.values()]
    assert fails(cluster, pod) == told_plainly(nodes, running, pod)
    rows = np.array(pick.sample(range(7), 4))
    info, snapshot = cluster.info(pod), cluster.snapshot
    whole, part = even_pods_spread(info, snapshot), even_pods_spread(info, snapshot.take(rows))
    assert whole.keys() == part.keys()
    assert all((whole[reason][rows] == part[reason]).all() for reason in whole)


HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def predicate(release: str, defaults: tuple[TopologySpreadConstraint, ...] = (), kind: str = "System") -> FitPredicate:
    if release == "1.20":
        return pod_topology_spread_1_20(spread_rules_1_20(defaults, kind))
    return pod_topology_spread_1_36(spread_rules_1_36(defaults, kind))


RULES: dict[str, Any] = {release: predicate(release) for release in VIEWS}
RELEASES = list(VIEWS)


def outcomes(release: str, info: PodInfo, snapshot: Snapshot) -> list[str | None]:
    """Row by row why it fails, None when it fits."""
    verdict = RULES[release].check(info, snapshot)
    assert set(verdict) <= {MISSING_LABEL, NOT_SPREAD}
    out: list[str | None] = [None] * len(snapshot)
    for reason, text in ((MISSING_LABEL, MISSING), (NOT_SPREAD, CROWDED)):
        for at in np.flatnonzero(verdict.get(reason, np.zeros(len(snapshot), np.bool_))):
            assert out[at] is None
            out[at] = text
    return out


def wanting(*constraints: TopologySpreadConstraint, label: dict[str, str] | None = None, **spec: Any) -> Pod:
    return make_pod("in", X if label is None else label, topology_spread_constraints=constraints, **spec)


RACKS = [make_node(zone, {"zone": zone, "rack": f"r{zone}"}) for zone in "ab"]
TOLERATES = (Toleration("dirty", "Exists"),)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", "obtaining pod's hard topology spread constraints: "),
        ("1.36", "get constraints from pod: obtaining pod's hard topology spread constraints: "),
    ],
)
def test_an_invalid_selector_is_an_error_before_nodes_are_looked_at(release: str, text: str) -> None:
    """PreFilter gives the attempt up with the selector's text."""
    cluster = Cluster(RACKS, view=VIEWS[release])
    (reason,) = RULES[release].pre_filter(cluster.info(wanting(spread(selector=BAD))), cluster.snapshot).reasons
    assert isinstance(reason, NodeError)
    assert reason == f'{text}"Near" is not a valid label selector operator'


DEFAULTS = (TopologySpreadConstraint(1, "zone", HARD),)


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_of_a_list(release: str) -> None:
    """They hold for pods without constraints that a service selects, and for no other pod."""
    rule: Any = predicate(release, DEFAULTS, "List")
    service = Service(ObjectMeta("s", "default"), labels(X))
    cluster = Cluster(RACKS, pods_on(a=2), [service], VIEWS[release])
    plain, other, own = wanting(), wanting(label={"app": "z"}), wanting(TopologySpreadConstraint(1, "zone", SOFT))
    assert rule.check(cluster.info(plain), cluster.snapshot)[NOT_SPREAD].tolist() == [True, False]
    for pod in (other, own):
        assert rule.check(cluster.info(pod), cluster.snapshot) == {}
        nothing = GO_ON if release == "1.20" else SKIP
        assert rule.pre_filter(cluster.info(pod), cluster.snapshot) == nothing
    assert [rule.applies(cluster.info(pod)) for pod in (plain, other, own)] == [True, True, False]
    assert not RULES[release].applies(cluster.info(plain))


# --- laws ----------------------------------------------------------------------------------

constraints = st.builds(
    TopologySpreadConstraint,
    st.integers(1, 2),
    st.sampled_from(["zone", "zone", "rack", HOSTNAME]),
    st.just(HARD),
    selectors,
    st.sampled_from([None, None, 1, 3]),
    st.sampled_from([None, "Honor", "Ignore"]),
    st.sampled_from([None, "Honor", "Ignore"]),
    st.sampled_from([(), (), ("rev",)]),
)


@st.composite
def incoming(draw: st.DrawFn, wanted: st.SearchStrategy[TopologySpreadConstraint]) -> Pod:
    picky, tolerant = draw(st.integers(0, 2)) == 0, draw(st.booleans())
    return make_pod(
        "in",
        draw(st.sampled_from(APPS)),
        namespace="a",
        topology_spread_constraints=tuple(draw(st.lists(wanted, min_size=1, max_size=3))),
        node_selector=labels({"zone": "b"} if picky else {}),
        tolerations=TOLERATES if tolerant else (),
    )


@st.composite
def worlds(draw: st.DrawFn) -> ReleaseCluster:
    there = draw(nodes())
    return ReleaseCluster.of(draw(st.sampled_from(RELEASES)), there, draw(running(len(there), "p")))


@given(worlds(), incoming(constraints), st.data())
def test_law_the_written_rule(world: ReleaseCluster, pod: Pod, data: st.DataObject) -> None:
    """All rows, some rows, and pods hypothetically added and removed in any order: as the rule says node by node."""
    cluster = world.cluster()
    reference = Reference(world.nodes, world.pods, world.release)
    info, snapshot = cluster.info(pod), cluster.snapshot
    expected = reference.verdicts(pod)
    assert outcomes(world.release, info, snapshot) == expected
    rows = data.draw(st.lists(st.integers(0, len(world.nodes) - 1), unique=True, min_size=1))
    assert outcomes(world.release, info, snapshot.take(np.array(rows))) == [expected[row] for row in rows]
    moved = data.draw(running(len(world.nodes), "m"))
    changes = [(world.at(p), p, data.draw(st.sampled_from([1, -1]))) for p in moved]
    changed = snapshot.what_if([PodChange(at, cluster.info(pod), sign) for at, pod, sign in changes])
    expected = reference.verdicts(pod, changes)
    assert outcomes(world.release, info, changed) == expected
    assert outcomes(world.release, info, changed.take(np.array(rows))) == [expected[row] for row in rows]


# --- between 1.24 and 1.32 -----------------------------------------------------------------

HAS_Y = LabelSelector(labels({"app": "y"}))
INCLUSION = {"NodeInclusionPolicyInPodTopologySpread": True}


CONSTRAINTS_KEY: dict[str, Any] = {
    "the-last-one": (pod_topology_spread_1_24, {}, (spread(), spread(selector=HAS_Y)), ["a", "b"]),
    "in-their-order": (pod_topology_spread_1_30, {}, (spread(selector=HAS_Y), spread()), ["b"]),
    "by-themselves": (pod_topology_spread_1_36, {}, (spread(), spread(selector=HAS_Y)), ["b"]),
    "all-pods": (pod_topology_spread_1_24, {}, (spread(selector=LabelSelector()),), ["b"]),
    "no-pods": (pod_topology_spread_1_27, {}, (spread(selector=LabelSelector()),), ["a", "b"]),
    "domains-are-not-read": (
        pod_topology_spread_1_28,
        {"MinDomainsInPodTopologySpread": False},
        (spread(min_domains=3, skew=2),),
        ["a", "b"],
    ),
    "domains-are-read": (pod_topology_spread_1_30, {}, (spread(min_domains=3, skew=2),), ["b"]),
    "shared-counts-with-domains": (
        pod_topology_spread_1_30,
        {"MinDomainsInPodTopologySpread": True},
        (spread(min_domains=3, skew=2), spread(selector=HAS_Y)),
        ["a", "b"],
    ),
}


@pytest.mark.parametrize(("factory", "gates", "constraints", "fits"), CONSTRAINTS_KEY.values(), ids=CONSTRAINTS_KEY)
def test_constraints_of_one_key(
    factory: Any, gates: dict[str, bool], constraints: tuple[TopologySpreadConstraint, ...], fits: list[str]
) -> None:
    """Up to 1.32 they share their counts, those of the last constraint; two matching pods run in zone a, one in b."""
    cluster = Cluster(RACKS, pods_on(a=2, b=1))
    pod = cluster.info(wanting(*constraints))
    check = factory(
        spread_rules_1_24((), "System", gates) if gates or factory != pod_topology_spread_1_36 else RULES_36
    )
    failed = np.zeros(2, np.bool_)
    for mask in check.check(pod, cluster.snapshot).values():
        failed = failed | mask
    assert [node.name for node, bad in zip(RACKS, failed.tolist(), strict=True) if not bad] == fits


RULES_36 = spread_rules_1_36((), "System")


@pytest.mark.parametrize(
    ("factory", "answer"),
    [(pod_topology_spread_1_24, GO_ON), (pod_topology_spread_1_27, GO_ON), (pod_topology_spread_1_28, SKIP)],
)
def test_without_hard_constraints(factory: Any, answer: Any) -> None:
    """It skips from 1.28 on."""
    cluster = Cluster(RACKS)
    check = factory(spread_rules_1_24((), "System", {}))
    assert check.pre_filter(cluster.info(make_pod()), cluster.snapshot) == answer


def test_policies_of_constraints_that_share_a_key() -> None:
    """On a node that the last constraint leaves out, an earlier one counts; moved pods count for each that matches."""
    nodes = [*RACKS, make_node("d", {"zone": "a"}, taints=(Taint("dirty", "", "NoSchedule"),))]
    cluster = Cluster(nodes, pods_on(a=1, d=2))
    rules = spread_rules_1_24((), "System", INCLUSION)
    check = pod_topology_spread_1_28(rules)
    both = (spread(skew=3), spread(skew=3, node_taints_policy="Honor"))
    for constraints, expected in ((both, {NOT_SPREAD: [True, False, True]}), (both[1:], {})):
        pod = cluster.info(wanting(*constraints))
        found = check.check(pod, cluster.snapshot)
        assert {reason: mask.tolist() for reason, mask in found.items() if mask.any()} == expected
    pod = cluster.info(wanting(*both))
    there = cluster.info(make_pod("there", X))
    assert check.check(pod, cluster.snapshot.what_if([PodChange(2, there, -1)])) == {}
