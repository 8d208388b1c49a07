"""The fewest nodes: the number is what trying every set of nodes finds, and the sets are those that were seen to do."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubescheduler as ks
from kubescheduler.planning.fewest_nodes import LowerBound, NodeNeed, relaxed

ZONE = "topology.kubernetes.io/zone"
MOST = 3
"""Nodes of each shape in the search through everything."""


def spread(key: str) -> dict[str, Any]:
    """A constraint that pods of an app are spread evenly over a label's values."""
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }


def apart(key: str) -> dict[str, Any]:
    """Anti-affinity of pods of an app."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


RULES: list[dict[str, Any]] = [{}, {}, {}, spread(ZONE), apart("kubernetes.io/hostname"), apart(ZONE)]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[ks.Cluster, list[dict[str, Any]]]:
    """A small cluster with pending pods, and up to three shapes, in zones and with prices or not."""
    cluster = ks.Cluster(release=draw(st.sampled_from(["1.36", "1.20"])))
    if draw(st.booleans()):
        cluster = cluster.node("old", cpu=draw(st.integers(1, 3)), zone="z1")
    for number in range(draw(st.integers(1, 5))):
        cpu, rule = draw(st.integers(1, 4)), draw(st.sampled_from(RULES))
        cluster = cluster.pod(f"web-{number}", cpu=cpu, memory="1Gi", labels={"app": "web"}, spec=rule)
    priced = draw(st.booleans())
    shapes = [
        {
            "name": name,
            "cpu": draw(st.integers(3, 6)),
            "memory": "16Gi",
            "zones": [draw(st.sampled_from(["z1", "z2"]))],
            "max": MOST,
        }
        for name in ("a", "b")[: draw(st.integers(1, 2))]
    ]
    for shape in shapes:
        if priced:
            shape["price"] = draw(st.sampled_from([0.5, 0.7, 1]))
    return cluster, shapes


def runs(cluster: ks.Cluster, shapes: list[dict[str, Any]], counts: tuple[int, ...]) -> bool:
    """Whether every pending pod gets a node with so many new nodes, by a run of its own."""
    for shape, number in zip(shapes, counts, strict=True):
        for at in range(1, number + 1):
            cluster = cluster.node(f"{shape['name']}-{at}", cpu=shape["cpu"], memory="16Gi", zone=shape["zones"][0])
    return ks.simulate(cluster, [], pending=True).every_pod_had_a_node


@given(worlds())
@settings(max_examples=20)
def test_the_number_is_that_of_trying_everything(world: tuple[ks.Cluster, list[dict[str, Any]]]) -> None:
    """What is proven costs what the cheapest of all sets of up to three nodes of each shape does."""
    cluster, shapes = world
    prices = [Fraction(str(shape.get("price", 1))) for shape in shapes]

    def cost(counts: tuple[int, ...]) -> Fraction:
        return sum((number * price for number, price in zip(counts, prices, strict=True)), Fraction(0))

    every = sorted(product(range(MOST + 1), repeat=len(shapes)), key=cost)
    best = next((counts for counts in every if runs(cluster, shapes, counts)), None)
    plan = ks.nodes(cluster, shapes)
    assert plan.everything_runs == (best is not None)
    if best is None:
        return
    assert (plan.cost, plan.proven) == (cost(best), True)
    assert plan.bound.cost <= plan.cost
    assert runs(cluster, shapes, tuple(plan.added.get(shape["name"], 0) for shape in shapes))


def waiting(number: int, **fields: Any) -> ks.Cluster:
    """A cluster of one full node with pods that wait."""
    cluster = ks.Cluster(release="1.36").node("old", cpu=1, zone="z1").pod("there", node="old", cpu=1)
    for at in range(number):
        cluster = cluster.pod(f"web-{at}", labels={"app": "web"}, **fields)
    return cluster


SMALL = {"name": "small", "cpu": 4, "memory": "8Gi", "pods": 10, "zones": ["z1"]}
OTHER = {**SMALL, "name": "other", "zones": ["z2"]}


@pytest.mark.parametrize(
    ("cluster", "shapes", "added", "why"),
    [
        (waiting(6, cpu=2), [SMALL], {"small": 3}, "12 cpu asked for, 0 free"),
        (waiting(7, memory="2Gi"), [SMALL], {"small": 1}, "14Gi memory asked for, 8Gi free"),
        (waiting(25, cpu="100m", memory="1Mi"), [SMALL], {"small": 3}, "25 pods asked for, 0 free"),
        (
            waiting(3, cpu="100m", memory="1Mi", spec=apart("kubernetes.io/hostname")),
            [SMALL],
            {"small": 3},
            "3 pods like",
        ),
        (
            waiting(3, cpu=1, spec=spread(ZONE)).node("full", cpu="1m", zone="z2"),
            [SMALL, OTHER],
            {"small": 1, "other": 1},
            "cpu",
        ),
        (waiting(2, cpu=3, spec=apart(ZONE)), [SMALL, OTHER], {"small": 1, "other": 1}, ""),
        (waiting(4, cpu=2), [{**SMALL, "max": 1}, {**OTHER, "max": 1}], {"small": 1, "other": 1}, "8 cpu"),
        (waiting(2, resources={"x.io/y": 1}), [SMALL, {**OTHER, "resources": {"x.io/y": 2}}], {"other": 1}, "x.io/y"),
        (
            waiting(2, cpu=2),
            [{**SMALL, "price": 2}, {**OTHER, "price": 1, "taints": ["a=b:NoSchedule"]}],
            {"small": 1},
            "",
        ),
        (waiting(0), [SMALL], {}, ""),
    ],
    ids=["cpu", "memory-there", "pods", "anti-affinity", "spread", "zones", "max", "resource", "taint", "nothing"],
)
def test_what_is_needed(cluster: ks.Cluster, shapes: list[dict[str, Any]], added: dict[str, int], why: str) -> None:
    """Each kind of need, and the bound that it makes."""
    plan = ks.nodes(cluster, shapes)
    assert (dict(plan.added), plan.left, plan.proven) == (added, (), True)
    assert why in plan.bound.why


RATED = [Fraction(1), Fraction(1)]


@pytest.mark.parametrize(
    ("needs", "prices", "most", "least"),
    [
        ([(10, (4, 1)), (10, (1, 4))], RATED, [None, None], 4),
        ([(10, (4, 1)), (10, (1, 4))], [Fraction(1), Fraction(3)], [None, None], 8),
        ([(12, (4, 1))], RATED, [2, None], 6),
        ([(12, (4, 1))], RATED, [None, 2], 3),
        (
            [(10**15, (3 * 10**14, 10**14)), (7, (1, 3))],
            [Fraction(7, 10), Fraction(1, 3)],
            [None, 5],
            Fraction(593, 240),
        ),
        ([], RATED, [None, None], 0),
    ],
    ids=["two-needs", "prices", "few-large", "few-small", "bytes", "none"],
)
def test_linear_relaxation(
    needs: list[tuple[int, tuple[int, ...]]], prices: list[Fraction], most: list[int | None], least: Fraction
) -> None:
    """What nodes cost at least were they divisible, within what floats lose, and never more than that."""
    pytest.importorskip("scipy")
    cost, used = relaxed([NodeNeed(str(each), amount, each) for amount, each in needs], prices, most)
    assert least - Fraction(1, 10**6) <= cost <= least
    assert len(used) <= len(needs)


def test_more_than_the_bound() -> None:
    """Four pods of more than half of a node need four, though three have the cpu: these were tried."""
    plan = ks.nodes(waiting(4, cpu="2100m"), [SMALL])
    assert (dict(plan.added), plan.proven, plan.bound.cost) == ({"small": 4}, True, 3)
    assert plan.bound.why == "8400m cpu asked for, 0 free"


def test_a_maximum_that_is_too_small() -> None:
    """What nodes there may be take some pods; of the others the scheduler's message is told."""
    plan = ks.nodes(waiting(5, cpu=2), [{**SMALL, "max": 2}])
    assert dict(plan.added) == {"small": 2}
    assert [left.pod.metadata.name for left in plan.left] == ["web-4"]


def test_few_tries() -> None:
    """Without trials left the first set that does is told as found, not as proven."""
    plan = ks.nodes(waiting(4, cpu="2100m"), [SMALL], tries=0)
    assert not plan.left
    assert not plan.proven
    assert "not proven" in " ".join(plan.sentences())


def test_pods_that_follow_one_another() -> None:
    """Of a StatefulSet whose first pod fits nowhere the others never come, and are not counted as running."""
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5"}}}]}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": spec}
    sets = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}}
    workload = {**sets, "spec": {"replicas": 3, "template": template, "selector": {"matchLabels": {"app": "db"}}}}
    plan = ks.nodes(waiting(0), [SMALL], workload)
    assert (plan.asked, plan.placed, plan.everything_runs) == (3, 0, False)
    assert "2 pods more come only when those before have a node." in plan.sentences()
    larger = ks.nodes(waiting(0), [{**SMALL, "cpu": 10}], workload)
    assert (dict(larger.added), larger.placed) == ({"small": 2}, 3)


def agent(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A DaemonSet's manifest."""
    container = {"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [container], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "system"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }


def in_zone(zone: str) -> dict[str, Any]:
    """A required node affinity, which a DaemonSet's pods do not have."""
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def running_agent() -> dict[str, Any]:
    """One of its pods, which runs."""
    pod = ks.pod("agent-x", node="old", namespace="system")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "d", "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}


TAINTED = [{"key": "gpu", "effect": "NoSchedule"}]


@pytest.mark.parametrize("release", ["1.4", "1.36"])
@pytest.mark.parametrize("by", ["scheduler", "cluster-autoscaler"])
@pytest.mark.parametrize(
    ("objects", "shape", "workload", "number"),
    [
        pytest.param([], {}, [], 1, id="none"),
        pytest.param([agent()], {}, [], 2, id="none of its pods runs"),
        pytest.param([agent(nodeSelector={"disk": "ssd"})], {}, [], 1, id="not on these nodes"),
        pytest.param([agent(nodeSelector={"disk": "ssd"})], {"labels": {"disk": "ssd"}}, [], 2, id="on these"),
        pytest.param([agent()], {"taints": TAINTED}, [], 0, id="nobody tolerates the taint"),
        pytest.param([agent(affinity=in_zone("z2"))], {}, [], 1, id="elsewhere by its affinity"),
        pytest.param([agent("1"), running_agent()], {}, [], 2, id="its manifest says more than its pod"),
        pytest.param([agent(affinity=in_zone("z2")), running_agent()], {}, [], 1, id="elsewhere, though one runs"),
        pytest.param([agent("3")], {}, [agent("1")], 2, id="the workload's takes its place"),
    ],
)
def test_daemon_sets_of_manifests(
    by: str,
    objects: list[dict[str, Any]],
    shape: dict[str, Any],
    workload: list[dict[str, Any]],
    number: int,
    release: str,
) -> None:
    """A node takes both pods, or one beside a DaemonSet's, as the release's controller has it there.

    A DaemonSet whose manifest is at hand is not told by its pods.
    """
    if release == "1.4" and (shape or objects[:1] == [agent(affinity=in_zone("z2"))]):
        pytest.skip("taints and affinity are annotations there")
    cluster = ks.Cluster(release=release).node("old", cpu=1, zone="z1", labels={"disk": "hdd"})
    pods = [ks.pod(f"web-{at}", cpu=2) for at in range(2)]
    cluster = cluster.add(*objects, *pods)
    plan = ks.nodes(cluster, [{**SMALL, **shape}], workload or None, pending=bool(workload), by=by)
    assert plan.added.get("small", 0) == number


def test_a_bound_of_nothing_is_not_said() -> None:
    """That 0 nodes is the least says nothing."""
    plan = ks.nodes(waiting(4, cpu="2100m"), [SMALL])
    unknown = msgspec.structs.replace(plan, bound=LowerBound(Fraction(0), ""), proven=False)
    assert "not proven: how many are needed at least is not known." in " ".join(unknown.sentences())
