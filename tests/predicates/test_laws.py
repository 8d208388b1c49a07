"""Laws that every predicate obeys, over random clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms_1_4 import FIT_PREDICATES as FIT_PREDICATES_1_4
from algorithmprovider.algorithms_1_16 import FIT_PREDICATES
from clusterstate.objects import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    Requirement,
    Service,
    Taint,
    Toleration,
)
from clusterstate.snapshot import PodChange, Snapshot
from predicates.node_identity import label_presence_factory, label_presence_factory_1_4
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicate, PredicateArgs, Verdict
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod, resources

RULES: dict[str, list[FitPredicate]] = {
    release: [factory(PredicateArgs()) for factory in (*registered.values(), *more)]
    for release, registered, more in (
        (
            "1.4",
            FIT_PREDICATES_1_4,
            [
                label_presence_factory_1_4("CheckNodeLabelPresence", ("zone",), True),
                service_affinity_factory_1_4("CheckServiceAffinity", ("zone", "disk")),
            ],
        ),
        (
            "1.16",
            FIT_PREDICATES,
            [
                label_presence_factory("CheckNodeLabelPresence", ("zone",), True),
                service_affinity_factory("CheckServiceAffinity", ("zone", "disk")),
            ],
        ),
    )
}
CLUSTERS = {"1.4": cluster_1_4, "1.16": Cluster}
EVERY = pytest.mark.parametrize("release", RULES)

LABELS = st.dictionaries(st.sampled_from(["zone", "disk"]), st.sampled_from(["", "a", "b", "7"]))
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
TAINTS = st.lists(st.builds(Taint, st.sampled_from(["k", "l"]), st.sampled_from(["", "v"]), EFFECTS), max_size=2)
CONDITIONS = st.lists(
    st.builds(
        NodeCondition,
        st.sampled_from(["Ready", "NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure"]),
        st.sampled_from(["True", "False", "Unknown"]),
    ),
    max_size=3,
)
NODE_PARTS = st.tuples(LABELS, TAINTS, CONDITIONS, st.booleans())
REQUIREMENTS = st.one_of(
    st.builds(Requirement, st.sampled_from(["zone", "disk"]), st.just("In"), st.just(("a", "b"))),
    st.builds(Requirement, st.sampled_from(["zone", "disk"]), st.just("Gt"), st.just(("5",))),
    st.builds(Requirement, st.sampled_from(["zone", "disk"]), st.sampled_from(["Exists", "Bad"])),
)
TERMS = st.builds(NodeSelectorTerm, st.lists(REQUIREMENTS, max_size=2).map(tuple))
AFFINITIES = st.none() | st.lists(TERMS, max_size=2).map(lambda t: Affinity(NodeAffinity(required=tuple(t))))
PORTS = st.lists(
    st.builds(ContainerPort, st.integers(1, 2), st.sampled_from(["", "10.0.0.1", "10.0.0.2"])), max_size=2
).map(tuple)
POD_PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "label": st.sampled_from([{"app": "web"}, {"app": "db"}, {}]),
        "containers": st.builds(
            lambda cpu, ports: (Container(requests=resources(cpu=cpu), ports=ports),), st.integers(0, 3), PORTS
        ),
        "node_selector": LABELS.map(labels),
        "affinity": AFFINITIES,
        "tolerations": st.lists(
            st.builds(Toleration, st.sampled_from(["", "k"]), st.sampled_from(["Exists", "Equal"])), max_size=1
        ).map(tuple),
    }
)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[Service]]:
    """Up to six nodes, running pods (some on a node that is not there) and perhaps a service."""
    parts = draw(st.lists(NODE_PARTS, min_size=1, max_size=6))
    nodes = [
        make_node(
            f"n{i}",
            pairs,
            taints=tuple(taints),
            conditions=tuple(conditions),
            unschedulable=cordoned,
            allocatable=resources(cpu=4, memory=4, pods=3),
        )
        for i, (pairs, taints, conditions, cordoned) in enumerate(parts)
    ]
    places = st.integers(0, len(nodes)).map(lambda i: f"n{i}")
    pods = [
        make_pod(f"p{i}", node=place, **fields)
        for i, (place, fields) in enumerate(draw(st.lists(st.tuples(places, POD_PARTS), max_size=5)))
    ]
    service = Service(ObjectMeta("s", "default"), labels({"app": "web"}))
    return nodes, pods, draw(st.sampled_from([[], [service]]))


def failing(release: str, pod: Pod, cluster: Cluster, snapshot: Snapshot) -> dict[str, dict[str, list[bool]]]:
    """By rule what fails where; reasons that fail nowhere left out."""
    return {rule.name: _failing(rule, pod, cluster, snapshot) for rule in RULES[release]}


def _failing(rule: FitPredicate, pod: Pod, cluster: Cluster, snapshot: Snapshot) -> dict[str, list[bool]]:
    verdict: Verdict = rule.check(cluster.info(pod), snapshot)
    for mask in verdict.values():
        assert mask.dtype == np.bool_, rule.name
        assert mask.shape == (len(snapshot),), rule.name
    return {reason: mask.tolist() for reason, mask in verdict.items() if mask.any()}


@EVERY
@given(world=clusters(), fields=POD_PARTS, data=st.data())
def test_a_subset_of_rows_gives_the_same(release: str, world: Any, fields: Any, data: st.DataObject) -> None:
    """A row's verdict does not depend on which other rows are asked about, nor on their order."""
    cluster, pod = CLUSTERS[release](*world), make_pod(**fields)
    rows = np.array(data.draw(st.lists(st.integers(0, len(cluster.snapshot) - 1), unique=True)), np.int64)
    whole = failing(release, pod, cluster, cluster.snapshot)
    some = failing(release, pod, cluster, cluster.snapshot.take(rows))
    for name, verdict in whole.items():
        picked = {reason: [mask[row] for row in rows] for reason, mask in verdict.items()}
        assert some[name] == {reason: mask for reason, mask in picked.items() if any(mask)}, name


@EVERY
@given(world=clusters(), fields=POD_PARTS)
def test_a_rule_that_does_not_apply_passes_everywhere(release: str, world: Any, fields: Any) -> None:
    """Skipping it changes nothing."""
    cluster, pod = CLUSTERS[release](*world), make_pod(**fields)
    verdicts, info = failing(release, pod, cluster, cluster.snapshot), cluster.info(pod)
    assert [rule.name for rule in RULES[release] if not rule.applies(info) and verdicts[rule.name]] == []


@given(world=clusters(), fields=POD_PARTS, more=POD_PARTS)
def test_a_pod_thought_on_counts_like_one_that_is_there(world: Any, fields: Any, more: Any) -> None:
    """What would happen with one more pod is what happens with it."""
    nodes, pods, others = world
    cluster, pod, extra = Cluster(*world), make_pod(**fields), make_pod("extra", node="n0", **more)
    thought = cluster.snapshot.what_if([PodChange(0, cluster.info(extra), 1)])
    real = Cluster(nodes, [*pods, extra], others)
    assert failing("1.16", pod, cluster, thought) == failing("1.16", pod, real, real.snapshot)
