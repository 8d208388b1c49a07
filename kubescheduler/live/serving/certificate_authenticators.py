"""Users by the certificate of their connection: their own, or that of a front proxy which says who they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from kubescheduler.live.serving.certificate_pool import CertificatePool
from kubescheduler.live.serving.user_info import AuthenticationError, UserInfo

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, ObjectIdentifier

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
    found = (value for header in headers for key, value in said if key == header.lower() and value)
    return next(found, "")


def _extra(said: Sequence[tuple[str, str]], prefixes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for prefix in prefixes:
        for key, value in said:
            if key.startswith(prefix.lower()):
                name = unquote(key[len(prefix) :])
                found[name] = (*found.get(name, ()), value)
    return found


def _common_name(certificate: Certificate) -> str:
    from cryptography.x509.oid import NameOID

    return next(reversed(_attributes(certificate, NameOID.COMMON_NAME)), "")


def _attributes(certificate: Certificate, kind: ObjectIdentifier) -> list[str]:
    """The values of one kind in the subject, in order."""
    return [str(one.value) for one in certificate.subject.get_attributes_for_oid(kind)]
