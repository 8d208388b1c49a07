"""Whom certificates name, and by whose word they are believed: by flags, else by the API server's ConfigMap.

Read ``TrustKeeper``, at the end, first. Upstream: apiserver's x509 and headerrequest authenticators,
dynamiccertificates' ConfigMapCAController.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs
import msgspec

from clusterstate.errors import ConfigError
from clusterstate.manifests.decode import Decoder
from kubescheduler.live.informer_rules import InformerKind, InformerRules
from kubescheduler.live.informers import Reflector, ServerOutage
from kubescheduler.live.klog import LogLine, error_line, warning_line
from kubescheduler.live.stored_objects import (
    Key,
    Known,
    ObjectChange,
    RawObjects,
    Stored,
    StoredObjects,
    nothing_known,
    parse_name,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import WallClock

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, ObjectIdentifier

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"


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
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not start <= now <= end:
        when, limit = ("before", start) if now < start else ("after", end)
        raise AuthenticationError(
            "x509: certificate has expired or is not yet valid: current time "
            f"{now:%Y-%m-%dT%H:%M:%SZ} is {when} {limit:%Y-%m-%dT%H:%M:%SZ}"
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


NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
TIMEOUT = 10.0
"""Seconds for reading it."""
CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
NO_CLIENT = (
    "No authentication-kubeconfig provided in order to lookup {key} in configmap/" + NAME + " in " + NAMESPACE + ", "
    "so {what} authentication won't work."
)
"""What is logged when nobody says where to look."""
TOLERATED = (
    "Error looking up in-cluster authentication configuration: {error}",
    "Continuing without authentication configuration. This may treat all requests as anonymous.",
    "To require authentication configuration lookup to succeed, set --authentication-tolerate-lookup-failure=false",
)
"""What is logged when looking failed, and need not succeed."""
NO_RIGHTS = (
    f"Unable to get configmap/{NAME} in {NAMESPACE}.  Usually fixed by 'kubectl create rolebinding -n {NAMESPACE} "
    "ROLEBINDING_NAME --role=extension-apiserver-authentication-reader --serviceaccount=YOUR_NS:YOUR_SA'"
)
"""What is logged when looking is forbidden."""

Data = Mapping[str, str]
"""Of the ConfigMap."""


def trust_of(data: Data) -> ClientTrust:
    """What a ConfigMap says. Raises ConfigError for what cannot be read."""
    clients = _pool(data, CLIENT_CA)
    authorities = _pool(data, PROXY_CA)
    if not authorities:
        return ClientTrust(clients)
    proxies = RequestHeaders(
        authorities,
        _texts(data, "requestheader-allowed-names"),
        _texts(data, "requestheader-username-headers"),
        _texts(data, "requestheader-group-headers"),
        _texts(data, "requestheader-extra-headers-prefix"),
        _texts(data, "requestheader-uid-headers"),
    )
    return ClientTrust(clients, proxies)


def _pool(data: Data, key: str) -> CertificatePool:
    text = data.get(key, "").strip()
    return CertificatePool.from_pem(text.encode(), f"{NAMESPACE}::{NAME}::{key}") if text else CertificatePool()


def _texts(data: Data, key: str) -> tuple[str, ...]:
    """A list of texts as JSON; empty when it is not there."""
    try:
        return tuple(msgspec.json.decode(data.get(key) or "[]", type=list[str]))
    except msgspec.DecodeError as error:
        raise ConfigError(f"configmap {NAMESPACE}/{NAME}: {key}: {error}") from None


async def read_once(client: ApiClient) -> Data:
    """The ConfigMap's data. Raises ApiError."""
    answer = await client.request("GET", f"{COLLECTION}/{NAME}", timeout=TIMEOUT)
    return data_of(answer.document())


def data_of(document: Any) -> Data:
    """The data of a ConfigMap."""
    data = document.get("data") if isinstance(document, dict) else None
    return {key: str(value) for key, value in (data or {}).items()}


KIND = InformerKind("ConfigMap", (COLLECTION,), f"metadata.name={NAME}")


async def watch_trust(
    client: ApiClient,
    changed: Callable[[Data], None],
    rules: InformerRules,
    outage: ServerOutage,
    clock: WallClock,
    rng: random.Random,
) -> None:
    """Reads the ConfigMap as the release's informers read, and reports each version of its data, until cancelled.

    When the ConfigMap goes, what it said last goes on to count.
    """

    def deliver(changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.new is not None:
                changed(change.new)

    objects = ConfigMapData("ConfigMap", Decoder(), outage.trouble)
    store = StoredObjects("ConfigMap")
    await Reflector(client, KIND, objects, store, rules, clock, rng, deliver, outage).run()


class ConfigMapData(RawObjects):
    """Reads a ConfigMap as its data."""

    def read(self, raw: msgspec.Raw, known: Known = nothing_known) -> tuple[Key, Stored] | None:  # noqa: ARG002
        named = parse_name(raw)
        data: Any = data_of(msgspec.json.decode(raw))
        return named.key, Stored(named.metadata.resource_version, data, named.metadata.uid)


@attrs.frozen
class TrustSettings:
    """What flags say of client certificates."""

    client_ca_file: str = ""
    proxy_ca_file: str = ""
    """``--requestheader-client-ca-file``."""
    proxies: RequestHeaders = attrs.field(factory=RequestHeaders, eq=False)
    """The other flags of front proxies; they count with ``proxy_ca_file`` only."""
    skips_lookup: bool = False
    """Whether the ConfigMap is left alone."""
    tolerates_failure: bool = True
    """Whether the process goes on when the ConfigMap cannot be read."""

    @property
    def looks_up(self) -> bool:
        """Whether the ConfigMap has to say anything."""
        return not self.skips_lookup and not (self.client_ca_file and self.proxy_ca_file)


class TrustKeeper:
    """Puts together what files and the ConfigMap say, and tells when that changes. For the I/O thread."""

    def __init__(self, settings: TrustSettings, log: Callable[[LogLine], None]) -> None:
        """Raises ConfigError for files that cannot be used."""
        self._settings = settings
        self._log = log
        self._told = ClientTrust()
        self.changed: Callable[[bytes], None] = lambda _: None
        """Told of all authorities as PEM."""
        self._files = self._from_files()
        self.trust = self._joined()
        """What counts now."""

    def take(self, data: Data) -> None:
        """The ConfigMap says this; what cannot be read in it changes nothing."""
        try:
            self._told = trust_of(data)
        except ConfigError as error:
            self._log(error_line(str(error)))
            return
        self._tell()

    def reload(self) -> None:
        """Reads the files anew; those that cannot be used change nothing."""
        try:
            self._files = self._from_files()
        except ConfigError as error:
            self._log(error_line(str(error)))
            return
        self._tell()

    @property
    def pem(self) -> bytes:
        """All authorities."""
        return self.trust.clients.pem + self.trust.proxies.authorities.pem

    def _tell(self) -> None:
        self.trust = self._joined()
        self.changed(self.pem)

    def _from_files(self) -> ClientTrust:
        settings = self._settings
        authorities = _file_pool(settings.proxy_ca_file, "request-header")
        return ClientTrust(
            _file_pool(settings.client_ca_file, "client-ca-bundle"),
            msgspec.structs.replace(settings.proxies, authorities=authorities),
        )

    def _joined(self) -> ClientTrust:
        settings, files, told = self._settings, self._files, self._told
        return ClientTrust(
            files.clients if settings.client_ca_file else told.clients,
            files.proxies if settings.proxy_ca_file else told.proxies,
        )

    # --- looking up --------------------------------------------------------------------------------

    def cannot_look_up(self) -> None:
        """Nobody says where the ConfigMap is: logs what will not work."""
        if not self._settings.client_ca_file:
            self._log(warning_line(NO_CLIENT.format(key=CLIENT_CA, what="client certificate")))
        if not self._settings.proxy_ca_file:
            self._log(warning_line(NO_CLIENT.format(key=PROXY_CA, what="request-header client certificate")))

    def failed(self, error: ApiError) -> None:
        """The ConfigMap could not be read; one that is not there is none. Raises ConfigError where it has to be."""
        if error.code == 404:
            return
        if error.code == 403:
            self._log(warning_line(NO_RIGHTS))
        if not self._settings.tolerates_failure:
            raise ConfigError(f"unable to load configmap based request-header-client-ca-file: {error}")
        for line in TOLERATED:
            self._log(warning_line(line.format(error=error)))


def _file_pool(path: str, what: str) -> CertificatePool:
    if not path:
        return CertificatePool()
    try:
        return CertificatePool.from_pem(Path(path).read_bytes(), f"{what}::{path}")
    except OSError as error:
        raise ConfigError(f"open {path}: {(error.strerror or str(error)).lower()}") from None
