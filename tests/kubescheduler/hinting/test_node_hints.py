"""Hints that change nodes, against every such change made by hand and decided by fresh engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

import kubescheduler as ks
from clusterstate.objects import Node
from kubescheduler.hinting.proposals import Hint, PodHints, manifests_of
from tests.support.hint_worlds import HARD, HintWorld, hint_worlds
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED

UNITS = {"cpu": 1, "memory": 1000}
"""Resource → thousandths in the unit it is counted in."""


def fits(cluster: ks.Cluster, world: HintWorld, node: str) -> bool:
    """Whether the pod fits a node by a fresh engine."""
    return node in ks.Scheduler(cluster).decide(dict(world.pod)).fits()


def changes_that_work(world: HintWorld, release: str) -> Iterator[str]:
    """The words of every change of a node, other than of its size, by which the pod fits there."""
    cluster = world.cluster(release)
    for node in cluster.nodes:
        for taint in node.taints:
            text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            without = cluster.without_taint(node.name, f"{taint.key}:{taint.effect}")
            if taint.effect in HARD and fits(without, world, node.name):
                yield f"remove the taint {text} from {node.name}"
        if node.unschedulable and fits(cluster.uncordoned(node.name), world, node.name):
            yield f"uncordon {node.name}"
        for key, value in wanted(world).items():
            there = node.metadata.labels.get(key)
            if there != value and fits(cluster.with_label(node.name, key, value), world, node.name):
                was = "" if there is None else f" instead of {there!r}"
                yield f"label {node.name} {key}={value}{was}"


def wanted(world: HintWorld) -> dict[str, str]:
    """The labels with which the pod's selector, and its affinity if it has one, are met."""
    out = dict(world.pod["spec"].get("nodeSelector", {}))
    affinity = world.pod["spec"].get("affinity", {}).get("nodeAffinity")
    if affinity:
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        out = {"disk": term["matchExpressions"][0]["values"][0], "rack": "", **out}
    return out


def of_kinds(found: PodHints, *kinds: str) -> list[Hint]:
    """The hints of one change of some kinds."""
    return [hint for hint in found if len(hint.changes) == 1 and hint.changes[0].kind in kinds]


def spread(hint: Hint) -> Iterator[str]:
    """Its words, for every node on which it does the same."""
    (change,) = hint.changes
    yield from (change.text.replace(change.name, node) for node in (change.name, *change.alike))


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds(alternatives=False))
def test_brute_force_finds_the_same_changes_of_nodes(release: str, world: HintWorld) -> None:
    """Taints, cordons and labels, on each of the nodes that are said to be alike."""
    found = ks.hints(world.cluster(release), world.pod, top=None)
    listed = {text for hint in of_kinds(found, "taint", "cordon", "label") for text in spread(hint)}
    assert found.reached or listed == set(changes_that_work(world, release))


def resized(cluster: ks.Cluster, node: Node, resource: str, more: int) -> ks.Cluster:
    """With more of a resource on a node, counted in its unit."""
    amount = node.allocatable[resource] // UNITS[resource] + more
    text = f"{amount}m" if resource == "cpu" else str(amount)
    return cluster.resized(node.name, **{resource: text})


def increase(hint: Hint, cluster: ks.Cluster, resource: str) -> int:
    """By how much a hint of the kind size makes its node larger."""
    (change,) = hint.changes
    node = next(node for node in cluster.nodes if node.name == change.name)
    assert change.node is not None
    return (change.node(node).allocatable[resource] - node.allocatable[resource]) // UNITS[resource]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds())
def test_no_smaller_node_size_works(release: str, world: HintWorld) -> None:
    """One unit less fits no node; where no size is listed, a very large one does not fit either."""
    cluster = world.cluster(release)
    found = ks.hints(cluster, world.pod, top=None, pairs=False)
    for resource in UNITS:
        sizes = [hint for hint in of_kinds(found, "size") if resource in hint.text]
        least = min((increase(hint, cluster, resource) for hint in sizes), default=1 << 40)
        for hint in sizes:
            more = increase(hint, cluster, resource)
            names = (hint.changes[0].name, *hint.alike)
            nodes = [node for node in cluster.nodes if node.name in names]
            assert all(fits(resized(cluster, node, resource, more), world, node.name) for node in nodes)
        for node in cluster.nodes if not found.reached else ():
            assert not fits(resized(cluster, node, resource, least - 1), world, node.name)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_one_more_node_like_the_smallest_that_does(release: str) -> None:
    """It is empty, and the pod goes there."""
    cluster = ks.Cluster(release=release).node("big", cpu=8).node("small", cpu=2).node("tiny", cpu=1)
    for node in ("big", "small", "tiny"):
        cluster = cluster.pod(f"on-{node}", node=node, cpu={"big": 8, "small": 2, "tiny": 1}[node])
    (hint,) = of_kinds(ks.hints(cluster, ks.pod("web", cpu=2)), "node")
    assert (hint.text, hint.host) == ("add one more node like small", "small-1")


def test_a_cordon_and_its_taint_are_one_change() -> None:
    """The taint goes with the cordon, as its controller takes it away."""
    cluster = ks.Cluster(release="1.36").node(
        "a", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]
    )
    assert "uncordon a" in [hint.text for hint in ks.hints(cluster, ks.pod("web"))]


CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIMING = ks.pod("db", spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]})


def near(**selector: Any) -> dict[str, Any]:
    """A pod that has to be near others."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return ks.pod("web", spec={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_claim_that_is_missing(release: str) -> None:
    """To create it is the first hint, also where a release gives the attempt up without it."""
    cluster = ks.Cluster(release=release).node("a", zone="eu-1")
    found = ks.hints(cluster, CLAIMING)
    assert found.errors == ()
    assert (found[0].text, found[0].host) == ("create the PersistentVolumeClaim default/data, bound to a volume", "a")


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_claim_whose_binding_is_not_complete(release: str) -> None:
    """One that is written by hand lacks the annotation; the cluster is as it was afterwards."""
    core = {"apiVersion": "v1"}
    claim = {"metadata": {"name": "data"}, "spec": {"volumeName": "pv", "accessModes": ["ReadWriteOnce"]}}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
    volume = {**core, "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}
    cluster = ks.Cluster(release=release).node("a").add([{**core, "kind": "PersistentVolumeClaim", **claim}, volume])
    scheduler = ks.Scheduler(cluster)
    if scheduler.decide(CLAIMING).host is None:  # 1.4 does not look at the annotation
        [hint, *_] = scheduler.hints(CLAIMING)
        assert hint.text == (
            "complete the binding of the PersistentVolumeClaim default/data: the annotation "
            "pv.kubernetes.io/bind-completed is missing"
        )
        assert hint.host == "a"
        assert scheduler.decide(CLAIMING).host is None
        [changed] = manifests_of(hint, cluster.pods_from(CLAIMING)[0], {})
        assert changed["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_a_claim_of_a_class(release: str) -> None:
    """Where a class makes volumes for the pod's node, the claim is one of it, which can be written."""
    cluster = ks.Cluster(release=release).node("a").add(CLASS)
    hint = ks.hints(cluster, CLAIMING)[0]
    assert hint.text == "create the PersistentVolumeClaim default/data of the StorageClass fast"
    [claim] = manifests_of(hint, cluster.pods_from(CLAIMING)[0], {})
    assert ks.Scheduler(cluster.add(claim)).decide(CLAIMING).host == "a"


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        pytest.param({"matchLabels": {"app": "cache"}}, "app=cache", id="labels"),
        pytest.param({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}, "app=x", id="in"),
    ],
)
def test_a_pod_that_is_missing(release: str, selector: dict[str, Any], shown: str) -> None:
    """The hint names labels that the term picks, and a node on which the pod then fits."""
    cluster = ks.Cluster(release=release).node("a", unschedulable=True).node("b")
    hint = next(each for each in ks.hints(cluster, near(**selector)) if each.changes[0].kind == "pod")
    assert (hint.text, hint.host) == (f"run a pod with {shown} on b", "b")
    [pod] = manifests_of(hint, cluster.pods_from(near(**selector))[0], {})
    assert ks.Scheduler(cluster.add(pod)).decide(near(**selector)).host == "b"


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_node_that_is_large_enough(release: str) -> None:
    """It is like the node that has to grow least, and as large as the pod; a node as there is comes before it."""
    cluster = ks.Cluster(release=release).node("a", cpu=2, memory="4Gi")
    found = ks.hints(cluster, ks.pod("big", cpu=16, memory="64Gi"), top=None)
    texts = [hint.text for hint in found]
    assert "add one more node like a, but with 16 cpu and 64Gi memory" in texts
    assert texts[0].startswith("add one more node like a")
    full = cluster.pod("x", node="a", cpu=2)
    assert "add one more node like a" in [hint.text for hint in ks.hints(full, ks.pod("y", cpu=1))]


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_uncordoning_comes_before_tolerating_a_cordon(release: str) -> None:
    """Somebody wants no pods on a cordoned node, so it is smaller to ask than to pass over it."""
    taints = ["node.kubernetes.io/unschedulable:NoSchedule"]
    cluster = ks.Cluster(release=release).node("a", unschedulable=True, taints=taints)
    texts = [hint.text for hint in ks.hints(cluster, ks.pod("p"))]
    asked = [text for text in texts if not text.startswith("add one more node")]
    assert asked[:2] == ["uncordon a", "tolerate node.kubernetes.io/unschedulable:NoSchedule"]


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_one_more_node_like_a_cordoned_one(release: str) -> None:
    """It is not cordoned itself; a node that is open is the model before one that is not, also if it is larger."""
    taints = ["node.kubernetes.io/unschedulable:NoSchedule"]
    cluster = ks.Cluster(release=release).node("a", cpu=2, unschedulable=True, taints=taints)
    full = cluster.pod("x", node="a", cpu=2)
    texts = [hint.text for hint in ks.hints(full, ks.pod("y", cpu=1), top=None)]
    assert "add one more node like a" in texts
    both = full.node("b", cpu=4).pod("z", node="b", cpu=4)
    texts = [hint.text for hint in ks.hints(both, ks.pod("y", cpu=1), top=None)]
    assert "add one more node like b" in texts
