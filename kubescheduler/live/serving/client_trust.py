"""By whose word clients are believed now: by flags, else by the API server's ConfigMap.

Upstream: dynamiccertificates' ConfigMapCAController and headerrequest's RequestHeaderAuthRequestController.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.klog import LogLine, error_line, warning_line
from kubescheduler.live.serving.authentication import CertificatePool, ClientTrust, RequestHeaders
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
TIMEOUT = 10.0
"""Seconds for reading it."""
CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
NO_CLIENT = (
    "No authentication-kubeconfig provided in order to lookup {key} in configmap/" + NAME + " in " + NAMESPACE + ", "
    "so {what} authentication won't work."
)
"""What is logged when nobody says where to look."""
TOLERATED = (
    "Error looking up in-cluster authentication configuration: {error}",
    "Continuing without authentication configuration. This may treat all requests as anonymous.",
    "To require authentication configuration lookup to succeed, set --authentication-tolerate-lookup-failure=false",
)
"""What is logged when looking failed, and need not succeed."""
NO_RIGHTS = (
    f"Unable to get configmap/{NAME} in {NAMESPACE}.  Usually fixed by 'kubectl create rolebinding -n {NAMESPACE} "
    "ROLEBINDING_NAME --role=extension-apiserver-authentication-reader --serviceaccount=YOUR_NS:YOUR_SA'"
)
"""What is logged when looking is forbidden."""

Data = Mapping[str, str]
"""Of the ConfigMap."""


def trust_of(data: Data) -> ClientTrust:
    """What a ConfigMap says. Raises ConfigError for what cannot be read."""
    clients = _pool(data, CLIENT_CA)
    authorities = _pool(data, PROXY_CA)
    if not authorities:
        return ClientTrust(clients)
    proxies = RequestHeaders(
        authorities,
        _texts(data, "requestheader-allowed-names"),
        _texts(data, "requestheader-username-headers"),
        _texts(data, "requestheader-group-headers"),
        _texts(data, "requestheader-extra-headers-prefix"),
        _texts(data, "requestheader-uid-headers"),
    )
    return ClientTrust(clients, proxies)


def _pool(data: Data, key: str) -> CertificatePool:
    text = data.get(key, "").strip()
    return CertificatePool.from_pem(text.encode(), f"{NAMESPACE}::{NAME}::{key}") if text else CertificatePool()


def _texts(data: Data, key: str) -> tuple[str, ...]:
    """A list of texts as JSON; empty when it is not there."""
    try:
        return tuple(msgspec.json.decode(data.get(key) or "[]", type=list[str]))
    except msgspec.DecodeError as error:
        raise ConfigError(f"configmap {NAMESPACE}/{NAME}: {key}: {error}") from None


async def read_once(client: ApiClient) -> Data:
    """The ConfigMap's data. Raises ApiError."""
    answer = await client.request("GET", f"{COLLECTION}/{NAME}", timeout=TIMEOUT)
    return data_of(answer.document())


def data_of(document: Any) -> Data:
    """The data of a ConfigMap."""
    data = document.get("data") if isinstance(document, dict) else None
    return {key: str(value) for key, value in (data or {}).items()}


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
        authorities = _file_pool(settings.proxy_ca_file, "request-header")
        return ClientTrust(
            _file_pool(settings.client_ca_file, "client-ca-bundle"),
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


def _file_pool(path: str, what: str) -> CertificatePool:
    if not path:
        return CertificatePool()
    try:
        return CertificatePool.from_pem(Path(path).read_bytes(), f"{what}::{path}")
    except OSError as error:
        raise ConfigError(f"open {path}: {(error.strerror or str(error)).lower()}") from None
