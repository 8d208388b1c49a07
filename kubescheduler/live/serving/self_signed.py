"""A server certificate for want of a given one. Upstream: client-go's GenerateSelfSignedCertKey."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa

BEFORE, LIFETIME = timedelta(hours=1), timedelta(days=365)
"""How long before its making a certificate begins to be valid, and for how long it is."""
HOST = "localhost"


@attrs.frozen
class PemPair:
    """A certificate with its key."""

    certificate: bytes
    """The chain, the server's own first."""
    key: bytes = attrs.field(repr=False)


def self_signed(address: str, now: datetime) -> PemPair:
    """A certificate for localhost and the address, signed by an authority that is forgotten at once.

    address: the one that is listened on. now: in UTC.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID

    stamp = int(now.timestamp())
    ca_key, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    authority = _builder(f"{HOST}-ca@{stamp}", f"{HOST}-ca@{stamp}", ca_key, now)
    authority = authority.add_extension(_usage(signs=True), critical=True)
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    authority = authority.add_extension(identifier, critical=False)
    names = x509.SubjectAlternativeName(alternative_names(address))
    server = _builder(f"{HOST}@{stamp}", f"{HOST}-ca@{stamp}", key, now)
    server = server.add_extension(_usage(signs=False), critical=True)
    server = server.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    server = server.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    server = server.add_extension(issuer, critical=False).add_extension(names, critical=False)
    chain = [_signed(server, ca_key), _signed(authority, ca_key)]
    pem = serialization.Encoding.PEM
    written = key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return PemPair(b"".join(one.public_bytes(pem) for one in chain), written)


def alternative_names(address: str) -> list[x509.GeneralName]:
    """localhost and 127.0.0.1, then the address that is listened on, or localhost again where that is any."""
    from cryptography import x509

    found: list[x509.GeneralName] = [x509.DNSName(HOST)]
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        found.append(x509.DNSName(HOST))
    found.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    if not parsed.is_unspecified:
        found.append(x509.IPAddress(parsed))
    return found


def _builder(subject: str, issuer: str, key: rsa.RSAPrivateKey, now: datetime) -> x509.CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    subject_name, issuer_name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)
    )
    builder = x509.CertificateBuilder(subject_name=subject_name, issuer_name=issuer_name)
    start = now - BEFORE
    builder = builder.not_valid_before(start).not_valid_after(start + LIFETIME)
    return builder.serial_number(x509.random_serial_number()).public_key(key.public_key())


def _signed(builder: x509.CertificateBuilder, key: rsa.RSAPrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives import hashes

    return builder.sign(key, hashes.SHA256())


def _usage(*, signs: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=signs,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
