"""Laws that every priority obeys, over random clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms_1_4 import PRIORITIES as PRIORITIES_1_4
from algorithmprovider.algorithms_1_16 import PRIORITIES
from clusterstate.objects import (
    Affinity,
    Container,
    ContainerImage,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Requirement,
    Service,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from clusterstate.snapshot import PodChange
from priorities.avoided_nodes import ANNOTATION
from priorities.node_labels import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory, service_anti_affinity_factory_1_4
from priorities.types import PriorityArgs, PriorityConfig
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod, resources

PRIORITIES_OF: dict[str, list[PriorityConfig]] = {
    release: [make(PriorityArgs()) for make in (*(factory.make for factory in registered.values()), *more)]
    for release, registered, more in (
        (
            "1.4",
            PRIORITIES_1_4,
            [service_anti_affinity_factory_1_4("ServiceAntiAffinity", "zone")],
        ),
        (
            "1.16",
            PRIORITIES,
            [
                node_label_factory("NodeLabel", "disk", True),
                service_anti_affinity_factory("ServiceAntiAffinity", "zone"),
            ],
        ),
    )
}
CLUSTERS = {"1.4": cluster_1_4, "1.16": Cluster}
EVERY = pytest.mark.parametrize("release", PRIORITIES_OF)
ONLY_CONSTANT = {"EvenPodsSpreadPriority"}
"""Without constraints its map has no meaning."""
ZONE = "failure-domain.beta.kubernetes.io/zone"
AVOIDED = '{"preferAvoidPods":[{"podSignature":{"podController":{"kind":"ReplicaSet","uid":"u"}}}]}'
WEB = LabelSelector(labels({"app": "web"}))
NEAR_WEB = PodAffinity(preferred=(WeightedPodAffinityTerm(3, PodAffinityTerm("zone", WEB)),))

KEYS = st.sampled_from(["zone", "disk", ZONE])
TAINTS = st.lists(st.builds(Taint, st.sampled_from("kl"), effect=st.just("PreferNoSchedule")), max_size=2)
NODE_PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "label": st.dictionaries(KEYS, st.sampled_from("ab")),
        "annotations": st.sampled_from([None, {ANNOTATION: AVOIDED}]),
        "taints": TAINTS.map(tuple),
        "allocatable": st.builds(resources, cpu=st.integers(0, 1000), memory=st.integers(0, 1 << 30)),
        "images": st.sampled_from([(), (ContainerImage(("app:latest",), 1 << 29),)]),
    }
)
AFFINITIES = st.builds(
    Affinity,
    st.none()
    | st.builds(
        lambda key, weight: NodeAffinity(
            preferred=(PreferredSchedulingTerm(weight, NodeSelectorTerm((Requirement(key, "Exists"),))),)
        ),
        KEYS,
        st.integers(0, 5),
    ),
    st.sampled_from([None, NEAR_WEB]),
    st.sampled_from([None, NEAR_WEB]),
)
POD_PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "label": st.sampled_from([{"app": "web"}, {}]),
        "containers": st.builds(
            lambda cpu, limit: (Container("c", "app", resources(cpu=cpu), resources(memory=limit)),),
            st.integers(0, 300),
            st.integers(0, 1 << 30),
        ),
        "affinity": st.none() | AFFINITIES,
        "tolerations": st.sampled_from([(), (Toleration("k", "Exists"),), (Toleration("", "Exists"),)]),
        "owners": st.sampled_from([(), (OwnerReference("ReplicaSet", "r", "u", True),)]),
        "topology_spread_constraints": st.sampled_from(
            [(), (TopologySpreadConstraint(1, "zone", "ScheduleAnyway", WEB),)]
        ),
    }
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[Service]]:
    """Up to six nodes, running pods and perhaps a service."""
    nodes = [
        make_node(f"n{i}", **fields) for i, fields in enumerate(draw(st.lists(NODE_PARTS, min_size=1, max_size=6)))
    ]
    places = st.integers(0, len(nodes) - 1).map(lambda i: f"n{i}")
    placed = draw(st.lists(st.tuples(places, POD_PARTS), max_size=5))
    pods = [make_pod(f"p{i}", node=place, **fields) for i, (place, fields) in enumerate(placed)]
    service = Service(ObjectMeta("s", "default"), labels({"app": "web"}))
    return nodes, pods, draw(st.sampled_from([[], [service]]))


def scores(priority: PriorityConfig, pod: Pod, cluster: Cluster, rows: Any) -> list[int]:
    """Mapped and reduced over some rows, as if just those were feasible."""
    info, snapshot = cluster.info(pod), cluster.snapshot.take(rows)
    raw = priority.map(info, snapshot)
    assert raw.dtype == np.int64
    assert raw.shape == (len(rows),)
    reduced = raw if priority.reduce is None else priority.reduce(info, snapshot, raw)
    assert reduced.dtype == np.int64
    assert reduced.shape == (len(rows),)
    out: list[int] = reduced.tolist()
    return out


def some_rows(data: st.DataObject, cluster: Cluster, least: int = 1) -> Any:
    size = len(cluster.snapshot)
    return np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=least, unique=True)), np.int64)


@EVERY
@given(world=worlds(), fields=POD_PARTS, data=st.data())
def test_a_subset_of_rows_maps_the_same(release: str, world: Any, fields: Any, data: st.DataObject) -> None:
    """A row's number does not depend on which other rows are asked about, nor on their order."""
    cluster = CLUSTERS[release](*world)
    info, rows = cluster.info(make_pod(**fields)), some_rows(data, cluster, 0)
    for priority in PRIORITIES_OF[release]:
        whole = priority.map(info, cluster.snapshot)
        assert priority.map(info, cluster.snapshot.take(rows)).tolist() == whole[rows].tolist(), priority.name


@EVERY
@given(world=worlds(), fields=POD_PARTS, data=st.data())
def test_a_constant_is_what_would_come_out(release: str, world: Any, fields: Any, data: st.DataObject) -> None:
    """Skipping map and reduce changes nothing."""
    cluster, pod = CLUSTERS[release](*world), make_pod(**fields)
    rows = some_rows(data, cluster)
    for priority in PRIORITIES_OF[release]:
        if priority.name not in ONLY_CONSTANT:
            constant, found = priority.constant(cluster.info(pod)), scores(priority, pod, cluster, rows)
            assert constant is None or found == [constant] * len(rows), priority.name


@EVERY
@given(world=worlds(), fields=POD_PARTS, data=st.data())
def test_equal_numbers_give_one_score(release: str, world: Any, fields: Any, data: st.DataObject) -> None:
    """A valuewise reduce gives equal numbers the same score, however many rows there are."""
    cluster = CLUSTERS[release](*world)
    info, rows = cluster.info(make_pod(**fields)), some_rows(data, cluster)
    number = data.draw(st.integers(0, 9))
    for priority in PRIORITIES_OF[release]:
        if priority.valuewise and priority.reduce is not None:
            many = priority.reduce(info, cluster.snapshot.take(rows), np.full(len(rows), number, np.int64))
            one = priority.reduce(info, cluster.snapshot.take(rows[:1]), np.array([number], np.int64))
            assert many.tolist() == one.tolist() * len(rows), priority.name


@given(world=worlds(), fields=POD_PARTS, more=POD_PARTS)
def test_a_pod_thought_on_counts_like_one_that_is_there(world: Any, fields: Any, more: Any) -> None:
    """What would be scored with one more pod is what is scored with it."""
    nodes, pods, others = world
    cluster, pod, extra = Cluster(*world), make_pod(**fields), make_pod("extra", node="n0", **more)
    thought = cluster.snapshot.what_if([PodChange(0, cluster.info(extra), 1)])
    real = Cluster(nodes, [*pods, extra], others)
    for priority in PRIORITIES_OF["1.16"]:
        expected = priority.map(real.info(pod), real.snapshot).tolist()
        assert priority.map(cluster.info(pod), thought).tolist() == expected, priority.name
