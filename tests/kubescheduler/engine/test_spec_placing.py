"""A pod that is placed takes its volumes and devices: the next decision, in whatever is decided one after the other,
finds them taken."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubescheduler import Cluster, Scheduler, compare
from kubescheduler.engine.spec import place, take_back
from tests.support.build import kept_objects

LOCAL = """
kind: StorageClass
apiVersion: storage.k8s.io/v1
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
kind: PersistentVolume
apiVersion: v1
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: host, operator: In, values: [b]}]}]}}
"""
CLAIM = """
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {{name: {name}, namespace: default, uid: {name}}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: {cls}, resources: {{requests: {{storage: 1Gi}}}}}}
"""
DEVICES = """
kind: DeviceClass
apiVersion: resource.k8s.io/v1
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: device.driver == "gpus"}}]}
---
kind: ResourceSlice
apiVersion: resource.k8s.io/v1
metadata: {name: slice}
spec:
  driver: gpus
  nodeName: b
  pool: {name: pool, generation: 1, resourceSliceCount: 1}
  devices: [{name: only}]
"""
DEVICE_CLAIM = """
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {{name: {name}, namespace: default}}
spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu}}}}]}}}}
"""


def pod(name: str, **spec: Any) -> dict[str, Any]:
    limits = {"resources": {"limits": spec.pop("limits", {})}}
    containers = [{"name": "c", "image": "i", **limits}]
    return {"kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": {"containers": containers, **spec}}


def with_claim(name: str, claim: str) -> dict[str, Any]:
    return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}])


def cluster(release: str, *texts: str, pods: Any) -> Cluster:
    given = [document for text in texts for document in yaml.safe_load_all(text)]
    nodes = Cluster(release=release).node("a", labels={"host": "a"}).node("b", labels={"host": "b"})
    return nodes.add([*given, *pods])


def volumes(release: str) -> Cluster:
    """Two pods, each with a claim, and one volume."""
    claims = [CLAIM.format(name=name, cls="local") for name in ("mine", "yours")]
    return cluster(release, LOCAL, *claims, pods=[with_claim("first", "mine"), with_claim("second", "yours")])


def devices(*, extended: bool) -> Cluster:
    """Two pods that need a device each, and one device."""
    if extended:
        pods = [pod(name, limits={"example.com/gpu": "1"}) for name in ("first", "second", "third", "fourth")]
        return cluster("1.36", DEVICES, pods=pods)
    claims = [DEVICE_CLAIM.format(name=name) for name in ("mine", "yours")]
    pods = [
        pod(name, resourceClaims=[{"name": "g", "resourceClaimName": claim}])
        for name, claim in (("first", "mine"), ("second", "yours"))
    ]
    return cluster("1.36", DEVICES, *claims, pods=pods)


def of_kind(scheduler: Scheduler, kind: str) -> dict[str, Any]:
    """By their names."""
    return {obj.metadata.name: obj for obj in scheduler.cluster.objects if type(obj).__name__ == kind}


def hosts(scheduler: Scheduler) -> list[str | None]:
    return [decision.host for decision in scheduler.run().values()]


@pytest.mark.parametrize("release", ["1.13", "1.16", "1.18", "1.20", "1.27", "1.36"])
def test_a_volume_is_given_once(release: str) -> None:
    """The cluster has it bound then. (1.4 places no pod whose claim is not bound.)"""
    scheduler = Scheduler(volumes(release))
    assert hosts(scheduler) == ["b", None]
    disk, claims = of_kind(scheduler, "PersistentVolume")["disk"], of_kind(scheduler, "PersistentVolumeClaim")
    assert (disk.claim_ref.name, disk.phase) == ("mine", "Bound")
    assert (claims["mine"].volume_name, claims["mine"].phase) == ("disk", "Bound")
    assert claims["yours"].volume_name == ""


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_who_shares_a_claim_follows_its_volume(release: str) -> None:
    """The first pod decides where the volume is; the second finds only that node, however full it is."""
    text = CLAIM.format(name="shared", cls="local")
    pods = [with_claim(name, "shared") for name in ("first", "second")]
    assert hosts(Scheduler(cluster(release, LOCAL, text, pods=pods))) == ["b", "b"]


def test_a_claim_that_a_pod_names_twice() -> None:
    """Two volumes are found for it, and it is bound to the first."""
    named = [{"name": name, "persistentVolumeClaim": {"claimName": "mine"}} for name in ("v", "w")]
    other = LOCAL.replace("disk", "spare").partition("---")[2]
    there = cluster("1.36", LOCAL, other, CLAIM.format(name="mine", cls="local"), pods=[pod("first", volumes=named)])
    scheduler = Scheduler(there)
    assert hosts(scheduler) == ["b"]
    assert of_kind(scheduler, "PersistentVolumeClaim")["mine"].volume_name == "disk"


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_volumes_are_made_for_claims_that_wait(release: str) -> None:
    """By the class's provisioner: the cluster has the volume then, and the claim is bound to it."""
    made = {"provisioner": "csi.example.com", "metadata": {"name": "made"}, "volumeBindingMode": "WaitForFirstConsumer"}
    text = yaml.safe_dump({"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", **made})
    there = cluster(release, text, CLAIM.format(name="mine", cls="made"), pods=[with_claim("first", "mine")])
    scheduler = Scheduler(there)
    assert hosts(scheduler) != [None]
    (claim,) = of_kind(scheduler, "PersistentVolumeClaim").values()
    (volume,) = of_kind(scheduler, "PersistentVolume").values()
    assert (claim.volume_name, volume.claim_ref.name) == (volume.metadata.name, "mine")


@pytest.mark.parametrize("extended", [False, True], ids=["claims", "extended resource"])
def test_a_device_is_given_once(extended: bool) -> None:
    """Whether a ResourceClaim asks for it or an extended resource."""
    scheduler = Scheduler(devices(extended=extended))
    first, *others = hosts(scheduler)
    assert first == "b"
    assert set(others) == {None}
    (allocated,) = (claim for claim in of_kind(scheduler, "ResourceClaim").values() if claim.allocation is not None)
    assert [entry.uid for entry in allocated.reserved_for] == ["first"]


@pytest.mark.parametrize("there", [volumes("1.36"), devices(extended=False)], ids=["volumes", "devices"])
def test_a_comparison_one_after_the_other(there: Cluster) -> None:
    """Each side takes what its pods need."""
    found = compare(there, old="release=1.35", new="release=1.36", mode="sequence")
    assert [[outcome.host for outcome in one.outcomes] for one in found.pods] == [["b", "b"], [None, None]]


def test_a_running_pod_with_an_extended_resource_can_be_decided_anew() -> None:
    """The claim that the scheduler made for it goes with it."""
    scheduler = Scheduler(devices(extended=True))
    scheduler.run("first")
    (one,) = compare(scheduler.cluster, old="release=1.36", new="release=1.36", running="metadata.name=first").pods
    assert [outcome.host for outcome in one.outcomes] == ["b", "b"]
    assert Scheduler(scheduler.cluster.unbound("first")).decide("first").host == "b"


def test_what_is_taken_back() -> None:
    """The cluster is as it was."""
    for there in (volumes("1.36"), volumes("1.16"), devices(extended=False), devices(extended=True)):
        scheduler = Scheduler(there).running
        before = kept_objects(scheduler.cache)
        one = there.pending()[0]
        changes = place(scheduler, one, "b")
        assert changes
        assert kept_objects(scheduler.cache) != before
        take_back(scheduler.cache, one, changes)
        assert kept_objects(scheduler.cache) == before
