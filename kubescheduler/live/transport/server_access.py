"""Where the API server is, and who we are to it; a kept client library reads kubeconfigs and runs exec plugins."""

from __future__ import annotations

import logging
import math
import os
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from clusterstate.errors import ConfigError
from kubescheduler.live.transport.exec_certificates import ExecCertificate

TOKEN_AGE = 60.0
"""Seconds after which a token in a file is read anew. Upstream: client-go's cachingTokenSource."""

UNREADABLE = (yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError)
"""What the client library raises for a kubeconfig that it cannot use, besides its own error."""

NO_CONFIGURATION = "invalid configuration: no configuration has been provided"
"""Upstream's text when neither a kubeconfig, a server nor a service account is there."""

MASTER_VARIABLE = "KUBERNETES_MASTER"
"""The environment variable with the address of a server, for want of anything else."""

MISSING = "File does not exists: "
"""How the client library begins what it says of a file of certificates that is not there."""

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
        """As the service account of the pod that we run in. Raises ConfigError outside of a cluster."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port or not (folder / "token").exists():
            raise ConfigError(NO_CONFIGURATION)
        name = f"[{host}]" if ":" in host else host
        return ServiceAccountAccess(f"https://{name}:{port}", folder)

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
        super().__init__(base_url, ssl_context=ssl.create_default_context(cafile=str(folder / "ca.crt")))
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
    """What a kubeconfig says, with exec plugins, OIDC and tokens in files, renewed when they run out."""

    def __init__(self, path: str, context: str | None, master: str) -> None:
        super().__init__(master or "http://localhost:8080")
        self._path, self._context, self._master = path, context, master
        self._loader: Any = None
        self._loaded_at = float("-inf")
        self._files: tuple[object, ...] = ()

    async def load(self) -> None:
        """Reads the file and gets the credentials. Raises ConfigError when that fails."""
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config import ConfigException, kube_config

        # What it logs it raises as well: without a handler it would be written twice.
        logging.getLogger("kubernetes_asyncio").addHandler(logging.NullHandler())
        settings = Configuration()
        settings.api_key = {}
        try:
            _check_contexts(self._path, self._context)
            self._loader = await kube_config.load_kube_config(self._path, self._context, settings, persist_config=False)
        except (ConfigException, *UNREADABLE) as error:
            raise ConfigError(f"invalid configuration: {self._path}: {_reason(error)}") from None
        self._loaded_at = time.monotonic()
        self.base_url = (self._master or str(settings.host)).rstrip("/")
        self._token = str(settings.api_key.get("BearerToken", ""))
        self._ssl = self._context_of(settings)

    async def headers(self) -> dict[str, str]:
        """The token; one that may have run out is got anew before."""
        if self._expired():
            await self.load()
        return await super().headers()

    async def renew(self) -> bool:
        """Gets the credentials anew, where something gives them out; whether they are others."""
        if not self._changes():
            return False
        before, files = self._token, self._files
        await self.load()
        return self._token != before or self._files != files

    @property
    def _user(self) -> dict[str, Any]:
        """The user's part of the file."""
        user = getattr(self._loader, "_user", None)
        value: dict[str, Any] = {} if user is None else user.value
        return value

    def _changes(self) -> bool:
        return not self._user.keys().isdisjoint(("exec", "auth-provider", "tokenFile"))

    def _expired(self) -> bool:
        if "tokenFile" in self._user:
            return time.monotonic() - self._loaded_at > TOKEN_AGE
        expiry = getattr(self._loader, "exec_plugin_expiry", None)
        return expiry is not None and expiry.timestamp() - time.time() < 10.0

    def _context_of(self, settings: Any) -> ssl.SSLContext | None:
        """What TLS needs to know: the server's authority, our certificate."""
        if not self.secure:
            return None
        self._files = (settings.ssl_ca_cert, settings.cert_file, settings.key_file)
        try:
            context = ssl.create_default_context(cafile=settings.ssl_ca_cert or None)
            if settings.cert_file:
                context.load_cert_chain(settings.cert_file, settings.key_file)
            self._take_certificate(settings.cert_file if "exec" in self._user else None)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"invalid configuration: {self._path}: unable to load certificates: {error}") from None
        if not settings.verify_ssl:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def _take_certificate(self, path: str | None) -> None:
        """Notes the certificate that an exec plugin gave (None: it gave none), and the age of the one before.

        Raises OSError, and ValueError for what is none. Upstream: client-go's refreshCredsLocked.
        """
        before, self._certificate = self._certificate, ExecCertificate.read(path) if path else None
        if before is not None and before != self._certificate:
            self.rotated((datetime.now(UTC) - before.since).total_seconds())


def _check_contexts(paths: str, context: str | None) -> None:
    """Raises ValueError for a kubeconfig that is no mapping, or that does not have the context that is asked for."""
    known: dict[str, None] = {}
    current = ""
    for path in filter(None, paths.split(os.pathsep)):
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        if not isinstance(document, dict):
            raise ValueError("no kubeconfig: it has no clusters, users and contexts")
        known.update((str(entry.get("name")), None) for entry in document.get("contexts") or ())
        current = current or str(document.get("current-context") or "")
    wanted = context or current
    if wanted and wanted not in known:
        there = f"there is {', '.join(known)}" if known else "there are no contexts"
        raise ValueError(f'context "{wanted}" does not exist; {there}')


def _reason(error: Exception) -> str:
    """What is wrong with a kubeconfig, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    text = str(error)
    if text.startswith(MISSING):
        return f"open {text.removeprefix(MISSING)}: no such file or directory"
    return " ".join(text.split())
