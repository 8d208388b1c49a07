"""Certificate authorities, and whether one of them vouches for a client. Upstream: crypto/x509 and its verifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from clusterstate.errors import ConfigError
from kubescheduler.live.serving.user_info import AuthenticationError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

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
        while not self._has_issued(path[-1], now):
            following = next((one for one in between if one not in path and _issued(one, path[-1], now)), None)
            if following is None or len(path) == LONGEST_CHAIN:
                raise AuthenticationError(UNKNOWN_AUTHORITY)
            path.append(following)

    def _has_issued(self, certificate: Certificate, now: datetime) -> bool:
        return any(one == certificate or _issued(one, certificate, now) for one in self._authorities)


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
