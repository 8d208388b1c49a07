"""What flags say of TLS, in OpenSSL's terms. Upstream: component-base/cli/flag's ciphersuites."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.serving.self_signed import PemPair

VERSIONS = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1_2,
    "VersionTLS11": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
"""Name → the least version. Those before 1.2 are not spoken any more."""

CIPHERS = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
"""Go's name → OpenSSL's, of TLS 1.2."""
ALWAYS = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""Those of TLS 1.3, which cannot be chosen among."""


class CertificateFiles(msgspec.Struct, frozen=True):
    """Files with a certificate and its key."""

    certificate: str
    key: str
    names: tuple[str, ...] = ()
    """Hosts for which it is shown; none: those that it names itself."""

    def read(self) -> PemPair:
        """Raises ConfigError for files that are not there."""
        try:
            return PemPair(Path(self.certificate).read_bytes(), Path(self.key).read_bytes())
        except OSError as error:
            raise ConfigError(f"open {error.filename}: {(error.strerror or '').lower()}") from None


class TlsSettings(msgspec.Struct, frozen=True):
    """How connections are encrypted."""

    files: CertificateFiles | None = None
    """None: a certificate is made."""
    folder: str = ""
    """Where a certificate that is made is kept; empty: in memory."""
    named: tuple[CertificateFiles, ...] = ()
    """Certificates for certain hosts."""
    least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: str = ""
    """OpenSSL's names with colons between; empty: the defaults."""


def least_version(name: str) -> ssl.TLSVersion:
    """Raises ConfigError with upstream's text."""
    if name not in VERSIONS:
        raise ConfigError(f"unknown tls version {name!r}".replace("'", '"'))
    return VERSIONS[name]


def cipher_names(names: Sequence[str]) -> str:
    """Go's names in OpenSSL's. Raises ConfigError with upstream's text."""
    for name in names:
        if name not in CIPHERS and name not in ALWAYS:
            raise ConfigError(f"Cipher suite {name} not supported or doesn't exist")
    return ":".join(dict.fromkeys(CIPHERS[name] for name in names if name in CIPHERS))


def named_files(text: str) -> CertificateFiles:
    """``CERTIFICATE,KEY`` or ``CERTIFICATE,KEY:HOST,HOST``. Raises ConfigError with upstream's text."""
    parts, colon, names = text.partition(":")
    files = [part.strip() for part in parts.split(",")]
    if len(files) != 2:
        raise ConfigError("expected comma separated certificate and key file paths")
    hosts = tuple(name.strip() for name in names.split(",")) if colon else ()
    return CertificateFiles(files[0], files[1], hosts)
