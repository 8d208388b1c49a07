"""Reviews: questions to the API server about tokens and rights, asked again while it is in trouble."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import msgspec

from kubescheduler.live.contract.access_observer import AccessObserver, NoAccessObserver
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError
from kubescheduler.live.transport.api_client import ApiClient, Query

TRIES = 5
FIRST_PAUSE, FACTOR, JITTER = 0.5, 1.5, 0.2
"""Seconds before the second try, their growth, and what chance adds at most. Upstream: webhook's backoff."""
TIMEOUT = 10.0
"""Seconds for one try."""
TRANSIENT = frozenset({"InternalError", "Timeout", "ServerTimeout", "TooManyRequests"})


class ReviewApi(msgspec.Struct, frozen=True, eq=False):
    """Where a kind of review is asked for."""

    kind: str
    group: str
    plural: str
    versions: tuple[str, ...]
    """The release's own, then today's where that is gone."""
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the release writes there."""
    query: Query = ()
    names: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Version → the members of the spec that it calls otherwise than the last version does."""


class ReviewClient:
    """Asks for one kind of review. For the I/O thread."""

    def __init__(
        self,
        client: ApiClient,
        api: ReviewApi,
        clock: WallClock,
        rng: random.Random,
        observer: AccessObserver | None = None,
    ) -> None:
        self._client = client
        self._api = api
        self._clock = clock
        self._rng = rng
        self._observer = NoAccessObserver() if observer is None else observer
        self._version = 0

    async def ask(self, spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Any]:
        """The status of a review. status: what the empty one says. Raises ApiError once all tries failed."""
        pause = FIRST_PAUSE
        for left in reversed(range(TRIES)):
            try:
                return await self._once(spec, status)
            except ApiError as error:
                if not left or not is_transient(error):
                    raise
            await self._clock.sleep(pause * (1 + self._rng.random() * JITTER))
            pause *= FACTOR
        raise AssertionError("unreachable")

    async def _once(self, spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Any]:
        api = self._api
        while True:
            version = api.versions[self._version]
            name, names = f"{api.group}/{version}", api.names.get(version, {})
            body = {
                "kind": api.kind,
                "apiVersion": name,
                "metadata": dict(api.metadata),
                "spec": {names.get(key, key): value for key, value in spec.items()},
                "status": status,
            }
            try:
                answer = await self._sent(f"/apis/{name}/{api.plural}", body)
            except ApiError as error:
                if error.code != 404 or self._version + 1 == len(api.versions):
                    raise
                self._version += 1
                continue
            document = answer.document()
            found = document.get("status") if isinstance(document, dict) else None
            return found if isinstance(found, dict) else {}

    async def _sent(self, path: str, body: Mapping[str, Any]) -> ApiAnswer:
        """One request. Raises ApiError."""
        started, code = self._clock.monotonic(), "<error>"
        try:
            answer = await self._client.request("POST", path, self._api.query, body, timeout=TIMEOUT)
            code = str(answer.code)
            return answer
        except ApiError as error:
            code = str(error.code) if error.code else code
            raise
        finally:
            self._observer.reviewed(self._api.kind, code, self._clock.monotonic() - started)


def is_transient(error: ApiError) -> bool:
    """Whether the same question may be answered soon. Upstream: webhook.DefaultShouldRetry."""
    return error.reason in TRANSIENT or error.code == 429 or "connection reset" in error.message
