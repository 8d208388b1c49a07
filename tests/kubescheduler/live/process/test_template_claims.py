"""Pods whose claims controllers make from templates: the scheduler waits for them, and takes no one else's."""

from __future__ import annotations

from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document
from tests.support.live.claims import CLAIMS, VOLUME_CLAIMS, VOLUMES, a_claim, prepare_devices
from tests.support.live.live_cluster import NODES, PODS, Cluster, a_node, a_pod, running


def owned(obj: Document, pod: Document) -> Document:
    """An object that a controller made for a pod."""
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    owner |= {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}


def without_finalizers(server: FrontServer, path: str, name: str) -> None:
    """Lets an object go when the test's objects are deleted: no controller takes finalizers off here."""
    namespace = "" if path == VOLUMES else "default"
    server.storage.change(path, namespace, name, lambda made: made["metadata"].pop("finalizers", None))


# --- generic ephemeral volumes -----------------------------------------------------------------


def with_volume() -> Document:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": resources}
    return a_pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}])


def bound_claim(server: FrontServer) -> Document:
    """The claim of the pod's volume, bound to a volume that is there for it."""
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    reference = {"namespace": "default", "name": "p-v"}
    volume = {**spec, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/v"}, "claimRef": reference}
    server.storage.create(VOLUMES, "", {"metadata": {"name": "made"}, "spec": volume, "status": {"phase": "Bound"}})
    without_finalizers(server, VOLUMES, "made")
    meta = {"name": "p-v", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    whole = {**spec, "volumeName": "made", "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": meta, "spec": whole, "status": {"phase": "Bound"}}


def test_a_volume_that_is_the_pods(api_server: FrontServer) -> None:
    """The pod waits until the controller has made the claim of its ephemeral volume, and is then bound."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, "1.36") as cluster:
        cluster.make(PODS, with_volume())
        cluster.until(lambda: "p-v" in cluster.condition("p").get("message", ""))
        assert not cluster.is_bound("p")
        api_server.storage.create(VOLUME_CLAIMS, "default", owned(bound_claim(api_server), cluster.pod("p")))
        without_finalizers(api_server, VOLUME_CLAIMS, "p-v")
        cluster.until(lambda: cluster.is_bound("p"))


def test_a_volume_that_is_another_ones(api_server: FrontServer) -> None:
    """A claim of the right name that is not the pod's is not used."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(VOLUME_CLAIMS, "default", bound_claim(api_server))
    without_finalizers(api_server, VOLUME_CLAIMS, "p-v")
    with running(api_server, "1.36") as cluster:
        cluster.make(PODS, with_volume())
        cluster.until(lambda: bool(cluster.condition("p")))
        said = "PVC default/p-v was not created for pod default/p (pod is not owner)"
        assert said in cluster.condition("p")["message"]
        assert not cluster.is_bound("p")


# --- claims of devices -------------------------------------------------------------------------


def make_claim(server: FrontServer, pod: Document) -> None:
    """What the controller of claims does: the claim is there first, then the pod's status names it."""
    whole = a_claim()
    whole["metadata"]["name"] = "p-x-abcde"
    server.storage.create(CLAIMS, "default", owned(whole, pod))
    statuses = [{"name": "x", "resourceClaimName": "p-x-abcde"}]
    server.storage.change(PODS, "default", "p", lambda made: made["status"].update(resourceClaimStatuses=statuses))


def devices(cluster: Cluster) -> list[str]:
    claim = cluster.server.storage.get(CLAIMS, "default", "p-x-abcde")
    return [result["device"] for result in claim["status"]["allocation"]["devices"]["results"]]


def test_devices_from_a_template(api_server: FrontServer) -> None:
    """The pod waits, unseen by the loop, until the controller has made its claim and its status names it."""
    prepare_devices(api_server)
    template = {"name": "x", "resourceClaimTemplateName": "t"}
    with running(api_server, "1.36") as cluster:
        cluster.make(PODS, a_pod("p", resourceClaims=[template]), a_pod("q"))
        cluster.until(lambda: cluster.is_bound("q"))
        assert not cluster.is_bound("p")
        make_claim(api_server, cluster.pod("p"))
        cluster.until(lambda: cluster.is_bound("p"))
        assert devices(cluster) == ["g"]
    without_finalizers(api_server, CLAIMS, "p-x-abcde")
