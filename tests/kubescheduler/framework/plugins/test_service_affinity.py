"""ServiceAffinity; its Filter is tested as the rule it is."""

from __future__ import annotations

import pytest

from clusterstate.objects import ObjectMeta, Service
from kubescheduler.framework.plugins.services import ServiceAffinityArgs, service_affinity_1_20
from predicates.service_affinity import AFFINITY_VIOLATED
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused, scores

WEB = {"app": "web"}
POD = make_pod(label=WEB)
NODES = [
    make_node("n1", {"zone": "a", "rack": "1"}),
    make_node("n2", {"zone": "b", "rack": "1"}),
    make_node("n3", {"zone": "b"}),
    make_node("bare"),
]
PODS = [
    *(make_pod(f"p{i}", WEB, node="n1") for i in range(3)),
    make_pod("q", {**WEB, "more": "yes"}, node="n2"),
    make_pod("other", {"app": "db"}, node="n3"),
    make_pod("elsewhere", WEB, node="n3", namespace="x"),
    make_pod("leaving", WEB, node="n3", deleting=True),
]


def service(name: str, selector: dict[str, str] | None) -> Service:
    return Service(ObjectMeta(name, "default"), None if selector is None else labels(selector))


@pytest.mark.parametrize(
    ("preferred", "expected"),
    [
        pytest.param(("zone",), [25, 75, 75, 0], id="one"),
        pytest.param(("zone", "rack"), [12, 37, 37, 0], id="two-halves-are-cut-off-at-the-end"),
        pytest.param((), [0, 0, 0, 0], id="none"),
    ],
)
def test_nodes_with_fewer_pods_of_the_value_are_better(preferred: tuple[str, ...], expected: list[int]) -> None:
    """Each label counts for its share; a node without it gets nothing for it."""
    plugin = service_affinity_1_20(ServiceAffinityArgs((), preferred), HANDLE)
    cluster = Cluster(NODES, PODS, [service("web", WEB)])
    assert scores(plugin, cluster, POD) == ([3, 1, 0, 0], expected)


def test_only_feasible_nodes_count() -> None:
    """Without pods on them all labelled nodes are as good as can be."""
    plugin = service_affinity_1_20(ServiceAffinityArgs((), ("zone",)), HANDLE)
    cluster = Cluster(NODES, PODS, [service("web", WEB)])
    assert scores(plugin, cluster, POD, [2, 3]) == ([0, 0], [100, 0])
    assert scores(plugin, cluster, POD, [1, 2]) == ([1, 0], [0, 0])


@pytest.mark.parametrize(
    ("services", "raw"),
    [
        pytest.param([], [0, 0, 0, 0], id="no-service"),
        pytest.param([service("web", {"app": "db"})], [0, 0, 0, 0], id="not-its-service"),
        pytest.param([service("web", None)], [0, 0, 0, 0], id="no-selector"),
        pytest.param([service("web", {})], [0, 0, 0, 0], id="selects-everything"),
        pytest.param([service("web", {}), service("x", WEB)], [0, 0, 0, 0], id="the-first-one-counts"),
    ],
)
def test_without_a_selector_nothing_is_counted(services: list[Service], raw: list[int]) -> None:
    """The first service that selects the pod is the one."""
    plugin = service_affinity_1_20(ServiceAffinityArgs((), ("zone",)), HANDLE)
    assert scores(plugin, Cluster(NODES, PODS, services), POD)[0] == raw


def test_the_filter_takes_part_with_affinity_labels_only() -> None:
    """Without any it needs no PreFilter either; taking pods away mends a refusal."""
    cluster = Cluster(NODES, PODS, [service("web", WEB)])
    with_labels = service_affinity_1_20(ServiceAffinityArgs(("zone",)), HANDLE)
    assert refused(with_labels, cluster, POD) == {AFFINITY_VIOLATED: ["n2", "n3", "bare"]}
    assert not check_of(with_labels).unresolvable(AFFINITY_VIOLATED)
    assert with_labels.filter_alone == 'error reading "PreFilterServiceAffinity" from cycleState: not found'
    without = service_affinity_1_20(None, HANDLE)
    assert refused(without, cluster, POD) == {}
    assert without.filter_alone is None
