"""Claims that wait for their first consumer: the scheduler chooses their node or volume, and binds the pod when they
are bound."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from kubescheduler.live.process.release_live import LIVE
from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document
from tests.support.live.live_cluster import NODES, PODS, Cluster, a_node, a_pod, running

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"
RELEASES = pytest.mark.parametrize("release", list(LIVE))
SPEC: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"}


def unprotected(server: FrontServer, path: str, namespace: str, obj: Document) -> None:
    """Makes an object that goes as soon as it is deleted: no controller takes its finalizers off here."""
    name = obj["metadata"]["name"]
    server.storage.create(path, namespace, obj)
    server.storage.change(path, namespace, name, lambda made: made["metadata"].pop("finalizers", None))


def prepare(server: FrontServer, provisioner: str) -> None:
    """A node, and a claim of a class that waits for its first consumer."""
    late = {"metadata": {"name": "late"}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    server.storage.create(CLASSES, "", late)
    claim = {"metadata": {"name": "c"}, "spec": {**SPEC, "resources": {"requests": {"storage": "1Gi"}}}}
    unprotected(server, CLAIMS, "default", claim)
    server.storage.create(NODES, "", a_node("n1"))


def a_volume() -> Document:
    place = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
    affinity = {"required": {"nodeSelectorTerms": [place]}}
    spec = {**SPEC, "capacity": {"storage": "1Gi"}, "nodeAffinity": affinity, "hostPath": {"path": "/v"}}
    return {"metadata": {"name": "v"}, "spec": spec, "status": {"phase": "Available"}}


def consumer() -> Document:
    return a_pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])


def bind(cluster: Cluster) -> None:
    """What the controller of volumes does."""

    def bound(claim: Document) -> None:
        claim["spec"]["volumeName"] = "v"
        claim["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"

    cluster.server.storage.change(CLAIMS, "default", "c", bound)


@RELEASES
def test_a_claim_to_provision(api_server: FrontServer, release: str) -> None:
    """The claim is told its node, and the pod is bound only when the claim is."""
    prepare(api_server, "example.com/p")

    def selected() -> bool:
        annotations = api_server.storage.get(CLAIMS, "default", "c")["metadata"].get("annotations", {})
        return bool(annotations.get(SELECTED) == "n1")

    with running(api_server, release) as cluster:
        cluster.make(PODS, consumer())
        cluster.until(selected)
        assert not cluster.is_bound("p")
        uid = api_server.storage.get(CLAIMS, "default", "c")["metadata"]["uid"]
        volume = a_volume()
        volume["spec"]["claimRef"] = {"namespace": "default", "name": "c", "uid": uid}
        unprotected(api_server, VOLUMES, "", volume)
        bind(cluster)
        cluster.until(lambda: cluster.is_bound("p"))


@RELEASES
def test_a_volume_that_is_there(api_server: FrontServer, release: str) -> None:
    """The volume gets a reference to the claim, and the pod is bound only when the claim is."""
    prepare(api_server, "kubernetes.io/no-provisioner")
    unprotected(api_server, VOLUMES, "", a_volume())

    def reserved() -> bool:
        reference = api_server.storage.get(VOLUMES, "", "v")["spec"].get("claimRef") or {}
        return bool(reference.get("name") == "c")

    with running(api_server, release) as cluster:
        cluster.make(PODS, consumer())
        cluster.until(reserved)
        assert not cluster.is_bound("p")
        bind(cluster)
        cluster.until(lambda: cluster.is_bound("p"))


def test_a_claim_that_cannot_be_written(api_server: FrontServer) -> None:
    """1.16: the condition says that volumes were not bound, and why; the volume is free again."""
    prepare(api_server, "example.com/p")
    refused: list[str] = []

    async def refuse(request: Any) -> Any:
        if request.method == "PUT" and "/persistentvolumeclaims/" in request.path and not refused:
            refused.append(request.path)
            return web.json_response(
                {"kind": "Status", "code": 403, "message": "not you", "reason": "Forbidden"}, status=403
            )
        return None

    api_server.faults.append(refuse)

    def condition() -> Document:
        found: list[Document] = api_server.storage.get(PODS, "default", "p").get("status", {}).get("conditions", [])
        return found[0] if found else {}

    with running(api_server, "1.16") as cluster:
        cluster.make(PODS, consumer())
        cluster.until(lambda: condition().get("reason") == "VolumeBindingFailed")
        assert condition()["message"] == "not you"
        cluster.until(lambda: bool(cluster.events("FailedScheduling")))
