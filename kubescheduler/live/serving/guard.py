"""What stands before every page: who asks, and may they.

Read ``DelegatingGuard``, at the end, first; it asks ``Authenticator`` (by certificate, then by token, then as nobody in
particular) and ``Authorizer``. Upstream: buildHandlerChain, apiserver's authenticators, the delegating authorizer.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import msgspec

from kubescheduler.live.klog import LogLine, error_line, structured
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.serving.client_trust import (
    ANONYMOUS,
    AuthenticationError,
    ClientTrust,
    UserInfo,
    certified_user,
    proxied_user,
)
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, forbidden_text, internal_error
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError
from kubescheduler.live.transport.api_client import ApiClient, Query
from kubescheduler.live.transport.io_thread import WallClock

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


MASTERS = "system:masters"
K = TypeVar("K")
V = TypeVar("V")


class ExpiringCache(Generic[K, V]):
    """At most so many entries, the least used go first; each lasts as long as it was given. For one thread.

    Upstream: apimachinery's LRUExpireCache.
    """

    def __init__(self, size: int, clock: WallClock) -> None:
        self._size = size
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """What is remembered; None when there is nothing, or it is too old."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock.monotonic():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry[1]

    def put(self, key: K, value: V, seconds: float) -> None:
        """Remembers a value for some seconds; for none, it forgets what it had."""
        self._entries.pop(key, None)
        if seconds <= 0:
            return
        self._entries[key] = (self._clock.monotonic() + seconds, value)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)


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


@attrs.define(eq=False)
class ReviewClient:
    """Asks for one kind of review. For the I/O thread."""

    _client: ApiClient
    _api: ReviewApi
    _clock: WallClock
    _rng: random.Random
    _observer: AccessObserver = attrs.field(factory=AccessObserver)
    _version: int = attrs.field(default=0, init=False)

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
            answered = document.get("status") if isinstance(document, dict) else None
            return answered if isinstance(answered, dict) else {}

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
        self._observer = observer or AccessObserver()
        self._seconds = seconds
        self._answers: ExpiringCache[bytes, UserInfo | AuthenticationError] = ExpiringCache(SIZE, clock)
        self._asked: dict[bytes, asyncio.Task[UserInfo | AuthenticationError]] = {}
        self._secret = secrets.token_bytes(32)

    async def authenticate(self, token: str) -> UserInfo:
        """Who a token is. Raises AuthenticationError for one that is nobody, or that nobody could be asked about."""
        key = hmac.digest(self._secret, token.encode(errors="surrogateescape"), hashlib.sha256)
        started, answer = self._clock.monotonic(), self._answers.get(key)
        status = "hit"
        if answer is None:
            status, answer = "miss", await self._shared(key, token)
        self._observer.token_asked(status, self._clock.monotonic() - started)
        if isinstance(answer, AuthenticationError):
            raise AuthenticationError(str(answer))
        return answer

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
        answer = await self._reviewed(key, token)
        self._observer.token_fetched("error" if isinstance(answer, AuthenticationError) else "ok")
        self._observer.tokens_waiting("in_flight", -1)
        return answer

    async def _reviewed(self, key: bytes, token: str) -> UserInfo | AuthenticationError:
        try:
            status = await self._reviews.ask({"token": token}, {"user": {}})
        except ApiError as error:
            return AuthenticationError(str(error))
        answer: UserInfo | AuthenticationError
        if status.get("authenticated") is True:
            answer = UserInfo.from_document(status.get("user") or {})
        else:
            answer = AuthenticationError(status.get("error") or INVALID)
        self._answers.put(key, answer, self._seconds)
        return answer


@attrs.define(eq=False)
class Authenticator:
    """The first credential that is taken counts; one that is not taken, and no other that is, is nobody."""

    _trust: Callable[[], ClientTrust]
    """What counts now."""
    _tokens: TokenAuthenticator | None
    """None where nobody can be asked; tokens are passed over then."""
    _clock: WallClock
    _credential_id: bool = attrs.field(kw_only=True)
    """See ``certified_user``."""
    _observer: AccessObserver = attrs.field(factory=AccessObserver)

    async def authenticate(self, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]]) -> UserInfo:
        """chain: the client's certificate and those that it sent with it; none: empty. Raises AuthenticationError."""
        said = list(headers)
        faults = []
        for by in (self._proxied, self._certified, self._by_token):
            try:
                user = await by(chain, said)
            except AuthenticationError as error:
                faults.append(str(error))
                continue
            if user is not None:
                return user.authenticated()
        if faults:
            raise AuthenticationError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
        return ANONYMOUS

    async def _proxied(self, chain: Sequence[Certificate], headers: list[tuple[str, str]]) -> UserInfo | None:
        return proxied_user(self._trust().proxies, chain, headers, self._clock.now())

    async def _certified(self, chain: Sequence[Certificate], _: list[tuple[str, str]]) -> UserInfo | None:
        now, clients = self._clock.now(), self._trust().clients
        if chain and clients:
            self._observer.certificate_shown((chain[0].not_valid_after_utc - now).total_seconds())
        return certified_user(clients, chain, now, credential_id=self._credential_id)

    async def _by_token(self, _: Sequence[Certificate], headers: list[tuple[str, str]]) -> UserInfo | None:
        header = next((value for key, value in headers if key.lower() == "authorization"), "")
        token = bearer_token(header)
        if not token or self._tokens is None:
            return None
        user = await self._tokens.authenticate(token)
        if not user.name:
            raise AuthenticationError(INVALID)
        return user


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


@attrs.define(eq=False)
class Authorizer:
    """Masters may do everything, everybody may ask for some paths, and the API server says the rest, by
    SubjectAccessReviews."""

    _allowed_paths: Sequence[str]
    _reviews: ReviewClient | None
    """None where nobody can be asked; everything else is forbidden then."""
    _allowed_seconds: float = 0.0
    """For which an answer that allows counts."""
    _denied_seconds: float = 0.0
    """The same of other answers."""
    _answers: ExpiringCache[str, Access] = attrs.field(factory=lambda: ExpiringCache(0, WallClock()))

    async def access(self, user: UserInfo, verb: str, path: str) -> Access:
        """verb: the lower-case method. Raises ApiError when the API server cannot be asked."""
        if MASTERS in user.groups or always_allowed(path, self._allowed_paths):
            return Access.ALLOWED
        if self._reviews is None:
            return Access.NO_OPINION
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
            access = Access.ALLOWED if status.get("allowed") is True else Access.NO_OPINION
            if status.get("denied") is True:  # whoever says no goes before whoever says yes
                access = Access.DENIED
            if len(key) < LONGEST_KEY:
                seconds = self._allowed_seconds if access is Access.ALLOWED else self._denied_seconds
                self._answers.put(key, access, seconds)
        return access


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


@attrs.define(eq=False)
class DelegatingGuard(Guard):
    """The API server says who somebody is, and what they may: the secure port."""

    _authenticator: Authenticator
    _authorizer: Authorizer
    _refused: Refused
    _log: Callable[[LogLine], None]
    _clock: WallClock
    _observer: AccessObserver = attrs.field(factory=AccessObserver)

    async def refusal(
        self, request: HttpRequest, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]]
    ) -> HttpAnswer | None:
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
