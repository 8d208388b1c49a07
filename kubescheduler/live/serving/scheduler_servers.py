"""The servers of one scheduler: what flags say of them, checked with upstream's texts, and the servers themselves.

They are made in the set-up, started before the informers, and ended last.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.component_format import is_address
from kubescheduler.live.flags import Flag, FlagValues, written_value
from kubescheduler.live.informer_rules import InformerRules
from kubescheduler.live.informers import ServerOutages
from kubescheduler.live.klog import LogLine, Severity, Verbosity, error_line, warning_line
from kubescheduler.live.observers import AccessObserver
from kubescheduler.live.serving.client_trust import RequestHeaders, TrustKeeper, TrustSettings, read_once, watch_trust
from kubescheduler.live.serving.guard import (
    Access,
    Authenticator,
    Authorizer,
    DelegatingGuard,
    ExpiringCache,
    Guard,
    Refused,
    ReviewApi,
    ReviewClient,
    TokenAuthenticator,
)
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
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
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
    if not is_address(host):
        raise ConfigError(f"address {text}: invalid IP address")
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


TOLERANCE = 20.0
"""Seconds after its end for which a lease that is not renewed is no fault yet."""


class ServedProcess(msgspec.Struct, frozen=True, eq=False):
    """A process, as its servers see it. Everything is called on the I/O thread."""

    release: str
    """1.36."""
    version: str
    """v1.36.2."""
    informers: InformerRules
    """How the ConfigMap of clients' authorities is read."""
    is_stopping: Callable[[], bool]
    has_read: Callable[[], bool]
    """Whether everything that was there at the start is taken in."""
    log: Callable[[LogLine], None]
    """Writes a line."""
    outages: ServerOutages
    """What is logged when a server does not answer."""
    keep: Callable[[ApiClient], None]
    """Gets each client that is made, to close it in the end."""
    clock: WallClock
    rng: random.Random
    metrics: MetricsSources = msgspec.field(default_factory=MetricsSources)
    lease: str | None = None
    """Which it leads by; None without leader election."""
    is_overdue: Callable[[float], bool] = lambda _: False
    """Whether it leads, but has not renewed the lease for so many seconds longer than that lasts."""
    verbosity: Verbosity = msgspec.field(default_factory=Verbosity)
    observed: Observed = lambda _name, _path, _passed: None
    """Told of every health check."""
    access: AccessObserver = msgspec.field(default_factory=AccessObserver)
    """Told of who asks."""


class ServingRules(msgspec.Struct, frozen=True, eq=False):
    """How one release serves."""

    health: Callable[[ServedProcess], list[HealthPath]]
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


def health_1_16(process: ServedProcess) -> list[HealthPath]:
    """One path, with one check."""
    return [HealthPath("healthz", _election(process) or [PING], process.observed)]


def health_1_36(process: ServedProcess) -> list[HealthPath]:
    """Alive is who answers; ready is who has read the cluster and does not end."""
    shutdown = HealthCheck("shutdown", lambda: "process is shutting down" if process.is_stopping() else "")
    unread = "handlers are not fully synchronized"
    handlers = HealthCheck("sched-handler-sync", lambda: "" if process.has_read() else unread)
    return [
        *health_1_16(process),
        HealthPath("livez", [PING], process.observed),
        HealthPath("readyz", [*_election(process), shutdown, handlers], process.observed),
    ]


def _election(process: ServedProcess) -> list[HealthCheck]:
    """Whether the lease is renewed, where there is one."""
    if process.lease is None:
        return []
    fault = f"failed election to renew leadership on lease {process.lease}"
    return [HealthCheck("leaderElection", lambda: fault if process.is_overdue(TOLERANCE) else "")]


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
REVIEW_LIMITS = Limits(200.0, 400)
"""Of the clients that ask for reviews."""


class SchedulerServers:
    """All servers of one process; every method is for the I/O thread."""

    def __init__(self, settings: ServingSettings, rules: ServingRules, process: ServedProcess) -> None:
        self._settings = settings
        self._rules = rules
        self._process = process
        self._started = process.clock.now()
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
            self.insecure.append(HttpServer(listener, routes, Guard(), log=self._process.log))

    async def start(self) -> None:
        """Answers from now on."""
        for server in self.insecure:
            await server.start()
            self._process.log(LogLine(Severity.INFO, f"Serving healthz insecurely on {shown_address(server.listener)}"))
        if self.secure is not None:
            await self.secure.start()
            self._process.log(LogLine(Severity.INFO, f"Serving securely on {shown_address(self.secure.listener)}"))
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
        rules, process, settings = self._rules, self._process, self._settings
        routes = Routes()
        if health:
            routes.add_health(rules.health(process))
        if metrics:
            routes.add_metrics(process.metrics, self._metrics_form(), rules.metrics_pages)
            routes.add("/configz", configz_page(rules.configz(settings.configuration)))
        if settings.profiling:
            routes.add_debugging(process.verbosity if rules.sets_verbosity else None)
        if rules.status_pages:
            pages = StatusPages(process.release, settings.flags, process.clock, self._started)
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
        return HttpServer(listener, self._routes(), guard, tls=tls, log=self._process.log)

    async def _contexts(self) -> TlsContexts:
        """With the certificate that is given, or was kept, or is made now."""
        tls, address = self._settings.tls, self._settings.address
        if tls.files is None and tls.folder:
            tls = msgspec.structs.replace(tls, files=kept_pair(tls.folder, COMPONENT))
        if tls.files is not None:
            return TlsContexts(tls)
        pair = await asyncio.to_thread(self_signed, address, self._process.clock.now())
        return self._kept(tls, pair)

    def _kept(self, tls: TlsSettings, pair: PemPair) -> TlsContexts:
        if not tls.folder:
            self._process.log(LogLine(Severity.INFO, "Generated self-signed cert in-memory"))
            return TlsContexts(tls, pair)
        files = keep_pair(tls.folder, COMPONENT, pair)
        self._process.log(LogLine(Severity.INFO, f"Generated self-signed cert ({files.certificate}, {files.key})"))
        return TlsContexts(msgspec.structs.replace(tls, files=files))

    async def _guard(self, tls: TlsContexts) -> DelegatingGuard:
        settings, rules, process = self._settings.access, self._rules, self._process
        clock, access = process.clock, process.access
        client = await self._client(settings.authentication_kubeconfig)
        trust = await self._trust(client, tls)
        tokens = None
        if client is not None:
            reviews = ReviewClient(client, rules.token_reviews, clock, process.rng, access)
            tokens = TokenAuthenticator(reviews, settings.token_seconds, clock, access)
        authenticator = Authenticator(
            lambda: trust.trust, tokens, clock, credential_id=rules.credential_id, observer=access
        )
        return DelegatingGuard(
            authenticator, await self._authorizer(), rules.refused, process.log, clock, observer=access
        )

    async def _trust(self, client: ApiClient | None, tls: TlsContexts) -> TrustKeeper:
        """By whose word clients are believed: what files and the ConfigMap say, kept up to date."""
        settings, process = self._settings.access.trust, self._process
        keeper = TrustKeeper(settings, process.log)
        if settings.looks_up and client is None:
            keeper.cannot_look_up()
        elif settings.looks_up and client is not None:
            try:
                keeper.take(await read_once(client))
            except ApiError as error:
                keeper.failed(error)
            if self._rules.watches_trust:
                outage = process.outages.of(client.access.base_url)
                self._background.append(
                    watch_trust(client, keeper.take, process.informers, outage, process.clock, process.rng)
                )
        tls.trust(keeper.pem)
        keeper.changed = partial(self._tried, tls.trust)
        self._background.append(self._reload(keeper, tls))
        return keeper

    def _tried(self, act: Callable[..., None], *given: bytes) -> None:
        """Does something; a ConfigError is logged."""
        try:
            act(*given)
        except ConfigError as error:
            self._process.log(error_line(str(error)))

    async def _reload(self, keeper: TrustKeeper, tls: TlsContexts) -> None:
        """Reads files anew once a minute: certificates are renewed while a process runs."""
        while True:
            await self._process.clock.sleep(RELOAD)
            keeper.reload()
            self._tried(tls.reload)

    async def _authorizer(self) -> Authorizer:
        settings, rules, process = self._settings.access, self._rules, self._process
        client = await self._client(settings.authorization_kubeconfig)
        reviews = None
        if client is None:
            process.log(warning_line(NO_AUTHORIZATION))
        else:
            reviews = ReviewClient(client, rules.access_reviews, process.clock, process.rng, process.access)
        known: ExpiringCache[str, Access] = ExpiringCache(rules.remembered, process.clock)
        return Authorizer(settings.always_allowed, reviews, settings.allowed_seconds, settings.denied_seconds, known)

    async def _client(self, kubeconfig: str) -> ApiClient | None:
        """For a kubeconfig, or in a cluster; None outside of one."""
        try:
            access = await (ServerAccess.from_kubeconfig(kubeconfig) if kubeconfig else ServerAccess.in_cluster())
        except ConfigError:
            if kubeconfig:
                raise
            return None
        agent = f"kube-scheduler/{self._process.version} (linux/amd64) kubernetes/0000000"
        client = ApiClient(access, ClientOptions(REVIEW_LIMITS, agent), clock=self._process.clock)
        self._process.keep(client)
        return client
