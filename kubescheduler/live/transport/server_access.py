"""Where the API server is, and who we are to it."""

from __future__ import annotations

import asyncio
import base64
import math
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from clusterstate.errors import ConfigError
from kubescheduler.live.transport.kubeconfig import Credentials, ExecCertificate, Kubeconfig, UserEntry, read_named

TOKEN_AGE = 60.0
"""Seconds after which a token in a file is read anew. Upstream: client-go's cachingTokenSource."""

EARLY = 10.0
"""Seconds before its end at which a credential of an exec plugin is renewed."""

NO_CONFIGURATION = "invalid configuration: no configuration has been provided"
"""Upstream's text when neither a kubeconfig, a server nor a service account is there."""

MASTER_VARIABLE = "KUBERNETES_MASTER"
"""The environment variable with the address of a server, for want of anything else."""

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def nobody_asks(seconds: float) -> None:
    """Nobody wants to know how old certificates get."""


class ServerAccess:
    """The address of an API server with the credentials for it. ``headers`` and ``renew`` are for the I/O thread."""

    def __init__(self, base_url: str, *, ssl_context: ssl.SSLContext | None = None, token: str = "") -> None:
        """token: as it stands in the header Authorization; it is never sent over plain HTTP."""
        self.base_url = base_url.rstrip("/")
        """Without a slash at the end."""
        self._ssl = ssl_context
        self._token = token
        self._certificate: ExecCertificate | None = None
        self.server_name = ""
        """The name in the server's certificate; empty: that of the address."""
        self.rotated: Callable[[float], None] = nobody_asks
        """Told for how many seconds a certificate of an exec plugin had been valid when another one took its place."""

    @property
    def host(self) -> str:
        """``name:port`` of the server."""
        parts = urlsplit(self.base_url)
        return parts.netloc.rpartition("@")[2]

    @property
    def secure(self) -> bool:
        """Whether the server is reached by HTTPS."""
        return self.base_url.startswith("https://")

    @property
    def ssl(self) -> ssl.SSLContext | bool:
        """What connections are secured by: the context with our certificate, True for the machine's defaults."""
        return True if self._ssl is None else self._ssl

    def certificate_seconds(self, now: datetime) -> float:
        """Seconds for which the certificate is valid that an exec plugin gave us, below 0 after that; else infinite."""
        return math.inf if self._certificate is None else (self._certificate.until - now).total_seconds()

    async def headers(self) -> dict[str, str]:
        """The headers that say who we are."""
        return {"Authorization": self._token} if self._token and self.secure else {}

    async def renew(self) -> bool:
        """The server does not take our credentials: gets new ones; False when there are no others to be had."""
        return False

    @classmethod
    async def from_kubeconfig(cls, path: str, context: str | None = None, master: str = "") -> ServerAccess:
        """Reads a kubeconfig. master: goes before the server in it.

        Raises ConfigError, with upstream's text for a file that is not there.
        """
        if not Path(path).exists():
            raise ConfigError(f"stat {path}: no such file or directory")
        access = KubeconfigAccess(path, context, master)
        await access.load()
        return access

    @classmethod
    async def in_cluster(cls, folder: Path = SERVICE_ACCOUNT) -> ServerAccess:
        """As the service account of the pod that we run in. Raises ConfigError outside of one, and for a broken one."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port or not (folder / "token").exists():
            raise ConfigError(NO_CONFIGURATION)
        name = f"[{host}]" if ":" in host else host
        try:
            return ServiceAccountAccess(f"https://{name}:{port}", folder)
        except (OSError, ValueError) as error:
            raise ConfigError(f"invalid configuration: {folder}: {_reason(error)}") from None

    @classmethod
    async def unnamed(cls, environment: Mapping[str, str]) -> ServerAccess:
        """Where no kubeconfig and no server is named: the cluster that we run in, else what KUBERNETES_MASTER says.

        Raises ConfigError where there is neither. Upstream: client-go's ClusterDefaults, which kubectl goes by.
        """
        try:
            return await cls.in_cluster()
        except ConfigError:
            master = environment.get(MASTER_VARIABLE, "")
            if not master:
                raise
            return cls(master)


class ServiceAccountAccess(ServerAccess):
    """The credentials that the kubelet puts into a pod; it renews the token in the file."""

    def __init__(self, base_url: str, folder: Path) -> None:
        authority = read_named(str(folder / "ca.crt"))
        super().__init__(base_url, ssl_context=_context(authority, b"", b"", verify=True))
        self._file = folder / "token"
        self._read_at = float("-inf")

    async def headers(self) -> dict[str, str]:
        """The token, read anew once a minute."""
        if time.monotonic() - self._read_at > TOKEN_AGE:
            await self.renew()
        return await super().headers()

    async def renew(self) -> bool:
        """Reads the token anew; whether it is another one."""
        before, self._read_at = self._token, time.monotonic()
        self._token = "Bearer " + self._file.read_text().strip()
        return self._token != before


class KubeconfigAccess(ServerAccess):
    """What a kubeconfig says when it is read, with credentials of exec plugins and files renewed when they run out.

    Which server it is does not change, whatever becomes of the file, nor does who we are to it. Upstream: client-go.
    """

    def __init__(self, path: str, context: str | None, master: str) -> None:
        """Raises ConfigError for a file that cannot be used."""
        self._config = Kubeconfig.read(path, context, needs_server=not master)
        super().__init__(master or self._config.url)
        self.server_name = self._config.cluster.tls_server_name
        self._path = path
        self._loaded_at = float("-inf")
        self._expires: datetime | None = None
        self._pair = (b"", b"")
        self._turn = asyncio.Lock()

    async def load(self) -> None:
        """Gets the credentials. Raises ConfigError when that fails."""
        try:
            await self._take()
        except (OSError, ValueError) as error:
            raise ConfigError(f"invalid configuration: {self._path}: {_reason(error)}") from None
        self._loaded_at = time.monotonic()

    async def headers(self) -> dict[str, str]:
        """The token; one that may have run out is got anew before."""
        if self._expired():
            async with self._turn:  # of all who wait, one runs the plugin
                if self._expired():
                    await self.load()
        return await super().headers()

    async def renew(self) -> bool:
        """Gets the credentials anew, where something gives them out; whether they are others."""
        user, before = self._config.user, (self._token, self._pair)
        if not (user.exec or user.token_file or user.client_certificate or user.client_key):
            return False
        async with self._turn:
            if (self._token, self._pair) == before:
                await self.load()
        return (self._token, self._pair) != before

    def _expired(self) -> bool:
        if self._config.user.token_file:
            return time.monotonic() - self._loaded_at > TOKEN_AGE
        return self._expires is not None and self._expires.timestamp() - time.time() < EARLY

    async def _take(self) -> None:
        """Raises OSError, and ValueError with what is wrong."""
        config, given = self._config, Credentials()
        if config.user.exec is not None:
            given = await config.user.exec.credentials(config.cluster_info())
        self._expires, self._token = given.expiration_timestamp, _token(config.user, given)
        if self.secure:
            pair = (given.client_certificate_data.encode(), given.client_key_data.encode())
            if not pair[0]:
                pair = config.client_pair()
            if self._ssl is None or pair != self._pair:  # connections are kept for as long as it is the same
                self._ssl = _context(config.authority(), *pair, verify=not config.cluster.insecure_skip_tls_verify)
                self._pair = pair
            self._take_certificate(given.client_certificate_data.encode())

    def _take_certificate(self, pem: bytes) -> None:
        """Notes the certificate that an exec plugin gave (empty: it gave none), and the age of the one before.

        Raises ValueError for what is none. Upstream: client-go's refreshCredsLocked.
        """
        before, self._certificate = self._certificate, ExecCertificate.of(pem) if pem else None
        if before is not None and before != self._certificate:
            self.rotated((datetime.now(UTC) - before.since).total_seconds())


def _token(user: UserEntry, given: Credentials) -> str:
    """The header Authorization. Raises OSError for a file that cannot be read, ValueError for one without a token."""
    if given.token:
        return f"Bearer {given.token}"
    if user.token_file:
        return f"Bearer {read_named(user.token_file).decode().strip()}"
    if user.token:
        return f"Bearer {user.token}"
    both = f"{user.username}:{user.password}"
    return f"Basic {base64.b64encode(both.encode()).decode()}" if user.username else ""


def _context(authority: bytes, certificate: bytes, key: bytes, *, verify: bool) -> ssl.SSLContext:
    """What TLS needs to know, of PEM. authority: empty for the machine's own. Raises ValueError."""
    what = "the certificate authority"
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii", "ignore") or None)
        what = "the client certificate and its key"
        if certificate:
            with tempfile.NamedTemporaryFile() as file:  # OpenSSL wants a file; nobody else may read this one
                file.write(certificate + b"\n" + key)
                file.flush()
                context.load_cert_chain(file.name)
    except ssl.SSLError as error:
        raise ValueError(f"unable to load {what}: {error}") from None
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _reason(error: Exception) -> str:
    """What is wrong with what a kubeconfig names, in one line."""
    if isinstance(error, OSError) and error.filename:
        return f"open {error.filename}: {(error.strerror or str(error)).lower()}"
    return " ".join(str(error).split())
