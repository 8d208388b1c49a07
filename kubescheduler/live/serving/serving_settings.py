"""What flags say of the servers, checked with upstream's texts."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.flags.flags import Flag, FlagValues, written_value
from kubescheduler.live.serving.authentication import RequestHeaders
from kubescheduler.live.serving.client_trust import TrustSettings
from kubescheduler.live.serving.tls import (
    CertificateFiles,
    TlsSettings,
    cipher_names,
    least_version,
    named_files,
)

SECOND = 1_000_000_000
HIGHEST_PORT = 65535


class InsecurePort(msgspec.Struct, frozen=True):
    """A port without TLS, on which everybody may ask for everything (1.16, 1.20)."""

    address: str
    port: int
    health: bool = True
    """Whether it has health checks."""
    metrics: bool = True
    """Whether it has metrics and the configuration."""


class AccessSettings(msgspec.Struct, frozen=True):
    """How the API server is asked who somebody is, and what they may."""

    authentication_kubeconfig: str = ""
    """Empty: as the service account of the pod, or nobody can be asked."""
    authorization_kubeconfig: str = ""
    trust: TrustSettings = msgspec.field(default_factory=TrustSettings)
    always_allowed: tuple[str, ...] = ("/healthz",)
    """Paths that need no rights."""
    token_seconds: float = 10.0
    """For how long a token's review counts."""
    allowed_seconds: float = 10.0
    denied_seconds: float = 10.0
    """For how long an access review counts."""


class ServingSettings(msgspec.Struct, frozen=True, eq=False):
    """Everything that a process serves."""

    address: str = "0.0.0.0"
    """Of the secure port."""
    port: int = 10259
    """0: no secure port."""
    shares_port: bool = False
    """Whether other processes may listen on it, too."""
    tls: TlsSettings = msgspec.field(default_factory=TlsSettings)
    access: AccessSettings = msgspec.field(default_factory=AccessSettings)
    insecure: tuple[InsecurePort, ...] = ()
    flags: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Flag → its value as text."""
    configuration: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The completed configuration, in its own API version."""
    profiling: bool = True
    """Whether /debug is there."""


def serving_settings(
    table: Sequence[Flag],
    flags: FlagValues,
    configuration: Mapping[str, Any],
    insecure: Sequence[InsecurePort],
    *,
    profiling: bool,
) -> ServingSettings:
    """Reads the flags of a release, whose ports were checked. Raises ConfigError for TLS that there is not."""
    return ServingSettings(
        address=flags["bind-address"],
        port=flags["secure-port"],
        shares_port=bool(flags.values.get("permit-port-sharing")),
        insecure=tuple(insecure),
        flags={flag.name: written_value(flag.kind, flags[flag.name]) for flag in table},
        configuration=configuration,
        profiling=profiling,
        tls=_tls(flags),
        access=_access(flags),
    )


def insecure_ports(health: str, metrics: str) -> tuple[InsecurePort, ...]:
    """Of the addresses, as ``host:port``, for health checks and for metrics; port 0 is off. Raises ConfigError."""
    if health == metrics:
        ports = [InsecurePort(*_place(health))]
    else:
        ports = [InsecurePort(*_place(health), metrics=False), InsecurePort(*_place(metrics), health=False)]
    return tuple(one for one in ports if one.port)


def _place(text: str) -> tuple[str, int]:
    """Of ``host:port``; neither: (nothing, 0)."""
    if not text:
        return "", 0
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "0.0.0.0"
    if not port.isdecimal():
        raise ConfigError(f"address {text}: invalid port")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise ConfigError(f"address {text}: invalid IP address") from None
    return host, int(port)


def port_problems(flags: FlagValues) -> list[str]:
    """What is wrong with the numbers of the ports."""
    port, problems = flags["secure-port"], []
    if port < 0:
        problems.append(f"--secure-port {port} must be between 0 and 65535, inclusive. 0 for turning off secure port")
    if port > HIGHEST_PORT:
        problems.append(f"--secure-port {port} must be between 1 and 65535, inclusive. It cannot be turned off with 0")
    if "port" in flags.values and not 0 <= flags["port"] <= HIGHEST_PORT:
        problems.append(
            f"--port {flags['port']} must be between 0 and 65535, inclusive. 0 for turning off insecure (HTTP) port"
        )
    return problems


def _tls(flags: FlagValues) -> TlsSettings:
    certificate, key = flags["tls-cert-file"], flags["tls-private-key-file"]
    return TlsSettings(
        CertificateFiles(certificate, key) if certificate or key else None,
        flags["cert-dir"],
        tuple(named_files(text) for text in flags["tls-sni-cert-key"]),
        least_version(flags["tls-min-version"]),
        cipher_names(flags["tls-cipher-suites"]),
    )


def _access(flags: FlagValues) -> AccessSettings:
    proxies = RequestHeaders(
        allowed_names=flags["requestheader-allowed-names"],
        username_headers=flags["requestheader-username-headers"],
        group_headers=flags["requestheader-group-headers"],
        extra_prefixes=flags["requestheader-extra-headers-prefix"],
        uid_headers=flags.values.get("requestheader-uid-headers", ()),
    )
    return AccessSettings(
        flags["authentication-kubeconfig"],
        flags["authorization-kubeconfig"],
        TrustSettings(
            flags["client-ca-file"],
            flags["requestheader-client-ca-file"],
            proxies,
            flags["authentication-skip-lookup"],
            flags["authentication-tolerate-lookup-failure"],
        ),
        flags["authorization-always-allow-paths"],
        flags["authentication-token-webhook-cache-ttl"] / SECOND,
        flags["authorization-webhook-cache-authorized-ttl"] / SECOND,
        flags["authorization-webhook-cache-unauthorized-ttl"] / SECOND,
    )
