"""EvenPodsSpreadPriority, and PodTopologySpread's score of 1.20 and 1.36."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import LabelSelector, ObjectMeta, Pod, Requirement, Service, TopologySpreadConstraint
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.spread_constraints import (
    SYSTEM_DEFAULTS,
    spread_rules_1_20,
    spread_rules_1_24,
    spread_rules_1_36,
)
from clusterstate.snapshot import Snapshot
from priorities import spread
from priorities.spread import (
    UNQUALIFIED,
    pod_topology_spread_1_20,
    pod_topology_spread_1_36,
    rounded,
    spread_scores,
    spread_sums,
    truncated,
)
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import Cluster, labels, make_node, make_pod, pods_on
from tests.support.references.reference_rules import HOSTNAME, Reference
from tests.support.rich_worlds import VIEWS, ReleaseCluster, app_labels, nodes, running, selectors

X = {"app": "x"}
HAS_X = LabelSelector(labels(X))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))
NODES = [
    make_node("a", {"zone": "1", "host": "a"}),
    make_node("b", {"zone": "1", "host": "b", "disk": "ssd"}),
    make_node("c", {"zone": "2", "host": "c", "disk": "ssd"}),
    make_node("d", {"host": "d"}),
]


def softly(*keys: str, selector: LabelSelector | None = HAS_X, when: str = "ScheduleAnyway") -> Pod:
    constraints = tuple(TopologySpreadConstraint(1, key, when, selector) for key in keys)
    return make_pod(label=X, topology_spread_constraints=constraints)


def scores_1_16(cluster: Cluster, pod: Pod, *names: str) -> list[int]:
    """Of the feasible nodes ``names``, all without any."""
    info = cluster.info(pod)
    snapshot = cluster.snapshot
    view = snapshot.take(np.array([cluster.columns.row_of[name] for name in names])) if names else snapshot
    found: list[int] = spread_scores(info, view, spread_sums(info, view)).tolist()
    return found


def test_the_example() -> None:
    """Zone 1 with 3 pods on two nodes, zone 2 with 1 pod and a node without zone: the specification's example."""
    cluster = Cluster(NODES, pods_on(a=2, b=1, c=1))
    info = cluster.info(softly("zone"))
    assert spread_sums(info, cluster.snapshot).tolist() == [3, 3, 1, UNQUALIFIED]
    assert scores_1_16(cluster, softly("zone")) == [6, 6, 10, 0]


@pytest.mark.parametrize(
    ("pods", "pod", "feasible", "expected"),
    [
        pytest.param(pods_on(), softly("zone"), (), [10, 10, 10, 0], id="no-pods"),
        pytest.param(pods_on(a=2), softly("zone"), ("a",), [10], id="one-node"),
        pytest.param(pods_on(a=2), softly("zone"), ("d",), [0], id="nobody-qualifies"),
        pytest.param(pods_on(a=2, b=1, c=1), softly("zone"), ("b", "c"), [3, 10], id="others-still-count"),
        pytest.param(pods_on(a=2, c=1, d=3), softly("zone", "host"), (), [6, 10, 10, 0], id="two-keys"),
        pytest.param(pods_on(a=2), softly("zone", selector=None), (), [10, 10, 10, 0], id="null-selector"),
        pytest.param(pods_on(a=2), softly("zone", when="DoNotSchedule"), (), [10, 10, 10, 10], id="hard"),
    ],
)
def test_scores(pods: list[Pod], pod: Pod, feasible: tuple[str, ...], expected: list[int]) -> None:
    """Fewer pods in a node's domains, relative to all qualified nodes, score higher."""
    assert scores_1_16(Cluster(NODES, pods), pod, *feasible) == expected


def test_pods_of_all_namespaces_and_terminating_ones_count() -> None:
    """Neither namespace nor deletion keeps a pod from being counted."""
    pods = [make_pod("o", X, namespace="other", node="a"), make_pod("t", X, node="a", deleting=True)]
    cluster = Cluster(NODES, [*pods, make_pod("gone", X, node="gone")])
    assert spread_sums(cluster.info(softly("zone")), cluster.snapshot).tolist()[:3] == [2, 2, 0]


def test_only_nodes_that_the_pod_selects_are_counted() -> None:
    """Pods on nodes that the pod's nodeSelector refuses add nothing to the domain."""
    constraint = TopologySpreadConstraint(1, "zone", "ScheduleAnyway", HAS_X)
    pod = make_pod(topology_spread_constraints=(constraint,), node_selector=labels({"disk": "ssd"}))
    cluster = Cluster(NODES, pods_on(a=5, b=1, c=2))
    assert spread_sums(cluster.info(pod), cluster.snapshot).tolist() == [1, 1, 2, UNQUALIFIED]


def test_an_invalid_selector_is_an_error_once_tried() -> None:
    """Without any pod to try it on the sums are 0."""
    pod = softly("zone", selector=BAD)
    empty = Cluster(NODES)
    assert spread_sums(empty.info(pod), empty.snapshot).tolist() == [0, 0, 0, UNQUALIFIED]
    full = Cluster(NODES, pods_on(a=1))
    with pytest.raises(PriorityError, match="Near"):
        spread_sums(full.info(pod), full.snapshot)


SOFT = "ScheduleAnyway"
RELEASES = list(VIEWS)
Scores = list[int]


def config(release: str, defaults: tuple[TopologySpreadConstraint, ...] = (), kind: str = "System") -> PriorityConfig:
    if release == "1.20":
        return pod_topology_spread_1_20(spread_rules_1_20(defaults, kind))
    return pod_topology_spread_1_36(spread_rules_1_36(defaults, kind))


SYSTEM = {release: config(release) for release in RELEASES}


def scores(rule: PriorityConfig, info: PodInfo, snapshot: Snapshot) -> tuple[Scores, Scores] | None:
    """(raw, final) over exactly the rows of a snapshot, None when the rule skips."""
    if not rule.pre_score(info, snapshot.whole()):
        return None
    assert rule.settle is not None
    assert rule.reduce is not None
    raw = rule.settle(info, snapshot, rule.map(info, snapshot))
    return raw.tolist(), rule.reduce(info, snapshot, raw).tolist()


def soft(key: str = "zone", skew: int = 1, selector: LabelSelector | None = HAS_X) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(skew, key, SOFT, selector)


def wanting(*constraints: TopologySpreadConstraint) -> Pod:
    return make_pod("in", X, topology_spread_constraints=constraints)


def cluster_of(release: str, *counts: int, key: str = "zone", others: Sequence[object] = ()) -> Cluster:
    """A node for each count, alone in its domain, with that many pods."""
    there = [make_node(f"n{at}", {key: f"v{at}"}) for at in range(len(counts))]
    pods = [make_pod(f"p{at}-{i}", X, node=f"n{at}") for at, count in enumerate(counts) for i in range(count)]
    return Cluster(there, pods, others, VIEWS[release])


@pytest.mark.parametrize(
    ("release", "text"), [("1.20", "error when calculating preScoreState: "), ("1.36", "calculating preScoreState: ")]
)
def test_an_invalid_selector_is_an_error(release: str, text: str) -> None:
    """PreScore fails with the selector's text."""
    cluster = cluster_of(release, 1)
    with pytest.raises(PriorityError) as caught:
        SYSTEM[release].pre_score(cluster.info(wanting(soft(selector=BAD))), cluster.snapshot)
    tail = '"Near" is not a valid label selector operator'
    assert str(caught.value) == f"{text}obtaining pod's soft topology spread constraints: {tail}"


@pytest.mark.parametrize("release", RELEASES)
def test_nodes_that_look_empty_have_no_pods_of_their_own(release: str) -> None:
    """The hostname constraint counts what a view of the nodes shows; a zone is counted in the cluster."""

    class Emptied(Snapshot):
        __slots__ = ()

        def counts(self, tally: Tally, *, nominated: bool = True) -> np.ndarray:
            counts = super().counts(tally, nominated=nominated)
            return counts if tally.column is not None else np.zeros_like(counts)

    cluster = cluster_of(release, 2, 0, key=HOSTNAME)
    view = Emptied(cluster.columns, cluster.objects)
    info = cluster.info(wanting(soft(HOSTNAME, 4)))
    assert scores(SYSTEM[release], info, view) == ([3, 3], [100, 100])


def test_rounding() -> None:
    """1.20 cuts the fraction off; 1.36 rounds, halves away from zero."""
    numbers = np.array([0.49999999999999994, 0.5, 1.5, 2.5, 2.4, -0.5, -2.5])
    assert rounded(numbers).tolist() == [0, 1, 2, 3, 2, -1, -3]
    assert rounded(np.array([1.4, 1.6])).tolist() == [1, 2]
    assert truncated(numbers).tolist() == [0, 0, 1, 2, 2, 0, -2]


# --- the law -------------------------------------------------------------------------------

constraints = st.builds(
    TopologySpreadConstraint,
    st.integers(1, 3),
    st.sampled_from(["zone", "zone", "rack", HOSTNAME]),
    st.just(SOFT),
    selectors,
    st.none(),
    st.sampled_from([None, "Honor", "Ignore"]),
    st.sampled_from([None, "Honor", "Ignore"]),
    st.sampled_from([(), (), ("rev",)]),
)


@st.composite
def worlds(draw: st.DrawFn) -> ReleaseCluster:
    there = draw(nodes())
    pods = draw(running(len(there), "p")) + draw(running(len(there), "q"))
    return ReleaseCluster.of(draw(st.sampled_from(RELEASES)), there, pods, (Service(ObjectMeta("s", "a"), labels(X)),))


@given(worlds(), st.lists(constraints, max_size=3), app_labels, st.booleans(), st.data())
def test_law_the_written_rule(
    world: ReleaseCluster, own: list[TopologySpreadConstraint], label: dict[str, str], picky: bool, data: st.DataObject
) -> None:
    """Raw and final scores over any feasible nodes are those of the rule node by node."""
    selector = labels({"zone": "b"} if picky else {})
    pod = make_pod("in", label, namespace="a", topology_spread_constraints=tuple(own), node_selector=selector)
    cluster = world.cluster()
    count = len(world.nodes)
    feasible = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    rule, wanted = SYSTEM[world.release], own
    if not own and label.get("app") == "x":
        wanted = [soft(c.topology_key, c.max_skew) for c in SYSTEM_DEFAULTS]
    snapshot = cluster.snapshot if len(feasible) == count else cluster.snapshot.take(np.array(feasible))
    reference = Reference(world.nodes, world.pods, world.release)
    raw, ignored = reference.raw(pod, wanted, feasible, bool(own))
    expected = (raw, reference.normalized(raw, ignored))
    if not wanted and world.release == "1.36":
        assert scores(rule, cluster.info(pod), snapshot) is None
    else:
        assert scores(rule, cluster.info(pod), snapshot) == expected


# --- between 1.24 and 1.32 -----------------------------------------------------------------

HAS_Y = LabelSelector(labels({"app": "y"}))


@pytest.mark.parametrize(
    ("factory", "constraints", "raw"),
    [
        pytest.param("pod_topology_spread_1_24", (soft(), soft(selector=HAS_Y)), [4, 0], id="added-up"),
        pytest.param("pod_topology_spread_1_28", (soft(), soft(selector=HAS_Y)), [4, 0], id="added-up-later"),
        pytest.param("pod_topology_spread_1_36", (soft(), soft(selector=HAS_Y)), [3, 0], id="by-themselves"),
        pytest.param("pod_topology_spread_1_24", (soft(selector=LabelSelector()),), [3, 0], id="all-pods"),
        pytest.param("pod_topology_spread_1_27", (soft(selector=LabelSelector()),), [0, 0], id="no-pods"),
        pytest.param("pod_topology_spread_1_27", (), [0, 0], id="without-constraints"),
        pytest.param("pod_topology_spread_1_28", (), None, id="skipped"),
    ],
)
def test_constraints_of_one_key(
    factory: str, constraints: tuple[TopologySpreadConstraint, ...], raw: list[int] | None
) -> None:
    """Two pods in zone a: up to 1.32 both constraints count them, the second with a size of 0."""
    cluster = Cluster(
        [make_node(zone, {"zone": zone}) for zone in "ab"], [make_pod(f"p{i}", X, node="a") for i in range(2)]
    )
    rule = getattr(spread, factory)(spread_rules_1_24((), "System", {}))
    found = scores(rule, cluster.info(wanting(*constraints)), cluster.snapshot)
    assert (None if found is None else found[0]) == raw
