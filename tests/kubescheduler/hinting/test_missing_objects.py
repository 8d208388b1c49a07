"""Hints for what is not there: claims, pods to be near to, and nodes that are large enough."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.hinting.proposals import manifests_of
from tests.support.releases_tried import RELEASES_TRIED

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
    assert texts[:2] == ["uncordon a", "tolerate node.kubernetes.io/unschedulable:NoSchedule"]
