"""What choices do to the cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import FrozenMap, ObjectMeta, OwnerReference, Service
from kubescheduler.comparison.comparison import workload_summaries
from kubescheduler.comparison.effects import Effects, effects
from kubescheduler.comparison.outcomes import Cause, PodComparison
from kubescheduler.releases import v1_16
from tests.support.comparisons import GIB, compared_pod, comparison, node, pod, three_columns

ZONE = "topology.kubernetes.io/zone"
NODES = [node("n1", 4000, 8 * GIB, **{ZONE: "a"}), node("n2", 4000, 8 * GIB, **{ZONE: "b"}), node("n3", 2000, GIB)]
WEB = Service(ObjectMeta("web", "default"), FrozenMap({"app": "web"}))


def found(*hosts: str | None, leave: bool = False, evicted: int = 0) -> Effects:
    """Pods of 1 core and 1 GiB of the service on these hosts, beside one that is there."""
    there = pod("there", 2000, 2 * GIB, on="n1")
    pods = [pod(f"p{at}", 1000, GIB, label={"app": "web"}) for at in range(len(hosts))]
    return effects([*NODES, WEB, there], pods, hosts, [there][:evicted], v1_16.VIEW, leave=leave)


def test_utilisation() -> None:
    """Requested by allocatable, over the nodes and of each node."""
    cpu, memory = found("n1", "n2").utilisation
    assert (cpu.resource, cpu.mean, cpu.least, cpu.most) == ("cpu", 0.333333, 0.0, 0.75)
    assert cpu.deviation == pytest.approx(0.311805)
    assert (memory.resource, memory.most) == ("memory", 0.375)
    assert [(use.name, use.zone, use.pods, use.used["cpu"]) for use in found("n1", "n2").nodes] == [
        ("n1", "a", 2, 0.75),
        ("n2", "b", 1, 0.25),
        ("n3", "", 0, 0.0),
    ]


def test_packing() -> None:
    """Pods placed, nodes with and without pods, and the share of pods on the fuller half."""
    after = found("n1", "n3", None)
    assert (after.placed, after.unplaced, after.nodes_used, after.nodes_empty) == (2, 1, 2, 1)
    assert after.fullest_half == 1.0
    assert found("n1", "n2", "n3").fullest_half == 0.75
    assert effects([], [], [], [], v1_16.VIEW, leave=False).fullest_half == 0.0


def test_spread_of_services() -> None:
    """Per zone, of every zone there is, and per node; services without pods are left out."""
    (spread,) = found("n1", "n1", "n2").spread
    assert (spread.service, spread.pods, dict(spread.zones)) == ("default/web", 3, {"": 0, "a": 2, "b": 1})
    assert (spread.zone_skew, spread.hosts, spread.host_skew) == (2, 2, 2)
    assert found().spread == ()


@pytest.mark.parametrize(("leave", "pods"), [(True, 1), (False, 2)], ids=["gone", "counted only"])
def test_evicted_pods(leave: bool, pods: int) -> None:
    """They are gone where the run took them away."""
    after = found("n1", leave=leave, evicted=1)
    assert (after.evicted, after.nodes[0].pods) == (1, pods)


@pytest.mark.parametrize(
    "daemon",
    [
        pytest.param({"owners": (OwnerReference("DaemonSet", "agent", "u", controller=True),)}, id="DaemonSet"),
        pytest.param({"owners": (OwnerReference("Node", "n", "u", controller=True),)}, id="owned by its node"),
        pytest.param({"annotations": {"kubernetes.io/config.mirror": "x"}}, id="mirror"),
        pytest.param({"annotations": {"kubernetes.io/config.source": "file"}}, id="static"),
        pytest.param({"annotations": {"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"}}, id="declared"),
    ],
)
def test_pods_that_come_with_every_node_do_not_use_it(daemon: dict[str, Any]) -> None:
    """Nodes with nothing else are empty; what such pods ask for counts in the utilisation all the same."""
    agents = [pod(f"agent-{at}", 1000, GIB, on=one.name, **daemon) for at, one in enumerate(NODES)]
    after = effects([*NODES, *agents], [pod("web", 500, GIB)], ["n2"], [], v1_16.VIEW, leave=False)
    assert (after.nodes_used, after.nodes_empty, after.daemons, after.fullest_half) == (1, 2, 3, 1.0)
    assert [(use.pods, use.used["cpu"]) for use in after.nodes] == [(0, 0.25), (1, 0.375), (0, 0.5)]


@pytest.mark.parametrize(
    "ordinary",
    [
        pytest.param({"owners": (OwnerReference("ReplicaSet", "web", "u", controller=True),)}, id="ReplicaSet"),
        pytest.param({"annotations": {"kubernetes.io/config.source": "api"}}, id="from the API"),
    ],
)
def test_other_pods_use_their_node(ordinary: dict[str, Any]) -> None:
    """Whoever else owns them."""
    after = effects([*NODES, pod("p", on="n1", **ordinary)], [], [], [], v1_16.VIEW, leave=False)
    assert (after.nodes_used, after.daemons) == (1, 0)


def of(workload: str, *causes: Cause, first: int = 0) -> list[PodComparison]:
    """Pods of one workload in the namespace shop."""
    return [
        attrs.evolve(compared_pod(first + at, cause, f"shop/{workload[-1]}{first + at}"), workload=workload)
        for at, cause in enumerate(causes)
    ]


def test_counts_of_a_workload() -> None:
    """Moved, could have been, unplaced before and now, and the most frequent cause that is not same."""
    same, chance, refused, weight = Cause.SAME, Cause.COULD_HAVE_BEEN, Cause.FILTERED_NOW, Cause.CHANGED_WEIGHT
    [found] = workload_summaries(of("Deployment/a", same, same, same, chance, refused, weight, weight))
    [change] = found.changes
    assert (found.namespace, found.workload, found.pods, found.unplaced) == ("shop", "Deployment/a", 7, 0)
    assert (change.moved, change.could_have_been, change.unplaced, change.cause) == (3, 1, 1, weight)
    assert change.causes == {same: 3, weight: 2, chance: 1, refused: 1}


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        pytest.param((Cause.SAME,), Cause.SAME, id="same"),
        pytest.param((Cause.SAME, Cause.SAME, Cause.TIE_BREAK), Cause.TIE_BREAK, id="one of three"),
        pytest.param((Cause.TIE_BREAK, Cause.TIE_BREAK, Cause.ERROR), Cause.ERROR, id="an error before all"),
    ],
)
def test_main_cause(causes: tuple[Cause, ...], expected: Cause) -> None:
    """What is the same is never the main cause of a workload that differs, and an error always is."""
    [found] = workload_summaries(of("Job/a", *causes))
    assert found.changes[0].cause is expected
    assert found.differs is (expected is not Cause.SAME)


def test_order() -> None:
    """Most moved pods first, then most that differ, then names; namespaces do not mix."""
    pods = [
        *of("Deployment/b", Cause.SAME),
        *of("Deployment/a", Cause.SAME),
        *of("Deployment/c", Cause.COULD_HAVE_BEEN),
        *of("Deployment/d", Cause.TIE_BREAK, Cause.TIE_BREAK),
        attrs.evolve(compared_pod(9, Cause.TIE_BREAK, "data/d9"), workload="Deployment/d"),
    ]
    found = [(one.namespace, one.workload[-1]) for one in workload_summaries(pods)]
    assert found == [("shop", "d"), ("data", "d"), ("shop", "c"), ("shop", "a"), ("shop", "b")]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(Cause))), max_size=20))
def test_sums_are_those_of_the_pods(drawn: list[tuple[str, Cause]]) -> None:
    """Over all workloads every number is that of the comparison."""
    pods = [one for at, (name, cause) in enumerate(drawn) for one in of(f"Job/{name}", cause, first=at)]
    found = comparison(pods)
    summaries = found.workloads
    assert sum(one.pods for one in summaries) == len(pods)
    assert sum(one.changes[0].moved for one in summaries) == len(found.moved)
    assert sum(one.unplaced for one in summaries) == sum(p.outcomes[0].host is None for p in pods)
    assert sum(one.changes[0].unplaced for one in summaries) == sum(p.outcomes[1].host is None for p in pods)
    totals = sum((Counter(one.changes[0].causes) for one in summaries), Counter[Cause]())
    assert dict(totals) == (found.summary[0] if pods else {})


def test_columns_apart() -> None:
    """Each new column has its own numbers; a pod that nothing controls stands for itself."""
    found = three_columns()
    assert [len(one.changes) for one in found.workloads] == [2] * 12
    assert {one.workload for one in found.workloads} == {f"Pod/pod-{at}" for at in range(12)}
    document = found.as_dict()["workloads"][0]
    assert [change["column"] for change in document["changes"]] == ["tuned", "default"]
