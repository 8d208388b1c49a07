"""TLS settings of an extender as an SSL context. Imported at the first call only."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterstate.errors import ConfigError

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig, TLSConfig


def tls_context(config: ExtenderConfig) -> ssl.SSLContext:
    """The context for ``https`` addresses.

    enableHttps without a certificate authority turns verification off, and so does insecure; otherwise the named
    authority, or the system's when none is named, has to vouch for the extender.

    Raises:
        ConfigError: a file or certificate that cannot be used.
    """
    tls = config.tls
    if tls.insecure and tls.has_ca:
        raise ConfigError("tlsConfig: caFile and caData cannot be used together with insecure; remove one of them")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure or (config.enable_https and not tls.has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif tls.has_ca:
        _load_authority(context, tls)
    else:
        context.load_default_certs()
    _load_client(context, tls)
    return context


def _load_authority(context: ssl.SSLContext, tls: TLSConfig) -> None:
    where = "caData" if tls.ca_data else f"caFile {tls.ca_file}"
    try:
        if tls.ca_data:
            context.load_verify_locations(cadata=tls.ca_data.decode("ascii"))
        else:
            context.load_verify_locations(cafile=tls.ca_file)
    except (OSError, ValueError) as e:
        raise ConfigError(f"tlsConfig: {where}: {_reason(e)}; a PEM certificate is needed") from e


def _load_client(context: ssl.SSLContext, tls: TLSConfig) -> None:
    """The client's certificate, if both it and its key are given."""
    if not ((tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file)):
        return
    try:
        # OpenSSL reads these from files only; the directory is for this user alone and lives for this call.
        with tempfile.TemporaryDirectory() as private:
            cert = _as_file(tls.cert_data, tls.cert_file, Path(private, "cert.pem"))
            key = _as_file(tls.key_data, tls.key_file, Path(private, "key.pem"))
            context.load_cert_chain(cert, key, password=_no_password)
    except (OSError, ValueError) as e:
        problem = f"tlsConfig: certFile/certData with keyFile/keyData: {_reason(e)}"
        raise ConfigError(f"{problem}; a PEM certificate and its unencrypted PEM key are needed") from e


def _as_file(data: bytes, path: str, scratch: Path) -> str:
    if not data:
        return path
    scratch.write_bytes(data)
    return str(scratch)


def _no_password() -> str:
    """OpenSSL would otherwise ask for one at the terminal."""
    raise ValueError("the key is encrypted")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
