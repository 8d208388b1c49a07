"""The certificates that a server shows, and the authorities by which it asks clients for theirs."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterstate.errors import ConfigError
from kubescheduler.live.serving.self_signed import PemPair
from kubescheduler.live.serving.tls_settings import CertificateFiles, TlsSettings

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


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
