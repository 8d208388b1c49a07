"""In what the releases' writes differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import JSON, STRATEGIC_MERGE
from kubescheduler.live.writes.status_patches import two_way_diff, whole_pod, with_generation


class StatusWrite(msgspec.Struct, frozen=True, eq=False):
    """One request that changes a pod's status."""

    method: str
    """PUT or PATCH."""
    content_type: str
    body: Mapping[str, Any]


class WriteRules(msgspec.Struct, frozen=True, eq=False):
    """How one release writes."""

    status: Callable[[Pod, Mapping[str, Any], str], StatusWrite | None]
    """Of (pod, members of its status, now): the request; None: nothing changes."""
    reads_first: Callable[[Mapping[str, Any]], bool]
    """Of the members of a status: whether they are written onto the pod as it is now, not as it was tried."""
    binding_metadata: Mapping[str, Any]
    """What stands in a Binding's metadata besides name, namespace and uid."""
    retry_pauses: tuple[float, ...]
    """Seconds before each further try of a status write that failed."""
    retries: Callable[[ApiError], bool]
    """Whether a failed status write is tried again."""


def put_1_16(pod: Pod, status: Mapping[str, Any], now: str) -> StatusWrite | None:
    """The whole pod with its resourceVersion, so that a pod which has changed since is left as it is (409).

    Nothing where nothing changes; only a preemptor's node is written whatever the pod has.
    """
    if not nominates(status) and not two_way_diff(pod, status, now):
        return None
    return StatusWrite("PUT", JSON, whole_pod(pod, status, now))


def patch_1_20(pod: Pod, status: Mapping[str, Any], now: str) -> StatusWrite | None:
    """What changes, as a strategic merge patch."""
    patch = two_way_diff(pod, status, now)
    return StatusWrite("PATCH", STRATEGIC_MERGE, patch) if patch else None


def patch_1_36(pod: Pod, status: Mapping[str, Any], now: str) -> StatusWrite | None:
    """The same; conditions say of which generation they speak."""
    if status.get("conditions"):
        status = {**status, "conditions": [with_generation(pod, condition) for condition in status["conditions"]]}
    return patch_1_20(pod, status, now)


def never(_: ApiError) -> bool:
    """Nothing is tried again."""
    return False


def nominates(status: Mapping[str, Any]) -> bool:
    """Whether a pod gets a nominated node: 1.16 reads the preemptor again before that. Upstream: GetUpdatedPod."""
    return bool(status.get("nominatedNodeName"))


def never_reads(_: Mapping[str, Any]) -> bool:
    """Patches need nothing but what changes."""
    return False


def passing(error: ApiError) -> bool:
    """Conflicts, and a server that is in trouble or not there."""
    return error.code in (409, 500, 503) or error.refused
