"""What flags say of the servers."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.live.flags.flags import parse_flags
from kubescheduler.live.serving.serving_settings import (
    InsecurePort,
    ServingSettings,
    insecure_ports,
    port_problems,
    serving_settings,
)
from kubescheduler.live.serving.tls import CertificateFiles
from kubescheduler.releases.lookup import live_release


def read(release: str, *flags: str) -> ServingSettings:
    table = live_release(release).flags
    return serving_settings(table, parse_flags(table, flags), {}, (), profiling=True)


def test_defaults() -> None:
    """Of each release, the secure port and what needs no rights."""
    for release, allowed in {
        "1.16": ("/healthz",),
        "1.20": ("/healthz",),
        "1.36": ("/healthz", "/readyz", "/livez"),
    }.items():
        found = read(release)
        assert (found.address, found.port, found.tls.files) == ("0.0.0.0", 10259, None)
        access = found.access
        assert (access.token_seconds, access.allowed_seconds, access.denied_seconds) == (10.0, 10.0, 10.0)
        assert access.always_allowed == allowed
        assert access.trust.proxies.username_headers == ("x-remote-user",)
        assert access.trust.tolerates_failure


def test_flags_as_texts() -> None:
    """/flagz shows each flag as pflag prints it."""
    flags = read("1.36", "--feature-gates=B=true,A=false", "--tls-sni-cert-key=a,b:c", "--kube-api-qps=2.5").flags
    expected = {
        "authorization-always-allow-paths": "[/healthz,/readyz,/livez]",
        "authentication-token-webhook-cache-ttl": "10s",
        "leader-elect": "true",
        "feature-gates": "B=true,A=false",
        "tls-sni-cert-key": "[a,b:c]",
        "tls-cipher-suites": "[]",
        "kube-api-qps": "2.5",
        "kube-api-burst": "100",
        "secure-port": "10259",
        "cert-dir": "",
    }
    assert {name: flags[name] for name in expected} == expected


def test_tls() -> None:
    """Files, hosts, versions and ciphers, in OpenSSL's terms."""
    found = read(
        "1.36",
        *("--tls-cert-file=c", "--tls-private-key-file=k", "--tls-min-version=VersionTLS13", "--cert-dir=d"),
        *("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256", "--secure-port=1"),
        *("--tls-sni-cert-key=a.crt,a.key", "--tls-sni-cert-key=b.crt,b.key:*.b.example,b.example"),
    ).tls
    assert found.files == CertificateFiles("c", "k")
    assert (found.folder, found.least, found.ciphers) == ("d", ssl.TLSVersion.TLSv1_3, "ECDHE-RSA-AES128-GCM-SHA256")
    assert found.named == (
        CertificateFiles("a.crt", "a.key"),
        CertificateFiles("b.crt", "b.key", ("*.b.example", "b.example")),
    )


HIGH = "--secure-port 70000 must be between 1 and 65535, inclusive. It cannot be turned off with 0"
LOW = "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port"
PORT = "--port 70000 must be between 0 and 65535, inclusive. 0 for turning off insecure (HTTP) port"


@pytest.mark.parametrize(
    ("flags", "problems"),
    [
        (["--secure-port=70000"], [HIGH]),
        (["--secure-port=-1"], [LOW]),
        (["--port=70000"], [PORT]),
        (["--secure-port=70000", "--port=70000"], [HIGH, PORT]),
        (["--secure-port=65535", "--port=0"], []),
    ],
)
def test_port_problems(flags: Sequence[str], problems: list[str]) -> None:
    """Ports have a range; the text for one that is too high is upstream's, though 0 does turn it off."""
    assert port_problems(parse_flags(live_release("1.16").flags, flags)) == problems


@pytest.mark.parametrize(
    ("release", "flags", "problems"),
    [
        ("1.36", ["--tls-min-version=x"], ['unknown tls version "x"']),
        ("1.36", ["--tls-cipher-suites=x"], ["Cipher suite x not supported or doesn't exist"]),
        ("1.36", ["--tls-sni-cert-key=a,b,c"], ["expected comma separated certificate and key file paths"]),
    ],
)
def test_problems(release: str, flags: Sequence[str], problems: list[str]) -> None:
    """Texts are upstream's."""
    with pytest.raises(ConfigError) as raised:
        read(release, *flags)
    assert list(raised.value.problems) == problems


@pytest.mark.parametrize(
    ("health", "metrics", "ports"),
    [
        ("0.0.0.0:10251", "0.0.0.0:10251", [InsecurePort("0.0.0.0", 10251)]),
        ("[::1]:1", "[::1]:1", [InsecurePort("::1", 1)]),
        (":1", ":1", [InsecurePort("0.0.0.0", 1)]),
        ("", "", []),
        ("0.0.0.0:0", "0.0.0.0:0", []),
        (
            "127.0.0.1:1",
            "127.0.0.1:2",
            [InsecurePort("127.0.0.1", 1, metrics=False), InsecurePort("127.0.0.1", 2, health=False)],
        ),
        ("127.0.0.1:1", "", [InsecurePort("127.0.0.1", 1, metrics=False)]),
    ],
)
def test_insecure_ports(health: str, metrics: str, ports: list[InsecurePort]) -> None:
    """One address serves both; port 0 serves nothing."""
    assert list(insecure_ports(health, metrics)) == ports


@pytest.mark.parametrize("text", ["x", "1.2.3.4", "host:1", "1.2.3.4:x"])
def test_bad_addresses(text: str) -> None:
    """An address has an IP and a port."""
    with pytest.raises(ConfigError):
        insecure_ports(text, text)
