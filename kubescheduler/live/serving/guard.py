"""What stands before every page: who asks, and may they. Upstream: buildHandlerChain, the delegating authorizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kubescheduler.live.klog import LogLine, error_line, structured
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.serving.authentication import (
    MASTERS,
    AuthenticationError,
    Authenticator,
    ExpiringCache,
    ReviewClient,
    UserInfo,
)
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, forbidden_text, internal_error
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.io_thread import WallClock

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


LONGEST_KEY = 10_000
"""Characters of a question beyond which its answer is not remembered."""


class Access(StrEnum):
    """What is said of a right. Upstream: authorizer.Decision."""

    ALLOWED = "allowed"
    DENIED = "denied"
    """Somebody says no."""
    NO_OPINION = "no-opinion"
    """Nobody says yes."""


def always_allowed(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path needs no rights: it is one of the patterns, or begins like one that ends in ``*``."""
    plain = path.lstrip("/")
    for pattern in patterns:
        wanted = pattern.lstrip("/")
        if plain.startswith(wanted[:-1]) if wanted.endswith("*") else plain == wanted:
            return True
    return False


class AccessReviews:
    """SubjectAccessReviews, with the answers of the last seconds."""

    def __init__(
        self, reviews: ReviewClient, allowed_seconds: float, denied_seconds: float, size: int, clock: WallClock
    ) -> None:
        self._reviews = reviews
        self._seconds = {
            Access.ALLOWED: allowed_seconds,
            Access.DENIED: denied_seconds,
            Access.NO_OPINION: denied_seconds,
        }
        self._answers: ExpiringCache[str, Access] = ExpiringCache(size, clock)

    async def access(self, user: UserInfo, verb: str, path: str) -> Access:
        """What the API server says. Raises ApiError when it cannot be asked."""
        spec: dict[str, Any] = {"nonResourceAttributes": {"path": path, "verb": verb}, "user": user.name}
        if user.groups:
            spec["groups"] = list(user.groups)
        if user.extra:
            spec["extra"] = {key: list(values) for key, values in user.extra.items()}
        if user.uid:
            spec["uid"] = user.uid
        key = json.dumps(spec, sort_keys=True)
        access = self._answers.get(key)
        if access is None:
            status = await self._reviews.ask(spec, {"allowed": False})
            access = _access_of(status)
            if len(key) < LONGEST_KEY:
                self._answers.put(key, access, self._seconds[access])
        return access


def _access_of(status: Mapping[str, Any]) -> Access:
    """Of a review's status; whoever says no goes before whoever says yes."""
    if status.get("denied") is True:
        return Access.DENIED
    return Access.ALLOWED if status.get("allowed") is True else Access.NO_OPINION


class Authorizer:
    """Masters may do everything, everybody may ask for some paths, and the API server says the rest."""

    def __init__(self, allowed_paths: Sequence[str], reviews: AccessReviews | None) -> None:
        """reviews: None where nobody can be asked; everything else is forbidden then."""
        self._allowed_paths = tuple(allowed_paths)
        self._reviews = reviews

    async def access(self, user: UserInfo, verb: str, path: str) -> Access:
        """verb: the lower-case method. Raises ApiError when the API server cannot be asked."""
        if MASTERS in user.groups or always_allowed(path, self._allowed_paths):
            return Access.ALLOWED
        return Access.NO_OPINION if self._reviews is None else await self._reviews.access(user, verb, path)


Refused = Callable[[int, str, str, HttpRequest], HttpAnswer]
"""Of (code, message, reason, request): the answer, see ``refused_1_36``."""


class Guard:
    """Says who may pass: everybody, as at the insecure port."""

    async def refusal(
        self,
        request: HttpRequest,  # noqa: ARG002
        chain: Sequence[Certificate],  # noqa: ARG002
        headers: Iterable[tuple[str, str]],  # noqa: ARG002
    ) -> HttpAnswer | None:
        """The answer to one who may not; None for one who may. chain: the client's certificates, if it has any."""
        return None


class DelegatingGuard(Guard):
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
        self._observer = observer or AccessObserver()

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
