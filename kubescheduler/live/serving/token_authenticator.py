"""Bearer tokens, which the API server knows. Upstream: the token webhook behind its cache."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets

from kubescheduler.live.contract.access_observer import AccessObserver, NoAccessObserver
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.serving.expiring_cache import ExpiringCache
from kubescheduler.live.serving.review_client import ReviewClient
from kubescheduler.live.serving.user_info import AuthenticationError, UserInfo
from kubescheduler.live.transport.api_answers import ApiError

SIZE = 4096
"""Tokens that are remembered."""
INVALID = "invalid bearer token"


def bearer_token(header: str) -> str:
    """The token of a header Authorization, empty when it has none."""
    parts = header.strip(" ").split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


class TokenAuthenticator:
    """Asks for each token once, and remembers the answer for a while; tokens themselves are not kept.

    Upstream asks anew each time for a token that it was refused.
    """

    def __init__(
        self, reviews: ReviewClient, seconds: float, clock: WallClock, observer: AccessObserver | None = None
    ) -> None:
        """seconds: for which answers are remembered."""
        self._reviews = reviews
        self._clock = clock
        self._observer = NoAccessObserver() if observer is None else observer
        self._seconds = seconds
        self._answers: ExpiringCache[bytes, UserInfo | AuthenticationError] = ExpiringCache(SIZE, clock)
        self._asked: dict[bytes, asyncio.Task[UserInfo | AuthenticationError]] = {}
        self._secret = secrets.token_bytes(32)

    async def authenticate(self, token: str) -> UserInfo:
        """Who a token is. Raises AuthenticationError for one that is nobody, or that nobody could be asked about."""
        key = hmac.digest(self._secret, token.encode(errors="surrogateescape"), hashlib.sha256)
        started, found = self._clock.monotonic(), self._answers.get(key)
        status = "hit"
        if found is None:
            status, found = "miss", await self._shared(key, token)
        self._observer.token_asked(status, self._clock.monotonic() - started)
        if isinstance(found, AuthenticationError):
            raise AuthenticationError(str(found))
        return found

    async def _shared(self, key: bytes, token: str) -> UserInfo | AuthenticationError:
        """Requests with one token at the same time wait for one review."""
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.ensure_future(self._ask(key, token))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        self._observer.tokens_waiting("blocked", 1)
        try:
            return await asyncio.shield(task)
        finally:
            self._observer.tokens_waiting("blocked", -1)

    async def _ask(self, key: bytes, token: str) -> UserInfo | AuthenticationError:
        self._observer.tokens_waiting("in_flight", 1)
        found = await self._reviewed(key, token)
        self._observer.token_fetched("error" if isinstance(found, AuthenticationError) else "ok")
        self._observer.tokens_waiting("in_flight", -1)
        return found

    async def _reviewed(self, key: bytes, token: str) -> UserInfo | AuthenticationError:
        try:
            status = await self._reviews.ask({"token": token}, {"user": {}})
        except ApiError as error:
            return AuthenticationError(str(error))
        found: UserInfo | AuthenticationError
        if status.get("authenticated") is True:
            found = UserInfo.from_document(status.get("user") or {})
        else:
            found = AuthenticationError(status.get("error") or INVALID)
        self._answers.put(key, found, self._seconds)
        return found
