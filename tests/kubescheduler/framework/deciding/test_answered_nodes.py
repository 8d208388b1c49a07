"""Nodes that an extender's filter answers and the cluster does not have, or does not have so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kubescheduler.core.decision import Decision
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.framework.deciding.schedule_pod import FrameworkScheduler
from kubescheduler.releases.lookup import release_named
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.custom.extender_asking import Asking, asking_process
from tests.support.deciders import Answered, FakeExtender, deciding
from tests.support.rich_worlds import in_tree

WIRE_1_20 = release_named("1.20").wire
WIRE_1_36 = release_named("1.36").wire

NODES = [make_node(name, {"zone": "a"}) for name in ("n0", "n1")]
POD = make_pod("p", requests=resources(cpu=1000, memory=2 << 30))
WIRES = {"1.20": WIRE_1_20, "1.36": WIRE_1_36}
FITS = {"1.20": "NodeResourcesLeastAllocated", "1.36": "NodeResourcesFit"}
NOT_FOUND = (
    'running Score plugins: plugin "NodeResourcesLeastAllocated" failed with: getting node "ghost" from Snapshot: '
    'nodeinfo not found for node name "ghost"'
)
CAPABLE = pytest.mark.parametrize("capable", [False, True], ids=["nodes", "nodeCacheCapable"])


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with asking_process() as asking:
        yield asking


def scheduler(release: str, *extenders: Any, cluster: Any = NODES, **fields: Any) -> FrameworkScheduler:
    plugin = in_tree(release)[FITS[release]]
    return deciding(release, plugin, cluster=cluster, extenders=extenders, **fields)


def calling(asking: Asking, release: str, behaviour: str, **settings: Any) -> HTTPExtender:
    return asking(behaviour, WIRES[release], prioritize_verb="", **settings)


def decided(asking: Asking, release: str, behaviour: str, **settings: Any) -> Decision:
    return scheduler(release, calling(asking, release, behaviour, **settings)).schedule(POD)


def test_an_invented_node_is_scored_as_an_empty_one_and_chosen(asking: Asking) -> None:
    """1.36: (3/4 + 3/4) / 2 of 100 for the nodes that there are, (7/8 + 7/8) / 2 for the larger one."""
    decision = decided(asking, "1.36", "invent")
    assert (decision.host, decision.error) == ("ghost", None)
    assert decision.total() == {"n0": 75, "n1": 75, "ghost": 87}
    assert decision.fits() == ["ghost", "n0", "n1"]


def test_objects_of_who_is_sent_names(asking: Asking) -> None:
    """A nodeCacheCapable extender may answer objects too; without an allocatable amount a node scores 0."""
    decision = decided(asking, "1.36", "invent", node_cache_capable=True)
    assert (decision.host, decision.total()) == ("ghost", {"n0": 0, "n1": 0, "ghost": 87})


def test_an_invented_name_is_refused(asking: Asking) -> None:
    """A name has no object, so it has to be among those that were sent."""
    error = decided(asking, "1.36", "unknown", node_cache_capable=True).error
    assert error is not None
    assert error.endswith('claims a filtered node "ghost" which is not found in the input node list')


@CAPABLE
@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_the_only_node_is_taken_unscored(asking: Asking, release: str, capable: bool) -> None:
    """By both releases, whether it is there or not."""
    decision = decided(asking, release, "only-invented", node_cache_capable=capable)
    assert (decision.host, decision.total()) == ("ghost", {})


@CAPABLE
def test_1_20_cannot_score_an_invented_node(asking: Asking, capable: bool) -> None:
    """Its plugins look the node up by name."""
    decision = decided(asking, "1.20", "invent", node_cache_capable=capable)
    assert (decision.host, decision.error) == (None, NOT_FOUND)


def test_the_next_extender_gets_the_invented_node(asking: Asking) -> None:
    """With the objects as they were answered, and its scores count for them."""
    invents = calling(asking, "1.36", "invent")
    last = FakeExtender(filtered=Answered(("ghost", "n1")), scores={"n1": 2})
    decision = scheduler("1.36", invents, last).schedule(POD)
    assert last.asked == [["n0", "n1", "ghost"]]
    assert decision.total() == {"ghost": 87, "n1": 75 + 2 * 10}
    assert decision.host == "n1"


def test_what_runs_on_nodes_is_forgotten_beside_an_invented_node(asking: Asking) -> None:
    """All answered nodes are new records, the cluster itself is not touched."""
    crowd = [make_pod(f"c{at}", node="n0", requests=resources(cpu=1000)) for at in range(2)]
    made = scheduler("1.36", calling(asking, "1.36", "invent"), cluster=[*NODES, *crowd])
    decision = made.schedule(POD)
    assert decision.total() == {"n0": 75, "n1": 75, "ghost": 87}
    assert {e.rule: e.product for e in decision.score_evidence("ghost")} == {"NodeResourcesFit": 87}
    assert made.cache.columns.node_count == 2
    assert made.cache.columns.row_of.keys() == {"n0", "n1"}


def test_spreading_counts_the_pods_of_the_whole_cluster(asking: Asking) -> None:
    """By zone: two pods run in a, none in b, where the invented node says it is."""
    constraint = TopologySpreadConstraint(1, "zone", "ScheduleAnyway", LabelSelector(labels({"app": "x"})))
    spread = make_pod("p", {"app": "x"}, topology_spread_constraints=(constraint,))
    peers = [make_pod(f"x{at}", {"app": "x"}, node="n0") for at in range(2)]
    plugin = in_tree("1.36")["PodTopologySpread"]
    extender = calling(asking, "1.36", "invent")
    decision = deciding("1.36", plugin, cluster=[*NODES, *peers], extenders=[extender]).schedule(spread)
    assert decision.score("PodTopologySpread") == {"n0": 0, "n1": 0, "ghost": 100}


def test_a_pod_may_be_assumed_on_an_invented_node(asking: Asking) -> None:
    """As upstream's cache takes pods on nodes that it has not heard of."""
    made = scheduler("1.36", calling(asking, "1.36", "invent"))
    made.cache.assume_pod(POD, "ghost")
    assert made.cache.columns.node_count == 2
    assert made.schedule(make_pod("q", requests=resources(cpu=1000, memory=2 << 30))).host == "ghost"


@pytest.mark.parametrize("ignorable", [False, True], ids=["must answer", "ignorable"])
def test_an_object_that_is_no_node(asking: Asking, ignorable: bool) -> None:
    """It is an answer that cannot be read, which an ignorable extender may give."""
    decision = decided(asking, "1.36", "bad-node", ignorable=ignorable)
    said = decision.extenders[0].filter_error if ignorable else decision.error
    assert said is not None
    assert said.startswith("cannot read the extender's answer: nodes.items: ")
    assert decision.fits() == (["n0", "n1"] if ignorable else [])


# --- nodes that there are, with other labels ----------------------------------------------------

SPREAD = TopologySpreadConstraint(1, "zone", "ScheduleAnyway", LabelSelector(labels({"app": "x"})))
NEAR = WeightedPodAffinityTerm(1, PodAffinityTerm("zone", LabelSelector(labels({"app": "x"}))))
PODS = {
    "PodTopologySpread": make_pod("p", {"app": "x"}, topology_spread_constraints=(SPREAD,)),
    "InterPodAffinity": make_pod("p", affinity=Affinity(pod_affinity=PodAffinity(preferred=(NEAR,)))),
}
ZONES = [make_node("n0", {"zone": "a"}), make_node("n1", {"zone": "b"})]
PEERS = [make_pod(f"x{at}", {"app": "x"}, node="n0") for at in range(2)]


def among_exchanged(asking: Asking, release: str, plugin: str) -> Decision:
    """Two peers run on n0 in zone a; the extender answers n0 with zone b, and n1 with a."""
    extender = calling(asking, release, "exchange-labels")
    made = deciding(release, in_tree(release)[plugin], cluster=[*ZONES, *PEERS], extenders=[extender])
    return made.schedule(PODS[plugin])


@pytest.mark.parametrize(
    ("plugin", "scores"),
    [("PodTopologySpread", {"n0": 100, "n1": 0}), ("InterPodAffinity", {"n0": 0, "n1": 100})],
)
def test_answered_labels_say_where_the_pod_would_be(asking: Asking, plugin: str, scores: dict[str, int]) -> None:
    """1.36: those who run count in zone a, where the cluster has n0, and a pod on n1 would be there as well."""
    decision = among_exchanged(asking, "1.36", plugin)
    assert decision.score(plugin) == scores
    for name, score in scores.items():
        assert [e.product for e in decision.score_evidence(name)] == [score * decision.weights[plugin]]
    assert decision.fits() == ["n0", "n1"]
