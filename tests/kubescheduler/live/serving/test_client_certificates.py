"""Certificates of clients, of front proxies and of the server itself, over real TLS."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clusterstate.errors import ConfigError
from kubescheduler.live.serving.client_trust import (
    AuthenticationError,
    CertificatePool,
    RequestHeaders,
    TrustSettings,
    UserInfo,
    certified_user,
)
from kubescheduler.live.serving.tls import CertificateFiles, TlsContexts, TlsSettings, self_signed
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import ApiServer
from tests.support.live.serving import TOKENS, ServedScheduler, asking, kubeconfig, serving, trusting
from tests.support.processes import until

CONFIG_MAPS = "/api/v1/configmaps"
NAME = "extension-apiserver-authentication"
PROXY_HEADERS = {
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-allowed-names": '["front"]',
}


@pytest.fixture(scope="module")
def clients() -> trustme.CA:
    """The authority of users."""
    return trustme.CA()


@pytest.fixture(scope="module")
def proxies() -> trustme.CA:
    """The authority of front proxies."""
    return trustme.CA()


def pem(authority: trustme.CA) -> str:
    return authority.cert_pem.bytes().decode()


def certificate(authority: trustme.CA, name: str, group: str | None = None) -> trustme.LeafCert:
    return authority.issue_cert(common_name=name, organization_name=group)


def written(server: ApiServer, data: Mapping[str, str]) -> None:
    """The ConfigMap has this data from now on."""
    metadata = {"name": NAME, "namespace": "kube-system"}
    obj: dict[str, Any] = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": dict(data)}
    if server.storage.all(CONFIG_MAPS, "kube-system"):
        server.storage.replace(CONFIG_MAPS, "kube-system", NAME, obj)
    else:
        server.storage.create(CONFIG_MAPS, "kube-system", obj)


def user_of(served: ServedScheduler, leaf: trustme.LeafCert, **headers: str) -> str:
    """Whom a page is forbidden to, or the code of another answer."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    got = served.ask("/metrics", context=trusting(leaf), headers=named)
    return json.loads(got.body)["message"].split('"')[1] if got.code == 403 else str(got.code)


def test_users_by_certificate(
    io: IoThread, server: ApiServer, tmp_path: Path, clients: trustme.CA, proxies: trustme.CA
) -> None:
    """A certificate of the clients' authority is its common name in the groups of its organizations."""
    written(server, {"client-ca-file": pem(clients)})
    with serving(io, "1.36", asking(kubeconfig(tmp_path, server.url))) as served:
        jane = certificate(clients, "jane", "devs")
        assert user_of(served, jane) == "jane"
        review = next(one.body for one in reversed(server.asked) if "subjectaccessreviews" in one.path)
        digest = review["spec"]["extra"].pop("authentication.kubernetes.io/credential-id")
        assert digest[0].startswith("X509SHA256=")
        assert review["spec"]["groups"] == ["devs", "system:authenticated"]
        assert user_of(served, certificate(clients, "root", "system:masters")) == "200"
        assert served.ask("/healthz", context=trusting(jane)).code == 200
        with pytest.raises((ssl.SSLError, ConnectionError)):
            served.ask("/healthz", context=trusting(certificate(proxies, "stranger")))


def test_older_releases_say_no_fingerprint(
    io: IoThread, server: ApiServer, tmp_path: Path, clients: trustme.CA
) -> None:
    """1.20 knows of no credential's identity."""
    written(server, {"client-ca-file": pem(clients)})
    with serving(io, "1.20", asking(kubeconfig(tmp_path, server.url))) as served:
        assert user_of(served, certificate(clients, "jane")) == "jane"
    review = next(one.body for one in reversed(server.asked) if "subjectaccessreviews" in one.path)
    assert "extra" not in review["spec"]


def test_front_proxies(
    io: IoThread, server: ApiServer, tmp_path: Path, clients: trustme.CA, proxies: trustme.CA
) -> None:
    """A front proxy says for whom it asks; nobody else can."""
    data = {"client-ca-file": pem(clients), "requestheader-client-ca-file": pem(proxies), **PROXY_HEADERS}
    written(server, data)
    with serving(io, "1.36", asking(kubeconfig(tmp_path, server.url))) as served:
        front, back = certificate(proxies, "front"), certificate(proxies, "back")
        assert user_of(served, front, X_Remote_User="ann", X_Remote_Group="g") == "ann"
        review = next(one.body for one in reversed(server.asked) if "subjectaccessreviews" in one.path)
        assert review["spec"]["groups"] == ["g", "system:authenticated"]
        assert user_of(served, front, X_Remote_User="ann", X_Remote_Group="system:masters") == "200"
        assert user_of(served, front) == "401"
        assert user_of(served, back, X_Remote_User="ann") == "401"
        assert user_of(served, certificate(clients, "jane"), X_Remote_User="ann") == "jane"
    assert any("subject with cn=back is not in the allowed list" in line for line in served.log)


def test_a_token_saves_a_certificate(io: IoThread, server: ApiServer, tmp_path: Path, proxies: trustme.CA) -> None:
    """Credentials are tried in order; the first that is taken counts."""
    server.tokens.update(TOKENS)
    written(server, {"requestheader-client-ca-file": pem(proxies), **PROXY_HEADERS})
    with serving(io, "1.36", asking(kubeconfig(tmp_path, server.url))) as served:
        leaf = certificate(proxies, "back")
        assert served.ask("/metrics", context=trusting(leaf), token="admin-token").code == 200
        assert served.ask("/metrics", context=trusting(leaf)).code == 401


@pytest.mark.parametrize(("release", "follows"), [("1.16", False), ("1.20", True), ("1.36", True)])
def test_authorities_change(
    io: IoThread, server: ApiServer, tmp_path: Path, clients: trustme.CA, release: str, follows: bool
) -> None:
    """The ConfigMap is watched, but for 1.16; what cannot be read in it changes nothing."""
    old = trustme.CA()
    written(server, {"client-ca-file": pem(old)})
    with serving(io, release, asking(kubeconfig(tmp_path, server.url))) as served:
        assert is_taken(served, certificate(old, "old"))
        if follows:
            until(lambda: any("watch=true" in one.path for one in server.asked))
        written(server, {"client-ca-file": "no certificate"})
        if follows:
            until(lambda: any("error loading content" in line for line in served.log))
        assert is_taken(served, certificate(old, "old"))
        jane = certificate(clients, "jane")
        written(server, {"client-ca-file": pem(clients)})
        if follows:
            until(lambda: is_taken(served, jane))
            assert not is_taken(served, certificate(old, "old"))
        else:
            assert not is_taken(served, jane)
    reads = [one.path for one in server.asked if NAME in one.path and "watch" not in one.path]
    assert reads[0] == f"/api/v1/namespaces/kube-system/configmaps/{NAME}"
    assert any("watch=true" in one.path for one in server.asked) == follows


def is_taken(served: ServedScheduler, leaf: trustme.LeafCert) -> bool:
    """Whether a certificate says who somebody is."""
    try:
        return served.ask("/metrics", context=trusting(leaf)).code in (200, 403)
    except (ssl.SSLError, ConnectionError):
        return False


# --- by flags ------------------------------------------------------------------------------------------


def test_authorities_in_files(io: IoThread, server: ApiServer, tmp_path: Path, clients: trustme.CA) -> None:
    """Files go before the ConfigMap, which is left alone when both are given."""
    file = tmp_path / "ca.crt"
    file.write_text(pem(clients))
    proxied = RequestHeaders(username_headers=("x-remote-user",), allowed_names=("front",))
    trust = TrustSettings(str(file), str(file), proxied)
    with serving(io, "1.36", asking(kubeconfig(tmp_path, server.url), trust=trust)) as served:
        assert user_of(served, certificate(clients, "jane")) == "jane"
        assert user_of(served, certificate(clients, "front"), X_Remote_User="ann") == "ann"
    assert not [one for one in server.asked if "configmaps" in one.path]


# --- the server's own certificate ------------------------------------------------------------------------


def shown(served: ServedScheduler, name: str = "localhost") -> x509.Certificate:
    """The certificate that a server shows to who wants a host."""
    with (
        socket.create_connection(("127.0.0.1", served.settings.port)) as plain,
        trusting().wrap_socket(plain, server_hostname=name) as connection,
    ):
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


def names(found: x509.Certificate) -> list[str]:
    alternatives = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(one.value) for one in alternatives]


def in_files(folder: Path, leaf: trustme.LeafCert, name: str) -> CertificateFiles:
    files = CertificateFiles(str(folder / f"{name}.crt"), str(folder / f"{name}.key"))
    chain = b"".join(one.bytes() for one in leaf.cert_chain_pems)
    Path(files.certificate).write_bytes(chain)
    Path(files.key).write_bytes(leaf.private_key_pem.bytes())
    return files


def test_a_certificate_is_made(io: IoThread) -> None:
    """Without files the certificate is made, for localhost and the address."""
    with serving(io, "1.36", asking("")) as served:
        found = shown(served)
    assert names(found) == ["localhost", "127.0.0.1", "127.0.0.1"]
    assert served.log[0] == "I Generated self-signed cert in-memory"


def test_a_certificate_is_kept(io: IoThread, tmp_path: Path) -> None:
    """In a folder it is kept, and found again."""
    settings = msgspec.structs.replace(asking(""), tls=TlsSettings(folder=str(tmp_path / "certs")))
    with serving(io, "1.36", settings) as served:
        first = shown(served)
    file = tmp_path / "certs" / "kube-scheduler.crt"
    assert served.log[0] == f"I Generated self-signed cert ({file}, {file.with_suffix('.key')})"
    assert file.with_suffix(".key").stat().st_mode & 0o077 == 0
    with serving(io, "1.36", settings) as served:
        assert shown(served) == first


def test_certificates_by_host(io: IoThread, tmp_path: Path, clients: trustme.CA) -> None:
    """Given certificates are shown, those for certain hosts to who wants these."""
    plain = in_files(tmp_path, clients.issue_cert("plain.example"), "plain")
    own = in_files(tmp_path, clients.issue_cert("own.example"), "own")
    wild = msgspec.structs.replace(in_files(tmp_path, clients.issue_cert("any"), "wild"), names=("*.wild.example",))
    settings = msgspec.structs.replace(asking(""), tls=TlsSettings(plain, named=(own, wild)))
    with serving(io, "1.36", settings) as served:
        found = {name: names(shown(served, name)) for name in ("other", "own.example", "a.wild.example")}
    assert found == {"other": ["plain.example"], "own.example": ["own.example"], "a.wild.example": ["any"]}


def test_certificates_are_renewed(tmp_path: Path, clients: trustme.CA) -> None:
    """Files that changed are read anew, and not where they are the same or cannot be used."""
    files = in_files(tmp_path, clients.issue_cert("before"), "tls")
    contexts = TlsContexts(TlsSettings(files))
    contexts.trust(pem(clients).encode())
    before = contexts.chosen("any")
    contexts.reload()
    assert contexts.chosen("any") is before
    in_files(tmp_path, clients.issue_cert("after"), "tls")
    contexts.reload()
    after = contexts.chosen("any")
    assert after is not before
    Path(files.key).write_text("no key")
    with pytest.raises(ConfigError, match="tls: failed to use the certificate and its key"):
        contexts.reload()
    assert contexts.chosen("any") is after


def test_least_version(io: IoThread) -> None:
    """Whoever speaks TLS 1.2 only is refused where 1.3 is wanted."""
    settings = msgspec.structs.replace(asking(""), tls=TlsSettings(least=ssl.TLSVersion.TLSv1_3))
    old = trusting()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with serving(io, "1.36", settings) as served:
        assert served.ask("/healthz").code == 200
        with pytest.raises(ssl.SSLError):
            served.ask("/healthz", context=old)


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
