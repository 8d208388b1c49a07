"""What stands before every page: who asks, and may they. Upstream: buildHandlerChain of cmd/kube-scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from kubescheduler.live.contract.access_observer import AccessObserver, NoAccessObserver
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.logs.log_lines import LogLine, error_line, structured
from kubescheduler.live.serving.authenticator import Authenticator
from kubescheduler.live.serving.authorizer import Access, Authorizer
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, forbidden_text, internal_error
from kubescheduler.live.serving.user_info import AuthenticationError, UserInfo
from kubescheduler.live.transport.api_answers import ApiError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

Refused = Callable[[int, str, str, HttpRequest], HttpAnswer]
"""Of (code, message, reason, request): the answer, see ``refused_1_36``."""


class Guard(Protocol):
    """Says who may pass."""

    async def refusal(
        self, request: HttpRequest, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]]
    ) -> HttpAnswer | None:
        """The answer to one who may not; None for one who may. chain: the client's certificates, if it has any."""
        ...


class OpenGuard:
    """Everybody may: the insecure port."""

    async def refusal(
        self,
        request: HttpRequest,  # noqa: ARG002
        chain: Sequence[Certificate],  # noqa: ARG002
        headers: Iterable[tuple[str, str]],  # noqa: ARG002
    ) -> HttpAnswer | None:
        """Nobody is refused."""
        return None


class DelegatingGuard:
    """The API server says who somebody is, and what they may: the secure port."""

    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: Authorizer,
        refused: Refused,
        log: Callable[[LogLine], None],
        clock: WallClock,
        *,
        observer: AccessObserver | None = None,
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._refused = refused
        self._log = log
        self._clock = clock
        self._observer = NoAccessObserver() if observer is None else observer

    async def refusal(
        self, request: HttpRequest, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]]
    ) -> HttpAnswer | None:
        """401 for a credential that is not taken, 403 for a user without rights, 500 when nobody can say."""
        try:
            user = await self._authenticated(chain, headers)
        except AuthenticationError as error:
            self._log(error_line(structured("Unable to authenticate the request", err=str(error))))
            return self._refused(401, "Unauthorized", "Unauthorized", request)
        verb = request.method.lower()
        try:
            if await self._authorized(user, verb, request.path):
                return None
        except ApiError as error:
            return internal_error(request.target, str(error))
        return self._refused(403, forbidden_text(user.name, verb, request.path), "Forbidden", request)

    async def _authenticated(self, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]]) -> UserInfo:
        """Raises AuthenticationError."""
        started, result, name = self._clock.monotonic(), "error", ""
        try:
            user = await self._authenticator.authenticate(chain, headers)
            result, name = "success", user.name
            return user
        finally:
            self._observer.authenticated(result, name, self._clock.monotonic() - started)

    async def _authorized(self, user: UserInfo, verb: str, path: str) -> bool:
        """Raises ApiError when the API server cannot be asked."""
        started, result = self._clock.monotonic(), "error"
        try:
            access = await self._authorizer.access(user, verb, path)
            result = str(access)
            return access is Access.ALLOWED
        finally:
            self._observer.authorized(result, self._clock.monotonic() - started)
