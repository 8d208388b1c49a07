"""Who asks: by certificate, then by token, then as nobody in particular. Upstream: apiserver's authenticators.

Read ``Authenticator``, at the end, first.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import random
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import unquote

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError
from kubescheduler.live.transport.api_client import ApiClient, Query
from kubescheduler.live.transport.io_thread import WallClock

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, ObjectIdentifier


AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
MASTERS = "system:masters"


class UserInfo(msgspec.Struct, frozen=True):
    """A user, as a credential says it. Upstream: user.Info."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """What else the credential says, by key."""

    def authenticated(self) -> UserInfo:
        """The user with the group of all who are known. Upstream: AuthenticatedGroupAdder."""
        if AUTHENTICATED in self.groups or UNAUTHENTICATED in self.groups:
            return self
        return msgspec.structs.replace(self, groups=(*self.groups, AUTHENTICATED))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> UserInfo:
        """The user of a TokenReview's status."""
        extra = {key: tuple(values or ()) for key, values in (document.get("extra") or {}).items()}
        return cls(
            document.get("username") or "", tuple(document.get("groups") or ()), document.get("uid") or "", extra
        )


ANONYMOUS = UserInfo("system:anonymous", (UNAUTHENTICATED,))


class AuthenticationError(Exception):
    """A credential that is not taken; the text goes to the log, never to who asks."""


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
        self._observer = observer or AccessObserver()
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


LONGEST_CHAIN = 8
UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"


class CertificatePool:
    """Authorities that are trusted as they are, roots or not. Immutable; empty is false."""

    def __init__(self, certificates: Iterable[Certificate] = ()) -> None:
        self._authorities = tuple(certificates)

    @classmethod
    def from_pem(cls, pem: bytes, source: str) -> CertificatePool:
        """Reads certificates. source: where they are from, for the error. Raises ConfigError."""
        from cryptography import x509

        try:
            return cls(x509.load_pem_x509_certificates(pem))
        except ValueError as error:
            raise ConfigError(f'error loading content for "{source}": {error}') from None

    def __bool__(self) -> bool:
        return bool(self._authorities)

    @property
    def pem(self) -> bytes:
        """All of them, one behind the other."""
        from cryptography.hazmat.primitives.serialization import Encoding

        return b"".join(one.public_bytes(Encoding.PEM) for one in self._authorities)

    def verify(self, chain: Sequence[Certificate], now: datetime) -> None:
        """Whether the first of a chain is vouched for, over the others if need be. Raises AuthenticationError.

        now: in UTC. What TLS itself has checked by then (that the client has the key) is not checked again.
        """
        leaf, *between = chain
        _check_dates(leaf, now)
        _check_purpose(leaf)
        path = [leaf]
        while not any(one == path[-1] or _issued(one, path[-1], now) for one in self._authorities):
            following = next((one for one in between if one not in path and _issued(one, path[-1], now)), None)
            if following is None or len(path) == LONGEST_CHAIN:
                raise AuthenticationError(UNKNOWN_AUTHORITY)
            path.append(following)


def _issued(authority: Certificate, certificate: Certificate, now: datetime) -> bool:
    """Whether an authority that may do so, and is valid now, signed a certificate."""
    from cryptography.exceptions import InvalidSignature

    if authority.subject != certificate.issuer or not _may_sign(authority):
        return False
    try:
        certificate.verify_directly_issued_by(authority)
        _check_dates(authority, now)
    except (InvalidSignature, ValueError, TypeError, AuthenticationError):
        return False
    return True


def _may_sign(authority: Certificate) -> bool:
    """By its basic constraints; certificates of version 1 have none."""
    from cryptography import x509

    try:
        return authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return authority.version is x509.Version.v1
    except ValueError:
        return False


def _check_dates(certificate: Certificate, now: datetime) -> None:
    if now < certificate.not_valid_before_utc:
        start = certificate.not_valid_before_utc
        raise AuthenticationError(
            "x509: certificate has expired or is not yet valid: current time "
            f"{now:%Y-%m-%dT%H:%M:%SZ} is before {start:%Y-%m-%dT%H:%M:%SZ}"
        )
    if now > certificate.not_valid_after_utc:
        end = certificate.not_valid_after_utc
        raise AuthenticationError(
            "x509: certificate has expired or is not yet valid: current time "
            f"{now:%Y-%m-%dT%H:%M:%SZ} is after {end:%Y-%m-%dT%H:%M:%SZ}"
        )


def _check_purpose(certificate: Certificate) -> None:
    """A certificate that says what it is for must say that it is for clients."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        usages = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return
    except ValueError:
        usages = []
    if not {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(usages):
        raise AuthenticationError("x509: certificate specifies an incompatible key usage")


CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class RequestHeaders(msgspec.Struct, frozen=True, eq=False):
    """Front proxies, and the headers in which they say for whom they ask."""

    authorities: CertificatePool = msgspec.field(default_factory=CertificatePool)
    allowed_names: tuple[str, ...] = ()
    """Common names of front proxies; none: any that the authorities vouch for."""
    username_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()


class ClientTrust(msgspec.Struct, frozen=True, eq=False):
    """By whose word certificates are believed."""

    clients: CertificatePool = msgspec.field(default_factory=CertificatePool)
    """Those who vouch for users."""
    proxies: RequestHeaders = msgspec.field(default_factory=RequestHeaders)


def proxied_user(
    proxies: RequestHeaders, chain: Sequence[Certificate], headers: Iterable[tuple[str, str]], now: datetime
) -> UserInfo | None:
    """The user whom a front proxy asks for; None where none is said, or no proxy is trusted.

    headers: in order, repeated where they are. Raises AuthenticationError for a certificate that is no proxy's.
    Upstream: headerrequest's verifying authenticator.
    """
    if not chain or not proxies.authorities:
        return None
    proxies.authorities.verify(chain, now)
    name = _common_name(chain[0])
    if proxies.allowed_names and name not in proxies.allowed_names:
        raise AuthenticationError(f"x509: subject with cn={name} is not in the allowed list")
    said = [(key.lower(), value) for key, value in headers]
    user = _first(said, proxies.username_headers)
    if not user:
        return None
    groups = tuple(value for header in proxies.group_headers for key, value in said if key == header.lower())
    extra = _extra(said, proxies.extra_prefixes)
    return UserInfo(user, groups, _first(said, proxies.uid_headers), extra)


def certified_user(
    clients: CertificatePool, chain: Sequence[Certificate], now: datetime, *, credential_id: bool
) -> UserInfo | None:
    """The user of a certificate: its common name, in the groups of its organizations; None where there is none.

    credential_id: whether its fingerprint is said (1.36). Raises AuthenticationError for one that nobody vouches for.
    """
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    if not chain or not clients:
        return None
    clients.verify(chain, now)
    name = _common_name(chain[0])
    if not name:
        return None
    extra: Mapping[str, tuple[str, ...]] = {}
    if credential_id:
        extra = {CREDENTIAL_ID: ("X509SHA256=" + chain[0].fingerprint(hashes.SHA256()).hex(),)}
    return UserInfo(name, tuple(_attributes(chain[0], NameOID.ORGANIZATION_NAME)), "", extra)


def _first(said: Sequence[tuple[str, str]], headers: Sequence[str]) -> str:
    """The first value that is not empty, by the order of the headers that count."""
    values = (value for header in headers for key, value in said if key == header.lower() and value)
    return next(values, "")


def _extra(said: Sequence[tuple[str, str]], prefixes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in prefixes:
        for key, value in said:
            if key.startswith(prefix.lower()):
                name = unquote(key[len(prefix) :])
                extra[name] = (*extra.get(name, ()), value)
    return extra


def _common_name(certificate: Certificate) -> str:
    from cryptography.x509.oid import NameOID

    return next(reversed(_attributes(certificate, NameOID.COMMON_NAME)), "")


def _attributes(certificate: Certificate, kind: ObjectIdentifier) -> list[str]:
    """The values of one kind in the subject, in order."""
    return [str(one.value) for one in certificate.subject.get_attributes_for_oid(kind)]


class Authenticator:
    """The first credential that is taken counts; one that is not taken, and no other that is, is nobody."""

    def __init__(
        self,
        trust: Callable[[], ClientTrust],
        tokens: TokenAuthenticator | None,
        clock: WallClock,
        *,
        credential_id: bool,
        observer: AccessObserver | None = None,
    ) -> None:
        """trust: what counts now. tokens: None where nobody can be asked; tokens are passed over then.

        credential_id: see ``certified_user``.
        """
        self._trust = trust
        self._tokens = tokens
        self._clock = clock
        self._credential_id = credential_id
        self._observer = observer or AccessObserver()

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
