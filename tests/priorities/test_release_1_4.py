"""The priorities of release 1.4: worked examples of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithmprovider.algorithms import PRIORITIES_1_4
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION, TAINTS_ANNOTATION, TOLERATIONS_ANNOTATION
from clusterstate.objects import (
    Affinity,
    Container,
    ContainerImage,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    ReplicationController,
    Requirement,
    Service,
    StatefulSet,
    Taint,
    Toleration,
    WeightedPodAffinityTerm,
)
from priorities.avoided_nodes import tolerance_scores
from priorities.node_labels import normalize_1_4
from priorities.requested import balanced_resource_allocation_1_4
from priorities.selector_spread import NOT_A_NUMBER
from priorities.service_anti_affinity import service_anti_affinity_factory_1_4
from priorities.types import PriorityArgs, PriorityConfig, PriorityError
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod, resources

ZONE = "failure-domain.beta.kubernetes.io/zone"
GIB, MIB = 1 << 30, 1 << 20
WEB = Service(ObjectMeta("web", "default"), labels({"app": "web"}))


def rule(name: str, **args: Any) -> PriorityConfig:
    return PRIORITIES_1_4[name].make(PriorityArgs(**args))


def scores(priority: PriorityConfig, pod: Pod, cluster: Cluster, *rows: int) -> list[int]:
    info = cluster.info(pod)
    snapshot = cluster.snapshot.take(np.array(rows, np.int64)) if rows else cluster.snapshot
    raw = priority.map(info, snapshot)
    out: list[int] = (raw if priority.reduce is None else priority.reduce(info, snapshot, raw)).tolist()
    constant = priority.constant(info)
    assert constant is None or out == [constant] * len(out)
    return out


def nodes(*zones: str | None) -> list[Node]:
    return [make_node(f"n{i}", None if zone is None else {ZONE: zone}) for i, zone in enumerate(zones)]


def running(counts: dict[str, int], label: dict[str, str] | None = None, **fields: Any) -> list[Pod]:
    """So many pods of the service on each node."""
    return [
        make_pod(f"{node}-{i}", label or {"app": "web"}, node=node, **fields)
        for node, count in counts.items()
        for i in range(count)
    ]


# --- resources -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cpu", "memory", "score"),
    [(900, 100, 2), (800, 100, 2), (1000, 100, 0), (500, 500, 10), (375, 274, 8)],
    ids=["1.16-says-1", "0.8-and-0.1", "full", "equal", "like-E1"],
)
def test_balance(cpu: int, memory: int, score: int) -> None:
    """10 - d·10, on one node and on many."""
    pod = make_pod(requests=resources(cpu=cpu, memory=memory))
    many = cluster_1_4([make_node(f"n{i}", allocatable=resources(cpu=1000, memory=1000)) for i in range(20)])
    assert balanced_resource_allocation_1_4(many.info(pod), many.snapshot).tolist() == [score] * 20
    one = many.snapshot.take(np.array([3]))
    assert balanced_resource_allocation_1_4(many.info(pod), one).tolist() == [score]


def test_example_1() -> None:
    """A node of 4000m and 8 GiB with a pod of 1000m and 2 GiB, and a pod that asks for 500m."""
    there = make_pod("q", node="n", requests=resources(cpu=1000, memory=2 * GIB))
    cluster = cluster_1_4([make_node("n", allocatable=resources(cpu=4000, memory=8 * GIB))], [there])
    pod = make_pod(requests=resources(cpu=500))
    names = ("LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation")
    assert [scores(rule(name), pod, cluster) for name in names] == [[6], [2], [8]]


# --- spreading -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zones", "counts", "wanted"),
    [
        pytest.param(["z1", "z1", "z2", None], {"n0": 2, "n1": 1, "n3": 1}, [0, 1, 10, 5], id="zones"),
        pytest.param(["z1", "z1", "z2", None], {}, [NOT_A_NUMBER] * 3 + [10], id="no-pods-at-all"),
        pytest.param(["z1", "z2", None], {"n2": 1}, [NOT_A_NUMBER] * 2 + [0], id="none-in-a-zone"),
        pytest.param([None, None], {"n0": 3, "n1": 1}, [0, 6], id="no-zones"),
        pytest.param([None, None], {}, [10, 10], id="no-zones-no-pods"),
        pytest.param(["z1", "z1", "z1", "z2"], {"n0": 6, "n1": 6, "n2": 3, "n3": 5}, [0, 0, 1, 5], id="1.16-says-4"),
    ],
)
def test_spreading(zones: list[str | None], counts: dict[str, int], wanted: list[int]) -> None:
    """With a service that selects the pod, by both names."""
    cluster = cluster_1_4(nodes(*zones), running(counts), [WEB])
    for name in ("SelectorSpreadPriority", "ServiceSpreadingPriority"):
        assert scores(rule(name), make_pod(label={"app": "web"}), cluster) == wanted


def test_what_is_counted() -> None:
    """Pods that any selector matches; ServiceSpreadingPriority has those of services alone, StatefulSets none."""
    controller = ReplicationController(ObjectMeta("rc", "default"), labels({"tier": "x"}))
    stateful = StatefulSet(ObjectMeta("s", "default"), LabelSelector(labels({"set": "s"})))
    pods = [
        *running({"n0": 1}),
        *running({"n1": 2}, {"tier": "x"}),
        *running({"n2": 2}, {"app": "web"}, deleting=True),
        *running({"n2": 3}, {"set": "s"}),
        *running({"n2": 4}, namespace="other"),
    ]
    pods = [make_pod(f"p{i}", q.metadata.labels, node=q.node_name, namespace=q.metadata.namespace,
                     deleting=q.metadata.deletion_timestamp is not None) for i, q in enumerate(pods)]  # fmt: skip
    cluster = cluster_1_4(nodes(None, None, None), pods, [WEB, controller, stateful])
    pod = make_pod(label={"app": "web", "tier": "x", "set": "s"})
    info = cluster.info(pod)
    assert rule("SelectorSpreadPriority").map(info, cluster.snapshot).tolist() == [1, 2, 0]
    assert rule("ServiceSpreadingPriority").map(info, cluster.snapshot).tolist() == [1, 0, 0]


def test_without_selectors_zones_do_not_matter() -> None:
    """Nothing is counted, and nothing is divided by zero."""
    cluster = cluster_1_4(nodes("z1", "z2", None), running({"n0": 3}))
    assert scores(rule("SelectorSpreadPriority"), make_pod(label={"app": "web"}), cluster) == [10, 10, 10]


def test_service_anti_affinity() -> None:
    """Half of the pods share the zone: 5, 5, 7, and 0 without the label; pods anywhere count."""
    priority = service_anti_affinity_factory_1_4("Mine", ZONE)(PriorityArgs())
    cluster = cluster_1_4(nodes("a", "a", "b", None), running({"n0": 1, "n1": 1, "n2": 1, "n3": 1}), [WEB])
    pod = make_pod(label={"app": "web"})
    assert scores(priority, pod, cluster) == [5, 5, 7, 0]
    assert scores(priority, pod, cluster, 0, 2) == [7, 7]
    assert scores(priority, make_pod(), cluster) == [10, 10, 10, 0]
    leaving = cluster_1_4(nodes("a", "b"), running({"n0": 1}, deleting=True), [WEB])
    assert scores(priority, pod, leaving) == [0, 10]


# --- taints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [([0, 1, 3], [10, 6, 0]), ([8, 10], [1, 0]), ([0, 0], [10, 10])],
    ids=["1.16-says-7", "1.16-says-2", "none"],
)
def test_tolerance_scores(counts: list[int], wanted: list[int]) -> None:
    """A float complement."""
    cluster = cluster_1_4(nodes(*([None] * len(counts))))
    assert tolerance_scores(cluster.info(make_pod()), cluster.snapshot, np.array(counts)).tolist() == wanted


def test_which_taints_count() -> None:
    """PreferNoSchedule ones that no toleration of every effect or of that one covers; keys have to be equal."""
    taints = (Taint("a", "", "PreferNoSchedule"), Taint("b", "", "PreferNoSchedule"), Taint("c", "", "NoSchedule"))
    cluster = cluster_1_4([make_node("n", taints=taints)])
    for tolerations, count in (
        ((), 2),
        ((Toleration("a", "Exists"),), 1),
        ((Toleration("a", "Exists", effect="NoSchedule"),), 2),
        ((Toleration("", "Exists"),), 2),
    ):
        info = cluster.info(make_pod(tolerations=tolerations))
        assert rule("TaintTolerationPriority").map(info, cluster.snapshot).tolist() == [count]


def test_annotations_that_cannot_be_read_are_errors() -> None:
    """A node's only where that node is feasible, once for each such node."""
    cluster = cluster_1_4([make_node("a"), *(make_node(n, annotations={TAINTS_ANNOTATION: "{}"}) for n in "bc")])
    priority = rule("TaintTolerationPriority")
    assert scores(priority, make_pod(), cluster, 0) == [10]
    with pytest.raises(PriorityError, match=r"^\[.*, .*\]$"):
        scores(priority, make_pod(), cluster)
    with pytest.raises(PriorityError) as raised:
        scores(priority, make_pod(annotations={TOLERATIONS_ANNOTATION: "x"}), cluster, 0)
    assert raised.value.per_node


# --- node affinity -------------------------------------------------------------------------


def prefers(*terms: tuple[int, str, str]) -> Affinity:
    """(weight, key, operator) each."""
    return Affinity(
        NodeAffinity(
            preferred=tuple(
                PreferredSchedulingTerm(w, NodeSelectorTerm((Requirement(key, operator),) if key else ()))
                for w, key, operator in terms
            )
        )
    )


def test_node_affinity() -> None:
    """0, 3, 7 → 0, 4, 10; terms of weight 0 and without expressions count nothing."""
    cluster = cluster_1_4([make_node("a"), make_node("b", {"x": ""}), make_node("c", {"y": ""})])
    affinity = prefers((3, "x", "Exists"), (7, "y", "Exists"), (0, "z", "Bad"), (5, "", ""))
    assert scores(rule("NodeAffinityPriority"), make_pod(affinity=affinity), cluster) == [0, 4, 10]
    assert scores(rule("NodeAffinityPriority"), make_pod(), cluster) == [0, 0, 0]
    assert normalize_1_4(cluster.info(make_pod()), cluster.snapshot, np.array([-3, 0])).tolist() == [0, 0]


@pytest.mark.parametrize(
    "fields",
    [{"affinity": prefers((1, "x", "Bad"))}, {"annotations": {AFFINITY_ANNOTATION: "{"}}],
    ids=["invalid-expression", "unreadable"],
)
def test_node_affinity_errors(fields: dict[str, Any]) -> None:
    """Every node meets them."""
    cluster = cluster_1_4([make_node("a")])
    with pytest.raises(PriorityError) as raised:
        scores(rule("NodeAffinityPriority"), make_pod(**fields), cluster)
    assert raised.value.per_node


def test_the_text_for_a_value_that_no_label_can_have() -> None:
    """It is the release's own."""
    term = NodeSelectorTerm((Requirement("n", "Gt", ("-1",)),))
    pod = make_pod(affinity=Affinity(NodeAffinity(preferred=(PreferredSchedulingTerm(1, term),))))
    with pytest.raises(PriorityError, match=r'^invalid label value: "-1": must match the regex'):
        scores(rule("NodeAffinityPriority"), pod, cluster_1_4([make_node("a")]))


# --- images --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "score"),
    [((300, 40), 4), ((22,), 0), ((23,), 1), ((999,), 10), ((1000,), 10), ((5000,), 10), ((), 0)],
    ids=["300+40", "22", "23", "999", "1000", "5000", "none"],
)
def test_images(sizes: tuple[int, ...], score: int) -> None:
    """In MiB; the same size for a node wherever else the images are."""
    images = tuple(ContainerImage((f"i{n}", f"i{n}:v1"), size * MIB) for n, size in enumerate(sizes))
    pod = make_pod(containers=tuple(Container(image=f"i{n}:v1") for n in range(len(sizes))))
    cluster = cluster_1_4([make_node("a", images=images), make_node("b")])
    assert scores(rule("ImageLocalityPriority"), pod, cluster) == [score, 0]


def test_image_names_are_compared_as_they_are() -> None:
    """Without a tag filled in; the first entry with the name counts; an image that two containers use counts twice."""
    first = (ContainerImage(("i",), 30 * MIB), ContainerImage(("i",), 900 * MIB), ContainerImage(("j:latest",), GIB))
    cluster = cluster_1_4([make_node("a", images=first)])
    assert scores(rule("ImageLocalityPriority"), make_pod(containers=(Container(image="j"),)), cluster) == [0]
    assert scores(rule("ImageLocalityPriority"), make_pod(containers=(Container(image="i"),)), cluster) == [1]
    twice = (Container(image="i"),) * 8
    assert scores(rule("ImageLocalityPriority"), make_pod(containers=twice), cluster) == [3]


# --- pod affinity --------------------------------------------------------------------------


def liking(weight: int, key: str) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(preferred=(
        WeightedPodAffinityTerm(weight, PodAffinityTerm(key, LabelSelector(labels({"app": "web"})))),
    )))  # fmt: skip


def test_unreadable_affinity_of_running_pods_matters_to_pods_with_affinity_only() -> None:
    """As does a pod on a node that is not there."""
    broken = make_pod("q", node="n0", annotations={AFFINITY_ANNOTATION: "{"})
    cluster = cluster_1_4(nodes("z1"), [broken])
    priority = rule("InterPodAffinityPriority")
    assert scores(priority, make_pod(), cluster) == [0]
    with pytest.raises(PriorityError):
        scores(priority, make_pod(affinity=liking(1, ZONE)), cluster)
    astray = cluster_1_4(nodes("z1"), running({"gone": 1}))
    assert scores(priority, make_pod(), astray, 0) == [0]
    with pytest.raises(PriorityError, match=r"^node 'gone' not found$"):
        scores(priority, make_pod(affinity=liking(1, ZONE)), astray, 0)
