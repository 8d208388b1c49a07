"""Extenders behind TLS, with certificates made for the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs
import msgspec
import pytest
import trustme

from clusterstate.errors import ConfigError
from clusterstate.objects import Node, ObjectMeta, Pod
from kubescheduler.extender.answers import ExtenderError
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig, TLSConfig
from kubescheduler.extender.tls import tls_context
from kubescheduler.releases.lookup import release_named
from tests.support.custom.extender_process import extender

WIRE_1_16 = release_named("1.16").wire

POD = Pod(ObjectMeta("p"), manifest={"metadata": {"name": "p"}})
NODE = Node(ObjectMeta("n0"), manifest={"metadata": {"name": "n0"}})


@attrs.frozen
class Authority:
    """Certificates as files and bytes, and the address of an extender that uses them."""

    folder: Path
    ca: bytes
    cert: bytes
    key: bytes
    url: str
    strict_url: str

    def path(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    ca.issue_cert("extender.example").private_key_and_cert_chain_pem.write_to_path(folder / "named.pem")
    client = ca.issue_cert("scheduler.example")
    client.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client.private_key_pem.write_to_path(folder / "key.pem")
    ca_bytes, cert, key = ((folder / name).read_bytes() for name in ("ca.pem", "cert.pem", "key.pem"))
    with extender(folder / "server.pem") as url, extender(folder / "named.pem", folder / "ca.pem") as strict_url:
        yield Authority(folder, ca_bytes, cert, key, url, strict_url)


def names(url: str, tls: TLSConfig, enable_https: bool = False) -> tuple[str, ...]:
    """What a good extender keeps of one node."""
    asked = HTTPExtender(ExtenderConfig(f"{url}/good", "filter", tls=tls, enable_https=enable_https), WIRE_1_16)
    try:
        return asked.filter(POD, [NODE]).nodes
    finally:
        asked.close()


def test_authority(authority: Authority) -> None:
    """A certificate counts when the configured authority, file or data, has signed it."""
    assert names(authority.url, TLSConfig(ca_file=authority.path("ca.pem"))) == ("n0",)
    assert names(authority.url, TLSConfig(ca_data=authority.ca), enable_https=True) == ("n0",)
    other = TLSConfig(ca_data=trustme.CA().cert_pem.bytes())
    with pytest.raises(ExtenderError, match="certificate not accepted: "):
        names(authority.url, other, enable_https=True)


def test_no_authority(authority: Authority) -> None:
    """Without an authority the system's count, unless enableHttps or insecure turns verification off."""
    with pytest.raises(ExtenderError, match="certificate not accepted: "):
        names(authority.url, TLSConfig())
    assert names(authority.url, TLSConfig(), enable_https=True) == ("n0",)
    assert names(authority.url, TLSConfig(insecure=True)) == ("n0",)


def test_server_name_and_client_certificate(authority: Authority) -> None:
    """serverName is what the certificate must name; the client's certificate is shown to who asks for it."""
    files = TLSConfig(
        server_name="extender.example",
        ca_data=authority.ca,
        cert_file=authority.path("cert.pem"),
        key_file=authority.path("key.pem"),
    )
    data = msgspec.structs.replace(files, cert_file="", key_file="", cert_data=authority.cert, key_data=authority.key)
    assert names(authority.strict_url, files) == ("n0",)
    assert names(authority.strict_url, data) == ("n0",)
    with pytest.raises(ExtenderError, match="certificate not accepted: "):
        names(authority.strict_url, msgspec.structs.replace(files, server_name=""))
    with pytest.raises(ExtenderError, match=r'^Post "https://'):
        names(authority.strict_url, msgspec.structs.replace(files, cert_file=""))


@pytest.mark.parametrize(
    ("tls", "text"),
    [
        (TLSConfig(ca_file="/no/such/ca"), r"tlsConfig: caFile /no/such/ca: No such file"),
        (TLSConfig(ca_data=b"nonsense"), r"tlsConfig: caData: .*; a PEM certificate is needed"),
        (TLSConfig(ca_data=b"\xff"), r"tlsConfig: caData: "),
        (TLSConfig(insecure=True, ca_data=b"x"), r"cannot be used together with insecure"),
        (TLSConfig(insecure=True, cert_data=b"x", key_data=b"y"), r"tlsConfig: certFile/certData with keyFile/keyData"),
        (TLSConfig(insecure=True, cert_file="/no/c", key_file="/no/k"), r"No such file"),
    ],
    ids=["no-file", "no-pem", "no-ascii", "insecure", "bad-client", "no-client"],
)
def test_bad_settings(tls: TLSConfig, text: str) -> None:
    """Unusable settings say which; a call reports them as an extender error."""
    config = ExtenderConfig("https://127.0.0.1:1", "filter", tls=tls)
    with pytest.raises(ConfigError, match=text):
        tls_context(config)
    with pytest.raises(ExtenderError, match=text):
        HTTPExtender(config, WIRE_1_16).filter(POD, [NODE])


def test_plain_caller_of_a_tls_port(authority: Authority) -> None:
    """http where https is spoken is an error, not a hang; enableHttps does not change the scheme."""
    with pytest.raises(ExtenderError, match=r'^Post "http://'):
        names(authority.url.replace("https", "http"), TLSConfig(), enable_https=True)
