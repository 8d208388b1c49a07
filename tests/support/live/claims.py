"""Claims of devices and of volumes, and what has to be there for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document
from tests.support.live.live_cluster import NODES, a_node, a_pod

GROUP = "/apis/resource.k8s.io/v1"
DEVICE_CLASSES, SLICES, CLAIMS = f"{GROUP}/deviceclasses", f"{GROUP}/resourceslices", f"{GROUP}/resourceclaims"
GPU = "example.com/gpu"
FINALIZER = "resource.kubernetes.io/delete-protection"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUME_CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"
SPEC: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"}


def fails_once(server: FrontServer, method: str, matches: Callable[[str], bool], code: int) -> None:
    """The first such request is answered with an error."""
    refused: list[str] = []

    async def refuse(request: web.Request) -> Any:
        if request.method != method or not matches(request.path) or refused:
            return None
        refused.append(request.path)
        reason = {403: "Forbidden", 409: "Conflict"}[code]
        return web.json_response({"kind": "Status", "code": code, "message": "not now", "reason": reason}, status=code)

    server.faults.append(refuse)


# --- devices -----------------------------------------------------------------------------------


def prepare_devices(server: FrontServer) -> None:
    """A node with two devices, of a class that provides an extended resource."""
    storage = server.storage
    storage.create(NODES, "", a_node("n1"))
    selectors = [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]
    cls = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU, "selectors": selectors}}
    storage.create(DEVICE_CLASSES, "", {"apiVersion": GROUP[6:], "kind": "DeviceClass", **cls})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "g"}, {"name": "h"}]}
    slices = {"apiVersion": GROUP[6:], "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    storage.create(SLICES, "", slices)


def remove_claims(server: FrontServer) -> None:
    """Deletes the claims of devices, which no controller frees here."""
    for claim in server.storage.all(CLAIMS):
        name = claim["metadata"]["name"]
        server.storage.change(CLAIMS, "default", name, lambda found: found["metadata"].pop("finalizers", None))
        server.storage.delete(CLAIMS, "default", name)


def a_claim() -> Document:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": GROUP[6:], "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": spec}


def extended(name: str = "p") -> Document:
    """A pod that asks for a device by the name of a resource."""
    pod = a_pod(name)
    amounts = {"requests": {"cpu": "100m", GPU: "1"}, "limits": {GPU: "1"}}
    pod["spec"]["containers"][0]["resources"] = amounts
    return pod


def sharing(name: str) -> Document:
    """A pod that uses the claim."""
    return a_pod(name, resourceClaims=[{"name": "x", "resourceClaimName": "c"}])


# --- volumes -----------------------------------------------------------------------------------


def unprotected(server: FrontServer, path: str, namespace: str, obj: Document) -> None:
    """Makes an object that goes as soon as it is deleted: no controller takes its finalizers off here."""
    name = obj["metadata"]["name"]
    server.storage.create(path, namespace, obj)
    server.storage.change(path, namespace, name, lambda made: made["metadata"].pop("finalizers", None))


def prepare_volumes(server: FrontServer, provisioner: str) -> None:
    """A node, and a claim of a class that waits for its first consumer."""
    late = {"metadata": {"name": "late"}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    server.storage.create(STORAGE_CLASSES, "", late)
    claim = {"metadata": {"name": "c"}, "spec": {**SPEC, "resources": {"requests": {"storage": "1Gi"}}}}
    unprotected(server, VOLUME_CLAIMS, "default", claim)
    server.storage.create(NODES, "", a_node("n1"))


def a_volume() -> Document:
    place = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
    affinity = {"required": {"nodeSelectorTerms": [place]}}
    spec = {**SPEC, "capacity": {"storage": "1Gi"}, "nodeAffinity": affinity, "hostPath": {"path": "/v"}}
    return {"metadata": {"name": "v"}, "spec": spec, "status": {"phase": "Available"}}


def consumer() -> Document:
    return a_pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])


def bind_volume(server: FrontServer) -> None:
    """What the controller of volumes does."""

    def bound(claim: Document) -> None:
        claim["spec"]["volumeName"] = "v"
        claim["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"

    server.storage.change(VOLUME_CLAIMS, "default", "c", bound)
