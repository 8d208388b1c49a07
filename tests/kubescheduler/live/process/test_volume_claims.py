"""Claims that wait for their first consumer: the scheduler chooses their node or volume, and binds the pod when they
are bound."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from kubescheduler.releases.lookup import live_releases
from tests.support.apiserver import FrontServer
from tests.support.apiserver.storage import Document
from tests.support.live.claims import (
    SELECTED,
    VOLUME_CLAIMS,
    VOLUMES,
    a_volume,
    bind_volume,
    consumer,
    prepare_volumes,
    unprotected,
)
from tests.support.live.live_cluster import PODS, running

RELEASES = pytest.mark.parametrize("release", list(live_releases()))


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
