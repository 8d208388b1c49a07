"""The search for nodes: the nominated node first, sampling, what is kept of both, extenders."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from clusterstate.objects import (
    Affinity,
    ContainerImage,
    LabelSelector,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from clusterstate.podinfo import PodInfo
from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Status
from kubescheduler.cycle.failures import rejectors_of
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.framework.deciding.profile_attempt import FrameworkScheduler
from kubescheduler.framework.deciding.score_plugins import EmptiedNodes, HeapTie
from kubescheduler.releases import v1_36
from kubescheduler.releases.lookup import release_named
from predicates.types import NodeError, PreFiltered
from tests.support.build import Cluster, labels, make_node, make_pod, resources
from tests.support.custom.extender_asking import Asking
from tests.support.deciders import Answered, FakeExtender, deciding, plugin, pre_filtering, refusing, scoring
from tests.support.rich_worlds import in_tree

BOTH = pytest.mark.parametrize("release", ["1.20", "1.36"])
U = Status.unschedulable("u")


def waiting(node: str) -> Pod:
    return make_pod(nominated=node)


# --- the nominated node ------------------------------------------------------------------------


def test_the_nominated_node_is_tried_alone_in_1_36() -> None:
    """If the pod fits there, nothing else is looked at and nothing is scored, even when the node is the worst."""
    scheduler = deciding("1.36", refusing("F", n0="full"), scoring("S", 9, 9, 0))
    decision = scheduler.attempt(waiting("n2")).run()
    assert (decision.host, decision.fits(), decision.scores, decision.total()) == ("n2", ["n2"], {}, {})
    assert decision.reasons() == {}


def test_1_20_tries_all_nodes_at_once() -> None:
    """A nomination is worth nothing there, nor when every node is to be told of."""
    plugins = [refusing("F", n0="full"), scoring("S", 9, 9, 0)]
    assert deciding("1.20", *plugins).attempt(waiting("n2")).run().host == "n1"
    assert deciding("1.36", *plugins).attempt(waiting("n2"), thorough=True).run().fits() == ["n1", "n2"]


@pytest.mark.parametrize("node", ["n0", "ghost", "gone"])
def test_where_the_pod_does_not_fit_all_nodes_are_tried(node: str) -> None:
    """Nor where there is no such node any more."""
    scheduler = deciding("1.36", refusing("F", n0="full"), scoring("S", 9, 8, 0))
    scheduler.cache.add_pod(make_pod("there", node="gone"))
    decision = scheduler.attempt(waiting(node)).run()
    assert decision.host == "n1"
    assert decision.reasons() == {"n0": ["full"]}


def test_an_error_on_the_nominated_node_is_met_again() -> None:
    """It is of no consequence in the first place, and gives the attempt up in the second."""
    scheduler = deciding("1.36", refusing("F", n0=NodeError("broken")))
    assert scheduler.attempt(waiting("n0")).run().error == 'running "F" filter plugin: broken'


def test_a_nominated_node_outside_the_named_ones() -> None:
    """It is taken all the same, and keeps its own status when it does not do."""
    named = pre_filtering("A", PreFiltered(nodes=frozenset({"n1"})))
    outside = ["node(s) didn't satisfy plugin(s) [A]"]
    assert deciding("1.36", named).attempt(waiting("n0")).run().host == "n0"
    decision = deciding("1.36", named, refusing("F", n0="full")).attempt(waiting("n0")).run()
    assert decision.host == "n1"
    assert decision.reasons() == {"n0": ["full"], "n2": outside}
    assert decision.codes() == {"n0": "Unschedulable", "n2": "UnschedulableAndUnresolvable"}


def test_extenders_are_asked_about_the_nominated_node() -> None:
    """What they say of it is kept when the others do not do either."""
    named = pre_filtering("A", PreFiltered(nodes=frozenset({"n1"})))
    extender = FakeExtender(filtered=Answered((), {"n0": "not here"}))
    decision = deciding("1.36", named, refusing("F", n1="full"), extenders=[extender]).attempt(waiting("n0")).run()
    assert extender.asked == [["n0"]]
    assert decision.host is None
    assert decision.reasons()["n0"] == ["not here"]
    assert deciding("1.36", named, extenders=[FakeExtender()]).attempt(waiting("n0")).run().host == "n0"


def test_an_extender_that_fails_on_the_nominated_node() -> None:
    """All nodes are tried, with the same end."""
    extender = FakeExtender(filtered="down")
    decision = deciding("1.36", extenders=[extender]).attempt(waiting("n0")).run()
    assert decision.error == "down"
    assert extender.asked == [["n0"], ["n0", "n1", "n2"]]


# --- sampling ----------------------------------------------------------------------------------

MANY = [make_node(f"n{at:03}") for at in range(250)]


def test_enough_nodes_are_enough() -> None:
    """The next attempt begins where this one ended, and only what was looked at has a status."""
    full = refusing("F", **{f"n{at:03}": "full" for at in range(0, 250, 2)})
    scheduler = deciding("1.20", full, scoring("S", *range(250)), cluster=MANY, percentage=40)
    decision = scheduler.attempt(make_pod()).run()
    assert decision.fits() == [f"n{at:03}" for at in range(1, 200, 2)]
    assert set(decision.reasons()) == {f"n{at:03}" for at in range(0, 200, 2)}
    assert (decision.host, scheduler.walk.next_start) == ("n199", 200)
    decision = scheduler.attempt(make_pod()).run()
    assert decision.fits() == sorted(f"n{at % 250:03}" for at in range(201, 400, 2))
    assert scheduler.walk.next_start == 150


@pytest.mark.parametrize(
    ("extender", "wanted"),
    [(None, 1), (FakeExtender(), 100), (FakeExtender(scores={}), 100)],
    ids=["nobody", "a filter", "scores"],
)
def test_one_is_enough_when_nobody_compares(extender: Any, wanted: int) -> None:
    """In 1.36, and neither extenders nor Score plugins are there."""
    extenders = [] if extender is None else [extender]
    scheduler = deciding("1.36", cluster=MANY, percentage=10, extenders=extenders)
    assert len(scheduler.attempt(make_pod()).run().feasible) == wanted
    assert len(deciding("1.20", cluster=MANY, percentage=10).attempt(make_pod()).run().feasible) == 100


def test_sampling_among_named_nodes() -> None:
    """The others keep the status of those left out, and do not count for the next start."""
    names = frozenset(f"n{at:03}" for at in range(0, 250, 2))
    plugins = [pre_filtering("A", PreFiltered(nodes=names)), scoring("S", *[0] * 250)]
    scheduler = deciding("1.36", *plugins, cluster=MANY, percentage=10)
    decision = scheduler.attempt(make_pod()).run()
    assert len(decision.feasible) == 100
    assert len(decision.reasons()) == 125
    assert scheduler.walk.next_start == 100


def test_named_nodes_move_the_next_start_without_sampling() -> None:
    """Upstream adds up what it looked at, whatever the percentage; thorough looks leave no trace."""
    scheduler = deciding("1.36", pre_filtering("A", PreFiltered(nodes=frozenset({"n1", "n2"}))))
    scheduler.attempt(make_pod(), thorough=True).run()
    assert scheduler.walk.next_start == 0
    scheduler.attempt(make_pod()).run()
    assert scheduler.walk.next_start == 2


def test_a_nominated_pod_beyond_what_is_looked_at() -> None:
    """A node that was not looked at has no status, whatever is nominated to it."""
    company = plugin("A", filter=lambda s, p, info: U if info.pods else None)
    scheduler = deciding("1.36", company, scoring("S", *[0] * 250), cluster=MANY, percentage=10)
    scheduler.cache.nominate(make_pod("one"), "n050")
    scheduler.cache.nominate(make_pod("two"), "n200")
    assert set(scheduler.attempt(make_pod()).run().reasons()) == {"n050"}


def test_a_nominated_pod_on_a_node_that_was_not_named() -> None:
    """That node is left out for being outside, and for nothing else."""
    named = pre_filtering("A", PreFiltered(nodes=frozenset({"n1"})))
    scheduler = deciding("1.36", named, plugin("B", filter=lambda s, p, info: U if info.pods else None))
    scheduler.cache.nominate(make_pod("other"), "n0")
    decision = scheduler.attempt(make_pod()).run()
    assert decision.reasons()["n0"] == ["node(s) didn't satisfy plugin(s) [A]"]
    assert decision.row_codes().tolist() == [3, 0, 3]


# --- the order of the list -----------------------------------------------------------------------


def test_the_heap_takes_nodes_in_the_order_of_the_list() -> None:
    """Zones in turn, from the start index; of equal ones the first."""
    nodes = [make_node(n, {"topology.kubernetes.io/zone": z}) for n, z in (("a1", "a"), ("a2", "a"), ("b1", "b"))]
    plugins = [scoring("S", 0, 5, 5)]
    scheduler = deciding("1.36", *plugins, cluster=nodes, tie_break=HeapTie(random.Random(0)))
    assert scheduler.attempt(make_pod()).run().host == "b1"
    scheduler.walk.next_start = 2
    assert scheduler.attempt(make_pod()).run().host == "a2"


def test_a_node_that_an_extender_scored_goes_before_its_equals() -> None:
    """Whatever it scored."""
    extender = FakeExtender(scores={"n2": 0})
    scheduler = deciding("1.36", extenders=[extender], tie_break=HeapTie(random.Random(0)))
    assert scheduler.attempt(make_pod()).run().host == "n2"


# --- extenders ---------------------------------------------------------------------------------


@BOTH
def test_extenders_get_what_is_left(release: str) -> None:
    """One after the other, until no node is left."""
    first, second = FakeExtender(filtered=Answered(("n2",), {"n1": "no"})), FakeExtender(filtered=Answered(()))
    third = FakeExtender()
    scheduler = deciding(release, refusing("F", n0="full"), extenders=[first, second, third])
    decision = scheduler.attempt(make_pod()).run()
    assert [extender.asked for extender in (first, second, third)] == [[["n1", "n2"]], [["n2"]], []]
    assert decision.reasons() == {"n0": ["full"], "n1": ["no"]}
    assert rejectors_of(decision) == {"F", "Extender"}
    assert decision.message == "0/3 nodes are available: 1 full, 1 no."


@pytest.mark.parametrize(
    ("release", "reasons", "codes"),
    [("1.20", ["hopeless", "no"], "UnschedulableAndUnresolvable"), ("1.36", ["no"], "Unschedulable")],
)
def test_what_an_extender_says_of_a_node_that_a_plugin_refused(release: str, reasons: list[str], codes: str) -> None:
    """1.20 adds its words to the status, 1.36 replaces it."""
    extender = FakeExtender(filtered=Answered((), {"n0": "no", "ghost": "who"}))
    decision = deciding(release, refusing("F", n0="hopeless"), extenders=[extender]).attempt(make_pod()).run()
    assert decision.reasons() == {"n0": reasons, "ghost": ["who"]}
    assert decision.codes() == {"n0": codes, "ghost": "Unschedulable"}
    assert decision.row_codes().tolist() == [3 if release == "1.20" else 2, 0, 0]


def test_nodes_that_were_dropped_silently() -> None:
    """They have no status: 1.36 tells of them only what it says of nodes left out."""
    extender = FakeExtender(filtered=Answered(()))
    assert deciding("1.36", extenders=[extender]).attempt(make_pod()).run().message == "0/3 nodes are available:"
    assert deciding("1.20", extenders=[extender]).attempt(make_pod()).run().message == "0/3 nodes are available: ."
    named = pre_filtering("A", PreFiltered(nodes=frozenset({"n1"})))
    decision = deciding("1.36", named, extenders=[extender]).attempt(make_pod()).run()
    assert decision.message == "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [A]."


@BOTH
def test_ignorable_extenders(release: str) -> None:
    """One that fails changes nothing; another gives the attempt up."""
    extender = FakeExtender(filtered="down", ignorable=True)
    decision = deciding(release, extenders=[extender]).attempt(make_pod()).run()
    assert decision.host == "n0"
    assert decision.extenders[0].filter_error == "down"
    assert deciding(release, extenders=[FakeExtender(filtered="down")]).attempt(make_pod()).run().error == "down"


@BOTH
def test_an_extender_without_interest(release: str) -> None:
    """It is not asked at all."""
    extender = FakeExtender(filtered=Answered(()), interested=False)
    assert deciding(release, extenders=[extender]).attempt(make_pod()).run().host == "n0"
    assert extender.asked == []


@BOTH
def test_a_node_that_passes_and_failed(release: str) -> None:
    """The answered list decides."""
    extender = FakeExtender(filtered=Answered(("n1",), {"n1": "but"}))
    decision = deciding(release, extenders=[extender]).attempt(make_pod()).run()
    assert (decision.fits(), decision.reasons()) == (["n1"], {"n1": ["but"]})


@BOTH
def test_a_node_that_is_not_there(release: str) -> None:
    """An extender cannot add one."""
    extender = FakeExtender(filtered=Answered(("n1", "ghost")))
    decision = deciding(release, extenders=[extender]).attempt(make_pod()).run()
    assert decision.error == 'nodeinfo not found for node name "ghost"'


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


def scheduler(release: str, *extenders: Any, cluster: Any = NODES, **fields: Any) -> FrameworkScheduler:
    plugin = in_tree(release)[FITS[release]]
    return deciding(release, plugin, cluster=cluster, extenders=extenders, **fields)


def calling(asking: Asking, release: str, behaviour: str, **settings: Any) -> HTTPExtender:
    return asking(behaviour, WIRES[release], prioritize_verb="", **settings)


def decided(asking: Asking, release: str, behaviour: str, **settings: Any) -> Decision:
    return scheduler(release, calling(asking, release, behaviour, **settings)).attempt(POD).run()


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
    decision = scheduler("1.36", invents, last).attempt(POD).run()
    assert last.asked == [["n0", "n1", "ghost"]]
    assert decision.total() == {"ghost": 87, "n1": 75 + 2 * 10}
    assert decision.host == "n1"


def test_what_runs_on_nodes_is_forgotten_beside_an_invented_node(asking: Asking) -> None:
    """All answered nodes are new records, the cluster itself is not touched."""
    crowd = [make_pod(f"c{at}", node="n0", requests=resources(cpu=1000)) for at in range(2)]
    made = scheduler("1.36", calling(asking, "1.36", "invent"), cluster=[*NODES, *crowd])
    decision = made.attempt(POD).run()
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
    decision = deciding("1.36", plugin, cluster=[*NODES, *peers], extenders=[extender]).attempt(spread).run()
    assert decision.score("PodTopologySpread") == {"n0": 0, "n1": 0, "ghost": 100}


def test_a_pod_may_be_assumed_on_an_invented_node(asking: Asking) -> None:
    """As upstream's cache takes pods on nodes that it has not heard of."""
    made = scheduler("1.36", calling(asking, "1.36", "invent"))
    made.cache.assume_pod(POD, "ghost")
    assert made.cache.columns.node_count == 2
    assert made.attempt(make_pod("q", requests=resources(cpu=1000, memory=2 << 30))).run().host == "ghost"


@pytest.mark.parametrize("ignorable", [False, True], ids=["must answer", "ignorable"])
def test_an_object_that_is_no_node(asking: Asking, ignorable: bool) -> None:
    """It is an answer that cannot be read, which an ignorable extender may give."""
    decision = decided(asking, "1.36", "bad-node", ignorable=ignorable)
    said = decision.extenders[0].filter_error if ignorable else decision.error
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
    return made.attempt(PODS[plugin]).run()


@pytest.mark.parametrize(
    ("plugin", "scores"), [("PodTopologySpread", {"n0": 100, "n1": 0}), ("InterPodAffinity", {"n0": 0, "n1": 100})]
)
def test_answered_labels_say_where_the_pod_would_be(asking: Asking, plugin: str, scores: dict[str, int]) -> None:
    """1.36: those who run count in zone a, where the cluster has n0, and a pod on n1 would be there as well."""
    decision = among_exchanged(asking, "1.36", plugin)
    assert decision.score(plugin) == scores
    for name, score in scores.items():
        assert [e.product for e in decision.score_evidence(name)] == [score * decision.weights[plugin]]
    assert decision.fits() == ["n0", "n1"]


IMAGE = ContainerImage(("app:latest",), 1 << 30)
CLUSTER = Cluster(
    [make_node(name, {"zone": zone}, images=(IMAGE,)) for name, zone in (("n0", "a"), ("n1", "a"), ("n2", "b"))],
    [make_pod(f"p{at}", {"app": "x"}, node=f"n{at}", requests=resources(cpu=100)) for at in range(2)],
    view=v1_36.VIEW,
)
EMPTIED = EmptiedNodes.of(CLUSTER.snapshot)


def one(_: PodInfo) -> int:
    return 1


def test_what_runs_there_is_gone() -> None:
    """Amounts in use, pods and images; what a node object itself says stays."""
    for snapshot in (EMPTIED, EMPTIED.take(np.array([1, 0]))):
        assert not snapshot.requested.any()
        assert not snapshot.nonzero.any()
        assert not snapshot.pod_count.any()
        assert [column.tolist() for column in snapshot.image("app:latest")] == [[0] * len(snapshot)] * 2
        assert (snapshot.allocatable == CLUSTER.snapshot.take(snapshot.row_numbers).allocatable).all()
        assert snapshot.names == CLUSTER.snapshot.take(snapshot.row_numbers).names
