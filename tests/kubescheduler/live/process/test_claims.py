"""Claims that wait for their first consumer: the scheduler chooses their node or volume, and binds the pod when they
are bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from kubescheduler.releases.lookup import recorded_processes
from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document
from tests.support.live.claims import (
    CLAIMS,
    FINALIZER,
    GPU,
    SELECTED,
    VOLUME_CLAIMS,
    VOLUMES,
    a_claim,
    a_volume,
    bind_volume,
    consumer,
    extended,
    fails_once,
    prepare_devices,
    prepare_volumes,
    remove_claims,
    sharing,
    unprotected,
)
from tests.support.live.live_cluster import NODES, PODS, Cluster, a_node, a_pod, running

RELEASES = pytest.mark.parametrize("release", list(recorded_processes()))


@RELEASES
def test_a_claim_to_provision(api_server: FrontServer, release: str) -> None:
    """The claim is told its node, and the pod is bound only when the claim is."""
    prepare_volumes(api_server, "example.com/p")

    def selected() -> bool:
        annotations = api_server.storage.get(VOLUME_CLAIMS, "default", "c")["metadata"].get("annotations", {})
        return bool(annotations.get(SELECTED) == "n1")

    with running(api_server, release) as cluster:
        cluster.make(PODS, consumer())
        cluster.until(selected)
        assert not cluster.is_bound("p")
        uid = api_server.storage.get(VOLUME_CLAIMS, "default", "c")["metadata"]["uid"]
        volume = a_volume()
        volume["spec"]["claimRef"] = {"namespace": "default", "name": "c", "uid": uid}
        unprotected(api_server, VOLUMES, "", volume)
        bind_volume(api_server)
        cluster.until(lambda: cluster.is_bound("p"))


@RELEASES
def test_a_volume_that_is_there(api_server: FrontServer, release: str) -> None:
    """The volume gets a reference to the claim, and the pod is bound only when the claim is."""
    prepare_volumes(api_server, "kubernetes.io/no-provisioner")
    unprotected(api_server, VOLUMES, "", a_volume())

    def reserved() -> bool:
        reference = api_server.storage.get(VOLUMES, "", "v")["spec"].get("claimRef") or {}
        return bool(reference.get("name") == "c")

    with running(api_server, release) as cluster:
        cluster.make(PODS, consumer())
        cluster.until(reserved)
        assert not cluster.is_bound("p")
        bind_volume(api_server)
        cluster.until(lambda: cluster.is_bound("p"))


@RELEASES
def test_a_pod_that_goes_while_its_claim_is_waited_for(api_server: FrontServer, release: str) -> None:
    """Nobody waits for its volume until that takes too long: its attempt ends, and its room is another pod's."""
    prepare_volumes(api_server, "example.com/p")
    with running(api_server, release) as cluster:
        cluster.make(PODS, consumer())
        cluster.until(lambda: "selected-node" in str(api_server.storage.get(VOLUME_CLAIMS, "default", "c")))
        api_server.storage.delete(PODS, "default", "p")
        cluster.until(lambda: bool(cluster.events("FailedScheduling")))
        assert 'pod does not exist any more: pod "p" not found' in str(cluster.events("FailedScheduling"))
        cluster.make(PODS, a_pod("whole", cpu="4"))
        cluster.until(lambda: cluster.is_bound("whole"))


def test_a_claim_that_cannot_be_written(api_server: FrontServer) -> None:
    """1.16: the condition says that volumes were not bound, and why; the volume is free again."""
    prepare_volumes(api_server, "example.com/p")
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


MAPPING = {"containerName": "c", "resourceName": GPU, "requestName": "container-0-request-1"}


@pytest.fixture
def server(api_server: FrontServer) -> Iterator[FrontServer]:
    """A node with two devices, of a class that provides an extended resource."""
    prepare_devices(api_server)
    yield api_server
    remove_claims(api_server)


def written(server: FrontServer, pod: str = "p") -> list[str]:
    """Writes of claims, of the pod's binding, and of what its status says besides conditions and nominations."""
    out = []
    for one in server.asked:
        if "/resourceclaims" in one.path and one.method != "GET":
            tail = one.path.partition("/resourceclaims")[2]
            out.append(f"{one.method} {'status' if tail.endswith('/status') else 'claim'}")
        elif one.path.endswith(f"/pods/{pod}/binding"):
            out.append("bind")
    return out


def claims(server: FrontServer) -> list[Document]:
    return server.storage.all(CLAIMS)


BOUND = ["POST claim", "PUT claim", "PUT status", "bind"]


def test_an_extended_resource(server: FrontServer) -> None:
    """A claim is created for the pod, protected, allocated and reserved; the pod's status names it."""
    with running(server, "1.36") as cluster:
        cluster.make(PODS, extended())
        cluster.until(lambda: cluster.is_bound("p"))
        pod, (claim,) = cluster.pod("p"), claims(server)
    meta = claim["metadata"]
    assert meta["name"].startswith("p-extended-resources-")
    assert meta["generateName"] == "p-extended-resources-"
    assert meta["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True}
    assert meta["ownerReferences"] == [owner]
    assert meta["finalizers"] == [FINALIZER]
    assert [entry["name"] for entry in claim["status"]["reservedFor"]] == ["p"]
    assert [entry["device"] for entry in claim["status"]["allocation"]["devices"]["results"]] == ["g"]
    said = {"requestMappings": [MAPPING], "resourceClaimName": meta["name"]}
    assert pod["status"]["extendedResourceClaimStatus"] == said
    assert written(server) == BOUND


AGAIN = ["PUT claim", "DELETE claim", *BOUND]


@pytest.mark.parametrize(
    ("method", "where", "code", "writes"),
    [
        pytest.param("POST", "/binding", 403, [*BOUND, *AGAIN], id="binding refused"),
        pytest.param("POST", "/resourceclaims", 403, ["POST claim", *BOUND], id="creation refused"),
        pytest.param("PUT", "/status", 403, [*BOUND[:3], *AGAIN], id="status refused"),
        pytest.param("PUT", "/status", 409, [*BOUND[:3], "PUT status", "bind"], id="status in conflict"),
    ],
)
def test_a_failure_with_an_extended_resource(
    server: FrontServer, method: str, where: str, code: int, writes: list[str]
) -> None:
    """The claim is deleted when the pod is not bound, and another one is made; a conflict is tried again."""
    fails_once(server, method, lambda path: path.endswith(where), code)
    with running(server, "1.36") as cluster:
        cluster.make(PODS, extended())
        cluster.until(lambda: cluster.is_bound("p"))
        (claim,) = claims(server)
        assert (
            cluster.pod("p")["status"]["extendedResourceClaimStatus"]["resourceClaimName"] == claim["metadata"]["name"]
        )
    assert written(server) == writes


def test_a_shared_claim(server: FrontServer) -> None:
    """The first pod allocates its device, the second is added to those that it is reserved for."""

    def bound(cluster: Cluster, name: str) -> None:
        cluster.make(PODS, sharing(name))
        cluster.until(lambda: cluster.is_bound(name))

    server.storage.create(CLAIMS, "default", a_claim())
    with running(server, "1.36") as cluster:
        bound(cluster, "p")
        bound(cluster, "q")
        (claim,) = claims(server)
    assert [entry["name"] for entry in claim["status"]["reservedFor"]] == ["p", "q"]
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    assert written(server) == ["PUT claim", "PUT status", "bind", "PUT status"]


def test_a_claim_is_taken_back(server: FrontServer) -> None:
    """When binding fails the claim stays allocated and is not reserved any more, until the pod is tried again."""
    seen: list[Document] = []

    async def look(request: web.Request) -> Any:
        if request.method == "PATCH" and request.path.endswith("/c/status"):
            seen.append(await request.json())
        return None

    fails_once(server, "POST", lambda path: path.endswith("/binding"), 403)
    server.faults.append(look)
    made = server.storage.create(CLAIMS, "default", a_claim())
    with running(server, "1.36") as cluster:
        cluster.make(PODS, sharing("p"))
        cluster.until(lambda: cluster.is_bound("p"))
        (claim,) = claims(server)
        uid = cluster.pod("p")["metadata"]["uid"]
    taken = {"reservedFor": [{"$patch": "delete", "uid": uid}]}
    assert seen == [{"metadata": {"uid": made["metadata"]["uid"]}, "status": taken}]
    assert [entry["uid"] for entry in claim["status"]["reservedFor"]] == [uid]
    assert written(server) == ["PUT claim", "PUT status", "bind", "PATCH status", "PUT status", "bind"]


def test_devices_that_are_in_the_way(server: FrontServer) -> None:
    """A claim that nobody uses, with a device of a node that the pod cannot have, loses it, and the pod is bound."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n2", "device": "g"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [here]}}
    claim = a_claim()
    claim["metadata"]["finalizers"] = [FINALIZER]
    server.storage.create(CLAIMS, "default", {**claim, "status": {"allocation": allocation}})
    messages: list[str] = []

    async def look(request: web.Request) -> Any:
        if request.method == "PATCH" and request.path.endswith("/pods/p/status"):
            messages.extend(one["message"] for one in (await request.json())["status"].get("conditions", ()))
        return None

    server.faults.append(look)
    with running(server, "1.36") as cluster:
        cluster.make(PODS, sharing("p"))
        cluster.until(lambda: cluster.is_bound("p"))
        (claim,) = claims(server)
    assert claim["status"]["allocation"]["devices"]["results"][0]["pool"] == "n1"
    assert [entry["name"] for entry in claim["status"]["reservedFor"]] == ["p"]
    assert written(server) == ["PUT status", "PUT status", "bind"]
    assert messages[0].startswith("0/1 nodes are available: 1 resourceclaim not available on the node.")
    assert "deallocation of ResourceClaim completed" in messages[0]


def test_the_expected_node(server: FrontServer) -> None:
    """It is announced before PreBind, taken back with the condition when binding fails, and announced again."""
    seen: list[Document] = []

    async def look(request: web.Request) -> Any:
        if request.method == "PATCH" and request.path.endswith("/pods/p/status"):
            seen.append((await request.json())["status"])
        return None

    fails_once(server, "POST", lambda path: path.endswith("/binding"), 403)
    server.faults.append(look)
    server.storage.create(CLAIMS, "default", a_claim())
    with running(server, "1.36") as cluster:
        cluster.make(PODS, sharing("p"))
        cluster.until(lambda: cluster.is_bound("p"))
    announced, taken_back, again = seen
    assert announced == again == {"nominatedNodeName": "n1"}
    assert [one["reason"] for one in taken_back.pop("conditions")] == ["SchedulerError"]
    assert taken_back == {"nominatedNodeName": None}
