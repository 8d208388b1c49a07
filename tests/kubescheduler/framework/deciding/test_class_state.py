"""What is remembered of pod classes is what a scheduler without memory finds."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.compiled_profile import Compiled
from kubescheduler.releases.lookup import release_named
from predicates.types import GO_ON, SKIP, FitPredicate, PreFiltered
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import Cluster, kept_objects, make_node, make_pod, resources
from tests.support.deciders import answers, deciding, frame, plugin
from tests.support.laws import costly
from tests.support.rich_worlds import (
    LOCAL_VOLUME,
    NODE_PARTS,
    POD_PARTS,
    RELEASES,
    SERVICE,
    VOLUME,
    DrawnCluster,
    everything,
    in_tree,
    incoming,
    node_of,
    pod_of,
    told,
    worlds,
)

NAMES = ("n0", "n1", "n2", "n3")


def alike(node: Node) -> Node:
    """Without images: upstream remembers with a node how many others have them."""
    return msgspec.structs.replace(node, images=())


def happens(draw: Any, cache: ClusterCache, number: int) -> None:
    """Something comes, goes or changes."""
    known = st.sampled_from(cache.tree.listed())
    what = draw(st.sampled_from(["node", "node", "no node", "pod", "pod", "no pod", "object", "no object"]))
    if what == "node":
        cache.add_node(alike(node_of(draw(st.sampled_from(NAMES)), draw(NODE_PARTS))))
    elif what == "no node" and len(cache.tree) > 1:
        cache.remove_node(draw(known))
    elif what == "pod":
        cache.add_pod(pod_of(f"new{number}", draw(POD_PARTS), draw(known)))
    elif what == "no pod" and cache.pods():
        cache.remove_pod(draw(st.sampled_from(cache.pods())))
    elif what == "object":
        cache.add(draw(st.sampled_from([SERVICE, VOLUME, LOCAL_VOLUME])))
    elif what == "no object":
        cache.remove(SERVICE)


def again(cache: ClusterCache, release: str) -> ClusterCache:
    """A new cache of the same objects."""
    nodes = [node for node in cache.columns.nodes if node is not None]
    return ClusterCache.of([*kept_objects(cache), *nodes, *cache.pods()], release_named(release).default_view)


@pytest.mark.parametrize("release", RELEASES)
@costly
@given(world=worlds(), pods=st.tuples(incoming, incoming), data=st.data())
def test_memory_changes_nothing(release: str, world: DrawnCluster, pods: tuple[Pod, Pod], data: st.DataObject) -> None:
    """After whatever happened, a scheduler that has seen it all decides as one that has seen nothing, over the same
    cluster and over one that is read anew."""
    cache = attrs.evolve(world, nodes=tuple(map(alike, world.nodes))).cache(release)
    by_order = ("ServiceAffinity",)
    all_of_them, most = everything(release, cache), everything(release, cache, without=by_order)
    for number in range(5):
        fresh = again(cache, release)
        for pod in pods:
            expected = everything(release, cache).attempt(pod, thorough=True).run()
            assert told(all_of_them.attempt(pod, thorough=True).run()) == told(expected)
            expected = everything(release, fresh, without=by_order).attempt(pod, thorough=True).run()
            assert told(most.attempt(pod, thorough=True).run()) == told(expected)
        happens(data.draw, cache, number)


# --- PreFilter and PreScore ----------------------------------------------------------------------


class Asked:
    """A plugin over columns that counts how often it is asked and answers what it is told to."""

    def __init__(self, answer: PreFiltered = GO_ON, goes_on: bool = True) -> None:
        self.answer, self.goes_on = answer, goes_on
        self.pre_filters = self.pre_scores = 0

    def plugin(self, reads: Reads = Reads.SERVICES) -> ColumnPlugin:
        check = FitPredicate(
            "A", lambda pod, snapshot: {}, Footprint(reads, pre_reads=reads), pre_filter=self._pre_filter
        )
        scoring = PriorityConfig(
            "A", lambda pod, snapshot: snapshot.pod_count, footprint=Footprint(reads), pre_score=self._pre_score
        )
        points = frozenset({Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE})
        return ColumnPlugin("A", points, check, scoring)

    def _pre_filter(self, pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
        self.pre_filters += 1
        return self.answer

    def _pre_score(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        self.pre_scores += 1
        return self.goes_on


def state_of(cluster: Cluster, *plugins: Any) -> ClassState:
    compiled = Compiled.of(frame("1.36", *plugins), (), 100)
    return ClassState(cluster.info(make_pod()), compiled.algorithm)


def test_plugins_are_asked_again_when_something_they_read_has_changed() -> None:
    """The answer is kept until then."""
    cluster, asked = Cluster([make_node("n1")]), Asked()
    state = state_of(cluster, asked.plugin())
    pre_score = state.pre_scores["A"]
    for _ in range(2):
        state.ask("A", cluster.snapshot, cluster.columns.log)
        pre_score.ask(state.info, cluster.snapshot, cluster.columns.log)
    assert (asked.pre_filters, asked.pre_scores) == (1, 1)
    cluster.columns.put_node(cluster.columns.row("n2"), make_node("n2"))
    state.ask("A", cluster.snapshot, cluster.columns.log)
    assert asked.pre_filters == 1
    cluster.columns.log.whole(cluster.objects.put(SERVICE))
    state.ask("A", cluster.snapshot, cluster.columns.log)
    pre_score.ask(state.info, cluster.snapshot, cluster.columns.log)
    assert (asked.pre_filters, asked.pre_scores) == (2, 2)


def test_a_plugin_that_raised_is_asked_again() -> None:
    """Nothing is known of its answer, though none of the pods that it reads has changed since."""
    faults = [SchedulingError("broken")] * 3

    def pre_filter(pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
        if faults:
            raise faults.pop()
        return SKIP

    rule = FitPredicate(
        "A", lambda pod, snapshot: {}, Footprint(Reads.ALL_PODS, pre_reads=Reads.ALL_PODS), pre_filter=pre_filter
    )
    cluster = Cluster([make_node("n1")])
    state = state_of(cluster, ColumnPlugin("A", frozenset({Point.PRE_FILTER, Point.FILTER}), rule))
    for at in range(3):
        cluster.columns.put_pod(0, make_pod(f"p{at}"), f"p{at}")
        with pytest.raises(SchedulingError):
            state.ask("A", cluster.snapshot, cluster.columns.log)
    assert state.ask("A", cluster.snapshot, cluster.columns.log) == SKIP


def test_a_plugin_that_skips_is_not_run_on_nodes() -> None:
    """Until its PreFilter has something to say again."""
    cluster, asked = Cluster([make_node("n1")]), Asked(SKIP)
    state = state_of(cluster, asked.plugin())
    state.ask("A", cluster.snapshot, cluster.columns.log)
    assert state.checks[0].skipped
    asked.answer = GO_ON
    cluster.columns.log.whole(cluster.objects.put(SERVICE))
    state.ask("A", cluster.snapshot, cluster.columns.log)
    assert not state.checks[0].skipped
    assert state.ask("B", cluster.snapshot, cluster.columns.log) == GO_ON


def test_who_is_asked() -> None:
    """Column rules that apply to the pod and have a PreFilter, and custom plugins, in order."""
    own = plugin("Own", **answers(pre_filter=None, pre_score=None))
    silent = ColumnPlugin(
        "Silent", frozenset({Point.PRE_FILTER, Point.FILTER}), FitPredicate("Silent", lambda p, s: {})
    )
    compiled = Compiled.of(frame("1.36", own, silent, Asked().plugin()), (), 100)
    state = ClassState(Cluster().info(make_pod()), compiled.algorithm)
    assert compiled.asked(state) == ["Own", "A"]
    assert (set(compiled.own_pre_scores), set(state.pre_scores)) == ({"Own"}, {"A"})


def test_a_score_that_fails_names_its_plugin() -> None:
    """And is tried again the next time."""
    faults = [PriorityError("broken")]

    def score(pod: PodInfo, snapshot: Snapshot) -> Any:
        if faults:
            raise faults.pop()
        return snapshot.pod_count

    column = ColumnPlugin("A", frozenset({Point.SCORE}), scoring=PriorityConfig("A", score))
    scheduler = deciding("1.36", column, cluster=[make_node("n1"), make_node("n2")])
    assert scheduler.attempt(make_pod()).run().error == 'running Score plugins: plugin "A" failed with: broken'
    assert scheduler.attempt(make_pod()).run().total() == {"n1": 0, "n2": 0}


def test_what_cannot_be_mended_is_looked_at_again_though_the_reason_stays() -> None:
    """A node that is full of pods, and then too small, refuses for the same lack of cpu."""
    nodes = [make_node(f"n{at}", allocatable=resources(cpu=1000, memory=8 << 30, pods=9)) for at in range(9)]
    there = make_pod("there", node="n0", requests=resources(cpu=900))
    scheduler = deciding("1.36", in_tree("1.36")["NodeResourcesFit"], cluster=[*nodes, there])
    wants = make_pod(requests=resources(cpu=500))
    assert scheduler.attempt(wants).run().codes() == {"n0": "Unschedulable"}
    for cpu, code in ((400, "UnschedulableAndUnresolvable"), (1000, "Unschedulable")):
        scheduler.cache.update_node(make_node("n0", allocatable=resources(cpu=cpu, memory=8 << 30, pods=9)))
        assert scheduler.attempt(wants).run().codes() == {"n0": code}
