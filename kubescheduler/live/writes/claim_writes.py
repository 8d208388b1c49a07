"""The writes of ResourceClaims to a real API server (1.36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.manifests.decode import decode_object
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects.resource import ResourceClaim
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import JSON, STRATEGIC_MERGE, ApiClient

Document = dict[str, Any]
Change = Callable[[ResourceClaim], ResourceClaim]
"""From a claim as it is to the claim as it shall be; may raise SchedulingError."""

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps an allocated claim from going away. Upstream: resourceapi.Finalizer."""
TRIES = 5
"""Of a write that meets a conflict. Upstream: client-go retry.DefaultRetry."""
PAUSE = 0.01
"""Seconds between two of them."""
CONFLICT = 409


class ClaimWrites:
    """For one event loop. Claims are read before they are written; a conflict has them read and written again."""

    def __init__(self, api: ApiClient, clock: WallClock) -> None:
        self._api = api
        self._clock = clock

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        """Makes a claim whose name begins with that of ``claim``, and returns it as the server has it.

        Raises ApiError. Upstream: 1.36 createExtendedResourceClaimInAPI.
        """
        body = encode_object(claim)
        body["metadata"]["generateName"] = f"{body['metadata'].pop('name')}-"
        body["metadata"].pop("uid", None)
        body["status"] = {}
        return _decoded(await self._send("POST", _path(claim).rpartition("/")[0], body))

    async def update(self, claim: ResourceClaim, change: Change) -> ResourceClaim:
        """Writes the status that ``change`` makes of the claim, after the finalizer if devices are allocated.

        Raises SchedulingError, with upstream's text. Upstream: 1.36 bindClaim.
        """
        after: ResourceClaim = await self._retried(lambda: self._update(claim, change))
        return after

    async def _update(self, claim: ResourceClaim, change: Change) -> ResourceClaim:
        current = await self._read(claim)
        before = _decoded(current)
        after = change(before)
        allocates = before.allocation is None and after.allocation is not None
        step = f"add finalizer to claim {claim.key}"
        try:
            if allocates and FINALIZER not in current["metadata"].get("finalizers", ()):
                finalizers = [*current["metadata"].get("finalizers", ()), FINALIZER]
                protected = {**current, "metadata": {**current["metadata"], "finalizers": finalizers}}
                current = await self._send("PUT", _path(claim), protected)
            step = f"add {'allocation and ' if allocates else ''}reservation to claim {claim.key}"
            whole = {**current, "status": _status(current.get("status") or {}, before, after)}
            return _decoded(await self._send("PUT", f"{_path(claim)}/status", whole))
        except ApiError as error:
            if error.code == CONFLICT or after.allocation is None:
                raise
            raise SchedulingError(f"{step}: {error}") from None

    async def take_back(self, claim: ResourceClaim, pod_uid: str) -> ResourceClaim:
        """The claim is no longer reserved for a pod, whoever else it is reserved for by now. Returns it as the server
        has it. Raises ApiError."""
        entry = {"$patch": "delete", "uid": pod_uid}
        patch = {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": [entry]}}
        return _decoded(await self._send("PATCH", f"{_path(claim)}/status", patch, STRATEGIC_MERGE))

    async def delete(self, claim: ResourceClaim) -> None:
        """Deletes a claim, without its finalizer. Raises ApiError. Upstream: 1.36 deleteClaim."""

        async def unprotect() -> None:
            current = await self._read(claim)
            meta = current["metadata"]
            meta["finalizers"] = [name for name in meta.get("finalizers", ()) if name != FINALIZER]
            await self._send("PUT", _path(claim), current)

        await self._retried(unprotect)
        await self._send("DELETE", _path(claim), {"kind": "DeleteOptions", "apiVersion": "resource.k8s.io/v1"})

    # --- inside ------------------------------------------------------------------------------

    async def _retried(self, write: Callable[[], Any]) -> Any:
        for _ in range(TRIES - 1):
            try:
                return await write()
            except ApiError as error:
                if error.code != CONFLICT:
                    raise
            await self._clock.sleep(PAUSE)
        return await write()

    async def _read(self, claim: ResourceClaim) -> Document:
        """Raises ApiError 404 also for another claim of this name."""
        found: Document = (await self._api.request("GET", _path(claim))).document()
        if found["metadata"].get("uid") != claim.metadata.uid:
            text = f'resourceclaims.resource.k8s.io "{claim.metadata.name}" not found'
            raise ApiError(text, 404, "NotFound")
        return found

    async def _send(self, method: str, path: str, body: Document, content_type: str = JSON) -> Document:
        answer = await self._api.request(method, path, (), msgspec.json.encode(body), content_type)
        found: Document = answer.document()
        return found


def _path(claim: ResourceClaim) -> str:
    meta = claim.metadata
    return f"/apis/resource.k8s.io/v1/namespaces/{meta.namespace}/resourceclaims/{meta.name}"


def _decoded(document: Document) -> ResourceClaim:
    whole = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **document}
    claim = decode_object(whole)
    assert isinstance(claim, ResourceClaim)
    return claim


def _status(current: Document, before: ResourceClaim, after: ResourceClaim) -> Document:
    """The status of ``after``, with what the server has of it besides; members that are empty are left out."""
    wanted = encode_object(after).get("status") or {}
    status = {**current, "reservedFor": wanted.get("reservedFor")}
    if after.allocation is None:
        status |= {"allocation": None, "devices": None}
    elif before.allocation is None:
        status["allocation"] = wanted["allocation"]
    elif after.allocation.timestamp is not None:
        status["allocation"] = {**current["allocation"], "allocationTimestamp": after.allocation.timestamp}
    return {key: value for key, value in status.items() if value is not None}
