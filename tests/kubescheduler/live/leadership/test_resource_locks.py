"""Locks on a server: Leases, Endpoints, ConfigMaps, and two objects held together."""

from __future__ import annotations

import json

import pytest

from kubescheduler.live.leadership.resource_locks import (
    KINDS_1_20,
    LEADER_ANNOTATION,
    LeaderRecord,
    ResourceLock,
    resource_lock,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import FrontServer

LEASES, ENDPOINTS, CONFIG_MAPS = "/apis/coordination.k8s.io/v1/leases", "/api/v1/endpoints", "/api/v1/configmaps"
PATHS = {
    "leases": (LEASES,),
    "endpoints": (ENDPOINTS,),
    "configmaps": (CONFIG_MAPS,),
    "endpointsleases": (ENDPOINTS, LEASES),
    "configmapsleases": (CONFIG_MAPS, LEASES),
}
EVERY = pytest.mark.parametrize("name", list(PATHS))
TIME, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z"
MICRO_TIME = "2026-01-01T00:00:00.000000Z"


def lock_of(api: ApiClient, name: str) -> ResourceLock:
    return resource_lock(api, KINDS_1_20[name], "kube-system", "kube-scheduler", {}, "10s")


def holder(api_server: FrontServer, path: str) -> str:
    document = api_server.storage.get(path, "kube-system", "kube-scheduler")
    if path == LEASES:
        return str(document["spec"]["holderIdentity"])
    return str(json.loads(document["metadata"]["annotations"][LEADER_ANNOTATION])["holderIdentity"])


@EVERY
def test_a_record_is_made_read_and_written(io: IoThread, api_server: FrontServer, api: ApiClient, name: str) -> None:
    """What is written is what another candidate reads, in every object of the lock."""
    lock, other = lock_of(api, name), lock_of(api, name)
    read = MICRO_TIME if name == "leases" else TIME
    io.wait(lock.create(LeaderRecord("me", 15, TIME, TIME, 0)))
    assert io.wait(other.get()).holder == "me"
    io.wait(other.update(LeaderRecord("other", 15, TIME, TIME, 1)))
    assert io.wait(lock.get()) == LeaderRecord("other", 15, read, read, 1)
    assert [holder(api_server, path) for path in PATHS[name]] == ["other"] * len(PATHS[name])


@EVERY
def test_a_write_that_comes_too_late(io: IoThread, api: ApiClient, name: str, api_server: FrontServer) -> None:
    """409 for who did not see the last version."""
    lock, other = lock_of(api, name), lock_of(api, name)
    io.wait(lock.create(LeaderRecord("me", 15, TIME, TIME, 0)))
    io.wait(other.get())
    io.wait(lock.update(LeaderRecord("me", 15, TIME, LATER, 0)))
    with pytest.raises(ApiError) as caught:
        io.wait(other.update(LeaderRecord("other", 15, TIME, TIME, 1)))
    assert caught.value.code == 409


@EVERY
def test_a_lock_that_is_not_there(io: IoThread, api: ApiClient, name: str, api_server: FrontServer) -> None:
    """404, so that it is made."""
    with pytest.raises(ApiError) as caught:
        io.wait(lock_of(api, name).get())
    assert caught.value.code == 404


def test_a_twofold_lock_moves_by_its_second_object(io: IoThread, api_server: FrontServer, api: ApiClient) -> None:
    """A leader of before has the first object alone: the second is made with the next write."""
    io.wait(lock_of(api, "endpoints").create(LeaderRecord("old", 15, TIME, TIME, 0)))
    lock = lock_of(api, "endpointsleases")
    assert io.wait(lock.get()).holder == "old"
    io.wait(lock.update(LeaderRecord("new", 15, TIME, TIME, 1)))
    assert [holder(api_server, path) for path in (ENDPOINTS, LEASES)] == ["new", "new"]


def test_a_twofold_lock_that_disagrees(io: IoThread, api_server: FrontServer, api: ApiClient) -> None:
    """Two holders are one that nobody knows, so that both wait."""
    io.wait(lock_of(api, "endpoints").create(LeaderRecord("one", 15, TIME, TIME, 0)))
    io.wait(lock_of(api, "leases").create(LeaderRecord("two", 15, TIME, TIME, 0)))
    assert io.wait(lock_of(api, "endpointsleases").get()).holder not in ("", "one", "two")


@pytest.mark.parametrize("text", ["no JSON", "[]"], ids=["no JSON", "a list"])
def test_an_annotation_that_is_no_record(io: IoThread, api_server: FrontServer, api: ApiClient, text: str) -> None:
    """An error of the try, which ends nothing."""
    document = {"metadata": {"name": "kube-scheduler", "annotations": {LEADER_ANNOTATION: text}}}
    api_server.storage.create(ENDPOINTS, "kube-system", document)
    with pytest.raises(ApiError, match="the leader's record is not readable"):
        io.wait(lock_of(api, "endpoints").get())
