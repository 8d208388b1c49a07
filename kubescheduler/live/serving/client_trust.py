"""By whose word clients are believed now: by flags, else by the API server's ConfigMap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.logs.log_lines import LogLine, error_line, warning_line
from kubescheduler.live.serving.authentication_config import (
    CLIENT_CA,
    NO_CLIENT,
    NO_RIGHTS,
    PROXY_CA,
    TOLERATED,
    Data,
    trust_of,
)
from kubescheduler.live.serving.certificate_authenticators import ClientTrust, RequestHeaders
from kubescheduler.live.serving.certificate_pool import CertificatePool
from kubescheduler.live.transport.api_answers import ApiError


@attrs.frozen
class TrustSettings:
    """What flags say of client certificates."""

    client_ca_file: str = ""
    proxy_ca_file: str = ""
    """``--requestheader-client-ca-file``."""
    proxies: RequestHeaders = attrs.field(factory=RequestHeaders, eq=False)
    """The other flags of front proxies; they count with ``proxy_ca_file`` only."""
    skips_lookup: bool = False
    """Whether the ConfigMap is left alone."""
    tolerates_failure: bool = True
    """Whether the process goes on when the ConfigMap cannot be read."""

    @property
    def looks_up(self) -> bool:
        """Whether the ConfigMap has to say anything."""
        return not self.skips_lookup and not (self.client_ca_file and self.proxy_ca_file)


class TrustKeeper:
    """Puts together what files and the ConfigMap say, and tells when that changes. For the I/O thread."""

    def __init__(self, settings: TrustSettings, log: Callable[[LogLine], None]) -> None:
        """Raises ConfigError for files that cannot be used."""
        self._settings = settings
        self._log = log
        self._told = ClientTrust()
        self.changed: Callable[[bytes], None] = lambda _: None
        """Told of all authorities as PEM."""
        self._files = self._from_files()
        self.trust = self._joined()
        """What counts now."""

    def take(self, data: Data) -> None:
        """The ConfigMap says this; what cannot be read in it changes nothing."""
        try:
            self._told = trust_of(data)
        except ConfigError as error:
            self._log(error_line(str(error)))
            return
        self._tell()

    def reload(self) -> None:
        """Reads the files anew; those that cannot be used change nothing."""
        try:
            self._files = self._from_files()
        except ConfigError as error:
            self._log(error_line(str(error)))
            return
        self._tell()

    @property
    def pem(self) -> bytes:
        """All authorities."""
        return self.trust.clients.pem + self.trust.proxies.authorities.pem

    def _tell(self) -> None:
        self.trust = self._joined()
        self.changed(self.pem)

    def _from_files(self) -> ClientTrust:
        settings = self._settings
        authorities = _pool(settings.proxy_ca_file, "request-header")
        return ClientTrust(
            _pool(settings.client_ca_file, "client-ca-bundle"),
            msgspec.structs.replace(settings.proxies, authorities=authorities),
        )

    def _joined(self) -> ClientTrust:
        settings, files, told = self._settings, self._files, self._told
        return ClientTrust(
            files.clients if settings.client_ca_file else told.clients,
            files.proxies if settings.proxy_ca_file else told.proxies,
        )

    # --- looking up --------------------------------------------------------------------------------

    def cannot_look_up(self) -> None:
        """Nobody says where the ConfigMap is: logs what will not work."""
        if not self._settings.client_ca_file:
            self._warn(NO_CLIENT.format(key=CLIENT_CA, what="client certificate"))
        if not self._settings.proxy_ca_file:
            self._warn(NO_CLIENT.format(key=PROXY_CA, what="request-header client certificate"))

    def failed(self, error: ApiError) -> None:
        """The ConfigMap could not be read; one that is not there is none. Raises ConfigError where it has to be."""
        if error.code == 404:
            return
        if error.code == 403:
            self._warn(NO_RIGHTS)
        if not self._settings.tolerates_failure:
            raise ConfigError(f"unable to load configmap based request-header-client-ca-file: {error}")
        for line in TOLERATED:
            self._warn(line.format(error=error))

    def _warn(self, text: str) -> None:
        self._log(warning_line(text))


def _pool(path: str, what: str) -> CertificatePool:
    if not path:
        return CertificatePool()
    try:
        return CertificatePool.from_pem(Path(path).read_bytes(), f"{what}::{path}")
    except OSError as error:
        raise ConfigError(f"open {path}: {(error.strerror or str(error)).lower()}") from None
