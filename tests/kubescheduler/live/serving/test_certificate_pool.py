"""Whom authorities vouch for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clusterstate.errors import ConfigError
from kubescheduler.live.serving.certificate_authenticators import certified_user
from kubescheduler.live.serving.certificate_pool import CertificatePool
from kubescheduler.live.serving.self_signed import self_signed
from kubescheduler.live.serving.user_info import AuthenticationError, UserInfo

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class Signer:
    """A key with a certificate for it; signs others."""

    def __init__(self, name: str, by: Signer | None = None, **said: Any) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
        issuer = by or self
        start, end = said.get("dates", (NOW - DAY, NOW + DAY))
        builder = x509.CertificateBuilder(issuer.name, self.name, self.key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(start).not_valid_after(end)
        if "authority" in said:
            constraints = x509.BasicConstraints(ca=bool(said["authority"]), path_length=None)
            builder = builder.add_extension(constraints, critical=True)
        if "usage" in said:
            builder = builder.add_extension(x509.ExtendedKeyUsage([said["usage"]]), critical=False)
        self.certificate = builder.sign(issuer.key, hashes.SHA256())


ROOT = Signer("root", authority=True)
TWIN = Signer("root", authority=True)
BETWEEN = Signer("between", ROOT, authority=True)
LEAF = Signer("leaf", BETWEEN)
DIRECT = Signer("direct", ROOT)
UNKNOWN = "certificate signed by unknown authority"


@pytest.mark.parametrize(
    ("authorities", "chain", "problem"),
    [
        pytest.param([ROOT], [DIRECT], None, id="signed by the authority"),
        pytest.param([ROOT], [LEAF, BETWEEN], None, id="over another that was sent"),
        pytest.param([ROOT], [LEAF, TWIN, DIRECT, BETWEEN], None, id="in any order"),
        pytest.param([BETWEEN], [LEAF], None, id="an authority need not be a root"),
        pytest.param([ROOT], [LEAF], UNKNOWN, id="the one between is missing"),
        pytest.param([TWIN], [DIRECT], UNKNOWN, id="another key of the same name"),
        pytest.param([], [DIRECT], UNKNOWN, id="nobody is trusted"),
        pytest.param([DIRECT], [DIRECT], None, id="trusted itself"),
        pytest.param([ROOT], [Signer("x", DIRECT), DIRECT], UNKNOWN, id="signed by one that is no authority"),
        pytest.param([ROOT], [Signer("x", Signer("y", ROOT, authority=False))], UNKNOWN, id="not sent, no authority"),
        pytest.param([ROOT], [Signer("x", ROOT, dates=(NOW - 2 * DAY, NOW - DAY))], "is after", id="expired"),
        pytest.param([ROOT], [Signer("x", ROOT, dates=(NOW + DAY, NOW + 2 * DAY))], "is before", id="not yet valid"),
        pytest.param(
            [ROOT],
            [Signer("x", ROOT, usage=ExtendedKeyUsageOID.SERVER_AUTH)],
            "incompatible key usage",
            id="for servers",
        ),
        pytest.param([ROOT], [Signer("x", ROOT, usage=ExtendedKeyUsageOID.CLIENT_AUTH)], None, id="for clients"),
        pytest.param(
            [ROOT], [Signer("x", ROOT, usage=ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)], None, id="for anything"
        ),
    ],
)
def test_verify(authorities: list[Signer], chain: list[Signer], problem: str | None) -> None:
    """A chain holds when each is signed by the next, the last by an authority, and the first is for clients now."""
    pool = CertificatePool(signer.certificate for signer in authorities)
    certificates = [signer.certificate for signer in chain]
    if problem is None:
        pool.verify(certificates, NOW)
    else:
        with pytest.raises(AuthenticationError, match=problem):
            pool.verify(certificates, NOW)


def test_an_expired_root() -> None:
    """An authority that is no longer valid vouches for nobody."""
    old = Signer("old", authority=True, dates=(NOW - 3 * DAY, NOW - DAY))
    with pytest.raises(AuthenticationError, match=UNKNOWN):
        CertificatePool([old.certificate]).verify([Signer("x", old).certificate], NOW)


def test_reading() -> None:
    """Several certificates stand one behind the other; a text without any is a fault that says where."""
    first, second = trustme.CA(), trustme.CA()
    pem = first.cert_pem.bytes() + b"# a comment\n" + second.cert_pem.bytes()
    pool = CertificatePool.from_pem(pem, "a::b")
    assert pool
    assert pool.pem == first.cert_pem.bytes() + second.cert_pem.bytes()
    assert not CertificatePool()
    with pytest.raises(ConfigError, match='error loading content for "a::b": '):
        CertificatePool.from_pem(b"nothing", "a::b")


def test_users() -> None:
    """Without a common name a certificate is nobody; without one, or without authorities, nothing is asked."""
    pool = CertificatePool([ROOT.certificate])
    assert certified_user(pool, [DIRECT.certificate], NOW, credential_id=False) == UserInfo("direct")
    assert certified_user(pool, [Signer("", ROOT).certificate], NOW, credential_id=False) is None
    assert certified_user(pool, [], NOW, credential_id=False) is None
    assert certified_user(CertificatePool(), [DIRECT.certificate], NOW, credential_id=False) is None


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1", "127.0.0.1"]),
        ("0.0.0.0", ["localhost", "localhost", "127.0.0.1"]),
        ("::", ["localhost", "localhost", "127.0.0.1"]),
        ("10.1.2.3", ["localhost", "127.0.0.1", "10.1.2.3"]),
    ],
)
def test_a_certificate_of_our_own(address: str, names: list[str]) -> None:
    """Names, dates and purposes are upstream's; the authority stands behind it in the chain."""
    pair = self_signed(address, NOW)
    server, authority = x509.load_pem_x509_certificates(pair.certificate)
    stamp = int(NOW.timestamp())
    assert server.subject.rfc4514_string() == f"CN=localhost@{stamp}"
    assert server.issuer == authority.subject == authority.issuer
    assert authority.subject.rfc4514_string() == f"CN=localhost-ca@{stamp}"
    assert (server.not_valid_before_utc, server.not_valid_after_utc) == (
        NOW - timedelta(hours=1),
        NOW - timedelta(hours=1) + timedelta(days=365),
    )
    server.verify_directly_issued_by(authority)
    found = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one.value) for one in found] == names
    usage = server.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert "PRIVATE KEY" not in repr(pair)
