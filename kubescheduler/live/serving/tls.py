"""TLS of a server: what flags say of it, the certificates that it shows, and one of its own for want of a given one."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.errors import ConfigError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509 import Certificate


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
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    ca_key, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    unused = ("content_commitment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only", "decipher_only")

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}@{int(now.timestamp())}")])

    def signed(name: str, its: rsa.RSAPrivateKey, *extensions: x509.ExtensionType) -> x509.Certificate:
        builder = x509.CertificateBuilder(subject_name=named(name), issuer_name=named(f"{HOST}-ca"))
        builder = builder.not_valid_before(now - BEFORE).not_valid_after(now - BEFORE + LIFETIME)
        builder = builder.serial_number(x509.random_serial_number()).public_key(its.public_key())
        for extension in extensions:
            critical = isinstance(extension, x509.KeyUsage | x509.BasicConstraints)
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(ca_key, hashes.SHA256())

    def usage(*, signs: bool) -> x509.KeyUsage:
        rights = {"digital_signature": True, "key_encipherment": True, "key_cert_sign": signs}
        return x509.KeyUsage(**rights, **dict.fromkeys(unused, False))

    server = signed(
        HOST,
        key,
        usage(signs=False),
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        x509.BasicConstraints(ca=False, path_length=None),
        x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
        x509.SubjectAlternativeName(alternative_names(address)),
    )
    basic = x509.BasicConstraints(ca=True, path_length=None)
    chain = (server, signed(f"{HOST}-ca", ca_key, usage(signs=True), basic, identifier))
    pem = serialization.Encoding.PEM
    written = key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return PemPair(b"".join(one.public_bytes(pem) for one in chain), written)


def alternative_names(address: str) -> list[x509.GeneralName]:
    """localhost and 127.0.0.1, then the address that is listened on, or localhost again where that is any."""
    from cryptography import x509

    names: list[x509.GeneralName] = [x509.DNSName(HOST)]
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        names.append(x509.DNSName(HOST))
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    if not parsed.is_unspecified:
        names.append(x509.IPAddress(parsed))
    return names


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


class TlsContexts:
    """One context to listen with, which gives each connection what is valid when it begins.

    A client's certificate that none of the authorities vouches for ends the connection; Go's servers would answer 401.
    """

    def __init__(self, settings: TlsSettings, made: PemPair | None = None) -> None:
        """made: the certificate for want of files. Raises ConfigError for files that cannot be used."""
        self._settings = settings
        self._made = made
        self._authorities = b""
        self._loaded: object = None
        self._default, self._by_name = self._contexts(self._pairs())
        self.listening = self._context(self._pair())
        """What to listen with."""
        self.listening.sni_callback = self._choose

    def trust(self, authorities: bytes) -> None:
        """From now on clients are asked for certificates by these, as PEM; empty: they are not asked."""
        if authorities != self._authorities:
            self._authorities = authorities
            self.reload()

    def reload(self) -> None:
        """Reads the files anew. Raises ConfigError, and goes on with what there was, when they cannot be used."""
        pairs = self._pairs()
        if (pairs, self._authorities) == self._loaded:
            return
        self._default, self._by_name = self._contexts(pairs)
        self._loaded = (pairs, self._authorities)
        self.listening.verify_mode = self._default.verify_mode

    # --- making contexts ---------------------------------------------------------------------------

    def _pairs(self) -> list[PemPair]:
        """The certificate for everybody, then those for certain hosts."""
        return [self._pair(), *(files.read() for files in self._settings.named)]

    def _pair(self) -> PemPair:
        if self._settings.files is not None:
            return self._settings.files.read()
        assert self._made is not None
        return self._made

    def _contexts(self, pairs: Sequence[PemPair]) -> tuple[ssl.SSLContext, Mapping[str, ssl.SSLContext]]:
        """(the one for everybody, those for certain hosts)."""
        by_name: dict[str, ssl.SSLContext] = {}
        for files, pair in zip(self._settings.named, pairs[1:], strict=True):
            context = self._context(pair)
            for name in files.names or tuple(names_in(pair)):
                by_name.setdefault(name.lower(), context)
        return self._context(pairs[0]), by_name

    def _context(self, pair: PemPair) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._settings.least
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
        context.num_tickets = 0
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.set_alpn_protocols(["http/1.1"])
        try:
            if self._settings.ciphers:
                context.set_ciphers(self._settings.ciphers)
            _show(context, pair)
            if self._authorities:
                context.load_verify_locations(cadata=self._authorities.decode("latin-1"))
                context.verify_mode = ssl.CERT_OPTIONAL
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"tls: failed to use the certificate and its key: {error}") from None
        return context

    def chosen(self, name: str) -> ssl.SSLContext:
        """The context for a client that wants a host, by name; empty: any."""
        wanted = name.lower()
        parent = "*." + wanted.partition(".")[2]
        return self._by_name.get(wanted) or self._by_name.get(parent) or self._default

    def _choose(self, connection: Any, name: str | None, _: object) -> None:
        """Called when a connection begins."""
        connection.context = self.chosen(name or "")


def _show(context: ssl.SSLContext, pair: PemPair) -> None:
    """Has a context show a certificate; OpenSSL wants a file, which is kept off the disk where that can be."""
    with _file_of(pair.certificate + b"\n" + pair.key) as path:
        context.load_cert_chain(path)


@contextmanager
def _file_of(data: bytes) -> Iterator[str]:
    """A file that nobody else can read, for as long as the block lasts."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tls")
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(prefix="kubescheduler-") as file:
            file.write(data)
            file.flush()
            yield file.name


def names_in(pair: PemPair) -> Iterator[str]:
    """The hosts that a certificate names."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    certificate = x509.load_pem_x509_certificates(pair.certificate)[0]
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        yield from names.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
            yield str(one.value)


def client_chain(connection: Any) -> Sequence[Certificate]:
    """The certificate that a client showed, and those that it sent with it; empty without TLS, or when it has none."""
    from cryptography import x509

    if connection is None:
        return ()
    leaf = connection.getpeercert(binary_form=True)
    if leaf is None:
        return ()
    others = [der for der in _sent_chain(connection) if der != leaf]
    return [x509.load_der_x509_certificate(der) for der in (leaf, *others)]


def _sent_chain(connection: Any) -> list[bytes]:
    """All certificates of the client; before Python 3.13 only the extension module knows them."""
    if hasattr(connection, "get_unverified_chain"):
        return list(connection.get_unverified_chain())
    inner: Any = getattr(connection, "_sslobj", None)
    if not hasattr(inner, "get_unverified_chain"):
        return []
    return [ssl.PEM_cert_to_DER_cert(one.public_bytes()) for one in inner.get_unverified_chain() or ()]


def kept_pair(folder: str, name: str) -> CertificateFiles | None:
    """The files of a certificate that was made before; None when there is none that can be read."""
    files = CertificateFiles(str(Path(folder, f"{name}.crt")), str(Path(folder, f"{name}.key")))
    try:
        files.read()
    except ConfigError:
        return None
    return files


def keep_pair(folder: str, name: str, pair: PemPair) -> CertificateFiles:
    """Writes a certificate and its key. Raises ConfigError when that fails."""
    files = CertificateFiles(str(Path(folder, f"{name}.crt")), str(Path(folder, f"{name}.key")))
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(files.certificate).write_bytes(pair.certificate)
        Path(files.key).touch(mode=0o600)
        Path(files.key).write_bytes(pair.key)
    except OSError as error:
        raise ConfigError(f"error creating self-signed certificates: {error}") from None
    return files
