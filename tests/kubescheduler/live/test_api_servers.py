"""What the API server of these tests does as a real one does, where a scheduler depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.live.live_cluster import a_pod

Ask = Callable[..., Any]
"""(method, path, body) → the answer's document; raises ApiError."""
PODS, ENDPOINTS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/endpoints"


@pytest.fixture
def ask(io: IoThread, api: ApiClient) -> Ask:
    """Asks an empty server."""

    def asked(method: str, path: str, body: Any = None) -> Any:
        return io.wait(api.request(method, path, (), body)).document()

    return asked


def with_condition(pod: dict[str, Any], message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {**pod, "status": {**pod["status"], "conditions": [condition]}}


def test_an_object_without_its_namespace_gets_it(ask: Ask) -> None:
    """From the path, when it is made and when it is replaced."""
    ask("POST", ENDPOINTS, {"kind": "Endpoints", "apiVersion": "v1", "metadata": {"name": "e"}})
    said = {"name": "e", "annotations": {"a": "b"}}
    ask("PUT", f"{ENDPOINTS}/e", {"kind": "Endpoints", "apiVersion": "v1", "metadata": said})
    metadata = ask("GET", f"{ENDPOINTS}/e")["metadata"]
    assert (metadata["namespace"], metadata["annotations"]["a"]) == ("default", "b")


def test_a_status_write_changes_managed_fields(ask: Ask) -> None:
    """And so metadata, which old releases compare; the same write again changes nothing more."""
    pod = ask("POST", PODS, a_pod("managed"))
    written = ask("PUT", f"{PODS}/managed/status", with_condition(pod, "no"))
    assert written["metadata"].get("managedFields", []) != pod["metadata"].get("managedFields", [])
    again = ask("PUT", f"{PODS}/managed/status", with_condition(written, "no"))
    assert again["metadata"]["managedFields"] == written["metadata"]["managedFields"]


def test_a_status_of_an_older_version_is_refused(ask: Ask) -> None:
    """As a conflict; and what a status write says of anything else is passed over."""
    pod = ask("POST", PODS, a_pod("stale"))
    other = {**pod, "spec": {**pod["spec"], "nodeName": "n1"}}
    written = ask("PUT", f"{PODS}/stale/status", with_condition(other, "first"))
    assert "nodeName" not in written["spec"]
    with pytest.raises(ApiError) as refused:
        ask("PUT", f"{PODS}/stale/status", with_condition(pod, "second"))
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
