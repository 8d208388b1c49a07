"""The servers of one scheduler: what flags say of them, checked with upstream's texts, and the servers themselves.

They are made in the set-up, started before the informers, and ended last.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.flags import Flag, FlagValues, written_value
from kubescheduler.live.klog import LogLine, Severity, Verbosity, error_line, warning_line
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.serving.authentication import (
    Authenticator,
    RequestHeaders,
    ReviewApi,
    ReviewClient,
    TokenAuthenticator,
)
from kubescheduler.live.serving.client_trust import Data, TrustKeeper, TrustSettings, read_once
from kubescheduler.live.serving.guard import AccessReviews, Authorizer, DelegatingGuard, Guard, Refused
from kubescheduler.live.serving.http_answers import HttpAnswer
from kubescheduler.live.serving.http_server import HttpServer, listening_socket, shown_address
from kubescheduler.live.serving.pages import (
    COMPONENT,
    PING,
    HealthCheck,
    HealthPath,
    MetricsSources,
    Observed,
    Routes,
    StatusPages,
    configz_page,
)
from kubescheduler.live.serving.tls import (
    CertificateFiles,
    PemPair,
    TlsContexts,
    TlsSettings,
    cipher_names,
    keep_pair,
    kept_pair,
    least_version,
    named_files,
    self_signed,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.live.transport.server_access import ServerAccess

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


class ProcessChecks(msgspec.Struct, frozen=True, eq=False):
    """What may be wrong with a scheduler."""

    election: HealthCheck | None
    """Whether its lease is renewed; None without leader election."""
    shutdown: HealthCheck
    """Whether it is about to end."""
    handlers: HealthCheck
    """Whether it has taken in what informers read at first."""
    observed: Observed
    """Told of every check."""


class ServingRules(msgspec.Struct, frozen=True, eq=False):
    """How one release serves."""

    health: Callable[[ProcessChecks], list[HealthPath]]
    """The paths of its health checks."""
    configz: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Of the completed configuration: what /configz shows."""
    metrics_type: str
    """The content type of metrics."""
    metrics_start: bool
    """Whether metrics have a header with the time when the process began."""
    metrics_pages: Mapping[str, str]
    """Path → the source of metrics there, besides ``/metrics``; see ``MetricsSources``."""
    sets_verbosity: bool
    """Whether ``/debug/flags/v`` is there."""
    status_pages: bool
    """Whether ``/statusz`` and ``/flagz`` are there."""
    refused: Refused
    """401 and 403."""
    token_reviews: ReviewApi
    access_reviews: ReviewApi
    remembered: int
    """Answers of access reviews that are kept."""
    watches_trust: bool
    """Whether the ConfigMap with the authorities of clients is watched, not only read at the start."""
    credential_id: bool
    """Whether a client certificate's fingerprint counts as part of its user."""


# --- health --------------------------------------------------------------------------------------------


def health_1_16(checks: ProcessChecks) -> list[HealthPath]:
    """One path, with one check."""
    return [HealthPath("healthz", [checks.election or PING], checks.observed)]


def health_1_36(checks: ProcessChecks) -> list[HealthPath]:
    """Alive is who answers; ready is who has read the cluster and does not end."""
    election = [] if checks.election is None else [checks.election]
    return [
        *health_1_16(checks),
        HealthPath("livez", [PING], checks.observed),
        HealthPath("readyz", [*election, checks.shutdown, checks.handlers], checks.observed),
    ]


# --- reviews -------------------------------------------------------------------------------------------

TOKENS, ACCESS = "authentication.k8s.io", "authorization.k8s.io"
STAMPED: Mapping[str, Any] = {"creationTimestamp": None}
"""Metadata as it was written before 1.34."""
IN_TIME = [("timeout", "10s")]


def token_reviews(versions: tuple[str, ...], metadata: Mapping[str, Any]) -> ReviewApi:
    """Who a token is."""
    return ReviewApi("TokenReview", TOKENS, "tokenreviews", versions, metadata)


def access_reviews(versions: tuple[str, ...], metadata: Mapping[str, Any], query: list[tuple[str, str]]) -> ReviewApi:
    """Who may do what."""
    names = {"v1beta1": {"groups": "group"}}
    return ReviewApi("SubjectAccessReview", ACCESS, "subjectaccessreviews", versions, metadata, query, names)


RELOAD = 60.0
"""Seconds between looks at the files of certificates."""
NO_AUTHORIZATION = "No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens won't work."
Watch = Callable[[ApiClient, Callable[[Data], None]], Coroutine[Any, Any, None]]
"""Reads the ConfigMap of clients' authorities and reports each of its versions, until it is cancelled."""


class ServedParts(msgspec.Struct, frozen=True, eq=False):
    """What the pages show, and what the servers need of the process."""

    release: str
    """1.36."""
    checks: ProcessChecks
    metrics: MetricsSources
    client: Callable[[ServerAccess], ApiClient]
    """Makes a client for reviews; the maker closes it."""
    watch: Watch
    log: Callable[[LogLine], None]
    """Writes a line."""
    clock: WallClock
    rng: random.Random
    verbosity: Verbosity = msgspec.field(default_factory=Verbosity)
    access: AccessObserver = msgspec.field(default_factory=AccessObserver)
    """Told of who asks."""


class SchedulerServers:
    """All servers of one process; every method is for the I/O thread."""

    def __init__(self, settings: ServingSettings, rules: ServingRules, parts: ServedParts) -> None:
        self._settings = settings
        self._rules = rules
        self._parts = parts
        self._started = parts.clock.now()
        self._tasks: list[asyncio.Task[None]] = []
        self._background: list[Coroutine[Any, Any, None]] = []
        self.secure: HttpServer | None = None
        """None: there is no secure port, or ``prepare`` was not called."""
        self.insecure: list[HttpServer] = []

    async def prepare(self) -> None:
        """Opens the ports, and reads what has to be known before anybody is answered.

        Raises ConfigError when a port is taken, or files cannot be used.
        """
        settings = self._settings
        if settings.port:
            self.secure = await self._secure_server()
        for one in settings.insecure:
            listener = listening_socket(one.address, one.port)
            routes = self._routes(health=one.health, metrics=one.metrics)
            self.insecure.append(HttpServer(listener, routes, Guard(), log=self._parts.log))

    async def start(self) -> None:
        """Answers from now on."""
        for server in self.insecure:
            await server.start()
            self._parts.log(LogLine(Severity.INFO, f"Serving healthz insecurely on {shown_address(server.listener)}"))
        if self.secure is not None:
            await self.secure.start()
            self._parts.log(LogLine(Severity.INFO, f"Serving securely on {shown_address(self.secure.listener)}"))
        self._tasks = [asyncio.create_task(work) for work in self._background]
        self._background = []

    async def stop(self) -> None:
        """Answers nobody any more, and closes the ports."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for work in self._background:
            work.close()
        for server in (*self.insecure, *(() if self.secure is None else (self.secure,))):
            await server.stop()

    # --- pages -------------------------------------------------------------------------------------

    def _routes(self, *, health: bool = True, metrics: bool = True) -> Routes:
        rules, parts, settings = self._rules, self._parts, self._settings
        routes = Routes()
        if health:
            routes.add_health(rules.health(parts.checks))
        if metrics:
            routes.add_metrics(parts.metrics, self._metrics_form(), rules.metrics_pages)
            routes.add("/configz", configz_page(rules.configz(settings.configuration)))
        if settings.profiling:
            routes.add_debugging(parts.verbosity if rules.sets_verbosity else None)
        if rules.status_pages:
            pages = StatusPages(parts.release, settings.flags, parts.clock, self._started)
            routes.add("/statusz", pages.statusz)
            routes.add("/flagz", pages.flagz)
        return routes

    def _metrics_form(self) -> HttpAnswer:
        start = {"Process-Start-Time-Unix": str(int(self._started.timestamp()))} if self._rules.metrics_start else {}
        return HttpAnswer(200, b"", self._rules.metrics_type, start, compressible=True)

    # --- the secure port ---------------------------------------------------------------------------

    async def _secure_server(self) -> HttpServer:
        settings = self._settings
        listener = listening_socket(settings.address, settings.port, shares_port=settings.shares_port)
        try:
            tls = await self._contexts()
            guard = await self._guard(tls)
        except BaseException:
            listener.close()
            raise
        return HttpServer(listener, self._routes(), guard, tls=tls, log=self._parts.log)

    async def _contexts(self) -> TlsContexts:
        """With the certificate that is given, or was kept, or is made now."""
        tls, address = self._settings.tls, self._settings.address
        if tls.files is None and tls.folder:
            tls = msgspec.structs.replace(tls, files=kept_pair(tls.folder, COMPONENT))
        if tls.files is not None:
            return TlsContexts(tls)
        pair = await asyncio.to_thread(self_signed, address, self._parts.clock.now())
        return self._kept(tls, pair)

    def _kept(self, tls: TlsSettings, pair: PemPair) -> TlsContexts:
        if not tls.folder:
            self._parts.log(LogLine(Severity.INFO, "Generated self-signed cert in-memory"))
            return TlsContexts(tls, pair)
        files = keep_pair(tls.folder, COMPONENT, pair)
        self._parts.log(LogLine(Severity.INFO, f"Generated self-signed cert ({files.certificate}, {files.key})"))
        return TlsContexts(msgspec.structs.replace(tls, files=files))

    async def _guard(self, tls: TlsContexts) -> DelegatingGuard:
        settings, rules, parts = self._settings.access, self._rules, self._parts
        client = await self._client(settings.authentication_kubeconfig)
        trust = await self._trust(client, tls)
        tokens = None
        if client is not None:
            reviews = ReviewClient(client, rules.token_reviews, parts.clock, parts.rng, parts.access)
            tokens = TokenAuthenticator(reviews, settings.token_seconds, parts.clock, parts.access)
        authenticator = Authenticator(
            lambda: trust.trust, tokens, parts.clock, credential_id=rules.credential_id, observer=parts.access
        )
        return DelegatingGuard(
            authenticator, await self._authorizer(), rules.refused, parts.log, parts.clock, observer=parts.access
        )

    async def _trust(self, client: ApiClient | None, tls: TlsContexts) -> TrustKeeper:
        """By whose word clients are believed: what files and the ConfigMap say, kept up to date."""
        settings, parts = self._settings.access.trust, self._parts
        keeper = TrustKeeper(settings, parts.log)
        if settings.looks_up and client is None:
            keeper.cannot_look_up()
        elif settings.looks_up and client is not None:
            try:
                keeper.take(await read_once(client))
            except ApiError as error:
                keeper.failed(error)
            if self._rules.watches_trust:
                self._background.append(parts.watch(client, keeper.take))
        tls.trust(keeper.pem)
        keeper.changed = self._trusting(tls)
        self._background.append(self._reload(keeper, tls))
        return keeper

    def _trusting(self, tls: TlsContexts) -> Callable[[bytes], None]:
        def trust(authorities: bytes) -> None:
            try:
                tls.trust(authorities)
            except ConfigError as error:
                self._parts.log(error_line(str(error)))

        return trust

    async def _reload(self, keeper: TrustKeeper, tls: TlsContexts) -> None:
        """Reads files anew once a minute: certificates are renewed while a process runs."""
        while True:
            await self._parts.clock.sleep(RELOAD)
            keeper.reload()
            try:
                tls.reload()
            except ConfigError as error:
                self._parts.log(error_line(str(error)))

    async def _authorizer(self) -> Authorizer:
        settings, rules, parts = self._settings.access, self._rules, self._parts
        client = await self._client(settings.authorization_kubeconfig)
        if client is None:
            parts.log(warning_line(NO_AUTHORIZATION))
            return Authorizer(settings.always_allowed, None)
        reviews = ReviewClient(client, rules.access_reviews, parts.clock, parts.rng, parts.access)
        access = AccessReviews(
            reviews, settings.allowed_seconds, settings.denied_seconds, rules.remembered, parts.clock
        )
        return Authorizer(settings.always_allowed, access)

    async def _client(self, kubeconfig: str) -> ApiClient | None:
        """For a kubeconfig, or in a cluster; None outside of one."""
        if kubeconfig:
            return self._parts.client(await ServerAccess.from_kubeconfig(kubeconfig))
        try:
            return self._parts.client(await ServerAccess.in_cluster())
        except ConfigError:
            return None
